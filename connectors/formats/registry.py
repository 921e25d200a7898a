"""A schema registry with the interface of Confluent's, which others offer, too."""

import contextlib
import functools
import json
import os
import ssl
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from connectors.errors import AccessError, StartError
from connectors.secrets import STARS

INSTALL = "pip install 'river-margins[registry]'"
MAGIC = 0
HEADER = struct.Struct(">BI")
NOT_FOUND = (40401, 40402, 40403)  # error codes of a subject, a version and a schema
FORMATS = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json_schema"}
NO_ID = 0  # of no schema: registries count from 1
LARGEST_ID = 2**31 - 1  # Confluent's registry answers beyond it as if the path of its URL were wrong
SECONDS = 5.0
NO_JSON = "answers with something else than JSON: check `record.registry.url`"
MOST_REFERENCES = 100  # of a schema, directly or not
UNKNOWN_SECONDS, MOST_UNKNOWN = 60.0, 10_000  # how long, and how many, unknown ids are remembered


class RegistryUnavailable(OSError):
    """A schema registry does not answer. The next attempt may succeed."""


class UnknownSchema(ValueError):
    """A registry does not know a schema. It may do so later: a replica of it was behind, or the schema is put back."""


class Schema(NamedTuple):
    """A schema.

    Attributes
    ----------
    text
        The schema itself.
    references
        The names and texts of all schemas that it refers to, each once, and after those that it refers to itself.
    kind
        What the registry calls its format: `AVRO`, `PROTOBUF` or `JSON`. None: unknown.
    """

    text: str
    references: tuple[tuple[str, str], ...] = ()
    kind: str | None = None

    def why_not(self, kind: str) -> str | None:
        """Return why it cannot be read as a schema of this kind; None if it is of this kind, as far as is known."""
        if self.kind in (None, kind):
            return None
        named, wanted = (FORMATS.get(one, one) for one in (self.kind, kind))
        return f"it is of the format `{named}`, and not `{wanted}`: correct the topic, its `format` or its producer"


class Registry:
    """A client of a schema registry, which remembers the schemas it has seen.

    Parameters
    ----------
    url
        The address.
    username, password
        The credentials, or None.
    ca_file
        A file with the certificates of the authorities to trust, in PEM; default: the public ones.

    Raises
    ------
    StartError
        A package is missing, or the file of certificates cannot be read.
    """

    def __init__(
        self,
        url: str,
        username: str | None = None,
        password: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient  # slow to import
        except ImportError as error:
            raise StartError(f"a schema registry needs packages: {INSTALL}") from error

        self._url = url
        settings: dict[str, Any] = {"url": url, "timeout": SECONDS, "max.retries": 1}
        if username is not None:
            settings["basic.auth.user.info"] = f"{username}:{password or ''}"
        if ca_file is not None:
            settings["ssl.ca.location"] = os.fspath(ca_file)
        try:
            self._client = SchemaRegistryClient(settings)
        except OSError as error:  # also ssl.SSLError, for a file that is not PEM
            raise StartError(f"`record.registry.ssl_cafile`: `{ca_file}` cannot be read: {error}") from error
        self._schemas: dict[int, Schema] = {}
        self._registered: dict[str, int] = {}
        self._unknown: dict[int, tuple[float, type[ValueError], str]] = {}

    def __repr__(self) -> str:
        return f"Registry({self._url!r}, {STARS})"

    def check(self) -> None:
        """Raise AccessError or StartError if the registry refuses this user, or RegistryUnavailable if it is away."""
        with contextlib.suppress(ValueError):
            self._ask("to look up schemas", lambda: self._client.get_schema(NO_ID))

    def schema(self, id: int) -> Schema:
        """Return the schema of an id, or raise UnknownSchema if there is none, ValueError if it cannot be used."""
        if id > LARGEST_ID:
            raise ValueError(f"no schema has the id {id}: ids have 31 bits")
        if id not in self._schemas:
            until, kind, said = self._unknown.get(id, (0.0, ValueError, ""))
            if until > time.monotonic():
                raise kind(f"{said} (asked within the last minute)")
            try:
                found = self._ask(f"the schema {id}", lambda: self._client.get_schema(id))
                references = dict[Any, tuple[str, str]]()
                self._add_references(found, references)
            except ValueError as error:
                if len(self._unknown) >= MOST_UNKNOWN:
                    self._unknown.clear()
                self._unknown[id] = time.monotonic() + UNKNOWN_SECONDS, type(error), str(error)
                raise
            self._schemas[id] = Schema(found.schema_str, tuple(references.values()), found.schema_type)
        return self._schemas[id]

    def forget_unknown(self) -> None:
        """Ask again for the ids that it did not know."""
        self._unknown.clear()

    def _add_references(self, schema: Any, known: dict[Any, tuple[str, str]], depth: int = 1) -> None:
        """Add what a schema refers to. Writers choose it: it may be a long chain, or name the same schema often."""
        for reference in schema.references or ():
            key = reference.name, reference.subject, reference.version
            if key in known:
                continue
            if max(len(known), depth) > MOST_REFERENCES:
                raise ValueError(f"the schema refers to more than {MOST_REFERENCES} others")
            what = f"version {reference.version} of `{reference.subject}`"
            # True: also one that was deleted softly, as Confluent's clients ask: records with it are still there.
            look_up = functools.partial(self._client.get_version, reference.subject, reference.version, True)
            found = self._ask(what, look_up).schema
            self._add_references(found, known, depth + 1)
            known[key] = reference.name, found.schema_str

    def register(self, subject: str, text: str, kind: str) -> int:
        """Return the id of the schema of a subject, which the first call adds if it is not there.

        Raise StartError or AccessError if the registry refuses it.
        """
        if subject not in self._registered:
            from confluent_kafka.schema_registry import Schema as Registered

            def add() -> int:
                return self._client.register_schema(subject, Registered(text, kind))

            try:
                self._registered[subject] = self._ask(f"`{subject}`", add)
            except ValueError as error:
                raise StartError(f"the schema of `{subject}` cannot be registered: {error}") from error
        return self._registered[subject]

    def _ask(self, what: str, ask: Callable[[], Any]) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return ask()
        except SchemaRegistryError as error:
            raise self._error(what, error.http_status_code, error.error_code, error.error_message) from error
        except json.JSONDecodeError as error:
            raise StartError(f"the schema registry {self._url} {NO_JSON}") from error
        except Exception as error:  # of the HTTP library below, which differs from version to version
            raise self._connection_error(error) from error

    def _error(self, what: str, status: int, code: int, said: str) -> Exception:
        named = f"the schema registry {self._url}"
        if status == 401:
            keys = "check `record.registry.username` and `record.registry.password`"
            return AccessError(f"{named} does not accept the login (401): {keys}")
        if status == 403:
            return AccessError(f"{named} refuses {what} (403): grant it to the user `record.registry.username`: {said}")
        if 300 <= status < 400 or (status == 404 and code not in NOT_FOUND):
            return StartError(f"{named} answers {status} without a reason: check the path of `record.registry.url`")
        if status in (404, 409, 422):
            return (UnknownSchema if status == 404 else ValueError)(f"the schema registry refuses {what}: {said}")
        return RegistryUnavailable(f"{named}: {what}: {status} {said}")

    def _connection_error(self, error: Exception) -> Exception:
        named, cause = f"the schema registry {self._url}", _tls_error(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            trust = "name the certificates of its authority as `record.registry.ssl_cafile`"
            return StartError(f"{named} has a certificate that is not trusted ({cause.verify_message}): {trust}")
        if cause is not None and cause.reason == "WRONG_VERSION_NUMBER":
            return StartError(f"{named} does not speak TLS: write `http://` as `record.registry.url`, or another port")
        return RegistryUnavailable(f"{named} does not answer: {error}")


class ParsedSchemas:
    """The schemas of a registry in the form that a codec reads with, each parsed once.

    Parameters
    ----------
    registry
        The registry.
    parse
        Turns a schema into that form, or raises ValueError; OSError if a later attempt may succeed.
    kind
        What a registry calls the format of these schemas.
    """

    def __init__(self, registry: Registry, parse: Callable[[Schema], Any], kind: str) -> None:
        self._registry, self._parse, self._kind = registry, parse, kind
        self._found: dict[int, Any] = {}

    def get(self, id: int) -> Any:
        """Return the schema of an id, or raise ValueError: for one that cannot be used, without parsing it again."""
        found = self._found.get(id)
        if found is None:
            schema = self._registry.schema(id)
            try:
                found = self._parse(schema)
            except OSError:
                raise
            except Exception as error:  # parsers raise errors of many classes
                found = _Unusable(schema.why_not(self._kind) or str(error))
            self._found[id] = found
        if type(found) is _Unusable:
            raise ValueError(f"the schema {id} cannot be used: {found.reason}")
        return found


class _Unusable(NamedTuple):
    reason: str


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the error of TLS among the causes of an error, or None."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


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
