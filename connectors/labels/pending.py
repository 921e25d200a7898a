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
    packed
        Its number in the order of arrival and the event time at which it came, as `HEAD`, and then the content.
    """

    key: bytes
    packed: bytes

    @property
    def sequence(self) -> int:
        """Its number in the order of arrival."""
        return HEAD.unpack_from(self.packed)[0]

    @property
    def time(self) -> int:
        """The event time at which it came, in milliseconds."""
        return HEAD.unpack_from(self.packed)[1]


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

    Attributes
    ----------
    due
        Nothing expires before the event time is later than this.
    next_sequence
        The number that follows the last one that was added.

    >>> pending = Pending(within=100, most=2)
    >>> for number, name in enumerate([b"a", b"b", b"c"]):
    ...     pending.add(name, number, number * 10)
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
        self.due: float = math.inf
        self.next_sequence = 0

    def __len__(self) -> int:
        return len(self._contents)

    def __contains__(self, key: bytes) -> bool:
        return key in self._contents

    def __iter__(self) -> Iterator[Item]:
        return self.between(0, self.next_sequence)

    @property
    def is_overfull(self) -> bool:
        """Whether so many wait that some must give way."""
        return len(self._contents) > self.most

    def add(self, key: bytes, sequence: int, time: int, content: bytes = b"") -> None:
        """Let a content wait. Its key is new; sequence numbers rise, and times never fall."""
        self.add_packed(key, sequence, time, HEAD.pack(sequence, time) + content)

    def add_packed(self, key: bytes, sequence: int, time: int, packed: bytes) -> None:
        """Let a content wait that was packed already, see `Item`."""
        if key in self._contents or sequence < self.next_sequence:
            raise ValueError(f"`{key!r}` with sequence {sequence}: it waits already, or came out of order")
        self._contents[key] = packed
        self._keys.append(key)
        self._sequences.append(sequence)
        self._is_there.append(1)
        self.next_sequence = sequence + 1
        if self.due == math.inf:
            self.due = time + self.within

    def get(self, key: bytes) -> Item | None:
        """Return the content under a key, or None."""
        found = self._contents.get(key)
        return None if found is None else Item(key, found)

    def pop(self, key: bytes) -> Item | None:
        """Take out the content under a key, or return None."""
        found = self._contents.pop(key, None)
        if found is None:
            return None
        slot = bisect.bisect_left(self._sequences, HEAD.unpack_from(found)[0], self._front)
        self._keys[slot], self._is_there[slot] = None, 0
        self._dead += 1
        if self._dead > FEWEST_DEAD + len(self._contents) // 4:
            self._compact()
        return Item(key, found)

    def expired(self, time: int) -> Iterator[Item]:
        """Take out and yield what has waited too long at this event time, the oldest first."""
        while time > self.due:
            oldest = self._oldest()
            self.due = math.inf if oldest is None else oldest.time + self.within
            if oldest is not None and time > self.due:
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
                yield Item(key, self._contents[key])

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
