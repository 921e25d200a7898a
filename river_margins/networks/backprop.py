"""Multilayer perceptrons that take one gradient step for each example."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from river_margins.core.checks import one_of, positive, sample_weight, whole
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.reader import read_features
from river_margins.families.auto import ANY_REGRESSOR
from river_margins.networks import layers
from river_margins.networks.examples import Array, Labels, Rows, checked, finite, softmax
from river_margins.networks.layers import FUNCTIONS, Activation
from river_margins.tasks.labels import label_list, plain

__all__ = ["OnlineMLPClassifier", "OnlineMLPRegressor"]

LARGEST_ERROR = 5.0  # of a scaled target that is learned, in standard deviations of the labels


class OnlineMLP(Described, Estimator):
    """Layers and their gradients; a subclass says what the outputs are, and what is wrong with them."""

    hidden: Sequence[int]
    lr: float
    activation: Activation
    seed: int
    n_seen: int
    _rows: Rows
    _layers: list[Array]  # after the first one; the last one has the outputs

    def _open(self, hidden: Sequence[int], lr: float, activation: Activation, seed: int, outputs: int) -> None:
        if not isinstance(hidden, list | tuple) or not hidden:
            raise ValueError(f"`hidden` must be a list or tuple of one or more numbers of units, not {hidden!r}")
        for i, units in enumerate(hidden):
            whole(f"hidden[{i}]", units, 1)
        one_of("activation", activation, tuple(FUNCTIONS))
        vars(self).update(hidden=hidden, activation=activation, lr=positive("lr", lr), seed=whole("seed", seed))
        gain = FUNCTIONS[activation].gain
        sizes = list(itertools.pairwise(hidden))
        found = [layers.new_layer(*size, gain, seed, "layer", depth) for depth, size in enumerate(sizes)]
        found.append(np.zeros((1 + hidden[-1], 0)))
        vars(self).update(n_seen=0, _rows=layers.input_layer(hidden[0]), _layers=found)
        self._add_outputs(outputs)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr"}

    def _change(self, name: str, value: Any) -> None:
        vars(self)[name] = positive(name, value)

    def _add_outputs(self, outputs: int) -> None:
        """Add outputs until there are so many, each with random weights of its own."""
        last, inputs = self._layers[-1], self.hidden[-1]
        for number in range(last.shape[1], outputs):
            column = layers.normal_row(inputs, inputs, 1.0, self.seed, "output", number)
            last = np.column_stack([last, np.concatenate([[0.0], column])])
        self._layers[-1] = last

    def _outputs(self, x: Mapping[Any, Any]) -> Array:
        places, inputs = self._rows.known(layers.with_constant(read_features(x)))
        return finite(self, lambda: layers.apply(self._layers[-1], self._hidden(places, inputs)[-1]))

    def _hidden(self, places: Sequence[int], inputs: Array) -> list[Array]:
        function = FUNCTIONS[self.activation]
        return layers.hidden_values(self._rows.values, places, inputs, self._layers[:-1], function)

    def _wrong(self, outputs: Array, y: Any, w: float) -> Array:
        """Return the derivatives of the loss by the outputs; the step multiplies them with the sample weight w."""
        raise NotImplementedError

    def _prepare(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> dict[Any, float]:
        """Check an example and make room for its features and its label; return it with the constant input."""
        found = layers.with_constant(read_features(x))
        if w > 0.0:  # else their random weights would change predictions
            layers.add_features(self._rows, found, FUNCTIONS[self.activation].gain, self.seed)
        return found

    def _gradients(self, x: Mapping[Any, float], y: Any, w: float = 1.0) -> tuple[list[int], list[Array]]:
        """Return the places of the features, and the gradients: of their rows first, then layer by layer."""
        slope = FUNCTIONS[self.activation].slope
        places, values = self._rows.known(x)
        inner = self._hidden(places, values)
        delta = self._wrong(layers.apply(self._layers[-1], inner[-1]), y, w)
        found: list[Array] = []
        for layer, inputs in zip(reversed(self._layers), reversed(inner), strict=True):
            found.insert(0, layers.gradient(inputs, delta))
            delta = slope(inputs) * (layer[1:] @ delta)
        return places, [np.outer(values, delta), *found]

    def _full_gradients(self, x: Mapping[Any, float], y: Any) -> list[Array]:
        """Return the gradients of the loss by `parameters`."""
        places, (rows, *others) = self._gradients(x, y)
        full = np.zeros(self._rows.values.shape)
        full[places] = rows
        return [full, *others]

    def _learn(self, x: Mapping[Any, Any], y: Any, w: float) -> None:
        """Make room for an example and take one step; leave what fits together if that fails."""
        features, outputs = len(self._rows.places), self._layers[-1].shape[1]
        try:
            self._step(self._prepare(x, y, w), y, w)
            vars(self)["n_seen"] += 1
        except BaseException:  # of a step that would overflow, or Ctrl-C in a notebook
            self._rows.shrink(features)
            self._layers[-1] = self._layers[-1][:, :outputs].copy()
            raise

    def _step(self, x: Mapping[Any, float], y: Any, w: float) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            places, gradients = self._gradients(x, y, w)
            before = [self._rows.values[places], *self._layers]
            rows, *others = layers.moved(type(self).__name__, before, gradients, self.lr * w)
        self._rows.values[places] = rows
        self._layers[:] = others

    def parameters(self) -> list[Array]:
        """Return all weights: the first layer, with a row for each feature, then layer by layer."""
        return [self._rows.values, *self._layers]

    def __getstate__(self) -> dict[str, Any]:
        return {"n_seen": self.n_seen, "rows": self._rows.state(), "layers": [layer.copy() for layer in self._layers]}

    def _restore(self, state: Mapping[str, Any], outputs: int) -> None:
        sizes = [*self.hidden, outputs]
        shapes = [(1 + inputs, units) for inputs, units in itertools.pairwise(sizes)]
        found = [checked(layer, shape) for layer, shape in zip(state["layers"], shapes, strict=True)]
        self._rows.restore(state["rows"])
        vars(self).update(n_seen=whole("n_seen", state["n_seen"]), _layers=found)


class OnlineMLPClassifier(OnlineMLP, base.Classifier):
    """A multilayer perceptron with softmax outputs that learns online, by one step of backpropagation for each example.

    With s⁰ = x, the layers are zˡ = Wˡ[1; sˡ⁻¹] and sˡ = f(zˡ), and the probabilities p are the softmax of the last z.
    The loss is -ln p(y). With δ = onehot(y) - p at the outputs and δˡ = f'(zˡ)∘(Wˡ⁺¹)ᵀδˡ⁺¹ below, where constants have
    no part, the update is Wˡ += lr·δˡ[1; sˡ⁻¹]ᵀ for all layers at once.

    Parameters
    ----------
    hidden
        The numbers of units of the hidden layers, a tuple or a list; (16,) by default.
    lr
        Learning rate, > 0; 0.05 by default. A sample weight multiplies it.
    activation
        f: "tanh" (default), "relu", "logistic" or "linear".
    classes
        Labels known beforehand; their order breaks ties. Other labels are added when they first appear.
    seed
        The seed of the first weights, a whole number >= 0; 0 by default. The same seed gives the same learner in every
        process.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The weights of a feature are drawn from N(0, 1/features), or 2/features for "relu", when it is first learned, where
    all features so far count. After the first example they are 0.3 times as large. A feature that was never learned
    changes no prediction.
    Learning costs no more than the features of x, but the memory grows with all features seen.

    Examples
    --------
    No hyperplane separates the two labels of "exactly one of a and b":

    >>> import river_margins as rm
    >>> model = rm.OnlineMLPClassifier((8,), lr=0.5)
    >>> points = [({"a": a, "b": b}, a != b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    >>> for _ in range(100):
    ...     for x, y in points:
    ...         model.learn_one(x, y)
    >>> [model.predict_one(x) for x, _ in points]
    [False, True, True, False]

    References
    ----------
    Rumelhart, D., Hinton, G. and Williams, R., 1986. Learning representations by back-propagating errors. Nature 323.
    """

    round_cost = "The number of weights of the features in x and of all further layers."
    guarantee = "None: the loss is not convex in the weights."
    advice = "Use it if labels depend on combinations of features that no kernel or product of features describes."

    classes: Sequence[Hashable] | None
    _labels: Labels

    def __init__(
        self,
        hidden: Sequence[int] = (16,),
        *,
        lr: float = 0.05,
        activation: Activation = "tanh",
        classes: Sequence[Hashable] | None = None,
        seed: int = 0,
    ) -> None:
        classes = label_list("classes", classes)
        vars(self).update(classes=classes, _labels=Labels(classes))
        self._open(hidden, lr, activation, seed, len(self._labels.known))

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"hidden": (4, 3)}

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Take one step of backpropagation.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label: bools, or anything else that is hashable.
        w
            Sample weight, >= 0; it multiplies `lr`.

        Raises
        ------
        ValueError
            If a feature, the label or the weight is refused. Nothing is learned.
        OverflowError
            If the step would take a weight beyond floating point. Nothing is learned.
        """
        w = sample_weight(w)
        self.check_label(y)
        known = self._labels.known
        try:
            self._learn(x, plain(y), w)
        except BaseException:
            self._labels.known = known
            raise

    def _prepare(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> dict[Any, float]:
        found = super()._prepare(x, y, w)
        self._labels.known = self._labels.including(y)
        self._add_outputs(len(self._labels.known))
        return found

    def _wrong(self, outputs: Array, y: Any, w: float) -> Array:
        delta = softmax(outputs)
        delta[self._labels.known.index(y)] -= 1.0
        return delta

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the most probable label; None before the first label if no class is known."""
        return self._labels.best(self._outputs(x))

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probability of each label."""
        return self._labels.probabilities(softmax(self._outputs(x)))

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the logarithm of the odds of True, or the outputs before the softmax by label; {} before the first."""
        return self._labels.scores(self._outputs(x))

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self._labels.check(y)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"labels": list(self._labels.known)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(state, len(state["labels"]))
        self._labels.known = list(state["labels"])


class OnlineMLPRegressor(OnlineMLP, base.Regressor):
    """A multilayer perceptron with a linear output that learns online, by one step of backpropagation for each example.

    With s⁰ = x, the layers are zˡ = Wˡ[1; sˡ⁻¹] and sˡ = f(zˡ), and the last z is the prediction v. The loss is
    (y - v)²/2. With δ = y - v at the output and δˡ = f'(zˡ)∘(Wˡ⁺¹)ᵀδˡ⁺¹ below, where constants have no part, the
    update is Wˡ += lr·δˡ[1; sˡ⁻¹]ᵀ for all layers at once.

    Parameters
    ----------
    hidden
        The numbers of units of the hidden layers, a tuple or a list; (16,) by default.
    lr
        Learning rate, > 0; 0.02 by default. A sample weight multiplies it.
    activation
        f: "tanh" (default), "relu", "logistic" or "linear".
    scale_target
        Whether to learn (y - mean)/deviation, with mean and deviation of all labels so far, and to predict in the units
        of y; an error of more than 5 deviations counts as one of 5, and so does one that exceeds 5 once the sample
        weight has multiplied it. True by default; False is the update above on the labels as they are.
    seed
        The seed of the first weights, a whole number >= 0; 0 by default. The same seed gives the same learner in every
        process.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The weights of a feature are drawn from N(0, 1/features), or 2/features for "relu", when it is first learned, where
    all features so far count. After the first example they are 0.3 times as large. A feature that was never learned
    changes no prediction.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.OnlineMLPRegressor()
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> score.get() < 0.5
    True

    References
    ----------
    Rumelhart, D., Hinton, G. and Williams, R., 1986. Learning representations by back-propagating errors. Nature 323.
    """

    round_cost = "The number of weights of the features in x and of all further layers."
    guarantee = "None: the loss is not convex in the weights."
    advice = "Use it if the target is not a linear function of the features, and the stream is long."

    scale_target: bool
    _count: float  # the sum of the weights of all labels
    _mean: float
    _squares: float

    def __init__(
        self,
        hidden: Sequence[int] = (16,),
        *,
        lr: float = 0.02,
        activation: Activation = "tanh",
        scale_target: bool = True,
        seed: int = 0,
    ) -> None:
        vars(self).update(scale_target=scale_target, _count=0.0, _mean=0.0, _squares=0.0)
        self._open(hidden, lr, activation, seed, 1)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"hidden": (4, 3)}

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Take one step of backpropagation.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label, a finite number.
        w
            Sample weight, >= 0; it multiplies `lr`.

        Raises
        ------
        ValueError
            If a feature, the label or the weight is refused. Nothing is learned.
        OverflowError
            If the step would take a weight beyond floating point. Nothing is learned.
        """
        w = sample_weight(w)
        self.check_label(y)
        found, before = read_features(x), (self._count, self._mean, self._squares)
        if self.scale_target and w > 0.0:
            self._include(float(y), w)
        try:
            self._learn(found, float(y), w)
        except BaseException:  # also of a feature whose name has no hash that all processes share
            vars(self).update(zip(("_count", "_mean", "_squares"), before, strict=True))
            raise

    def _include(self, y: float, w: float) -> None:
        """Include a label in the mean and the variance of all labels."""
        count, old = self._count + w, self._mean
        mean = old + (y - old) * (w / count)
        squares = self._squares + w * (y - old) * (y - mean)
        # Also the square of the label: a first one has no distance from the mean, but later ones have one from it.
        if not math.isfinite(squares + y * y):
            raise OverflowError(
                f"`{type(self).__name__}`: the label {y!r} takes the variance of the labels beyond floating point: "
                "scale the labels"
            )
        vars(self).update(_count=count, _mean=mean, _squares=squares)

    @property
    def _unit(self) -> float:
        """The standard deviation of the labels; 1 if there is none."""
        return (math.sqrt(self._squares / self._count) if self._squares > 0.0 else 0.0) or 1.0

    def _wrong(self, outputs: Array, y: Any, w: float) -> Array:
        wrong = np.asarray(outputs - (float(y) - self._mean) / self._unit)
        # The first other label after n equal ones is √n deviations away: with units that have no bound, the steps from
        # there on would grow until each further round is refused. So would those of an example that weighs much.
        largest = LARGEST_ERROR / max(w, 1.0)
        return np.clip(wrong, -largest, largest) if self.scale_target else wrong

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Predict the target."""
        # Labels that were all equal tell no unit for what the network adds to them.
        if self.scale_target and self._count and self._squares == 0.0:
            finite(self, lambda: self._outputs(x))
            return self._mean
        return float(finite(self, lambda: self._mean + self._unit * self._outputs(x))[0])

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction."""
        return self.predict_one(x)

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        ANY_REGRESSOR.check_label(y)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"count": self._count, "mean": self._mean, "squares": self._squares}

    def __setstate__(self, state: dict[str, Any]) -> None:
        numbers = {f"_{name}": float(state[name]) for name in ("count", "mean", "squares")}
        if not all(map(math.isfinite, numbers.values())):
            raise ValueError("the mean and the variance of the labels must be finite")
        self._restore(state, 1)
        vars(self).update(numbers)
