"""The same bits on each version of Python."""

import builtins
import math
import operator

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.rounds import stream_for
from tests.learners import FORMS

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
        yield {name: float(draw.normal()) for name in "abc"}, LABELS[number % len(LABELS)]


@pytest.mark.usefixtures("no_sum")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_no_round_adds_floats_by_sum(form):
    model = form.make()
    for x, y in stream_for(model, rounds=20):
        model.predict_one(x)
        model.learn_one(x, y)


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
