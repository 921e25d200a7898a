"""The log-linear model, learned by one gradient step for each example."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from river import base

from river_margins.adaptation.joint import Joint, JointFeatures, joint, put, weights_of
from river_margins.core.checks import not_negative, one_of, positive, sample_weight, whole
from river_margins.core.described import Described
from river_margins.core.estimator import Estimator
from river_margins.core.reader import INTERCEPT
from river_margins.networks.examples import Array, Labels, Rows, finite, softmax
from river_margins.networks.layers import CONSTANT
from river_margins.tasks.labels import label_list, plain

__all__ = ["LogLinearClassifier"]

Rate = Literal["constant", "1/sqrt(t)"]


class LogLinearClassifier(Described, Estimator, base.Classifier):
    """The log-linear model p(k|x) ∝ exp⟨w, Φ(x, k)⟩, learned online by one gradient step for each example.

    The update is w += lr·(Φ(x, y) - Σ p(k|x)·Φ(x, k)), after w was multiplied by 1 - lr·l2. Without `phi`, each label
    has a copy of the features of x, as in multinomial logistic regression. With `phi` the labels may share weights; if
    they are numbers of candidates and phi(x, k) returns the features of candidate k in x, the model reranks.

    Parameters
    ----------
    lr
        Learning rate, > 0; 0.03 by default.
    schedule
        "constant" (default), or "1/sqrt(t)" for lr/sqrt(t) in round t.
    l2
        Penalty of l2/2·|w|² in each round, >= 0; 0 by default.
    phi
        phi(x, k), the joint features: a mapping from hashable names to finite numbers. None (default) has a feature
        (name, k) for each feature of x.
    classes
        Labels known beforehand; their order breaks ties. Other labels are added when they first appear.
    intercept
        Whether each label has the constant feature `INTERCEPT`, too; True by default. `phi` has its own, if any.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    The log loss is convex. With a constant lr, without l2 and with `classes`, the log losses exceed those of any fixed
    u by at most |u|²/(2·lr) + lr/2·Σ|g|², where each g is the gradient of a round, and |g| <= max |Φ(x, y) - Φ(x, k)|.
    Snapshots cannot hold functions, so they refuse a model with `phi`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.LogLinearClassifier(lr=1.0, classes=["a", "b"], intercept=False)
    >>> model.learn_one({"x": 1.0}, "b")
    >>> dict(model.weights)
    {('x', 'a'): -0.5, ('x', 'b'): 0.5}
    >>> model.predict_one({"x": 2.0})
    'b'

    References
    ----------
    Berger, A., Della Pietra, S. and Della Pietra, V., 1996. A maximum entropy approach to natural language processing.
    Computational Linguistics 22. Zinkevich, M., 2003. Online convex programming and generalized infinitesimal gradient
    ascent. ICML.
    """

    round_cost = "The joint features of all labels, and all weights if `l2` is above 0."
    guarantee = "The log losses exceed those of any fixed u by at most |u|²/(2·lr) + lr/2·Σ|g|² (constant lr, l2 0)."
    advice = (
        "Use it for probabilities (with hundreds of features, `lr=0.003`), for labels that share features, and as the "
        "start of an adaptation."
    )

    lr: float
    schedule: Rate
    l2: float
    phi: JointFeatures | None
    classes: Sequence[Hashable] | None
    intercept: bool
    n_seen: int
    _labels: Labels
    _rows: Rows

    def __init__(
        self,
        lr: float = 0.03,
        *,
        schedule: Rate = "constant",
        l2: float = 0.0,
        phi: JointFeatures | None = None,
        classes: Sequence[Hashable] | None = None,
        intercept: bool = True,
    ) -> None:
        one_of("schedule", schedule, ("constant", "1/sqrt(t)"))
        if not (phi is None or callable(phi)):
            raise TypeError(f"`phi` must be a function phi(x, k) that returns a dict of features, or None, not {phi!r}")
        vars(self).update(lr=positive("lr", lr), schedule=schedule, l2=not_negative("l2", l2), phi=phi)
        classes = label_list("classes", classes)
        vars(self).update(classes=classes, intercept=intercept, n_seen=0, _labels=Labels(classes), _rows=Rows(1))

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "l2"}

    def _change(self, name: str, value: Any) -> None:
        vars(self)[name] = positive(name, value) if name == "lr" else not_negative(name, value)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"l2": 0.001}

    @property
    def weights(self) -> Mapping[Any, float]:
        """The weights by joint feature, which is (feature, label) without `phi`."""
        values = zip(self._rows.places, self._rows.values[:, 0].tolist(), strict=True)
        return {_public(name): value for name, value in values}

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Take one gradient step on the log loss.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers; anything else that `phi` takes.
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
        labels = self._labels.including(y)
        found = joint(self.phi, self.intercept, x, labels)
        rate = w * self.lr / (1.0 if self.schedule == "constant" else math.sqrt(self.n_seen + 1))
        old = weights_of(self._rows, found.names)[:, 0]
        kept = max(0.0, 1.0 - rate * self.l2)
        with np.errstate(over="ignore", invalid="ignore"):
            new = kept * old - rate * loss_gradient(found, old, labels.index(plain(y)))
        if not np.isfinite(new).all():
            raise OverflowError(
                "a weight of `LogLinearClassifier` would become infinite; nothing was learned: scale the features, as "
                "StandardScaler() does, or take a smaller `lr`"
            )
        if kept < 1.0:
            self._rows.values[:] *= kept
        put(self._rows, found.names, new[:, None])
        self._labels.known = labels
        vars(self)["n_seen"] += 1

    def _scores(self, x: Any) -> Array:
        found = joint(self.phi, self.intercept, x, self._labels.known)
        return finite(self, lambda: found.scores(weights_of(self._rows, found.names)[:, 0]))

    def predict_one(self, x: Any) -> Any:  # type: ignore[override]  # takes no keywords
        """Predict the most probable label; None before the first label if no class is known."""
        return self._labels.best(self._scores(x))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:  # type: ignore[override]  # takes no keywords
        """Return the probability of each label."""
        return self._labels.probabilities(softmax(self._scores(x)))

    def score_one(self, x: Any) -> Any:
        """Return the logarithm of the odds of True, or the scores ⟨w, Φ(x, k)⟩ by label; {} before the first label."""
        return self._labels.scores(self._scores(x))

    def check_label(self, y: Any) -> None:
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        self._labels.check(y)

    def parameters(self) -> list[Array]:
        """Return the weights as a list of one array, with a row for each joint feature."""
        return [self._rows.values]

    def _prepare(self, x: Any, y: Any) -> Joint:
        """Give the label and the joint features of an example a place; return these."""
        labels = self._labels.including(y)
        found = joint(self.phi, self.intercept, x, labels)
        put(self._rows, found.names, weights_of(self._rows, found.names))
        self._labels.known = labels
        return found

    def _full_gradients(self, found: Joint, y: Any) -> list[Array]:
        """Return the gradient of the log loss by `parameters`."""
        places = [self._rows.places[name] for name in found.names]
        gradient = np.zeros(self._rows.values.shape)
        gradient[places, 0] = loss_gradient(found, self._rows.values[places, 0], self._labels.known.index(plain(y)))
        return [gradient]

    def __getstate__(self) -> dict[str, Any]:
        return {"n_seen": self.n_seen, "labels": list(self._labels.known), "rows": self._rows.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._rows.restore(state["rows"])
        self._labels.known = list(state["labels"])
        vars(self)["n_seen"] = whole("n_seen", state["n_seen"])


def _public(name: Any) -> Any:
    """Return the name of a joint feature with `INTERCEPT` in place of the constant input of a network."""
    return (INTERCEPT, name[1]) if type(name) is tuple and name[:1] == (CONSTANT,) else name


def loss_gradient(found: Joint, weights: Array, label: int) -> Array:
    """Return the gradient of -ln p(label) by the weights of the joint features: Σ p(k)·Φ(k) - Φ(label)."""
    shares = softmax(found.scores(weights))
    shares[label] -= 1.0
    return found.combine(shares)
