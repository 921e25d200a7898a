"""The mean of the weights of a learner over all rounds, to predict with."""

from collections.abc import Iterator, Mapping
from typing import Any

from river import base

from river_margins.core.checks import sample_weight, short, whole
from river_margins.core.learner import Learner
from river_margins.families.composed import MarginClassifier, MarginRegressor, has_intercept
from river_margins.families.delegating import Delegating, DelegatingClassifier
from river_margins.rules import PA1

__all__ = ["Averaged", "AveragedRegressor"]


class Averaging(Delegating):
    """A copy of a linear learner, and a second one, `mean`, whose weights are the mean of those of the first."""

    burn_in: int
    mean: Any
    n_seen: int
    _total: float  # the sample weights of the rounds in the mean

    def _wrap(self, learner: Any, kind: type, burn_in: int) -> None:
        if not (isinstance(learner, kind) and isinstance(learner, Learner)):
            needed = "regressor of this library, such as PARegressor()"
            if kind is MarginClassifier:
                needed = "classifier of this library, such as PAClassifier()"
            raise TypeError(f"`learner` must be a linear {needed}, not {short(learner)}")
        learner = learner.clone(include_attributes=True)
        learner.weight_matrix()  # raises TypeError for a learner whose score is not a product with weights
        shape: dict[str, Any] = {
            "intercept": has_intercept(learner.intercept, getattr(learner, "space", None)),
            "max_features": learner.max_features,
        }
        if kind is MarginClassifier:
            shape |= {"classes": learner.classes}
        vars(self).update(
            learner=learner,
            burn_in=whole("burn_in", burn_in),
            mean=kind(PA1(), **shape),
            n_seen=0,
            _total=0.0,
        )

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Let the learner learn an example, and move the mean towards its weights; w also counts in the mean."""
        w = sample_weight(w)
        self.learner.learn_one(x, y, **({} if w == 1.0 else {"w": w}))
        vars(self).update(n_seen=self.n_seen + 1)
        if self.n_seen > self.burn_in and w > 0.0:
            vars(self).update(_total=self._total + w)
            self.mean.weights = moved(self.mean.weights, self.learner.weights, w / self._total)

    def _predictor(self) -> Any:
        return self.mean if self._total and self.mean.weights else self.learner

    @property
    def weights(self) -> Mapping[Any, Any]:
        """The mean weights, as `weights` of the learner; during the burn-in, those of the learner."""
        weights: Mapping[Any, Any] = self._predictor().weights
        return weights

    @property
    def n_updates(self) -> int:
        """The updates of the learner."""
        updates: int = self.learner.n_updates
        return updates

    def _recipe(self) -> dict[str, Any]:
        return super()._recipe() | {"learner": self.learner.clone()}

    def __getstate__(self) -> dict[str, Any]:
        states = {"learner": self.learner.__getstate__(), "mean": self.mean.__getstate__()}
        return states | {"n_seen": self.n_seen, "total": self._total}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.learner.__setstate__(state["learner"])
        self.mean.__setstate__(state["mean"])
        vars(self).update(n_seen=state["n_seen"], _total=state["total"])


class Averaged(Averaging, DelegatingClassifier):  # type: ignore[misc]  # takes no keywords
    """Predict with the mean of the weights that a linear classifier has had after each round.

    After k rounds, the mean is (w_1 + ... + w_k)/k, kept as v' = v + (w - v)/k. A round counts with its sample weight.

    Parameters
    ----------
    learner
        A classifier of this library whose score is a product of weights with features, such as PAClassifier or
        AROWClassifier. The wrapper works on a copy, which keeps what the classifier has learned.
    burn_in
        The number of first rounds that the mean leaves out, >= 0; 0 by default. During these rounds, the learner itself
        predicts.

    Attributes
    ----------
    learner
        The copy that learns.
    mean
        A classifier with the mean weights.
    n_seen
        The number of rounds.

    Notes
    -----
    For losses that are convex in the weights, such as the hinge loss, the loss of the mean weights on any set of
    examples is at most the mean of the losses of the w_i. On independent examples, their expected loss exceeds that of
    any fixed u by at most the expected regret per round. With plain weights, the space `AveragedLinear` keeps the same
    mean at the cost of the features of x.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.Averaged(rm.ROMMAClassifier())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.99%

    References
    ----------
    Polyak, B. and Juditsky, A., 1992. Acceleration of stochastic approximation by averaging.
    """

    round_cost = "A learning step, and the number of all weights."
    guarantee = "A convex loss of at most the mean of the losses of all weights so far, on any examples."
    advice = "Use it to steady a learner; with plain weights, the space AveragedLinear is faster."

    def __init__(self, learner: MarginClassifier, *, burn_in: int = 0) -> None:
        self._wrap(learner, MarginClassifier, burn_in)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.gaussian import AROWClassifier
        from river_margins.families.maximum_margin import ROMMAClassifier

        yield {"learner": ROMMAClassifier()}
        yield {"learner": AROWClassifier(), "burn_in": 20}


class AveragedRegressor(Averaging, base.Regressor):
    """Predict with the mean of the weights that a linear regressor has had after each round.

    After k rounds, the mean is (w_1 + ... + w_k)/k, kept as v' = v + (w - v)/k. A round counts with its sample weight.

    Parameters
    ----------
    learner
        A regressor of this library whose prediction is a product of weights with features, such as AdalineRegressor.
        The wrapper works on a copy, which keeps what the regressor has learned.
    burn_in
        The number of first rounds that the mean leaves out, >= 0; 0 by default. During these rounds, the learner itself
        predicts.

    Attributes
    ----------
    learner
        The copy that learns.
    mean
        A regressor with the mean weights.
    n_seen
        The number of rounds.

    Notes
    -----
    As for `Averaged`, also for the squared and the absolute error. Least mean squares with a constant step come to a
    neighbourhood of the best weights; their mean converges to them.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.AveragedRegressor(rm.PARegressor(mode=0, eps=0.0, intercept=False))
    >>> for y in (4.0, 2.0, 3.0):
    ...     model.learn_one({"a": 1.0}, y)
    >>> model.predict_one({"a": 1.0})
    3.0

    References
    ----------
    Polyak, B. and Juditsky, A., 1992. Acceleration of stochastic approximation by averaging.
    """

    round_cost = "A learning step, and the number of all weights."
    guarantee = "A convex loss of at most the mean of the losses of all weights so far, on any examples."
    advice = "Use it to steady a regressor with a constant step, on data that do not drift."

    def __init__(self, learner: MarginRegressor, *, burn_in: int = 0) -> None:
        self._wrap(learner, MarginRegressor, burn_in)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_margins.families.gradient import AdalineRegressor
        from river_margins.families.passive_aggressive import PARegressor

        yield {"learner": AdalineRegressor()}
        yield {"learner": PARegressor(), "burn_in": 20}


def moved(mean: Mapping[Any, Any], present: Mapping[Any, Any], share: float) -> dict[Any, Any]:
    """Return mean + share·(present - mean), of {feature: weight} or of {class: {feature: weight}}; the missing is 0."""
    if any(isinstance(vector, Mapping) for vector in present.values()):
        return {label: moved(mean.get(label, {}), vector, share) for label, vector in present.items()}
    return {name: (old := mean.get(name, 0.0)) + share * (weight - old) for name, weight in present.items()}
