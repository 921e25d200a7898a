"""The compiled scaler: River's results, and nothing learned from what is refused."""

import collections
import math
import pickle
import random
import types

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, preprocessing

import river_margins as rm
from tests.helpers.rounds import state, stream

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
        ({"a": [1.0]}, ValueError),
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


@pytest.mark.parametrize("with_std", [True, False])
def test_a_frame_is_scaled_like_its_rows(with_std):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": draw.normal(size=30), "b": draw.integers(9, size=30), "c": 5.0, "d": draw.random(30) < 0.5}
    )
    scaler = rm.StandardScaler(with_std=with_std)
    scaler.learn_many(frame)
    other = frame.assign(c=7.0, new=-2.0)[["new", "d", "c", "b", "a"]]
    rows = [scaler.transform_one(x) for x in other.to_dict(orient="records")]
    assert scaler.transform_many(other).to_dict(orient="records") == rows
    if with_std:
        assert str(rows[0]["c"]) == str(scaler.transform_many(other)["c"][0]) == "0.0"  # and not -0.0


def test_a_frame_of_large_values_is_scaled_although_their_sum_overflows():
    scaler = rm.StandardScaler(with_std=False)
    scaler.learn_one({"a": 0.0})
    frame = pd.DataFrame({"a": [1.7e308, 1.7e308]})
    assert [scaler.transform_one({"a": 1.7e308})] * 2 == frame.to_dict(orient="records")
    assert scaler.transform_many(frame).equals(frame)


def test_a_frame_beyond_floating_point_once_scaled_is_refused():
    scaler = rm.StandardScaler()
    scaler.learn_many(pd.DataFrame({"a": [0.0, 1e-10]}))
    with pytest.raises(OverflowError, match="once scaled"):
        scaler.transform_many(pd.DataFrame({"a": [0.0, 1e300]}))


KINDS = [np.float32, np.float64, np.int64, int]
MAPPINGS = [collections.OrderedDict, collections.Counter, collections.UserDict, types.MappingProxyType]


@pytest.mark.parametrize("number", [float, *KINDS])
@pytest.mark.parametrize("mapping", [dict, *MAPPINGS, lambda x: collections.defaultdict(float, x)])
def test_any_mapping_of_any_numbers_will_do(mapping, number):
    plain, other = rm.StandardScaler(), rm.StandardScaler()
    for x, _ in stream(rounds=60):
        whole = {key: float(round(4 * value)) for key, value in x.items()}
        theirs = mapping({"".join(["f", key[1:]]): number(value) for key, value in whole.items()})
        plain.learn_one(whole)
        other.learn_one(theirs)
        assert other.transform_one(theirs) == plain.transform_one(whole)
        assert dict(theirs) == whole  # and it stays the caller's
    assert state(plain) == state(other)


def test_an_empty_record_is_scaled_to_an_empty_one():
    scaler = rm.StandardScaler()
    scaler.learn_one({})
    assert scaler.transform_one({}) == scaler.means == scaler.counts == {}


def test_a_zero_is_a_value_and_a_missing_feature_is_none():
    scaler = rm.StandardScaler()
    scaler.learn_one({"a": 2.0})
    scaler.learn_one({})
    scaler.learn_one({"a": 0.0})
    assert (scaler.counts, scaler.means) == ({"a": 2}, {"a": 1.0})


def test_ints_beyond_double_precision_and_names_of_any_kind():
    scaler = rm.StandardScaler()
    for value in (2**60 + 1, 2**60 + 1):
        scaler.learn_one({1: value, ("a", 2): True, None: np.bool_(False)})
    assert scaler.means == {1: float(2**60), ("a", 2): 1.0, None: 0.0}


def test_a_million_features_in_one_record():
    scaler = rm.StandardScaler()
    scaler.learn_one(dict.fromkeys(range(1_000_000), 1.0))
    scaler.learn_one(dict.fromkeys(range(1_000_000), 3.0))
    assert set(scaler.transform_one(dict.fromkeys(range(1_000_000), 4.0)).values()) == {2.0}


@pytest.mark.parametrize("x", [[1.0], None, "text", np.array([0.0])])
def test_what_is_no_mapping_is_named(x):
    for method in (rm.StandardScaler().learn_one, rm.StandardScaler().transform_one):
        with pytest.raises(TypeError, match="a dict of features is needed"):
            method(x)


def test_frames_keep_their_library_and_may_be_empty():
    scaler = rm.StandardScaler()
    scaler.learn_many(polars.DataFrame({"a": [1.0, 3.0], "b": [True, False]}))
    scaled = scaler.transform_many(polars.DataFrame({"b": [1], "a": [4.0]}))
    assert isinstance(scaled, polars.DataFrame) and scaled.to_dicts() == [{"b": 1.0, "a": 2.0}]
    numbered = pd.DataFrame([[1.0, 5.0], [3.0, 5.0]])  # pandas' names of an array: 0, 1, 2 ...
    scaler.learn_many(numbered)
    assert scaler.transform_many(numbered).to_dict("list") == {0: [-1.0, 1.0], 1: [0.0, 0.0]}
    before = state(scaler)
    for empty in (pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame(index=[1, 2])):
        scaler.learn_many(empty)
        assert scaler.transform_many(empty).shape == empty.shape
    assert state(scaler) == before


@pytest.mark.parametrize("bad", [[1.0, np.nan], ["1", "2"], [1.0, np.inf]])
def test_a_frame_is_checked_whole_before_any_row_is_learned(bad):
    scaler = rm.StandardScaler()
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": bad})
    for method in (scaler.learn_many, scaler.transform_many):
        with pytest.raises(ValueError, match="column 'b'"):
            method(frame)
    assert scaler.counts == {}


@pytest.mark.parametrize(
    "state",
    [
        {"features": ["b", "c"], "moments": np.ones((1, 3))},
        {"features": ["b"], "moments": np.array([[1.0, math.nan, 0.0]])},
    ],
    ids=["shape", "not finite"],
)
def test_a_scaler_that_refuses_a_state_stays_as_it_is(state):
    scaler = rm.StandardScaler()
    scaler.learn_one({"a": 1.0})
    with pytest.raises(ValueError, match="moments"):
        scaler.__setstate__(state)
    assert (scaler.counts, scaler.means) == ({"a": 1}, {"a": 1.0})


def test_with_a_half_life_old_values_count_less():
    draw = np.random.default_rng(0)
    values = draw.normal(50.0, 3.0, size=40)
    scaler = rm.StandardScaler(half_life=8)
    for value in values:
        scaler.learn_one({"a": value})
    weights = 0.5 ** (np.arange(40)[::-1] / 8)
    mean = weights @ values / weights.sum()
    variance = weights @ (values - mean) ** 2 / weights.sum()
    assert scaler.counts["a"] == pytest.approx(weights.sum(), rel=1e-12)
    assert scaler.means["a"] == pytest.approx(mean, rel=1e-12)
    assert scaler.vars["a"] == pytest.approx(variance, rel=1e-9)
    assert scaler.transform_one({"a": 51.0})["a"] == pytest.approx((51.0 - mean) / math.sqrt(variance), rel=1e-9)


def test_only_examples_with_a_feature_make_it_older():
    scaler = rm.StandardScaler(half_life=1)
    for x in ({"a": 0.0}, {"b": 1.0}, {"b": 1.0}, {"a": 3.0}):
        scaler.learn_one(x)
    assert scaler.counts == {"a": 1.5, "b": 1.75 - 0.25}
    assert scaler.means["a"] == 2.0  # (0.5 * 0 + 1 * 3) / 1.5


@pytest.mark.parametrize("half_life", [1, 2.5, 5])
def test_with_a_half_life_no_value_is_further_than_one_that_is_learned(half_life):
    most = 1 / math.sqrt(2 ** (1 / half_life) - 1)
    scaler = rm.StandardScaler(half_life=half_life)
    for i in range(int(1000 * half_life)):  # then the variance of what stands still is 2^-1000
        scaler.learn_one({"still": float(i == 0), "moving": float(i % 2)})
    far = {"still": 1.0, "moving": -1e9}
    expected = {"still": most, "moving": -most}
    assert scaler.transform_one(far) == pytest.approx(expected, rel=1e-12)
    assert scaler.transform_many(pd.DataFrame([far])).iloc[0].to_dict() == scaler.transform_one(far)
    scaler.learn_one(far)
    learned = scaler.transform_one(far)
    assert learned["still"] == pytest.approx(most, rel=1e-6)  # a value after standstill is the furthest there is
    assert all(abs(value) <= most * (1 + 1e-12) for value in learned.values())


def test_with_a_half_life_what_stands_still_becomes_0():
    """The mean stops some units of rounding from the value, which must not count as a deviation."""
    learner = rm.PAClassifier()
    fused, scaler, draw = rm.StandardScaler(half_life=20) | learner, rm.StandardScaler(half_life=20), random.Random(0)
    for i in range(40_000):
        x = {name: draw.gauss(0, 1) if i < 100 else 0.1 for name in "ab"}
        scaler.learn_one(x)
        fused.predict_learn_one(x, i % 3 == 0)
    assert scaler.transform_one({"a": 0.1}) == fused["StandardScaler"].transform_one({"a": 0.1}) == {"a": 0.0}
    assert scaler.vars == fused["StandardScaler"].vars and scaler.means["a"] == 0.1


@pytest.mark.parametrize("features", [1, 2, 3, 6])
def test_with_a_half_life_one_call_is_two(features):
    once, twice = (rm.StandardScaler(half_life=3) | rm.PAClassifier() for _ in range(2))
    for i, (x, y) in enumerate(stream(rounds=60, features=features)):
        x = {name: value if i % 20 < 10 else 1e6 * value for name, value in x.items()}
        prediction = twice.predict_one(x)
        twice.learn_one(x, y)
        assert once.predict_learn_one(x, y) == prediction
        assert state(once) == state(twice)


def test_a_half_life_follows_features_that_change():
    """After a sensor is moved, its values have another mean and deviation."""
    draw = np.random.default_rng(1)
    values = np.concatenate([draw.normal(0.0, 100.0, size=20_000), draw.normal(1000.0, 10.0, size=3_000)])
    spread = {}
    for half_life in (None, 100):
        scaler = rm.StandardScaler(half_life=half_life)
        scaled = []
        for value in values:
            scaled.append(scaler.transform_one({"a": value})["a"])
            scaler.learn_one({"a": value})
        spread[half_life] = float(np.std(scaled[-1000:]))
    assert spread[None] < 0.2 < 0.9 < spread[100] < 1.1


def test_a_half_life_forgets_a_huge_value():
    """V = 10^4 among deviations of 1 adds V²/144 to the variance, and 2^-20 of that after 20 half lives: 0.66."""
    draw = np.random.default_rng(2)
    scaler = rm.StandardScaler(half_life=100)
    for value in [*draw.normal(size=1000), 1e4, *draw.normal(size=2000)]:
        scaler.learn_one({"a": value})
    assert 1.3 < scaler.vars["a"] < 2.0


@pytest.mark.parametrize("half_life", [0, 0.5, -3, math.nan, math.inf, "100"])
def test_a_half_life_is_at_least_one(half_life):
    with pytest.raises(ValueError, match="`half_life` must be a finite number of at least 1 or None"):
        rm.StandardScaler(half_life=half_life)


class Clip(rm.StandardScaler):
    """Clips what it scales."""

    def transform_one(self, x):
        return {name: min(value, 0.5) for name, value in super().transform_one(x).items()}


class ClipBoth(Clip):
    def transform_many(self, X):
        return super().transform_many(X).clip(upper=0.5)


def taught(model, X, y):
    for x, label in zip(X.to_dict("records"), y, strict=True):
        model.learn_one(x, label)
    return model


def test_a_subclass_that_changes_one_example_and_not_a_frame_takes_none():
    X, y = pd.DataFrame({"a": [0.0, 1.0, 2.0, 5.0]}), [True, False, True, True]
    model = taught(Clip() | rm.PAClassifier(), X, y)
    said = "`Clip` has a `transform_one` of its own, so it needs a `transform_many`"
    with pytest.raises(TypeError, match=said):
        model.predict_many(X)
    with pytest.raises(TypeError, match=said):
        model.learn_many(X, y)
    assert model["Clip"].counts == {"a": 4}
    model = taught(ClipBoth() | rm.PAClassifier(), X, y)
    assert list(model.predict_many(X)) == [model.predict_one(x) for x in X.to_dict("records")]
    model.learn_many(X, y)
