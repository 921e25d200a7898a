"""The volumetric centre as a classifier: the point of a polytope whose inscribed ellipsoid is about the largest."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from river_margins.core.checks import inside_unit
from river_margins.families.parameter_types import Classes
from river_margins.version_space.classifier import CentreClassifier
from river_margins.version_space.geometry import Array, finite_array

__all__ = ["VolumetricCenterClassifier"]

MOST_STEPS = 100
SMALLEST_DECREMENT = 1e-10
SMALLEST_CHANGE = 1e-12  # of a slack, relative to it
SHALLOWEST = 1e-10  # the depth of a cut that floating point can still place well


class Polytope:
    """The w in [-1, 1]^d with ⟨a, w⟩ >= b for all cuts, and its volumetric centre.

    The centre has the least F(w) = ½ ln det H, where H = Σ aaᵀ/s² over all rows of the box and the cuts, and the slack
    of a row is s = ⟨a, w⟩ - b.
    """

    def __init__(self, kappa: float, eps: float) -> None:
        self.kappa, self.eps = kappa, eps
        self.centre = np.zeros(0)
        self.cuts, self.offsets = np.empty((0, 0)), np.empty(0)
        self.inconsistent = False

    @property
    def ended(self) -> bool:
        return self.inconsistent

    def grow(self, count: int) -> None:
        """Append coordinates, which no cut uses: the centre has 0 there."""
        self.centre, self.cuts = np.pad(self.centre, (0, count)), np.pad(self.cuts, ((0, 0), (0, count)))

    def cut(self, direction: Array) -> bool:
        """Drop cuts with little influence, add a shallow cut on this side of the centre, and find the centre again."""
        kept = self.centre, self.cuts, self.offsets
        try:
            self._drop_weak_cuts()
            inverse, _ = self._measure()
            # Rounding can make this number negative, or not a number, if the polytope is thin.
            depth = math.sqrt(max(float(direction @ inverse @ direction), 0.0) / self.kappa)
            if not depth > SHALLOWEST:
                raise np.linalg.LinAlgError
            self.cuts = np.vstack([self.cuts, direction])
            self.offsets = np.append(self.offsets, direction @ self.centre - depth)
            self._recentre()
        except BaseException as error:  # also Ctrl-C in a notebook, which must not leave a cut without its offset
            self.centre, self.cuts, self.offsets = kept
            if not isinstance(error, np.linalg.LinAlgError):
                raise
            self.inconsistent = True  # the polytope is thinner than floating point can tell
        return not self.inconsistent

    def _drop_weak_cuts(self) -> None:
        while len(self.cuts):
            leverages = self._measure()[1][2 * len(self.centre) :]
            weakest = int(leverages.argmin())
            if leverages[weakest] >= self.eps:
                break
            self.cuts = np.delete(self.cuts, weakest, axis=0)
            self.offsets = np.delete(self.offsets, weakest)
            self._recentre()

    def _rows(self) -> tuple[Array, Array]:
        d = len(self.centre)
        rows = np.vstack([np.eye(d), -np.eye(d), self.cuts])
        return rows, np.concatenate([np.full(2 * d, -1.0), self.offsets])

    def _measure(self) -> tuple[Array, Array]:
        """Return the inverse of H at the centre, and the leverage of each row."""
        rows, offsets = self._rows()
        scaled = rows / (rows @ self.centre - offsets)[:, None]
        inverse = np.asarray(np.linalg.inv(scaled.T @ scaled), float)
        return inverse, np.asarray(((scaled @ inverse) * scaled).sum(axis=1))

    def _recentre(self) -> None:
        """Minimise F by damped Newton steps.

        With the rows b = a/s and P = BH⁻¹B', whose diagonal has the leverages, the gradient of F is -B'diag(P) and its
        second derivative is B'(3·diag(P) - 2·P∘P)B, the last product being one of entries.
        """
        rows, offsets = self._rows()
        slacks = rows @ self.centre - offsets
        present = _objective(rows, slacks)
        for _ in range(MOST_STEPS):
            scaled = rows / slacks[:, None]
            projection = scaled @ np.linalg.inv(scaled.T @ scaled) @ scaled.T
            leverages = np.diag(projection)
            gradient = -leverages @ scaled
            step = -np.linalg.solve(scaled.T @ (3.0 * np.diag(leverages) - 2.0 * projection**2) @ scaled, gradient)
            if -float(gradient @ step) < SMALLEST_DECREMENT:
                return
            change = rows @ step
            while (following := _objective(rows, slacks + change)) >= present:
                step, change = step / 2.0, change / 2.0
                if np.abs(change / slacks).max() < SMALLEST_CHANGE:  # rounding hides what is left to gain
                    return
            self.centre = self.centre + step
            slacks, present = rows @ self.centre - offsets, following

    def state(self) -> dict[str, Any]:
        arrays = {"centre": self.centre, "cuts": self.cuts, "offsets": self.offsets}
        return arrays | {"inconsistent": self.inconsistent}

    def restore(self, state: Mapping[str, Any]) -> None:
        d, count = len(state["centre"]), len(state["offsets"])
        centre = finite_array("centre", state["centre"], (d,))
        offsets = finite_array("offsets", state["offsets"], (count,))
        cuts = finite_array("cuts", state["cuts"], (count, d))
        self.centre, self.cuts, self.offsets = centre, cuts, offsets
        self.inconsistent = bool(state["inconsistent"])


def _objective(rows: Array, slacks: Array) -> float:
    """Return F at a point with these slacks; infinity outside the polytope."""
    if slacks.min() <= 0.0:
        return math.inf
    scaled = rows / slacks[:, None]
    # H is positive definite, so its determinant is the squared product of the diagonal of its Cholesky factor.
    return float(np.log(np.diag(np.linalg.cholesky(scaled.T @ scaled))).sum())


class VolumetricCenterClassifier(CentreClassifier):
    """Vaidya's volumetric centre: predict with a centre of a polytope, which each mistake cuts by a shallow cut.

    The polytope is the box [-1, 1]^d at first. The centre w minimises ½ ln det H(w), where H is the sum of aaᵀ/s² over
    all rows a with the slack s at w. A mistake on (x, y) first drops the cuts whose leverage aᵀH⁻¹a/s² is below `eps`,
    and then adds the cut a = y·x/|x| at the depth sqrt(aᵀH⁻¹a/kappa) behind the centre. The score is ⟨w, x⟩.

    Parameters
    ----------
    kappa
        How close to the centre cuts are, above 0 and below 1; 0.25 by default.
    eps
        The leverage below which a cut is dropped, above 0 and below 1; 0.01 by default.
    classes
        [negative, positive] for labels that are not bools; the learner is for two classes.
    intercept
        Whether to add a constant feature of value 1, named `INTERCEPT` in `weights`; True by default.
    max_dimension
        The most features, at least 1; 500 by default. A mistake costs the cube of their number.

    Raises
    ------
    ValueError
        If a parameter is outside its range; in `learn_one`, if there are more features than `max_dimension`.

    Notes
    -----
    If some u separates the examples, divided by their lengths, with margin 1, the number of mistakes grows like d·ln|u|
    in d dimensions. Vaidya proves this for an eps of at most 1e-4 and a far smaller kappa; with the defaults it is what
    measurements show. Features may join at any time: the polytope is the same as if all had been known.

    If no hyperplane separates the stream, the polytope shrinks to a point. When cuts are less than 1e-10 deep,
    `inconsistent` is True, and the weights stay. Use `AROWClassifier` on streams with noise. For more than two classes,
    use `river.multiclass.OneVsRestClassifier`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.VolumetricCenterClassifier(intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 1.0}, False)
    >>> model.predict_one({"a": 2.0, "b": 1.0}), model.predict_one({"a": -2.0, "b": 1.0})
    (False, True)

    References
    ----------
    Vaidya, P., 1996. A new algorithm for minimizing convex functions over convex sets. Mathematical Programming 73.
    """

    round_cost = "The number of features in x; in a mistake, the cube of the number of features seen, some ten times."
    guarantee = "Mistakes grow like d·ln|u| if u separates examples of length 1 with margin 1 (measured)."
    advice = "Use it on streams without noise whose margin is tiny, in some tens of dimensions."

    kappa: float
    eps: float
    _body: Polytope

    def __init__(
        self,
        kappa: float = 0.25,
        *,
        eps: float = 0.01,
        classes: Classes = None,
        intercept: bool = True,
        max_dimension: int = 500,
    ) -> None:
        vars(self).update(kappa=inside_unit("kappa", kappa), eps=inside_unit("eps", eps))
        self._open_body(Polytope(kappa, eps), classes, intercept, max_dimension)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
