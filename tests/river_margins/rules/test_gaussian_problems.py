"""Each update with a full covariance solves the problem that defines it, over mean and covariance together."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize

import river_margins as rm

ROUNDS, WARM_UP = 30, 5
PHI = NormalDist().inv_cdf(0.8)

# The coordinates are those in which the old Gaussian has mean 0 and covariance 1: p is the way of the mean, L the
# Cholesky factor of the new covariance, m the margin before, z what the row times its label becomes.


def divergence(p, L):
    return (p @ p + (L * L).sum()) / 2 - np.log(np.abs(np.diag(L))).sum()


def minimum(d, objective, constraint=None, slack=False):
    """Mean and covariance at the least value of objective(p, L, s) with constraint(p, L, s) >= 0 and s >= 0."""
    triangle = np.tril_indices(d)

    def parts(z):
        L = np.zeros((d, d))
        L[triangle] = z[d : d + len(triangle[0])]
        return z[:d], L, z[-1]

    start = np.concatenate([np.zeros(d), np.eye(d)[triangle], [1.0 if slack else 0.0]])
    met = [{"type": "ineq", "fun": lambda z: constraint(*parts(z))}] if constraint else []
    room = {"type": "ineq" if slack else "eq", "fun": lambda z: z[-1]}
    options = {"ftol": 1e-15, "maxiter": 1000}
    found = minimize(lambda z: objective(*parts(z)), start, method="SLSQP", constraints=[*met, room], options=options)
    p, L, _ = parts(found.x)
    return p, L @ L.T


def confident(measure, price=None):
    """The nearest Gaussian with m' + s >= phi·measure(v'), s at a price."""

    def solve(m, z, C):
        return minimum(
            len(z),
            lambda p, L, s: divergence(p, L) + (price(C, s) if price else 0.0),
            lambda p, L, s: m + p @ z + s - PHI * measure(((L.T @ z) ** 2).sum()),
            slack=price is not None,
        )

    return solve


def arow(m, z, r):
    return minimum(
        len(z),
        lambda p, L, s: divergence(p, L) + (max(0.0, 1 - m - p @ z) ** 2 + ((L.T @ z) ** 2).sum()) / (2 * r),
    )


def nherd(m, z, C):
    """Over all maps g -> p + B·g of a Gaussian g: the new covariance is BB'."""
    d = len(z)

    def objective(free):
        p, B = free[:d], free[d:].reshape(d, d)
        way = ((B - np.eye(d)) ** 2).sum() + p @ p
        return way / 2 + C / 2 * ((1 - m - p @ z) ** 2 + ((B.T @ z) ** 2).sum())

    found = minimize(objective, np.append(np.zeros(d), np.eye(d)), options={"gtol": 1e-9})
    p, B = found.x[:d], found.x[d:].reshape(d, d)
    return p, B @ B.T


PROBLEMS = {
    "AROW": (lambda r: rm.AROWClassifier(r, covariance="full", intercept=False), arow),
    "NHERD": (lambda C: rm.NHERDClassifier(C, covariance="full", intercept=False), nherd),
    "CW": (lambda _: rm.CWClassifier(phi=PHI, covariance="full", intercept=False), confident(math.sqrt)),
    "CW in variances": (
        lambda _: rm.CWClassifier(phi=PHI, form="variance", covariance="full", intercept=False),
        confident(lambda v: v),
    ),
    "SCW-I": (
        lambda C: rm.SCWClassifier(C, phi=PHI, covariance="full", intercept=False),
        confident(math.sqrt, lambda C, s: C * s),
    ),
    "SCW-II": (
        lambda C: rm.SCWClassifier(C, mode=2, phi=PHI, covariance="full", intercept=False),
        confident(math.sqrt, lambda C, s: C * s * s),
    ),
}


def gaussian_of(model, d):
    """Mean and covariance, with the features in the order of their names."""
    state = model.__getstate__()["space"]
    order = np.argsort(state["features"])
    assert len(order) == d
    return state["means"][0][order], state["units"][0] * state["variances"][0][np.ix_(order, order)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_update_solves_its_problem(name):
    make, solve = PROBLEMS[name]
    moved = 0
    for seed in range(ROUNDS):
        draw = np.random.default_rng(seed)
        d, strength = int(draw.integers(2, 4)), 10.0 ** draw.uniform(-1, 1)
        model, direction = make(strength), draw.normal(size=d)
        for _ in range(WARM_UP):
            x = draw.normal(size=d)
            model.learn_one(dict(enumerate(x.tolist())), bool(x @ direction > 0))
        (w, covariance), x, y = gaussian_of(model, d), draw.normal(size=d), draw.random() < 0.5
        updates = model.n_updates
        model.learn_one(dict(enumerate(x.tolist())), y)
        mean, after = gaussian_of(model, d)
        if model.n_updates == updates:
            assert (mean == w).all() and (after == covariance).all()
            continue
        moved += 1
        root = np.real(sqrtm(covariance))
        sign = 1 if y else -1
        p, S = solve(sign * w @ x, sign * root @ x, strength)
        assert np.abs(np.linalg.solve(root, mean - w) - p).max() <= 1e-5 * max(1.0, np.abs(p).max())
        assert np.abs(np.linalg.solve(root, np.linalg.solve(root, after).T) - S).max() <= 1e-5
    assert moved >= ROUNDS / 3
