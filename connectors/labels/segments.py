"""Which segments of the state of `WaitingRecords` to keep, and which to write again as one."""

from collections.abc import Sequence
from typing import NamedTuple

from connectors.labels.state import count_between
from connectors.labels.waiting import Position, WaitingRecords

FANOUT = 8


class Segment(NamedTuple):
    """A segment that was written.

    Attributes
    ----------
    name, sha256
        The name under which it is stored, and the SHA-256 of its bytes.
    level
        How often its contents were written before.
    start, end
        The positions between which its contents came.
    """

    name: str
    sha256: str
    level: int
    start: Position
    end: Position


class Plan(NamedTuple):
    """What a commit does with the segments.

    Attributes
    ----------
    kept
        The segments that stay.
    start, level
        The new segment begins at this position, and has this level.
    is_empty
        Whether nothing waits that came since then: no new segment is needed.
    """

    kept: list[Segment]
    start: Position
    level: int
    is_empty: bool


def plan(waiting: WaitingRecords, segments: Sequence[Segment], written: Position) -> Plan:
    """Return what the next commit does: a segment of which nothing waits is dropped, and eight of one level become one.

    So a million commits leave some fifty segments, and a content is written again once for each eight times as many
    commits that it waits.

    Parameters
    ----------
    waiting
        What waits.
    segments
        The segments of the last commit, in order.
    written
        The position at the last commit.
    """
    kept = [segment for segment in segments if count_between(waiting, segment.start, segment.end)]
    start, level = written, 0
    while len(kept) >= FANOUT - 1 and all(segment.level <= level for segment in kept[1 - FANOUT :]):
        start = kept[1 - FANOUT].start
        del kept[1 - FANOUT :]
        level += 1
    return Plan(kept, start, level, not count_between(waiting, start, waiting.position))
