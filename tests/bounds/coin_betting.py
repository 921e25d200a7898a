"""Regret of learners whose weights bet: Kempka, Kotłowski & Warmuth 2019, ScInOL2, with constants of a short proof.

For one weight, let z be its step in a round, s and S the sums of z and z² before the round, M the largest |x| of its
feature so far, this round included, so that |z| <= M, and r = √(S + M²). Rounds with z = 0 change nothing. The weight
is w = h·c(s/r)/(2r), with the wealth h and c(b) = b cut off at ±1, and the wealth becomes h' = h·(1 + z·c/(2r)).

1. ln(1 + b) >= b - b² for b >= -1/2. So ln h' >= ln h + z·c/(2r) - z²c²/(4r²).
2. Let f(b) = b²/2 up to |b| = 1, and |b| - 1/2 from there. Its slope is c, which rises by at most 1 for each unit of b:
   f((s + z)/r) <= f(s/r) + z·c/r + z²/(2r²). With 1.: ln h' >= ln h + (f((s + z)/r) - f(s/r))/2 - z²/(2r²).
3. r never falls, so f(s/r) is at most what it was after the round before. Summed over the rounds, with the first wealth
   h0 and the present r = √(S + M²) after T rounds, which is at least that of the last round:
   h >= h0·exp(f(s/r)/2 - Q/2), where Q = Σ z²/r².
4. z² <= r², hence z²/r² <= log2(1 + z²/r²), and r² + z² is at most the r² of the next round. So Q <= log2(r²/a²),
   where a is the |x| of the first round. As f(b) >= |b| - 1/2: h >= h0·(a/r)^(1/ln 2)·exp(|s|/(2r) - 1/4).
5. Losses are convex, and z is minus the slope: Σ l - Σ l(u) <= Σ z·(u - w) = s·u + h0 - h, summed over the weights.
   With U = 2r|u|, the largest value of s·u - k·exp(|s|/(2r)) is U·(ln(U/k) - 1) if U > k, and -k otherwise. So the
   regret is at most Σ (h0 + U·[ln(1.285·U·(r/a)^1.4427/h0) - 1]+), as exp(1/4) < 1.285.

The tests hold a run to 3., summed over the weights, which needs no u, and to 5. before it is rounded up, with k =
h0·exp(-Q/2 - 1/4); both after every round.
"""

import numpy as np
from scipy.special import expit

from tests.bounds.guarantees import bound
from tests.bounds.runs import Run, directions


@bound()
def regret_of_bets(run, u):
    """The hinge loss or, in regression, the absolute error beyond the tube."""
    yield from inequalities(run, u, run.losses - run.losses_of(u), 1.0 * (run.losses > 0))


@bound()
def logistic_regret_of_bets(run, u):
    excess = np.logaddexp(0.0, -run.margins) - np.logaddexp(0.0, -run.margins_of(u))
    yield from inequalities(run, u, excess, expit(-run.margins))


def inequalities(run: Run, u: np.ndarray, excess: np.ndarray, slopes: np.ndarray):
    z, winnings = steps_and_winnings(run, slopes)
    largest = np.maximum.accumulate(np.abs(np.tile(run.X, z.shape[1] // run.X.shape[1])) * (z != 0), axis=0)
    S, moved, first = np.cumsum(z**2, axis=0), largest > 0, (largest > 0).argmax(axis=0)
    h0 = run.losses[first] if run.task == "regression" else 1.0
    r = np.sqrt(S + largest**2)
    U = 2 * r * np.abs(u)
    with np.errstate(divide="ignore", invalid="ignore"):  # of weights that have not moved
        Q = np.cumsum(np.where(z != 0, z**2 / (r**2 - z**2), 0.0), axis=0)
        least = h0 * np.exp(huber(np.cumsum(z, axis=0) / r) / 2 - Q / 2)
        k = h0 * np.exp(-Q / 2 - 0.25)
        price = np.where(k < U, U * (np.log(U / k) - 1), -k)
    blur = 1e-12 * np.cumsum(np.abs(winnings))  # of a sum whose terms cancel
    yield total(least, moved), total(h0, moved) + np.cumsum(winnings) + blur
    yield np.cumsum(excess), total(h0 + price, moved) + blur


def steps_and_winnings(run: Run, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z of each round, one column for each weight, and what all weights win together, Σ z·w."""
    if run.task == "regression":
        signed = np.sign(run.labels - run.scores[:, 0]) * slopes
        return run.X * signed[:, None], signed * run.scores[:, 0]
    return directions(run) * slopes[:, None], slopes * run.margins


def huber(b: np.ndarray) -> np.ndarray:
    return np.where(np.abs(b) <= 1, b**2 / 2, np.abs(b) - 0.5)


def total(values, moved: np.ndarray) -> np.ndarray:
    """The sum over the weights that have moved, after each round."""
    return np.where(moved, values, 0.0).sum(axis=1)
