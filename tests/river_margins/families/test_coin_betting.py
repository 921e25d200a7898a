"""Coin betting: no unit of a feature or a label matters, and a bet never loses all that a weight has won."""

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.rounds import stream
from tests.learners import CLASSES

UNITS = {"f0": 2.0**40, "f1": 2.0**-40, "f2": 8.0, "f3": -1.0, "f4": 1.0, "f5": 0.125}


def scores(model, rounds, units=None):
    """The score of each example before it is learned."""
    found = []
    for x, y in rounds:
        x = {name: value * (units or {}).get(name, 1.0) for name, value in x.items()}
        found.append(model.score_one(x))
        model.learn_one(x, y)
    return found


@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (rm.CoinBettingClassifier, (False, True)),
        (lambda: rm.CoinBettingClassifier("hinge"), CLASSES),
        (rm.CoinBettingRegressor, (-3.0, 1.0, 700.0)),
    ],
)
def test_the_units_of_features_change_no_bit_of_a_score(make, labels):
    """Powers of two are exact in floating point; a negative unit turns the weight."""
    assert scores(make(), stream(labels=labels)) == scores(make(), stream(labels=labels), UNITS)


def test_the_unit_of_the_labels_is_that_of_the_predictions():
    found = scores(rm.CoinBettingRegressor(eps=0.5), stream(labels=(-3.0, 1.0, 7.0)))
    scaled = scores(rm.CoinBettingRegressor(eps=512.0), stream(labels=(-3072.0, 1024.0, 7168.0)))
    assert scaled == [1024.0 * score for score in found]


def test_a_weight_is_smaller_for_a_value_larger_than_all_before():
    """After a step of 1/2 along a value of 1: s = 1/2, S = 1/4, and the wealth is 1."""
    model = rm.CoinBettingClassifier(intercept=False)
    model.learn_one({"a": 1.0}, True)
    assert dict(model.weights) == {"a": 0.2}  # 0.5/(2·(1/4 + 1))
    assert model.score_one({"a": 0.5}) == pytest.approx(0.1)
    assert model.score_one({"a": 3.0}) == pytest.approx(3 * 0.5 / (2 * (0.25 + 9)))
    assert model.explain_one({"a": 3.0, "new": 1.0}) == {"a": pytest.approx(3 * 0.5 / (2 * (0.25 + 9))), "new": 0.0}
    assert dict(model.weights) == {"a": 0.2}


@pytest.mark.parametrize("kind", [rm.CoinBettingClassifier, rm.CoinBettingRegressor])
def test_a_bet_loses_at_most_half_of_the_wealth_whatever_the_sample_weights_are(kind):
    random, model = np.random.default_rng(3), kind(intercept=False)
    before = np.ones(6)
    for number, (x, y) in enumerate(stream(3)):
        model.learn_one(x, y, w=10.0 ** random.uniform(-3, 3))
        state = model.__getstate__()["space"]
        wealth = dict(zip(state["features"], state["coordinates"][:, 0, 3], strict=True))
        for place in range(6):
            after = wealth.get(f"f{place}", before[place])
            assert number < 20 or after >= before[place] / 2  # by then all features have moved
            before[place] = after
    assert (before > 0).all() and np.isfinite(before).all()


def test_a_sample_weight_multiplies_the_step():
    """Two examples of one weight by hand: steps of 1/4 and of 3·(1 - sigmoid(f)), the second beyond its value of 1."""
    model = rm.CoinBettingClassifier(intercept=False)
    model.learn_one({"a": 1.0}, True, w=0.5)
    w = 0.25 / (2 * (0.25**2 + 1))
    assert dict(model.weights) == {"a": pytest.approx(w)}
    z = 3 / (1 + np.exp(w))
    model.learn_one({"a": 1.0}, True, w=3.0)
    wealth = 1 + z * 0.25 / (2 * (0.25**2 + z**2))  # the bet is made for values up to z
    s, r = 0.25 + z, np.sqrt(0.25**2 + z**2 + z**2)
    assert dict(model.weights) == {"a": pytest.approx(wealth * s / (2 * r * max(r, s)))}


def test_a_loss_without_a_largest_slope_is_refused():
    with pytest.raises(ValueError, match="`loss` must be 'logistic' or 'hinge', not 'squared'"):
        rm.CoinBettingClassifier("squared")
    with pytest.raises(ValueError, match=r"`Subgradient.* does not suit the space `CoinBetting\(wealth=1.0\)`"):
        rm.MarginClassifier(rm.Subgradient(), rm.CoinBetting())
    with pytest.raises(ValueError, match="`wealth` must be a finite number above 0, not 0"):
        rm.CoinBetting(0)
