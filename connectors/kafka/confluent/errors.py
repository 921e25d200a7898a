"""The errors and the log of librdkafka, in our words."""

import contextlib
import logging
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from connectors.kafka import METADATA_LIMIT, STRANGER, ClientError, Fenced, LostOwnership, NotAccepted, NotPermitted

REPEATS = 30.0  # seconds within which a line of librdkafka is not said again: it reconnects many times a second


class _Once(logging.Filter):
    """Lets a line pass that was not said just now; the numbers in it do not make it another one."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        text, now = re.sub(r"\d+", "", record.getMessage()), time.monotonic()
        self._said = {known: until for known, until in self._said.items() if until > now}
        return self._said.setdefault(text, now + REPEATS) == now + REPEATS


log = logging.getLogger("connectors.kafka.librdkafka")
log.addFilter(_Once())

_KINDS: list[tuple[type[ClientError], set[int]]] = [
    (
        NotPermitted,
        {
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.SASL_AUTHENTICATION_FAILED,
            KafkaError._AUTHENTICATION,
        },
    ),
    (Fenced, {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}),
    (
        LostOwnership,
        {
            KafkaError.ILLEGAL_GENERATION,
            KafkaError.UNKNOWN_MEMBER_ID,
            KafkaError.REBALANCE_IN_PROGRESS,
            KafkaError._ASSIGNMENT_LOST,
            KafkaError._MAX_POLL_EXCEEDED,
        },
    ),
    (
        NotAccepted,
        {
            KafkaError.INVALID_SESSION_TIMEOUT,
            KafkaError.INVALID_TRANSACTION_TIMEOUT,
            KafkaError.INCONSISTENT_GROUP_PROTOCOL,
            KafkaError.GROUP_MAX_SIZE_REACHED,
            KafkaError.UNSUPPORTED_VERSION,
            KafkaError.OFFSET_METADATA_TOO_LARGE,
            KafkaError._INVALID_ARG,
        },
    ),
]
_RIGHTS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional",
}
_ADVICE = {
    KafkaError.OFFSET_METADATA_TOO_LARGE: METADATA_LIMIT,
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: STRANGER,
}
_SILENT = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT_QUEUE}
_REASONS = {KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE, KafkaError._TRANSPORT}


class Watch:
    """Turns errors of one client into ours, and remembers why brokers cannot be reached.

    `rights` are the permissions that the client needs, by kind of resource.
    """

    def __init__(self, rights: Mapping[str, str]) -> None:
        self._rights = rights
        self._reason: KafkaError | None = None

    @property
    def callbacks(self) -> dict[str, Any]:
        return {"error_cb": self._note, "logger": log}

    def _note(self, error: KafkaError) -> None:
        if error.code() in _REASONS:
            self._reason = error

    def check(self) -> None:
        """Raises what no call would say: that the broker refuses who we are."""
        if self._reason is not None and self._reason.code() == KafkaError._AUTHENTICATION:
            raise self.translate(self._reason)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        try:
            yield
        except (KafkaException, SystemError) as error:
            # a fatal error that meets a callback on its way arrives as the cause of a SystemError
            found = error if isinstance(error, KafkaException) else error.__cause__
            if not isinstance(found, KafkaException):
                raise
            raise self.translate(found.args[0]) from error

    def translate(self, error: KafkaError, where: str = "", rights: Mapping[str, str] | None = None) -> ClientError:
        """Returns our error for one of librdkafka's; `where` says what it is about, `rights` are needed there."""
        if error.code() in _SILENT and self._reason is not None:
            if self._reason.code() == KafkaError._AUTHENTICATION:
                error = self._reason
            else:
                where = f"{where}: {self._reason.str()}".removeprefix(": ")
        said = f"{where}: {error.str()}" if where else error.str()
        needed = (dict(self._rights) | dict(rights or {})).get(_RIGHTS.get(error.code(), ""))
        kind = next((kind for kind, codes in _KINDS if error.code() in codes), ClientError)
        advice = _ADVICE.get(error.code()) or (needed and f"grant {needed}")
        return kind(f"{said}; {advice}" if advice else said)
