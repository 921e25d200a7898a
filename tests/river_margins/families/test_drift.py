"""Learners with a half life follow a change of concept, and lose little without one."""

from functools import partial

import pytest

import river_margins as rm
from tests.helpers.scripts import script

FREEZING = {
    "AROW": partial(rm.AROWClassifier, intercept=False),
    "AROW with a matrix": partial(rm.AROWClassifier, covariance="full", intercept=False),
    "averaged perceptron": partial(rm.AveragedPerceptron, intercept=False),
}


@pytest.fixture(scope="module")
def drift():
    with script("benchmarks/drift.py") as module:
        yield module


@pytest.fixture(scope="module")
def streams(drift):
    return {kind: drift.stream(kind, "dense", 2) for kind in drift.KINDS}


@pytest.mark.parametrize("name", FREEZING)
def test_a_half_life_follows_every_change(drift, streams, name):
    """Within a point of the same learner started afresh: in the last quarter, 5,000 rounds after the last switch."""
    for kind in ("abrupt", "recurring", "gradual"):
        fresh = drift.accuracy(FREEZING[name], streams[kind], afresh=True)
        assert drift.accuracy(partial(FREEZING[name], half_life=1500), streams[kind]) > fresh - 0.01, kind
    assert drift.accuracy(FREEZING[name], streams["abrupt"]) < drift.before(FREEZING[name], streams["abrupt"]) - 0.1


@pytest.mark.parametrize("name", FREEZING)
def test_a_half_life_costs_little_where_nothing_changes(drift, streams, name):
    """A memory of about 2,200 examples, in place of 20,000, costs 0.7 points in ten features."""
    plain = drift.accuracy(FREEZING[name], streams["none"])
    assert drift.accuracy(partial(FREEZING[name], half_life=1500), streams["none"]) > plain - 0.01


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_with_a_half_life_cw_learns_on_after_wrong_labels(drift, streams, covariance):
    """Without one, each wrong label squares the variances, and after some hundred updates nothing changes any more."""
    made = partial(rm.CWClassifier, covariance=covariance, intercept=False)
    for kind in ("abrupt", "recurring", "gradual"):
        fresh = drift.accuracy(made, streams[kind], afresh=True)
        assert drift.accuracy(partial(made, half_life=1500), streams[kind]) > fresh - 0.01, kind
    assert (
        drift.accuracy(made, streams["abrupt"])
        < 0.65
        < drift.accuracy(partial(made, half_life=1500), streams["abrupt"])
    )


@pytest.mark.parametrize(("width", "kind"), [("dense", "none"), ("dense", "abrupt"), ("sparse", "abrupt")])
def test_several_half_lives_and_a_restart_reach_the_goal(drift, width, kind):
    """Where no half life of AROW does: it costs half a point without a change, or a point after one."""
    given = {kind: [drift.stream(kind, width, 2)]}
    measured = drift.Measured(rm.AROWClassifier, given)
    assert measured.together().mean(kind) > measured.afresh(kind) - drift.GOALS[kind]


def test_the_streams_turn_when_they_say(drift):
    assert [drift.turned(kind, 8)[0].tolist() for kind in drift.KINDS] == [
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0.25, 0.5, 0.75, 1, 1],
    ]
    given = drift.stream("none", "sparse", 0, rounds=50)
    assert {len(x) for x, _ in given.rows} == {20} and given.switch == 0
