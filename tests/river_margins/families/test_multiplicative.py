"""Winnow beside its definition, word by word, and what Littlestone proved of it."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import river_margins as rm
from river_margins.theory import bounds

PRECISION = 1e-9


def naive(X, labels, beta, theta, *, balanced=False, erasing=False):
    """The weights after each row, by two vectors and no shortcut."""
    up, down = np.ones(X.shape[1]), np.ones(X.shape[1])
    for x, y in zip(X, labels, strict=True):
        score = (up - down if balanced else up) @ x - theta
        if (score >= 0) != y:
            factors = beta ** (x if y else -x)
            up = np.where(x > 0, 0.0, up) if erasing and not y else up * factors
            down = down / factors
        yield score, up - down if balanced else up


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda: rm.Winnow(3.0, beta=1.3), {"beta": 1.3, "theta": 3.0}),
        (lambda: rm.Winnow(2, beta=3, demotion="erase"), {"beta": 3, "theta": 2, "erasing": True}),
        (lambda: rm.BalancedWinnow(1.4, intercept=False), {"beta": 1.4, "theta": 1.0, "balanced": True}),
        (lambda: rm.BalancedWinnow(2, theta=0, intercept=False), {"beta": 2, "theta": 0, "balanced": True}),
    ],
    ids=["Winnow2", "Winnow1", "balanced", "balanced, no threshold"],
)
def test_it_is_its_definition(make, options):
    draw, model = np.random.default_rng(0), make()
    X = draw.random((300, 6)) * (draw.random((300, 6)) < 0.6)
    if options.get("balanced"):
        X *= draw.choice([-1, 1], size=X.shape)
    labels = X @ draw.normal(size=6) + 0.2 * draw.normal(size=300) > 0.2
    for x, y, (score, weights) in zip(X, labels, naive(X, labels, **options), strict=True):
        row = {i: value for i, value in enumerate(x.tolist()) if value}
        if model.n_seen:
            assert model.score_one(row) == pytest.approx(score, rel=1e-9, abs=1e-9)
        model.learn_one(row, bool(y))
        assert dict(model.weights) == pytest.approx({i: weights[i] for i in model.weights}, rel=1e-9)
    assert model.n_updates > 15


def separated(seed, whole=True):
    """Examples in [0, 1]^d and a target mu with ⟨mu, x⟩ >= 1 or <= 1 - delta on each."""
    draw = np.random.default_rng(seed)
    dimension = int(draw.integers(3, 30))
    mu = draw.integers(0, 3, size=dimension) * (draw.random(dimension) < 0.4)
    mu[0] = 1
    mu = mu / draw.integers(1, 4)
    X = (draw.random((120, dimension)) < draw.uniform(0.1, 0.6)) * (1.0 if whole else draw.random((120, dimension)))
    scores = X @ mu
    delta = 10.0 ** draw.uniform(-1, 0)
    kept = (scores >= 1) | (scores <= 1 - delta)
    delta = min(1.0, 1 - scores[scores < 1].max(initial=0.0))
    return X[kept], scores[kept] >= 1, mu, delta


def play(model, X, labels, seed, most=80):
    """Pass over the rows until none is predicted wrong: promotions, demotions, the largest weight ever, and whether."""
    draw, promotions, demotions, largest = random.Random(seed), 0, 0, 0.0
    rows = [({i: v for i, v in enumerate(x) if v}, bool(y)) for x, y in zip(X.tolist(), labels, strict=True)]
    for _ in range(most):
        before = model.n_updates
        for x, y in draw.sample(rows, len(rows)):
            updates = model.n_updates
            model.learn_one(x, y)
            promotions += y and model.n_updates > updates
            demotions += not y and model.n_updates > updates
        largest = max(largest, *model.weights.values(), 0.0)
        if model.n_updates == before:
            return promotions, demotions, largest, True
    return promotions, demotions, largest, False


@pytest.mark.lecture("winnow-bound")
@pytest.mark.parametrize("theta", [1.0, 4.0, 20.0])
def test_the_inequalities_of_winnow(theta):
    """With V = beta/(beta-1)·d/theta: v <= V + beta·u promotions u and demotions v, no weight above beta·theta, and
    u <= (S·log_beta(beta·theta) + (1-delta)·V)/(1 - beta(1-delta))."""
    nearest = np.zeros(3)
    for seed in range(25):
        X, labels, mu, delta = separated(seed)
        beta = 1 + delta / 2
        u, v, largest, _ = play(rm.Winnow(theta, beta=beta, classes=[False, True]), X, labels, seed)
        first = beta / (beta - 1) * X.shape[1] / theta
        most = bounds.winnow_promotions(X.shape[1], theta, beta, mu.sum(), delta)
        ratios = np.array([v / (first + beta * u), largest / max(beta * theta, 1.0), u / most])
        assert (ratios <= 1 + PRECISION).all()
        assert u + v <= bounds.winnow_mistakes(X.shape[1], theta, beta, mu.sum(), delta)
        nearest = np.maximum(nearest, ratios)
    assert (nearest > [0.3, 0.7, 0.05]).all(), nearest


@pytest.mark.lecture("winnow-bound")
@pytest.mark.parametrize("whole", [True, False], ids=["0 or 1", "between"])
def test_wrong_predictions_of_winnow_end(whole):
    """Littlestone 1988: beta = 1 + delta/2 gives M <= 8d/(delta²·theta) + (5/delta + 14·ln(theta)/delta²)·S."""
    ended = 0
    for seed in range(25):
        X, labels, mu, delta = separated(seed, whole)
        d = X.shape[1]
        model = rm.Winnow(max(1.0, d / 2), beta=1 + delta / 2, classes=[False, True])
        *_, over = play(model, X, labels, seed)
        assert model.n_updates <= bounds.winnow_mistakes_of_a_gap(d, model.theta, mu.sum(), delta)
        ended += over
    assert ended > 8


@pytest.mark.lecture("winnow-printed-beta")
def test_a_beta_beyond_the_margin_never_ends():
    """At least 7 of 13 features: delta is 1/7, and 1 + 1/14 converges; 1 + 1/2, by the margin as it is, does not."""
    X = (np.random.default_rng(1).random((150, 26)) < 0.5) * 1.0
    labels = X[:, :13].sum(axis=1) >= 7
    assert play(rm.Winnow(7, beta=1 + 1 / 14), X, labels, 0, most=100)[-1]
    assert not play(rm.Winnow(7, beta=1.5), X, labels, 0, most=100)[-1]


def test_mistakes_of_winnow_1():
    """Disjunctions of k of d: M <= beta·k·(log_beta(theta) + 1) + d/theta."""
    nearest = 0.0
    for seed, (d, k) in enumerate(itertools.product([5, 40, 200], [1, 3])):
        draw = np.random.default_rng(seed)
        X = (draw.random((300, d)) < 2 / d) * 1.0
        labels = X[:, :k].any(axis=1)
        for beta, theta in [(2, d / 2), (1.5, 2), (4, d)]:
            model = rm.Winnow(theta, beta=beta, demotion="erase")
            assert play(model, X, labels, seed)[-1]
            most = bounds.winnow1_mistakes(d, theta, beta, k)
            assert model.n_updates <= most
            nearest = max(nearest, model.n_updates / most)
    assert nearest > 0.3


def test_negative_features_are_refused_by_name_and_change_nothing():
    model = rm.Winnow(1.5)
    model.learn_one({"a": 1.0, "b": 0.5}, False)
    before = model.__getstate__()
    for method in (model.predict_one, model.score_one, lambda x: model.learn_one(x, True)):
        for name in ("b", "new"):
            with pytest.raises(ValueError, match=f"feature '{name}' is -0.25.* use BalancedWinnow"):
                method({"a": 1.0, name: -0.25})
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, -0.5]])
    for learn in (
        lambda: model.learn_many(pd.DataFrame(X, columns=["a", "b"]), [True] * 3),
        lambda: model.learn_csr(scipy.sparse.csr_array(X), [True] * 3),
    ):
        with pytest.raises(ValueError, match=r"row 2, column ('b'|1) is -0.5"):
            learn()
    assert str(model.__getstate__()) == str(before)


@pytest.mark.parametrize("make", [lambda **k: rm.Winnow(2, **k), rm.BalancedWinnow], ids=["Winnow", "BalancedWinnow"])
def test_it_is_for_two_classes(make):
    model = make()
    assert model.predict_proba_one({}).keys() == {False, True}
    with pytest.raises(ValueError, match=r"neither False nor True.* classes=\[negative, positive\]"):
        model.learn_one({"a": 1.0}, "ham")
    assert model.n_seen == 0
    with pytest.raises(ValueError, match="is for two classes, and `classes` names 3"):
        make(classes=["a", "b", "c"])
    named = make(classes=["ham", "spam"])
    for _ in range(5):
        named.learn_one({"a": 1.0}, "spam")
    assert named.predict_one({"a": 1.0}) == "spam"


def test_a_weight_that_is_divided_for_ever_stays_above_0():
    model = rm.Winnow(1.0, beta=1e9)
    for _ in range(50):
        model.learn_one({"a": 40.0, "b": 1e6}, False)
        model.learn_one({"b": 1e6}, False)
    assert min(model.weights.values()) == 1e-300
    with pytest.raises(OverflowError, match="scale the features"):
        model.learn_one({"a": 40.0}, True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rm.Winnow(0.5), "`theta` must be a finite number of at least 1"),
        (lambda: rm.Winnow(2, beta=1.0), "`beta` must be a finite number above 1"),
        (lambda: rm.Winnow(2, demotion="halve"), "`demotion` must be 'divide' or 'erase'"),
        (lambda: rm.BalancedWinnow(theta=-1, intercept=False), "`theta` must be a finite number of at least 0"),
        (lambda: rm.Multiplicative(form="odd"), "`form` must be 'balanced', 'positive' or 'erasing'"),
    ],
)
def test_parameters_out_of_range_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_rule_that_shrinks_weights_cannot_multiply_them():
    class Shrinks(rm.Rule):
        spaces = ("Multiplicative",)

        def step(self, seen):
            return rm.Step(1.0, 0.5)

    model = rm.MarginClassifier(Shrinks(), rm.Multiplicative(2.0))
    with pytest.raises(ValueError, match="can only take steps"):
        model.learn_one({"a": 1.0}, True)
    assert model.n_seen == 0


def test_fractions_go_beyond_the_bound_for_0_and_1():
    """By hand: the weight grows from 1 to 10 by factors of 2^0.1; 34 of them are more than 2^3.32 = 10."""
    model, x = rm.Winnow(1, beta=2.0), {"a": 0.1}
    while not model.predict_one(x):
        model.learn_one(x, True)
    assert model.n_updates == 34 > bounds.winnow_promotions(1, 1.0, 2.0, 10.0, 1.0)
    assert model.n_updates <= 10 * np.log(2.0 / 0.1) / np.log(2.0)
    assert 2.0 < model.weights["a"] <= 2.0 / 0.1


def test_an_erased_weight_stays_0_on_values_of_any_size():
    model = rm.MarginClassifier(rm.PerceptronRule(), rm.Multiplicative(2.0, form="erasing"))
    model.learn_one({"a": 2.0}, False)
    model.learn_one({"a": 2000.0, "b": 0.5}, True)
    assert dict(model.weights) == {"a": 0.0, "b": pytest.approx(2.0**0.5)}


def test_a_negative_feature_can_be_given_as_the_error_says():
    model = rm.Winnow(4.0)
    with pytest.raises(ValueError, match=r"give max\(x, 0\) and max\(-x, 0\) as two features"):
        model.learn_one({"a": -1.0}, True)
    model.learn_one({"a": max(-1.0, 0), "minus a": max(1.0, 0)}, True)
