"""Learning from points without labels."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import ArrayLike
from river import base

from river_margins.core.checks import positive
from river_margins.core.described import Described
from river_margins.core.learner import Learner
from river_margins.core.reader import INTERCEPT
from river_margins.core.weights import WeightMatrix
from river_margins.families.parameter_types import Mode
from river_margins.families.passive_aggressive import passive_aggressive_rule
from river_margins.rules import Rule
from river_margins.tasks.one_class import OneClass

__all__ = ["PAOneClass"]


class PAOneClass(Described, Learner, base.AnomalyDetector):
    """Passive-aggressive one-class learning: a centre whose distance to the points stays within a radius.

    With the loss l = [|x - w| - eps]+, the centre moves straight towards a point outside the radius: w' = w + tau·(x -
    w)/|x - w|, where tau is l (`mode=0`), min(C, l) (`mode=1`) or l/(1 + 1/(2C)) (`mode=2`).

    With `learn_radius=True` the radius grows from 0 to at most eps. The points become (x, 0), with one more dimension;
    the centre starts at (0, eps), and its last coordinate shrinks as it learns. The current radius is `radius` =
    sqrt(eps² - w_{n+1}²).

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. `mode=0` does not use it.
    mode
        The step: 0 is PA, 1 (default) is PA-I, 2 is PA-II.
    eps
        The radius, or with `learn_radius` the largest radius, > 0, in units of the features; 1 by default.
    learn_radius
        Whether to learn the radius; False by default.
    max_features
        The number of buckets that features are hashed into, >= 1; None (default) keeps every feature.

    Notes
    -----
    If all points lie within eps of some u, `mode=0` keeps Σ l² <= |u|². With `learn_radius`, and all points within r of
    c, the bound is |c|² + (eps - sqrt(eps² - r²))². `mode=2`, on any stream and for any u: Σ l² <= (1 + 1/(2C))·(|u|² +
    2C·Σ l(u)²).

    `score_one` is the distance to the centre, `predict_one` says whether this distance is above the radius, and
    `n_mistakes` counts the points that were outside. Features of very different scales need a scaler in front. A scaler
    that also centres them puts the initial centre in the middle of the points.

    Behind a scaler, points of n features are about √n from the centre. With the default `eps`, nearly all of more than
    two or three features are therefore outside, and `predict_one` says True of them. The distances rank them all the
    same: choose a larger `eps`, or let River's `anomaly.QuantileFilter` around the learner find the largest distances.

    River's `metrics.ROCAUC` has thresholds from 0 to 1 only, and the distances of most points are above: it shows next
    to nothing for a learner that finds all. `metrics.RollingROCAUC` ranks the scores, whatever their unit.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river import datasets, evaluate, metrics
    >>> model = rm.StandardScaler() | rm.PAOneClass(C=0.01)
    >>> rows = datasets.Shuttle().take(5_000)
    >>> evaluate.progressive_val_score(rows, model, metrics.RollingROCAUC(window_size=5_000))
    RollingROCAUC: 99.08%

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y., 2006. Online passive-aggressive algorithms.
    Journal of Machine Learning Research 7, section 6.
    """

    round_cost = "The number of features in x."
    guarantee = "A bound on squared distances beyond the radius in terms of those from any fixed centre."
    advice = "Use it for points without labels, behind a scaler."

    C: float
    mode: Mode
    eps: float
    learn_radius: bool
    max_features: int | None
    rule: Rule

    def __init__(
        self,
        C: float = 1.0,
        *,
        mode: Mode = 1,
        eps: float = 1.0,
        learn_radius: bool = False,
        max_features: int | None = None,
    ) -> None:
        rule = passive_aggressive_rule(C, mode)
        vars(self).update(C=C, mode=mode, eps=eps, learn_radius=learn_radius, max_features=max_features, rule=rule)
        # With the origin moved to (0, eps), each point (x, 0) has a constant last feature of value eps, up to its sign.
        self._open(rule, None, OneClass(positive("eps", eps)), learn_radius, max_features, constant=eps)

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"C", "mode"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for mode in (0, 1, 2):
            yield {"mode": mode, "C": 0.1}
        yield {"learn_radius": True, "eps": 10.0}

    @property
    def radius(self) -> float:
        """The current radius: `eps`, or the learned part of it."""
        if not self.learn_radius:
            return self.eps
        moved = self.weights.get(INTERCEPT, 0.0)
        return math.sqrt(max(moved * (2 * self.eps - moved), 0.0))

    def learn_one(self, x: Mapping[Any, Any], y: None = None, w: float = 1.0) -> None:
        """Learn from one point.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A missing feature counts as 0.
        y
            None: there is no label.
        w
            Sample weight, >= 0; it multiplies C.

        Raises
        ------
        ValueError
            If a feature is not a finite number, or y is not None; the learner is unchanged.
        OverflowError
            If the update would overflow; the learner is unchanged.
        """
        super().learn_one(x, y, w)

    def predict_learn_one(self, x: Mapping[Any, Any], y: None = None, w: float = 1.0) -> bool:
        """Predict, then learn; x is read once."""
        return super().predict_learn_one(x, y, w)

    def learn_many(self, X: Any, y: Any = None, w: float | ArrayLike = 1.0) -> None:
        """Learn from the rows of a data frame, in order: the same state as `learn_one` row by row."""
        super().learn_many(X, [None] * len(X) if y is None else y, w)

    def learn_csr(self, X: Any, y: Any = None, w: float | ArrayLike = 1.0) -> None:
        """Learn from the rows of a scipy sparse matrix, in order, as `learn_many` does."""
        super().learn_csr(X, [None] * X.shape[0] if y is None else y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> bool:
        """Return whether the distance from x to the centre is above the radius."""
        return super().predict_one(x)

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a data frame, as a series of the same library and with the same index."""
        return super().predict_many(X)

    def weight_matrix(self) -> WeightMatrix:
        """Raise a TypeError: a score is a distance. `weights` has the centre."""
        raise TypeError(f"the score of `{type(self).__name__}` is a distance; `weights` has the centre")

    def explain_one(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Raise TypeError: a distance is not a sum over features."""
        raise TypeError(f"the score of `{type(self).__name__}` is a distance, and not a sum over features")

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the distance from x to the centre: the larger, the more unusual is x."""
        distance = super().score_one(x)
        if not self.learn_radius:
            return distance
        height = self.eps - self.weights.get(INTERCEPT, 0.0)
        return math.sqrt(max(distance**2 - height**2, 0.0))
