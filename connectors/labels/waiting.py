"""What waits in one partition: predicted records for their label, and labels for their record.

`WaitingRecords` joins the two. It knows nothing of models: `connectors.labels.late_learning` has the route of a record
and of a label through a model.
"""

import enum
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from connectors.labels.item import HEAD, Item
from connectors.labels.merging import NO_TIME
from connectors.labels.pending import Pending
from connectors.model.records import ANY_KEYS, Record
from connectors.model.rejects import Reject

BEGINNING = -(2**63)  # the event time before the first record
# The content of a record: what was predicted, in one of these forms, and then its bytes.
_FALSE, _TRUE, _NONE, SAME, _JSON, _MODELS = range(6)  # with a number as score; that itself; any; several models
SCORE = struct.Struct("<QqBd")  # head, form, and score
_LENGTH_OF_JSON = struct.Struct("<QqBI")
FORMS = {False: _FALSE, True: _TRUE, None: _NONE}
_PREDICTIONS = {form: prediction for prediction, form in FORMS.items()}
# The content of a label: the timestamp of its message, then key, value, and the names and contents of its headers, each
# behind its length.
_TIMESTAMP = struct.Struct("<q")
_LENGTH = struct.Struct("<i")
_OFFSET = "\0offset"  # a further header, the last one, with the offset of a label whose number is another one


class Gone(enum.IntEnum):
    """Why a record waits no longer for its label."""

    SETTLED = 0
    EXPIRED = 1
    DISPLACED = 2


class WaitingRecord(NamedTuple):
    """A record that was predicted and waits for its label, or waited until now.

    Attributes
    ----------
    id
        The id by which its label finds it, as text.
    sequence
        Its offset in the topic, or the line of the file.
    time
        The event time at which it was predicted, in milliseconds.
    prediction, score
        What the model said then.
    value
        Its bytes as they were read.
    answers
        With several models: prediction and score of each one by name, or None for one that refused the features. The
        first one is that of the model whose prediction counted.
    """

    id: str
    sequence: int
    time: int
    prediction: Any
    score: Any
    value: bytes
    answers: dict[str, Any] | None = None


class EarlyLabel(NamedTuple):
    """A label that waits for its record.

    Attributes
    ----------
    id
        The id of the record, as text.
    sequence, time
        Its offset or line, and the event time at which it came.
    timestamp, key, value, headers
        Those of the message with the label.
    """

    id: str
    sequence: int
    time: int
    timestamp: int
    key: bytes | None
    value: bytes
    headers: Sequence[tuple[str, bytes | None]]


class Position(NamedTuple):
    """How far the three parts of `WaitingRecords` have come: the sequence number that follows the last one of each."""

    records: int = 0
    labels: int = 0
    gone: int = 0


class Late(Reject):
    """A label whose record waits no longer."""


class BadState(ValueError):
    """Bytes are not a state of `WaitingRecords`. The text says why."""


class WaitingRecords:
    """The records of one partition that wait for their label, and what else the join needs.

    Parameters
    ----------
    within
        How long a record waits for its label, in milliseconds of event time. A label waits as long for its record, and
        the id of a record that waits no longer is remembered as long.
    pending
        At most so many records wait; the oldest are evicted. The same holds for labels, and for remembered ids.

    Attributes
    ----------
    records, labels, gone
        The three parts: records that wait, labels that came before their record, and ids that were settled, have
        expired or were evicted.
    time
        The event time, in milliseconds: the largest time of all records and labels so far. It never goes back.

    >>> waiting = WaitingRecords(within=1000, pending=10)
    >>> record = Record("events-0-7", None, b'{"id": 3, "a": 1}')
    >>> record.prediction, record.score = True, 0.5
    >>> waiting.advance(20)
    False
    >>> waiting.add("3", 7, record)
    True
    >>> waiting.settle("3")
    WaitingRecord(id='3', sequence=7, time=20, prediction=True, score=0.5, value=b'{"id": 3, "a": 1}', answers=None)
    >>> waiting.settle("3")
    Traceback (most recent call last):
    ...
    connectors.labels.waiting.Late: `3` has its label already, and the first one counts
    >>> print(waiting.settle("4"))
    None
    """

    def __init__(self, within: int, pending: int) -> None:
        self.records, self.labels, self.gone = (Pending(within, pending) for _ in range(3))
        self.time = BEGINNING

    @property
    def position(self) -> Position:
        """How far all parts have come."""
        return Position(*(part.next_sequence for part in (self.records, self.labels, self.gone)))

    def is_past(self, time: float) -> bool:
        """Tell whether a time is before the event time; always false after `advance` to it."""
        return NO_TIME < time < self.time

    def advance(self, time: float) -> bool:
        """Move the event time on, unless it is further already. Tell whether something must leave then.

        It has waited too long, or it is one of too many, because `pending` is smaller than before.
        """
        if time > self.time:
            self.time = int(time)
        now = self.time
        is_due = now > self.records.due or now > self.gone.due or now > self.labels.due
        return is_due or self.records.is_overfull or self.labels.is_overfull

    # Records

    def add(self, id: str, sequence: int, record: Record) -> bool:
        """Let a record wait that was predicted; return False if a record with its id waits already."""
        key, time = id.encode(), self.time
        if key in self.records:
            return False
        assert record.value is not None
        if record.answers is None:
            packed = packed_record(sequence, time, record.prediction, record.score, record.value)
        else:
            said = record.prediction, record.score, record.answers
            packed = _packed_json(sequence, time, _MODELS, said, record.value)
        self.records.add_packed(key, sequence, time, packed)
        return True

    def drop(self, id: str) -> None:
        """Take out a record that need not wait, and remember nothing of it."""
        self.records.pop(id.encode())

    def settle(self, id: str) -> WaitingRecord | None:
        """Take out the record that a label with this id is for.

        Return None if no such record came yet, or too long ago. Raise Late if it came and waits no longer, or if a
        label for it came already.
        """
        key = id.encode()
        found = self.records.pop(key)
        if found is not None:
            self._remember(key, Gone.SETTLED)
            return waiting_record(found)
        was = self.gone.get(key)
        if was is not None:
            raise _LATE[Gone(was.packed[HEAD.size])](id)
        if key in self.labels:
            raise _LATE[Gone.SETTLED](id)
        return None

    def forget(self, id: str) -> None:
        """Note that a record has its label already, so that a later one is its second."""
        self._remember(id.encode(), Gone.SETTLED)

    def expired(self) -> Iterator[tuple[WaitingRecord, Gone]]:
        """Take out and yield the records that have waited too long, and those to be evicted, the oldest first."""
        for item in self.records.expired(self.time):
            self._remember(item.key, Gone.EXPIRED)
            yield waiting_record(item), Gone.EXPIRED
        for item in self.records.displaced():
            self._remember(item.key, Gone.DISPLACED)
            yield waiting_record(item), Gone.DISPLACED
        self.gone.drop_expired(self.time)

    def _remember(self, key: bytes, why: Gone) -> None:
        self.gone.renew(key, self.time, bytes([why]))

    # Labels that came before their record

    def add_early(self, id: str, sequence: int, label: Record) -> None:
        """Let a label wait for its record; no label with its id waits.

        Its number is a higher one if need be: another topic, or one that lost labels, goes on at a lower offset.
        """
        number = max(sequence, self.labels.next_sequence)
        headers = [*(label.headers or ())]
        if number != sequence or (headers and headers[-1][0] == _OFFSET):  # any program may have named a header so
            headers.append((_OFFSET, b"%d" % sequence))
        self.labels.add(id.encode(), number, self.time, _packed_label(label, headers))

    def has_early(self, id: str) -> bool:
        """Whether a label came before the record with this id."""
        return id.encode() in self.labels

    def take_early(self, id: str) -> EarlyLabel | None:
        """Take out the label that came before the record with this id, or return None."""
        found = self.labels.pop(id.encode())
        return None if found is None else _early_label(found)

    def expired_labels(self) -> Iterator[EarlyLabel]:
        """Take out and yield the labels whose record did not come, and those to be evicted, the oldest first."""
        for item in self.labels.expired(self.time):
            yield _early_label(item)
        for item in self.labels.displaced():
            yield _early_label(item)


def _second(id: str) -> Late:
    return Late(f"`{id}` has its label already, and the first one counts", "second_label")


def _late(id: str) -> Late:
    return Late(f"`{id}` waited longer than `labels.within` for its label", "late_label")


def _displaced(id: str) -> Late:
    return Late(f"`{id}` no longer waits: more than `labels.pending` records came after it", "late_label")


_LATE = {Gone.SETTLED: _second, Gone.EXPIRED: _late, Gone.DISPLACED: _displaced}


def packed_record(sequence: int, time: int, prediction: Any, score: Any, value: bytes) -> bytes:
    """Pack a record with its prediction and score, which an output has shown to be JSON."""
    if type(score) is float:
        if prediction is None or type(prediction) is bool:
            return SCORE.pack(sequence, time, FORMS[prediction], score) + value
        if type(prediction) is float and prediction == score != 0.0:  # 0.0 == -0.0
            return SCORE.pack(sequence, time, SAME, score) + value
    return _packed_json(sequence, time, _JSON, (prediction, score), value)


def _packed_json(sequence: int, time: int, form: int, said: tuple[Any, ...], value: bytes) -> bytes:
    text = orjson.dumps(said, option=ANY_KEYS)
    return b"".join((_LENGTH_OF_JSON.pack(sequence, time, form, len(text)), text, value))


def waiting_record(item: Item) -> WaitingRecord:
    packed, answers = item.packed, None
    if packed[HEAD.size] in (_JSON, _MODELS):
        sequence, time, form, length = _LENGTH_OF_JSON.unpack_from(packed)
        start = _LENGTH_OF_JSON.size + length
        prediction, score, *more = orjson.loads(packed[_LENGTH_OF_JSON.size : start])
        if form == _MODELS:
            (answers,) = more
            if not all(answer is None or len(answer) == 2 for answer in answers.values()):
                raise ValueError("a model returned something other than a prediction and a score")
    else:
        sequence, time, form, score = SCORE.unpack_from(packed)
        start = SCORE.size
        prediction = score if form == SAME else _PREDICTIONS[form]
    return WaitingRecord(item.key.decode(), sequence, time, prediction, score, packed[start:], answers)


def _packed_label(label: Record, headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    parts = [label.key, label.value]
    for name, content in headers:
        parts += [name.encode(), content]
    packed = [_TIMESTAMP.pack(label.timestamp)]
    for part in parts:
        packed += [_LENGTH.pack(-1 if part is None else len(part)), part or b""]
    return b"".join(packed)


def _early_label(item: Item) -> EarlyLabel:
    (timestamp,) = _TIMESTAMP.unpack_from(item.packed, HEAD.size)
    key, value, *rest = _parts(item.packed, HEAD.size + _TIMESTAMP.size)
    assert value is not None
    headers = [(str(name or b"", "utf-8"), content) for name, content in zip(rest[::2], rest[1::2], strict=True)]
    sequence = int(headers.pop()[1] or b"") if headers and headers[-1][0] == _OFFSET else item.sequence
    return EarlyLabel(item.key.decode(), sequence, item.time, timestamp, key, value, headers)


def _parts(content: bytes, start: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while start < len(content):
        (length,) = _LENGTH.unpack_from(content, start)
        start += _LENGTH.size
        if start + length > len(content):
            raise ValueError("a part of the message is longer than all of it")
        found.append(None if length < 0 else content[start : start + length])
        start += max(0, length)
    return found


def check_content(part: int, item: Item) -> None:
    """Raise BadState unless this can be an item of a part, by its number in `Position`."""
    read = (waiting_record, _early_label, lambda item: Gone(*item.packed[HEAD.size :]))[part]
    try:
        item.key.decode()
        read(item)
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError, struct.error) as error:
        raise BadState(f"`{item.key[:100]!r}` has a content that cannot be read: {error}") from None
