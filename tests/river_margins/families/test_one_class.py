"""A radius that is learned: one dimension more, as the paper has it, beside a constant feature, as it is here."""

import math
import random

import numpy as np
import pytest
from river import anomaly, evaluate, metrics
from scipy import optimize

import river_margins as rm
from river_margins import snapshot


def step(mode, C, loss):
    return loss if mode == 0 else min(C, loss) if mode == 1 else loss / (1 + 1 / (2 * C))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_learned_radius_is_one_dimension_more(mode):
    """Crammer et al. 2006, section 6: start at (0, B), show (x, 0), and the radius is sqrt(B² - w_{n+1}²)."""
    for seed in range(10):
        draw = np.random.default_rng(seed)
        B, C = 10.0 ** draw.uniform(-1, 2), 10.0 ** draw.uniform(-2, 1)
        model = rm.PAOneClass(C, mode=mode, eps=B, learn_radius=True)
        w = np.append(np.zeros(3), B)
        assert model.radius == 0.0
        for row in draw.normal(size=(40, 3)) + 1.0:
            x = dict(enumerate(row.tolist()))
            away = np.append(row, 0.0) - w
            distance = np.linalg.norm(away)
            assert model.score_one(x) == pytest.approx(np.linalg.norm(away[:3]), rel=1e-9, abs=1e-9 * B)
            radius = np.sqrt(B**2 - w[3] ** 2)
            if abs(distance - B) > 1e-9 * B:
                assert model.predict_one(x) == (model.score_one(x) > radius) == (distance > B)
            model.learn_one(x)
            w = w + step(mode, C, max(distance - B, 0.0)) * away / distance
            assert [model.weights.get(i, 0.0) for i in range(3)] == pytest.approx(w[:3], rel=1e-9, abs=1e-12 * B)
            assert model.radius == pytest.approx(np.sqrt(max(B**2 - w[3] ** 2, 0.0)), rel=1e-6, abs=1e-7 * B)
            assert model.radius >= radius * (1 - 1e-9)  # it never shrinks


def test_what_the_notes_say_of_points_behind_a_scaler():
    notes = " ".join(rm.PAOneClass.__doc__.split())
    assert "`anomaly.QuantileFilter`" in notes and "`metrics.ROCAUC` has thresholds from 0 to 1 only" in notes
    draw, rows = random.Random(2), []
    for _ in range(2000):
        y = draw.random() < 0.01
        rows.append(({i: draw.gauss(4.0 if y and i < 3 else 0.0, 1.0) for i in range(6)}, y))

    def area(metric):
        return evaluate.progressive_val_score(rows, rm.StandardScaler() | rm.PAOneClass(), metric).get()

    assert area(metrics.ROCAUC()) < 0.05 and area(metrics.RollingROCAUC(window_size=2000)) > 0.99
    scaler, alone, flagged = rm.StandardScaler(), metrics.F1(), metrics.F1()
    model = anomaly.QuantileFilter(rm.PAOneClass(), q=0.99)
    for n, (row, y) in enumerate(rows):
        scaler.learn_one(row)
        x = scaler.transform_one(row)
        if n >= 500:
            alone.update(y, model.anomaly_detector.predict_one(x))
            flagged.update(y, model.classify(model.score_one(x)))
        model.learn_one(x)
    assert alone.get() < 0.1 and flagged.get() > 0.8


def nearest_that_fits(mode, C, B, w, point):
    """The w' of least ½|w' - w|² + C·ξ (PA-II: C·ξ²) with |w' - point| <= B + ξ and ξ >= 0, in PA ξ = 0, by SLSQP."""
    power = {0: 1, 1: 1, 2: 2}[mode]
    slack = [(0.0, 0.0 if mode == 0 else None)]
    found = optimize.minimize(
        lambda v: 0.5 * np.sum((v[:-1] - w) ** 2) + C * v[-1] ** power,
        np.append(point + 0.5 * (w - point), B),
        bounds=[(None, None)] * len(w) + slack,
        constraints={"type": "ineq", "fun": lambda v: B + v[-1] - np.linalg.norm(v[:-1] - point)},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success or "Positive directional derivative" in found.message
    return found.x[:-1]


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_step_with_a_learned_radius_solves_its_problem(mode):
    draw = np.random.default_rng(mode)
    B, C, w = 2.0, 0.7, np.append(np.zeros(3), 2.0)
    model = rm.PAOneClass(C, mode=mode, eps=B, learn_radius=True)
    for row in draw.normal(size=(30, 3)) * draw.choice([0.5, 3.0], size=(30, 1)):
        w = nearest_that_fits(mode, C, B, w, np.append(row, 0.0))
        model.learn_one(dict(enumerate(row.tolist())))
        learned = [model.weights.get(i, 0.0) for i in range(3)]
        assert [*learned, np.sqrt(B**2 - model.radius**2)] == pytest.approx(w, abs=1e-5)
        w = np.array([*learned, np.sqrt(B**2 - model.radius**2)])
    assert 5 < model.n_updates < 30


def test_the_losses_of_a_learned_radius_are_bounded():
    """Where all points lie within r < B of c, Σ l² <= |(c, sqrt(B² - r²)) - (0, B)|²."""
    nearest = 0.0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        r = 10.0 ** draw.uniform(-2, 1)
        B, c = r * draw.uniform(1.1, 5), draw.normal(size=3) * 10.0 ** draw.uniform(-1, 1)
        away = draw.normal(size=(30, 3))
        points = c + r * away / np.linalg.norm(away, axis=1, keepdims=True) * draw.random(size=(30, 1))
        model, squares = rm.PAOneClass(mode=0, eps=B, learn_radius=True), 0.0
        for row in np.tile(points, (5, 1)).tolist():
            x = dict(enumerate(row))
            height = np.sqrt(B**2 - model.radius**2)
            squares += max(np.hypot(model.score_one(x), height) - B, 0.0) ** 2
            model.learn_one(x)
        bound = c @ c + (B - np.sqrt(B**2 - r**2)) ** 2
        assert squares <= bound * (1 + 1e-6)
        nearest = max(nearest, squares / bound)
    assert nearest > 0.5


def test_a_point_learned_twice_is_on_the_border_and_inside():
    model = rm.PAOneClass(mode=0)
    for seed in range(200):
        x = dict(enumerate(np.random.default_rng(seed).normal(size=5).tolist()))
        model.learn_one(x)
        updates = model.n_updates
        model.learn_one(x)
        assert model.n_updates == updates and not model.predict_one(x)


@pytest.mark.parametrize("parameters", [{"eps": 0.0}, {"eps": -1.0}, {"C": 0.0}, {"mode": 4}, {"max_features": 0}])
def test_parameters_out_of_range_are_named(parameters):
    with pytest.raises(ValueError, match=f"`{next(iter(parameters))}`"):
        rm.PAOneClass(**parameters)


def test_a_size_is_measured_where_a_small_scale_leaves_large_numbers():
    model = rm.PAOneClass(0.1, mode=2)
    for x, w in (({"b": 1e10}, 1.0), ({}, 1e10), ({"d": 1e150}, 1.0), *[({}, 1.0)] * 30):
        model.learn_one(x, w=w)
    assert math.isfinite(model.score_one({}))
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(model))) == snapshot.dumps(model)


@pytest.mark.parametrize("outlier", [3e8, 1e9])
def test_distances_are_right_again_after_an_outlier(outlier):
    """The squared length of the centre is then a difference of huge numbers; rounding may leave less than 0."""
    model = rm.PAOneClass(mode=0)
    for value in (outlier, 0.9):
        model.learn_one({"a": value})
    for value in (0.0, 30.0):
        assert model.score_one({"a": value}) == pytest.approx(abs(value - model.weights["a"]), rel=1e-6)
