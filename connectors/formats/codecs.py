"""Codecs: what reads the values of a topic, and writes them.

A package registers a codec of its own as an entry point, in its `pyproject.toml`:

    [project.entry-points."river_margins.codecs"]
    pipes = "my_package.codecs:Pipes"

Then `record: {format: pipes}` and `output: {format: pipes}` name it. Who installs packages decides what can be
imported, and a file does not. `connectors.formats.check_codec` has the suite that each codec passes.
"""

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from connectors.errors import ConnectorError, StartError
from connectors.formats.registry import Registry, UnknownSchema
from connectors.model.rejects import Reject
from connectors.suggest import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "river_margins.codecs"
JSON = "json"  # needs no codec
REGISTERED_SCHEMAS = ("avro", "json_schema", "protobuf")  # the formats whose schemas are in a registry


class Codec(Protocol):
    """Reader and writer of the values of a topic. It is made once for each topic, without arguments.

    Both methods give the same result for the same argument at any time: after a crash, records are read again.
    """

    def decode(self, value: bytes) -> dict[str, Any]:
        """Return the fields of a value, as `orjson.loads` would: dicts with text as keys, lists, text, numbers, None.

        Raise ValueError for bytes that cannot be read: the record is a reject. Raise OSError if something does not
        answer that is needed: the record is tried again.
        """

    def encode(self, fields: dict[str, Any]) -> bytes:
        """Return the value for an output, whose fields `river-margins schema FILE output` describes.

        Raise OSError if something does not answer that is needed: it is tried again.
        """


@functools.cache
def _entry_points() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # slow to import, and needed for codecs of others only

    return {point.name: point for point in entry_points(group=GROUP)}


def check_format(name: str) -> str:
    """Return the name of a format, or raise ValueError if there is none of this name or a package is missing."""
    if name != JSON:
        _factory(name)
    return name


def _factory(name: str) -> Callable[..., Codec]:
    if name == "avro":
        from connectors.formats.avro import Avro

        return Avro
    if name == "json_schema":
        from connectors.formats.json_schema import JsonSchema

        return JsonSchema
    if name == "protobuf":
        from connectors.formats.protobuf import Protobuf

        return Protobuf
    point = _entry_points().get(name)
    if point is None:
        known = [JSON, *REGISTERED_SCHEMAS, *sorted(_entry_points())]
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise ValueError(f"there is no format `{name}`{hint}")
    try:
        found = point.load()
    except Exception as error:  # whatever the module raises
        raise ValueError(f"the codec `{name}` of `{point.value}` cannot be imported: {error}") from error
    for method in ("decode", "encode"):
        if not callable(getattr(found, method, None)):
            raise ValueError(f"the codec `{name}` of `{point.value}` has no method `{method}`")
    return found  # type: ignore[no-any-return]


def make_codec(name: str, registry: Registry | None, topic: str) -> Codec | None:
    """Return a codec for the values of a topic; None for JSON, which needs none."""
    if name == JSON:
        return None
    if name in REGISTERED_SCHEMAS:
        return _factory(name)(registry, topic)
    try:
        return _factory(name)()
    except Exception as error:  # of another package
        raise StartError(f"the codec `{name}` cannot be made: {type(error).__name__}: {error}") from error


def parser(name: str, codec: Codec | None) -> Callable[[bytes], Any] | None:
    """Return what turns a value into fields, or raises Reject, or OSError; None for JSON."""
    if codec is None:
        return None
    decode = codec.decode
    # A challenger that reads the input does so in a thread of its own. Ours may be called by several.
    alone = contextlib.nullcontext() if name in REGISTERED_SCHEMAS else threading.Lock()

    def parse(value: bytes) -> Any:
        try:
            with alone:
                return decode(value)
        except (OSError, ConnectorError):  # of the registry, and not of this value
            raise
        except UnknownSchema as error:
            raise Reject(f"not {name}: {error}", may_pass=True) from error
        except Exception as error:  # also an error of the codec itself is about this value: the process goes on
            raise Reject(f"not {name}: {str(error) or type(error).__name__}") from error

    return parse
