"""What is proved of the learners that measure in a p-norm, and the norm that they keep up to date."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import river_margins as rm
from river_margins.theory import bounds
from tests.bounds.test_bounds import PRECISION


def norm(z, p):
    return (np.abs(z) ** p).sum(axis=-1) ** (1 / p)


def separable(random, p):
    """Rows with a sparse u that separates them with margin 1, as short in the dual norm as a solver makes it."""
    dimension, q = random.integers(1, 12), p / (p - 1)
    target = random.normal(size=dimension) * (np.arange(dimension) < 2)
    X = random.normal(size=(40, dimension)) * 10.0 ** random.uniform(-0.5, 0.5, size=(40, 1))
    X = X[np.abs(X @ target) > 0.1 * norm(X, p) * norm(target, q)]
    rows = X * np.sign(X @ target)[:, None]
    start = target / (rows @ target).min()
    demand = {"type": "ineq", "fun": lambda u: rows @ u - 1, "jac": lambda u: rows}
    found = minimize(lambda u: (np.abs(u) ** q).sum(), start, method="SLSQP", constraints=[demand]).x
    found = found / (rows @ found).min() if (rows @ found).min() > 0 else start
    return X, np.sign(X @ target) > 0, min(start, found, key=lambda u: norm(u, q))


def passes(model, X, labels, random, most=60):
    """Pass over the rows in random orders until none of them makes an update; whether that came to be."""
    for _ in range(most):
        before = model.n_updates
        for i in random.permutation(len(X)):
            model.learn_one(dict(enumerate(X[i].tolist())), bool(labels[i]))
        if model.n_updates == before:
            return True
    return False


def streams(p):
    """A single example, which takes a fair share of each bound, and streams at random, which take less."""
    yield np.random.default_rng(0), np.array([[2.0]]), [True], np.array([0.5])
    for seed in range(8):
        random = np.random.default_rng(seed)
        X, labels, u = separable(random, p)
        if len(X):
            yield random, X, labels, u


@pytest.mark.parametrize("p", [2, 2.5, 4, 8])
def test_mistakes_of_a_p_norm_perceptron(p):
    """Grove, Littlestone & Schuurmans 2001: M <= (p - 1)·|u|_q²·X²."""
    nearest = 0.0
    for random, X, labels, u in streams(p):
        model = rm.PNormPerceptron(p, classes=[False, True], intercept=False)
        passes(model, X, labels, random)
        most = bounds.pnorm_mistakes(norm(X, p).max(), norm(u, p / (p - 1)), p)
        assert model.n_mistakes <= most * (1 + PRECISION)
        nearest = max(nearest, model.n_mistakes / most)
    assert nearest >= 1 / (p - 1)


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("p", [2.5, 4, 8])
def test_updates_of_alma_in_a_p_norm(p, alpha):
    """Gentile 2001: k <= (2(p-1)/g²)(2/alpha - 1)² + 8/alpha - 4, and the margin after a pass without an update."""
    q, nearest, converged = p / (p - 1), 0.0, 0
    for random, X, labels, u in streams(p):
        model = rm.ALMAClassifier(alpha, p=p, classes=[False, True], intercept=False)
        done = passes(model, X, labels, random)
        rows = X * np.where(labels, 1.0, -1.0)[:, None] / norm(X, p)[:, None]
        best = (rows @ u).min() / norm(u, q)
        most = bounds.alma_updates(best, alpha, p)
        assert model.n_updates <= most * (1 + PRECISION)
        assert math.sqrt(8 * (p - 1)) / alpha / math.sqrt(model.n_updates + 1) >= best * (1 - PRECISION)
        w = np.array([model.weights.get(i, 0.0) for i in range(X.shape[1])])
        assert norm(w, q) <= 1 + PRECISION
        if done:
            assert (rows @ w).min() / norm(w, q) >= (1 - alpha) * best * (1 - PRECISION)
            converged += 1
        nearest = max(nearest, model.n_updates / most)
    assert nearest > {0.5: 0.3, 0.9: 0.04, 1.0: 0.05}[alpha]
    assert converged


def test_with_p_2_it_is_the_perceptron_and_the_alma_of_plain_weights():
    random = np.random.default_rng(0)
    pairs = [
        (rm.PNormPerceptron(2, intercept=False), rm.Perceptron(intercept=False)),
        (rm.MarginClassifier(rm.ALMARule(), rm.PNorm(2), intercept=False), rm.ALMAClassifier(0.9, intercept=False)),
    ]
    for x in random.normal(size=(300, 5)):
        y = bool(x.sum() + random.normal() > 0)
        for here, there in pairs:
            here.learn_one(dict(enumerate(x.tolist())), y)
            there.learn_one(dict(enumerate(x.tolist())), y)
    for here, there in pairs:
        assert dict(here.weights) == pytest.approx(dict(there.weights), rel=1e-9)
        assert here.n_updates == there.n_updates > 30


@pytest.mark.parametrize("make", [rm.PNormPerceptron, rm.ALMAClassifier], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("p", [2.5, 12, 60])
def test_the_norm_stays_right_where_large_sums_cancel(make, p):
    random, model = np.random.default_rng(1), make(p=p)
    for number in range(3000):
        x = random.normal(size=6) * 10.0 ** random.uniform(-8, 8) * (random.random(6) < 0.5)
        model.learn_one(dict(enumerate(x.tolist())), bool(random.random() < 0.5))
        if number % 100 == 99:
            state = model.__getstate__()["space"]
            sums = np.abs(state["weights"][:, 0] * state["scale"])
            again = sums.max() * norm(sums / sums.max(), p)
            assert math.sqrt(state["size"]) == pytest.approx(again, rel=1e-6)


@pytest.mark.parametrize("p", [1.9, math.inf, math.nan, "2"])
def test_a_p_out_of_range_is_refused(p):
    for make in (rm.PNormPerceptron, rm.PNorm):
        with pytest.raises(ValueError, match="`p` must be a finite number of at least 2"):
            make(p)


def test_a_step_beyond_floating_point_is_an_overflow():
    model = rm.PNormPerceptron(lr=1e300)
    with pytest.raises(OverflowError, match="scale the features"):
        model.learn_one({"a": 1.0}, True, w=1e10)
    assert model.n_seen == 0
