"""The errors of librdkafka as those of `connectors.kafka.errors`."""

import contextlib
from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from connectors.kafka.confluent import internals
from connectors.kafka.confluent.library_log import log
from connectors.kafka.errors import (
    AUTHENTICATION_ADVICE,
    INCONSISTENT_PROTOCOL_ADVICE,
    METADATA_TOO_LARGE_ADVICE,
    NO_SASL_ADVICE,
    BadTimestamp,
    ClientError,
    Fenced,
    LostOwnership,
    NotAccepted,
    NotPermitted,
    Permissions,
    Replaced,
    with_advice,
)

_NO_PERMISSIONS: Permissions = {}


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
    (BadTimestamp, {KafkaError.INVALID_TIMESTAMP}),
    (Fenced, {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}),
    (Replaced, {KafkaError.FENCED_INSTANCE_ID}),
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
_RESOURCES = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional_id",
}
_ADVICE = {
    KafkaError.SASL_AUTHENTICATION_FAILED: AUTHENTICATION_ADVICE,
    KafkaError._AUTHENTICATION: AUTHENTICATION_ADVICE,
    KafkaError.OFFSET_METADATA_TOO_LARGE: METADATA_TOO_LARGE_ADVICE,
    KafkaError.INCONSISTENT_GROUP_PROTOCOL: INCONSISTENT_PROTOCOL_ADVICE,
}
_NO_RESPONSE = {
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT_QUEUE,
}
_CONNECTION_FAILURES = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError._RESOLVE,
    KafkaError._TRANSPORT,
}


class ErrorTranslator:
    """Turns the errors of one client of librdkafka into ours, and remembers why its brokers cannot be reached.

    Errors that belong to no call, such as a wrong password, come by a callback. `callbacks` are the settings that pass
    them to this object, and the next call of the client raises them.

    Parameters
    ----------
    permissions
        Those that the client needs.
    """

    def __init__(self, permissions: Permissions = _NO_PERMISSIONS) -> None:
        self._permissions = permissions
        self._connection_failure: KafkaError | None = None

    @property
    def callbacks(self) -> dict[str, Any]:
        return {"error_cb": self._on_error, "logger": log}

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _CONNECTION_FAILURES:
            self._connection_failure = error

    def check_authentication(self) -> None:
        """Raise NotPermitted if the broker refuses the user, which no call reports."""
        failure = self._connection_failure
        if failure is not None and internals.is_refusal(failure):
            raise self.translate(failure)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the library's errors within the block as ours."""
        try:
            yield
        except (KafkaException, SystemError) as error:
            found = internals.cause_of(error)
            if found is None:
                raise
            raise self.translate(found) from error

    def translate(self, error: KafkaError, where: str = "", permissions: Permissions = _NO_PERMISSIONS) -> ClientError:
        """Return our error for one of librdkafka's; `where` names what it is about, `permissions` are needed there."""
        failure = self._connection_failure
        if error.code() in _NO_RESPONSE and failure is not None:
            if internals.is_refusal(failure):
                error = failure
            else:
                where = f"{where}: {failure.str()}".removeprefix(": ")
        text = f"{where}: {error.str()}" if where else error.str()
        code = internals.code_of(error)
        kind = next((kind for kind, codes in _KINDS if code in codes), ClientError)
        needed = dict(self._permissions) | dict(permissions)
        advice = NO_SASL_ADVICE if internals.takes_no_password(error) else _ADVICE.get(code)
        return with_advice(kind, text, advice, needed.get(_RESOURCES.get(code, "")))
