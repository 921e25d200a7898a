"""Bare learners that mix when the committed history of a mixing topic says so."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from connectors.snapshots.names import SnapshotName
from river_margins.conversions import mix


def follow(
    history: Iterable[tuple[int, dict[str, Any]]], learners: dict[int, Any], play: Callable[[int, int], int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Repeat each mixing of a history of partitions and what they published, and yield it afterwards.

    `play` lets the learner of a partition learn its records before an offset, and returns how many it has learned in
    all. Afterwards `learners` are those at the last mixing of each partition.
    """
    published: dict[tuple[int, str], Any] = {}
    for number, value in history:
        name = SnapshotName.parse(value["snapshot"])
        assert name is not None
        learned = play(number, name.offset)
        assert name.examples == learned, f"partition {number}: {name.examples} examples are said, {learned} are right"
        mixed = sorted((int(other), snapshot) for other, snapshot in value["mixed"].items())
        if mixed:
            shares = [float(learned > 0), *[1.0] * len(mixed)]
            learners[number] = mix([learners[number], *(published[each] for each in mixed)], shares)
        published[number, value["snapshot"]] = copy.deepcopy(learners[number])
        yield number, value
