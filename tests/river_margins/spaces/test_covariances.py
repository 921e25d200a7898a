"""Covariances in long and noisy runs, in memory, in snapshots, and under rules of a user."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import river_margins as rm
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
    model = rm.AROWClassifier(covariance="full", max_dimension=3, classes=["a", "b", "c"])
    model.learn_one({"f0": 1.0, "f1": 1.0}, "a")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"4 features, and `Full\(a=1\.0, max_dimension=3\)`.* `max_features`"):
        model.learn_one({"f1": 1.0, "f2": 1.0, "f3": 1.0}, "d")
    assert pickle.dumps(model) == before
    model.learn_one({"f2": 1.0}, "b")
    assert len(model.weights["a"]) == 3
    with pytest.raises(ValueError, match="`max_dimension` must be a whole number of at least 1, not 0"):
        rm.AROWClassifier(max_dimension=0)


def test_a_row_of_a_batch_that_brings_too_many_features_is_named():
    model = rm.AROWClassifier(covariance="full", max_dimension=2)
    with pytest.raises(ValueError, match=r"row 1 of the batch, after 1 that were learned: .* 3 features"):
        model.learn_csr(scipy.sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])), [True, False])
    assert model.n_seen == 1


def test_a_rule_that_keeps_other_sums_is_not_exchanged():
    model = rm.MarginClassifier(rm.AROWRule(), rm.Full())
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
    mine, theirs = rm.MarginClassifier(OfAUser(), rm.Full()), rm.AROWClassifier(covariance="full")
    for x, y in stream(rounds=50):
        assert mine.score_one(x) == theirs.score_one(x)
        mine.learn_one(x, y)
        theirs.learn_one(x, y)
    with pytest.raises(ValueError, match="scale stays 1"):
        rm.MarginClassifier(OfAUser(0.5), rm.Diagonal()).learn_one({"a": 1.0}, True)


@covariances
@pytest.mark.parametrize("name", LEARNERS)
def test_a_snapshot_in_mid_stream_goes_on_bit_for_bit(name, covariance):
    model = LEARNERS[name](covariance=covariance, classes=CLASSES)
    assert_a_snapshot_goes_on(model)
