"""`WaitingRecords` as bytes, written piece by piece: each commit writes what came since the last one.

A *segment* holds what came between two positions and still waits. A *manifest* tells the event time, and which sequence
numbers wait: whatever else the segments hold has left since. So a segment is written once, is needed as long as
`count_between` of its positions is not 0, and can be replaced by a new one between the same positions, which leaves out
what does not wait any more.

All numbers are little-endian. Both begin with four letters and end with the CRC-32 of all before it:

    segment   "RMS1", then for records, labels and remembered ids: the number of items (u32), the lengths of all keys
              (u32 each), the lengths of all contents (u32 each), all keys, all contents
    content   sequence number (u64), event time (i64), and what waits
    manifest  "RMM1", event time (i64), then for records, labels and remembered ids: the next sequence number (u64), and
              the numbers that wait: their form (u8), the number of words (u64), and the words (u64 each)
    form      0: pairs of the first number of a run and its length; 1: the first number, then 64 numbers in each word

What waits is packed by `connectors.labels.waiting`.
"""

import io
import struct
import zlib
from collections.abc import Iterable, Iterator

import numpy

from connectors.labels.item import HEAD, Item
from connectors.labels.pending import Pending
from connectors.labels.waiting import BEGINNING, BadState, Position, WaitingRecords, check_content

SEGMENT, MANIFEST = b"RMS1", b"RMM1"
_COUNT = struct.Struct("<I")
_TIME = struct.Struct("<q")
_NUMBERS = struct.Struct("<QBQ")
_CRC = struct.Struct("<I")
RUNS, BITS = 0, 1


def parts_of(waiting: WaitingRecords) -> tuple[Pending, Pending, Pending]:
    """Return the three parts in the order of `Position`."""
    return waiting.records, waiting.labels, waiting.gone


def count_between(waiting: WaitingRecords, start: Position, end: Position) -> int:
    """Return how much of what came between two positions still waits."""
    return sum(part.count_between(*ends) for part, *ends in zip(parts_of(waiting), start, end, strict=True))


def write_segment(waiting: WaitingRecords, start: Position, end: Position | None = None) -> bytes:
    """Return what came from a position on, up to another one or until now, and still waits."""
    written = [SEGMENT]
    for part, first, last in zip(parts_of(waiting), start, end or waiting.position, strict=True):
        keys, contents, lengths = part.columns_between(first, last)
        written += (_COUNT.pack(len(keys)), lengths.astype("<u4").tobytes(), *keys, *contents)
    return _signed(written)


def write_manifest(waiting: WaitingRecords) -> bytes:
    """Return the event time, and the sequence numbers of all that waits."""
    written = [MANIFEST, _TIME.pack(waiting.time)]
    for part in parts_of(waiting):
        form, words = _words(part)
        written += (_NUMBERS.pack(part.next_sequence, form, len(words)), words.tobytes())
    return _signed(written)


def read(manifest: bytes, segments: Iterable[bytes], within: int, pending: int) -> WaitingRecords:
    """Return what waits according to a manifest and the segments it needs, in any order; raise BadState.

    `within` and `pending` are the bounds from now on.
    """
    waiting = WaitingRecords(within, pending)
    waiting.time, numbers = _read_manifest(manifest)
    found: list[list[Item]] = [[], [], []]
    for segment in segments:
        for of_part, items in zip(found, _read_segment(segment), strict=True):
            of_part += items
    for index, (part, (next_sequence, waits)) in enumerate(zip(parts_of(waiting), numbers, strict=True)):
        _fill(part, found[index], waits, waiting.time, index)
        if part.next_sequence > next_sequence:
            raise BadState("the manifest is damaged: a number waits that did not come yet")
        part.next_sequence = next_sequence
    return waiting


def _fill(part: Pending, items: list[Item], waits: numpy.ndarray, latest: int, index: int) -> None:
    """Let those items wait whose numbers are listed."""
    there = set(waits.tolist())
    items = [item for item in items if item.sequence in there]
    by_number = {item.sequence: item for item in items}
    if len(by_number) != len(items):
        raise BadState("the segments are damaged: a number is in two of them")
    if len(by_number) != len(there):
        raise BadState(f"{len(there) - len(by_number)} of {len(there)} contents are missing in the segments")
    time = BEGINNING
    for number in waits.tolist():
        item = by_number[number]
        if not time <= item.time <= latest or item.key in part:
            raise BadState("the segments are damaged: an event time goes back, or a key is there twice")
        check_content(index, item)
        part.add_packed(item.key, number, item.time, item.packed)
        time = item.time


def _words(part: Pending) -> tuple[int, numpy.ndarray]:
    """Return form and words of the numbers that wait, in the form that is shorter."""
    runs = part.runs()
    if not len(runs):
        return RUNS, numpy.empty(0, "<u8")
    first, span = runs[0, 0], int(runs[-1].sum() - runs[0, 0])
    if 2 * len(runs) <= span // 64 + 2:
        return RUNS, runs.astype("<u8").ravel()
    bits = numpy.zeros((span + 63) // 64 * 64, numpy.uint8)
    bits[(part.sequences() - first).astype(numpy.int64)] = 1
    packed = numpy.packbits(bits, bitorder="little").view("<u8")
    return BITS, numpy.concatenate([numpy.array([first], "<u8"), packed])


def _numbers(form: int, words: numpy.ndarray, end: int) -> numpy.ndarray:
    """Return the rising numbers below `end` that words express."""
    if form == RUNS and len(words) % 2 == 0:
        starts, lengths = words[::2], words[1::2]
        ends = starts + lengths
        is_rising = (lengths > 0).all() and (ends > starts).all() and (starts[1:] > ends[:-1]).all()
        if not is_rising or (len(ends) and int(ends[-1]) > end):
            raise BadState("the manifest is damaged: its runs overlap, or have no end")
        return _concatenated(starts, lengths)
    if form == BITS and len(words) > 1:
        bits = numpy.flatnonzero(numpy.unpackbits(words[1:].view(numpy.uint8), bitorder="little"))
        if int(words[0]) + 64 * len(words) < 2**64:
            return bits.astype(numpy.uint64) + words[0]
    raise BadState("the manifest is damaged: it lists numbers in no known form")


def _concatenated(starts: numpy.ndarray, lengths: numpy.ndarray) -> numpy.ndarray:
    total = sum(lengths.tolist())
    if total > 2**32:
        raise BadState("the manifest is damaged: more than 2^32 contents would wait")
    steps = numpy.repeat(starts - (numpy.cumsum(lengths) - lengths), lengths.astype(numpy.int64))
    return numpy.arange(total, dtype=numpy.uint64) + steps


def _read_manifest(data: bytes) -> tuple[int, list[tuple[int, numpy.ndarray]]]:
    reader = _Reader(data, MANIFEST, "manifest")
    (time,) = reader.take(_TIME)
    numbers = []
    for _ in Position._fields:
        next_sequence, form, count = reader.take(_NUMBERS)
        words = numpy.frombuffer(reader.bytes(8 * count), "<u8")
        numbers.append((next_sequence, _numbers(form, words, next_sequence)))
    reader.end()
    return time, numbers


def _read_segment(data: bytes) -> Iterator[list[Item]]:
    reader = _Reader(data, SEGMENT, "segment")
    for _ in Position._fields:
        (count,) = reader.take(_COUNT)
        lengths = numpy.frombuffer(reader.bytes(8 * count), "<u4").tolist()
        if min(lengths[count:], default=HEAD.size) < HEAD.size:
            raise BadState("the segment is damaged: a content is too short")
        keys = [reader.bytes(length) for length in lengths[:count]]
        yield [Item(key, reader.bytes(length)) for key, length in zip(keys, lengths[count:], strict=True)]
    reader.end()


def _signed(written: list[bytes]) -> bytes:
    data = io.BytesIO()  # which copies what was written only once
    data.writelines(written)
    data.write(_CRC.pack(zlib.crc32(data.getbuffer())))
    return data.getvalue()


class _Reader:
    """Reads numbers and bytes from data with a CRC-32 at the end, and never past it."""

    def __init__(self, data: bytes, begins: bytes, what: str) -> None:
        self._data, self._what, self._at, self._end = data, what, len(begins), len(data) - _CRC.size
        if not data.startswith(begins):
            raise BadState(f"these {len(data)} bytes are not a {what}: they do not begin with `{begins.decode()}`")
        if self._end < self._at or _CRC.unpack_from(data, self._end)[0] != zlib.crc32(memoryview(data)[: self._end]):
            raise BadState(f"the {what} of {len(data)} bytes is damaged: its CRC does not match")

    def take(self, numbers: struct.Struct) -> tuple[int, ...]:
        return numbers.unpack(self.bytes(numbers.size))

    def bytes(self, length: int) -> bytes:
        if length > self._end - self._at:
            raise BadState(f"the {self._what} is damaged: it ends too early")
        self._at += length
        return self._data[self._at - length : self._at]

    def end(self) -> None:
        if self._at != self._end:
            raise BadState(f"the {self._what} is damaged: it goes on after its end")
