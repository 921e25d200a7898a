"""The labels of one partition that come later: read from a topic of their own, joined, and committed with the model."""

from collections.abc import Callable, Sequence
from typing import Any

from connectors.config.schema import Record as RecordFields
from connectors.config.topics_schema import Labels
from connectors.labels.asking import Asked, Asking
from connectors.labels.inbox import Arrived, Inbox
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
        decoder = LabelDecoder(labels.id, labels.label, of_labels)
        self._route = LateLearning(model, files.records, decoder, sources, labels.otherwise, asking)

    @property
    def waiting(self) -> WaitingRecords:
        """What waits."""
        return self.files.records

    @property
    def asked(self) -> Asked | None:
        """How far asking for labels has come; None without `queries`."""
        return None if self._route.asking is None else self._route.asking.asked

    def receive(
        self,
        side: Side,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        timestamp: int | None,
        arrived: float,
    ) -> None:
        """Take a record or a label that was read at a moment, to be processed when its turn comes."""
        sent = timestamp if timestamp is not None and timestamp > 0 else 0
        record = Record(f"{self._sources[side]}{offset}", key, value, None, headers, sent)
        self.inbox.add(side, offset, record, self._times[side](record), arrived)

    def process(self, side: Side, taken: Arrived, counts: Counts) -> Results:
        """Take a record or a label through the model, and return what became of labels."""
        if side is Side.RECORDS:
            return self._route.take_record(taken.record, taken.offset, taken.time, counts)
        self.position = taken.offset + 1
        return self._route.take_label(taken.record, taken.offset, taken.time, counts)
