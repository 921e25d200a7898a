"""Every use of what kafka-python does not document: private attributes, replaced methods, and texts of its log.

Each function says why it is needed. `tests/connectors/kafka/kafka_python/test_internals.py` fails by the name of the
function when a release of kafka-python no longer has what it uses.
"""

import contextlib
import logging
import operator
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from connectors.errors import StartError
from connectors.kafka.kafka_python.defaults import installed_version

TRIED_VERSIONS = ("3.0.12",)
try:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka import errors as kafka_errors
    from kafka.consumer.fetcher import Fetcher
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
    from kafka.producer import kafka as producer_module
    from kafka.producer import producer_batch
    from kafka.protocol.admin import DescribeGroupsRequest
    from kafka.record.default_records import DefaultRecordBatch
    from kafka.structs import MemberState, OffsetAndMetadata
except ImportError as error:  # of a version that another package or a pin has brought
    raise StartError(
        f"kafka-python {installed_version()} does not suit this version of river-margins ({error}): "
        f"`pip install 'kafka-python>={TRIED_VERSIONS[0]}'`"
    ) from error

CONNECTION_LOGGER = "kafka.net.manager"
OFFSETS_LOGGER = "kafka.coordinator.consumer"
NOT_READY_MS = 20  # that the thread that sends waits for a broker, unless something happens before
GROUP_OPERATIONS_VERSION = 5


# Metadata of topics


def never_create_consumed_topic(consumer: KafkaConsumer) -> None:
    """Let the broker not create a deleted topic again.

    KafkaConsumer takes `allow_auto_create_topics` and does not pass it on to its metadata requests.
    """
    consumer._cluster.config["allow_auto_create_topics"] = False


def never_create_produced_topic(producer: KafkaProducer) -> None:
    """Let the broker not create a topic that a message is sent to.

    KafkaProducer takes `allow_auto_create_topics` and does not pass it on to its metadata requests.
    """
    producer._metadata.config["allow_auto_create_topics"] = False


def knows_topic(consumer: KafkaConsumer, topic: str) -> bool:
    """Tell whether the latest metadata have partitions of the topic.

    The public `partitions_for_topic` asks the broker when they have none.
    """
    return bool(consumer._cluster.partitions_for_topic(topic))


def keep_refreshing_metadata(consumer: KafkaConsumer) -> None:
    """Start the library's loop that refreshes metadata again when it has ended.

    The loop ends when a refresh that another caller began fails. New partitions would then never be seen.
    """
    cluster = consumer._cluster
    loop = cluster._refresh_loop_future
    if loop is not None and loop.is_done:
        cluster._refresh_loop_future = None
        cluster.start_refresh_loop()


def look_for_the_next_leader() -> None:
    """Let a question for the ends of partitions look for their leader when the broker that is asked leads them no more.

    The library asks the same broker again at once, thousands of times a second until the time is over, and no broker
    for the leader.
    """
    ask = Fetcher._send_list_offsets_requests

    async def ask_or_look(fetcher: Fetcher, timestamps: Any) -> Any:
        found, refused = await ask(fetcher, timestamps)
        if refused and not found:
            raise kafka_errors.StaleMetadata
        return found, refused

    Fetcher._send_list_offsets_requests = ask_or_look


# Polls


def forget_timeouts(consumer: KafkaConsumer) -> None:
    """Let a poll that ends without records leave nothing behind.

    Its time-out is an exception within the library, whose traceback holds the exception itself, and the response to the
    fetch that is under way, with all its records. Only the garbage collector would find that, which runs rarely.
    """
    run = consumer._net.run

    def run_and_forget(coroutine: Any, *arguments: Any) -> Any:
        try:
            return run(coroutine, *arguments)
        except kafka_errors.KafkaTimeoutError as error:
            raise error.with_traceback(None) from None

    consumer._net.run = run_and_forget


def position(consumer: KafkaConsumer, place: TopicPartition) -> int:
    """Return the offset after all that polls have passed in a partition; 0 if it is not assigned or not known.

    The public `position` walks through all assigned partitions each time, to look for truncated logs. The next poll
    does that, too, and to ask for each of a thousand partitions would take seconds.
    """
    state = consumer._subscription.assignment.get(place)
    found = None if state is None else state.position
    return 0 if found is None else int(found.offset)


def seek(consumer: KafkaConsumer, place: TopicPartition, offset: int, epoch: int) -> None:
    """Read on from an offset, after the leader has said whether it has the record before it, written in that epoch.

    The public `seek` takes no epoch. -1 is one that is not known: then nothing is asked. An answer about the former
    position is dropped: the library would raise it at the next poll.
    """
    consumer.seek(place, offset)
    if (answer := consumer._fetcher._cached_log_truncation) is not None:
        answer.divergent_offsets.pop(place, None)
        if not answer.divergent_offsets:
            consumer._fetcher._cached_log_truncation = None
    consumer._subscription.assignment[place].seek(OffsetAndMetadata(offset, "", epoch))


def drop_unreadable_batch() -> None:
    """Let the library fetch again after a batch that cannot be read, such as one with a wrong checksum.

    It keeps what is left of the batch, which is nothing, and the next poll looks for records in it for ever.
    """
    take = Fetcher.PartitionRecords.take

    def take_or_drop(records: Any, n: int | None = None) -> Any:
        try:
            return take(records, n)
        except Exception:
            records.drain()
            raise

    Fetcher.PartitionRecords.take = take_or_drop


def take_up_parked_records() -> None:
    """Let the library go on with a partition that was paused while a part of its records was still to be returned.

    It puts them aside, fetches nothing of this partition as long as they are there, and takes them up again where it
    has no other records: but those of another partition that are all returned count as some, and may stay for ever.
    """
    fetched = Fetcher.fetched_records

    def fetched_or_parked(fetcher: Fetcher, *arguments: Any, **options: Any) -> Any:
        if not fetcher._next_partition_records:
            fetcher._next_partition_records = None
        return fetched(fetcher, *arguments, **options)

    Fetcher.fetched_records = fetched_or_parked


def pass_empty_markers() -> None:
    """Let the library read on past a marker of a transaction that has no record any more.

    Compaction may empty the last marker of a producer and keep its batch. The library takes its first record to see
    what the marker says, and fails for that with a RuntimeError each time.
    """
    contains = Fetcher.PartitionRecords._contains_abort_marker

    def contains_or_is_empty(records: Any, batch: Any) -> bool:
        try:
            return bool(contains(records, batch))
        except StopIteration:
            return False

    Fetcher.PartitionRecords._contains_abort_marker = contains_or_is_empty


# Membership of a group


def must_join(consumer: KafkaConsumer) -> bool:
    """Tell whether the consumer has to join the group, for the first time or again."""
    return bool(consumer._coordinator.need_rejoin())


def wait_for_assignment(consumer: KafkaConsumer, seconds: float) -> None:
    """Poll the coordinator until the consumer has an assignment, for so many seconds at most.

    The public `poll` gives up a join when its time is over. The library then throws away an assignment that arrives
    before the next poll, and makes the whole group join again.
    """
    consumer._coordinator.poll(timeout_ms=int(seconds * 1000))


def call_before_join(consumer: KafkaConsumer, before_join: Callable[[], None]) -> None:
    """Call a function in the thread that polls whenever the consumer is about to join the group.

    The listener for revoked partitions that the library offers runs in its own thread, where nothing may wait, so it
    cannot commit.

    The consumer joins then in any case. A leader joins because its metadata changed, and while the function works they
    may change back: those of a broker that knew of no topic for a moment, for example. It also takes note of the change
    before it has a response: when a poll ends then, the library would forget that it is joining, and never read on.
    """
    coordinator = consumer._coordinator
    join = coordinator.ensure_active_group

    def tell_and_join(timeout_ms: float | None = None) -> bool:
        before_join()
        coordinator.request_rejoin()
        return bool(join(timeout_ms=timeout_ms))

    coordinator.ensure_active_group = tell_and_join


def was_replaced(consumer: KafkaConsumer) -> bool:
    """Tell whether the broker has answered a heartbeat with the news that another member has the same instance id.

    The library then only ends its heartbeats, and reads on. It pauses them, too, while it joins: if the coordinator
    went away before a join has begun, this is still a member.
    """
    coordinator = consumer._coordinator
    is_silent = not coordinator._heartbeat_enabled and not coordinator.rejoining
    return is_silent and coordinator.state is MemberState.STABLE


def is_joining(consumer: KafkaConsumer) -> bool:
    """Return whether the member is joining its group anew. A heartbeat of the former generation would spoil that.

    The library forgets the generation when the broker refuses it. The answer to SyncGroup then comes to a member that
    knows of none, and the member is lost.
    """
    return consumer._coordinator.state is MemberState.REBALANCING


def send_heartbeat(consumer: KafkaConsumer, seconds: float) -> None:
    """Send a heartbeat now, and raise what the broker answers. The library only sends them in the background.

    After a sleep for a whole session the library has forgotten the coordinator: look for it for so many seconds.
    """
    coordinator = consumer._coordinator
    coordinator.ensure_coordinator_ready(timeout_ms=int(seconds * 1000))
    coordinator._net.run(coordinator._send_heartbeat_request)


def leave_at_close(consumer: KafkaConsumer) -> None:
    """Let a static member leave the group when it closes; the library lets only dynamic ones leave."""
    consumer._coordinator.is_dynamic_member = lambda: True


def static_members_first(members: Sequence[Any]) -> list[Any]:
    """Return the members of a group in an order in which the library's range assignor gives partitions to all of them.

    It takes neighbours of the same kind for all members of that kind, static or dynamic. A member that one of the other
    kind separates from the last of its own kind gets no partition.
    """
    return sorted(members, key=lambda member: member.group_instance_id is None)


def fetch_committed(
    consumer: KafkaConsumer, places: Sequence[TopicPartition], seconds: float
) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """Return the committed offsets of all these partitions, with one request that is sent now.

    The public `committed` sends one request for each partition. And if an earlier call gave up waiting, such as the one
    within a `poll` that was short, the library gives its answer to a later call, though it may be older than a commit.
    """
    consumer._coordinator._offset_fetch_futures.pop(frozenset(places), None)
    found: Mapping[TopicPartition, OffsetAndMetadata] = consumer._coordinator.fetch_committed_offsets(
        list(places), timeout_ms=int(seconds * 1000)
    )
    return found


def leave_out_pending_offsets() -> None:
    """Let the library not log offsets that are pending in a transaction as an unknown error, before it asks again.

    The next owner of a partition meets them at most takeovers, also at orderly ones.
    """
    logging.getLogger(OFFSETS_LOGGER).addFilter(_is_no_pending_offset)


def _is_no_pending_offset(record: logging.LogRecord) -> bool:
    values = record.args if isinstance(record.args, tuple) else ()
    return not any(isinstance(value, kafka_errors.UnstableOffsetCommitError) for value in values)


# Records


class _LenientBuffer(bytearray):
    """Bytes whose slices are decoded in any case."""

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return _LenientBuffer(found) if isinstance(place, slice) else found

    def decode(self, *_: Any) -> str:
        return super().decode("utf-8", "replace")


def read_any_header_name() -> None:
    """Let the library read a record with a header whose name is not UTF-8: its `headers` are None then.

    The library raises an error for such a record each time, and never gets past it.
    """
    read = DefaultRecordBatch._read_msg

    def read_again(batch: DefaultRecordBatch) -> Any:
        position = batch._pos
        try:
            return read(batch)
        except UnicodeDecodeError:
            strict, batch._buffer, batch._pos = batch._buffer, _LenientBuffer(batch._buffer), position
            record = read(batch)
            batch._buffer, record._headers = strict, None
            return record

    DefaultRecordBatch._read_msg = read_again


# Producers and transactions


def survive_refused_coordinator(producer: KafkaProducer) -> None:
    """Let a refused connection to a coordinator count as `not ready`.

    The thread that sends takes the exception instead as the end of the request, which is forgotten: whoever waits for
    it waits for ever.
    """
    client = producer._sender._client
    client.await_ready = _false_on_error(client.await_ready)


def wait_for_leaders(producer: KafkaProducer) -> None:
    """Let the thread that sends wait as long as it can send nothing, instead of taking all of a processor.

    It takes the seconds before the next connection for milliseconds, and waits for no connection that is being made,
    and for none that the broker slows down. If a partition has no leader it asks for metadata in each round, also if
    nothing is left to send to it, and each question wakes it up again.
    """
    client, cluster = producer._sender._client, producer._metadata
    delay, request = client.connection_delay, cluster.request_update

    def delay_in_ms(node_id: Any) -> float:
        return max(1000 * float(delay(node_id)), NOT_READY_MS)

    def request_once() -> Any:
        asked = cluster._future
        return asked if cluster.need_update and asked is not None and not asked.is_done else request()

    client.connection_delay, cluster.request_update = delay_in_ms, request_once


def throttled_by(producer: KafkaProducer) -> Any:
    """Return the broker that holds this producer back for a quota now, or None.

    The library tells this to its log and to its metrics only, and metrics would take half of the time of a record.
    """
    now = time.monotonic()
    connections = list(producer._sender._client._manager._conns.items())  # the thread that sends makes new ones
    return next((broker for broker, connection in connections if connection._throttle_time > now), None)


def never_bump_epoch(producer: KafkaProducer) -> None:
    """Let a refused epoch end the producer.

    The library takes it for a defect of its own, and begins the transactional id anew. But another process has begun it
    anew, and would be fenced by that in the middle of its work.
    """
    producer._transaction_manager._supports_epoch_bump = lambda: False


def _false_on_error(await_ready: Callable[..., bool]) -> Callable[..., bool]:
    def checked(*arguments: Any, **options: Any) -> bool:
        try:
            return await_ready(*arguments, **options)
        except kafka_errors.KafkaError:
            return False

    return checked


def transaction_error(producer: KafkaProducer) -> Exception | None:
    """Return why the transaction failed; later calls often say no more than `an error state`."""
    transactions = producer._transaction_manager
    error: Exception | None = transactions.last_error if transactions else None
    return error


def close_at_once(producer: KafkaProducer) -> None:
    """Close a producer without waiting for its messages.

    The public `close` waits for them, and leaves the producer open when they do not end.
    """
    producer._sender.force_close()
    producer._sender.join(timeout=5)
    with contextlib.suppress(kafka_errors.KafkaError):
        producer.close(timeout=0)
    producer._closed = True


class _NullHeaders:
    """Serializer of keys that puts null in the place of a mark in the headers, and leaves the key as it is."""

    def serialize(self, topic: str, headers: list[tuple[str, bytes | None]], data: Any) -> Any:
        headers[:] = [(name, None if content is _NULL else content) for name, content in headers]
        return data


_NULL = bytes(bytearray(b"null"))  # an object of its own, found by its identity


@contextlib.contextmanager
def null_headers(
    producer: KafkaProducer, headers: Sequence[tuple[str, bytes | None]]
) -> Iterator[list[tuple[str, bytes]]]:
    """Yield headers for a `send` within the block that writes their null values.

    `send` refuses a null value, which the protocol has and the library reads and encodes. A serializer gets the headers
    after that check, and may change them. See also `measure_null_headers`.
    """
    before = producer.config["key_serializer"]
    producer.config["key_serializer"] = _NullHeaders()
    try:
        yield [(name, _NULL if content is None else content) for name, content in headers]
    finally:
        producer.config["key_serializer"] = before


class _NullValue:
    """Serializer of values that makes each of them null."""

    def serialize(self, topic: str, headers: Any, data: Any) -> None:
        return None


@contextlib.contextmanager
def null_message(producer: KafkaProducer) -> Iterator[bytes]:
    """Yield a value for a `send` within the block that writes neither a key nor a value.

    `send` refuses such a message, which the broker takes. A serializer makes the value null after that check.
    """
    before = producer.config["value_serializer"]
    producer.config["value_serializer"] = _NullValue()
    try:
        yield b""
    finally:
        producer.config["value_serializer"] = before


def measure_null_headers() -> None:
    """Let the library take the length of a null value of a header as 0.

    It encodes such a value, and then fails when it sums up the lengths, also for a message whose topic is refused.
    `length_hint` is `len`, but 0 for None.
    """
    for module in (producer_batch, producer_module):
        module.len = operator.length_hint  # type: ignore[attr-defined]


# Administration


def describe_groups_with_operations(admin: KafkaAdminClient) -> None:
    """Let `describe_groups` of this client also say what the user may do, for a group that does not exist yet.

    From version 6 of the request on, the broker says nothing of such a group. The library has no setting for versions.
    """
    admin._describe_groups_request = lambda groups: DescribeGroupsRequest(
        groups=list(groups), include_authorized_operations=True, max_version=GROUP_OPERATIONS_VERSION
    )


def advertised_addresses(admin: KafkaAdminClient) -> list[str]:
    """Return where the brokers are by their own words. The public `describe_cluster` would have to reach them there."""
    return [f"{broker.host}:{broker.port}" for broker in admin._manager.cluster.brokers()]


# Connections


def connected(kind: Any, *topics: str, **settings: Any) -> Any:
    """Return a client of this class. One that cannot connect leaves nothing behind.

    The library starts a thread, with three open files, before it looks for a broker. If it finds none, there is no
    client that could be closed, and the thread runs as long as the process.
    """
    made: list[Any] = []

    def make(**options: Any) -> Any:
        made.append(kind.DEFAULT_CONFIG["kafka_client"](**options))
        return made[-1]

    try:
        return kind(*topics, **settings, kafka_client=make)
    except BaseException:
        for each in made:
            each.close()
        raise


@contextlib.contextmanager
def connection_failures() -> Iterator[list[str]]:
    """Collect why connections failed within the block, which the library only logs, also where its log is silent."""
    reasons: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: "connection" in record.getMessage().lower())
    handler.emit = lambda record: reasons.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(CONNECTION_LOGGER)
    level, propagates = logger.level, logger.propagate
    if not logger.isEnabledFor(logging.WARNING):
        logger.setLevel(logging.WARNING)
        logger.propagate = False
    logger.addHandler(handler)
    try:
        yield reasons
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


def refusals(reasons: Sequence[str]) -> list[str]:
    """Return those of `connection_failures` that say that one side refuses the other: the user, SASL, a certificate."""
    said = r"AuthenticationFailed|IllegalSaslState|UnsupportedSasl|\[SSL: "
    return [reason for reason in reasons if re.search(said, reason)]


def _return_data_first(receive: Callable[[Any], tuple[bytes, Any]]) -> Callable[[Any], tuple[bytes, Any]]:
    def received(transport: Any) -> tuple[bytes, Any]:
        data, error = (b"", None) if transport._closed else receive(transport)
        if transport._closed:  # by another thread: the library would log an AttributeError
            return b"", kafka_errors.KafkaConnectionError("closed")
        return data, None if data else error

    return received


def return_data_before_disconnect() -> None:
    """Let transports return buffered bytes first, and report the disconnect on the next call.

    The library drops the bytes when both arrive together, as they do where a broker refuses a password and closes the
    connection: the refusal would be lost. Nothing is read from a transport that was closed meanwhile. It takes no
    transport class of ours, so its own are changed, once.
    """
    for transport in (KafkaTCPTransport, KafkaSSLTransport):
        transport._sock_recv = _return_data_first(transport._sock_recv)


# Errors


def first_out_of_range(error: Exception) -> tuple[TopicPartition, int]:
    """Return partition and offset of an OffsetOutOfRangeError."""
    found: tuple[TopicPartition, int] = next(iter(error.args[0].items()))
    return found


def first_truncated(error: Exception) -> tuple[TopicPartition, int | None]:
    """Return a partition of a LogTruncationError, and the offset at which its log ended; None if that is not known."""
    place, end = next(iter(error.divergent_offsets.items()))  # type: ignore[attr-defined]
    return place, None if end is None else int(end.offset)


def errors_named_in(text: str) -> Iterator[type]:
    """Yield the library's error classes that a text names: some errors arrive only as the text of a general one."""
    for name in re.findall(r"\w+Error", text):
        named = getattr(kafka_errors, name, None)
        if isinstance(named, type):
            yield named


return_data_before_disconnect()
measure_null_headers()
read_any_header_name()
leave_out_pending_offsets()
drop_unreadable_batch()
take_up_parked_records()
pass_empty_markers()
look_for_the_next_leader()
