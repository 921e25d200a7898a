"""What is proved about learners with a full covariance, for two classes."""

import numpy as np

from river_margins.theory import bounds
from tests.bounds.guarantees import bound, size


def spread(X):
    """The eigenvalues of Σ xx'."""
    return np.linalg.eigvalsh(X.T @ X)


@bound()
def mistakes_of_a_second_order_perceptron(run, u):
    """Cesa-Bianchi, Conconi & Gentile 2005, theorem 3.1: with |u| = 1 and margin g,
    M <= D/g + sqrt((a + Σ ⟨u, x⟩²)·Σ ln(1 + λ/a))/g over the mistakes."""
    X, lost = run.X[run.mistaken], run.losses_of(u)[run.mistaken].sum()
    # u/|u| with g = 1/|u|: D/g is the sum of the losses of u.
    most = bounds.second_order_mistakes(size(u), lost, ((X @ u) ** 2).sum(), spread(X), run.parameters["a"])
    yield run.mistaken.sum(), most


@bound()
def mistakes_of_arow(run, u):
    """Crammer, Kulesza & Dredze 2013, theorem 3: M <= sqrt(r·U² + u'Xu)·sqrt(ln det(I + X/r) + E) + L - E."""
    r, active = run.parameters["r"], run.margins < 1.0
    X, correct = run.X[active], active.sum() - run.mistaken.sum()
    lost = run.losses_of(u)[active].sum()
    yield run.mistaken.sum(), bounds.arow_mistakes(size(u), lost, ((X @ u) ** 2).sum(), spread(X), r, correct)


@bound()
def mistakes_of_narow(run, u):
    """After Orabona & Crammer 2010: with S the rounds with m < 1, E of them no mistakes, and Σ₀ = I,
    M <= L_S - E + sqrt((U² + b·Σ_S ⟨u, x⟩²)·(2·Σ_S m + |S|/b)).

    For θ'A⁻¹θ grows in such a round by 2m + χr/(r + χ) at most, which is at most 2m + 1/b; it is at least
    2c⟨u, θ⟩ - c²u'Au for any c; ⟨u, θ⟩ >= |S| - L_S, and A <= I + b·Σ_S xx'.
    """
    b, active = run.parameters["b"], run.margins < 1.0
    correct = active.sum() - run.mistaken.sum()
    lost, squares, margins = run.losses_of(u)[active].sum(), ((run.X[active] @ u) ** 2).sum(), run.margins[active].sum()
    yield run.mistaken.sum(), bounds.narow_mistakes(size(u), lost, squares, margins, active.sum(), b, correct)


@bound()
def margins_after_cuts(run, u):
    """Yang, Jin & Ye 2009: the ellipsoid is cut so that the new centre gives the mistaken example the margin 1."""
    X, labels = run.X[run.updated], run.labels[run.updated]
    before, after = run.weights[:-1][run.updated], run.weights[1:][run.updated]
    # Of a product whose terms cancel, and of weights that come from afar.
    blur = 1e-12 * (np.linalg.norm(before, axis=1) + np.linalg.norm(after, axis=1)) * np.linalg.norm(X, axis=1)
    margins = labels * (X * after).sum(axis=1)
    yield margins, 1 + blur
    yield np.ones(len(margins)), margins + blur
