"""`learn_many_models` and `score`: a model for each key of a batch DataFrame, and one model for all of its rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from river import base

from connectors.config import load_for_spark
from connectors.config.schema import Record as RecordFields
from connectors.errors import ConfigError, StateError
from connectors.formats.codecs import JSON
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import known_score
from connectors.model.records import Record, encode
from connectors.model.rejects import Reject, reason_of
from connectors.spark.keyed_model import KeyedModels, Recipe, decoder_of
from connectors.spark.rows import KEY, are_columns, bytes_of, keyed_rows, quoted
from river_margins import snapshot

MODELS = "model BINARY, examples LONG, rejected LONG, reject STRING"
SCORES = "output STRING, reject STRING"
APART = "apart"  # what a snapshot tells: the columns of key and order, which are not fields of a record


def learn_many_models(
    frame: DataFrame,
    key: str | Column,
    file: str | os.PathLike[str],
    *,
    value: str | None = None,
    order: str | Sequence[str] | None = None,
) -> DataFrame:
    """Train a model for each key of a batch DataFrame.

    Each model is the one that `learn` has after the same records, bit for bit.

    Parameters
    ----------
    frame, key, file, value, order
        As for `learn`. All records of one key must fit into the memory of an executor.

    Returns
    -------
    A DataFrame with a row for each key that is not null: the key; `model`, a snapshot, which `score` and
    `river_margins.snapshot.loads` take; `examples`, how many it learned; `rejected`, how many records could not be
    predicted, or not be learned; `reject`, the reason of the first of these, or null.

    Raises
    ------
    ConfigError
        With all problems of the file, or for a column that is not there, or for a stream.
    """
    if frame.isStreaming:
        raise ConfigError("a stream has no last record, so each micro-batch would begin anew: take `learn`")
    config = load_for_spark(file)
    if config.labels is not None:
        raise ConfigError("the file has the section `labels`: models of a batch learn labels that are in the record")
    columns = StructType.fromDDL(MODELS)
    rows, key_field = keyed_rows(frame, key, config.record, value, order, columns.names)
    schema = StructType([key_field, *columns])
    apart = [*([order] if isinstance(order, str) else order or ()), key_field.name]
    train = _trainer(Recipe.of(config), schema.names, apart if are_columns(frame, value) else [])
    return rows.where(rows[KEY].isNotNull()).groupBy(KEY).applyInArrow(train, schema)


def _trainer(recipe: Recipe, names: list[str], apart: list[str]) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return what trains the model of a key. It takes Arrow tables: in pandas, a null turns integers to floats."""

    def train(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        models, counts = KeyedModels(recipe), Counts()
        model = models.restore(None, key[0])
        rows = zip(*(column.to_pylist() for column in table.columns[1:]), strict=True)
        reject = None
        for scored in models.process(model, key[0], rows, counts):
            reject = reject or scored.reject
        state = models.save(model, {APART: apart})
        row = (table.column(0)[0], state.snapshot, state.examples, counts.rejected, reject)
        key_type, binary, *_ = table.schema.types  # the types of Spark are large if its settings say so
        text = pa.large_string() if pa.types.is_large_binary(binary) else pa.string()
        types = (_in_utc(key_type), binary, pa.int64(), pa.int64(), text)
        return pa.table([pa.array([value]).cast(kind) for value, kind in zip(row, types, strict=True)], names)

    return train


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """Return a type with its times in UTC. Spark hands them on in the zone of the session, and takes only these."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in kind])
    return kind


def score(
    frame: DataFrame, model: base.Base | bytes | str | os.PathLike[str], *, value: str | None = None
) -> DataFrame:
    """Predict each row of a DataFrame, streaming or batch, by one model, which learns nothing.

    Parameters
    ----------
    frame
        The DataFrame.
    model
        A learner, the bytes of a snapshot, or the path of one. A snapshot that `learn_many_models` or a processor wrote
        also says which fields of a record are its features. For other models, all fields are.
    value
        As for `learn`.

    Returns
    -------
    The DataFrame with two more columns: `output`, the JSON object that a processor writes, or null; `reject`, the
    reason why the row could not be predicted, or null.

    Raises
    ------
    StateError
        The snapshot cannot be read.
    ConfigError
        There is no column `value`, or the DataFrame has a column `output` or `reject`.
    """
    data = _snapshot_of(model)
    there = {column.lower() for column in frame.columns}  # Spark takes small and capital letters for the same
    for name in ("output", "reject"):
        if name in there:
            raise ConfigError(f"the result has a column `{name}` already: rename that of the DataFrame before")
    apart = "scored"
    while apart in there:
        apart += "_"
    # The format was that of a topic, and its packages may be missing here: rows are JSON.
    about, _ = snapshot.beside(data)
    record = RecordFields(**about.get("record", {}) | {"format": JSON})

    def score_batches(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        # Spark broadcasts a function with more than 1 MB of data. Spark Connect has no broadcast of its own.
        scorer = PartitionModel(snapshot.loads(data), "", 0, lambda _: snapshot.loads(data), decoder_of(record))
        for batch in batches:
            scored = [_score(scorer, bytes_) for bytes_ in batch.to_pylist()]
            yield pa.array(scored, pa.struct([("output", pa.string()), ("reject", pa.string())]))

    scored = F.arrow_udf(score_batches, SCORES)(bytes_of(frame, record, value, about.get(APART, ())))
    found = (f"{apart}.output", f"{apart}.reject")
    return frame.withColumn(apart, scored).select(*map(quoted, frame.columns), *found)


def _score(model: PartitionModel, value: bytes | None) -> dict[str, str | None]:
    record = Record("", None, value)
    try:
        model.decode(record)
        model.predict(record)
        id = None if record.id == "" else record.id
        output = encode(id, record.prediction, known_score(record, None, model.first_score), None)
    except Reject as reject:
        return {"output": None, "reject": reason_of(reject)}
    return {"output": output.decode(), "reject": None}


def _snapshot_of(model: base.Base | bytes | str | os.PathLike[str]) -> bytes:
    if isinstance(model, base.Base):
        return snapshot.dumps(model)
    data = bytes(model) if isinstance(model, bytes | bytearray) else _read(model)
    named = "the snapshot" if isinstance(model, bytes | bytearray) else f"the snapshot `{os.fspath(model)}`"
    try:
        snapshot.loads(data)
    except snapshot.SnapshotError as error:
        raise StateError(f"{named} cannot be read: {error}") from error
    return data


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StateError(f"the snapshot `{os.fspath(path)}` cannot be read: {error.strerror}") from error
