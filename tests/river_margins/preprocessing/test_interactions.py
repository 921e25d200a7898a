"""The compiled products: those of River's PolynomialExtender, and those that pairs of names ask for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import feature_extraction

import river_margins as rm
from river_margins import snapshot

numbers = st.integers(-9, 9) | st.booleans() | st.floats(-1e3, 1e3)
records = st.dictionaries(st.sampled_from(["b", "a", "Z", "é", "a b", ""]), numbers, max_size=5)


@given(st.lists(records, max_size=5), st.integers(2, 4), st.booleans())
def test_they_are_those_of_river(stream, degree, interaction_only):
    ours = rm.Interactions(degree, interaction_only=interaction_only)
    rivers = feature_extraction.PolynomialExtender(degree, interaction_only)
    for x in stream:
        assert list(ours.transform_one(x).items()) == list(rivers.transform_one(x).items())


def test_worked_by_hand():
    products = rm.Interactions(degree=3, interaction_only=True)
    x = {"c": 2, "a": 3.0, "b": np.float64(5)}
    expected = {"c": 2.0, "a": 3.0, "b": 5.0, "a*c": 6.0, "b*c": 10.0, "a*b": 15.0, "a*b*c": 30.0}
    for _ in range(2):
        assert list(products.transform_one(x).items()) == list(expected.items())
    assert products.transform_one({}) == {}
    assert x == {"c": 2, "a": 3.0, "b": 5.0}


X = {"user": "ann", "user_age": 3.0, "item": 2.0, "hour": 5.0}


@pytest.mark.parametrize(
    ("pairs", "interaction_only", "products"),
    [
        ([("item", "hour")], False, {"hour*item": 10.0}),
        ([("user", "item")], False, {"item*user=ann": 2.0}),  # a text, and not the feature that begins alike
        ([["user=ann", "hour"]], False, {"hour*user=ann": 5.0}),
        ([("user*", "hour")], False, {"hour*user=ann": 5.0, "hour*user_age": 15.0}),
        ([("item", "hour"), ("hour", "item"), ("item", "item")], False, {"hour*item": 10.0, "item*item": 4.0}),
        ([("item", "item")], True, {}),
        ([("user_*", "*")], True, {"user=ann*user_age": 3.0, "item*user_age": 6.0, "hour*user_age": 15.0}),
        ([("none", "item")], False, {}),
        ([], False, {}),
    ],
)
def test_pairs(pairs, interaction_only, products):
    found = rm.Interactions(pairs=pairs, interaction_only=interaction_only).transform_one(X)
    assert found == {"user=ann": 1.0, "user_age": 3.0, "item": 2.0, "hour": 5.0} | products


def test_equal_names_make_equal_products_and_names_may_be_anything():
    products = rm.Interactions(interaction_only=True)
    for one in (1, 1.0, True, np.int64(1)):
        assert products.transform_one({one: 2.0, "b": 3.0}) == {1: 2.0, "b": 3.0, "1*b": 6.0}
        assert rm.Interactions(interaction_only=True).transform_one({one: 2.0, "b": 3.0})["1*b"] == 6.0
    assert products.transform_one({("a", 1): 2.0, None: 3.0}) == {("a", 1): 2.0, None: 3.0, "('a', 1)*None": 6.0}
    assert products.transform_one({"1": 2.0, "b": 3.0}) == {"1": 2.0, "b": 3.0, "1*b": 6.0}


@pytest.mark.parametrize(
    ("x", "error", "said"),
    [
        ({"a": math.nan, "b": 1.0}, ValueError, "feature 'a' is nan: leave it out"),
        ({"a": 1.0, "b": None}, ValueError, "feature 'b' is None, and a number is needed"),
        ({"a": 1e200, "b": -1e200}, OverflowError, r"`Interactions`: the product 'a\*b' is beyond floating point"),
        ({"a": 1.0, "b": 1.0, "a*b": 1.0}, ValueError, r"two features are called 'a\*b', one of them after"),
        ({1: 1.0, "1": 1.0, "b": 1.0}, ValueError, r"two features are called '1\*b'"),
        ({f"f{n}": 1.0 for n in range(1500)}, ValueError, "1500 features has more than 1000000 .* name the products"),
        ([1.0], TypeError, "a dict of features is needed, not a list"),
    ],
)
def test_what_they_refuse(x, error, said):
    products = rm.Interactions(interaction_only=True)
    before = products.transform_one({"a": 2.0, "b": 3.0})
    for call in (products.transform_one, (products | rm.PAClassifier()).predict_one):
        with pytest.raises(error, match=said):
            call(x)
        assert products.transform_one({"a": 2.0, "b": 3.0}) == before


def test_large_values_whose_squares_overflow_are_no_overflow():
    products = rm.Interactions(pairs=[("a", "b")])
    assert products.transform_one({"a": 1e200, "b": 1e-200, "c": 1e300})["a*b"] == 1.0


def test_too_many_pairs_are_refused():
    with pytest.raises(ValueError, match="more than 1000000 with their products"):
        rm.Interactions(pairs=[("f*", "f*")]).transform_one({f"f{n}": 1.0 for n in range(1500)})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"degree": 1}, "`degree` must be a whole number of at least 2, not 1"),
        ({"degree": 2.0}, "`degree` must be a whole number of at least 2, not 2.0"),
        ({"degree": 3, "pairs": [("a", "b")]}, "`degree` must be 2, not 3"),
        ({"pairs": ["ab"]}, "`pairs` must be None or a list of pairs of feature names"),
        ({"pairs": [("a", "b", "c")]}, "list of pairs"),
        ({"pairs": "ab"}, "list of pairs"),
    ],
)
def test_wrong_parameters_are_named(given, said):
    with pytest.raises(ValueError, match=said):
        rm.Interactions(**given)


def test_a_learner_behind_them_learns_an_exclusive_or():
    model = rm.Interactions() | rm.PAClassifier(C=1.0)
    corners = [({"a": a, "b": b}, a * b < 0) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    for x, y in corners * 20:
        model.learn_one(x, y)
    assert [model.predict_one(x) for x, _ in corners] == [y for _, y in corners]
    assert min(model["PAClassifier"].weights, key=model["PAClassifier"].weights.get) == "a*b"


def test_a_snapshot_has_the_pairs():
    model = rm.Interactions(pairs=[["user", "item"]]) | rm.PAClassifier()
    model.learn_one(X, True)
    again = snapshot.loads(snapshot.dumps(model))
    assert again["Interactions"].pairs == (("user", "item"),)
    assert again.score_one(X) == model.score_one(X)
    assert list(again["PAClassifier"].weights) == list(model["PAClassifier"].weights)
    assert "item*user=ann" in model["PAClassifier"].weights
