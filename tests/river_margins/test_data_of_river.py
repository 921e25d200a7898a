"""Every learner behind a scaler, on every data set in River's package whose labels it takes: it learns each example."""

import datetime
import functools
import math

import pytest
from river import compose, datasets

import river_margins as rm
from tests.helpers.rounds import takes_no_negatives
from tests.learners import FORMS, SEVERAL

DATA_SETS = {
    "binary": (datasets.Bananas, datasets.Phishing, datasets.Shuttle),
    "multiclass": (datasets.ImageSegments,),
    "regression": (
        datasets.AirlinePassengers,
        datasets.ChickWeights,
        datasets.SP500Stocks,
        datasets.TrumpApproval,
        datasets.WaterFlow,
    ),
    "multilabel": (datasets.Yeast,),
    "one-class": (datasets.Shuttle,),
}
ROWS = {datasets.Bananas: 5300, datasets.Yeast: 200}
MANY, FEW = 1000, 150  # rows of the others, and for learners whose rounds grow with the supports
SETTINGS = {name: {"lr": 0.01} for name in ("Adaline", "Adaline in Python")}  # a constant lr above 2/|x|² diverges
LINEAR_TIME = ("linear", "diagonal", "full", "pnorm", "multiplicative")
EACH = [pytest.param(form, data, id=f"{form}-{data.__name__}") for form in FORMS for data in DATA_SETS[form.task]]


@functools.cache
def rows(data):
    """The first rows, with dates as seconds and the labels of Shuttle as bools."""
    everything = list(data())  # a data set closes its file at its end
    return [
        ({key: seconds(value) for key, value in x.items()}, bool(y) if data is datasets.Shuttle else y)
        for x, y in everything[: ROWS.get(data, MANY)]
    ]


def seconds(value):
    return value.timestamp() if isinstance(value, datetime.datetime) else value


def absolute(x):
    return {key: abs(value) for key, value in x.items()}


def numbers(score):
    """The numbers in a score: itself, or those of all classes."""
    return list(map(float, score.values() if isinstance(score, dict) else [score]))


@pytest.mark.parametrize(("form", "data"), EACH)
def test_no_stream_ends_a_learner(form, data):
    learner = form.make(**SETTINGS.get(form.learner.name, {}), **({"classes": None} if form.task in SEVERAL else {}))
    model = rm.StandardScaler() | learner
    if takes_no_negatives(learner):
        model = rm.StandardScaler() | compose.FuncTransformer(absolute) | learner
    stream = rows(data) if form.space in LINEAR_TIME else rows(data)[:FEW]
    for x, y in stream:
        prediction, score = model.predict_one(x), model.score_one(x)
        assert all(map(math.isfinite, numbers(score)))
        assert form.task != "regression" or math.isfinite(prediction)
        model.learn_one(x, *([] if form.task == "one-class" else [y]))
    assert learner.n_seen == len(stream)
