"""How an example is read: the constant feature, and names hashed into buckets."""

import copy

import pytest

import river_margins as rm
from tests.rounds import stream


def test_an_intercept_is_a_feature_of_value_one():
    inside, outside = rm.PAClassifier(intercept=True), rm.PAClassifier()
    for x, y in stream():
        inside.learn_one(x, y)
        outside.learn_one({rm.INTERCEPT: 1.0} | x, y)
        assert inside.score_one(x) == pytest.approx(outside.score_one({rm.INTERCEPT: 1.0} | x), abs=1e-12)
    assert dict(inside.weights) == pytest.approx(dict(outside.weights))
    assert copy.deepcopy(inside).weights[rm.INTERCEPT] == inside.weights[rm.INTERCEPT]


def test_hashed_features_stay_within_bounds_and_are_the_same_everywhere():
    model = rm.PAClassifier(max_features=4)
    for i in range(100):
        model.learn_one({f"name{i}": 1.0}, i % 2 == 0)
    assert set(model.weights) == {0, 1, 2, 3}
    other = rm.PAClassifier(mode=0, max_features=1)
    other.learn_one({"a": 1.0, "b": 2.0}, True)  # both fall into the one bucket, as the feature 3
    assert dict(other.weights) == {0: pytest.approx(1 / 3)}
