"""Which learners follow a change of concept, and which freeze?

    python benchmarks/drift.py          # writes benchmarks/results/drift.md

A concept is a hyperplane; a tenth of the labels are wrong. Each example is predicted before it is learned, and the
accuracy counts in the last quarter of the stream. A learner with an option to forget is run with it and without, and
once more started afresh at the switch.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import river
from river import linear_model, preprocessing

import river_margins as rm

RESULTS = Path(__file__).parent / "results" / "drift.md"
ROUNDS, NOISE, SEEDS = 20_000, 0.1, 3
KINDS = ("none", "abrupt", "recurring", "gradual")
# dense: a number in each of 10 features; sparse: 20 of 1,000 features. Rarer features take a longer memory.
WIDTHS = {"dense": (10, 10), "sparse": (1000, 20)}
HALF_LIVES = {"dense": 2000, "sparse": 4000}

Rows = list[tuple[dict[int, float], bool]]
Make = Callable[..., Any]


@dataclass(frozen=True)
class Stream:
    rows: Rows
    switch: int  # the last one: 0 if the concept stays


def turned(kind: str, rounds: int) -> tuple[np.ndarray, int]:
    """Return how far the concept has turned in each round, from 0 to 1, and the round of the last switch."""
    part = np.arange(rounds) / rounds
    if kind == "abrupt":
        return (part >= 0.5).astype(float), rounds // 2
    if kind == "recurring":  # in the second quarter only
        return ((part >= 0.25) & (part < 0.5)).astype(float), rounds // 2
    if kind == "gradual":  # from the first quarter to the third
        return np.clip(2 * part - 0.5, 0.0, 1.0), rounds // 2
    return np.zeros(rounds), 0


def stream(kind: str, width: str, seed: int, rounds: int = ROUNDS) -> Stream:
    """Return examples of a concept that turns by a right angle."""
    draw = np.random.default_rng(seed)
    features, present = WIDTHS[width]
    first, second = draw.normal(size=(2, features))
    share, switch = turned(kind, rounds)
    rows: Rows = []
    for angle in (share * math.pi / 2).tolist():
        places = np.arange(features) if present == features else draw.choice(features, present, replace=False)
        values = draw.normal(size=present)
        score = values @ (math.cos(angle) * first[places] + math.sin(angle) * second[places])
        label = bool(score > 0) != bool(draw.random() < NOISE)
        rows.append((dict(zip(places.tolist(), values.tolist(), strict=True)), label))
    return Stream(rows, switch)


def hits(model: Any, rows: Rows) -> np.ndarray:
    """Return whether each example was predicted right before it was learned."""
    right = np.empty(len(rows), dtype=bool)
    for number, (x, y) in enumerate(rows):
        right[number] = model.predict_one(x) == y
        model.learn_one(x, y)
    return right


def accuracy(make: Callable[[], Any], given: Stream, *, afresh: bool = False) -> float:
    """Return the accuracy in the last quarter, with a learner started at the beginning or at the switch."""
    rows = given.rows[given.switch :] if afresh else given.rows
    return float(hits(make(), rows)[-(len(given.rows) // 4) :].mean())


def before(make: Callable[[], Any], given: Stream) -> float:
    """Return the accuracy in the quarter before the middle of the stream."""
    half = len(given.rows) // 2
    return float(hits(make(), given.rows[:half])[half // 2 :].mean())


PLAIN = {"intercept": False}
FORGETTING: dict[str, Make] = {
    "AROWClassifier": rm.AROWClassifier,
    "NAROWClassifier": rm.NAROWClassifier,
    "NHERDClassifier": rm.NHERDClassifier,
    "CWClassifier": rm.CWClassifier,
    "SCWClassifier": rm.SCWClassifier,
    "IELLIPClassifier": rm.IELLIPClassifier,
    "SecondOrderPerceptron": rm.SecondOrderPerceptron,
    "AveragedPerceptron": rm.AveragedPerceptron,
}
OTHERS: dict[str, Make] = {
    "Perceptron": rm.Perceptron,
    "ShiftingPerceptron": rm.ShiftingPerceptron,
    "PocketPerceptron": rm.PocketPerceptron,
    "PAClassifier": lambda **given: rm.PAClassifier(0.01, **given),
    "OGDClassifier": rm.OGDClassifier,
    "PegasosClassifier": rm.PegasosClassifier,
    "ROMMAClassifier": rm.ROMMAClassifier,
    "ALMAClassifier": rm.ALMAClassifier,
    "FTRLProximalClassifier": rm.FTRLProximalClassifier,
    "AdaGradRDAClassifier": rm.AdaGradRDAClassifier,
    "FOBOSClassifier": rm.FOBOSClassifier,
    "AdalineClassifier": lambda **given: rm.AdalineClassifier(0.05, **given),
}


def river_learner() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()
