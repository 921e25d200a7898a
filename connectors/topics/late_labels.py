"""The labels of one partition that come later: read from a topic of their own, joined, and committed with the model."""

from collections.abc import Callable
from typing import Any

from connectors.config.schema import Record as RecordFields
from connectors.config.topics_schema import Labels
from connectors.kafka import Record as Polled
from connectors.labels.asking import Asked, Asking
from connectors.labels.inbox import Inbox
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning, Results
from connectors.labels.merging import Side
from connectors.labels.times import Clock
from connectors.labels.waiting import WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record

Parser = Callable[[bytes], Any]


def place_of(side: Side, number: int) -> int:
    """Return the number under which a consumer reads one of the two topics of a partition."""
    return number if side is Side.RECORDS else ~number


class LateLabels:
    """The labels of a partition, with the records that wait for them.

    Parameters
    ----------
    labels, record
        The sections of the file.
    sources
        The beginnings of the sources of records and of labels, such as `events-0-` and `labels-0-`.
    model
        The model of the partition.
    files
        What waits.
    position
        The offset of the next label to take.
    asking
        Decides which labels are asked for; None: none.
    parsers
        What turns the values of records and of labels into fields; None: they are JSON objects.

    Attributes
    ----------
    position
        The offset of the next label to take. Those that were only read are not counted: they are read again.
    inbox
        What was read of both topics and is not taken yet.
    route
        The route of records and labels.
    is_timestamped
        Whether the times of both are their timestamps.
    """

    def __init__(
        self,
        labels: Labels,
        record: RecordFields,
        sources: tuple[str, str],
        model: PartitionModel,
        files: WaitingFiles,
        position: int,
        asking: Asking | None = None,
        parsers: tuple[Parser | None, Parser | None] = (None, None),
    ) -> None:
        self.position, self.files, self.inbox = position, files, Inbox(labels.wait)
        self._sources = {Side.RECORDS: sources[0], Side.LABELS: sources[1]}
        of_records, of_labels = parsers
        clocks = Clock(record.time, of_records), Clock(labels.time, of_labels)
        self._times = {Side.RECORDS: clocks[0].time_of, Side.LABELS: clocks[1].time_of}
        self.is_timestamped = record.time is None and labels.time is None
        decoder = LabelDecoder(labels.id, labels.label, of_labels)
        is_key = record.id is None
        self.route = LateLearning(model, files.records, decoder, sources, labels.otherwise, asking, is_key)

    @property
    def waiting(self) -> WaitingRecords:
        """What waits."""
        return self.files.records

    @property
    def asked(self) -> Asked | None:
        """How far asking for labels has come; without `queries`, how far it was when there were any; None if never."""
        return self.files.asked if self.route.asking is None else self.route.asking.asked

    def receive(self, side: Side, polled: Polled, arrived: float) -> None:
        """Take a record or a label that was read at a moment, to be processed when its turn comes."""
        record = self.record_of(side, polled)
        self.inbox.add(side, polled[1], record, self._times[side](record), arrived)

    def record_of(self, side: Side, polled: Polled) -> Record:
        """Return the record of what a consumer has read."""
        _, offset, key, value, headers, timestamp = polled
        sent = timestamp if timestamp is not None and timestamp > 0 else 0
        return Record(f"{self._sources[side]}{offset}", key, value, None, headers, sent)

    def let_some_go(self, time: float, counts: Counts) -> Results | None:
        """Let some records leave that have waited too long, as `LateLearning.let_some_go`."""
        return self.route.let_some_go(time, counts)

    def process(self, side: Side, record: Record, offset: int, time: float, counts: Counts) -> Results:
        """Take a record or a label through the model, and return what became of labels."""
        if side is Side.RECORDS:
            return self.route.take_record(record, offset, time, counts)
        self.position = offset + 1
        return self.route.take_label(record, offset, time, counts)
