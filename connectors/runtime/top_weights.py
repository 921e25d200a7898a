"""The largest weights of models, and how they moved in the last hour.

Nobody may read a model while it learns. So the thread that learns takes a small copy, rarely, after a commit.
"""

import heapq
import logging
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from connectors.model.partition_model import PartitionModel

log = logging.getLogger(__name__)

TOP = 10  # weights of a model
SPAN = 3600.0  # seconds that are kept
EVERY = 10.0  # seconds between two copies of a model at least
KEPT_EVERY = 60.0  # seconds between two copies that are kept
SHARE = 0.005  # of its time that the thread may spend on copies
MAX_NAME_LENGTH = 80


class Sample(NamedTuple):
    """The largest weights of a model at a time, in seconds since 1970, by name, the largest first."""

    time: float
    weights: Mapping[str, float]


class TopWeights:
    """The largest weights of the models of a processor.

    Attributes
    ----------
    samples
        Those of the last hour by partition, the oldest first. What is in the dict is replaced and never changed, so any
        thread may read it.
    """

    def __init__(self) -> None:
        self.samples: Mapping[int, tuple[Sample, ...]] = {}
        self._due = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time for another copy."""
        return time.monotonic() >= self._due

    def take(self, models: Mapping[int, PartitionModel]) -> None:
        """Copy the largest weights of the model whose copy is the oldest. Only the thread that learns may call this."""
        if not models:
            return
        began, moment = time.monotonic(), time.time()
        kept = {n: samples for n, samples in self.samples.items() if n in models}
        # A later copy than now is older than all others: it was made before the clock was set back.
        number = min(models, key=lambda n: kept[n][-1].time if n in kept and kept[n][-1].time <= moment else 0.0)
        kept[number] = _with(kept.get(number, ()), Sample(moment, largest(models[number])))
        self.samples = kept
        now = time.monotonic()
        self._due = now + max(EVERY / len(models), (now - began) / SHARE)


def _with(samples: tuple[Sample, ...], new: Sample) -> tuple[Sample, ...]:
    kept = [old for old in samples if old.weights and new.time - SPAN < old.time <= new.time]
    if len(kept) > 1 and kept[-1].time - kept[-2].time < KEPT_EVERY:
        kept.pop()
    return (*kept, new)


def largest(model: PartitionModel) -> dict[str, float]:
    """Return the weights of a model that are the largest without their sign; none for a learner without weights.

    >>> from river_margins import PAClassifier
    >>> learner = PAClassifier(C=1.0, intercept=False)
    >>> learner.learn_one({"a": 1.0, "b": -2.0}, True)
    >>> largest(PartitionModel(learner, "", 1, {}.get))
    {'b': -0.4, 'a': 0.2}
    """
    try:
        top = heapq.nlargest(TOP, _flat(model.weights), key=lambda found: abs(found[1]))
    except Exception as error:  # a class of the user may have anything there, which must not end the work
        log.debug("the weights cannot be read: %r", error)
        return {}
    found: dict[str, float] = {}
    for name, weight in top:
        found.setdefault(_short(str(name)), weight)  # of two names that look alike, the larger weight
    return found


def _short(name: str) -> str:
    """Return a name without the middle of a long one: many long names begin alike."""
    half = MAX_NAME_LENGTH // 2
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: half - 1]}…{name[-half:]}"


def _flat(weights: Mapping[Any, Any]) -> Iterator[tuple[Any, float]]:
    for name, weight in weights.items():
        if isinstance(weight, Mapping):
            yield from (
                (f"{name}: {feature}", float(each)) for feature, each in weight.items() if each and math.isfinite(each)
            )
        elif weight and math.isfinite(weight):
            yield name, float(weight)
