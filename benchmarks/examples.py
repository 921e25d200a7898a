"""Streams to learn from, ways to run through them, and the learner that all others are compared with."""

import functools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

import river_margins as rm

SIZES = [(9, 2000), (14, 1500), (100, 300), (784, 60)]

Rows = list[tuple[dict[str, float], Any]]


def dense(features: int, examples: int, *, fresh: bool = False) -> Rows:
    """Numbers from a normal distribution, labels of a noisy linear separator; keys are shared or new in each row."""
    draw = random.Random(features)
    keys = [f"feature {i}" for i in range(features)]
    separator = [draw.gauss(0, 1) for _ in keys]
    rows: Rows = []
    for _ in range(examples):
        values = [draw.gauss(0, 1) for _ in keys]
        score = sum(a * b for a, b in zip(separator, values, strict=True)) + draw.gauss(0, 1)
        names = ["".join(list(key)) for key in keys] if fresh else keys
        rows.append((dict(zip(names, values, strict=True)), score > 0))
    return rows


def letters(classes: int, features: int, examples: int) -> Rows:
    """Noisy points around a centre for each class."""
    draw = random.Random(classes)
    names = [f"class {k}" for k in range(classes)]
    centres = {name: [draw.gauss(0, 1) for _ in range(features)] for name in names}
    keys = [f"feature {i}" for i in range(features)]
    rows: Rows = []
    for _ in range(examples):
        name = draw.choice(names)
        rows.append(({key: c + draw.gauss(0, 0.7) for key, c in zip(keys, centres[name], strict=True)}, name))
    return rows


def matrix(rows: int, columns: int, stored: int) -> tuple[Any, Any]:
    """A sparse matrix with so many ones a row at random places, or a full one of normal numbers, and labels."""
    draw = np.random.default_rng(columns)
    if stored == columns:
        X = scipy.sparse.csr_matrix(draw.normal(size=(rows, columns)))
    else:
        places = [np.sort(draw.choice(columns, stored, replace=False)) for _ in range(rows)]
        starts = np.arange(rows + 1) * stored
        X = scipy.sparse.csr_matrix((np.ones(rows * stored), np.concatenate(places), starts), shape=(rows, columns))
    return X, (X @ draw.normal(size=columns) + draw.normal(size=rows) > 0).astype(int)


def svmlight_file(rows: int, columns: int, stored: int) -> tuple[Any, str]:
    """The same as a file of text, beside the matrix."""
    X, y = matrix(rows, columns, stored)
    path = Path(tempfile.mkdtemp()) / "rows.svm"
    dump_svmlight_file(X, 2 * y - 1, str(path))
    return X, str(path)


def two_calls(make: Callable[[], Any]) -> Callable[[Rows], None]:
    def run(rows: Rows) -> None:
        model = make()
        predict, learn = model.predict_one, model.learn_one
        for x, y in rows:
            predict(x)
            learn(x, y)

    return run


def one_call(make: Callable[[], Any]) -> Callable[[Rows], None]:
    def run(rows: Rows) -> None:
        both = make().predict_learn_one
        for x, y in rows:
            both(x, y)

    return run


def shared(sizes: list[tuple[int, int]] = SIZES) -> list[tuple[str, Rows]]:
    """Streams of several widths under the heads of their columns."""
    return [(f"{features} features", dense(features, examples)) for features, examples in sizes]


def bare(kind: Callable[..., Any], **parameters: Any) -> Callable[[], Any]:
    """Return a maker of a learner without an intercept, so that it does the same work as its peers."""
    return functools.partial(kind, intercept=False, **parameters)


pa = bare(rm.PAClassifier, C=0.1)
