"""Which labels a learner takes, and what it makes of them."""

import datetime
import math
import pickle
import random

import numpy as np
import pandas as pd
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.rounds import state, stream, trained
from tests.learners import FORMS, LEARNERS


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (True, 1, "neither False nor True"),
        (True, "yes", "neither False nor True"),
        (True, None, "stands for a missing label"),
        (True, math.nan, "stands for a missing label"),
        ("a", True, "do not mix"),
        (1, True, "do not mix.*its first label decides"),
        (1, "1", "the label 1 of this learner have the same text"),
        ("1.5", 1.5, "the label '1.5' of this learner have the same text"),
        ("a", None, "not a class"),
        ("a", math.nan, "not a class"),
        ("a", ["b"], "not hashable"),
    ],
)
def test_labels_that_do_not_go_together_are_refused(first, second, words):
    model = rm.PAClassifier()
    model.learn_one({"a": 1.0}, first)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.check_label(second)
    with pytest.raises(ValueError, match=words):
        model.learn_one({"a": 1.0, "b": 1.0}, second)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", ["3", None, math.nan, math.inf, [1.0]])
def test_a_regressor_refuses_what_is_no_finite_number(label):
    with pytest.raises(ValueError, match="regressor needs"):
        rm.PARegressor().learn_one({"a": 1.0}, label)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("kind", [rm.PARegressor, rm.AutoRegressor, rm.OnlineMLPRegressor])
def test_a_regressor_refuses_dates_and_durations_of_any_unit(kind, unit):
    for label in (np.timedelta64(5, unit), np.datetime64("2024-01-01", unit)):
        with pytest.raises(ValueError, match="regressor needs one: for durations, pass seconds"):
            kind().learn_one({"a": 1.0}, label)
    waits = pd.Series(pd.to_timedelta([1.5, 2.5], unit="s")).astype(f"timedelta64[{unit}]")
    with pytest.raises(ValueError, match=r"row 0 .* regressor needs one"):
        rm.PARegressor().learn_many(pd.DataFrame({"a": [1.0, 2.0]}), waits)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_days_of_a_frame_are_the_classes_that_they_are_one_by_one(unit):
    days = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])).astype(f"datetime64[{unit}]")
    frame, model = pd.DataFrame({"a": [1.0, -1.0]}), rm.PAClassifier()
    model.learn_many(frame, days)
    model.learn_one({"a": 1.0}, days[0])
    assert list(model.weights) == [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)]
    assert (model.predict_many(frame) == days).all()
    assert rm.PAClassifier(classes=days.to_numpy()).classes == list(model.weights)


def test_labels_that_differ_by_a_nanosecond_are_two_classes():
    model = rm.PAClassifier()
    model.learn_many(pd.DataFrame({"a": [1.0, -1.0]}), pd.Series(pd.to_datetime([1, 2], unit="ns")))
    assert len(model.weights) == 2


def test_before_any_label_a_classifier_knows_nothing():
    model = rm.PAClassifier()
    assert model.predict_one({"a": 1.0}) is None
    assert model.score_one({"a": 1.0}) == model.weights == {}
    assert model.predict_proba_one({"a": 1.0}) == {True: 0.5, False: 0.5}


def test_two_named_classes_share_one_vector():
    model = rm.PAClassifier(classes=["ham", "spam"], C=1.0, intercept=False)
    assert model.predict_one({}) == "spam"  # a score of 0 predicts the positive class
    model.learn_one({"a": 1.0}, "ham")
    assert model.score_one({"a": 1.0}) == -1.0
    assert model.predict_one({"a": 1.0}) == "ham"
    assert list(model.predict_proba_one({"a": 1.0})) == ["spam", "ham"]


@pytest.mark.parametrize("score", [0.0, 1e-300, -1e-300, 0.3, -0.3, 800.0, -800.0])
def test_probabilities_rank_as_the_scores_do(score):
    classifier = rm.PAClassifier(mode=0, classes=[False, True])
    classifier.learn_one({"a": 1.0}, True)  # the weight of a is now 1
    probabilities = classifier.predict_proba_one({"a": score})
    assert max(probabilities, key=probabilities.get) == classifier.predict_one({"a": score})
    assert sum(probabilities.values()) == pytest.approx(1.0)


def test_poison_is_refused_before_the_first_label_too():
    for method in (rm.PAClassifier().predict_one, rm.PAClassifier().score_one, rm.PAClassifier().predict_proba_one):
        with pytest.raises(ValueError, match="feature 'a'"):
            method({"a": "text"})


def test_labels_of_numpy_are_plain_ones():
    plain, numpy = rm.PAClassifier(), rm.PAClassifier()
    for x, y in stream():
        plain.learn_one(x, y)
        numpy.learn_one(x, np.bool_(y))
    assert state(plain) == state(numpy)
    several = rm.PAClassifier()
    several.learn_one({"a": 1.0}, np.int64(3))
    several.learn_one({"a": 1.0}, 3)
    several.learn_one({"a": 1.0}, np.str_("three"))
    assert list(several.weights) == [3, "three"]
    assert [type(label) for label in several.weights] == [int, str]


@pytest.mark.parametrize("form", [form for form in FORMS if form.task not in ("regression", "one-class")], ids=str)
def test_a_label_that_is_missing_is_refused(form):
    model = trained(form.make())
    before = pickle.dumps(model)
    for missing in (None, math.nan, np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")):
        with case(repr(missing)):
            with pytest.raises(ValueError, match="label"):
                model.learn_one({"f0": 1.0}, missing)
            assert pickle.dumps(model) == before


@pytest.mark.parametrize("label", [True, 0.0, "a", math.nan, {"a": True}])
def test_a_learner_for_one_class_takes_no_label(label):
    model = rm.PAOneClass()
    for learn in (model.learn_one, model.predict_learn_one):
        with pytest.raises(ValueError, match=r"label .* must be None: a one-class learner"):
            learn({"a": 1.0}, label)
    assert model.n_seen == 0


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (True, "is not a dict from labels to bools"),
        (["a"], "is not a dict"),
        ({"a": 1}, "label 'a' is 1, of type int: True or False is needed"),
        ({"a": True, "b": None}, "label 'b' is None"),
        ({None: True}, "is not a class"),
        ({math.nan: True}, "is not a class"),
        ({True: True}, "is a bool"),
        ({"1": True, 1: False}, "have the same text"),
    ],
)
def test_what_is_no_set_of_labels_is_refused(label, words):
    model = trained(rm.PAMultiLabelClassifier())
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=words):
        model.check_label(label)
    with pytest.raises(ValueError, match=words):
        model.learn_one({"a": 1.0, "b": 1.0}, label)
    assert pickle.dumps(model) == before


def test_labels_may_come_in_mid_stream_and_be_left_out():
    model = rm.PAMultiLabelClassifier(mode=0, intercept=False)
    assert model.predict_one({"a": 1.0}) == model.score_one({}) == model.predict_proba_one({}) == model.weights == {}
    model.learn_one({"a": 1.0}, {"x": True})  # all labels hold: nothing to rank
    model.learn_one({"a": 1.0}, {"x": False, "y": False})
    model.learn_one({"a": 1.0}, {})
    assert (model.n_seen, model.n_updates, model.n_mistakes, list(model.weights)) == (3, 0, 0, ["x", "y"])
    model.learn_one({"a": 1.0}, {"z": True, "v": False, "y": False, "u": True})  # four new ones or old, all at 0
    assert model.weights == {"x": {"a": 0.0}, "y": {"a": 0.0}, "z": {"a": 0.5}, "v": {"a": -0.5}, "u": {"a": 0.0}}
    model.learn_one({"a": 1.0}, {"x": True, "z": False})  # margin -0.5, loss 1.5; of v nothing is said
    assert model.weights["x"] == {"a": 0.75} and model.weights["z"] == {"a": -0.25} and model.n_mistakes == 2
    assert model.predict_one({"a": 1.0}) == {"x": True, "y": False, "z": False, "v": False, "u": False}


@pytest.mark.parametrize("score", [0.0, 1e-300, -1e-300, 0.3, -0.3, 800.0, -800.0])
def test_probabilities_of_labels_agree_with_the_prediction(score):
    model = rm.PAMultiLabelClassifier(mode=0)
    model.learn_one({"a": 2.0}, {"x": True, "y": False})  # the weights are now 0.25 and -0.25
    for label, chances in model.predict_proba_one({"a": 4 * score}).items():
        assert max(chances, key=chances.get) == model.predict_one({"a": 4 * score})[label]
        assert sum(chances.values()) == pytest.approx(1.0)


def test_a_class_may_come_in_mid_stream():
    model = rm.PAClassifier(mode=0, intercept=False)
    model.learn_one({"a": 1.0}, "x")  # one class has no rival: nothing to learn
    assert (model.n_seen, model.n_updates, model.n_mistakes) == (1, 0, 0)
    model.learn_one({"a": 1.0}, "y")  # margin 0, loss 1, |d|^2 = 2
    assert model.weights == {"x": {"a": -0.5}, "y": {"a": 0.5}}
    model.learn_one({"a": 1.0, "b": 1.0}, "z")  # against y, which scores 0.5: loss 1.5, |d|^2 = 4
    assert model.weights == {"x": {"a": -0.5, "b": 0.0}, "y": {"a": 0.125, "b": -0.375}, "z": {"a": 0.375, "b": 0.375}}
    assert model.predict_one({"a": 1.0, "b": 1.0}) == "z"
    assert (model.n_seen, model.n_updates, model.n_mistakes) == (3, 2, 2)


@pytest.mark.parametrize("learner", [each for each in LEARNERS if "multiclass" in each.sections], ids=str)
def test_any_classifier_takes_a_new_class(learner):
    model = learner.make()
    for label, (x, _) in zip("aabbaabbcabc", stream(rounds=12), strict=True):
        assert label in model.score_one(x) or model.predict_one(x) != label
        model.learn_one(x, label)
    assert list(model.weights) == list(model.score_one({})) == list(model.predict_proba_one({})) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "make",
    [rm.PAClassifier, rm.MarginClassifier, rm.EllipsoidClassifier, rm.LogLinearClassifier, rm.HedgeBackpropClassifier],
)
def test_classes_have_an_order(make):
    """That of a set differs between processes, and with it which label is the positive one."""
    parameters = {"rule": rm.PA1()} if make is rm.MarginClassifier else {}
    for classes in ({"ham", "spam"}, (label for label in "ab"), 2):
        with case(classes), pytest.raises(TypeError, match="`classes` must be a list of labels, whose order counts"):
            make(classes=classes, **parameters)
    with pytest.raises(TypeError, match="`tags` must be a list"):
        rm.SequenceTagger(tags={"noun", "verb"})


@pytest.mark.parametrize(("parameter", "make"), [("classes", rm.PAClassifier), ("tags", rm.SequenceTagger)])
def test_a_text_as_classes_is_warned_of(parameter, make):
    said = f"`{parameter}` is the text 'spam', so each letter is a label: write a list of labels"
    with pytest.warns(UserWarning, match=said):
        model = make(**{parameter: "spam"})
    with pytest.warns(UserWarning, match=said):  # one that was written before is still read
        assert repr(snapshot.loads(snapshot.dumps(model))) == repr(model)


@pytest.mark.parametrize(
    "make",
    [
        rm.PAClassifier,
        rm.PAMultiLabelClassifier,
        rm.EllipsoidClassifier,
        rm.LogLinearClassifier,
        rm.OnlineMLPClassifier,
        rm.HedgeBackpropClassifier,
    ],
)
def test_classes_may_be_an_array(make):
    model = make(classes=np.unique(["spam", "ham", "spam"]))
    assert model.classes == ["ham", "spam"]
    assert snapshot.difference(snapshot.dumps(model), make(classes=["ham", "spam"])) == []
    assert rm.Watched(rm.Perceptron(classes=np.array([0, 1]))).learn_one({"a": 1.0}, 1) is None


@pytest.mark.parametrize("make", [rm.PAClassifier, rm.PARegressor, rm.AROWClassifier])
def test_an_intercept_is_there_or_not(make):
    for intercept in ("no", 0.5):
        with case(intercept), pytest.raises(ValueError, match="`intercept` must be True, False or None, not"):
            make(intercept=intercept)
    model = make(intercept=np.False_)
    model.learn_one({"a": 1.0}, True)
    assert rm.INTERCEPT not in model.explain_one({"a": 1.0})


@pytest.mark.parametrize("make", [rm.PAClassifier, rm.AROWClassifier, rm.FTRLProximalClassifier, rm.KernelPerceptron])
def test_a_clone_with_classes_of_a_learner_without_labels_learns(make):
    classes = ["a", "b", "c"]
    clone, twin = make().clone({"classes": classes}, include_attributes=True), make(classes=classes)
    for model in (clone, twin):
        for label in classes:
            model.learn_one({label: 1.0}, label)
    assert state(clone) == state(twin)


@pytest.mark.parametrize("scale", [1.0, 1e-17, 1e-150])
def test_probabilities_of_many_classes_rank_as_the_scores_do(scale):
    model = rm.PAClassifier(classes=["a", "b", "c"], intercept=False)
    for label in "abcabcabc":
        model.learn_one({label: scale}, label)
    for label in "abc":
        probabilities = model.predict_proba_one({label: scale})
        assert max(probabilities, key=probabilities.get) == model.predict_one({label: scale}) == label
        assert sum(probabilities.values()) == pytest.approx(1.0)


def test_numbers_with_a_fraction_as_classes_are_warned_of():
    """A target for a regressor: a class for each number takes ever more time, and says nothing."""
    draw = random.Random(2)
    model = rm.PAClassifier()
    for _ in range(50):
        model.learn_one({"a": 1.0}, draw.random())
    with pytest.warns(UserWarning, match="50 classes so far, all numbers with a fraction.* AutoRegressor"):
        model.learn_one({"a": 1.0}, draw.random())
    model.learn_one({"a": 1.0}, draw.random())  # once is enough; a warning fails this test
    ratings, numbers = rm.PAClassifier(), rm.PAClassifier()
    for n in range(120):
        ratings.learn_one({"a": 1.0}, n % 40 / 4)
        numbers.learn_one({"a": 1.0}, n)
