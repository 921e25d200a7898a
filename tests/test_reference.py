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

FOLDER = Path(__file__).parent / "reference"
STREAMS = {stream["name"]: stream for stream in json.loads((FOLDER / "streams.json").read_text())}
RUNS = [
    pytest.param(run, id="-".join(filter(None, (run["algorithm"], run["params"], run["dataset"]))))
    for run in csv.DictReader((FOLDER / "libol.csv").read_text().splitlines())
]
LEARNERS = {
    "Perceptron": lambda C, classes: rm.Perceptron(tie_update=False, classes=classes),
    "PerceptronM": lambda C, classes: rm.Perceptron(tie_update=False, classes=classes),
    "PA": lambda C, classes: rm.PAClassifier(mode=0, classes=classes),
    "PA1": lambda C, classes: rm.PAClassifier(C, mode=1, classes=classes),
    "PA2": lambda C, classes: rm.PAClassifier(C, mode=2, classes=classes),
}


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


@pytest.mark.parametrize("run", RUNS)
def test_the_same_mistakes_in_the_same_rounds(run):
    X, y = build(run["dataset"])
    classes = [-1, 1] if run["task"] == "binary" else list(range(1, int(y.max()) + 1))
    C = float(run["params"].removeprefix("C=") or 1.0)
    model = LEARNERS[run["algorithm"].removeprefix("M_")](C, classes)
    mistaken = [
        str(number)
        for number, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True), 1)
        if model.predict_learn_one(dict(enumerate(row)), label) != label
    ]
    assert len(mistaken) == int(run["mistakes"])
    assert hashlib.sha256(",".join(mistaken).encode()).hexdigest() == run["mistakes_sha256"]
    weights = model.__getstate__()["space"]["weights"]
    assert np.linalg.norm(weights) == pytest.approx(float(run["weights_norm"]), rel=1e-6)
