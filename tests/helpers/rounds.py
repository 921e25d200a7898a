"""Small streams for any learner, and what it means that two learners are the same."""

import functools
import pickle
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
from river import base
from river.base import tags

import river_margins as rm
from river_margins import snapshot

LABEL_SETS = (
    {"k0": True, "k1": False, "k2": False},
    {"k2": True, "k0": True, "k1": False},
    {"k1": True, "k2": False},  # of k0 nothing is known
    {"k0": False, "k1": False, "k2": False},
    {"k0": False, "k1": True, "k2": True},
)


def not_labels_of(model: Any) -> Sequence[Any]:
    """What a learner does not take as a label."""
    if isinstance(model, base.AnomalyDetector):
        return (True, 1.0, "a", ["list"])
    return (None, float("nan"), pd.NA, ["list"])


def labels_of(model: Any) -> Sequence[Any]:
    """Labels that a learner takes; the first and the last ask something of it."""
    if isinstance(model, rm.MarginRegressor):
        return (0.5, -2.0, 3.0)
    if isinstance(model, base.AnomalyDetector):
        return (None,)
    if isinstance(model, base.MultiLabelClassifier):
        return LABEL_SETS
    return model.classes or (False, True)


@functools.cache
def _drawn(
    seed: int, rounds: int, features: int, label_count: int, negative: bool
) -> list[tuple[dict[str, float], int]]:
    """Rounds with the numbers of their labels. Thousands of tests ask for the same ones."""
    draw, found = random.Random(seed), []
    for _ in range(rounds):
        x = {f"f{i}": draw.gauss(0, 1) for i in range(features) if draw.random() < 0.7}
        found.append((x if negative else {name: abs(value) for name, value in x.items()}, draw.randrange(label_count)))
    return found


def stream(
    seed: int = 0,
    rounds: int = 200,
    features: int = 6,
    labels: Sequence[Any] = (False, True),
    negative: bool = True,
) -> Iterator[tuple[dict[str, float], Any]]:
    """Noisy rounds in which features come and go."""
    for x, number in _drawn(seed, rounds, features, len(labels), negative):
        yield x.copy(), labels[number]


def stream_for(model: Any, seed: int = 0, rounds: int = 200) -> Iterator[tuple[dict[str, float], Any]]:
    """Rounds that a learner takes."""
    return stream(seed, rounds, labels=labels_of(model), negative=not takes_no_negatives(model))


def takes_no_negatives(model: Any) -> bool:
    return tags.POSITIVE_INPUT in model._tags


def trained(model: Any, rounds: int = 200, seed: int = 0) -> Any:
    """The model itself, after some rounds."""
    for x, y in stream_for(model, seed, rounds):
        model.learn_one(x, y)
    return model


def state(model: Any) -> bytes:
    """All that was learned, to the last bit."""
    return pickle.dumps(model.__getstate__())


def assert_a_snapshot_goes_on(model: Any) -> None:
    """A twin made from a snapshot in mid-stream learns what follows, new features too, bit for bit as the model."""
    rounds = list(stream_for(model, rounds=120))
    for x, y in rounds[:60]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rounds[60:]:
        model.learn_one(x | {"late": 1.0}, y)
        twin.learn_one(x | {"late": 1.0}, y)
    assert snapshot.dumps(model) == snapshot.dumps(twin)  # pickle sees which names are one object
