"""What is counted of several models, against sums over all records."""

import json
import math

import numpy as np
import pytest

from connectors.model.standings import BLOCK, BLOCKS, Contest, Standings, contest_of

RANDOM = np.random.default_rng(3)
LOSSES = RANDOM.integers(0, 2, (23_456, 3)).astype(float)
NAMES = ("pa", "arow", "b.c-d")


def played(losses, since=0):
    """Return the standings; the last model comes later."""
    standings = Standings()
    for number, row in enumerate(losses):
        standings.judge(dict(zip(NAMES if number >= since else NAMES[:2], row.tolist(), strict=False)))
    return standings


def assert_counts(tally, losses):
    for name, column in zip(NAMES, losses.T, strict=True):
        there = column[~np.isnan(column)]
        assert (tally.models[name].judged, tally.models[name].loss) == (len(there), there.sum())
    for one in range(3):
        for other in range(3):
            if one != other:
                difference = losses[:, one] - losses[:, other]
                difference = difference[~np.isnan(difference)]
                pair = tally.pair(NAMES[one], NAMES[other])
                assert (pair.judged, pair.difference) == (len(difference), difference.sum())
                assert pair.squares == np.square(difference).sum()
                assert pair.loss == losses[~np.isnan(losses[:, other]), one][-pair.judged :].sum()


def test_life_and_the_last_records_are_sums_over_these_records():
    standings = played(LOSSES, since=5000)
    losses = LOSSES.copy()
    losses[:5000, 2] = np.nan
    assert_counts(standings.life, losses)
    recent = len(LOSSES) % BLOCK + BLOCK * (BLOCKS - 1)
    assert standings.recent.records == recent
    assert_counts(standings.recent, losses[-recent:])


def test_standings_come_back_from_json_bit_for_bit():
    standings = played(RANDOM.normal(size=(2345, 3)))
    standings.of_refused("pa").labels += 3
    contest = Contest("pa", {"pa": 7, "arow": 8}, standings)
    about = json.loads(json.dumps({"contest": contest.value, "record": {}}))
    assert contest_of(about) == contest
    assert contest_of({"record": {}}) is None


@pytest.mark.parametrize("value", [None, {}, {"champion": "a", "examples": {"a": "many"}, "standings": {}}])
def test_what_is_no_contest_is_refused(value):
    with pytest.raises(ValueError, match="not well formed"):
        contest_of({"contest": value})


def test_models_that_are_gone_are_forgotten():
    standings = played(LOSSES[:3000])
    standings.of_refused("arow").features += 1
    standings.keep(frozenset({"pa", "b.c-d"}))
    assert set(standings.life.models) == {"pa", "b.c-d"} and list(standings.life.pairs) == ["b.c-d pa"]
    assert standings.refused == {} and standings.life.pair("pa", "arow").judged == 0


def test_equal_losses_differ_by_no_negative_zero():
    standings = Standings()
    standings.judge({"arow": 1.0, "pa": 1.0})
    assert math.copysign(1.0, standings.life.pair("pa", "arow").difference) == 1.0
