"""`progressive` has the results of River's `progressive_val_score`, to the last bit."""

import re

import numpy
import pandas
import pytest
from river import base, datasets, dummy, evaluate, linear_model, metrics, preprocessing

import river_margins as rm
from river_margins.evaluate import progressive
from tests.helpers.rounds import state

TWO, MANY, NUMBERS = datasets.Phishing, datasets.ImageSegments, datasets.TrumpApproval


def weighted(rows):
    return [(x, y, {"w": 0.5 + n % 3}) if n % 2 else (x, y) for n, (x, y) in enumerate(rows)]


CASES = {
    "two labels": (TWO, lambda: rm.StandardScaler() | rm.PAClassifier(), metrics.Accuracy),
    "many labels": (MANY, lambda: rm.StandardScaler() | rm.AROWClassifier(), metrics.BalancedAccuracy),
    "one label counts": (TWO, lambda: rm.StandardScaler() | rm.PAClassifier(), lambda: metrics.F1(pos_val=False)),
    "a mean over labels": (MANY, lambda: rm.StandardScaler() | rm.PAClassifier(), metrics.MacroF1),
    "a report": (MANY, lambda: rm.StandardScaler() | rm.PAClassifier(), metrics.ClassificationReport),
    "a matrix": (MANY, lambda: rm.StandardScaler() | rm.PAClassifier(), metrics.ConfusionMatrix),
    "two metrics": (TWO, lambda: rm.StandardScaler() | rm.PAClassifier(), lambda: metrics.F1() + metrics.Accuracy()),
    "probabilities": (TWO, lambda: rm.StandardScaler() | rm.NAROWClassifier(), metrics.LogLoss),
    "an area": (TWO, lambda: rm.StandardScaler() | rm.PAClassifier(), metrics.ROCAUC),
    "no scaler": (TWO, lambda: rm.AROWClassifier(), metrics.Accuracy),
    "three steps": (TWO, lambda: rm.StandardScaler() | rm.Interactions() | rm.PAClassifier(), metrics.Accuracy),
    "numbers": (NUMBERS, lambda: rm.StandardScaler() | rm.PARegressor(), metrics.MAE),
    "a sampler": (TWO, lambda: rm.StandardScaler() | rm.SelectiveSampler(rm.PAClassifier()), metrics.Accuracy),
    "experts": (TWO, lambda: rm.StandardScaler() | rm.AutoClassifier(), metrics.Accuracy),
    "River's": (TWO, lambda: preprocessing.StandardScaler() | linear_model.PAClassifier(), metrics.Accuracy),
    "a step of River's": (TWO, lambda: preprocessing.StandardScaler() | rm.PAClassifier(), metrics.Accuracy),
    "more pairs than are kept apart, of new objects": (
        lambda: [({"a": n % 7, "b": n % 4}, f"label {n * n % 31}") for n in range(300)],
        rm.PAClassifier,
        metrics.MacroF1,
    ),
    "texts": (lambda: [({"a": n % 3}, "ab"[n % 2]) for n in range(100)], dummy.NoChangeClassifier, metrics.Accuracy),
}


def shown(metric):
    if isinstance(metric, metrics.base.Metrics):
        return [shown(each) for each in metric]
    cm = metric if isinstance(metric, metrics.ConfusionMatrix) else getattr(metric, "cm", None)
    return repr(metric), cm and (cm.data, cm.n_samples, cm.total_weight, list(cm.sum_row.items()))


def states(model):
    return [state(step) for step in getattr(model, "steps", {"": model}).values() if hasattr(step, "_open")]


@pytest.mark.parametrize(("data", "make", "metric"), CASES.values(), ids=CASES)
def test_rivers_results(data, make, metric):
    rows, ours, rivers = list(data())[:300], make(), make()
    found, expected = progressive(rows, ours, metric()), evaluate.progressive_val_score(rows, rivers, metric())
    assert shown(found) == shown(expected)
    assert states(ours) == states(rivers)


@pytest.mark.parametrize("make", [CASES["two labels"][1], CASES["no scaler"][1]])
@pytest.mark.parametrize("metric", [metrics.Accuracy, lambda: metrics.Accuracy() + metrics.F1()])
def test_weights(make, metric):
    rows, ours, rivers = weighted(TWO().take(200)), make(), make()
    found, expected = progressive(rows, ours, metric()), evaluate.progressive_val_score(rows, rivers, metric())
    assert shown(found) == shown(expected)
    assert states(ours) == states(rivers)


def test_weights_in_a_list_count_each_time():
    """For probabilities, River's function is called, which takes the weight out of the dict."""
    rounds = weighted(TWO())
    found = [progressive(rounds, rm.OGDClassifier(loss="logistic"), metrics.LogLoss()).get() for _ in range(2)]
    assert found[0] == found[1] and rounds == weighted(TWO())


def test_an_error_leaves_the_examples_before_it():
    rows = list(TWO().take(50))
    rows[30] = ({"a": float("nan")}, True)
    said = []
    for score in (progressive, evaluate.progressive_val_score):
        model, metric = CASES["two labels"][1](), metrics.Accuracy()
        with pytest.raises(ValueError, match="feature 'a' is nan"):
            score(rows, model, metric)
        said.append((shown(metric), states(model)))
    assert said[0] == said[1] and model[-1].n_seen == 30


def test_a_metric_for_another_kind_of_model_is_refused():
    with pytest.raises(ValueError, match="MAE metric is not compatible"):
        progressive(TWO(), rm.PAClassifier(), metrics.MAE())


class ByHour(base.Classifier):
    """A learner for each hour, which comes beside the features."""

    def __init__(self):
        self.models = {}

    def learn_one(self, x, y, t=None):
        self.models.setdefault(t, rm.PAClassifier(C=0.1)).learn_one(x, y)

    def predict_one(self, x, t=None):
        return self.models.setdefault(t, rm.PAClassifier(C=0.1)).predict_one(x)


def test_what_comes_beside_an_example_is_for_predicting_too():
    rows = [({"a": float(n % 5)}, (n % 5 > 2) != (n % 2 == 0), n % 2) for n in range(100)]
    found, expected = (
        score([(x, y, {"t": t}) for x, y, t in rows], rm.StandardScaler() | ByHour(), metrics.Accuracy())
        for score in (progressive, evaluate.progressive_val_score)
    )
    assert found.get() == expected.get() > 0.9


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": rm.PAClassifier}, "`model` is the class PAClassifier, and an object is needed: PAClassifier()"),
        ({"metric": metrics.Accuracy}, "`metric` is the class Accuracy"),
        ({"dataset": datasets.Phishing}, "`dataset` is the class Phishing"),
        ({"metric": "Accuracy"}, "`metric` must be a metric of River, such as metrics.Accuracy(), not 'Accuracy'"),
        ({"dataset": pandas.DataFrame({"a": [1.0], "b": [2.0]})}, "DataFrame does not: river.stream.iter_frame"),
        ({"dataset": numpy.ones((2, 2))}, "ndarray does not"),
        ({"dataset": (pandas.DataFrame({"a": [1.0]}), [True])}, "tuple of DataFrame does not"),
        ({"dataset": "Phishing"}, "`dataset` is the text 'Phishing', and a data set is needed"),
        ({"dataset": [{"a": 1.0}]}, "as in zip(examples, labels), not examples"),
        ({"dataset": rm.PAClassifier(), "model": [({"a": 1.0}, True)]}, "the data set comes first, then the model"),
    ],
    ids=["model", "metric", "dataset", "text", "frame", "array", "both", "name", "no labels", "exchanged"],
)
def test_arguments_that_are_mistaken_are_named(changes, sentence):
    arguments = {"dataset": datasets.Phishing(), "model": rm.PAClassifier(), "metric": metrics.Accuracy()}
    with pytest.raises(TypeError, match=re.escape(sentence)):
        progressive(**arguments | changes)


@pytest.mark.parametrize("kind", ["array", "series"])
def test_pairs_in_an_array_or_a_column_are_a_data_set(kind):
    pairs = list(datasets.Phishing().take(100))
    made = numpy.empty(len(pairs), dtype=object)
    made[:] = pairs
    found = progressive(made if kind == "array" else pandas.Series(pairs), rm.PAClassifier(), metrics.Accuracy())
    assert found.get() == progressive(pairs, rm.PAClassifier(), metrics.Accuracy()).get()
