"""The records of one key and their labels, which come later in a stream of their own, through the model of the key."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from connectors.config.schema import Record as RecordFields
from connectors.labels import state
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning, Results
from connectors.labels.merging import Side, choose
from connectors.labels.times import Clock
from connectors.labels.waiting import Position, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record
from connectors.spark.keyed_model import KeyedModels, Recipe, State, position_of, remember, source_of

SOURCE = "source"  # the header of a label in which its source waits with it


class JoinedState(NamedTuple):
    """The state of a key: that of its model, what waits, and how many records and labels came so far."""

    snapshot: bytes
    examples: int
    recipe: bytes
    manifest: bytes
    segment: bytes
    taken: int


class Joined(NamedTuple):
    """What became of a record or a label; these are columns of the result of `learn` with labels that come later."""

    source: str | None
    output: str | None
    outcome: str | None
    reject: str | None
    record: bytes | None
    examples: int


JOINED = "source STRING, output STRING, outcome STRING, reject STRING, record BINARY, examples LONG"


class _Event(NamedTuple):
    """A record or a label; `source` is None if no column orders the rows."""

    source: str | None
    record: Record
    time: float


class KeyWithLabels(NamedTuple):
    """The model of a key, what waits, and how many records and labels came so far."""

    model: PartitionModel
    waiting: WaitingRecords
    taken: int


class KeysWithLabels:
    """Takes the records and the labels of keys through their models, by a recipe with labels.

    Time passes for a key with its own records and labels only. What has waited too long leaves with the next of them.
    So no timer is needed, and nothing is lost that comes late: Spark drops rows that come later than its watermark.
    """

    def __init__(self, recipe: Recipe) -> None:
        assert recipe.labels is not None
        self._models = KeyedModels(recipe)
        self._labels = recipe.labels
        self._times = {
            Side.RECORDS: Clock(RecordFields(**recipe.record).time).time_of,
            Side.LABELS: Clock(self._labels.time).time_of,
        }
        self._decoder = LabelDecoder(self._labels.id, self._labels.label)

    def restore(self, saved: JoinedState | None, key: Any) -> KeyWithLabels:
        """Return the model of a key and what waits. Raise StateError if they are not those of the file."""
        limits = self._labels.within_ms, self._labels.pending
        if saved is None:
            return KeyWithLabels(self._models.restore(None, key), WaitingRecords(*limits), 0)
        model = self._models.restore(State(*saved[:3]), key)
        return KeyWithLabels(model, state.read(saved.manifest, [saved.segment], *limits), saved.taken)

    def save(self, key: KeyWithLabels) -> JoinedState:
        """Return the state of a key."""
        segment = state.write_segment(key.waiting, Position())
        return JoinedState(*self._models.save(key.model), state.write_manifest(key.waiting), segment, key.taken)

    def process(self, key: KeyWithLabels, name: Any, rows: Iterable[Sequence[Any]], counts: Counts) -> Iterator[Joined]:
        """Take records and labels of a key through its model, in the order of their times. What was done is counted.

        A row is bytes, whether they are of a label, a timestamp in milliseconds or None, and the values of the columns
        that order it among those of its kind. `save` needs `taken` to count the rows afterwards.
        """
        route = LateLearning(key.model, key.waiting, self._decoder, (f"{name}:", f"{name}:"), self._labels.otherwise)
        for number, (side, event) in enumerate(self._merged(name, rows), start=key.taken):
            remember(key.model)
            record, examples = event.record, key.model.examples
            if side is Side.RECORDS:
                results = route.take_record(record, number, event.time, counts)
                output = None if record.output is None else record.output.decode()
                rejected = None if record.reason is None else record.value
                yield Joined(event.source, output, None, record.reason, rejected, examples)
            else:
                results = route.take_label(record, number, event.time, counts)
            yield from _told(results, examples)

    def _merged(self, name: Any, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Side, _Event]]:
        """Yield records and labels as a processor takes them from two files; what no column orders, by its time."""
        sides: dict[Side, deque[_Event]] = {Side.RECORDS: deque(), Side.LABELS: deque()}
        is_ordered = False
        for is_label, timestamp, value, *position in sorted(
            ((is_label, timestamp, value, *position) for value, is_label, timestamp, *position in rows),
            key=lambda row: position_of(row[2:]),
        ):
            side = Side.LABELS if is_label else Side.RECORDS
            source = source_of(position)
            record = Record(source or str(name), None, value, None, _headers(side, source), timestamp or 0)
            sides[side].append(_Event(source, record, self._times[side](record)))
            is_ordered = bool(position)
        if not is_ordered:  # Spark hands them on in any order
            sides = {side: deque(sorted(events, key=lambda event: event.time)) for side, events in sides.items()}

        def next_time(side: Side) -> float | None:
            return sides[side][0].time if sides[side] else None

        while (chosen := choose(next_time(Side.RECORDS), next_time(Side.LABELS))) is not None:
            yield chosen, sides[chosen].popleft()


def _headers(side: Side, source: str | None) -> list[tuple[str, bytes | None]] | None:
    return [(SOURCE, (source or "").encode())] if side is Side.LABELS else None


def _told(results: Results, examples: int) -> Iterator[Joined]:
    for outcome in results.outcomes:
        yield Joined(_source_of(outcome.message), None, outcome.value.decode(), None, None, examples)
    for rejected in results.rejects:
        yield Joined(_source_of(rejected), None, None, rejected.reason, rejected.value, examples)


def _source_of(record: Record) -> str | None:
    """Return the source of a label, also if it has waited; of a record that has, its number among those of its key.

    None for a label if no column orders the rows.
    """
    found = dict(record.headers or ()).get(SOURCE)
    return record.source if found is None else found.decode() or None
