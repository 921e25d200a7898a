"""The compiled hasher: the buckets and signs of the documented hash, whatever it has seen before."""

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import river_margins as rm
from river_margins import snapshot
from tests.helpers.deadline import DEADLINE
from tests.river_margins.core.test_reader import hashed

names = st.text("abé=0 ", max_size=3)
records = st.dictionaries(names, st.integers(-9, 9) | st.sampled_from(["x", "é"]), max_size=6)


def by_formula(x, count, signed):
    """The sums of the buckets, in the order in which x first reaches them."""
    found = {}
    for name, value in x.items():
        token, number = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, value)
        mixed = hashed(token)
        sign = -1.0 if signed and mixed & 1 else 1.0
        bucket = (mixed >> 1) % count
        found[bucket] = found.get(bucket, 0.0) + sign * number
    return found


@given(st.lists(records, max_size=5), st.sampled_from([1, 3, 1000]), st.booleans())
def test_it_is_the_documented_hash(stream, count, signed):
    hasher = rm.FeatureHasher(count, alternate_sign=signed)
    for x in stream:
        tokens = [f"{name}={value}" if isinstance(value, str) else name for name, value in x.items()]
        if len(set(tokens)) < len(tokens):
            with pytest.raises(ValueError, match="two features are called"):
                hasher.transform_one(x)
            continue
        assert list(hasher.transform_one(x).items()) == list(by_formula(x, count, signed).items())


def test_equal_names_share_a_bucket():
    hasher = rm.FeatureHasher()
    for alike in (("age", np.str_("age")), (1, 1.0, True, np.int64(1), Fraction(1)), ((1, "a"), (True, np.str_("a")))):
        assert len({repr(hasher.transform_one({name: 2.0})) for name in alike}) == 1
    assert hasher.transform_one({1: 1.0}).keys() != hasher.transform_one({"1": 1.0}).keys()
    assert hasher.transform_one({"country": np.str_("CH")}) == hasher.transform_one({"country=CH": True})


def test_a_learner_behind_it_learns_what_max_features_teaches():
    piped = rm.FeatureHasher(16) | rm.PAClassifier(intercept=False)
    alone = rm.PAClassifier(intercept=False, max_features=16)
    for n in range(300):
        x = {f"f{n * k % 41}": float(n % 7 - k) for k in range(1, 6)}
        assert piped.predict_one(x) == alone.predict_one(x)
        piped.learn_one(x, n % 3 == 0)
        alone.learn_one(x, n % 3 == 0)
    assert dict(piped["PAClassifier"].weights) == pytest.approx(dict(alone.weights), rel=1e-12, abs=1e-12)
    assert 8 < len(alone.weights) <= 16


def test_what_it_has_seen_changes_nothing():
    used, x = rm.FeatureHasher(8), {f"name {n}": n / 7 for n in range(20)}
    for n in range(200):
        used.learn_one({f"name {n}": 1.0})
        used.transform_one({f"name {n}": 1.0, f"other {n}": "text"})
    assert list(used.transform_one(x).items()) == list(rm.FeatureHasher(8).transform_one(x).items())
    assert snapshot.dumps(used) == snapshot.dumps(rm.FeatureHasher(8))


IN_A_PROCESS = """
import river_margins as rm
print(rm.FeatureHasher(1000).transform_one({"a": 1, ("b", 2): 3, 1.5: 4, "c": "d"}))
"""


def test_it_is_the_same_in_every_process():
    said = {
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
            timeout=DEADLINE,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_its_memory_is_bounded():
    hasher = rm.FeatureHasher(100)
    for n in range(50_000):
        hasher.transform_one({f"name {n}": 1.0})
    assert hasher._raw_memory_usage < 500_000  # the names alone would be 3 MB; some thousand are cached


@pytest.mark.parametrize(
    ("x", "error", "said"),
    [
        ({"a": math.nan}, ValueError, "feature 'a' is nan: leave it out"),
        ({"b": "text", "a": math.inf}, ValueError, "feature 'a' is inf"),
        ({"a": None}, ValueError, "feature 'a' is None, and a number is needed"),
        ({"a": b"bytes"}, ValueError, "feature 'a' is the text b'bytes': decode it first"),
        ({"a": "b", "a=b": 1.0}, ValueError, "two features are called 'a=b', one of them after its text: rename one"),
        (["a"], TypeError, "a dict of features is needed, not a list"),
    ],
)
def test_what_it_refuses(x, error, said):
    hasher = rm.FeatureHasher(8)
    for call in (hasher.transform_one, (rm.FeatureHasher(8) | rm.PAClassifier()).predict_one):
        with pytest.raises(error, match=said):
            call(x)
    assert hasher.transform_one({}) == {}


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "8", None])
def test_a_wrong_number_of_features_is_named(count):
    with pytest.raises(ValueError, match="`n_features` must be a whole number of at least 1, not"):
        rm.FeatureHasher(count)
    assert rm.FeatureHasher(2**70).transform_one({"a": 1.0}).keys() == {(hashed("a") >> 1) % 2**70}
