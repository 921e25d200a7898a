"""The model of one key: from its state, through the records of the key in order, to its next state."""

import datetime
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from connectors.config.schema import Record as RecordFields
from connectors.config.spark_schema import SparkConfig, SparkLabels
from connectors.config.value_types import PROBABILITY
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.snapshots.check_learner import check_learner, note_of
from river_margins import snapshot

START_OVER = "start the query with a new checkpoint location, where each key begins anew"
REMEMBERED = 1_000  # records between two copies of a model: it is built again from one when a step fails half-way


class State(NamedTuple):
    """The state of a key: the snapshot of its model, how many examples it learned, and the digest of its recipe."""

    snapshot: bytes
    examples: int
    recipe: bytes


class Scored(NamedTuple):
    """What became of a record; these are columns of the result of `learn`."""

    source: str | None
    output: str | None
    reject: str | None
    record: bytes | None
    examples: int


SCORED = "source STRING, output STRING, reject STRING, record BINARY, examples LONG"


@dataclass(frozen=True)
class Recipe:
    """What the executors need of a file: plain data, which Spark sends to them.

    Attributes
    ----------
    learner
        A snapshot of the learner with which a key starts.
    record
        The section `record` without its defaults.
    explain
        How many features an output names that weighed most.
    probability
        Whether the score of an output is the probability of the positive label, or those of the classes.
    labels
        The section `labels`; None if there is none.
    """

    learner: bytes
    record: dict[str, Any]
    explain: int
    probability: bool
    labels: SparkLabels | None

    @classmethod
    def of(cls, config: SparkConfig) -> "Recipe":
        """Return the recipe of a file."""
        first = snapshot.dumps(config.first_learner(), note_of(config.record))
        record, output = config.record.model_dump(exclude_defaults=True), config.output
        return cls(first, record, output.explain, output.score == PROBABILITY, config.labels)


def decoder_of(record: RecordFields, is_joined: bool = False) -> Callable[..., None]:
    """Return what fills in a record from its bytes, by a section `record`; `is_joined` if labels come later."""
    return Decoder(
        record.id, record.label, record.features, nulls=record.nulls, weight=record.weight, time=record.time,
        is_joined=is_joined,
    ).decode  # fmt: skip


class KeyedModels:
    """Builds the models of keys by a recipe, and takes records through them."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._digest = hashlib.sha256(recipe.learner).digest()[:8]
        self._record = RecordFields(**recipe.record)
        self._decode = decoder_of(self._record, is_joined=recipe.labels is not None)

    def restore(self, state: State | None, key: Any) -> PartitionModel:
        """Return the model of a key. Raise StateError if its learner, or its records, are not those of the file."""
        data = self._recipe.learner if state is None else state.snapshot
        changes = None
        if state is not None and state.recipe != self._digest:
            learner = snapshot.loads(self._recipe.learner)
            named = f"the model of the key `{key}`"
            changes = check_learner(learner, self._record, data, named, START_OVER, goes_on=None)

        def load(_: str = "") -> Any:
            learner = snapshot.loads(data)
            if changes is not None and changes.made:
                changes.apply(learner)
            return learner

        examples = 0 if state is None else state.examples
        recipe = self._recipe
        return PartitionModel(
            load(), "", examples, load, self._decode, explain=recipe.explain, probability=recipe.probability
        )

    def save(self, model: PartitionModel, about: Mapping[str, Any] | None = None) -> State:
        """Return the state of a key with this model, whose snapshot also tells this about it."""
        return State(model.dumps({**note_of(self._record), **(about or {})}), model.examples, self._digest)

    def process(
        self, model: PartitionModel, key: Any, rows: Iterable[Sequence[Any]], counts: Counts
    ) -> Iterator[Scored]:
        """Take the records of a key through its model, in order. What was done is added to the counts.

        A row is the bytes of a record, and the values of the columns that order it.
        """
        for value, *position in sorted(rows, key=position_of):
            remember(model)
            source = source_of(position)
            record = Record(str(key) if source is None else source, None, value)
            examples = model.examples
            process_record(model, record, counts)
            output = None if record.output is None else record.output.decode()
            yield Scored(source, output, record.reason, None if record.reason is None else value, examples)


def remember(model: PartitionModel) -> None:
    """Let failures go back to the model of now once it has learned much: a batch may hold all records of a key."""
    if len(model.learned) >= REMEMBERED:
        model.begin(functools.partial(snapshot.loads, model.dumps({})), model.examples)


def reject_without_key(rows: Iterable[Sequence[Any]]) -> Iterator[Scored]:
    """Reject rows, as in `KeyedModels.process`, whose key is null: they are of different things, and share no model."""
    for value, *position in sorted(rows, key=position_of):
        yield Scored(source_of(position), None, "the key is null, and a model needs a key", value, 0)


def source_of(position: Sequence[Any]) -> str | None:
    """Return the values of the columns that order the records, as text; None if there are none."""
    return "-".join(map(str, position)) or None


def position_of(row: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
    """Return what a row of bytes and position is sorted by; null comes first, as in Spark."""
    return tuple((value is not None, _instant(value)) for value in row[1:])


def _instant(value: Any) -> Any:
    """Return a time with a zone in UTC: Python compares times of one zone by its clock, which is set back in autumn."""
    return value.astimezone(datetime.UTC) if isinstance(value, datetime.datetime) and value.tzinfo else value
