"""How an example is read: the constant feature, names hashed into buckets, and what was taken out before."""

import copy
import datetime
import math
import os
import random
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_margins as rm
from tests.helpers.rounds import stream


def test_an_intercept_is_a_feature_of_value_one():
    inside, outside = rm.PAClassifier(), rm.PAClassifier(intercept=False)
    for x, y in stream():
        inside.learn_one(x, y)
        outside.learn_one({rm.INTERCEPT: 1.0} | x, y)
        assert inside.score_one(x) == pytest.approx(outside.score_one({rm.INTERCEPT: 1.0} | x), abs=1e-12)
    assert dict(inside.weights) == pytest.approx(dict(outside.weights))
    assert copy.deepcopy(inside).weights[rm.INTERCEPT] == inside.weights[rm.INTERCEPT]


MASK = 2**64 - 1


def hashed(text, start=0xCBF29CE484222325):
    """FNV-1a over code points, and the last step of MurmurHash3."""
    mixed = start
    for letter in text:
        mixed = ((mixed ^ ord(letter)) * 0x100000001B3) & MASK
    if text == "foobar":
        assert mixed == 0x85944171F73967E8  # as the authors of FNV print it
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = ((mixed ^ (mixed >> 33)) * factor) & MASK
    return mixed ^ (mixed >> 33)


def bucket_of(key, count=2**62):
    """The bucket and the sign of a feature, from the weights of a learner that has seen nothing else."""
    model = rm.PAClassifier(mode=0, max_features=count, intercept=False)
    model.learn_one({key: 1.0}, True)
    ((bucket, weight),) = model.weights.items()
    return bucket, weight


@pytest.mark.parametrize("text", ["", "a", "foobar", "ünï", "\ud800", "𝄞 clef", "word " * 50])
@pytest.mark.parametrize("count", [2**62, 1000, 7, 1, 2**70])
def test_a_text_is_hashed_as_the_documentation_says(text, count):
    assert bucket_of(text, count) == ((hashed(text) >> 1) % count, -1.0 if hashed(text) & 1 else 1.0)


EQUAL = [
    ("a", np.str_("a")),
    (1, 1.0, True, np.int8(1), np.float32(1), np.bool_(True), Fraction(1), Decimal(1), 1 + 0j, np.longdouble(1)),
    (0, -0.0, False),
    (0.1, np.float64(0.1), Fraction(0.1), Decimal.from_float(0.1)),
    (2**70, float(2**70), Decimal(2**70)),
    (("a", 1), (np.str_("a"), True)),
    (frozenset([1, "a"]), frozenset(["a", 1.0])),
    (math.inf, Decimal("inf")),
]


def test_equal_names_have_one_hash_and_others_another():
    for names in EQUAL:
        assert all(one == names[0] and hash(one) == hash(names[0]) for one in names)
        assert len({bucket_of(one) for one in names}) == 1
    others = [names[0] for names in EQUAL]
    others += [
        "1",
        "1/1",
        "True",
        "0",
        "0.1",
        None,
        "None",
        b"a",
        "b'a'",
        ("a",),
        ("a", "1"),
        (("a", 1),),
        -1,
        1j,
        "inf",
    ]
    others += [np.float32(0.1), Fraction(1, 3), datetime.date(2024, 1, 1), -math.inf, frozenset(), ()]
    assert len({bucket_of(one)[0] for one in others}) == len(others)


def test_a_name_without_a_text_of_its_own_is_refused():
    with pytest.raises(TypeError, match="its repr differs between processes"):
        rm.PAClassifier(max_features=4).learn_one({object(): 1.0}, True)


def test_a_hash_is_the_same_in_every_process():
    code = "import river_margins as rm; from tests.river_margins.core.test_reader import *; print(bucket_of(('a', 1)))"
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout.decode()
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] == f"{bucket_of(('a', 1))}\n"


def test_half_of_the_features_change_their_sign():
    signs = [bucket_of(f"name{i}", 50)[1] for i in range(2000)]
    assert abs(sum(signs)) < 5 * 2000**0.5
    by_bucket = np.zeros(50)
    for i in range(2000):
        bucket, sign = bucket_of(f"name{i}", 50)
        by_bucket[bucket] += sign
    assert np.abs(by_bucket).max() < 40  # 40 features each: sums of signs, not counts


def in_buckets(x, count):
    """The record as the sums of its hashed features."""
    sums = {}
    for key, value in x.items():
        code = hashed(key)
        bucket = (code >> 1) % count
        sums[bucket] = sums.get(bucket, 0.0) + (-value if code & 1 else value)
    return sums


@pytest.mark.parametrize("count", [3, 10, 1000])
@pytest.mark.parametrize("intercept", [False, True])
def test_it_learns_what_a_learner_on_the_sums_learns(count, intercept):
    inside = rm.AROWClassifier(max_features=count, intercept=intercept)
    outside = rm.AROWClassifier(intercept=intercept)
    draw = random.Random(0)
    for number, (x, y) in enumerate(stream(rounds=400, features=40)):
        names = list(x)
        if number % 3 == 0:
            draw.shuffle(names)
        x = {"".join(name) if number % 2 else name: x[name] for name in names}
        sums = in_buckets(x, count)
        assert inside.predict_one(x) == outside.predict_one(sums)
        inside.learn_one(x, y)
        outside.learn_one(sums, y)
    assert dict(inside.weights) == pytest.approx(dict(outside.weights), abs=1e-12)
    assert len(inside.weights) <= count + intercept


def test_more_features_than_the_caches_hold():
    inside, outside = rm.PAClassifier(max_features=64), rm.PAClassifier()
    x = {f"name{i}": float(i % 7) for i in range(10_000)}
    for row in (x, dict(reversed(x.items()))):
        inside.learn_one(row, True)
        outside.learn_one(in_buckets(row, 64), True)
    assert dict(inside.weights) == pytest.approx(dict(outside.weights))


def test_hashed_features_stay_within_bounds():
    model = rm.PAClassifier(max_features=4, C=1.0, intercept=False)
    for i in range(100):
        model.learn_one({f"name{i}": 1.0}, i % 2 == 0)
    assert set(model.weights) == {0, 1, 2, 3}
    other = rm.PAClassifier(mode=0, max_features=1, intercept=False)
    other.learn_one({"a": 1.0, "b": 2.0}, True)  # both fall into the one bucket, as one feature
    ((_, total),) = in_buckets({"a": 1.0, "b": 2.0}, 1).items()
    assert dict(other.weights) == {0: pytest.approx(1 / total)}


def test_winnow_keeps_the_signs_of_its_features():
    model = rm.Winnow(10.0, max_features=4)
    for i in range(20):
        model.learn_one({f"name{i}": 1.0}, True)
    assert min(model.weights.values()) >= 1.0


def test_a_feature_that_is_no_number_is_named_and_not_its_bucket():
    model = rm.PAClassifier(max_features=4)
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    for x in ({"a": 1.0, "b": math.inf}, {"a": math.nan}, {"new": -math.inf, "b": math.inf}, {"a": 1.0, "b": "text"}):
        name = next(key for key, value in x.items() if type(value) is str or not math.isfinite(value))
        with pytest.raises(ValueError, match=f"feature '{name}' is"):
            model.learn_one(x, True)


def test_a_state_of_another_hash_is_refused():
    """Its weights would belong to other features. States of before version 2 do not name their hash."""
    model = rm.PAClassifier(max_features=4)
    model.learn_one({"a": 1.0}, True)
    state = model.__getstate__()
    for other in ({key: value for key, value in state.items() if key != "feature_hash"}, state | {"feature_hash": 3}):
        with pytest.raises(ValueError, match="train it anew"):
            rm.PAClassifier(max_features=4).__setstate__(other)
    assert "feature_hash" not in rm.PAClassifier().__getstate__()  # older states without buckets stay readable


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


class Plain(float):
    """A float of a subclass, as those of numpy are."""


MAKE_NEW = {
    "integers": lambda name: (int(str(name + 1000)), 1.0),
    "tuples": lambda name: (("a", name), 1.0),
    "values of numpy": lambda name: (f"name{name}", np.float64(1.0)),
    "values of numpy in single precision": lambda name: (f"name{name}", np.float32(1.0)),
}


@pytest.mark.parametrize("make", MAKE_NEW.values(), ids=MAKE_NEW.keys())
def test_the_time_for_a_feature_does_not_grow_with_their_number(make):
    """It did for names that are new objects in each record, and for values of numpy."""

    def time_of(features):
        records = [dict(make(name) for name in range(features)) for _ in range(max(3, 8000 // features))]
        model = rm.PAClassifier()
        model.learn_one(records[0], True)
        best = math.inf
        for _ in range(5):
            start = time.process_time()
            for x in records:
                model.predict_one(x)
            best = min(best, time.process_time() - start)
        return best / len(records) / features

    assert time_of(4000) < 3 * time_of(100)  # it was 6 times and more, and is less than 2 times


@pytest.mark.parametrize("number", [np.float64, Plain, np.float32, np.int64, int, np.bool_])
@pytest.mark.parametrize("max_features", [None, 64])
def test_numbers_of_any_type_and_names_that_are_new_objects_are_read_as_plain_ones(number, max_features):
    model, plain = rm.AROWClassifier(max_features=max_features), rm.AROWClassifier(max_features=max_features)
    draw, names = random.Random(0), [10**20 * i for i in range(-2, 40)]
    for _ in range(60):
        x = {name: float(draw.random() < 0.5) for name in draw.sample(names, 12)}
        same = {int(str(name)): number(value) for name, value in x.items()}
        assert model.score_one(same) == plain.score_one(x)
        y = draw.random() < 0.5
        model.learn_one(same, y)
        plain.learn_one(x, y)
    assert dict(model.weights) == dict(plain.weights)


@pytest.mark.parametrize("of", ["list", "dict"])
def test_a_deeply_nested_value_is_refused_alike_from_any_depth_of_calls(of):
    """Near the limit of recursion, its text could be written by some callers and not by others."""
    texts = set()

    def refused(value, frames):
        if frames:
            return refused(value, frames - 1)
        with pytest.raises(ValueError, match=f"of type {of}: a number is needed") as caught:
            rm.PAClassifier().learn_one({"odd": value}, True)
        return str(caught.value)

    for depth in (200, 900, 5000):
        value = 1
        for _ in range(depth):
            value = [value] if of == "list" else {"a": value}
        texts |= {refused(value, frames) for frames in (0, 300)}
        if depth == 200:
            assert repr(value)[:77] in refused(value, 0)
    assert len(texts) == 1


def test_equal_names_of_other_types_are_one_feature():
    """Also where the reader expects one of them at this place."""
    model = rm.PAClassifier(mode=0, intercept=False)
    for key in (1000, 1000.0, np.int64(1000), Fraction(1000)):
        model.learn_one({key: 1.0, "1000": 0.0}, True)
        assert model.score_one({key: 1.0}) == 1.0
    assert dict(model.weights) == {1000: 1.0, "1000": 0.0}
    assert model.score_one({True: 1.0}) == model.score_one({1001: 1.0}) == 0.0


@pytest.mark.parametrize("value", [np.float64("nan"), np.float64("inf"), Plain("nan")])
def test_a_number_of_a_subclass_that_is_not_finite_is_refused(value):
    model = rm.PAClassifier()
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    with pytest.raises(ValueError, match=r"feature 'b' is (nan|inf)"):
        model.learn_one({"a": 1.0, "b": value}, True)
