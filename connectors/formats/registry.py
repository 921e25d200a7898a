"""A schema registry with the interface of Confluent's, which others offer, too."""

import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from connectors.errors import AccessError, StartError
from connectors.secrets import STARS

INSTALL = "pip install 'river-margins[registry]'"
MAGIC = 0
HEADER = struct.Struct(">BI")
NOT_FOUND = (40401, 40402, 40403)  # error codes of a subject, a version and a schema
SECONDS = 5.0
UNKNOWN_SECONDS, MOST_UNKNOWN = 60.0, 10_000  # how long, and how many, unknown ids are remembered


class RegistryUnavailable(OSError):
    """A schema registry does not answer. The next attempt may succeed."""


class Schema(NamedTuple):
    """A schema: its text, and the schemas that it refers to, each after those that it refers to itself."""

    text: str
    references: tuple["Schema", ...] = ()


class Registry:
    """A client of a schema registry, which remembers the schemas it has seen.

    Parameters
    ----------
    url
        The address.
    username, password
        The credentials, or None.
    """

    def __init__(self, url: str, username: str | None = None, password: str | None = None) -> None:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient  # slow to import
        except ImportError as error:
            raise StartError(f"a schema registry needs packages: {INSTALL}") from error

        self._url = url
        settings: dict[str, Any] = {"url": url, "timeout": SECONDS, "max.retries": 1}
        if username is not None:
            settings["basic.auth.user.info"] = f"{username}:{password or ''}"
        self._client = SchemaRegistryClient(settings)
        self._schemas: dict[int, Schema] = {}
        self._unknown: dict[int, float] = {}

    def __repr__(self) -> str:
        return f"Registry({self._url!r}, {STARS})"

    def schema(self, id: int) -> Schema:
        """Return the schema of an id, or raise ValueError if there is none."""
        if id not in self._schemas:
            if self._unknown.get(id, 0.0) > time.monotonic():
                raise ValueError(f"the schema registry had no schema {id} when it was asked within the last minute")
            try:
                found = self._ask(f"the schema {id}", lambda: self._client.get_schema(id))
            except ValueError:
                if len(self._unknown) >= MOST_UNKNOWN:
                    self._unknown.clear()
                self._unknown[id] = time.monotonic() + UNKNOWN_SECONDS
                raise
            self._schemas[id] = Schema(found.schema_str, tuple(self._references(found)))
        return self._schemas[id]

    def _references(self, schema: Any) -> Iterator[Schema]:
        for reference in schema.references or ():
            what = f"version {reference.version} of `{reference.subject}`"
            found = self._ask(what, lambda one=reference: self._client.get_version(one.subject, one.version)).schema
            yield Schema(found.schema_str, tuple(self._references(found)))

    def register(self, subject: str, text: str, kind: str) -> int:
        """Return the id of a schema of a subject, which is added if it is not there. Raise StartError if refused."""
        from confluent_kafka.schema_registry import Schema as Registered

        try:
            return int(self._ask(f"`{subject}`", lambda: self._client.register_schema(subject, Registered(text, kind))))
        except ValueError as error:
            raise StartError(f"the schema of `{subject}` cannot be registered: {error}") from error

    def _ask(self, what: str, ask: Any) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return ask()
        except SchemaRegistryError as error:
            status = error.http_status_code
            if status in (401, 403):
                raise AccessError(f"the schema registry {self._url} refuses {what}: {error.error_message}") from error
            if status == 404 and error.error_code not in NOT_FOUND:
                raise StartError(
                    f"the schema registry {self._url} answers 404 without a reason: check the path of the URL"
                ) from error
            if status in (404, 409, 422):
                raise ValueError(f"the schema registry refuses {what}: {error.error_message}") from error
            raise RegistryUnavailable(f"the schema registry {self._url}: {error}") from error
        except Exception as error:  # of the HTTP library below, which differs from version to version
            raise RegistryUnavailable(f"the schema registry {self._url} does not answer: {error}") from error


def split(value: bytes) -> tuple[int, bytes]:
    """Return the id of the schema and the rest of a value in the wire format of Confluent, or raise ValueError.

    >>> split(bytes([0, 0, 0, 0, 7, 1, 2]))
    (7, b'\\x01\\x02')
    """
    if len(value) < HEADER.size or value[0] != MAGIC:
        raise ValueError("the value does not begin with a zero byte and the id of a schema")
    return HEADER.unpack_from(value)[1], value[HEADER.size :]


def join(id: int, content: bytes) -> bytes:
    """Return a value in the wire format of Confluent.

    >>> join(7, b"a")
    b'\\x00\\x00\\x00\\x00\\x07a'
    """
    return HEADER.pack(MAGIC, id) + content
