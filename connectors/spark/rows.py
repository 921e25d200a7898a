"""The rows of a DataFrame as the records of keys."""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from connectors.config.schema import AnyLabels, Record
from connectors.errors import ConfigError
from connectors.model.field_paths import FieldPath, named
from connectors.suggest import did_you_mean

KAFKA = ("topic", "partition", "offset")  # columns of Spark's source for Kafka
KEY, VALUE, ORDER = "key", "value", "order"  # plain words: Spark writes the schema of a key in Avro
TIMESTAMP = "timestamp"  # of Spark's source for Kafka
FIRST, LAST = "0001-01-03 00:00:00", "9999-12-29 00:00:00"  # times that Python can hold, in each time zone


def keyed_rows(
    frame: DataFrame,
    key: str | Column,
    section: Record | AnyLabels,
    value: str | None,
    order: str | Sequence[str] | None,
    results: Sequence[str],
    beside: Sequence[Column] = (),
) -> tuple[DataFrame, StructField]:
    """Return a DataFrame of the key, the bytes of each record, and the columns that order them; and what the key was.

    Parameters
    ----------
    frame
        The DataFrame.
    key
        The key: the name of a column, or an expression.
    section
        The section of the file that names the fields: `record`, or `labels`.
    value
        The column with the record as JSON, text or bytes. None: `value` of Spark's source for Kafka; in any other
        DataFrame, the columns of a row are the fields of its record.
    order
        The columns that order the records of a key. None: topic, partition and offset of Spark's source for Kafka; any
        other DataFrame is taken in the order in which Spark hands its rows on.
    results
        The columns of the result, beside the key.
    beside
        More columns, which come after the bytes.

    Raises
    ------
    ConfigError
        A column does not exist, or has no order, or the key is not one column, or has the name of a result.
    """
    if not isinstance(key, str | Column):
        raise ConfigError("`key` is the name of a column, or an expression; of several columns, `F.struct('a', 'b')`")
    order = ([*KAFKA] if _is_of_kafka(frame) else []) if order is None else [order] if isinstance(order, str) else order
    keys = frame[quoted(_known(frame, "key", key))] if isinstance(key, str) else key
    (given,) = frame.select(keys).schema
    apart = [*(_known(frame, "order", name) for name in order), given.name]  # also that of `F.col("k")`
    json = bytes_of(frame, section, value, apart)
    positions = [_position(frame, name).alias(f"{ORDER}{number}") for number, name in enumerate(order)]
    if _is_infinite(keys, given.dataType) is not None:  # it may be NaN, and PySpark takes each one for a key of its own
        keys = _without_nan(keys, given.dataType)
    (key_field,) = frame.select(keys.alias(given.name)).schema
    if key_field.name.lower() in results:  # Spark takes small and capital letters for the same
        raise ConfigError(f"`key`: the result has a column `{key_field.name}` already: give the key another name")
    return frame.select(keys.alias(KEY), json.alias(VALUE), *beside, *positions), key_field


def _position(frame: DataFrame, name: str) -> Column:
    """Return a column that orders the records, with values that Python can compare."""
    column, kind = frame[quoted(name)], frame.schema[name].dataType
    if isinstance(kind, ArrayType | MapType | StructType | VariantType):
        raise ConfigError(f"`order`: the column `{name}` is of type {kind.typeName()}: name columns with single values")
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        first, last = (F.lit(time).cast(kind) for time in (FIRST, LAST))
        return F.when(column.isNotNull(), F.least(F.greatest(column, first), last))
    return _without_nan(column, kind)


def time_of(frame: DataFrame, section: Record | AnyLabels) -> Column:
    """Return the timestamp of each row in milliseconds, null if a field has the time.

    Raise ConfigError if there is neither.
    """
    if section.time is not None:
        return F.lit(None).cast("long")
    if _is_of_kafka(frame) and TIMESTAMP in frame.columns:
        return F.unix_millis(frame[TIMESTAMP])
    name, what = ("labels", "label") if isinstance(section, AnyLabels) else ("record", "record")
    raise ConfigError(
        f"`{name}.time` is missing: only rows from Kafka have a timestamp. Name the field with the time of a {what}: by"
        " their times, records and labels are put into one order"
    )


def are_columns(frame: DataFrame, value: str | None) -> bool:
    """Tell whether the columns of a row are the fields of its record."""
    return value is None and not _is_of_kafka(frame)


def bytes_of(frame: DataFrame, section: Record | AnyLabels, value: str | None, apart: Sequence[str] = ()) -> Column:
    """Return the bytes of the record of each row, a JSON object.

    `apart` names columns that are not fields of a record unless the file names them. Raise ConfigError if there is no
    column `value`.
    """
    if value is None and _is_of_kafka(frame):
        value = "value"
    if value is not None:
        return frame[quoted(_known(frame, "value", value))].cast("binary")
    left_out = {*apart} - _named_fields(section)
    kinds = {each.name: each.dataType for each in frame.schema}
    columns = [
        _without_nan(frame[quoted(name)], kinds[name]).alias(name) for name in frame.columns if name not in left_out
    ]
    fields = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}) if columns else F.lit("{}")
    names = [name for name in frame.columns if name not in left_out]
    found = [test for name in names if (test := _is_infinite(frame[quoted(name)], kinds[name])) is not None]
    if found:  # `to_json` would write the text "Infinity": such a record is not JSON, and rejected
        said = F.concat(F.lit("an infinite number in "), fields)
        fields = F.when(functools.reduce(operator.or_, found), said).otherwise(fields)
    return fields.cast("binary")


def _is_infinite(column: Column, kind: DataType) -> Column | None:
    """Return whether a value holds an infinite number; None for a type that cannot."""
    if isinstance(kind, FloatType | DoubleType):
        return F.abs(column) == F.lit(math.inf)
    if isinstance(kind, MapType):
        return _is_infinite(F.map_values(column), ArrayType(kind.valueType))
    if isinstance(kind, ArrayType) and _is_infinite(column, kind.elementType) is not None:
        return F.exists(column, lambda item: _is_infinite(item, kind.elementType))
    if isinstance(kind, StructType):
        parts = (_is_infinite(column.getField(each.name), each.dataType) for each in kind)
        found = [part for part in parts if part is not None]
        return functools.reduce(operator.or_, found) if found else None
    return None


def _without_nan(column: Column, kind: DataType) -> Column:
    """Return a column with null in place of NaN, which `to_json` writes as the text "NaN"."""
    if isinstance(kind, FloatType | DoubleType):
        return F.when(~F.isnan(column), column)
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda item: _without_nan(item, kind.elementType))
    if isinstance(kind, MapType):
        return F.transform_values(column, lambda _, item: _without_nan(item, kind.valueType))
    if isinstance(kind, StructType) and kind.names:
        fields = [_without_nan(column.getField(each.name), each.dataType).alias(each.name) for each in kind]
        return F.when(column.isNotNull(), F.struct(*fields))
    return column


def quoted(name: str) -> str:
    """Return the name of a column as Spark takes it as a whole: otherwise a dot leads into a struct.

    >>> quoted("sepal.length")
    '`sepal.length`'
    """
    return f"`{name.replace('`', '``')}`"


def _is_of_kafka(frame: DataFrame) -> bool:
    return {*KAFKA, "value"} <= {*frame.columns}


def _known(frame: DataFrame, parameter: str, name: str) -> str:
    if name not in frame.columns:
        columns = ", ".join(f"`{column}`" for column in frame.columns)
        hint = did_you_mean(name, frame.columns) or f"; there are {columns}"
        raise ConfigError(f"`{parameter}`: the DataFrame has no column `{name}`{hint}")
    return name


def _named_fields(section: Record | AnyLabels) -> set[str]:
    """Return the fields of a record that the file names, which stay in it also if they are key or order."""
    texts = [section.id, section.label, section.time]
    features: Sequence[Any] = ()
    if isinstance(section, Record):
        texts, features = [*texts, section.weight], section.features or ()
    paths = [FieldPath.parse(text) for text in texts if text is not None] + [path for _, path in named(features)]
    return {name for path in paths for name in (path.name, str(path.keys[0]))}
