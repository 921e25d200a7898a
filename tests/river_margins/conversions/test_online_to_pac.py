"""The stages by hand, and failures of thousand runs on a class whose risks are known."""

import bisect

import numpy as np
import pytest
from river import base

import river_margins as rm
from river_margins.theory import bounds
from tests.helpers.rounds import stream
from tests.river_margins.conversions.cases import CASES


class Prefixes(base.Classifier):
    """The thresholds k/10 on [0, 1]: x is True below the threshold. Predicts with the middle one of those left."""

    def __init__(self, first=False):
        self.first, self.low, self.high = first, 0, 10

    @property
    def threshold(self):
        return (self.low if self.first else (self.low + self.high) // 2) / 10

    def predict_one(self, x, **_):
        return x < self.threshold

    def predict_proba_one(self, x, **_):
        return {self.predict_one(x): 1.0}

    def learn_one(self, x, y):
        tenth = bisect.bisect_right([k / 10 for k in range(11)], x)  # x < k/10 from this k on
        self.low, self.high = (max(self.low, tenth), self.high) if y else (self.low, min(self.high, tenth - 1))


@pytest.mark.lecture("online-to-pac")
@pytest.mark.parametrize(("first", "mistakes"), [(False, 4), (True, 10)])
@pytest.mark.parametrize("known", [False, True])
def test_thousand_runs_fail_as_seldom_as_promised(first, mistakes, known, epsilon=0.15, delta=0.1, runs=250):
    """Four times 250. The risk of a threshold is its distance from the true one, 0.6, as x is uniform."""
    random = np.random.default_rng(7)
    bound, failures, used = mistakes if known else None, 0, []
    for _ in range(runs):
        model = rm.OnlineToPAC(Prefixes(first), epsilon=epsilon, delta=delta, mistake_bound=bound)
        for x in random.random(model.sample_size(mistakes)).tolist():
            model.learn_one(x, x < 0.6)
            if model.done:
                break
        assert model.done and model.stage <= mistakes + 1  # the sample was large enough
        failures += abs(model.hypothesis_.threshold - 0.6) > epsilon + 1e-12
        used.append(model.n_used)
    assert failures <= runs * delta
    assert max(used) > model.stage_length(1)


def test_a_stage_that_is_too_short_fails():
    """The check above finds a learner that stops too early."""
    random, failures = np.random.default_rng(7), 0
    for _ in range(250):
        model = rm.OnlineToPAC(Prefixes(), epsilon=0.9, delta=0.9)
        for x in random.random(100).tolist():
            model.learn_one(x, x < 0.6)
        failures += abs(model.hypothesis_.threshold - 0.6) > 0.05
    assert failures > 25


def test_the_worked_lengths():
    case = CASES["pac_conversion"]
    model = rm.OnlineToPAC(rm.Perceptron(), epsilon=case["epsilon"], delta=case["delta"])
    assert [model.stage_length(i) for i in (1, 2, 3, 4)] == case["stage_lengths"]
    assert model.sample_size(case["M"]) == case["total"]
    exact = bounds.pac_sample_size(case["M"], case["epsilon"], case["delta"])
    assert exact <= case["total"] < exact + 4  # four stages, each rounded up
    model = model.clone({"mistake_bound": case["M"]})
    assert [model.stage_length(i) for i in (1, 2, 3, 4)] == case["stage_lengths_equal_split"]


@pytest.mark.lecture("online-to-pac")
def test_the_printed_sample_size_is_too_small():
    """An erratum: the lectures print 258 for halving on 9 thresholds, which makes M = 3 mistakes."""
    assert rm.OnlineToPAC(rm.Perceptron(), epsilon=0.05, delta=0.1).sample_size(3) == 324


def test_rounds_after_the_end_change_nothing():
    model = rm.OnlineToPAC(rm.Perceptron(), epsilon=0.5, delta=0.5)
    assert model.hypothesis_ is None
    while not model.done:
        model.learn_one({"a": 1.0}, True)
    # None is wrong; then stage 2 needs ln(2²/0.5)/0.5 = 4.2 examples
    assert (model.stage, model.n_used, model.learner.n_seen) == (2, 6, 1)
    for x, y in stream(rounds=20):
        model.learn_one(x, y)
    assert (model.n_used, model.n_seen, model.learner.n_seen) == (6, 26, 1)
    assert model.hypothesis_ is not model.learner


@pytest.mark.parametrize("parameters", [{"epsilon": 0.0}, {"delta": 1.0}, {"mistake_bound": -1}])
def test_parameters_out_of_range_are_named(parameters):
    with pytest.raises(ValueError, match=f"`{next(iter(parameters))}`"):
        rm.OnlineToPAC(rm.Perceptron(), **parameters)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_stage_that_would_never_end_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be at least 1e-300, not 5e-324"):
        rm.OnlineToPAC(rm.Perceptron(), **{name: 5e-324})
