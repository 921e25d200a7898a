"""The ellipsoid method as a classifier: an ellipsoid that contains all consistent weights, cut at each mistake."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from river_margins.core.checks import not_negative, one_of, positive, whole
from river_margins.families.parameter_types import Classes
from river_margins.version_space.classifier import CentreClassifier
from river_margins.version_space.geometry import finite_array

__all__ = ["EllipsoidClassifier"]

THINNEST = 1e-15  # half the width of an ellipsoid, in radii: the rounding of examples hides smaller margins


class Ellipsoid:
    """The points w with (w - centre)'P⁻¹(w - centre) <= 1, in a ball of the given radius at first.

    P is kept as JJ', since the rounding errors of P itself hide all widths below 1e-8 radii.
    """

    def __init__(self, dimension: int, radius: float, deep: bool, margin: float) -> None:
        self.radius, self.deep, self.margin = radius, deep, margin
        self.centre = np.zeros(dimension)
        self.factor = radius * np.eye(dimension)  # J
        self.inconsistent = False
        self.ended = False

    @property
    def matrix(self) -> Any:
        """P."""
        return self.factor @ self.factor.T

    @matrix.setter
    def matrix(self, matrix: Any) -> None:
        # Not by Cholesky: rounding may have left a thin P with variances of 0 or less.
        variances, axes = np.linalg.eigh(matrix)
        self.factor = axes * np.sqrt(np.maximum(variances, np.finfo(float).eps * variances.max(initial=0.0)))

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume."""
        d = len(self.centre)
        return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + float(np.linalg.slogdet(self.factor)[1])

    def grow(self, count: int) -> None:
        """Append coordinates: the smallest ellipsoid around all points of this one with a ball of new coordinates."""
        old, new = len(self.centre), len(self.centre) + count
        factor = np.zeros((new, new))
        if old:
            factor[:old, :old] = math.sqrt(new / old) * self.factor
        factor[old:, old:] = math.sqrt(new / count) * self.radius * np.eye(count)
        self.centre, self.factor = np.pad(self.centre, (0, count)), factor

    def cut(self, direction: Any) -> bool:
        """Take the smallest ellipsoid around the part with ⟨direction, w⟩ >= margin, or >= that of the centre."""
        d, along = len(self.centre), direction @ self.factor
        width = float(np.linalg.norm(along))  # sqrt(g'Pg)
        if not width > THINNEST * self.radius:
            self.inconsistent = True
            return False
        along /= width
        shift = self.factor @ along
        depth = (self.margin - float(direction @ self.centre)) / width if self.deep else 0.0
        if depth >= 1.0:  # nothing of the ellipsoid is left
            self.inconsistent = True
            return False
        if d == 1:
            factor = self.factor * ((1.0 - depth) / 2.0)
        else:
            # With n = J'g/|J'g| and b = Jn, P' is a multiple of J(I - (1 - left²)nn')J'.
            left = math.sqrt((d - 1.0) * (1.0 - depth) / ((d + 1.0) * (1.0 + depth)))
            wider = math.sqrt(d * d / (d * d - 1.0) * (1.0 - depth * depth))
            factor = wider * (self.factor - (1.0 - left) * np.outer(shift, along))
        self.centre = self.centre + (1.0 + d * depth) / (d + 1.0) * shift
        self.factor = factor
        return True

    def state(self) -> dict[str, Any]:
        return {"centre": self.centre, "factor": self.factor, "inconsistent": self.inconsistent}

    def restore(self, state: Mapping[str, Any]) -> None:
        d = len(state["centre"])
        centre = finite_array("centre", state["centre"], (d,))
        if "factor" in state:
            self.factor = finite_array("factor", state["factor"], (d, d))
        else:  # of a snapshot with P itself
            self.matrix = finite_array("matrix", state["matrix"], (d, d))
        self.centre, self.inconsistent = centre, bool(state["inconsistent"])


class EllipsoidClassifier(CentreClassifier):
    """The ellipsoid method: predict with the centre of an ellipsoid that contains all consistent weight vectors.

    The ellipsoid is a ball at first. A mistake on (x, y) rules out a half of it; it becomes the smallest ellipsoid
    around the rest. With the centre c, the matrix P, g = y·x/|x|, b = Pg/sqrt(gᵀPg), the depth s of the cut and d
    dimensions: c' = c + (1 + d·s)/(d + 1)·b and P' = d²/(d² - 1)·(1 - s²)·(P - 2(1 + d·s)/((d + 1)(1 + s))·bbᵀ). The
    score is ⟨c, x⟩.

    Parameters
    ----------
    dimension
        The number of features, with the intercept, if it is known, at least 1. None (default) lets the ellipsoid grow
        with the features that are seen: it still contains all consistent weights, but is larger than one that starts
        with all features.
    cut
        "deep" (default) cuts where the example does, at the depth s = (margin - y⟨c, x⟩/|x|)/sqrt(gᵀPg); "central" cuts
        through the centre, s = 0.
    margin
        What y⟨w, x⟩/|x| is at least, on all examples, for the weights w to be found, whose length is at most `radius`;
        >= 0 and below `radius`, 0 by default. Only deep cuts use it.
    radius
        The radius of the ball at the beginning, from 1e-100 to 1e100; 1 by default.
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    intercept
        Whether to add a constant feature of value 1, named `INTERCEPT` in `weights`; True by default.
    max_dimension
        The most features, at least 1; 5000 by default. The memory is their square.

    Raises
    ------
    ValueError
        If a parameter is outside its range; in `learn_one`, if there are more features than `max_dimension`.

    Notes
    -----
    If some u separates the examples, divided by their lengths, with margin 1, the number of mistakes in d dimensions is
    at most 2d(d + 1)·ln(1 + |u|), for `dimension=d` and radius 1: each mistake takes at least the factor
    exp(-1/(2(d + 1))) from the volume. The bound counts the constant feature. When features join, it is void.

    If no hyperplane separates the stream, the ellipsoid shrinks to a point. When it is so thin that |u| would have to
    be above 1e15, or if a cut leaves nothing of it, `inconsistent` is True, and such examples are not learned. Use
    `AROWClassifier` on streams with noise. For more than two classes, use `river.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.EllipsoidClassifier(2, cut="central", intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 0.0}, True)
    >>> model.weights["a"]
    0.3333333333333333
    >>> model.predict_one({"a": 0.6, "b": 0.8})
    True

    References
    ----------
    Yang, L., Jin, R. and Ye, J., 2009. Online learning by ellipsoid method. ICML.
    Bland, R., Goldfarb, D. and Todd, M., 1981. The ellipsoid method: a survey. Operations Research 29 (deep cuts).
    """

    round_cost = "The number of features in x; in a mistake, the square of the number of features seen."
    guarantee = "At most 2d(d+1)·ln(1+|u|) mistakes if u separates examples of length 1 with margin 1, for a known d."
    advice = "Use it on streams without noise whose margin is tiny, in few dimensions."

    dimension: int | None
    cut: Literal["central", "deep"]
    margin: float
    radius: float
    _body: Ellipsoid

    def __init__(
        self,
        dimension: int | None = None,
        *,
        cut: Literal["central", "deep"] = "deep",
        margin: float = 0.0,
        radius: float = 1.0,
        classes: Classes = None,
        intercept: bool = True,
        max_dimension: int = 5000,
    ) -> None:
        one_of("cut", cut, ("central", "deep"))
        if margin and cut == "central":
            raise ValueError(f"`margin` = {margin!r} needs deep cuts: leave it out, or use cut='deep'")
        if dimension is not None and whole("dimension", dimension, 1) > max_dimension:
            raise ValueError(f"`dimension` must be at most `max_dimension` = {max_dimension}, not {dimension!r}")
        vars(self).update(
            dimension=dimension, cut=cut, margin=not_negative("margin", margin), radius=positive("radius", radius)
        )
        if not 1e-100 <= radius <= 1e100:  # its square is a variance
            raise ValueError(f"`radius` must be a number from 1e-100 to 1e100, not {radius!r}")
        if not margin < radius:  # the first cut would leave nothing
            raise ValueError(
                f"`margin` must be below `radius` = {radius!r}, not {margin!r}: weights of at most that length have no "
                "such margin on an example divided by its length"
            )
        body = Ellipsoid(dimension or 0, radius, cut == "deep", margin)
        self._open_body(body, classes, intercept, max_dimension)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"dimension": 20, "cut": "central", "radius": 2.0, "intercept": False}

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the ellipsoid."""
        return self._body.log_volume
