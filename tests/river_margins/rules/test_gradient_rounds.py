"""Gradient steps, round by round, as their papers write them down: NumPy with dense vectors."""

import math

import numpy as np
import pytest

import river_margins as rm

ROUNDS, FEATURES = 400, 4
RATES = {"constant": lambda t: 1.0, "1/sqrt(t)": lambda t: 1.0 / math.sqrt(t), "1/t": lambda t: 1.0 / t}
SLOPES = {
    "hinge": lambda m: float(m < 1.0),
    "squared hinge": lambda m: max(1.0 - m, 0.0),
    "logistic": lambda m: 1.0 / (1.0 + math.exp(m)),
}


def rounds(seed):
    """Noisy rounds: many margins end just below or just above 1."""
    draw = np.random.default_rng(seed)
    for x in draw.normal(size=(ROUNDS, FEATURES)):
        yield x, 1.0 if x[0] - 0.5 * x[1] + draw.normal(scale=0.3) > 0 else -1.0


def assert_same_weights(model, step, seed=0):
    """After each round the weights are those of `step`, which returns them for w, the round, x and y."""
    w, shortened = np.zeros(FEATURES), 0
    for t, (x, y) in enumerate(rounds(seed), 1):
        model.learn_one({f"f{i}": value for i, value in enumerate(x)}, y > 0)
        w, was_longer = step(w, t, x, y)
        shortened += was_longer
        found = [model.weights[f"f{i}"] for i in range(FEATURES)]
        assert found == pytest.approx(w, rel=1e-9, abs=1e-12), f"round {t}"
    return shortened


def shortened(w, radius):
    """The projection onto the ball, and whether it did something."""
    norm = np.linalg.norm(w)
    return (w * radius / norm, True) if norm > radius else (w, False)


@pytest.mark.parametrize("radius", [None, 0.3])
@pytest.mark.parametrize("schedule", RATES)
@pytest.mark.parametrize("loss", SLOPES)
def test_online_gradient_descent(loss, schedule, radius):
    """Zinkevich 2003: w' = P(w - lr_t·l'(w))."""

    def step(w, t, x, y):
        moved = w + 0.6 * RATES[schedule](t) * SLOPES[loss](y * (w @ x)) * y * x
        return shortened(moved, math.inf if radius is None else radius)

    model = rm.OGDClassifier(lr=0.6, loss=loss, schedule=schedule, radius=radius, intercept=False)
    assert (assert_same_weights(model, step) > 0) == (radius is not None)


@pytest.mark.parametrize("schedule", RATES)
@pytest.mark.parametrize("loss", SLOPES)
def test_capped_gradient_descent(loss, schedule):
    """The same, but where the step would go beyond a margin of 1, it ends there."""
    capped = 0

    def step(w, t, x, y):
        nonlocal capped
        rate, margin = 2.0 * RATES[schedule](t) * SLOPES[loss](y * (w @ x)), y * (w @ x)
        most = (1 - margin) / (x @ x) if margin < 1 else math.inf
        capped += rate > most
        return w + min(rate, most) * y * x, False

    rule = rm.GradientDescent(2.0, loss=loss, schedule=schedule, capped=True)
    assert_same_weights(rm.MarginClassifier(rule, intercept=False), step)
    assert capped > 0


def test_a_regressor_on_the_squared_loss_survives_long_examples():
    """The first step is capped at |x|² = 10^8; the second has the rate 1/√2, which is less than 1/|x|²."""
    model = rm.OGDRegressor(intercept=False)
    model.learn_one({"a": 1e4}, 2e4)
    assert model.predict_one({"a": 1e4}) == pytest.approx(2e4)
    model.learn_one({"a": 1.0}, 0.0)
    assert model.weights["a"] == pytest.approx(2 - 2 / math.sqrt(2))
    for _ in range(1000):
        model.learn_one({"a": 1e4, "b": -1e4}, 5e4)
    assert model.predict_one({"a": 1e4, "b": -1e4}) == pytest.approx(5e4)


@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_pegasos(lam, project):
    """Shalev-Shwartz et al. 2011, figure 1: η = 1/(λt), w' = (1 - ηλ)·w + η·y·x if y⟨w, x⟩ < 1, and |w'| <= 1/√λ."""

    def step(w, t, x, y):
        eta = 1.0 / (lam * t)
        moved = (1.0 - eta * lam) * w + (eta * y * x if y * (w @ x) < 1.0 else 0.0)
        return shortened(moved, 1.0 / math.sqrt(lam) if project else math.inf)

    assert (assert_same_weights(rm.PegasosClassifier(lam=lam, project=project, intercept=False), step) > 0) == project


def test_pegasos_moves_at_each_loss_that_is_no_rounding():
    """The second margin is 1 - 1e-9, so w = 1 becomes (1 - 1/2)·w + 1/2·(1 - 1e-9)."""
    model = rm.PegasosClassifier(lam=1.0, intercept=False)
    model.learn_one({"a": 1.0}, True)
    assert model.weights["a"] == 1.0
    model.learn_one({"a": 1.0 - 1e-9}, True)
    assert model.weights["a"] == pytest.approx(1.0 - 5e-10, abs=1e-12)
