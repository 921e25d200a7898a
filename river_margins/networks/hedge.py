"""Networks that find out online how deep they should be."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from river import base

from river_margins.core.checks import inside_unit, not_negative, one_of, positive, sample_weight, whole
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.reader import read_features
from river_margins.networks import layers as net
from river_margins.networks.examples import Array, Labels, Rows, checked, finite, softmax
from river_margins.networks.layers import FUNCTIONS, Activation
from river_margins.tasks.labels import label_list, plain

__all__ = ["HedgeBackpropClassifier"]

LEAST = 1e-300  # the least weight of a depth where `s` is 0, so that it can grow again


class HedgeBackpropClassifier(Described, Estimator, base.Classifier):
    """A deep network with an output at each layer; the best depth is chosen online, by Hedge.

    The layers are hⁱ = f(Wⁱ[1; hⁱ⁻¹]) with h⁰ = x, for i = 1 … L, and each has a head with the probabilities pⁱ =
    softmax(Θⁱ[1; hⁱ]). The prediction is Σ aᵢpⁱ, where the weights a of the depths are 1/L at first. In each round
    all Θ and W take one gradient step on Σ aᵢlᵢ, where lᵢ = -ln pⁱ(y). Then aᵢ is multiplied by beta to the power lᵢ,
    raised to s/L if it is smaller, and all a are divided by their sum.

    Parameters
    ----------
    layers
        L, the number of hidden layers, >= 1; 3 by default.
    width
        The units of each hidden layer, >= 1; 32 by default.
    lr
        Learning rate, > 0; 0.1 by default. A sample weight multiplies it.
    beta
        The factor of the weight of a depth for a loss of 1, above 0 and below 1; 0.99 by default. The smaller, the
        sooner the best depth has most of the weight.
    s
        The least share of weight for all depths together, from 0 to 1; 0.2 by default.
    activation
        f: "tanh" (default), "relu", "logistic" or "linear".
    rescale_losses
        Whether the losses of a round are brought to [0, 1] for a, by (l - min)/(max - min); False by default.
    classes
        Labels known beforehand; their order breaks ties. Other labels are added when they first appear.
    seed
        The seed of the first weights, a whole number >= 0; 0 by default. The same seed gives the same learner in every
        process.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Attributes
    ----------
    head_losses
        Σ lᵢ over all rounds for each depth, rescaled ones if `rescale_losses` is true.
    mixture_loss
        Σ ⟨a, l⟩ over all rounds, with the a before each round.

    Notes
    -----
    With losses in [0, 1] and s = 0, T rounds have Σ ⟨a, l⟩ - min Σ lᵢ <= ln(L)/η + ηT/8, where η = -ln(beta). The
    bound compares the depths of this one network, which learn together. Every aᵢ is at least (s/L)/(1 + s). The weights
    of a feature are drawn when it is first learned; before that, it changes no prediction. The paper has 5 layers of
    100 units with "relu" and lr 0.01, which is slow to learn on short streams.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.HedgeBackpropClassifier(layers=3, width=8, lr=0.2)
    >>> points = [({"a": a, "b": b}, a != b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    >>> for _ in range(200):
    ...     for x, y in points:
    ...         model.learn_one(x, y)
    >>> [model.predict_one(x) for x, _ in points]
    [False, True, True, False]
    >>> sum(model.depth_weights)
    1.0

    References
    ----------
    Sahoo, D., Pham, Q., Lu, J. and Hoi, S., 2018. Online deep learning: learning deep neural networks on the fly.
    IJCAI, algorithm 1.
    """

    round_cost = "The number of weights of the features in x and of all further layers."
    guarantee = "Losses of the mixture <= those of the best depth + ln(L)/η + ηT/8 (losses in [0, 1], s 0)."
    advice = "Use it if it is not known whether more layers improve the predictions on the stream."

    layers: int
    width: int
    lr: float
    beta: float
    s: float
    activation: Activation
    rescale_losses: bool
    classes: Sequence[Hashable] | None
    seed: int
    n_seen: int
    mixture_loss: float
    _alpha: Array
    _losses: Array
    _labels: Labels
    _rows: Rows
    _layers: list[Array]  # after the first one
    _heads: list[Array]

    def __init__(
        self,
        layers: int = 3,
        width: int = 32,
        *,
        lr: float = 0.1,
        beta: float = 0.99,
        s: float = 0.2,
        activation: Activation = "tanh",
        rescale_losses: bool = False,
        classes: Sequence[Hashable] | None = None,
        seed: int = 0,
    ) -> None:
        depths, units = whole("layers", layers, 1), whole("width", width, 1)
        one_of("activation", activation, tuple(FUNCTIONS))
        if not_negative("s", s) > 1:
            raise ValueError(f"`s` must be a number from 0 to 1, not {s!r}")
        vars(self).update(layers=depths, width=units, lr=positive("lr", lr), beta=inside_unit("beta", beta), s=s)
        classes = label_list("classes", classes)
        vars(self).update(activation=activation, rescale_losses=rescale_losses, classes=classes)
        vars(self).update(seed=whole("seed", seed), n_seen=0, mixture_loss=0.0)
        gain = FUNCTIONS[activation].gain
        vars(self).update(
            _alpha=np.full(depths, 1.0 / depths),
            _losses=np.zeros(depths),
            _labels=Labels(classes),
            _rows=net.input_layer(units),
            _layers=[net.new_layer(units, units, gain, seed, "layer", depth) for depth in range(depths - 1)],
            _heads=[np.zeros((1 + units, 0)) for _ in range(depths)],
        )
        self._add_outputs()

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr"}

    def _change(self, name: str, value: Any) -> None:
        vars(self)[name] = positive(name, value)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"layers": 2, "width": 4}

    @property
    def depth_weights(self) -> list[float]:
        """The weights of the depths, which sum to 1: that of the first layer comes first."""
        return [float(weight) for weight in self._alpha]

    @property
    def head_losses(self) -> list[float]:
        """The sums of the losses that each depth has had."""
        return [float(loss) for loss in self._losses]

    def _add_outputs(self) -> None:
        """Give each head a column for each label, with random weights of its own."""
        for depth, head in enumerate(self._heads):
            for number in range(head.shape[1], len(self._labels.known)):
                column = net.normal_row(self.width, self.width, 1.0, self.seed, "head", depth, number)
                head = np.column_stack([head, np.concatenate([[0.0], column])])
            self._heads[depth] = head

    def _values(self, places: Sequence[int], inputs: Array) -> list[Array]:
        return net.hidden_values(self._rows.values, places, inputs, self._layers, FUNCTIONS[self.activation])

    def _shares(self, values: Sequence[Array]) -> Array:
        """Return the probabilities of each depth, one row each."""
        return np.array([softmax(net.apply(*pair)) for pair in zip(self._heads, values, strict=True)])

    def _probabilities(self, x: Mapping[Any, Any]) -> Array:
        places, inputs = self._rows.known(net.with_constant(read_features(x)))
        shares = self._alpha @ finite(self, lambda: self._shares(self._values(places, inputs)))
        return np.asarray(shares / shares.sum())

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Take one gradient step with all depths, and change their weights.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            The label: bools, or anything else that is hashable.
        w
            Sample weight, >= 0; it multiplies `lr`, and the losses that change the weights of the depths.

        Raises
        ------
        ValueError
            If a feature, the label or the weight is refused. Nothing is learned.
        OverflowError
            If the step would take a weight beyond floating point. Nothing is learned.
        """
        w = sample_weight(w)
        self.check_label(y)
        found = net.with_constant(read_features(x))
        features, known, heads = len(self._rows.places), self._labels.known, list(self._heads)
        try:
            if w > 0.0:  # else their random weights would change predictions
                net.add_features(self._rows, found, FUNCTIONS[self.activation].gain, self.seed)
            self._labels.known = self._labels.including(y)
            self._add_outputs()
            losses = self._step(found, self._labels.known.index(plain(y)), self.lr * w)
        except BaseException:  # of a step that would overflow, or Ctrl-C in a notebook
            self._rows.shrink(features)
            self._labels.known, self._heads[:] = known, heads
            raise
        if w > 0.0:  # else the floor would move the weights
            self._reweigh(losses, w)
        vars(self)["n_seen"] += 1

    def _step(self, x: Mapping[Any, float], label: int, rate: float) -> Array:
        """Take the gradient step, and return the losses of the depths before it."""
        places, inputs = self._rows.known(x)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(places, inputs)
            shares = self._shares(values)
            wrong = self._alpha[:, None] * (shares - np.eye(shares.shape[1])[label])
            gradients = self._gradients(inputs, values, wrong)
            before = [self._rows.values[places], *self._layers, *self._heads]
            rows, *others = net.moved(type(self).__name__, before, gradients, rate)
        self._rows.values[places] = rows
        self._layers[:], self._heads[:] = others[: self.layers - 1], others[self.layers - 1 :]
        return -np.log(np.maximum(shares[:, label], LEAST))

    def _gradients(self, inputs: Array, values: Sequence[Array], wrong: Array) -> list[Array]:
        """Return the gradients of Σ aᵢlᵢ: of the rows of the features, then of the layers, then of the heads."""
        slope = FUNCTIONS[self.activation].slope
        heads = [net.gradient(*pair) for pair in zip(values, wrong, strict=True)]
        found: list[Array] = []
        delta = slope(values[-1]) * (self._heads[-1][1:] @ wrong[-1])
        for depth in reversed(range(self.layers - 1)):
            layer, below = self._layers[depth], values[depth]
            found.insert(0, net.gradient(below, delta))
            delta = slope(below) * (layer[1:] @ delta + self._heads[depth][1:] @ wrong[depth])
        return [np.outer(inputs, delta), *found, *heads]

    def _reweigh(self, losses: Array, w: float) -> None:
        if self.rescale_losses:
            spread = losses.max() - losses.min()
            losses = (losses - losses.min()) / (spread if spread > 0.0 else 1.0)
        vars(self)["mixture_loss"] += w * float(self._alpha @ losses)
        # Without a floor, a factor that all weights have in common changes no share, but could make all of them 0.
        shared = losses.min() if self.s == 0.0 else 0.0
        alpha = np.maximum(self._alpha * self.beta ** (w * (losses - shared)), max(self.s / self.layers, LEAST))
        vars(self).update(_alpha=alpha / alpha.sum(), _losses=self._losses + w * losses)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the most probable label; None before the first label if no class is known."""
        return self._labels.best(self._probabilities(x)) if self._labels.known else None

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probability of each label, mixed over the depths."""
        return self._labels.probabilities(self._probabilities(x) if self._labels.known else np.zeros(0))

    def score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the probability of True less that of False, or the probabilities by label; {} before the first."""
        return self._labels.scores(self._probabilities(x)) if self._labels.known else {}

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self._labels.check(y)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n_seen": self.n_seen,
            "labels": list(self._labels.known),
            "rows": self._rows.state(),
            "layers": [layer.copy() for layer in self._layers],
            "heads": [head.copy() for head in self._heads],
            "alpha": self._alpha.copy(),
            "losses": self._losses.copy(),
            "mixture_loss": self.mixture_loss,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        square, head = (1 + self.width, self.width), (1 + self.width, len(state["labels"]))
        alpha = checked(state["alpha"], (self.layers,))
        if not (alpha > 0.0).all() or not math.isclose(alpha.sum(), 1.0):
            raise ValueError("the weights of the depths must be above 0 and sum to 1")
        found: dict[str, Any] = {
            "_alpha": alpha,
            "_losses": checked(state["losses"], (self.layers,)),
            "_layers": [checked(layer, square) for layer in state["layers"]],
            "_heads": [checked(each, head) for each in state["heads"]],
            "mixture_loss": float(state["mixture_loss"]),
            "n_seen": whole("n_seen", state["n_seen"]),
        }
        if (len(found["_layers"]), len(found["_heads"])) != (self.layers - 1, self.layers):
            raise ValueError(f"the state has other layers than the {self.layers} of this network")
        self._rows.restore(state["rows"])
        self._labels.known = list(state["labels"])
        vars(self).update(found)
