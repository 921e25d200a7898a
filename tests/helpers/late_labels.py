"""The bare route of labels that come later: one partition in the order of its times, without Kafka or checkpoints."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from connectors.config import Config
from connectors.labels.asking import Asking
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.merging import Side, choose
from connectors.labels.times import Clock
from connectors.labels.waiting import WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder, Record
from connectors.snapshots.models import Builder


class Message(NamedTuple):
    """A record or a label as it lies in its topic; those that Kafka's clients read have the same attributes."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp: int


class Bare(NamedTuple):
    """What the bare route leads to, in order, with the models and with what waits at the end.

    Outputs are source, value, and how many examples were learned before; outcomes the source of the record, that of the
    label, and the value; rejects source, reason and value; queries source and value.
    """

    outputs: list[tuple[str, bytes, int]]
    outcomes: list[tuple[str, str, bytes]]
    rejects: list[tuple[str, str, bytes | None]]
    queries: list[tuple[str, bytes]]
    model: PartitionModel
    waiting: WaitingRecords

    @property
    def learner(self) -> Any:
        """The learner of the champion."""
        return self.model.learner


def bare(file: Config, number: int, records: Sequence[Any], labels: Sequence[Any]) -> Bare:
    """Take the records and labels of a partition through the bare route: no topic waits in vain for the other one."""
    section, fields = file.labels, file.record
    assert section is not None
    sources = {Side.RECORDS: f"{file.input.topic}-{number}-", Side.LABELS: f"{section.topic}-{number}-"}
    route = _route(file, (sources[Side.RECORDS], sources[Side.LABELS]))
    found = Bare([], [], [], [], route.model, route.waiting)
    clocks = {Side.RECORDS: Clock(fields.time).time_of, Side.LABELS: Clock(section.time).time_of}
    queues = {
        side: [
            (record := _record(sources[side], message), message.offset, clocks[side](record)) for message in messages
        ]
        for side, messages in ((Side.RECORDS, records), (Side.LABELS, labels))
    }
    heads, counts = dict.fromkeys(Side, 0), Counts()
    while True:
        times = [queues[side][at][2] if at < len(queues[side]) else None for side, at in heads.items()]
        side = choose(*times)
        if side is None:
            return found
        record, offset, time = queues[side][heads[side]]
        heads[side] += 1
        if side is Side.RECORDS:
            results = route.take_record(record, offset, time, counts)
            found.queries.extend((query.record.source, query.value) for query in results.queries)
            if record.output is not None:
                found.outputs.append((record.source, record.output, record.examples))
            if record.reason is not None:
                found.rejects.append((record.source, record.reason, record.value))
        else:
            results = route.take_label(record, offset, time, counts)
        found.outcomes.extend((each.record, each.message.source, each.value) for each in results.outcomes)
        found.rejects.extend((each.source, each.reason or "", each.value) for each in results.rejects)


def _record(source: str, message: Any) -> Record:
    return Record(f"{source}{message.offset}", message.key, message.value, None, message.headers, message.timestamp)


def _route(file: Config, sources: tuple[str, str]) -> LateLearning:
    section, fields = file.labels, file.record
    assert section is not None
    decode = Decoder(
        fields.id, fields.label, fields.features, nulls=fields.nulls, weight=fields.weight, time=fields.time,
        is_joined=True,
    ).decode  # fmt: skip
    model = Builder(file, lambda _: first, decode).start()
    first = model.dumps({})
    waiting = WaitingRecords(section.within_ms, section.pending)
    asking, queries = None, file.queries
    if queries is not None:
        asking = Asking(file.build_sampler(), queries.at_most, queries.all_wait)
    return LateLearning(model, waiting, LabelDecoder(section.id, section.label), sources, section.otherwise, asking)
