"""Parquet and Arrow files: their rows as the JSON objects that the same records would be in a topic."""

import decimal
import hashlib
import math
import pathlib
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import orjson

from connectors.config.files_schema import suffix_of
from connectors.files.byte_streams import Unfit
from connectors.files.record_files import Mark
from connectors.formats.plain import number
from connectors.model.records import Record
from connectors.model.rejects import Reject

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 4096  # in memory at a time
INSTALL = "pip install 'river-margins[arrow]'"
FILE_MAGIC = b"ARROW1"  # of an Arrow file; a stream of Arrow begins otherwise
INDEX = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas writes it: not a field of a record


class TableReader:
    """Reader of the rows of a Parquet or Arrow file. The source of a record is `name:row`, counted from 1.

    The value of a record is its row as a JSON object, without the index of pandas if that has no name. A cell that JSON
    cannot express is null there, and the record is known to be rejected.

    Parameters
    ----------
    path
        The file. A name that ends with `.parquet` is Parquet, any other Arrow.

    Attributes
    ----------
    path
        The file.
    columns
        The names of the columns.
    lines
        How many rows were read.
    total
        How many rows there are; None for a stream of Arrow.

    Raises
    ------
    Unfit
        There is no such file, it is damaged, or a column cannot be expressed in JSON.
    """

    def __init__(self, path: str) -> None:
        try:
            import pyarrow as pa
        except ImportError:
            raise Unfit(f"Parquet and Arrow need the package `pyarrow`: {INSTALL}") from None
        if not pathlib.Path(path).is_file():
            raise Unfit("it is not a file" if pathlib.Path(path).exists() else "it does not exist")
        self.path, self.lines, self.total = path, 0, None
        self._name, self._sha256, self._errors = pathlib.Path(path).name, "", (pa.ArrowException, OSError)
        try:
            schema, self._batches, self.total = _parquet(path) if suffix_of(path) == "parquet" else _arrow(path)
        except self._errors as error:
            raise Unfit(f"it cannot be read: {error}") from None
        self._places = [place for place, name in enumerate(schema.names) if not INDEX.fullmatch(str(name))]
        fields = [schema.field(place) for place in self._places]
        self.columns = [str(field.name) for field in fields]
        double = next((name for name in self.columns if self.columns.count(name) > 1), None)
        if double is not None:
            raise Unfit(f"it has two columns `{double}`")
        self._types = [_type_in_json(field.type, field.name) for field in fields]

    def parser(self, *texts: str | None, nulls: Collection[str] = ()) -> None:
        """Values are JSON objects already."""

    @property
    def length(self) -> int:
        """How many rows were read."""
        return self.lines

    def mark(self) -> Mark:
        """Return the number of rows read so far, and the SHA-256 of the whole file, which cannot grow."""
        if not self._sha256:
            with open(self.path, "rb") as file:
                self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Mark(self.lines, self._sha256)

    def skip(self, mark: Mark, lines: int) -> None:
        """Skip to a mark made earlier, before any record is taken. Raise Unfit if the file has changed."""
        if mark.sha256 != self.mark().sha256:
            raise Unfit("it is not the file that was read; a Parquet or Arrow file cannot grow")
        self.lines = mark.length

    def __iter__(self) -> Iterator[Record | None]:
        """Yield the records."""
        start = self.lines
        first = 0  # the number of rows before a batch
        try:
            for batch in self._batches:
                end = first + batch.num_rows
                if end > start:
                    yield from self._records(batch.slice(max(0, start - first)))
                first = end
        except self._errors as error:
            raise Unfit(f"it is damaged: {error}") from None
        if self.total is not None and first < self.total:  # pyarrow reads a file that was cut off meanwhile to its end
            raise Unfit(f"it had {self.total} rows when it was opened, and the rows after {first} are gone")

    def _records(self, batch: "pa.RecordBatch") -> Iterator[Record]:
        for row, known in _rows(batch.select(self._places), self.columns, self._types):
            self.lines += 1
            yield Record(f"{self._name}:{self.lines}", None, row, known=known)


Opened = tuple["pa.Schema", Iterator["pa.RecordBatch"], int | None]


def _parquet(path: str) -> Opened:
    from pyarrow import parquet

    # A buffer keeps a column of a row group from being read as a whole. Times of INT96, as Spark writes them, become
    # nanoseconds by default, and those before 1677 and after 2262 other times.
    file = parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False, coerce_int96_timestamp_unit="us")
    return file.schema_arrow, file.iter_batches(ROWS, use_threads=False), file.metadata.num_rows


def _arrow(path: str) -> Opened:
    import pyarrow as pa

    with open(path, "rb") as file:
        is_stream = file.read(len(FILE_MAGIC)) != FILE_MAGIC
    if is_stream:
        stream = pa.ipc.open_stream(pa.OSFile(path))
        return stream.schema, _cut(iter(stream)), None
    reader = pa.ipc.open_file(pa.OSFile(path))
    return reader.schema, _cut(reader.get_batch(n) for n in range(reader.num_record_batches)), None


def _cut(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    for batch in batches:
        _check(batch)
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


def _check(batch: "pa.RecordBatch") -> None:
    """Raise ArrowInvalid if an offset or an index of a batch leads out of it: Arrow itself would follow it."""
    import pyarrow as pa

    as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}  # text that is not UTF-8 is a reject
    for column in batch.columns:
        kind = as_bytes.get(column.type)
        (column if kind is None else column.view(kind)).validate(full=True)


def _type_in_json(kind: "pa.DataType", column: str) -> "pa.DataType":
    """Return the type to read a column as, so that each cell is a value that JSON can express, or raise Unfit."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _type_in_json(kind.value_type, column)
    if isinstance(kind, pa.BaseExtensionType):
        return kind if kind.extension_name == "arrow.uuid" else _type_in_json(kind.storage_type, column)
    if types.is_struct(kind):
        fields = [kind.field(n) for n in range(kind.num_fields)]
        return pa.struct([pa.field(each.name, _type_in_json(each.type, f"{column}.{each.name}")) for each in fields])
    if types.is_map(kind):
        if _type_in_json(kind.key_type, column) not in (pa.string(), pa.large_string()):
            raise Unfit(f"the column `{column}` has the type `{kind}`: the keys of a JSON object are text")
        return pa.map_(pa.string(), _type_in_json(kind.item_type, f"{column}{{}}"))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_type_in_json(kind.value_type, f"{column}[]"))
    if types.is_timestamp(kind):  # to a finer unit, Arrow would turn a time far away into another one
        return pa.timestamp("us" if kind.unit == "ns" else kind.unit, "UTC" if kind.tz else None)
    if types.is_date(kind):
        return kind
    if types.is_time(kind):
        return pa.time64("us")
    if types.is_float16(kind):
        return pa.float64()
    if types.is_decimal(kind):
        return kind  # `number` reads it: Arrow's own conversion makes 0.30000000000000004 of 0.30
    if types.is_null(kind) or types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return kind
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return kind
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    raise Unfit(f"the column `{column}` has the type `{kind}`, which JSON cannot express: write the file without it")


def _rows(
    batch: "pa.RecordBatch", names: list[str], types: list["pa.DataType"]
) -> Iterator[tuple[bytes, Reject | None]]:
    """Yield each row as a JSON object, and why it cannot be used, if so."""
    import pyarrow as pa

    columns = [
        column if column.type == kind else _read_as(column, kind)
        for column, kind in zip(batch.columns, types, strict=True)
    ]
    # Most batches hold nothing but numbers, text and times that JSON can express.
    is_special = any(_is_infinite(column) or _has_map(column.type) for column in columns)
    if not is_special:
        try:
            table = pa.RecordBatch.from_arrays(columns, names=names)
            rows = [orjson.dumps(row, default=_as_json) for row in table.to_pylist()]
        except (TypeError, ValueError, OverflowError):
            is_special = True
    if not is_special:
        yield from ((row, None) for row in rows)
        return
    for n in range(batch.num_rows):
        fields, known = {}, None
        for name, column in zip(names, columns, strict=True):
            try:
                fields[name] = _plain(column[n].as_py(), column.type)
                orjson.dumps(fields[name])
            except (TypeError, ValueError, OverflowError) as error:
                fields[name] = None
                said = "a time out of range" if isinstance(error, OverflowError) else error
                known = known or Reject(f"the column `{name}` cannot be expressed in JSON: {said}")
        yield orjson.dumps(fields), known


def _read_as(column: "pa.Array", kind: "pa.DataType") -> "pa.Array":
    """Return a column as this type. Arrow casts no dictionary of views, as Polars writes it, and no runs."""
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if types.is_dictionary(column.type):
        return _read_as(column.dictionary, kind).take(column.indices)
    plain = _without_views(column.type)
    return (column if plain == column.type else column.cast(plain)).cast(kind, safe=False)


def _without_views(kind: "pa.DataType") -> "pa.DataType":
    """Return a type with no views in dictionaries within lists and objects, to which Arrow casts them."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type), kind.ordered)
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(field.type)) for field in kind.fields])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_without_views(kind.value_type)))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)), kind.list_size)
    return kind


def _as_json(value: Any) -> str | int | float:
    """Return bytes as text and decimals as numbers: what orjson calls for a type that it does not know."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, decimal.Decimal):
        return number(value)
    raise TypeError(f"a value of type `{type(value).__name__}`")


def _plain(value: Any, kind: "pa.DataType") -> Any:
    """Return a value of a type as one that JSON can express, or raise ValueError."""
    from pyarrow import types

    if isinstance(value, float) and math.isinf(value):
        raise ValueError(f"the number {value}")
    if isinstance(value, bytes | decimal.Decimal):
        return _as_json(value)
    if isinstance(value, dict):
        return {name: _plain(item, kind.field(name).type) for name, item in value.items()}
    if isinstance(value, list):
        if types.is_map(kind):
            return {key: _plain(item, kind.item_type) for key, item in value}
        return [_plain(item, kind.value_type) for item in value]
    return value


def _is_infinite(column: "pa.Array") -> bool:
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_floating(kind):
        return bool(pc.any(pc.is_inf(column)).as_py())
    if types.is_struct(kind):
        return any(_is_infinite(each) for each in column.flatten())
    return types.is_list(kind) and _is_infinite(column.flatten())


def _has_map(kind: "pa.DataType") -> bool:
    from pyarrow import types

    if types.is_struct(kind):
        return any(_has_map(kind.field(n).type) for n in range(kind.num_fields))
    return types.is_map(kind) or (types.is_list(kind) and _has_map(kind.value_type))
