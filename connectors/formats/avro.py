"""Avro in the wire format of Confluent: a zero byte, the id of the writer's schema in a registry, the content."""

import decimal
import io
import json
import uuid
from collections.abc import Callable
from typing import Any

from connectors.formats.plain import plain, plain_id
from connectors.formats.registry import INSTALL, ParsedSchemas, Registry, Schema, join, split

try:
    import fastavro
    from fastavro.read import LOGICAL_READERS
except ImportError as error:
    raise ValueError(f"the format `avro` needs packages: {INSTALL}") from error

MOST_PARTS = 100_000  # of one value, without the items of its arrays and maps
MOST_CELLS = 100_000_000  # bytes of a value, times the parts that one of its arrays and maps may become
WHOLE = "river_margins_value"  # a record with one field has the bytes of that field
# fastavro rounds a decimal to the precision of its schema, in a time that grows with the square of its length.
LONGEST_DECIMAL = 1_000  # bytes
OURS = "river-margins-"  # begins the names of logical types that are read by readers of our own
EXACT = decimal.Context(prec=3 * LONGEST_DECIMAL)
SCALAR = ["null", "boolean", "long", "double", "string"]
SCORE = ["null", "double", {"type": "map", "values": "double"}]
OF_CHALLENGER = [
    "null",
    {
        "type": "record",
        "name": "Challenger",
        "fields": [{"name": "prediction", "type": SCALAR}, {"name": "score", "type": SCORE}],
    },
]
OPTIONAL = {
    "label": SCALAR,
    "explanation": ["null", {"type": "map", "values": "double"}],
    "challengers": ["null", {"type": "map", "values": OF_CHALLENGER}],
}
# An output. What is missing in JSON is null, and has this default, so that a schema may lose or get such a field.
OUTPUT = {
    "type": "record",
    "name": "Output",
    "namespace": "river_margins",
    "fields": [
        {"name": "id", "type": SCALAR},
        {"name": "prediction", "type": SCALAR},
        {"name": "score", "type": SCORE},
        *({"name": name, "type": kind, "default": None} for name, kind in OPTIONAL.items()),
    ],
}
OUTPUT_TEXT = json.dumps(OUTPUT)


class Avro:
    """A codec for Avro. A value is read with the schema it was written with: a field that it lacks is absent.

    Parameters
    ----------
    registry
        The registry.
    topic
        The topic. Outputs have the subject `TOPIC-value`.
    """

    def __init__(self, registry: Registry, topic: str) -> None:
        self._registry, self._subject = registry, f"{topic}-value"
        self._schemas = ParsedSchemas(registry, _parsed, "AVRO")
        self._output = fastavro.parse_schema(OUTPUT)

    def decode(self, value: bytes) -> dict[str, Any]:
        """Return the fields of a value."""
        id, content = split(value)
        schema, density = self._schemas.get(id)
        if len(content) * density > MOST_CELLS:
            raise ValueError(
                f"the value has {len(content):,} bytes, and schema {id} makes up to {density:,.0f} parts of one: "
                "together they may take too much memory"
            )
        stream = io.BytesIO(content)
        try:
            whole: Any = fastavro.schemaless_reader(stream, schema, None)
        except EOFError:
            raise ValueError(f"the value ends too early for schema {id}") from None
        except Exception as error:  # damaged bytes lead to errors of many classes
            raise ValueError(f"the value does not fit schema {id}: {error}") from error
        if stream.tell() < len(content):
            raise ValueError(f"{len(content) - stream.tell()} bytes follow the value of schema {id}")
        try:
            return plain(whole[WHOLE])  # type: ignore[no-any-return]
        except ValueError as error:
            raise ValueError(f"the value does not fit schema {id}: {error}") from None

    def encode(self, fields: dict[str, Any]) -> bytes:
        """Return the value for an output; its schema is registered with the first one."""
        schema_id = self._registry.register(self._subject, OUTPUT_TEXT, "AVRO")
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, self._output, fields | {"id": plain_id(fields["id"])})
        return join(schema_id, stream.getvalue())


def _decimal(content: bytes, schema: Any, _: Any = None) -> decimal.Decimal:
    if len(content) > LONGEST_DECIMAL:
        raise ValueError(f"a decimal has {len(content):,} bytes")
    return decimal.Decimal(int.from_bytes(content, "big", signed=True)).scaleb(-schema.get("scale", 0), EXACT)


def _uuid(content: bytes, schema: Any, _: Any = None) -> uuid.UUID:
    return uuid.UUID(bytes=content)


def _or_error(logical: str, read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reader whose result for a content that has no such value is an error: a reader knows no names."""

    def read_or_error(content: Any, schema: Any, reader_schema: Any = None) -> Any:
        try:
            return read(content, schema, reader_schema)
        except (ValueError, OverflowError) as error:
            return ValueError(f"{content!r:.100} is no `{logical}`: {error}")

    return read_or_error


def _readers() -> dict[str, Callable[..., Any]]:
    readers = LOGICAL_READERS | {"bytes-decimal": _decimal, "fixed-decimal": _decimal, "fixed-uuid": _uuid}
    named = ((*name.split("-", 1), read) for name, read in readers.items())
    return {f"{kind}-{OURS}{logical}": _or_error(logical, read) for kind, logical, read in named}


OUR_READERS = _readers()
LOGICAL_READERS.update(OUR_READERS)
LOGICAL_TYPES = {name.partition(OURS)[2] for name in OUR_READERS}


def _parsed(schema: Schema) -> Any:
    named: dict[str, Any] = {}
    for _, text in schema.references:
        fastavro.parse_schema(_to_read(json.loads(text)), named)
    # fastavro hands on the names of references within a record only, and the schema may be a union of them.
    kind = _to_read(json.loads(schema.text))
    parsed = fastavro.parse_schema({"type": "record", "name": WHOLE, "fields": [{"name": WHOLE, "type": kind}]}, named)
    extent = _Extent(named)
    extent.of(parsed)
    return parsed, extent.density


def _to_read(schema: Any) -> Any:
    """Return a schema with our logical types, and without defaults: none is used to read what was written with it."""
    if isinstance(schema, dict):
        read = {key: _to_read(part) for key, part in schema.items() if key != "default"}
        logical = read.get("logicalType")
        if isinstance(logical, str) and logical in LOGICAL_TYPES:
            return read | {"logicalType": OURS + logical}
        return read
    return [_to_read(part) for part in schema] if isinstance(schema, list) else schema


class _Extent:
    """The most parts of a value, without the items of its arrays and maps, its fewest bytes, and its density.

    The density is a bound on the parts that come of a byte, for a value that takes bytes. It is not the quotient of the
    two numbers: of a union, the branch with the most parts is seldom the one with the fewest bytes.

    Whoever writes a record chooses its schema. With some, a few bytes would end the process or occupy it for years:
    with a type that refers to itself, with arrays of items that take no bytes, and with records of records of records.
    """

    def __init__(self, named: dict[str, Any]) -> None:
        self._named, self._known, self._open = named, dict[str, tuple[int, int, float]](), set[str]()
        self.density = 0.0  # the most parts that a byte of an array or a map may become

    def of(self, schema: Any) -> tuple[int, int, float]:
        """Return the three numbers, or raise ValueError for a schema that is refused."""
        if isinstance(schema, list):
            found = [self.of(one) for one in schema]
            dense = [density if size else 1.0 + parts for parts, size, density in found]  # a union takes a byte itself
            return 1 + max((parts for parts, _, _ in found), default=0), 1, max([1.0, *dense])
        if isinstance(schema, str):
            return self._of_named(schema, self._named[schema]) if schema in self._named else (1, schema != "null", 1.0)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._of_named(schema["name"], schema)
        if kind in ("array", "map"):
            parts, size, density = self.of(schema["items" if kind == "array" else "values"])
            if kind == "array" and not size:
                raise ValueError("it has an array of items that take no bytes")
            self.density = max(self.density, density if size else parts)  # an entry of a map has a byte for its key
            return self._checked(1 + parts), 1, 1.0
        if kind == "fixed":
            return 1, schema["size"], 1.0
        return (1, 1, 1.0) if kind == "enum" else self.of(kind)

    def _of_named(self, name: str, schema: Any) -> tuple[int, int, float]:
        if schema["type"] not in ("record", "error"):
            return self.of(schema)
        if name in self._open:
            raise ValueError(f"`{name}` refers to itself")
        if name not in self._known:
            self._open.add(name)
            found = [self.of(field["type"]) for field in schema["fields"]]
            self._open.remove(name)
            parts = self._checked(1 + sum(parts for parts, _, _ in found))
            size = sum(size for _, size, _ in found)
            empty = 1 + sum(parts for parts, size, _ in found if not size)
            dense = max((density for _, size, density in found if size), default=0.0)
            self._known[name] = parts, size, min(parts / size, empty / size + dense) if size else 0.0
        return self._known[name]

    def _checked(self, parts: int) -> int:
        if parts > MOST_PARTS:
            raise ValueError(f"a value has more than {MOST_PARTS:,} parts")
        return parts
