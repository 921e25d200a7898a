"""Two files of records, one with the labels of the other, in one order."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from connectors.config.schema import AnyLabels
from connectors.config.schema import Record as RecordFields
from connectors.errors import StartError
from connectors.files.byte_streams import Unfit
from connectors.files.readers import AnyReader, missing_column
from connectors.files.record_files import Mark
from connectors.labels.label_records import LabelDecoder
from connectors.labels.merging import Side, choose
from connectors.labels.times import Clock
from connectors.model.field_paths import FieldPath
from connectors.model.records import Record
from connectors.suggest import did_you_mean


class Lookahead:
    """A reader with its next record, which does not count as read before it is taken.

    Parameters
    ----------
    reader
        The reader. Nothing else takes records from it.
    clock
        Reads the time of its records.
    """

    def __init__(self, reader: AnyReader, clock: Clock) -> None:
        self._reader, self._records, self._clock = reader, iter(reader), clock
        self._head: Record | None = None
        self._time: float | None = None
        self._has_head = False

    def time(self) -> float | None:
        """Return the time of the next record; None if there is none."""
        if not self._has_head:
            self._before = self._reader.mark(), self._reader.lines
            try:
                self._head, self._has_head = next(self._records, None), True
            except Unfit as error:
                raise Unfit(f"`{self._reader.path}` after line {self._reader.lines}: {error}") from error
            self._time = None if self._head is None else self._clock.time_of(self._head)
        return self._time

    def take(self) -> Record:
        """Return the next record, and count it as read."""
        self.time()
        record, self._has_head = self._head, False
        assert record is not None
        return record

    def mark(self) -> Mark:
        """Return the mark after the records taken so far."""
        return self._before[0] if self._has_head and self._head is not None else self._reader.mark()

    @property
    def lines(self) -> int:
        """How many lines the records taken so far have."""
        return self._before[1] if self._has_head and self._head is not None else self._reader.lines


class Taken(NamedTuple):
    """A record that was taken from one of two files.

    Attributes
    ----------
    side
        Which of the two.
    record
        The record.
    sequence
        The line in which it begins.
    time
        Its time.
    """

    side: Side
    record: Record
    sequence: int
    time: float


def merged(records: Lookahead, labels: Lookahead) -> Iterator[Taken]:
    """Yield the records of both files in the order of their times, to the end of both."""
    while (side := choose(records.time(), labels.time())) is not None:
        source = records if side is Side.RECORDS else labels
        time = source.time()
        assert time is not None
        record = source.take()
        yield Taken(side, record, int(record.source.rpartition(":")[2]), time)


def clock_of_records(record: RecordFields, reader: AnyReader, texts: Sequence[str]) -> Clock:
    """Return what reads the time of the records of a file; the columns `texts` are text, as for their decoder."""
    return Clock(record.time, reader.parser(record.id and FieldPath.parse(record.id).name, *texts))


def clock_of_labels(labels: AnyLabels, reader: AnyReader) -> Clock:
    """Return what reads the time of the labels in a file."""
    return Clock(labels.time, reader.parser(labels.id and FieldPath.parse(labels.id).name))


def decoder_of_labels(labels: AnyLabels, reader: AnyReader) -> LabelDecoder:
    """Return a decoder for the labels in a file. Raise StartError if a column is missing."""
    columns = reader.columns
    if columns is None:
        return LabelDecoder(labels.id, labels.label, reader.parser(labels.id))
    fields = (labels.id, labels.label, labels.time)
    id, *others = (None if text is None else FieldPath.parse(text) for text in fields)
    name = missing_column(reader, (id, *others))
    if name is not None:
        raise StartError(f"the labels `{reader.path}` have no column `{name}`{did_you_mean(name, columns)}")
    return LabelDecoder(labels.id, labels.label, reader.parser(id and id.name))
