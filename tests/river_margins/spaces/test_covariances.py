"""Covariances in long and noisy runs, in memory, in snapshots, and under rules of a user."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse

import river_margins as rm
from river_margins import snapshot
from tests.helpers.rounds import assert_a_snapshot_goes_on, stream
from tests.learners import CLASSES
from tests.river_margins.families.test_gaussian import LEARNERS, covariances


def long_run(model, rounds, d=5):
    """Rows in which features go together, half of the labels at random; how many were learned before it gave up."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(rounds, d)) @ draw.normal(size=(d, d))
    y = np.where(draw.random(rounds) < 0.5, draw.random(rounds) < 0.5, X @ draw.normal(size=d) > 0)
    try:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(enumerate(row)), label)
    except OverflowError as error:
        assert f"`{type(model).__name__}`" in str(error)
    return model.n_seen


@covariances
@pytest.mark.parametrize("name", LEARNERS)
def test_a_long_noisy_run_leaves_a_covariance(name, covariance, rounds=5_000):
    model = LEARNERS[name](covariance=covariance)
    seen = long_run(model, rounds)
    space = model.__getstate__()["space"]
    variances = space["variances"][0]
    assert all(np.isfinite(space[part]).all() for part in ("means", "variances", "units"))
    assert np.isfinite(list(model.weights.values())).all()
    assert seen == rounds or name.startswith("CW")  # whose steps nothing bounds
    if covariance == "diagonal":
        assert (variances >= 0).all()
        return
    assert (variances == variances.T).all()
    assert np.linalg.eigvalsh(variances).min() >= -1e-12


# ------------------------------------------------------------------------------------------------------- memory


def test_a_matrix_over_too_many_features_is_refused_before_anything_is_written():
    model = rm.AROWClassifier(covariance="full", max_dimension=3, classes=["a", "b", "c"], intercept=False)
    model.learn_one({"f0": 1.0, "f1": 1.0}, "a")
    before = pickle.dumps(model)
    with pytest.raises(
        ValueError, match=r"4 features, more than `max_dimension` = 3: use a diagonal .* `max_features`"
    ):
        model.learn_one({"f1": 1.0, "f2": 1.0, "f3": 1.0}, "d")
    assert pickle.dumps(model) == before
    model.learn_one({"f2": 1.0}, "b")
    assert len(model.weights["a"]) == 3
    with pytest.raises(ValueError, match="`max_dimension` must be a whole number of at least 1, not 0"):
        rm.AROWClassifier(max_dimension=0, intercept=False)


def test_a_row_of_a_batch_that_brings_too_many_features_is_named():
    model = rm.AROWClassifier(covariance="full", max_dimension=2, intercept=False)
    with pytest.raises(ValueError, match=r"row 1 of the batch, after 1 that were learned: .* 3 features"):
        model.learn_csr(scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])), [True, False])
    assert model.n_seen == 1


def test_a_rule_that_keeps_other_sums_is_not_exchanged():
    model = rm.MarginClassifier(rm.AROWRule(), rm.Full(), intercept=False)
    model.mutate({"rule": rm.SecondOrderPerceptronRule()})  # nothing is learned yet
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match=r"`NHERDRule.*keeps other sums"):
        model.mutate({"rule": rm.NHERDRule()})
    assert model.rule == rm.SecondOrderPerceptronRule()
    model.mutate({"rule": rm.NAROWRule()})


class OfAUser(rm.Rule):
    """A rule of a user: AROW, and something that no space with a covariance can do."""

    _parameter_names = ("scale",)
    spaces = ("Diagonal", "Full")

    def __init__(self, scale=1.0):
        self.scale = scale

    def step(self, seen):
        return rm.Step(seen.loss / (seen.gain + 1.0), self.scale, shrink=1.0 if seen.loss else 0.0)


def test_a_rule_in_python_may_have_a_covariance():
    mine, theirs = (
        rm.MarginClassifier(OfAUser(), rm.Full(), intercept=False),
        rm.AROWClassifier(covariance="full", intercept=False),
    )
    for x, y in stream(rounds=50):
        assert mine.score_one(x) == theirs.score_one(x)
        mine.learn_one(x, y)
        theirs.learn_one(x, y)
    with pytest.raises(ValueError, match="scale stays 1"):
        rm.MarginClassifier(OfAUser(0.5), rm.Diagonal(), intercept=False).learn_one({"a": 1.0}, True)


class Idle(rm.Rule):
    """A rule of a user that never moves the weights, only the covariance."""

    _parameter_names = ("shrink", "inflate")
    needs = frozenset({"covariance"})
    tasks = ("classification", "regression")

    def __init__(self, shrink=0.0, inflate=1.0):
        self.shrink, self.inflate = shrink, inflate

    def step(self, seen):
        return rm.Step(0.0, shrink=self.shrink, inflate=self.inflate)


def covariances_of(model):
    space = model.__getstate__()["space"]
    return [unit * variances for unit, variances in zip(space["units"], space["variances"], strict=True)]


def shrunk(covariances, x, k):
    """Each Σ - beta·Σxx'Σ with one beta = k/(1 + kv), where v is the sum of their x'Σx; a diagonal one by itself."""
    beta = k / (1 + k * sum(x @ each @ x for each in covariances if each.ndim == 2))
    return [
        each - beta * np.outer(each @ x, each @ x) if each.ndim == 2 else each / (1 + k * each * x**2)
        for each in covariances
    ]


@covariances
@pytest.mark.parametrize("classes", [[False, True], CLASSES], ids=["two", "many"])
def test_a_step_of_0_shrinks_and_inflates(classes, covariance):
    space = rm.Full(2.0) if covariance == "full" else rm.Diagonal(2.0)
    model = rm.MarginClassifier(Idle(0.5, 1.25), space, classes=classes, intercept=False)
    start = np.eye(3) * 2.0 if covariance == "full" else np.full(3, 2.0)
    expected = [start] * (1 if len(classes) == 2 else 3)
    draw = np.random.default_rng(0)
    for label in [0, 1, 2, 0, 2, 1] * 3:
        x = draw.normal(size=3)
        model.learn_one(dict(enumerate(x.tolist())), classes[label % len(classes)])
        # All scores are 0, so the rival is the first of the wrong classes. Two labels share one Σ.
        moved = [0] if len(expected) == 1 else [label, 0 if label else 1]
        for block, found in zip(moved, shrunk([expected[block] for block in moved], x, 0.5), strict=True):
            expected[block] = found * 1.25
    for found, wanted in zip(covariances_of(model), expected, strict=True):
        assert found == pytest.approx(wanted)
    assert (model.n_seen, model.n_updates) == (18, 0)


@covariances
def test_an_inflation_needs_no_features(covariance):
    model = rm.MarginRegressor(Idle(inflate=2.0), rm.Full() if covariance == "full" else rm.Diagonal(), intercept=False)
    for x in ({}, {"a": 0.0}, {"a": 1.0}):
        model.learn_one(x, 1.0)
    assert covariances_of(model)[0].ravel().tolist() == [8.0]


def test_a_covariance_that_would_become_0_is_refused():
    model = rm.MarginClassifier(Idle(inflate=1e-100), rm.Diagonal(), intercept=False)
    for _ in range(3):
        model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    with pytest.raises(OverflowError):
        model.learn_one({"a": 1.0}, True)
    assert pickle.dumps(model) == before


@covariances
@pytest.mark.parametrize("name", LEARNERS)
def test_a_snapshot_in_mid_stream_goes_on_bit_for_bit(name, covariance):
    model = LEARNERS[name](covariance=covariance, classes=CLASSES)
    assert_a_snapshot_goes_on(model)


@pytest.mark.parametrize("kind", [rm.SecondOrderPerceptron, rm.NAROWClassifier])
@pytest.mark.parametrize("values", [(1.0, 1e16, 1e21), (1.0, 1e50, 1e80)])
def test_values_of_very_different_sizes_leave_finite_numbers(kind, values):
    model = kind(covariance="full")
    for value, label in zip(values, "abc", strict=True):
        model.learn_one({"a": value}, label)
    assert all(map(math.isfinite, model.score_one({}).values()))
    again = snapshot.loads(snapshot.dumps(model))
    assert again.score_one({"a": 1.0}) == model.score_one({"a": 1.0})
