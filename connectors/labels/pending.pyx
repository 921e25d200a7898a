"""Contents that wait under a key, in the order in which they came, bounded in event time and in number."""

from cpython cimport array
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

import array
import math

import numpy

from connectors.labels.item import HEAD, Item

PIECE = 4096  # slots
cdef Py_ssize_t LENGTH_OF_HEAD = HEAD.size


cdef void write_number(char* to, uint64_t number) noexcept:
    """Write a number of eight bytes, the lowest byte first, as `HEAD` does."""
    cdef Py_ssize_t i
    for i in range(8):
        to[i] = <char> (number >> (8 * i) & 255)


cdef uint64_t number_at(const char* packed) noexcept:
    """Return the number that `write_number` wrote."""
    cdef uint64_t number = 0
    cdef Py_ssize_t i
    for i in range(8):
        number |= <uint64_t> <unsigned char> packed[i] << (8 * i)
    return number


cdef uint64_t sequence_in(bytes packed) noexcept:
    """Return the sequence number in the head of a content."""
    return number_at(PyBytes_AS_STRING(packed))


cdef int64_t time_in(bytes packed) noexcept:
    """Return the event time in the head of a content."""
    return <int64_t> number_at(PyBytes_AS_STRING(packed) + 8)


cdef class Slots:
    """Some slots in the order of arrival; one whose content has left has no key.

    `sequences` holds the numbers from `start` on, as four bytes each.
    """

    def __init__(self, uint64_t start):
        self.start = start
        self.keys = []
        self.sequences = array.array("I")
        self.is_there = bytearray()

    cdef int add(self, bytes key, uint64_t sequence) except -1:
        cdef Py_ssize_t slot = len(self.keys)
        array.resize_smart(self.sequences, slot + 1)
        PyByteArray_Resize(self.is_there, slot + 1)
        self.sequences.data.as_uints[slot] = <unsigned int> (sequence - self.start)
        PyByteArray_AS_STRING(self.is_there)[slot] = 1
        self.keys.append(key)
        self.count += 1
        return 0

    cdef int remove(self, uint64_t sequence) except -1:
        cdef Py_ssize_t slot = self.place(sequence)
        self.keys[slot] = None
        PyByteArray_AS_STRING(self.is_there)[slot] = 0
        self.count -= 1
        return 0

    cdef bytes first(self):
        return self.keys[self.is_there.index(1)]

    cdef Py_ssize_t place(self, uint64_t sequence) except -1:
        """Return the first slot with this sequence number or a later one."""
        cdef Py_ssize_t low = 0, high = len(self.keys), middle
        cdef const unsigned int* numbers = self.sequences.data.as_uints
        if sequence <= self.start:
            return 0
        while low < high:
            middle = (low + high) // 2
            if numbers[middle] < sequence - self.start:
                low = middle + 1
            else:
                high = middle
        return low

    def numbers(self):
        """Return the sequence numbers of the contents that are there."""
        found = numpy.frombuffer(self.sequences, numpy.uint32)[numpy.frombuffer(self.is_there, numpy.bool_)]
        return found + numpy.uint64(self.start)

    cdef uint64_t number(self, Py_ssize_t slot) noexcept:
        return self.start + self.sequences.data.as_uints[slot]

    cdef bint can_hold(self, uint64_t sequence) noexcept:
        """Whether a number that follows is not too far from the first one."""
        return (sequence - self.start) >> 32 == 0

    cdef int trim(self) except -1:
        """Give back the memory that was meant for more slots."""
        self.keys, self.sequences = self.keys[:], self.sequences[:]
        self.is_there = self.is_there[:]
        return 0

    cdef int take_in(self, Slots other) except -1:
        """Add what is there of the slots that follow, and drop the dead ones of both."""
        numbers = numpy.concatenate([self.numbers(), other.numbers()])
        self.sequences = array.array("I", (numbers - numpy.uint64(self.start)).astype(numpy.uint32).tobytes())
        self.keys = [key for key in self.keys + other.keys if key is not None]
        self.is_there = bytearray(b"\x01") * len(self.keys)
        self.count = len(self.keys)
        return 0


cdef class Pending:
    """Contents by key, in the order in which they came.

    Each content is one bytes object, so a million of them cost the garbage collector nothing. The order is kept in
    pieces of some thousand, so that taking out costs little wherever a content stands.

    Parameters
    ----------
    within
        How long a content waits, in milliseconds of event time: one that came at `time` waits up to `time + within`.
    most
        At most so many wait; the oldest are evicted.

    Attributes
    ----------
    next_sequence
        The number that follows the last one that was added.

    >>> pending = Pending(within=100, most=2)
    >>> for number, name in enumerate([b"a", b"b", b"c"]):
    ...     pending.add(name, number, number * 10)
    >>> [item.key for item in pending.displaced()], [item.key for item in pending.expired(111)]
    ([b'a'], [b'b'])
    """

    def __init__(self, within, most):
        self.within, self.most = min(within, INT64_MAX), min(most, PY_SSIZE_T_MAX)
        self.contents, self._pieces = {}, []
        self.due_at = INT64_MAX

    def __len__(self):
        return len(self.contents)

    def __contains__(self, key):
        return key in self.contents

    def __iter__(self):
        return self.between(0, self.next_sequence)

    @property
    def due(self):
        """Nothing expires before the event time is later than this."""
        return math.inf if self.due_at == INT64_MAX else self.due_at

    @property
    def is_overfull(self):
        """Whether so many wait that some must be evicted."""
        return len(self.contents) > self.most

    cdef bint has(self, bytes key) except -1:
        return key in self.contents

    def add(self, bytes key, sequence, time, bytes content=b""):
        """Let a content wait. Its key is new; sequence numbers rise, and times never fall."""
        self.put(key, sequence, time, HEAD.pack(sequence, time) + content)

    def add_packed(self, bytes key, sequence, time, bytes packed):
        """Let a content wait that was packed already, see `Item`."""
        self.put(key, sequence, time, packed)

    cdef int put(self, bytes key, uint64_t sequence, int64_t time, bytes packed) except -1:
        cdef Slots piece = self._pieces[len(self._pieces) - 1] if self._pieces else None
        if key in self.contents or sequence < self.next_sequence:
            raise ValueError(f"`{key!r}` with sequence {sequence}: it waits already, or came out of order")
        self.contents[key] = packed
        if piece is None or len(piece.keys) >= PIECE or not piece.can_hold(sequence):
            if piece is not None:
                piece.trim()
            piece = Slots(sequence)
            self._pieces.append(piece)
        piece.add(key, sequence)
        self.next_sequence = sequence + 1
        if self.due_at == INT64_MAX:
            self.due_at = self.due_after(time)
        return 0

    cdef int64_t due_after(self, int64_t time) noexcept:
        return INT64_MAX if time > INT64_MAX - self.within else time + self.within

    cpdef int renew(self, bytes key, int64_t time, bytes content) except -1:
        """Let a content wait as the last one, in place of one under its key; if so many wait, the oldest is evicted."""
        cdef Py_ssize_t length = PyBytes_GET_SIZE(content)
        cdef bytes packed = PyBytes_FromStringAndSize(NULL, LENGTH_OF_HEAD + length)
        write_number(PyBytes_AS_STRING(packed), self.next_sequence)
        write_number(PyBytes_AS_STRING(packed) + 8, <uint64_t> time)
        memcpy(PyBytes_AS_STRING(packed) + LENGTH_OF_HEAD, PyBytes_AS_STRING(content), length)
        self.take(key)
        self.put(key, self.next_sequence, time, packed)
        while len(self.contents) > self.most:
            self.take(self.oldest())
        return 0

    cdef bytes content(self, bytes key):
        """Return what waits under a key, with its head, or None."""
        return self.contents.get(key)

    def get(self, bytes key):
        """Return the content under a key, or None."""
        found = self.content(key)
        return None if found is None else Item(key, found)

    def pop(self, bytes key):
        """Take out the content under a key, or return None."""
        found = self.take(key)
        return None if found is None else Item(key, found)

    cdef bytes take(self, bytes key):
        """Take out what waits under a key, and return it with its head, or None."""
        cdef bytes found = self.contents.pop(key, None)
        cdef Slots piece
        cdef Py_ssize_t number
        if found is None:
            return None
        number = self.piece_of(sequence_in(found))
        piece = self._pieces[number]
        piece.remove(sequence_in(found))
        if 2 * piece.count < len(piece.keys):
            self.tidy(number)
        self.left += 1
        if self.left > PIECE + len(self.contents) // 4:
            # With many insertions and deletions, CPython would double the table of the dict.
            self.contents, self.left = dict(self.contents), 0
        return found

    cdef Py_ssize_t piece_of(self, uint64_t sequence) except? -2:
        """Return the last piece that begins with this sequence number or an earlier one; -1 if there is none."""
        cdef Py_ssize_t low = 0, high = len(self._pieces), middle
        while low < high:
            middle = (low + high) // 2
            if (<Slots> self._pieces[middle]).start <= sequence:
                low = middle + 1
            else:
                high = middle
        return low - 1

    cdef int tidy(self, Py_ssize_t number) except -1:
        """Drop a piece with nothing in it; add a small one to the piece before it."""
        cdef Slots piece = self._pieces[number], before = self._pieces[number - 1] if number else None
        cdef bint is_small = before is not None and piece.count + before.count <= PIECE // 2
        cdef Py_ssize_t last = len(piece.keys) - 1
        if piece.count and is_small and before.can_hold(piece.number(last)):
            before.take_in(piece)
        elif piece.count:
            piece.take_in(Slots(0))
            return 0
        del self._pieces[number]
        return 0

    cdef bytes overdue(self, int64_t time):
        """Return the key of the oldest content if it has waited too long at this event time; else None."""
        cdef bytes key
        while time > self.due_at:
            if not self._pieces:
                self.due_at = INT64_MAX
                return None
            key = self.oldest()
            self.due_at = self.due_after(time_in(self.contents[key]))
            if time > self.due_at:
                return key
        return None

    cdef bytes oldest(self):
        return (<Slots> self._pieces[0]).first()

    def expired(self, time):
        """Take out and yield what has waited too long at this event time, the oldest first."""
        while (key := self.overdue(time)) is not None:
            yield self.pop(key)

    cpdef int drop_expired(self, int64_t time) except -1:
        """Take out what has waited too long at this event time."""
        cdef bytes key
        while True:
            key = self.overdue(time)
            if key is None:
                return 0
            self.take(key)

    def displaced(self):
        """Take out and yield the oldest while too many wait."""
        while len(self.contents) > self.most:
            yield self.pop(self.oldest())

    def between(self, start, end):
        """Yield what waits with a sequence number from `start` on and below `end`, in order."""
        cdef Slots piece
        for piece in self._pieces_between(start, end):
            for key in piece.keys[piece.place(start) : piece.place(end)]:
                if key is not None:
                    yield Item(key, self.contents[key])

    def columns_between(self, start, end):
        """Return what `between` yields, as the keys, their packed contents, and the lengths of all keys and all contents."""
        cdef Slots piece
        cdef bytes key, content
        cdef Py_ssize_t i
        cdef list keys = [], contents = []
        for piece in self._pieces_between(start, end):
            for i in range(piece.place(start), piece.place(end)):
                if piece.keys[i] is not None:
                    key = piece.keys[i]
                    keys.append(key)
                    contents.append(self.contents[key])
        lengths = numpy.empty(2 * len(keys), "=u4")
        cdef uint32_t[::1] view = lengths
        for i in range(len(keys)):
            view[i] = PyBytes_GET_SIZE(<bytes> keys[i])
            view[len(keys) + i] = PyBytes_GET_SIZE(<bytes> contents[i])
        return keys, contents, lengths

    def count_between(self, start, end):
        """Return how many wait with a sequence number from `start` on and below `end`."""
        cdef Slots piece
        cdef Py_ssize_t count = 0
        for piece in self._pieces_between(start, end):
            count += piece.is_there.count(1, piece.place(start), piece.place(end))
        return count

    def _pieces_between(self, uint64_t start, uint64_t end):
        cdef Py_ssize_t last = 0 if end == 0 else self.piece_of(end - 1) + 1
        return self._pieces[max(0, self.piece_of(start)) : last]

    def sequences(self):
        """Return the sequence numbers of all that wait, in order."""
        return numpy.concatenate([numpy.empty(0, numpy.uint64), *[(<Slots> piece).numbers() for piece in self._pieces]])

    def runs(self):
        """Return the runs of consecutive sequence numbers that wait, as pairs of the first number and the length."""
        cdef Slots piece
        cdef Py_ssize_t i, length, count = 0  # of runs
        cdef uint64_t end = 0
        cdef array.array found = array.array("Q")
        for piece in self._pieces:
            i, length = 0, len(piece.keys)
            while i < length:
                if PyByteArray_AS_STRING(piece.is_there)[i]:
                    if not count or piece.number(i) != end:
                        count += 1
                        array.resize_smart(found, 2 * count)
                        found.data.as_ulonglongs[2 * count - 2] = piece.number(i)
                    if piece.count == length and piece.number(length - 1) - piece.number(0) == <uint64_t> length - 1:
                        i = length - 1  # without a gap
                    end = piece.number(i) + 1
                    found.data.as_ulonglongs[2 * count - 1] = end
                i += 1
        runs = numpy.array(found, "u8").reshape(-1, 2)
        runs[:, 1] -= runs[:, 0]
        return runs
