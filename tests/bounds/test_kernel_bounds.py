"""What the papers prove of kernel learners, and the problems that their updates solve."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import river_margins as rm
from river_margins.theory import bounds
from tests.bounds.guarantees import BOUNDS as LINEAR_BOUNDS
from tests.bounds.kernels import BOUNDS, KERNELS, coordinates, play, records, vector
from tests.bounds.runs import Stream
from tests.bounds.streams import comparators, shortest
from tests.learners import CLASSES

LABELS = {"binary": [False, True], "multiclass": CLASSES}


# ------------------------------------------------------------------------------------------------------------- bounds

BOUNDED = {
    "perceptron": (rm.KernelPerceptron, LINEAR_BOUNDS["mistakes_of_a_perceptron"].check, {}),
    "PA-I": (rm.KernelPAClassifier, LINEAR_BOUNDS["mistakes_of_capped_steps"].check, {"C": 0.5}),
    "PA-I, dual": (rm.KernelPAClassifier, LINEAR_BOUNDS["dual_progress"].check, {"C": 0.5}),
    "PA-II": (partial(rm.KernelPAClassifier, mode=2), LINEAR_BOUNDS["squares_of_damped_steps"].check, {"C": 0.5}),
    "Forgetron": (rm.Forgetron, BOUNDS["forgetron"], {"budget": 83}),
    "Projectron": (rm.Projectron, BOUNDS["projectron"], {"eta": 0.05}),
    "Projectron, wide": (rm.Projectron, BOUNDS["projectron"], {"eta": 0.4}),
    "Projectron++": (partial(rm.Projectron, plus_plus=True), BOUNDS["projectron_plus_plus"], {"eta": 0.05}),
    "Projectron++, wide": (partial(rm.Projectron, plus_plus=True), BOUNDS["projectron_plus_plus"], {"eta": 0.2}),
    "second order": (
        rm.KernelSecondOrderPerceptron,
        LINEAR_BOUNDS["mistakes_of_a_second_order_perceptron"].check,
        {"a": 0.5},
    ),
    "BOGD": (rm.BOGDClassifier, BOUNDS["budgeted_descent"], {"lr": 0.5, "lam": 0.1, "budget": 8}),
}


UNPROVED = "second order", "multiclass"


def halved(kernel):
    """The kernel for which difference vectors are as long as examples are in the other."""
    return lambda x, z: kernel(x, z) / 2


def arranged(task, seed, wrong, wide):
    """Points, the labels of a separator with some of them wrong (None: an adversary's), in random order."""
    draw = np.random.default_rng(seed)
    points = records(draw.normal(size=(draw.integers(2, 30), draw.integers(1, 4))) * 10.0**wide)
    points = [x for i, x in enumerate(points) if x not in points[:i]]
    kernel = rm.RBF(0.5) if task == "binary" else halved(rm.RBF(0.5))
    Z = coordinates(kernel, points)
    separator = Z.T @ draw.normal(size=(len(points), 3 if task == "multiclass" else 1))
    separator = separator.T.ravel()
    best = (Z @ separator.reshape(-1, Z.shape[1]).T) if task == "multiclass" else Z @ separator
    labels = best.argmax(axis=1) if task == "multiclass" else np.where(best >= 0, 1.0, -1.0)
    order = np.concatenate([draw.permutation(len(points)) for _ in range(4)])
    other = draw.integers(3, size=len(order)) if task == "multiclass" else -labels[order]
    labels = None if wrong is None else np.where(draw.random(len(order)) < wrong, other, labels[order])
    return kernel, points, Z, order, labels, separator


@pytest.mark.parametrize(("name", "task"), [(n, t) for n in BOUNDED for t in LABELS if (n, t) != UNPROVED])
@settings(derandomize=True, deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), wrong=st.sampled_from([0.0, 0.0, 0.1, 0.5, None]), wide=st.floats(-2, 2))
def test_a_bound_holds(name, task, seed, wrong, wide):
    make, bound, parameters = BOUNDED[name]
    kernel, points, Z, order, labels, separator = arranged(task, seed, wrong, wide)
    model = make(kernel, classes=LABELS[task], **parameters)
    run = play(model, task, points, Z, order, labels, parameters)
    found = comparators(run, Stream(run.X, run.labels, separator), LINEAR_BOUNDS["mistakes_of_a_perceptron"])
    if wrong == 0.0 and run.margins_of(separator).min() > 1e-6:
        found.append(shortest(run, separator))
    for u in found:
        for left, right in bound(run, u, model) if bound in BOUNDS.values() else bound(run, u):
            assert np.all(left <= right + 1e-9 * np.abs(right) + 1e-12), (left, right)
    if name == "Forgetron":
        assert model.__getstate__()["space"]["damage"] <= 15 / 32 * model.n_mistakes * (1 + 1e-12)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_is_nearly_reached_on_examples_far_apart(name):
    """Each is new, so nothing that was learned helps; no learner with these bounds can do better than a fair part."""
    make, bound, parameters = BOUNDED[name]
    points = [{number: 100.0} for number in range(200)]
    Z = np.eye(200)
    labels = np.where(np.arange(200) % 3, 1.0, -1.0)
    if name == "BOGD":
        parameters = parameters | {"budget": 200}
    model = make(rm.RBF(), classes=LABELS["binary"], **parameters)
    run = play(model, "binary", points, Z, np.arange(200), labels, parameters)
    best = 0.0
    for strength in (0.0, 0.01, 0.1, 1.0):
        u = strength * labels
        for left, right in bound(run, u, model) if bound in BOUNDS.values() else bound(run, u):
            best = max(best, np.max(left / np.maximum(right, 1e-300)))
    assert best > 0.2


@pytest.mark.lecture("randomised-budget")
def test_the_bound_of_the_randomised_budget_perceptron_holds_in_expectation():
    """Cavallanti et al. 2007: E[M] <= 2B/(B - U²)·(U² + L), for U² < B; over seeds, with three standard errors."""
    tightest = 0.0
    for case, (wrong, wide) in enumerate(itertools.product([0.0, 0.1, 0.5], [-0.5, 0.5])):
        kernel, points, Z, order, labels, separator = arranged("binary", case, wrong, wide)
        B, mistakes = 10, []
        for seed in range(20):
            model = rm.RandomizedBudgetPerceptron(kernel, budget=B, seed=seed)
            run = play(model, "binary", points, Z, order, labels, {})
            mistakes.append(model.n_mistakes)
        for u in comparators(run, Stream(run.X, run.labels, separator), LINEAR_BOUNDS["mistakes_of_a_perceptron"]):
            u = u * min(1.0, math.sqrt(B / 2 / max(u @ u, 1e-300)))
            right = bounds.randomized_budget_mistakes(np.linalg.norm(u), run.losses_of(u).sum(), B)
            assert np.mean(mistakes) <= right + 3 * np.std(mistakes) / math.sqrt(20)
            tightest = max(tightest, np.mean(mistakes) / right)
    assert tightest > 0.2


# ----------------------------------------------------------------------------------------------------------- problems


def objective(w, other, z, sign, C):
    """|w' - w|²/2 + C·[1 - y⟨w', z⟩]+."""
    return ((other - w) ** 2).sum() / 2 + C * max(0.0, 1.0 - sign * (other @ z))


def least(w, removed, z, sign, C):
    """The smallest objective, whatever the coefficient of the new support, by a search."""
    wide = 10.0 * (C + np.linalg.norm(w) / np.linalg.norm(z))
    return minimize_scalar(
        lambda beta: objective(w, w - removed + beta * z, z, sign, C),
        bounds=(-wide, wide),
        method="bounded",
        options={"xatol": 1e-10},
    ).fun


@pytest.mark.parametrize("kernel", list(KERNELS)[:4])
def test_an_update_of_budgeted_pa_solves_its_problem(kernel):
    """Over all supports that could go and all coefficients of x, which a search finds support by support."""
    removals = 0
    for seed in range(8):
        draw = np.random.default_rng(seed)
        C, points = 10.0 ** draw.uniform(-2, 0.5), records(draw.normal(size=(12, 3)))
        Z = coordinates(KERNELS[kernel], points)
        model = rm.BPAClassifier(KERNELS[kernel], C=C, budget=4, classes=[False, True])
        for x, z in zip(points, Z, strict=True):
            supports, w, y = model.supports, vector(model, "binary", points, Z), bool(draw.random() < 0.5)
            model.learn_one(x, y)
            if len(supports) < 4 or model.supports == supports:
                continue
            sign = 1.0 if y else -1.0
            best = min(least(w, c * Z[points.index(v)], z, sign, C) for v, c in supports)
            ours = objective(w, vector(model, "binary", points, Z), z, sign, C)
            assert ours <= best + 1e-7 * max(1.0, best)
            removals += 1
    assert removals >= 30


@pytest.mark.parametrize("eta", [0.05, 0.4])
def test_a_projectron_adds_the_nearest_combination_of_its_supports(eta):
    """By least squares in coordinates: what is added to w is the projection, or the example where that is far."""
    projected = 0
    draw = np.random.default_rng(5)
    points = records(draw.normal(size=(25, 2)))
    Z = coordinates(rm.RBF(0.5), points)
    model = rm.Projectron(rm.RBF(0.5), eta=eta, classes=[False, True])
    for place in draw.integers(25, size=120):
        y, before, supports = bool(draw.random() < 0.5), vector(model, "binary", points, Z), model.supports
        mistakes = model.n_mistakes
        model.learn_one(points[place], y)
        if model.n_mistakes == mistakes:
            assert model.supports == supports
            continue
        span = Z[[points.index(x) for x, _ in supports]].T
        nearest = span @ np.linalg.lstsq(span, Z[place], rcond=None)[0] if supports else np.zeros(len(Z))
        near = np.linalg.norm(Z[place] - nearest) <= eta
        projected += near
        assert len(model.supports) == len(supports) + (not near)
        added = vector(model, "binary", points, Z) - before
        assert added == pytest.approx((1 if y else -1) * (nearest if near else Z[place]), abs=1e-6)
    assert projected > 10
