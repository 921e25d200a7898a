"""Every use of what confluent-kafka and librdkafka do not document: byte layouts, positions of arguments, texts.

Each function says why it is needed. `tests/connectors/kafka/confluent/test_internals.py` fails by the name of the
function when a release of confluent-kafka no longer does what it relies on.
"""

import contextlib
import functools
import queue
import re
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from connectors.kafka.errors import NotAccepted

TRIED_VERSIONS = ("2.16.0", "2.16.1")
GROUP_METADATA_MAGIC = b"CGMDv2:"
NO_PARTITION = -1  # the partitioner chooses; the documentation only says to leave the argument out
# `Producer.send` passes the arguments of `produce` by position: names would take a quarter of its time, and a function
# here a tenth. The documentation promises the names only, and not this order. A timestamp of 0 means now.
PRODUCE_ARGUMENTS = ("topic", "value", "key", "partition", "callback", "on_delivery", "timestamp", "headers")

MAY_PASS = re.compile("handshake failed: Local: |OAUTHBEARER token|no token available")


def is_refusal(error: KafkaError) -> bool:
    """Tell whether the brokers refuse the user, so that it does not help to wait.

    The library has the same code for a connection that is lost within the handshake, and for a token that its server
    does not give at the moment, for which it asks again after 10 s. Only the text tells which it is.
    """
    return error.code() == KafkaError._AUTHENTICATION and not MAY_PASS.search(error.str())


def takes_no_password(error: KafkaError) -> bool:
    """Tell whether the brokers have no SASL where a client speaks it; the code is that of a wrong password."""
    return "not valid in current SASL state" in error.str()


def parse_group_metadata(metadata: bytes) -> tuple[int, str]:
    """Return generation and member id from `consumer_group_metadata()`; NotAccepted for bytes of another layout.

    The library shows neither by itself, and a commit needs both, captured at the moment of an assignment. The layout:
    `CGMDv2:`, the generation (int32, little-endian), then group and member id, each ended by a null character.

    >>> parse_group_metadata(b"CGMDv2:" + (7).to_bytes(4, "little") + b"group" + bytes(1) + b"member-1" + bytes(2))
    (7, 'member-1')
    """
    size = len(GROUP_METADATA_MAGIC)
    magic, rest = metadata[:size], metadata[size:]
    if magic != GROUP_METADATA_MAGIC:
        raise NotAccepted(
            f"this librdkafka writes group metadata as {magic!r}, which is not known: update this package"
        )
    _, member, *_ = rest[4:].split(b"\0")
    return int.from_bytes(rest[:4], "little", signed=True), member.decode()


def offset_metadata(place: TopicPartition) -> str:
    """Return the text committed with an offset.

    The library reads beyond the end of a text that no null character ends, such as another client may commit. What a
    processor commits ends with a brace.
    """
    try:
        text = place.metadata or ""
    except UnicodeDecodeError:
        return "not readable"
    end = text.find("}") + 1
    return text[:end] if end else text


def leader_epoch(place: TopicPartition) -> int:
    """Return the leader epoch of an offset, -1 for none: the library says None or a negative number."""
    return -1 if place.leader_epoch is None else max(int(place.leader_epoch), -1)


def seeks_once_started(consumer: Consumer, place: TopicPartition, end: float) -> bool:
    """Call `seek` as soon as the library has begun to read a partition, some milliseconds after `assign`.

    Return False if it has not until `end`, on the clock of `time.monotonic`, or if the library refuses.
    """
    while True:
        try:
            consumer.seek(place)
            return True
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError._STATE, KafkaError._PREV_IN_PROGRESS) or time.monotonic() > end:
                return False
        time.sleep(0.002)


def is_truncation(error: KafkaError) -> bool:
    """Return whether a consumer has no position because the leader lacks the records before it: only the text tells."""
    return KafkaError(KafkaError._LOG_TRUNCATION).str() in error.str()


def end_of_truncated(error: KafkaError) -> int | None:
    """Return the offset up to which the leader has the same records, which only the text tells; None if it does not.

    >>> end_of_truncated(KafkaError(KafkaError._LOG_TRUNCATION, "... at offset 15: broker end offset is 5 (offset ..."))
    5
    """
    found = re.search(r"broker end offset is (\d+)", error.str())
    return int(found[1]) if found else None


def code_of(error: KafkaError) -> int:
    """Return the code of an error, or of the one within a fatal error of a consumer, which only its text names.

    >>> code_of(KafkaError(KafkaError._FATAL, "Fatal error: Broker: Static consumer fenced by other consumer with ..."))
    82
    """
    is_fenced = error.code() == KafkaError._FATAL and "Static consumer fenced" in error.str()
    return KafkaError.FENCED_INSTANCE_ID if is_fenced else error.code()


def cause_of(error: KafkaException | SystemError) -> KafkaError | None:
    """Return the error of librdkafka within an exception; None if it has none.

    A fatal error that is raised while a callback of ours returns arrives as the cause of a SystemError.
    """
    found = error if isinstance(error, KafkaException) else error.__cause__
    return found.args[0] if isinstance(found, KafkaException) else None


def is_unknown_setting(refusal: str) -> bool:
    """Tell whether librdkafka refused a setting because it knows none of this name; only the text says so."""
    return "No such configuration property" in refusal


def is_contradiction(refusal: str) -> bool:
    """Tell whether librdkafka refused the settings as a whole, and not the value of one; only the text says so."""
    return refusal.startswith("Failed to create")


def drop_messages_and_close(producer: Producer) -> None:
    """Drop the messages of a producer, so that its end does not wait for the brokers.

    A producer closes when its last reference goes. The public `close` and `flush` wait for messages; an end without
    any message waits for nothing. The library aborts the process if a producer ends while it adds a partition to a
    transaction; it adds none once the transaction is being aborted. The end of the transaction is not sent while a
    message is on its way, and nobody waits for it: the next producer with this id fences this one and its transaction.
    """
    with contextlib.suppress(KafkaException, SystemError):
        producer.abort_transaction(0)
    with contextlib.suppress(KafkaException, SystemError):
        producer.purge()


_unused: queue.SimpleQueue[Any] = queue.SimpleQueue()


def destroy_apart(owner: object, client: Any) -> None:
    """Destroy a client of an owner in a thread that is there for it, once the owner is gone.

    The library aborts the process if the last reference to a client goes in a thread of this client. Python collects
    garbage in any thread, also in the one that hands over the result of a request of a client for administration.
    """
    _start_destroying()
    weakref.finalize(owner, _unused.put, client).atexit = False


@functools.cache
def _start_destroying() -> None:
    def destroy() -> None:
        while True:
            _unused.get()

    threading.Thread(target=destroy, name="unused clients", daemon=True).start()


def returns_in_time(call: Callable[..., Any], *arguments: Any, seconds: float) -> bool:
    """Return whether a call returns within some seconds; raise what it raises by then.

    `send_offsets_to_transaction` keeps to no time-out: with a coordinator that is lost for good it waits until any
    broker comes or goes, and nothing can interrupt it. It runs in a thread, which is left alone when it takes too long.
    """
    returned, errors = threading.Event(), []

    def run() -> None:
        try:
            call(*arguments)
        except BaseException as error:
            errors.append(error.with_traceback(None))  # which would keep the call, and so its producer, alive
        returned.set()

    threading.Thread(target=run, name="offsets", daemon=True).start()
    has_returned = returned.wait(seconds)
    if has_returned and errors:
        raise errors.pop()
    return has_returned
