"""The errors of kafka-python, in our words."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from connectors.kafka import (
    METADATA_LIMIT,
    STRANGER,
    ClientError,
    Fenced,
    LostOwnership,
    NotAccepted,
    NotPermitted,
    OutOfRange,
)

_NONE: dict[str, str] = {}
_KINDS: list[tuple[type[ClientError], tuple[type[Exception], ...]]] = [
    (NotPermitted, (kafka_errors.AuthorizationError, kafka_errors.SaslAuthenticationFailedError)),
    (Fenced, (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)),
    (
        LostOwnership,
        (
            kafka_errors.CommitFailedError,
            kafka_errors.IllegalGenerationError,
            kafka_errors.UnknownMemberIdError,
            kafka_errors.RebalanceInProgressError,
        ),
    ),
    (
        NotAccepted,
        (
            kafka_errors.InvalidSessionTimeoutError,
            kafka_errors.InvalidTransactionTimeoutError,
            kafka_errors.InconsistentGroupProtocolError,
            kafka_errors.GroupMaxSizeReachedError,
            kafka_errors.UnsupportedVersionError,
            kafka_errors.KafkaConfigurationError,
            kafka_errors.OffsetMetadataTooLargeError,
        ),
    ),
]
_ADVICE = {
    kafka_errors.OffsetMetadataTooLargeError: METADATA_LIMIT,
    kafka_errors.InconsistentGroupProtocolError: STRANGER,
}


def translate(error: Exception, cause: Exception | None = None, rights: Mapping[str, str] = _NONE) -> ClientError:
    """Our error for one of the library's; `rights` are the permissions that its client needs, by kind of resource."""
    for found in (error, cause):
        for named in _classes(found):
            for kind, classes in _KINDS:
                if issubclass(named, classes):
                    needed = next((right for name, right in rights.items() if named.__name__.startswith(name)), "")
                    advice = _ADVICE.get(named) or (needed and f"grant {needed}")
                    return kind(f"{found}; {advice}" if advice else str(found))
    return ClientError(f"{type(error).__name__}: {error}")


def _classes(error: Exception | None) -> Iterator[type]:
    """The class of an error, and those that its text names: some arrive only as the text of a general one."""
    yield type(error)
    for name in re.findall(r"\w+Error", str(error)):
        named = getattr(kafka_errors, name, None)
        if isinstance(named, type):
            yield named


@contextlib.contextmanager
def translated(rights: Mapping[str, str] = _NONE) -> Iterator[None]:
    try:
        yield
    except (kafka_errors.OffsetOutOfRangeError, kafka_errors.LogTruncationError) as error:
        ((partition, offset),) = list(_out_of_range(error).items())[:1]
        raise OutOfRange(partition.partition, offset) from error
    except (kafka_errors.KafkaError, OSError) as error:
        raise translate(error, rights=rights) from error


def _out_of_range(error: Exception) -> dict[TopicPartition, int]:
    if isinstance(error, kafka_errors.LogTruncationError):
        return {partition: getattr(found, "offset", -1) for partition, found in error.divergent_offsets.items()}
    return error.args[0]


def _heard_first(receive: Callable[[Any], tuple[bytes, Any]]) -> Callable[[Any], tuple[bytes, Any]]:
    """Hands on what was received before the end of the connection, which the next call meets again.

    The library throws it away when both arrive together, as they do where a broker refuses a password and hangs up.
    """

    def received(transport: Any) -> tuple[bytes, Any]:
        content, error = receive(transport)
        return content, None if content else error

    return received


for _kind in (KafkaTCPTransport, KafkaSSLTransport):
    _kind._sock_recv = _heard_first(_kind._sock_recv)  # no class of ours: the library takes none
