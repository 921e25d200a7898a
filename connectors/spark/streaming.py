"""`learn`: a model for each key of a streaming DataFrame, as keyed state of the query."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from connectors.config import load_for_spark
from connectors.config.spark_schema import SparkConfig
from connectors.errors import ConfigError, StartError
from connectors.model.counts import Counts
from connectors.spark.keyed_model import SCORED, KeyedModels, Recipe, Scored, State, reject_without_key
from connectors.spark.late_labels import JOINED, Joined, JoinedState, KeysWithLabels
from connectors.spark.rows import KEY, ORDER, keyed_rows, time_of

STATE = "snapshot BINARY, examples LONG, recipe BINARY"
STATE_WITH_LABELS = f"{STATE}, manifest BINARY, segment BINARY, taken LONG"
IS_LABEL, TIME = "is_label", "time"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learn(
    stream: DataFrame,
    key: str | Column,
    file: str | os.PathLike[str],
    *,
    value: str | None = None,
    order: str | Sequence[str] | None = None,
    labels: DataFrame | None = None,
) -> DataFrame:
    """Predict each record of a stream by the model of its key, then learn it if it has a label.

    The predictions of a key are those of one learner that reads the records of this key in order, bit for bit. The
    models are state of the query: with a checkpoint location they survive its restart, and a record counts once.

    Parameters
    ----------
    stream
        A streaming DataFrame. A batch DataFrame is taken as one micro-batch.
    key
        What has a model of its own: the name of a column, or an expression. Rows whose key is null are rejected.
    file
        The YAML file. Of it, `record`, `learner`, `labels`, `start_from`, `output.score` and `output.explain`
        count; see `docs/spark.md`.
    value
        The column with the record as a JSON object, text or bytes; default: `value` of Spark's source for Kafka. In any
        other DataFrame, the columns of a row are the fields of its record, except those of `key` and `order` that the
        file does not name.
    order
        The columns that order the records of a key within a micro-batch. Default: `topic`, `partition` and `offset` of
        Spark's source for Kafka. Other rows are taken in the order in which Spark hands them on: it is not defined if
        a micro-batch is read in several parts.
    labels
        A DataFrame with labels that come later than their records, needed if the file has the section `labels`. It has
        the same columns for `key`, `value` and `order` as `stream`; an expression for `key` must fit both.

    Returns
    -------
    A streaming DataFrame with a row for each row of the stream: the key; `source`, the values of the order columns such
    as `events-0-7`; `output`, the JSON object that a processor writes, or null; `reject`, the reason why the record
    could not be predicted, or not be learned, or null; `record`, the bytes of a record with such a reason; `examples`,
    how many examples the model had learned before. With `labels`, each label has a row, too, and there is one more
    column: `outcome`, the JSON object `{"id", "prediction", "score", "label", "delay"}` of a record that was learned
    because its label came, or null.

    Raises
    ------
    ConfigError
        With all problems of the file, or for a column that is not there, or if only one of `labels` and the section
        `labels` is there.
    StartError
        The state store of the session is not RocksDB.
    """
    config = load_for_spark(file)
    provider = stream.sparkSession.conf.get(PROVIDER)
    if provider != ROCKSDB:
        raise StartError(f"`learn` needs the state store RocksDB: set `{PROVIDER}` to `{ROCKSDB}`, found `{provider}`")
    if labels is not None or config.labels is not None:
        return _learn_later(stream, labels, key, config, value, order)
    rows, key_field = keyed_rows(stream, key, config.record, value, order, Scored._fields)
    _check_key(key_field.dataType)
    schema = StructType([key_field, *StructType.fromDDL(SCORED)])
    models = ModelsOfKeys(Recipe.of(config), key_field.name)
    return rows.groupBy(KEY).transformWithState(models, schema, "append", "none")


def _learn_later(
    stream: DataFrame,
    labels: DataFrame | None,
    key: str | Column,
    config: SparkConfig,
    value: str | None,
    order: str | Sequence[str] | None,
) -> DataFrame:
    """Return the result of `learn` with labels that come later."""
    if labels is None:
        raise ConfigError("the file has the section `labels`, so give the labels, too: `learn(..., labels=DATAFRAME)`")
    if config.labels is None:
        raise ConfigError("`labels`: the file has no section `labels`, which names their fields: add it")
    times = time_of(stream, config.record), time_of(labels, config.labels)
    rows, key_field = keyed_rows(
        stream, key, config.record, value, order, Joined._fields, (F.lit(False).alias(IS_LABEL), times[0].alias(TIME))
    )
    _check_key(key_field.dataType)
    others, _ = keyed_rows(
        labels, key, config.labels, value, order, Joined._fields, (F.lit(True).alias(IS_LABEL), times[1].alias(TIME))
    )
    kinds, theirs = _kinds_of(rows), _kinds_of(others)
    if kinds != theirs:
        what = f"`{kinds}` in the stream, and `{theirs}` in the labels"
        raise ConfigError(f"`labels`: `key` and `order` are {what}: cast the columns of one to the types of the other")
    schema = StructType([key_field, *StructType.fromDDL(JOINED)])
    models = ModelsWithLabels(Recipe.of(config), key_field.name)
    return rows.union(others).groupBy(KEY).transformWithState(models, schema, "append", "none")


def _check_key(kind: DataType) -> None:
    if isinstance(kind, ArrayType | MapType):
        raise ConfigError("`key`: PySpark cannot read keys with an array or a map: make it text, as `F.to_json` does")
    if isinstance(kind, StructType):
        for field in kind:
            _check_key(field.dataType)


def _kinds_of(rows: DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in rows.dtypes if name.startswith((KEY, ORDER)))


class ModelsOfKeys(StatefulProcessor):
    """The models of keys as state of a query. Spark sends it to the executors, so it holds plain data until `init`.

    It takes rows and not pandas frames: Spark makes a frame for each key, which costs more than the learner.
    """

    def __init__(self, recipe: Recipe, key: str) -> None:
        self._recipe, self._key = recipe, key

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state, and read the recipe."""
        self._state = handle.getValueState("model", STATE)
        self._models = KeyedModels(self._recipe)
        self._row = Row(self._key, *Scored._fields)

    def handleInputRows(self, key: tuple[Any, ...], rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Take all records of a key in a micro-batch through its model."""
        (name,) = key
        records = (tuple(row)[1:] for row in rows)
        if name is None:
            yield from (self._row(None, *scored) for scored in reject_without_key(records))
            return
        found = self._state.get()
        state = None if found is None else State(*found)
        model = self._models.restore(state, name)
        for scored in self._models.process(model, name, records, Counts()):
            yield self._row(name, *scored)
        if state is None or model.examples != state.examples:
            self._state.update(self._models.save(model))

    def close(self) -> None:
        """Nothing is left open."""


class ModelsWithLabels(StatefulProcessor):
    """As `ModelsOfKeys`, for records whose labels come later: what waits is state of the key, too."""

    def __init__(self, recipe: Recipe, key: str) -> None:
        self._recipe, self._key = recipe, key

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state, and read the recipe."""
        self._state = handle.getValueState("model", STATE_WITH_LABELS)
        self._keys = KeysWithLabels(self._recipe)
        self._row = Row(self._key, *Joined._fields)

    def handleInputRows(self, key: tuple[Any, ...], rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Take all records and labels of a key in a micro-batch through its model."""
        (name,) = key
        events = [tuple(row)[1:] for row in rows]
        if name is None:
            records = ((value, *position) for value, _, _, *position in events)
            for source, output, reject, record, examples in reject_without_key(records):
                yield self._row(None, source, output, None, reject, record, examples)
            return
        found = self._state.get()
        model = self._keys.restore(None if found is None else JoinedState(*found), name)
        for joined in self._keys.process(model, name, events, Counts()):
            yield self._row(name, *joined)
        self._state.update(self._keys.save(model._replace(taken=model.taken + len(events))))

    def close(self) -> None:
        """Nothing is left open."""
