"""What the papers prove, as properties of every stream: no learner may exceed its bound, whatever it is fed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_margins as rm


@st.composite
def streams(draw, noisy):
    """Examples, labels and some comparison vectors u; where the stream is separable, u has margin 1 on all of it."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dimension, rounds = draw(st.integers(1, 6)), draw(st.integers(1, 60))
    scale = 10.0 ** draw(st.floats(-6, 6))
    direction = generator.normal(size=dimension)
    direction /= np.linalg.norm(direction)
    X = generator.normal(size=(rounds, dimension)) * scale * 10.0 ** generator.uniform(-1, 1, size=(rounds, 1))
    margins = X @ direction
    X, margins = X[np.abs(margins) > 1e-9 * scale], margins[np.abs(margins) > 1e-9 * scale]
    y = np.sign(margins)
    if noisy:
        y = np.where(generator.random(len(y)) < draw(st.floats(0, 0.5)), -y, y)
    order = np.tile(np.arange(len(y)), draw(st.integers(1, 3)))
    smallest = np.abs(margins).min() if len(margins) else 1.0
    return X[order], y[order], direction / smallest, scale


def play(model, X, y):
    """Losses before each update."""
    losses = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        score = model.score_one(x)
        losses.append(max(0.0, 1.0 - label * (score if score != {} else 0.0)))
        model.learn_one(x, label > 0)
    return np.array(losses)


def hinge(u, X, y):
    return np.maximum(0.0, 1.0 - y * (X @ u))


def longest(X):
    return (X**2).sum(axis=1).max() if len(X) else 0.0


@given(streams(noisy=False))
def test_perceptron_on_separable_streams(stream):
    X, y, u, _ = stream
    model = rm.Perceptron()
    play(model, X, y)
    assert model.n_mistakes <= longest(X) * (u @ u) * (1 + 1e-9)


@given(streams(noisy=True), st.floats(-3, 3))
def test_perceptron_on_any_stream(stream, strength):
    X, y, u, scale = stream
    u = u / np.linalg.norm(u) * 10.0**strength / scale
    model, mistaken = rm.Perceptron(), []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        before = model.n_mistakes
        model.learn_one(dict(enumerate(row)), label > 0)
        mistaken.append(model.n_mistakes > before)
    loss = hinge(u, X, y)[np.array(mistaken, dtype=bool)].sum()
    length = longest(X) * (u @ u)  # R²U²
    assert model.n_mistakes <= (loss + length / 2 + math.sqrt(length) * math.sqrt(loss + length / 4)) * (1 + 1e-9)


@given(streams(noisy=False))
def test_pa_on_separable_streams(stream):
    X, y, u, _ = stream
    losses = play(rm.PAClassifier(mode=0), X, y)
    assert (losses**2).sum() <= longest(X) * (u @ u) * (1 + 1e-6)


@given(streams(noisy=True), st.floats(-3, 3), st.floats(-3, 3))
def test_pa_i_and_its_dual_progress(stream, strength, aggressiveness):
    X, y, u, scale = stream
    u, C = u / np.linalg.norm(u) * 10.0**strength / scale, 10.0**aggressiveness / scale**2
    model = rm.PAClassifier(C=C, mode=1)
    losses = play(model, X, y)
    primal = u @ u + 2 * C * hinge(u, X, y).sum()
    assert model.n_mistakes <= max(longest(X), 1 / C) * primal * (1 + 1e-9)
    q = (X**2).sum(axis=1)
    steps = np.minimum(C, losses / q)
    progress = -(steps**2) * q / 2 + steps * losses  # the margin before the step is 1 - loss where it moves
    assert (progress >= np.minimum(C, losses / q) * losses / 2 * (1 - 1e-9)).all()
    assert progress.sum() <= primal / 2 * (1 + 1e-6)


@given(streams(noisy=True), st.floats(-3, 3), st.floats(-3, 3))
def test_pa_ii_on_any_stream(stream, strength, aggressiveness):
    X, y, u, scale = stream
    u, C = u / np.linalg.norm(u) * 10.0**strength / scale, 10.0**aggressiveness / scale**2
    losses = play(rm.PAClassifier(C=C, mode=2), X, y)
    assert (losses**2).sum() <= (longest(X) + 0.5 / C) * (u @ u + 2 * C * (hinge(u, X, y) ** 2).sum()) * (1 + 1e-6)


@given(streams(noisy=True), st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 1))
def test_pa_ii_regression_on_any_stream(stream, strength, aggressiveness, eps):
    X, y, u, scale = stream
    u, C = u / np.linalg.norm(u) * 10.0**strength / scale, 10.0**aggressiveness / scale**2
    targets = y * np.abs(X).sum(axis=1) / scale
    model, squares = rm.PARegressor(C=C, mode=2, eps=eps), 0.0
    for row, target in zip(X.tolist(), targets.tolist(), strict=True):
        x = dict(enumerate(row))
        squares += max(0.0, abs(target - model.predict_one(x)) - eps) ** 2
        model.learn_one(x, target)
    others = (np.maximum(0.0, np.abs(targets - X @ u) - eps) ** 2).sum()
    assert squares <= (longest(X) + 0.5 / C) * (u @ u + 2 * C * others) * (1 + 1e-6)


@pytest.mark.parametrize("n", [1, 5, 30])
def test_orthonormal_examples_reach_the_perceptrons_bound(n):
    model = rm.Perceptron()
    for i in range(n):
        model.learn_one({i: 1.0}, i % 2 == 0)
    assert model.n_mistakes == n  # R²U² = n, so the bound is tight


@given(streams(noisy=True), st.sampled_from([rm.PA(), rm.PA1(0.5), rm.PA2(0.5), rm.PerceptronRule()]))
def test_the_tracked_length_is_the_length(stream, rule):
    X, y, _, scale = stream
    model = rm.MarginClassifier(rule)
    for _ in range(40):  # beyond the recount after 1,024 moves
        play(model, X / scale, y)
    state = model.__getstate__()["space"]
    assert state["size"] == pytest.approx((state["weights"] ** 2).sum(), rel=1e-6, abs=1e-6)
