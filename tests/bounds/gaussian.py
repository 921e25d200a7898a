"""What is proved about learners with a full covariance, for two classes."""

import math

import numpy as np

from tests.bounds.guarantees import bound


def spread(X, a):
    """ln det(I + X'X/a), exact also where it is next to nothing."""
    return np.log1p(np.maximum(np.linalg.eigvalsh(X.T @ X), 0.0) / a).sum()


@bound()
def mistakes_of_a_second_order_perceptron(run, u):
    """Cesa-Bianchi, Conconi & Gentile 2005, theorem 3.1: with |u| = 1 and margin g,
    M <= D/g + sqrt((a + Σ ⟨u, x⟩²)·Σ ln(1 + λ/a))/g over the mistakes."""
    length = np.linalg.norm(u)
    if length == 0.0:
        return
    a, X = run.parameters["a"], run.X[run.mistaken]
    # u/|u| with g = 1/|u|: D/g is the sum of the losses of u.
    along = a + ((X @ u) ** 2).sum() / length**2
    yield run.mistaken.sum(), run.losses_of(u)[run.mistaken].sum() + length * math.sqrt(along * spread(X, a))


@bound()
def mistakes_of_arow(run, u):
    """Crammer, Kulesza & Dredze 2013, theorem 3: M <= sqrt(r·U² + u'Xu)·sqrt(ln det(I + X/r) + E) + L - E."""
    r, active = run.parameters["r"], run.margins < 1.0
    X, correct = run.X[active], active.sum() - run.mistaken.sum()
    along = r * (u @ u) + ((X @ u) ** 2).sum()
    yield run.mistaken.sum(), math.sqrt(along * (spread(X, r) + correct)) + run.losses_of(u)[active].sum() - correct
