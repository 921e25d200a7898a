"""Regret on a recorded stream: what a learner has lost, against the best fixed weights and the best sequence of them.

The stream is an array X with a row for each round, with the 1 of an intercept if there is one, and labels y: +1 and -1,
or the targets of a regression.
"""

import functools
import itertools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from river_margins.core.checks import not_negative, one_of, rows_with, signs, whole

__all__ = ["Comparator", "best_fixed", "best_sequence", "losses_of", "regret"]

LOSSES = ("hinge", "logistic", "squared", "absolute")
Vector: TypeAlias = NDArray[np.float64]
Smooth: TypeAlias = tuple[float, Vector, Vector]  # a value, its gradient and its curvature


class Comparator(NamedTuple):
    """Weights for each part of a stream, the rounds with which the parts start, and the sum of all losses."""

    weights: Vector
    starts: list[int]
    loss: float


def losses_of(w: ArrayLike, X: ArrayLike, y: ArrayLike, loss: str = "hinge") -> Vector:
    """Return the loss of weights in each round.

    Parameters
    ----------
    w
        The weights of all rounds, or a row for each round, as a learner has had them before it learned.
    X, y
        The stream.
    loss
        With the score f: "hinge" (default) is [1 - y·f]+, "logistic" ln(1 + exp(-y·f)), "squared" (y - f)²/2, and
        "absolute" |y - f|.

    Examples
    --------
    >>> losses_of([0.5], [[1.0], [2.0], [4.0]], [1, 1, -1]).tolist()
    [0.5, 0.0, 3.0]
    """
    one_of("loss", loss, LOSSES)
    X, y = rows_with(X, _targets(y, loss))
    w = np.asarray(w, dtype=float)
    if w.shape not in (X.shape[1:], X.shape):
        raise ValueError(f"`w` must have {X.shape[1]} weights, or so many in a row for each round, not shape {w.shape}")
    scores = (X * w).sum(axis=1)
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - y * scores)
    if loss == "logistic":
        return np.logaddexp(0.0, -y * scores)
    return (y - scores) ** 2 / 2 if loss == "squared" else np.abs(y - scores)


def best_fixed(X: ArrayLike, y: ArrayLike, loss: str = "hinge", *, strength: float = 0.0) -> Vector:
    """Return the weights with the least sum of losses, plus strength·|w|²/2.

    Parameters
    ----------
    X, y, loss
        As for `losses_of`.
    strength
        The price of long weights, >= 0; 0 by default.

    Notes
    -----
    Without a price, logistic losses of a separable stream have no minimum: the weights are some with nearly no loss.

    Examples
    --------
    >>> best_fixed([[1.0], [1.0], [1.0]], [0.0, 3.0, 4.0], "absolute").tolist()  # the median
    [3.0]
    """
    one_of("loss", loss, LOSSES)
    not_negative("strength", strength)
    X, y = rows_with(X, _targets(y, loss))
    if loss == "squared":
        more = np.sqrt(strength) * np.eye(X.shape[1])
        return np.linalg.lstsq(np.vstack([X, more]), np.append(y, np.zeros(X.shape[1])), rcond=None)[0]
    if loss == "logistic":
        return _logistic(X, y, strength)
    return _piecewise_linear(X, y, loss) if strength == 0.0 else _with_a_price(X, y, loss, strength)


def _targets(y: ArrayLike, loss: str) -> Vector:
    return signs(y) if loss in ("hinge", "logistic") else np.asarray(y, dtype=float)


def _logistic(X: Vector, y: Vector, strength: float) -> Vector:
    from scipy.special import expit

    rows = X * y[:, None]

    def objective(w: Vector) -> Smooth:
        margins = rows @ w
        wrong = expit(-margins)
        value = np.logaddexp(0.0, -margins).sum() + strength * float(w @ w) / 2
        return value, strength * w - wrong @ rows, _curvature(rows, wrong * expit(margins), strength)

    return _newton(objective, np.zeros(X.shape[1]))


def _curvature(rows: Vector, each: Vector, strength: float) -> Vector:
    return (rows.T * each) @ rows + strength * np.eye(rows.shape[1])


def _newton(objective: Callable[[Vector], Smooth], w: Vector) -> Vector:
    """Minimise a smooth convex function by Newton steps, in units that fit each weight."""
    value, gradient, curvature = objective(w)
    for _ in range(100):
        units = 1 / np.sqrt(np.maximum(curvature.diagonal(), np.finfo(float).tiny))
        step = -units * np.linalg.lstsq(curvature * np.outer(units, units), units * gradient, rcond=None)[0]
        gain = -(gradient @ step)
        length = 1.0
        while not (found := objective(w + length * step))[0] <= value - 1e-4 * length * gain and length > 1e-9:
            length /= 2
        if not found[0] < value:
            break
        w, (value, gradient, curvature) = w + length * step, found
        if gain <= 1e-13 * value:
            break
    return w


def _piecewise_linear(X: Vector, y: Vector, loss: str) -> Vector:
    """Solve the linear programme: the least Σ slack with slack >= target - ⟨row, w⟩ and slack >= 0."""
    from scipy.optimize import linprog

    rows, targets = (X * y[:, None], np.ones(len(y))) if loss == "hinge" else (X, y)
    slack = -np.eye(len(y))
    constraints, bounds = np.hstack([-rows, slack]), -targets
    if loss == "absolute":
        constraints = np.vstack([constraints, np.hstack([rows, slack])])
        bounds = np.append(bounds, targets)
    free = [(None, None)] * X.shape[1] + [(0, None)] * len(y)
    found = linprog(np.append(np.zeros(X.shape[1]), np.ones(len(y))), constraints, bounds, bounds=free)
    return found.x[: X.shape[1]]


def _with_a_price(X: Vector, y: Vector, loss: str, strength: float) -> Vector:
    """Minimise smooth losses max over a of a·z + m·ln(a) + m·ln(1 - a), z = target - ⟨row, w⟩, for ever smaller m.

    With m = 0 that is [z]+, the hinge loss; |z| is 2·[z]+ - z. The result loses at most 2·m·n more than the best.
    """
    rows, targets = (X * y[:, None], np.ones(len(y))) if loss == "hinge" else (X, y)
    low, high = (0.0, 1.0) if loss == "hinge" else (-1.0, 1.0)

    def smooth(m: float, w: Vector) -> Smooth:
        z = (high - low) * (targets - rows @ w)
        root = np.hypot(z, 2 * m)
        a, rest = 2 * m / (2 * m + root - z), 2 * m / (2 * m + root + z)  # rest is 1 - a
        value = (a * z + m * np.log(a) + m * np.log(rest) + low / (high - low) * z).sum() + strength * float(w @ w) / 2
        slopes, each = low + (high - low) * a, (high - low) ** 2 / (m / a**2 + m / rest**2)
        return value, strength * w - slopes @ rows, _curvature(rows, each, strength)

    w, m = np.zeros(X.shape[1]), max(1.0, float(np.abs(targets).max(initial=0.0)))
    least = 1e-6 * m  # in place of a cost of 0
    cost = losses_of(w, X, y, loss).sum()
    while len(y) * m > 1e-11 * max(cost, least):
        w = _newton(functools.partial(smooth, m), w)
        cost = losses_of(w, X, y, loss).sum() + strength * float(w @ w) / 2
        m /= 5
    return w


def best_sequence(
    X: ArrayLike, y: ArrayLike, shifts: int, loss: str = "squared", *, strength: float = 0.0, blocks: int = 20
) -> Comparator:
    """Return the best weights that change at most so many times, between blocks of rounds of equal length.

    Parameters
    ----------
    X, y, loss, strength
        As for `best_fixed`; each part of the stream pays for its weights. The default loss is "squared".
    shifts
        The largest number of changes, >= 0.
    blocks
        The number of blocks, >= 1; 20 by default. All their unions of neighbours are solved: about blocks²/2 problems.

    Examples
    --------
    >>> X, y = [[1.0]] * 8, [1.0] * 4 + [-1.0] * 4
    >>> best_sequence(X, y, shifts=1, blocks=8)
    Comparator(weights=array([[ 1.],
           [-1.]]), starts=[0, 4], loss=0.0)
    """
    whole("shifts", shifts)
    X, y = rows_with(X, y)
    ends = np.unique(np.linspace(0, len(y), whole("blocks", blocks, 1) + 1).astype(int)).tolist()
    found: dict[tuple[int, int], tuple[Vector, float]] = {}
    for a, b in itertools.combinations(ends, 2):
        w = best_fixed(X[a:b], y[a:b], loss, strength=strength)
        found[a, b] = w, float(losses_of(w, X[a:b], y[a:b], loss).sum() + strength * float(w @ w) / 2)
    # best[b] is the least cost of the rounds before b with at most so many parts, and the starts of the parts.
    best = {b: (found[0, b][1], [0]) for b in ends[1:]}
    for _ in range(shifts):
        longer = {b: min((best[a][0] + found[a, b][1], [*best[a][1], a]) for a in ends[1:] if a < b) for b in ends[2:]}
        best = {b: min(best[b], longer.get(b, best[b])) for b in best}
    starts = best[len(y)][1]
    weights = np.array([found[a, b][0] for a, b in itertools.pairwise([*starts, len(y)])])
    each = np.repeat(weights, np.diff([*starts, len(y)]), axis=0)
    return Comparator(weights, starts, float(losses_of(each, X, y, loss).sum()))


def regret(losses: ArrayLike, comparator: float) -> float:
    """Return (Σ losses - comparator)/n, the mean regret of a learner in n rounds.

    Parameters
    ----------
    losses
        The loss of the learner in each round.
    comparator
        The sum of the losses of the comparator over all rounds.

    Examples
    --------
    >>> regret([1.0, 0.5, 0.0, 0.5], comparator=1.0)
    0.25
    """
    losses = np.asarray(losses, dtype=float)
    return float(losses.sum() - comparator) / len(losses)
