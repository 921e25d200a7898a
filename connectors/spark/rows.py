"""The rows of a DataFrame as the records of keys."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from connectors.config.schema import Record
from connectors.errors import ConfigError
from connectors.model.field_paths import FieldPath, named
from connectors.suggest import did_you_mean

KAFKA = ("topic", "partition", "offset")  # columns of Spark's source for Kafka
KEY, VALUE, ORDER = "key", "value", "order"  # plain words: Spark writes the schema of a key in Avro


def keyed_rows(
    frame: DataFrame,
    key: str | Column,
    record: Record,
    value: str | None,
    order: str | Sequence[str] | None,
    results: Sequence[str],
) -> tuple[DataFrame, StructField]:
    """Return a DataFrame of the key, the bytes of each record and the columns that order them; and what the key was.

    Parameters
    ----------
    frame
        The DataFrame.
    key
        The key: the name of a column, or an expression.
    record
        The section `record` of the file.
    value
        The column with the record as JSON, text or bytes. None: `value` of Spark's source for Kafka; in any other
        DataFrame, the columns of a row are the fields of its record.
    order
        The columns that order the records of a key. None: topic, partition and offset of Spark's source for Kafka; any
        other DataFrame is taken in the order in which Spark hands its rows on.
    results
        The columns of the result, beside the key.

    Raises
    ------
    ConfigError
        A column does not exist, or the key has the name of a result.
    """
    order = ([*KAFKA] if _is_of_kafka(frame) else []) if order is None else [order] if isinstance(order, str) else order
    keys = frame[_known(frame, "key", key)] if isinstance(key, str) else key
    apart = [_known(frame, "order", name) for name in order] + ([key] if isinstance(key, str) else [])
    json = bytes_of(frame, record, value, apart)
    positions = (frame[name].alias(f"{ORDER}{number}") for number, name in enumerate(order))
    (key_field,) = frame.select(keys).schema
    if key_field.name in results:
        raise ConfigError(f"`key`: the result has a column `{key_field.name}` already: give the key another name")
    return frame.select(keys.alias(KEY), json.alias(VALUE), *positions), key_field


def bytes_of(frame: DataFrame, record: Record, value: str | None, apart: Sequence[str] = ()) -> Column:
    """Return the bytes of the record of each row, a JSON object.

    `apart` names columns that are no fields of a record unless the file names them. Raise ConfigError if there is no
    column `value`.
    """
    if value is None and _is_of_kafka(frame):
        value = "value"
    if value is not None:
        return frame[_known(frame, "value", value)].cast("binary")
    left_out = {*apart} - _named_fields(record)
    columns = [frame[name] for name in frame.columns if name not in left_out]
    fields = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}) if columns else F.lit("{}")
    return fields.cast("binary")


def _is_of_kafka(frame: DataFrame) -> bool:
    return {*KAFKA, "value"} <= {*frame.columns}


def _known(frame: DataFrame, parameter: str, name: str) -> str:
    if name not in frame.columns:
        columns = ", ".join(f"`{column}`" for column in frame.columns)
        hint = did_you_mean(name, frame.columns) or f"; there are {columns}"
        raise ConfigError(f"`{parameter}`: the DataFrame has no column `{name}`{hint}")
    return name


def _named_fields(record: Record) -> set[str]:
    """Return the fields of a record that the file names, which stay in it also if they are key or order."""
    texts = [text for text in (record.id, record.label, record.weight, record.time) if text is not None]
    paths = [FieldPath.parse(text) for text in texts] + [path for _, path in named(record.features or ())]
    return {name for path in paths for name in (path.name, str(path.keys[0]))}
