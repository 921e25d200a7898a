"""The learner knows the interface of tasks and no task: a new one changes nothing here."""

import re

import pytest

import river_margins as rm
from tests.helpers.paths import ROOT

SOURCES = [ROOT / "river_margins" / "core" / f"learner.{ending}" for ending in ("pyx", "pxd")]
TASKS = {source.stem for source in (ROOT / "river_margins" / "tasks").glob("*.pyx")} - {"base"}


def test_the_learner_imports_no_task():
    for source in SOURCES:
        imported = set(re.findall(r"river_margins\.tasks\.(\w+)", source.read_text()))
        assert imported == {"base"}


def test_the_learner_names_no_task():
    names = {"".join(word.capitalize() for word in task.split("_")) for task in TASKS} | {"Labels"}
    assert {"Binary", "Multiclass", "Multilabel", "Regression", "FirstLabel"} <= names
    for source in SOURCES:
        assert not names & set(re.findall(r"\w+", source.read_text()))


def test_the_first_label_decides_once_and_a_refused_round_decides_nothing():
    model = rm.PAClassifier()
    with pytest.raises(ValueError, match="is the text"):
        model.learn_one({"a": "text"}, True)
    assert (model.predict_one({}), model.weights) == (None, {})
    model.learn_one({"a": 1.0}, "ham")
    model.learn_one({"a": 1.0}, "eggs")
    assert list(model.weights) == ["ham", "eggs"]


def test_a_prediction_before_the_first_label_is_the_same_in_each_call():
    model, x = rm.PAClassifier(), {"a": 1.0}
    assert (model.predict_one(x), model.score_one(x)) == model.predict_score_one(x) == (None, {})
    assert model.clone().predict_learn_one(x, True) is None
    assert model.predict_proba_one(x) == {True: 0.5, False: 0.5}
