"""Projections on half-spaces by Hildreth's method, and the support vector machine as a reference."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from river_margins.conversions.batch import signed_rows
from river_margins.core.checks import positive, rows_with, whole

__all__ = ["SVM", "Projection", "hildreth", "svm"]

Vector: TypeAlias = NDArray[np.float64]


class Projection(NamedTuple):
    """The projected point, the multipliers of the constraints, and whether the method has converged."""

    point: Vector
    multipliers: Vector
    converged: bool


class SVM(NamedTuple):
    """A solution: the weights, the multipliers of the examples, and the objective from above and from below."""

    weights: Vector
    multipliers: Vector
    primal: float
    dual: float


def hildreth(
    w: ArrayLike,
    rows: ArrayLike,
    targets: ArrayLike,
    *,
    largest: float = np.inf,
    max_sweeps: int = 10_000,
    tolerance: float = 1e-10,
) -> Projection:
    """Project a point on the half-spaces ⟨row, v⟩ >= target: the v with all of them that is nearest to w.

    Parameters
    ----------
    w
        The point.
    rows, targets
        The half-spaces: a row and a number for each. A row of zeros is left out.
    largest
        The largest multiplier, > 0; infinite by default. A finite one is the price C of a violation: v minimises
        |v - w|²/2 + C·Σ [target - ⟨row, v⟩]+.
    max_sweeps
        The largest number of passes over the half-spaces, >= 1; 10000 by default.
    tolerance
        The method ends after a pass in which no step of v is longer, > 0; 1e-10 by default.

    Returns
    -------
    (point, multipliers, converged): v, a multiplier >= 0 for each row, and whether the method ended by `tolerance`.

    Notes
    -----
    For one half-space this is the step of PA, and of PA-I with C. For several, passes of PA alone find a point with all
    of them, but not the nearest: the multipliers let a step be taken back. If no point has all of them, v does not
    converge, unless `largest` is finite.

    Examples
    --------
    >>> from river_margins.conversions import hildreth
    >>> point, multipliers, _ = hildreth([0.0, 0.0], [[1.0, 0.0], [1.0, 1.0]], [1.0, 3.0])
    >>> point.round(6).tolist(), multipliers.round(6).tolist()
    ([1.5, 1.5], [0.0, 1.5])

    References
    ----------
    Hildreth, C., 1957. A quadratic programming procedure. Naval Research Logistics Quarterly 4.
    """
    w, (rows, targets) = np.array(w, dtype=float), rows_with(rows, targets)
    if w.shape != rows.shape[1:]:
        raise ValueError(f"`w` must be a vector of {rows.shape[1]} numbers, like the rows, not of shape {w.shape}")
    positive("tolerance", tolerance)
    _above_0_or_infinite("largest", largest)
    squares = (rows**2).sum(axis=1)
    multipliers = np.zeros(len(rows))
    for _ in range(whole("max_sweeps", max_sweeps, 1)):
        longest = 0.0
        for i in np.flatnonzero(squares):
            step = (targets[i] - rows[i] @ w) / squares[i]
            step = min(max(step, -multipliers[i]), largest - multipliers[i])
            multipliers[i] += step
            w += step * rows[i]
            longest = max(longest, abs(step) * np.sqrt(squares[i]))
        if longest <= tolerance:
            return Projection(w, multipliers, True)
    return Projection(w, multipliers, False)


def svm(X: ArrayLike, y: ArrayLike, C: float = np.inf, *, max_sweeps: int = 10_000, tolerance: float = 1e-10) -> SVM:
    """Minimise |w|²/2 + C·Σ [1 - y⟨w, x⟩]+, without an intercept; with an infinite C, find the widest margin.

    Parameters
    ----------
    X, y
        The examples, as rows, and their labels, +1 or -1.
    C
        The price of a loss, > 0; infinite by default. The objective λ|w|² + the mean loss, of n examples, has the same
        solution with C = 1/(2·λ·n).
    max_sweeps, tolerance
        As for `hildreth`.

    Returns
    -------
    (weights, multipliers, primal, dual): the least objective lies between `dual` and `primal`. With an infinite C,
    `primal` is |w|²/2 with w scaled such that all margins are at least 1, or infinite if w does not separate.

    Notes
    -----
    This is Hildreth's method from w = 0, and its first pass is PA-I. The dual is Σ a - |Σ a·y·x|²/2 for 0 <= a <= C.

    Examples
    --------
    >>> from river_margins.conversions import svm
    >>> svm([[2.0], [-1.0]], [1, -1], C=0.25)  # both examples cost
    SVM(weights=array([0.5]), multipliers=array([0.125, 0.25 ]), primal=0.25, dual=0.25)

    References
    ----------
    Hsieh, C., Chang, K., Lin, C., Keerthi, S. and Sundararajan, S., 2008. A dual coordinate descent method for
    large-scale linear SVM. ICML.
    """
    signed = signed_rows(X, y)
    _above_0_or_infinite("C", C)
    found = hildreth(
        np.zeros(signed.shape[1]), signed, np.ones(len(signed)), largest=C, max_sweeps=max_sweeps, tolerance=tolerance
    )
    w, margins = found.point, signed @ found.point
    dual = found.multipliers.sum() - w @ w / 2
    if np.isinf(C):
        least = margins.min(initial=1.0)
        primal = w @ w / 2 / min(least, 1.0) ** 2 if least > 0 else np.inf
    else:
        primal = w @ w / 2 + C * np.maximum(0.0, 1.0 - margins).sum()
    return SVM(w, found.multipliers, float(primal), float(dual))


def _above_0_or_infinite(name: str, value: float) -> None:
    if not value > 0:  # infinite is the default
        raise ValueError(f"`{name}` must be a number above 0 or infinite, not {value!r}")
