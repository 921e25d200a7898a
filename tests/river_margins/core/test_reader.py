"""How an example is read: the constant feature, names hashed into buckets, and what was taken out before."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_margins as rm
from tests.helpers.rounds import stream


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


RECORDS = st.lists(st.tuples(st.permutations("abcdef"), st.sets(st.sampled_from("abcdef"), max_size=5)), max_size=8)


@given(RECORDS, st.booleans())
def test_what_was_taken_out_of_a_record_leaves_no_trace(records, again):
    """A dict keeps a hole where an item was: such as that of the label, taken out before the rest is learned."""
    holed, whole = (rm.StandardScaler() | rm.PAClassifier() for _ in range(2))
    for number, (order, taken) in enumerate(records * (1 + again)):
        x = {name: float(number + ord(name) % 7) for name in order}
        clean = {name: value for name, value in x.items() if name not in taken}
        for name in taken:
            del x[name]
        assert list(holed["StandardScaler"].transform_one(x).items()) == [
            *whole["StandardScaler"].transform_one(clean).items()
        ]
        assert holed.score_one(x) == whole.score_one(clean)
        holed.learn_one(x, number % 3 == 0)
        whole.learn_one(clean, number % 3 == 0)
    assert dict(holed["PAClassifier"].weights) == dict(whole["PAClassifier"].weights)
