"""Contents that wait under a key, in the order in which they came, bounded in event time and in number."""

import array
import bisect
import math
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy

HEAD = struct.Struct("<Qq")  # sequence number and event time, in front of each content
FEWEST_DEAD = 1000  # slots of contents that left, before a compaction


class Item(NamedTuple):
    """One content that waits.

    Attributes
    ----------
    key
        The key under which it waits.
    sequence
        Its number in the order of arrival.
    time
        The event time at which it came, in milliseconds.
    content
        The content itself.
    """

    key: bytes
    sequence: int
    time: int
    content: bytes


class Pending:
    """Contents by key, in the order in which they came.

    Each content is one bytes object, so a million of them cost the garbage collector nothing. All methods take constant
    time, apart from a compaction after each quarter of the contents has left.

    Parameters
    ----------
    within
        How long a content waits, in milliseconds of event time: one that came at `time` waits up to `time + within`.
    most
        At most so many wait; the oldest give way.

    >>> pending = Pending(within=100, most=2)
    >>> for number, name in enumerate([b"a", b"b", b"c"]):
    ...     pending.add(name, number, number * 10, b"")
    >>> [item.key for item in pending.displaced()], [item.key for item in pending.expired(111)]
    ([b'a'], [b'b'])
    """

    def __init__(self, within: int, most: int) -> None:
        self.within, self.most = within, most
        self._contents: dict[bytes, bytes] = {}
        # One slot for each content, in the order of arrival. A slot whose content has left has no key.
        self._keys: list[bytes | None] = []
        self._sequences = array.array("Q")
        self._is_there = bytearray()
        self._front = self._dead = 0  # the slots before `_front` are dead; `_dead` counts all dead ones
        self._due: float = math.inf  # no content expires before this event time is passed
        self.next_sequence = 0

    def __len__(self) -> int:
        return len(self._contents)

    def __contains__(self, key: bytes) -> bool:
        return key in self._contents

    def __iter__(self) -> Iterator[Item]:
        return self.between(0, self.next_sequence)

    def add(self, key: bytes, sequence: int, time: int, *content: bytes) -> None:
        """Let a content wait, given in parts. Its key is new; sequence numbers rise, and times never fall."""
        if key in self._contents or sequence < self.next_sequence:
            raise ValueError(f"`{key!r}` with sequence {sequence}: it waits already, or came out of order")
        self._contents[key] = b"".join((HEAD.pack(sequence, time), *content))
        self._keys.append(key)
        self._sequences.append(sequence)
        self._is_there.append(1)
        self.next_sequence = sequence + 1
        self._due = min(self._due, time + self.within)

    def get(self, key: bytes) -> Item | None:
        """Return the content under a key, or None."""
        found = self._contents.get(key)
        return None if found is None else _item(key, found)

    def pop(self, key: bytes) -> Item | None:
        """Take out the content under a key, or return None."""
        found = self._contents.pop(key, None)
        if found is None:
            return None
        sequence, time = HEAD.unpack_from(found)
        slot = bisect.bisect_left(self._sequences, sequence, self._front)
        self._keys[slot], self._is_there[slot] = None, 0
        self._dead += 1
        if self._dead > FEWEST_DEAD + len(self._contents) // 4:
            self._compact()
        return Item(key, sequence, time, found[HEAD.size :])

    def expired(self, time: int) -> Iterator[Item]:
        """Take out and yield what has waited too long at this event time, the oldest first."""
        while time > self._due:
            oldest = self._oldest()
            if oldest is None or oldest.time + self.within >= time:
                self._due = math.inf if oldest is None else oldest.time + self.within
                return
            self.pop(oldest.key)
            yield oldest

    def displaced(self) -> Iterator[Item]:
        """Take out and yield the oldest while too many wait."""
        while len(self._contents) > self.most:
            oldest = self._oldest()
            assert oldest is not None
            self.pop(oldest.key)
            yield oldest

    def between(self, start: int, end: int) -> Iterator[Item]:
        """Yield what waits with a sequence number from `start` on and below `end`, in order."""
        first, last = (bisect.bisect_left(self._sequences, number, self._front) for number in (start, end))
        for key in self._keys[first:last]:
            if key is not None:
                yield _item(key, self._contents[key])

    def count_between(self, start: int, end: int) -> int:
        """Return how many wait with a sequence number from `start` on and below `end`."""
        first, last = (bisect.bisect_left(self._sequences, number, self._front) for number in (start, end))
        return self._is_there.count(1, first, last)

    def sequences(self) -> numpy.ndarray:
        """Return the sequence numbers of all that wait, in order."""
        numbers = numpy.frombuffer(self._sequences, numpy.uint64) if self._sequences else numpy.empty(0, numpy.uint64)
        return numbers[numpy.frombuffer(self._is_there, numpy.bool_)]

    def _oldest(self) -> Item | None:
        keys, front = self._keys, self._front
        while front < len(keys) and keys[front] is None:
            front += 1
        self._front = front
        key = keys[front] if front < len(keys) else None
        return None if key is None else self.get(key)

    def _compact(self) -> None:
        # The dict is built again, too: with many insertions CPython would double its table.
        self._contents = dict(self._contents)
        self._sequences = array.array("Q", self.sequences().tobytes())
        self._keys = [key for key in self._keys if key is not None]
        self._is_there = bytearray(b"\x01") * len(self._keys)
        self._front = self._dead = 0


def _item(key: bytes, content: bytes) -> Item:
    sequence, time = HEAD.unpack_from(content)
    return Item(key, sequence, time, content[HEAD.size :])
