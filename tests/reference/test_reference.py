"""The same mistakes in the same rounds as a library that nobody here wrote; see tests/reference/README.md."""

import csv
import hashlib
import importlib
import itertools
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import river_margins as rm
from tests.learners import LEARNERS

FOLDER = Path(__file__).parent
STREAMS = {stream["name"]: stream for stream in json.loads((FOLDER / "streams.json").read_text())}
RUNS = [run for file in sorted(FOLDER.glob("*.csv")) for run in csv.DictReader(file.read_text().splitlines())]
PAIRS = [
    pytest.param(learner, rows, run, id="-".join(filter(None, (run["algorithm"], run["params"], run["dataset"]))))
    for learner in LEARNERS
    for rows in learner.references
    for run in RUNS
    if rows.algorithm == run["algorithm"] and rows.fixed in run["params"]
]


def load(source, take, label):
    module, name = source["loader"].removesuffix("()").rsplit(".", 1)
    made = getattr(importlib.import_module(module), name)()
    if source["package"] != "river":
        return [str(name) for name in made.feature_names], made.data, made.target.tolist()
    rows = list(itertools.islice(made, take))
    names = list(rows[0][0])
    X = np.array([[float(x[name]) for name in names] for x, _ in rows])
    return names, X, [y if label["from"] == "y" else y["Class2"] for _, y in rows]


def scaled(X, step):
    if step == "divide_by_16":
        return X / 16.0
    if step == "minmax":
        return (X - X.min(0)) / (X.max(0) - X.min(0))
    return np.array([[v / math.sqrt(math.fsum(a * a for a in row)) for v in row] for row in X.tolist()])


@cache
def build(name):
    """Features and labels of a stream, or a skip where its data is another."""
    stream = STREAMS[name]
    names, X, labels = load(stream["source"], stream["take"], stream["label"])
    if stream["stride"]:
        order = [i * stream["stride"] % len(labels) for i in range(len(labels))]
        X, labels = X[order], [labels[i] for i in order]
    X = X[:, [j for j, column in enumerate(names) if column not in stream["drop"]]]
    for step in stream["scale"]:
        X = scaled(X, step)
    if stream["append_one"]:
        X = np.hstack([X, np.ones((len(X), 1))])
    X = np.ascontiguousarray(X, dtype="<f8")
    y = np.array([stream["label"]["map"][str(label)] for label in labels], dtype="<i8")
    found = hashlib.sha256(X.tobytes()).hexdigest(), hashlib.sha256(y.tobytes()).hexdigest()
    if found != (stream["X_sha256"], stream["y_sha256"]):
        pytest.skip(f"the stream {name} is built from another version of its data here")
    return X, y


def made_for(learner, rows, run, y):
    """The learner with the run's parameters under our names, all classes known and in the library's order."""
    given = [text.partition("=") for text in run["params"].split(";") if text and text not in rows.fixed]
    parameters = {rows.names.get(name, name): float(value) for name, _, value in given}
    classes = [-1, 1] if run["task"] == "binary" else list(range(1, int(y.max()) + 1))
    return learner.make(**parameters, **rows.settings, classes=classes)


def play(model, X, y, tie):
    """The rounds that end in a mistake, in an update, and those whose score is 0 but for rounding, all from 1."""
    mistaken, updated, doubtful = [], [], []
    for number, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True), 1):
        x, updates = dict(enumerate(row)), model.n_updates
        if tie and abs(model.score_one(x)) < 1e-10:
            doubtful.append(number)
        if model.predict_learn_one(x, label) != label:
            mistaken.append(number)
        if model.n_updates > updates:
            updated.append(number)
    return mistaken, updated, doubtful


def sha256(rounds):
    return hashlib.sha256(",".join(map(str, rounds)).encode()).hexdigest()


def check_weights(model, run):
    weights = model.weights if run["task"] == "multiclass" else {None: model.weights}
    accuracy = 1e-6 if run["library"] == "LIBOL" else 1e-4  # SOL works in single precision and prints six digits
    norm = np.linalg.norm([weight for vector in weights.values() for weight in vector.values()])
    assert norm == pytest.approx(float(run["weights_norm"]), rel=accuracy)
    for entry in run["weights_first_nonzero"].split():
        place, _, value = entry.partition(":")
        label, _, feature = place.rpartition(",")
        found = weights[int(label) if label else None][int(feature) - 1 if feature != "0" else rm.INTERCEPT]
        assert found == pytest.approx(float(value), rel=accuracy, abs=accuracy * norm)


@pytest.mark.parametrize(("learner", "rows", "run"), PAIRS)
def test_the_same_mistakes_in_the_same_rounds(learner, rows, run):
    X, y = build(run["dataset"])
    model = made_for(learner, rows, run, y)
    if run["trust"] == "prefix":  # from that round on the library's own figure is rounding noise
        before = int(run["first_disagreement_round"]) - 1
        mistaken, _, _ = play(model, X[:before], y[:before], tie=False)
        assert (len(mistaken), sha256(mistaken)) == (int(run["mistakes_before_it"]), run["mistakes_before_sha256"])
        return
    mistaken, updated, doubtful = play(model, X, y, tie=run["trust"] == "fragile")
    if run["trust"] == "fragile":  # one score is 0 in real numbers: its sign may turn, and nothing else may
        turned = [sorted({*mistaken} ^ {number}) for number in doubtful]
        assert run["mistakes_sha256"] in map(sha256, [mistaken, *turned])
    else:
        assert (len(mistaken), sha256(mistaken)) == (int(run["mistakes"]), run["mistakes_sha256"])
    if run["updates_sha256"]:
        assert (len(updated), sha256(updated)) == (int(run["updates"]), run["updates_sha256"])
    if run["weights_norm"]:
        check_weights(model, run)
