"""Gradient steps, round by round, as their papers write them down: NumPy with dense vectors."""

import math
import random
from statistics import NormalDist

import numpy as np
import pytest
from river import preprocessing

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


def test_a_squared_loss_of_many_features_needs_the_rate_of_the_page():
    """The formula diverges with the default rate; with 1/n it learns."""
    draw, right = np.random.default_rng(1), [0, 0]
    models = [rm.OGDClassifier(loss="squared"), rm.OGDClassifier(1 / 200, loss="squared")]
    best = draw.normal(size=200)
    for t, x in enumerate(draw.normal(size=(3000, 200))):
        for n, model in enumerate(models):
            right[n] += t >= 2000 and model.predict_one(dict(enumerate(x.tolist()))) == (x @ best > 0)
            model.learn_one(dict(enumerate(x.tolist())), bool(x @ best > 0))
    assert right[0] < 600 < 800 < right[1]


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


# ---------------------------------------------------------------------------------------------------- quantiles


@pytest.mark.parametrize("eps", [0.0, 0.2])
@pytest.mark.parametrize("schedule", RATES)
def test_a_quantile_round_by_round(schedule, eps):
    """The slope of the pinball loss is q below the label and 1 - q above it, times the sample weight."""
    draw, w, q = np.random.default_rng(4), np.zeros(FEATURES), 0.8
    model = rm.OGDRegressor(0.6, loss="quantile", quantile=q, eps=eps, schedule=schedule, intercept=False)
    for t, x in enumerate(draw.normal(size=(ROUNDS, FEATURES)), 1):
        y, weight = float(draw.normal()), float(draw.choice([0.5, 1.0, 3.0]))
        error = y - w @ x
        slope = 0.0 if abs(error) <= eps else q if error > 0 else q - 1.0
        model.learn_one({f"f{i}": value for i, value in enumerate(x)}, y, w=weight)
        w = w + 0.6 * RATES[schedule](t) * weight * slope * x
        assert [model.weights[f"f{i}"] for i in range(FEATURES)] == pytest.approx(w, rel=1e-9, abs=1e-12), f"round {t}"


def noisy_line(rounds=20_000):
    """Labels 3 + 2a + noise from a normal distribution, whose quantiles are known."""
    draw = np.random.default_rng(5)
    for a, noise in draw.normal(size=(rounds, 2)).tolist():
        yield {"a": a}, 3.0 + 2.0 * a + noise


def pinball(q, error):
    return q * error if error > 0 else (q - 1.0) * error


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_share_q_of_the_labels_is_below_the_prediction(q):
    model, mean, below, losses, of_mean = rm.OGDRegressor(3.0, loss="quantile", quantile=q), 0.0, 0, 0.0, 0.0
    for t, (x, y) in enumerate(noisy_line(), 1):
        predicted = model.predict_one(x)
        below += t > 10_000 and y < predicted
        losses, of_mean = losses + pinball(q, y - predicted), of_mean + pinball(q, y - mean)
        model.learn_one(x, y)
        mean += (y - mean) / t
    assert below / 10_000 == pytest.approx(q, abs=0.015)  # three deviations of a share of 10,000
    expected = {rm.INTERCEPT: 3.0 + NormalDist().inv_cdf(q), "a": 2.0}
    assert dict(model.weights) == pytest.approx(expected, abs=0.15)
    assert losses < 0.6 * of_mean


def test_the_median_moves_half_as_far_as_the_absolute_error():
    absolute, median = rm.OGDRegressor(0.5, loss="absolute"), rm.OGDRegressor(1.0, loss="quantile")
    for x, y in noisy_line(200):
        absolute.learn_one(x, y)
        median.learn_one(x, y)
    assert dict(median.weights) == dict(absolute.weights)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5, float("nan"), "0.5"])
def test_a_quantile_outside_its_range_is_refused(quantile):
    with pytest.raises(ValueError, match=f"`quantile` must be a number above 0 and below 1, not {quantile!r}"):
        rm.OGDRegressor(loss="quantile", quantile=quantile)


def test_a_quantile_of_another_loss_is_refused():
    with pytest.raises(ValueError, match=r"`quantile=0\.9` is for `loss='quantile'`, and the loss is 'absolute'"):
        rm.OGDRegressor(loss="absolute", quantile=0.9)


def test_another_quantile_can_be_asked_for_in_mid_stream():
    model = rm.OGDRegressor(1.0, loss="quantile", quantile=0.5, schedule="constant", intercept=False)
    model.learn_one({"a": 1.0}, 8.0)
    model.mutate({"quantile": 0.75})
    model.learn_one({"a": 1.0}, 8.0)
    assert dict(model.weights) == {"a": 1.25}


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


@pytest.mark.parametrize(
    "make",
    [
        lambda **high: rm.StandardScaler() | rm.OGDRegressor(10.0, **high),
        lambda **high: preprocessing.TargetStandardScaler(rm.StandardScaler() | rm.OGDRegressor(**high)),
    ],
)
def test_a_quantile_of_labels_far_from_0(make):
    """With a rate of the size of the labels, or behind a scaler of them, as the docstring says."""
    draw, model, below = random.Random(1), make(loss="quantile", quantile=0.9), 0
    for t in range(5000):
        x = {"a": draw.gauss(0, 1)}
        y = 100 + 10 * (x["a"] + draw.gauss(0, 1))
        below += t >= 3000 and y < model.predict_one(x)
        model.learn_one(x, y)
    assert below / 2000 == pytest.approx(0.9, abs=0.02)
