"""Contents that wait under a key, in the order in which they came, bounded in event time and in number."""

import array
import bisect
import math
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy

HEAD = struct.Struct("<Qq")  # sequence number and event time, in front of each content
PIECE = 4096  # slots


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


class _Slots:
    """Some slots in the order of arrival; one whose content has left has no key.

    `sequences` holds the numbers from `start` on, as four bytes each.
    """

    __slots__ = ("count", "is_there", "keys", "sequences", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.keys: list[bytes | None] = []
        self.sequences = array.array("I")
        self.is_there = bytearray()
        self.count = 0  # of contents that are there

    def remove(self, sequence: int) -> None:
        slot = bisect.bisect_left(self.sequences, sequence - self.start)
        self.keys[slot], self.is_there[slot] = None, 0
        self.count -= 1

    def first(self) -> bytes:
        key = self.keys[self.is_there.index(1)]
        assert key is not None
        return key

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Return the slots from one sequence number on and below another one."""
        first, last = (bisect.bisect_left(self.sequences, number - self.start) for number in (start, end))
        return first, last

    def numbers(self) -> numpy.ndarray:
        """Return the sequence numbers of the contents that are there."""
        found = numpy.frombuffer(self.sequences, numpy.uint32)[numpy.frombuffer(self.is_there, numpy.bool_)]
        return found + numpy.uint64(self.start)

    def can_hold(self, sequence: int) -> bool:
        """Whether a number that follows is not too far from the first one."""
        return sequence - self.start < 2**32

    def trim(self) -> None:
        """Give back the memory that was meant for more slots."""
        self.keys, self.sequences = self.keys[:], self.sequences[:]
        self.is_there = self.is_there[:]

    def take_in(self, other: "_Slots") -> None:
        """Add what is there of the slots that follow, and drop the dead ones of both."""
        numbers = numpy.concatenate([self.numbers(), other.numbers()])
        self.sequences = array.array("I", (numbers - numpy.uint64(self.start)).astype(numpy.uint32).tobytes())
        self.keys = [key for slots in (self, other) for key in slots.keys if key is not None]
        self.is_there = bytearray(b"\x01") * len(self.keys)
        self.count = len(self.keys)


class Pending:
    """Contents by key, in the order in which they came.

    Each content is one bytes object, so a million of them cost the garbage collector nothing. The order is kept in
    pieces of some thousand, so that taking out costs little wherever a content stands.

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
        self._pieces: list[_Slots] = []  # each with a content that is there
        self._starts: list[int] = []  # no sequence number in a piece is below its start, and all before it are
        self._left = 0  # contents taken out since the dict was built
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
        piece = self._pieces[-1] if self._pieces else None
        if piece is None or len(piece.keys) >= PIECE or not piece.can_hold(sequence):
            if piece is not None:
                piece.trim()
            piece = _Slots(sequence)
            self._pieces.append(piece)
            self._starts.append(sequence)
        piece.keys.append(key)
        piece.sequences.append(sequence - piece.start)
        piece.is_there.append(1)
        piece.count += 1
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
        sequence = HEAD.unpack_from(found)[0]
        number = bisect.bisect_right(self._starts, sequence) - 1
        piece = self._pieces[number]
        piece.remove(sequence)
        if 2 * piece.count < len(piece.keys):
            self._tidy(number)
        self._left += 1
        if self._left > PIECE + len(self._contents) // 4:
            # With many insertions and deletions, CPython would double the table of the dict.
            self._contents, self._left = dict(self._contents), 0
        return Item(key, found)

    def _tidy(self, number: int) -> None:
        """Drop a piece with nothing in it; add a small one to the piece before it."""
        piece, before = self._pieces[number], self._pieces[number - 1] if number else None
        is_small = before is not None and piece.count + before.count <= PIECE // 2
        if piece.count and before is not None and is_small and before.can_hold(piece.start + piece.sequences[-1]):
            before.take_in(piece)
        elif piece.count:
            piece.take_in(_Slots(0))
            return
        del self._pieces[number], self._starts[number]

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

    def _oldest(self) -> Item | None:
        return self.get(self._pieces[0].first()) if self._pieces else None

    def between(self, start: int, end: int) -> Iterator[Item]:
        """Yield what waits with a sequence number from `start` on and below `end`, in order."""
        for piece in self._pieces_between(start, end):
            first, last = piece.between(start, end)
            for key in piece.keys[first:last]:
                if key is not None:
                    yield Item(key, self._contents[key])

    def columns_between(self, start: int, end: int) -> tuple[list[bytes], list[bytes]]:
        """Return what `between` yields, as the keys and their packed contents."""
        keys: list[bytes] = []
        for piece in self._pieces_between(start, end):
            first, last = piece.between(start, end)
            keys += [key for key in piece.keys[first:last] if key is not None]
        return keys, list(map(self._contents.__getitem__, keys))

    def count_between(self, start: int, end: int) -> int:
        """Return how many wait with a sequence number from `start` on and below `end`."""
        return sum(piece.is_there.count(1, *piece.between(start, end)) for piece in self._pieces_between(start, end))

    def _pieces_between(self, start: int, end: int) -> list[_Slots]:
        first = max(0, bisect.bisect_right(self._starts, start) - 1)
        return self._pieces[first : bisect.bisect_left(self._starts, end)]

    def sequences(self) -> numpy.ndarray:
        """Return the sequence numbers of all that wait, in order."""
        return numpy.concatenate([numpy.empty(0, numpy.uint64), *(piece.numbers() for piece in self._pieces)])
