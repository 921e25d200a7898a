"""Which segments of the state of `WaitingRecords` to keep, and which to write."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from connectors.labels.state import count_between
from connectors.labels.waiting import Position, WaitingRecords

LENGTHS = (8, 16, 32, 64)  # of neighbours that may become one
LARGEST = 50_000  # contents of several segments that become one: so a commit takes little longer
LARGEST_PART = (
    1 / 6
)  # of them in one segment: so each content is written again only when the rest is five times as much


class Segment(NamedTuple):
    """A segment that was written.

    Attributes
    ----------
    name, sha256
        The name under which it is stored, and the SHA-256 of its bytes.
    start, end
        The positions between which its contents came.
    """

    name: str
    sha256: str
    start: Position
    end: Position


class Plan(NamedTuple):
    """What a commit does with the segments.

    Attributes
    ----------
    kept
        The segments that stay.
    new
        The positions between which new segments are to be written: one for what came since the last commit, one for
        some that become one, or one for both.
    """

    kept: list[Segment]
    new: list[tuple[Position, Position]]

    def segments(self, write: Callable[[int, Position, Position], tuple[str, str]]) -> list[Segment]:
        """Return the segments that are needed afterwards, in order, after `write` has written each new one.

        It gets the number of the new segment and its positions, and returns its name and SHA-256.
        """
        new = [Segment(*write(number, *ends), *ends) for number, ends in enumerate(self.new)]
        return sorted([*self.kept, *new], key=lambda segment: segment.start)


def plan(waiting: WaitingRecords, segments: Sequence[Segment], written: Position) -> Plan:
    """Return what the next commit does: a segment of which nothing waits is dropped, and many small ones become one.

    So a million commits of a few contents leave some fifty segments, and many contents one for some ten thousand.

    Parameters
    ----------
    waiting
        What waits.
    segments
        The segments of the last commit, in order.
    written
        The position at the last commit.
    """
    counted = [(segment, count_between(waiting, segment.start, segment.end)) for segment in segments]
    kept = [(segment, count) for segment, count in counted if count]
    since = count_between(waiting, written, waiting.position)
    spans = [(segment.start, segment.end) for segment, _ in kept] + [(written, waiting.position)] * (since > 0)
    first, last = _small_neighbours([count for _, count in kept] + [since] * (since > 0))
    new = [(spans[first][0], spans[last - 1][1])] if last else []
    new += spans[max(last, len(kept)) :]
    return Plan([segment for number, (segment, _) in enumerate(kept) if not first <= number < last], new)


def _small_neighbours(counts: Sequence[int]) -> tuple[int, int]:
    """Return the first of some neighbours that shall become one, and the number after the last; 0, 0 for none."""
    sums = [0, *itertools.accumulate(counts)]
    for length in LENGTHS:
        for first in range(len(counts) - length, -1, -1):
            total = sums[first + length] - sums[first]
            if total <= LARGEST and max(counts[first : first + length]) <= LARGEST_PART * total:
                return first, first + length
    return 0, 0
