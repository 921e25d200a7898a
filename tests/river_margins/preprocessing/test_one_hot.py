"""The encoder makes features of texts, and leaves numbers as they are."""

import numpy as np
import pandas as pd
import pytest
from river import compose, preprocessing

import river_margins as rm
from river_margins import snapshot

ROWS = [({"country": c, "amount": a}, c == "CH" and a > 2.0) for a in (1.0, 2.5, 4.0, 7.25) for c in ("CH", "FR")] * 20


def test_texts_become_features_and_numbers_stay():
    x = {"country": "CH", "amount": 12.5, "is_new": True, "none": None, 3: np.str_("three")}
    assert rm.OneHotEncoder().transform_one(x) == {
        "country=CH": 1.0, "amount": 12.5, "is_new": True, "none": None, "3=three": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (3, "shop=3"),
        (3.0, "shop=3"),
        (np.float64(3), "shop=3"),
        (3.5, "shop=3.5"),
        ("x", "shop=x"),
        (True, "shop=1"),
        (np.True_, "shop=1"),
    ],
)
def test_numbers_that_stand_for_categories(value, name):
    assert rm.OneHotEncoder(["shop"]).transform_one({"shop": value, "amount": 3}) == {name: 1.0, "amount": 3}


def test_a_row_of_a_frame_is_encoded():
    row = next(pd.DataFrame({"shop": ["x"], "amount": [3]}).iterrows())[1]
    assert rm.OneHotEncoder(["shop"]).transform_one(row) == {"shop=x": 1.0, "amount": 3}


def test_a_null_is_left_to_an_imputer():
    assert rm.OneHotEncoder(["shop"]).transform_one({"shop": None}) == {"shop": None}


def test_a_learner_weighs_a_text_as_the_feature_that_is_1():
    """As with River's way to scale and encode different features, under other names."""
    ours = rm.StandardScaler() | rm.OneHotEncoder() | rm.AROWClassifier()
    encoded = compose.Select("country") | preprocessing.OneHotEncoder()
    theirs = ((compose.Select("amount") | preprocessing.StandardScaler()) + encoded) | rm.AROWClassifier()
    for x, y in ROWS:
        assert ours.predict_proba_one(x) == pytest.approx(theirs.predict_proba_one(x))
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
    assert set(ours["AROWClassifier"].weights) == {"country=CH", "country=FR", "amount", rm.INTERCEPT}


@pytest.mark.parametrize("scaler", [rm.StandardScaler, preprocessing.StandardScaler, preprocessing.MinMaxScaler])
def test_a_scaler_after_the_encoder_is_refused(scaler):
    """It would see nothing but ones."""
    with pytest.raises(ValueError, match=rf"`{scaler.__name__}` after `OneHotEncoder` makes 0 of each encoded text"):
        rm.OneHotEncoder() | scaler() | rm.PAClassifier()
    rm.OneHotEncoder() | preprocessing.MaxAbsScaler() | rm.PAClassifier()


def test_a_scaler_leaves_texts_as_they_are():
    scaler, plain = rm.StandardScaler(), rm.StandardScaler()
    for amount in (1.0, 3.0):
        scaler.learn_one({"country": "CH", "amount": amount})
        plain.learn_one({"amount": amount})
    assert scaler.transform_one({"country": "FR", "amount": 4.0}) == {"country": "FR", "amount": 2.0}
    assert scaler.counts == plain.counts == {"amount": 2}


def test_a_text_that_reaches_the_learner_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"'country' is the text 'CH': encode it in a step before.* OneHotEncoder\(\)"):
        (rm.StandardScaler() | rm.PAClassifier()).learn_one({"country": "CH"}, True)


def test_two_features_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"two features are called 'a=b'"):
        rm.OneHotEncoder().transform_one({"a": "b", "a=b": 1.0})


@pytest.mark.parametrize("features", ["shop", 3])
def test_features_that_are_no_list_are_refused(features):
    with pytest.raises(TypeError, match=rf"`features` must be a list of names or None, not {features!r}"):
        rm.OneHotEncoder(features)


def test_a_snapshot_keeps_the_parameter():
    encoder = rm.OneHotEncoder(features=["shop"])
    assert snapshot.loads(snapshot.dumps(encoder)).transform_one({"shop": 3}) == {"shop=3": 1.0}
    assert encoder.clone().transform_one({"shop": 3}) == {"shop=3": 1.0}


def test_a_scaler_after_the_encoder_is_refused_however_the_pipeline_grows():
    with pytest.raises(ValueError, match="after `OneHotEncoder`"):
        rm.OneHotEncoder() | (rm.StandardScaler() | rm.PAClassifier())
    with pytest.raises(ValueError, match="after `OneHotEncoder`"):
        rm.OneHotEncoder() | rm.Interactions() | rm.StandardScaler() | rm.PAClassifier()


@pytest.mark.parametrize(
    "features",
    [
        pd.Index(["shop", "zip"]),
        np.array(["shop", "zip"]),
        np.array(["shop"]),
        {"shop": 1}.keys(),
        iter(["shop"]),
        frozenset(["shop"]),
    ],
)
def test_names_of_pandas_numpy_and_iterators(features):
    encoder = rm.OneHotEncoder(features)
    for twin in (encoder, encoder.clone(), snapshot.loads(snapshot.dumps(encoder))):
        assert twin.transform_one({"shop": 3}) == {"shop=3": 1.0}


@pytest.mark.parametrize("value", [float("nan"), pd.NA, pd.NaT, [1, 2], {"a": 1}, b"x"])
def test_what_is_neither_a_number_nor_a_text_is_no_category(value):
    model = rm.OneHotEncoder(["shop"]) | rm.PAClassifier()
    with pytest.raises(ValueError, match="feature 'shop' is "):
        model.learn_one({"shop": value}, True)
    assert dict(model["PAClassifier"].weights) == {}


@pytest.mark.parametrize("scaler", [rm.StandardScaler, preprocessing.StandardScaler, preprocessing.MaxAbsScaler])
def test_a_scaler_before_numbers_that_are_categories_is_refused(scaler):
    """Each scaled number would be a category that never comes again."""
    with pytest.raises(ValueError, match=rf"`{scaler.__name__}` before `OneHotEncoder` scales the numbers"):
        rm.pipeline.Pipeline(scaler(), rm.OneHotEncoder(["shop"]), rm.PARegressor())
    rm.pipeline.Pipeline(scaler(), rm.OneHotEncoder(), rm.PARegressor())
    scaled = compose.Discard("shop") | scaler()
    model = (scaled + (compose.Select("shop") | rm.OneHotEncoder(["shop"]))) | rm.PARegressor()
    for number in range(30):
        model.learn_one({"shop": number % 3, "amount": number}, number % 3)
    assert set(model["PARegressor"].weights) == {"shop=0", "shop=1", "shop=2", "amount", rm.INTERCEPT}


@pytest.mark.parametrize("x", [{"amount": 2.0}, {"amount": 2.0, "country": "CH"}])
def test_a_step_that_changes_its_input_does_not_change_the_example(x):
    before = dict(x)
    model = rm.OneHotEncoder() | compose.Renamer({"amount": "money"}) | rm.PAClassifier()
    model.predict_one(x)
    model.learn_one(x, True)
    assert x == before
