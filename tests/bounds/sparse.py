"""Regret of the learners with thresholds, hinge loss, by what their proofs say weight by weight and round by round.

Here F = l + lam·|w|_1, its second part at the weights after the round: it was 0 at the start, so the sums are no
smaller than those of l and |w|_1 before it.
"""

import numpy as np

from tests.bounds.guarantees import bound, descent
from tests.bounds.runs import Run, directions


def gradients(run: Run) -> np.ndarray:
    return -directions(run) * (run.losses > 0)[:, None]


def regularised(run: Run, u: np.ndarray) -> np.ndarray:
    """F - F(u), round by round."""
    sizes = np.abs(run.weights[1:]).sum(axis=1) - np.abs(u).sum()
    return run.losses - run.losses_of(u) + run.parameters["lam"] * sizes


@bound()
def regret_of_splitting(run, u):
    """Duchi & Singer 2009, lemma 1, with steps rate·g: rate·(F - F(u)) + |u - w'|²/2 <= |u - w|²/2 + rate²|g|²/2."""
    rates = run.parameters["lr"] / np.sqrt(np.arange(1, run.rounds + 1))
    yield descent(run, u, rates, regularised(run, u), gradients(run))


@bound()
def regret_of_adaptive_splitting(run, u):
    """Duchi, Hazan & Singer 2011, lemma 5: the same in the norm of H = delta + root of the squared gradients."""
    lr, g = run.parameters["lr"], gradients(run)
    H = run.parameters["delta"] + np.sqrt(np.cumsum(g**2, axis=0))
    before, after = ((H * (u - w) ** 2).sum(axis=1) / (2 * lr) for w in (run.weights[:-1], run.weights[1:]))
    yield regularised(run, u) + after, before + lr / 2 * (g**2 / H).sum(axis=1)


@bound()
def regret_of_dual_averaging(run, u):
    """Duchi, Hazan & Singer 2011, proposition 2: Σ F - Σ F(u) <= ⟨u, Hu⟩/(2·lr) + (lr/2)·Σ ⟨g, g/H⟩, the second H that
    before the round."""
    lr, delta, g = run.parameters["lr"], run.parameters["delta"], gradients(run)
    squares = np.vstack([np.zeros_like(u), np.cumsum(g**2, axis=0)])
    H = delta + np.sqrt(squares)
    paid = lr / 2 * np.cumsum((g**2 / H[:-1]).sum(axis=1))
    yield np.cumsum(regularised(run, u)), (H[1:] * u**2).sum(axis=1) / (2 * lr) + paid


@bound()
def regret_of_the_proximal_leader(run, u):
    """McMahan 2017, theorem 2: Σ l - Σ l(u) <= r(u) + Σ ⟨g, g/H⟩/2, with r all that holds the leader back, what that
    round added included, and H = (beta + root of the squared gradients)/alpha + l2."""
    alpha, beta, l1, l2 = (run.parameters[name] for name in ("alpha", "beta", "l1", "l2"))
    g = gradients(run)
    root = np.sqrt(np.vstack([np.zeros_like(u), np.cumsum(g**2, axis=0)]))
    held = np.diff(root, axis=0) / alpha * (u - run.weights[:-1]) ** 2 / 2
    paid = g**2 / ((beta + root[1:]) / alpha + l2) / 2
    fixed = ((beta / alpha + l2) * u**2 / 2 + l1 * np.abs(u)).sum()
    yield np.cumsum(run.losses - run.losses_of(u)), fixed + np.cumsum((held + paid).sum(axis=1))
