"""Protobuf in the wire format of Confluent: a zero byte, the id of a schema in a registry, a path, the message.

The path leads to the type of the message in the file of the schema: its number there, then its number in that type.
"""

import datetime
import math
from collections.abc import Iterator
from typing import Any

import orjson

from connectors.formats.plain import plain_id
from connectors.formats.protobuf_schemas import File, compiled
from connectors.formats.registry import ParsedSchemas, Registry, Schema, join, split

MOST_PARTS = 100_000  # of one value, beside those that have bytes of their own
MOST_CELLS = 100_000_000  # bytes of a value times the fields of its largest inner type: what it may take in memory
LONGEST_PATH = 100
FIRST_TYPE = b"\0"  # the path of the first type in a file
SMALLEST, LARGEST = -(2**63), 2**63 - 1
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# An output. What is null or missing in JSON is absent.
OUTPUT = """syntax = "proto3";
package river_margins;

message Output {
  Scalar id = 1;
  Scalar prediction = 2;
  optional double score = 3;
  map<string, double> scores = 4;
  Scalar label = 5;
  map<string, double> explanation = 6;
  map<string, Challenger> challengers = 7;
}

message Challenger {
  Scalar prediction = 1;
  optional double score = 2;
  map<string, double> scores = 3;
}

message Scalar {
  oneof kind {
    bool boolean = 1;
    int64 integer = 2;
    double number = 3;
    string text = 4;
  }
}
"""


class Protobuf:
    """A codec for Protobuf. A value is read with the schema it was written with.

    A scalar field of proto3 without `optional` has always a value, as Protobuf says; any other one that is not set is
    absent.

    Parameters
    ----------
    registry
        The registry.
    topic
        The topic. Outputs have the subject `TOPIC-value`.
    """

    def __init__(self, registry: Registry, topic: str) -> None:
        self._registry, self._subject = registry, f"{topic}-value"
        self._schemas = ParsedSchemas(registry, compiled, "PROTOBUF")
        self._output: Any = None

    def decode(self, value: bytes) -> dict[str, Any]:
        """Return the fields of a value."""
        id, content = split(value)
        file: File = self._schemas.get(id)
        path, start = _path(content)
        try:
            kind = file.message(path)
        except ValueError as error:
            raise ValueError(f"the value does not fit schema {id}: {error}") from None
        content = content[start:]
        if len(content) * kind.inner_fields > MOST_CELLS:
            raise ValueError(
                f"the value has {len(content):,} bytes, and its schema {id} a type with {kind.inner_fields:,} fields: "
                f"together they may take too much memory"
            )
        message = kind.make()
        try:
            message.ParseFromString(content)
            return _Reader(MOST_PARTS + len(content)).fields(message)
        except Exception as error:  # a schema may also replace types of Google by unlike ones
            raise ValueError(f"the value does not fit schema {id}: {error}") from error

    def encode(self, fields: dict[str, Any]) -> bytes:
        """Return the value for an output; its schema is registered with the first one."""
        if self._output is None:
            self._output = compiled(Schema(OUTPUT)).message((0,)).make
        message = self._output()
        _set_scalar(message, "id", plain_id(fields["id"]))
        for name in ("prediction", "label"):
            _set_scalar(message, name, fields.get(name))
        _set_score(message, fields["score"])
        message.explanation.update(fields.get("explanation") or {})
        for name, said in (fields.get("challengers") or {}).items():
            challenger = message.challengers[name]
            if said is not None:
                _set_scalar(challenger, "prediction", said["prediction"])
                _set_score(challenger, said["score"])
        id = self._registry.register(self._subject, OUTPUT, "PROTOBUF")
        return join(id, FIRST_TYPE + message.SerializeToString(deterministic=True))


def _set_scalar(message: Any, name: str, value: Any) -> None:
    if value is None:
        return
    scalar = getattr(message, name)
    if isinstance(value, bool):
        scalar.boolean = value
    elif isinstance(value, int) and SMALLEST <= value <= LARGEST:
        scalar.integer = value
    elif isinstance(value, int | float):
        scalar.number = value
    else:
        scalar.text = value if isinstance(value, str) else orjson.dumps(value).decode()


def _set_score(message: Any, score: Any) -> None:
    if isinstance(score, dict):
        message.scores.update(score)
    elif score is not None:
        message.score = score


def _path(content: bytes) -> tuple[tuple[int, ...], int]:
    """Return the path of a message type, and where the message begins."""
    numbers = _numbers(content)
    try:
        count, start = next(numbers)
        if not 0 <= count <= LONGEST_PATH:
            raise ValueError(f"the path of the message type has {count} numbers")
        if not count:
            return (0,), start
        path = [next(numbers) for _ in range(count)]
    except StopIteration:  # of `next` above
        raise ValueError("the value ends in the path of its message type") from None
    return tuple(number for number, _ in path), path[-1][1]


def _numbers(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield numbers of variable length in zigzag form, each with the position behind it."""
    number = shift = 0
    for end, byte in enumerate(content, 1):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number >> 1 ^ -(number & 1), end
            number = shift = 0
        elif shift > 63:
            raise ValueError("the path of the message type has a number of more than 64 bits")


class _Reader:
    """Turns one message into values of JSON.

    Whoever writes a record chooses its schema: with some, each two bytes would become thousands of fields.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def fields(self, message: Any) -> dict[str, Any]:
        """Return the fields of a message."""
        found: dict[str, Any] = {}
        for field in message.DESCRIPTOR.fields:
            if field.has_presence and not message.HasField(field.name):
                continue
            try:
                found[field.name] = self._field(field, getattr(message, field.name))
            except (ValueError, OverflowError) as error:  # OverflowError: of a time
                raise ValueError(f"`{field.name}`: {error}") from None
        return found

    def _field(self, field: Any, value: Any) -> Any:
        if not field.is_repeated:
            return self._value(field, value)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            item = field.message_type.fields_by_name["value"]
            return {_key(key): self._value(item, value[key]) for key in value}
        return [self._value(field, item) for item in value]

    def _value(self, field: Any, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {self._most:,} parts")
        if field.message_type is not None:
            return self._message(field.message_type.full_name, value)
        if field.enum_type is not None:
            named = field.enum_type.values_by_number.get(value)
            return value if named is None else named.name
        if isinstance(value, float):
            if math.isinf(value):
                raise ValueError(f"JSON has no number {value}")
            return None if math.isnan(value) else value
        return value.decode() if isinstance(value, bytes) else value

    def _message(self, name: str, message: Any) -> Any:
        if name == "google.protobuf.Timestamp":
            return (EPOCH + datetime.timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)).isoformat()
        if name in WRAPPERS:
            return self._value(message.DESCRIPTOR.fields_by_name["value"], message.value)
        return self.fields(message)


WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else orjson.dumps(key).decode()
