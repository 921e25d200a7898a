"""The same bits on each version of Python."""

import builtins
import math
import operator

import numpy as np
import pytest
from river import base

import river_margins as rm

# Compiled code keeps the `sum` of its start, so this finds what is written in Python.
ALL = [each for each in map(vars(rm).get, rm.__all__) if isinstance(each, type)]
KINDS = [each for each in ALL if issubclass(each, base.Classifier | base.Regressor)]
LABELS = ("ham", "eggs", "spam")
TAGGED = [({"a": 0.1, "b": 0.7}, "X"), ({"b": 0.2}, "Y"), ({"a": 0.3}, "X")]


@pytest.fixture
def no_sum(monkeypatch):
    """Let `sum` refuse floats: from Python 3.12 on it rounds them less than before."""

    def refuse(values, start=0):
        total = start
        for value in values:
            if isinstance(value, float):
                raise AssertionError("`sum` of floats depends on the version of Python")
            total = operator.add(total, value)
        return total

    monkeypatch.setattr(builtins, "sum", refuse)


def rounds(seed=1, count=30):
    draw = np.random.default_rng(seed)
    for number in range(count):
        yield {name: abs(draw.normal()) for name in "abc"}, LABELS[number % len(LABELS)]


@pytest.mark.usefixtures("no_sum")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_round_adds_floats_by_sum(kind):
    for parameters in kind._unit_test_params():
        model = kind(**parameters)
        for x, y in rounds():
            label = y == LABELS[0] if issubclass(kind, base.Classifier) else x["a"]
            model.predict_one(x)
            model.learn_one(x, label)


@pytest.mark.usefixtures("no_sum")
@pytest.mark.parametrize(
    "model", [rm.Calibrated(rm.PAClassifier()), rm.AutoClassifier(), rm.OnlineToBatch(rm.PAClassifier())], ids=repr
)
def test_no_wrapper_adds_floats_by_sum(model):
    for x, y in rounds():
        model.predict_proba_one(x)
        model.learn_one(x, y)
    assert math.fsum(model.predict_proba_one(x).values()) == pytest.approx(1.0)


@pytest.mark.usefixtures("no_sum")
def test_neither_tags_nor_experts_are_weighed_by_sum():
    tagger, hedge = rm.SequenceTagger(), rm.Hedge([rm.Perceptron(), rm.PAClassifier(), rm.AROWClassifier()], eta=1.0)
    for _ in range(5):
        tagger.predict_one([position for position, _ in TAGGED])
        tagger.learn_one(*map(list, zip(*TAGGED, strict=True)))
        hedge.learn_losses([0.1, 0.7, 0.3])
