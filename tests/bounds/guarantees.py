"""What the papers prove: each bound once, as inequalities that hold in every round or at the end of any stream.

A bound takes a run and a comparator u, and says (left, right): left <= right, entry by entry. With many classes R² is
that of the difference vectors (`Run.longest`), u is a matrix and |u| its Frobenius norm; nothing else changes. The
formulas of `river_margins.theory.bounds` are used where there is one; the others are steps of a proof.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from river_margins.theory import bounds
from tests.bounds.runs import Run, directions

Inequality = tuple[np.ndarray | float, np.ndarray | float]


@dataclass(frozen=True)
class Bound:
    """Where it holds: on any stream or those that u separates, with rows of one length, for u in a ball."""

    check: Callable[[Run, np.ndarray], Iterator[Inequality]]
    separable: bool
    even: bool
    ball: Callable[[Run], float] | None


BOUNDS: dict[str, Bound] = {}


def bound(*, separable: bool = False, even: bool = False, ball: Callable[[Run], float] | None = None):
    def register(check):
        BOUNDS[check.__name__] = Bound(check, separable, even, ball)
        return check

    return register


def size(u: np.ndarray) -> float:
    """|u|, which the statements call U."""
    return float(np.linalg.norm(u))


# ------------------------------------------------------------------------------------------------- perceptrons


@bound()
def mistakes_of_a_perceptron(run, u):
    """Freund & Schapire 1999, Gentile 2003: M <= L + R²U²/2 + RU·sqrt(L + R²U²/4), L over the mistaken rounds."""
    lost = run.losses_of(u)[run.mistaken].sum()
    yield run.mistaken.sum(), bounds.perceptron_mistakes(run.length, size(u), lost)


@bound()
def weights_of_a_perceptron(run, u):
    """Both halves of the proof: |w|² <= M·R²·lr², and ⟨u, w⟩ >= lr·(M - L)."""
    lr, lost, mistakes = run.parameters["lr"], run.losses_of(u)[run.mistaken].sum(), run.mistaken.sum()
    blur = 1e-13 * (np.sqrt((u @ u) * run.sizes.max()) + lr * lost)  # of a sum whose terms cancel
    yield run.sizes[-1], mistakes * run.longest * lr**2
    yield lr * mistakes, u @ run.weights[-1] + lr * lost + blur


@bound(separable=True)
def mistakes_on_separable_streams(run, u):
    """Novikoff 1962 for the perceptron, and what Σ l² <= R²U² makes of every rule that has it: M <= R²U²."""
    yield run.mistaken.sum(), bounds.separable_mistakes(run.length, size(u))


@bound(separable=True)
def updates_with_a_margin(run, u):
    """Krauth & Mézard 1987: k <= U²(R² + 2b/lr), from |w|² <= k(lr²R² + 2·lr·b) and ⟨u, w⟩ >= k·lr."""
    lr, margin, k = run.parameters["lr"], run.parameters["margin"], run.updated.sum()
    yield k, bounds.margin_perceptron_updates(run.length, size(u), margin, lr)
    yield run.sizes[-1], k * (lr**2 * run.longest + 2 * lr * margin)
    yield k * lr, u @ run.weights[-1]


# ------------------------------------------------------------------------------------------ passive-aggressive


@bound(separable=True)
def squares_on_separable_streams(run, u):
    """Crammer et al. 2006, theorem 2: Σ l² <= R²U²."""
    yield (run.losses**2).sum(), bounds.separable_mistakes(run.length, size(u))


@bound(separable=True)
def squares_of_updates_on_separable_streams(run, u):
    """Li & Long 2002: the same, counting the losses of the rounds that update."""
    yield (run.losses[run.updated] ** 2).sum(), bounds.separable_mistakes(run.length, size(u))


@bound(separable=True)
def path_on_separable_streams(run, u):
    """The way of all projections together: Σ |w' - w|² <= U²."""
    yield run.moves.sum(), u @ u


@bound(even=True)
def squares_on_rows_of_one_length(run, u):
    """Crammer et al. 2006, theorem 3: Σ l² <= (RU + 2·sqrt(Σ l(u)²))², whatever the labels."""
    yield (run.losses**2).sum(), bounds.pa_squares(run.length, size(u), (run.losses_of(u) ** 2).sum())


@bound()
def mistakes_of_capped_steps(run, u):
    """Crammer et al. 2006, theorem 4: M <= max(R², 1/C)·(U² + 2C·Σ l(u))."""
    C = run.parameters["C"]
    yield run.mistaken.sum(), bounds.pa1_mistakes(run.length, size(u), run.losses_of(u).sum(), C)


@bound()
def dual_progress(run, u):
    """Each step adds D = tau·l - tau²q/2 >= min(C, l/q)·l/2 to the dual, and Σ D <= U²/2 + C·Σ l(u)."""
    # A distance is a difference of squares, which may lose half of the digits: a smaller loss is a rounding.
    C, moved = run.parameters["C"], (run.gains > 0) & (run.losses > 1e-8 * run.losses.max(initial=0.0))
    lost, gains, moves = run.losses[moved], run.gains[moved], run.moves[moved]
    tau = np.sqrt(moves / gains)  # as seen, not as the rule has it
    progress = tau * lost - moves / 2
    blur = 1e-15 * np.sqrt(run.sizes[1:][moved]) * (lost / np.sqrt(gains) + np.sqrt(moves))  # of w' - w in doubles
    yield np.minimum(C, lost / gains) * lost / 2, progress + blur
    yield progress.sum(), bounds.svm_objective(size(u), run.losses_of(u).sum(), C) + blur.sum()


@bound()
def squares_of_damped_steps(run, u):
    """Crammer et al. 2006, theorem 5: Σ l² <= (R² + 1/(2C))·(U² + 2C·Σ l(u)²)."""
    squares = (run.losses_of(u) ** 2).sum()
    yield (run.losses**2).sum(), bounds.pa2_squares(run.length, size(u), squares, run.parameters["C"])


@bound()
def mistakes_of_damped_steps(run, u):
    """M <= Σ l², and so at most the same."""
    squares = (run.losses_of(u) ** 2).sum()
    yield run.mistaken.sum(), bounds.pa2_squares(run.length, size(u), squares, run.parameters["C"])


# ------------------------------------------------------------------------------------------------ gradient steps


@bound()
def squares_of_adaline(run, u):
    """Cesa-Bianchi, Long & Warmuth 1996: with lr·R² < 1, Σ (y-f)² <= (Σ (y-⟨u, x⟩)² + U²/lr)/(1 - lr·R²)."""
    squares = (run.losses_of(u) ** 2).sum()
    yield (run.losses**2).sum(), bounds.adaline_squares(run.length, size(u), squares, run.parameters["lr"])


def descent(run, u, rate, excess, gradients, pull=0.0):
    """What a proof says of each step: rate·(F(w) - F(u)) + |u-w'|²/2 <= (1 - pull)·|u-w|²/2 + rate²|g|²/2."""
    distances = ((u - run.weights) ** 2).sum(axis=1) / 2
    blur = 1e-15 * rate * (1 + np.abs(run.margins) + np.abs(run.margins_of(u)))  # of a difference of losses
    paid = rate**2 * (gradients**2).sum(axis=1) / 2
    return rate * excess + distances[1:], (1 - pull) * distances[:-1] + paid + blur


@bound(ball=lambda run: run.parameters["radius"])
def regret_in_a_ball(run, u):
    """Zinkevich 2003: for U <= D, Σ l(w) - Σ l(u) <= (2D)²·sqrt(T)/(2·lr) + lr·R²·sqrt(T), and each step's share."""
    yield from zinkevich(run, u, run.losses - run.losses_of(u), directions(run) * (run.losses > 0)[:, None])


@bound(ball=lambda run: run.parameters["radius"])
def logistic_regret_in_a_ball(run, u):
    """The same for l = ln(1 + exp(-m)), whose slope is nowhere above 1 either."""
    excess = np.logaddexp(0.0, -run.margins) - np.logaddexp(0.0, -run.margins_of(u))
    yield from zinkevich(run, u, excess, directions(run) * expit(-run.margins)[:, None])


@bound(ball=lambda run: run.parameters["radius"])
def quantile_regret_in_a_ball(run, u):
    """The same for the pinball loss, whose slope is q below the label and 1 - q above it."""
    q, errors, errors_of_u = run.parameters["quantile"], run.labels - run.scores[:, 0], run.labels - run.X @ u
    losses, losses_of_u = (np.maximum(q * each, (q - 1.0) * each) for each in (errors, errors_of_u))
    slopes = np.where(errors > 0, q, np.where(errors < 0, q - 1.0, 0.0))
    yield from zinkevich(run, u, losses - losses_of_u, run.X * slopes[:, None])


def zinkevich(run, u, excess, gradients):
    lr = run.parameters["lr"]
    yield excess.sum(), bounds.projected_gradient_regret(run.length, run.parameters["radius"], lr, run.rounds)
    rates = lr / np.sqrt(np.arange(1, run.rounds + 1))
    yield descent(run, u, rates, excess, gradients)


@bound(ball=lambda run: 1 / math.sqrt(run.parameters["lam"]))
def regularised_regret(run, u):
    """Shalev-Shwartz et al. 2007: with F = λ|w|²/2 + l, G = sqrt(λ) + R and U <= 1/sqrt(λ),
    Σ F(w) - Σ F(u) <= G²(1 + ln T)/(2λ), and each step's share, where F pulls w towards u."""
    lam, t = run.parameters["lam"], np.arange(1, run.rounds + 1)
    excess = lam * (run.sizes[:-1] - u @ u) / 2 + run.losses - run.losses_of(u)
    yield excess.sum(), bounds.pegasos_regret(run.length, lam, run.rounds)
    gradients = lam * run.weights[:-1] - directions(run) * (run.losses > 1e-12)[:, None]
    yield descent(run, u, 1 / (lam * t), excess, gradients, pull=1 / t)


# ----------------------------------------------------------------------------------------------- maximum margin


@bound(separable=True)
def length_towards_the_shortest(run, u):
    """Li & Long 2002: |w| never shrinks, and never exceeds U."""
    blur = 1 + 1e-15 * run.longest * (u @ u)  # two nearly parallel half-spaces meet far away and unsharply
    yield run.sizes[:-1], run.sizes[1:] * blur
    yield run.sizes[-1], u @ u * blur


@bound(separable=True, even=True)
def updates_towards_the_largest_margin(run, u):
    """Gentile 2001, p = 2, with g* the largest margin of rows of length 1: the number of updates is at most
    (2/g*²)(2/alpha - 1)² + 8/alpha - 4, and gamma never falls below g*."""
    alpha, k = run.parameters["alpha"], run.updated.sum()
    best = 1 / math.sqrt(run.longest * (u @ u))
    yield k, bounds.alma_updates(best, alpha)
    yield best, math.sqrt(8) / alpha / math.sqrt(k + 1)
    yield run.sizes, np.ones_like(run.sizes)
