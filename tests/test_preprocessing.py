"""The compiled scaler: River's results, and nothing learned from what is refused."""

import math
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, preprocessing

import river_margins as rm

values = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))
records = st.lists(st.dictionaries(st.sampled_from("abcdef"), values | st.integers(-9, 9) | st.booleans()), max_size=30)


def agree(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9)


@given(records, st.booleans())
def test_it_is_rivers_scaler(stream, with_std):
    ours, rivers = rm.StandardScaler(with_std), preprocessing.StandardScaler(with_std)
    for x in stream:
        assert agree(ours.transform_one(x), rivers.transform_one(x))
        ours.learn_one(x)
        rivers.learn_one(x)
        # River adds the features that it is asked to scale, with a mean and a variance of 0.
        assert agree(ours.means, {key: rivers.means[key] for key in ours.means})
        assert ours.counts == {key: rivers.counts[key] for key in ours.counts}
        # A feature that never varied has a variance of 0, or of rounding: scaling by the latter is noise with both.
        settled = {key for key, variance in ours.vars.items() if variance > 1e-9 * max(1.0, ours.means[key] ** 2)}
        scaled, expected = ours.transform_one(x), rivers.transform_one(x)
        assert list(scaled) == list(expected) or set(scaled) == set(expected)
        for key in settled & set(x) if with_std else x:
            assert scaled[key] == pytest.approx(expected[key], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "dataset",
    [datasets.Phishing(), datasets.TrumpApproval(), datasets.Bananas()],
    ids=lambda dataset: type(dataset).__name__,
)
def test_it_is_rivers_scaler_on_rivers_data(dataset):
    ours, rivers = rm.StandardScaler(), preprocessing.StandardScaler()
    for x, _ in dataset:
        ours.learn_one(x)
        rivers.learn_one(x)
        assert ours.transform_one(x) == pytest.approx(rivers.transform_one(x), rel=1e-9, abs=1e-9)


def test_worked_by_hand():
    scaler = rm.StandardScaler()
    for value in (2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0):  # mean 5, variance 4
        scaler.learn_one({"a": value})
    assert (scaler.means, scaler.vars, scaler.counts) == ({"a": 5.0}, {"a": 4.0}, {"a": 8})
    assert scaler.transform_one({"a": 9.0}) == {"a": 2.0}


def test_features_keep_their_order_and_the_record_is_not_touched():
    scaler = rm.StandardScaler()
    x = {"c": 1, "a": 2.0, "b": True}
    for _ in range(3):
        assert list(scaler.transform_one(x)) == ["c", "a", "b"]
        scaler.learn_one(x)
    assert x == {"c": 1, "a": 2.0, "b": True}
    assert list(scaler.transform_one({"b": 1.0, "c": 2.0})) == ["b", "c"]


@pytest.mark.parametrize(
    ("x", "error"),
    [
        ({"a": math.nan}, ValueError),
        ({"new": 1.0, "a": math.inf}, ValueError),
        ({"a": "text"}, ValueError),
        ({"a": 1e200}, OverflowError),
    ],
)
def test_what_is_refused_is_not_learned(x, error):
    scaler = rm.StandardScaler()
    scaler.learn_one({"a": 1.0})
    scaler.learn_one({"a": 2.0})
    before = pickle.dumps(scaler)
    with pytest.raises(error):
        scaler.learn_one(x)
    assert pickle.dumps(scaler) == before


def test_a_value_beyond_floating_point_once_scaled_is_refused():
    scaler = rm.StandardScaler()
    scaler.learn_one({"a": 0.0})
    scaler.learn_one({"a": 1e-10})
    with pytest.raises(OverflowError, match="once scaled"):
        scaler.transform_one({"a": 1e300})


def test_frames_are_rows():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]}, index=["x", "y", "z"])
    by_row, by_frame = rm.StandardScaler(), rm.StandardScaler()
    by_frame.learn_many(frame)
    for x in frame.to_dict(orient="records"):
        by_row.learn_one(x)
    assert pickle.dumps(by_row) == pickle.dumps(by_frame)
    assert by_frame.transform_many(frame).to_dict(orient="records") == [
        by_row.transform_one(x) for x in frame.to_dict(orient="records")
    ]
    assert list(by_frame.transform_many(frame).index) == ["x", "y", "z"]
