"""The errors of kafka-python as those of `connectors.kafka.errors`."""

import contextlib
from collections.abc import Iterator

from kafka import errors as kafka_errors

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
    OutOfRange,
    Permissions,
    Replaced,
    Truncated,
    with_advice,
)
from connectors.kafka.kafka_python import internals

_NO_PERMISSIONS: Permissions = {}
_KINDS: list[tuple[type[ClientError], tuple[type[Exception], ...]]] = [
    (
        NotPermitted,
        (
            kafka_errors.AuthorizationError,
            kafka_errors.SaslAuthenticationFailedError,
            kafka_errors.IllegalSaslStateError,
            kafka_errors.UnsupportedSaslMechanismError,
        ),
    ),
    (BadTimestamp, (kafka_errors.InvalidTimestampError,)),
    (Replaced, (kafka_errors.FencedInstanceIdError,)),
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
            kafka_errors.UnsupportedCodecError,
        ),
    ),
]
_RESOURCES: dict[type, str] = {
    kafka_errors.TopicAuthorizationFailedError: "topic",
    kafka_errors.GroupAuthorizationFailedError: "group",
    kafka_errors.TransactionalIdAuthorizationFailedError: "transactional_id",
}
_ADVICE: dict[type, str] = {
    kafka_errors.SaslAuthenticationFailedError: AUTHENTICATION_ADVICE,
    kafka_errors.IllegalSaslStateError: NO_SASL_ADVICE,
    kafka_errors.UnsupportedSaslMechanismError: AUTHENTICATION_ADVICE,
    kafka_errors.OffsetMetadataTooLargeError: METADATA_TOO_LARGE_ADVICE,
    kafka_errors.InconsistentGroupProtocolError: INCONSISTENT_PROTOCOL_ADVICE,
    kafka_errors.UnsupportedCodecError: (
        "install what kafka-python decompresses with (`pip install lz4 python-snappy`), or take `client: confluent`, "
        "which has it all"
    ),
}


def translate(
    error: Exception, cause: Exception | None = None, permissions: Permissions = _NO_PERMISSIONS
) -> ClientError:
    """Return our error for one of the library's; `permissions` are those that its client needs."""
    for found in (error, cause):
        for named in (type(found), *internals.errors_named_in(str(found))):
            for kind, classes in _KINDS:
                if issubclass(named, classes):
                    permission = permissions.get(_RESOURCES.get(named, ""))
                    return with_advice(kind, str(found), _ADVICE.get(named), permission)
    name, text = type(error).__name__, str(error)
    if isinstance(error, kafka_errors.KafkaTimeoutError) and error.args in ((), (None,)):
        text = "the brokers did not answer in time"
    return ClientError(text if name in text else f"{name}: {text}")


@contextlib.contextmanager
def translated(permissions: Permissions = _NO_PERMISSIONS, labels: str | None = None) -> Iterator[None]:
    """Raise the library's errors within the block as ours; partitions of `labels` have numbers below 0."""
    try:
        yield
    except kafka_errors.OffsetOutOfRangeError as error:
        place, offset = internals.first_out_of_range(error)
        raise OutOfRange(place.partition if place.topic != labels else ~place.partition, offset) from error
    except kafka_errors.LogTruncationError as error:
        place, end = internals.first_truncated(error)
        raise Truncated(place.partition if place.topic != labels else ~place.partition, end) from error
    except (kafka_errors.KafkaError, OSError) as error:
        raise translate(error, permissions=permissions) from error
