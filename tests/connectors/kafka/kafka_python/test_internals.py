"""What kafka-python does not document, and has as `internals` uses it. A failure names the function."""

import contextlib
import gc
import importlib.metadata
import inspect
import itertools
import logging
import socket
import threading
import time
import uuid
from types import SimpleNamespace

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.consumer.fetcher import CompletedFetch, Fetcher
from kafka.consumer.subscription_state import SubscriptionState
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.future import Future
from kafka.net.compat import KafkaNetClient
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.producer import producer_batch, sender
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.protocol.consumer import IsolationLevel
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceResponse
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.structs import MemberState, OffsetAndMetadata

from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.consumer import Consumer
from tests.helpers.ports import free_port
from tests.helpers.streams import DEADLINE, wait_for

LINGER = 60  # seconds


def broken(function):
    installed = importlib.metadata.version("kafka-python")
    return (
        f"kafka-python {installed} has changed what `internals.{function.__name__}` relies on (tried with "
        f"{', '.join(internals.TRIED_VERSIONS)}): {inspect.getdoc(function)}"
    )


def needless(function):
    return f"kafka-python {importlib.metadata.version('kafka-python')} no longer needs `internals.{function.__name__}`"


@pytest.fixture
def topic(kafka):
    name = f"i{uuid.uuid4().hex[:12]}"
    kafka.create_topics({name: 2})
    return name


@pytest.fixture
def consumer(kafka, topic):
    """A consumer that is subscribed and knows its topic."""
    made = KafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        group_id=topic,
        enable_auto_commit=False,
        allow_auto_create_topics=False,
        metadata_max_age_ms=300,
    )
    with contextlib.closing(made):
        wait_for(lambda: made.partitions_for_topic(topic), "the partitions")
        yield made


@pytest.fixture
def producer(kafka, topic):
    made = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers,
        transactional_id=topic,
        allow_auto_create_topics=False,
        linger_ms=60_000,
    )
    try:
        made.init_transactions()
        yield made
    finally:
        internals.close_at_once(made)


@pytest.fixture
def admin(kafka):
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as made:
        yield made


def test_never_create_consumed_topic(consumer):
    function = internals.never_create_consumed_topic
    assert consumer._cluster.metadata_request().allow_auto_topic_creation, needless(function)
    function(consumer)
    assert not consumer._cluster.metadata_request().allow_auto_topic_creation, broken(function)


def test_never_create_produced_topic(producer):
    function = internals.never_create_produced_topic
    assert producer._metadata.metadata_request().allow_auto_topic_creation, needless(function)
    function(producer)
    assert not producer._metadata.metadata_request().allow_auto_topic_creation, broken(function)


def test_knows_topic(consumer, topic):
    assert internals.knows_topic(consumer, topic), broken(internals.knows_topic)
    assert not internals.knows_topic(consumer, f"{topic}-unknown"), broken(internals.knows_topic)


def test_keep_refreshing_metadata(consumer, topic, admin):
    """The library's loop waits for a refresh that another caller began, and ends with it when that fails."""
    function = internals.keep_refreshing_metadata
    cluster, manager = consumer._cluster, consumer._manager
    refresh, loop = cluster._do_refresh_metadata, cluster._refresh_loop_future
    function(consumer)
    assert cluster._refresh_loop_future is loop, broken(function)

    async def fail(node_id):
        cluster._do_refresh_metadata = refresh
        await manager._net.sleep(1)  # later on the same clock than the loop, which wakes up in between and waits for it
        raise kafka_errors.KafkaConnectionError("away")

    async def refresh_and_fail():
        while cluster.metadata_refresh_in_progress:
            await manager._net.sleep(0.01)
        cluster._do_refresh_metadata = fail
        await cluster.refresh_metadata()

    manager.call_soon(refresh_and_fail)
    wait_for(lambda: loop.is_done, needless(function))
    admin.create_partitions({topic: 3})

    def sees_third_partition():
        function(consumer)
        consumer.poll(100)
        return len(cluster.partitions_for_topic(topic)) == 3

    wait_for(sees_third_partition, broken(function))


def test_look_for_the_next_leader():
    """Without a broker: node 1 refuses, because node 2 leads the partition now, as the next metadata tell."""
    asked, leaders, place = [], [1], TopicPartition("a", 0)

    class Cluster:
        need_update = False

        def leader_for_partition(self, _):
            return leaders[-1]

        def request_update(self):
            leaders.append(2)
            return Future().success(self)

    class Manager:
        cluster, _net = Cluster(), None

        def call_soon(self, function, *arguments):
            return function(*arguments)

        async def wait_for(self, awaited, _):
            return awaited.value if isinstance(awaited, Future) else await awaited

        async def send(self, _, node_id):
            asked.append(node_id)
            code = 0 if node_id == 2 else kafka_errors.NotLeaderForPartitionError.errno
            found = SimpleNamespace(partition_index=0, error_code=code, offset=7, timestamp=-1, leader_epoch=-1)
            return SimpleNamespace(API_VERSION=7, topics=[SimpleNamespace(name="a", partitions=[found])])

    library = Fetcher(
        SimpleNamespace(_manager=Manager()), SubscriptionState("none"), isolation_level="read_committed", metrics=None
    )
    with pytest.raises(StopIteration) as ended:
        library._fetch_offsets_by_times_async({place: -1}, 500).send(None)
    assert ended.value.value[place].offset == 7, broken(internals.look_for_the_next_leader)
    assert asked == [1, 2], broken(internals.look_for_the_next_leader)


def timeouts_left(kafka, topic, consumer):
    """How many time-outs are left to the garbage collector by a poll without records, once the fetch has an answer."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert not consumer.poll(timeout_ms=20)
        with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as producer:
            producer.send(topic, b"1").get(DEADLINE)
        wait_for(lambda: consumer.poll(timeout_ms=100), "the record")
        gc.collect()
        return sum(type(each) is kafka_errors.KafkaTimeoutError for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_forget_timeouts(kafka, topic, consumer):
    wait_for(lambda: consumer.poll(timeout_ms=100) or consumer.assignment(), "an assignment")
    assert [consumer.position(place) for place in consumer.assignment()] == [0, 0]
    gc.freeze()  # the objects of other tests; they stay so, as `tests/conftest.py` has it
    assert timeouts_left(kafka, topic, consumer), needless(internals.forget_timeouts)
    internals.forget_timeouts(consumer)
    assert not timeouts_left(kafka, topic, consumer), broken(internals.forget_timeouts)


def test_must_join_and_wait_for_assignment(consumer):
    assert internals.must_join(consumer), broken(internals.must_join)

    def is_assigned():
        internals.wait_for_assignment(consumer, 0.5)
        return not internals.must_join(consumer)

    wait_for(is_assigned, broken(internals.wait_for_assignment))
    assert len(consumer.assignment()) == 2, broken(internals.wait_for_assignment)


def test_call_before_join():
    """Metadata without the topic make a leader join. The next ones, with the topic, come before it has begun to."""
    coordinator = object.__new__(ConsumerCoordinator)
    coordinator.config = {"api_version": (4, 0), "group_id": "g"}
    coordinator._subscription = SimpleNamespace(partitions_auto_assigned=lambda: True, subscription={"a"})
    coordinator._assignment_snapshot, coordinator._metadata_snapshot = {"a": {0}}, {"a": set()}
    coordinator._joined_subscription, coordinator.rejoin_needed = None, False
    needed = []
    coordinator.ensure_active_group = lambda timeout_ms: needed.append(coordinator.need_rejoin())
    assert coordinator.need_rejoin(), broken(internals.call_before_join)

    def commit():
        coordinator._metadata_snapshot = {"a": {0}}
        assert not coordinator.need_rejoin(), needless(internals.call_before_join)

    internals.call_before_join(SimpleNamespace(_coordinator=coordinator), commit)
    coordinator.ensure_active_group(timeout_ms=10)
    assert needed == [True], "it was told that the partitions are given back, and would wait for an assignment for ever"


@pytest.fixture
def topics(kafka, topic):
    """An input and its labels, of four partitions each."""
    names = [f"{topic}-input", f"{topic}-labels"]
    kafka.create_topics(dict.fromkeys(names, 4))
    return names


def shared_out(leader, topics, kinds):
    """Topic and number of the partitions that a leader gives to each member of its group; each one is static or not."""
    for name in topics:
        wait_for(lambda name=name: leader.partitions_for_topic(name), "the partitions")
    metadata = RangePartitionAssignor.metadata(topics).encode()
    members = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=f"m{n}", group_instance_id=f"i{n}" if is_static else None, metadata=metadata
        )
        for n, is_static in enumerate(kinds)
    ]
    given = leader._coordinator._perform_assignment("m0", "range", members)
    return [sorted(map(tuple, assignment.partitions())) for assignment in given.values()]


def test_static_members_first(kafka, topics):
    """By itself the library gives nothing to the first of two dynamic members with a static one between them."""
    function = internals.static_members_first
    with contextlib.closing(
        KafkaConsumer(*topics, bootstrap_servers=kafka.bootstrap_servers, group_id=topics[0])
    ) as plain:
        assert [] in shared_out(plain, topics, [False, True, False]), needless(function)
        assert [] not in shared_out(plain, topics, [True, False, False]), broken(function)


def test_static_and_dynamic_members_share_partitions_evenly(kafka, topics):
    """In each order in which the broker can list four members. Input and labels of a partition go to the same one."""
    consumer = Consumer(topics[0], topics[0], {"bootstrap_servers": kafka.bootstrap_servers}, labels=topics[1])
    try:
        for kinds in itertools.product([False, True], repeat=4):
            given = shared_out(consumer._consumer, topics, kinds)
            expected = [[(name, number) for name in topics] for number in range(4)]
            assert sorted(given) == expected, (kinds, broken(internals.static_members_first))
    finally:
        consumer.close(DEADLINE)


def test_was_replaced():
    """`test_an_instance_that_was_replaced_can_know_it` has it through our consumer."""
    coordinator = SimpleNamespace(state=MemberState.STABLE, _heartbeat_enabled=False, rejoining=False)
    consumer = SimpleNamespace(_coordinator=coordinator)
    assert internals.was_replaced(consumer)
    coordinator.rejoining = True
    assert not internals.was_replaced(consumer), "a join that has not begun pauses the heartbeats, too"


def test_fetch_committed(consumer, topic):
    places = [TopicPartition(topic, number) for number in range(2)]
    wait_for(lambda: consumer.poll(100) or consumer.assignment(), "an assignment")
    consumer.commit({places[1]: OffsetAndMetadata(7, "mine", -1)})
    found = internals.fetch_committed(consumer, places, DEADLINE)
    assert found.get(places[0]) is None, broken(internals.fetch_committed)
    assert (found[places[1]].offset, found[places[1]].metadata) == (7, "mine"), broken(internals.fetch_committed)


def test_fetch_committed_asks_now(consumer, topic):
    """An answer that an earlier call has not waited for is older than the commit."""
    function, places = internals.fetch_committed, [TopicPartition(topic, number) for number in range(2)]
    wait_for(lambda: consumer.poll(100) or consumer.assignment(), "an assignment")
    consumer.commit({places[1]: OffsetAndMetadata(7, "mine", -1)})

    def leave_an_answer():
        consumer._coordinator._offset_fetch_futures[frozenset(places)] = Future().success({})

    leave_an_answer()
    assert not consumer._coordinator.fetch_committed_offsets(places), needless(function)
    leave_an_answer()
    assert internals.fetch_committed(consumer, places, DEADLINE)[places[1]].offset == 7, broken(function)


def test_survive_refused_coordinator(producer):
    function = internals.survive_refused_coordinator
    assert ".await_ready(" in inspect.getsource(sender), broken(function)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
    client = producer._sender._client

    def refuse(*arguments, **options):
        raise kafka_errors.KafkaConnectionError("refused")

    client.await_ready = refuse
    function(producer)
    assert client.await_ready("coordinator", timeout_ms=10) is False, broken(function)
    with pytest.raises(kafka_errors.KafkaError):
        type(client).await_ready(client, "no-such-node", timeout_ms=10)


@contextlib.contextmanager
def stuck_sender(has_leader):
    """What the thread that sends runs, without a broker: the leader does not answer, or there is none."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        client = KafkaNetClient(bootstrap_servers=f"127.0.0.1:{port}")
        cluster, place = client.cluster, TopicPartition("a", 0)
        client._manager._bootstrap_future = Future().success(True)

        async def refresh(_):
            await client._net.sleep(0.001)
            asked, cluster._future, cluster._need_update = cluster._future, None, False
            cluster._last_refresh_ms = cluster._last_successful_refresh_ms = 1000 * time.monotonic()
            if asked:
                asked.success(cluster)

        cluster._do_refresh_metadata = refresh
        cluster._brokers = {1: MetadataResponse.MetadataResponseBroker(1, "127.0.0.1", port, None)}
        cluster._partitions = {"a": {0: SimpleNamespace(leader_id=1 if has_leader else -1)}}
        waiting = RecordAccumulator(linger_ms=0, request_timeout_ms=5_000, delivery_timeout_ms=10_000)
        waiting.append(place, None, b"k", b"v", [])
        if not has_leader:
            waiting._batches[place].clear()  # all that was sent is acknowledged
        with contextlib.closing(client):
            yield sender.Sender(client, cluster, waiting)


def rounds(stuck, seconds, most=1000):
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end and count < most:
        stuck.run_once()
        count += 1
    return count


@pytest.mark.parametrize("has_leader", [True, False])
def test_wait_for_leaders(has_leader):
    function = internals.wait_for_leaders
    with stuck_sender(has_leader) as stuck:
        assert rounds(stuck, 5.0) > 500, needless(function)  # the function allows 250
    with stuck_sender(has_leader) as stuck:
        function(SimpleNamespace(_sender=stuck, _metadata=stuck._metadata))
        assert rounds(stuck, 0.15) < 50, broken(function)


def test_transaction_error(kafka, topic, producer):
    function = internals.transaction_error
    assert function(producer) is None, broken(function)
    producer.begin_transaction()
    with contextlib.closing(
        KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=topic)
    ) as successor:
        successor.init_transactions()
        producer.send(topic, b"x", partition=0)
        with pytest.raises(kafka_errors.KafkaError):
            producer.commit_transaction()
    assert isinstance(function(producer), kafka_errors.KafkaError), broken(function)
    with contextlib.closing(
        KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=False)
    ) as plain:
        assert function(plain) is None, broken(function)


def test_throttled_by(producer):
    """`test_a_quota_slows_a_processor_down_and_it_goes_on` has what comes of it."""
    function = internals.throttled_by
    assert function(producer) is None, broken(function)
    (broker, connection), *_ = producer._sender._client._manager._conns.items()
    connection._maybe_throttle(ProduceResponse(throttle_time_ms=60_000, version=8))
    assert function(producer) == broker, broken(function)


def test_never_bump_epoch(producer):
    """`test_a_fenced_producer_leaves_its_successor_alone` has what comes of it."""
    function = internals.never_bump_epoch
    assert producer._transaction_manager._supports_epoch_bump(), needless(function)
    function(producer)
    refused = producer._transaction_manager.classify_batch_error(kafka_errors.InvalidProducerEpochError, None)
    assert refused == producer._transaction_manager.ERROR_CLASS_FATAL, broken(function)


def test_read_any_header_name():
    """In the middle of a batch; `test_a_header_whose_name_is_not_text` has the same through our consumer."""

    class NotText(str):
        def encode(self, *_):
            return b"\xff"

    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10_000)
    headers = [[("a", b"1")], [(NotText(), None), ("b", b"2")], [("c", b"3")]]
    for offset, some in enumerate(headers):
        builder.append(offset, 0, b"k", b"%d" % offset, some)
    read = list(DefaultRecordBatch(builder.build()))
    assert [record.value for record in read] == [b"0", b"1", b"2"], broken(internals.read_any_header_name)
    assert [record.headers for record in read] == [headers[0], None, headers[2]], broken(internals.read_any_header_name)


def test_null_headers(kafka, topic):
    headers = [("a", None), ("b", b""), ("b", None)]
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as plain:
        with pytest.raises(TypeError):
            plain.send(topic, b"x", b"k", headers, 0)
            pytest.fail(needless(internals.null_headers))
        with internals.null_headers(plain, headers) as marked:
            plain.send(topic, b"x", b"k", marked, 0).get(DEADLINE)
        assert plain.config["key_serializer"] is None
    with contextlib.closing(KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)) as reader:
        reader.assign([TopicPartition(topic, 0)])
        reader.seek_to_beginning()
        (records,) = wait_for(lambda: reader.poll(200), "the record").values()
    assert (records[0].key, list(records[0].headers)) == (b"k", headers), broken(internals.null_headers)


def test_null_message(kafka, topic):
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as plain:
        with pytest.raises(ValueError, match="key or value"):
            plain.send(topic)
            pytest.fail(needless(internals.null_message))
        with internals.null_message(plain) as value:
            plain.send(topic, value, partition=0).get(DEADLINE)
        assert plain.config["value_serializer"] is None
    with contextlib.closing(KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)) as reader:
        reader.assign([TopicPartition(topic, 0)])
        reader.seek_to_beginning()
        (records,) = wait_for(lambda: reader.poll(200), "the record").values()
    assert (records[0].key, records[0].value) == (None, None), broken(internals.null_message)


def test_measure_null_headers():
    function = internals.measure_null_headers
    assert producer_batch.len(b"abc") == 3 and producer_batch.len(None) == 0, broken(function)
    assert "len(h_val)" in inspect.getsource(producer_batch.ProducerBatch.try_append), needless(function)


def test_close_at_once(kafka, topic):
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=1000 * LINGER)
    producer.send(topic, b"x", partition=0)
    began = time.monotonic()
    internals.close_at_once(producer)
    assert time.monotonic() - began < LINGER / 2, broken(internals.close_at_once)
    assert not producer._sender.is_alive(), broken(internals.close_at_once)
    with pytest.raises(kafka_errors.IllegalStateError, match="closed"):  # of a message that waits it is a time-out
        producer.send(topic, b"y", partition=0)
        pytest.fail(broken(internals.close_at_once))


def test_describe_groups_with_operations(admin):
    function, group = internals.describe_groups_with_operations, f"new-{uuid.uuid4().hex}"

    def described():
        with contextlib.suppress(kafka_errors.CoordinatorNotAvailableError):  # of a broker without any group yet
            return admin.describe_groups([group])[group]

    assert not wait_for(described, "a coordinator")["authorized_operations"], needless(function)
    function(admin)
    assert "READ" in wait_for(described, "a coordinator")["authorized_operations"], broken(function)


def test_connection_failures():
    with internals.connection_failures() as reasons, pytest.raises(kafka_errors.KafkaError):
        KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{free_port()}", bootstrap_timeout_ms=500)
    assert any("REFUSED" in reason for reason in reasons), broken(internals.connection_failures)
    assert not logging.getLogger(internals.CONNECTION_LOGGER).handlers


@pytest.mark.parametrize(
    "name", [kafka_errors.SaslAuthenticationFailedError.__name__, "[SSL: SSLV3_ALERT_CERTIFICATE_UNKNOWN]"]
)
def test_refusals(name):
    """That the log names these is tested in `test_security`, with a broker that refuses a password or a certificate."""
    assert internals.refusals([f"closed: {name}", "closed"]) == [f"closed: {name}"], broken(internals.refusals)


@pytest.mark.parametrize("kind", [KafkaTCPTransport, KafkaSSLTransport])
def test_return_data_before_disconnect(kind, caplog):
    caplog.set_level(logging.CRITICAL)
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours):
        ours.setblocking(False)
        transport = kind.__new__(kind)
        transport._sock, transport._closed = ours, False
        theirs.sendall(b"refused")
        theirs.close()
        wait_for(lambda: len(ours.recv(20, socket.MSG_PEEK)) == 7, "the bytes")
        assert transport._sock_recv() == (b"refused", None), broken(internals.return_data_before_disconnect)
        data, error = transport._sock_recv()
        assert not data and isinstance(error, kafka_errors.KafkaConnectionError), broken(
            internals.return_data_before_disconnect
        )
        caplog.clear()
        transport._sock, transport._closed = None, True  # by another thread
        data, error = transport._sock_recv()
        assert not data and isinstance(error, kafka_errors.KafkaConnectionError) and not caplog.records, broken(
            internals.return_data_before_disconnect
        )


def test_first_out_of_range(kafka, topic):
    """An error as the library raises it; `test_records_that_are_gone` has the same through our consumer."""
    with contextlib.closing(
        KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="none")
    ) as consumer:
        place = TopicPartition(topic, 1)
        consumer.assign([place])
        consumer.seek(place, 17)
        with pytest.raises(kafka_errors.OffsetOutOfRangeError) as raised:
            wait_for(lambda: consumer.poll(100), "an error")
    assert internals.first_out_of_range(raised.value) == (place, 17), broken(internals.first_out_of_range)


def test_seek(kafka, topic):
    """What was answered about the former position of a partition is dropped, and what of others is not."""
    with contextlib.closing(KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)) as consumer:
        here, there = places = [TopicPartition(topic, n) for n in range(2)]
        consumer.assign(places)
        consumer._fetcher._cached_log_truncation = kafka_errors.LogTruncationError(dict.fromkeys(places))
        internals.seek(consumer, here, 3, 7)
        found = consumer._subscription.assignment[here].position
        assert (found.offset, found.leader_epoch) == (3, 7), broken(internals.seek)
        assert list(consumer._fetcher._cached_log_truncation.divergent_offsets) == [there], broken(internals.seek)
        internals.seek(consumer, there, 0, -1)
        assert consumer._fetcher._cached_log_truncation is None, broken(internals.seek)


@pytest.mark.parametrize(("found", "end"), [(OffsetAndMetadata(5, "", 2), 5), (None, None)])
def test_first_truncated(found, end):
    """As the library makes the error; `test_three_brokers.py` has one of a leader that lacks records."""
    place = TopicPartition("t", 1)
    error = kafka_errors.LogTruncationError({place: found})
    assert internals.first_truncated(error) == (place, end), broken(internals.first_truncated)


def test_errors_named_in():
    text = "ConsumerError: no such class, then RebalanceInProgressError and more"
    assert list(internals.errors_named_in(text)) == [kafka_errors.RebalanceInProgressError], broken(
        internals.errors_named_in
    )


def test_drop_unreadable_batch():
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10_000)
    builder.append(0, 0, b"k", b"v", [])
    data = bytearray(builder.build())
    data[-1] ^= 1
    records = Fetcher.PartitionRecords(0, TopicPartition("t", 0), MemoryRecords(bytes(data)))
    with pytest.raises(kafka_errors.CorruptRecordError):
        records.take(10)
    assert not records, broken(internals.drop_unreadable_batch)


@pytest.fixture
def fetcher():
    """A fetcher without a broker, of two partitions that are read from their beginning."""
    subscriptions = SubscriptionState("none")
    subscriptions.subscribe(["a", "b"])
    places = [TopicPartition("a", 0), TopicPartition("b", 0)]
    subscriptions.assign_from_subscribed(places)
    for place in places:
        subscriptions.seek(place, 0)
    client = SimpleNamespace(_manager=SimpleNamespace(_net=None))
    made = Fetcher(client, subscriptions, isolation_level="read_committed", metrics=None)
    return made, subscriptions, places


def fetched(place, count):
    """The response to a fetch from offset 0, with so many records."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10_000)
    for offset in range(count):
        builder.append(offset, 0, b"k", b"v", [])
    data = SimpleNamespace(
        error_code=0, high_watermark=count, records=bytes(builder.build()), aborted_transactions=None,
        diverging_epoch=None, preferred_read_replica=-1,
    )  # fmt: skip
    return CompletedFetch(place, 0, 12, data, None)


def test_take_up_parked_records(fetcher):
    """One partition is paused after a part of its records, and the records of the other one are all returned then."""
    library, subscriptions, (paused, other) = fetcher
    library._completed_fetches.append(fetched(paused, 10))
    assert [len(some) for some in library.fetched_records(4)[0].values()] == [4]
    subscriptions.pause(paused)
    library._completed_fetches.append(fetched(other, 3))
    assert list(library.fetched_records(4)[0]) == [other]
    assert paused in library._paused_partition_records, broken(internals.take_up_parked_records)
    subscriptions.resume(paused)
    offsets = [one.offset for _ in range(2) for some in library.fetched_records(4)[0].values() for one in some]
    assert offsets == [4, 5, 6, 7, 8, 9], "the partition is neither returned nor fetched again, for ever"


def test_pass_empty_markers():
    class Marker(DefaultRecordBatchBuilder):
        def _get_attributes(self, *arguments):
            return super()._get_attributes(*arguments) | self.CONTROL_MASK

    marker = Marker(2, 0, 1, 7, 0, -1, 10_000)
    batch = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 10_000)
    batch.append(0, 0, b"k", b"v", [])
    data = MemoryRecords(bytes(marker.build()) + bytes(batch.build()))
    records = Fetcher.PartitionRecords(0, TopicPartition("t", 0), data, isolation_level=IsolationLevel.READ_COMMITTED)
    assert [record.value for record in records.take(10)] == [b"v"], broken(internals.pass_empty_markers)


def test_position(consumer, topic, monkeypatch):
    function, place = internals.position, TopicPartition(topic, 1)
    wait_for(lambda: consumer.poll(100) or consumer.assignment(), "an assignment")
    consumer.seek(place, 3)
    assert function(consumer, place) == consumer.position(place) == 3, broken(function)
    assert function(consumer, TopicPartition("other", 0)) == 0, broken(function)
    walks = []
    monkeypatch.setattr(consumer._fetcher, "maybe_validate_positions", lambda: walks.append(1))
    function(consumer, place)
    assert not walks
    consumer.position(place)
    assert walks, needless(function)


@pytest.mark.parametrize("kind", [KafkaConsumer, KafkaAdminClient])
def test_connected(kind):
    before = set(threading.enumerate())
    with pytest.raises(kafka_errors.KafkaError):
        internals.connected(kind, bootstrap_servers=f"127.0.0.1:{free_port()}", bootstrap_timeout_ms=200)
    left = [each.name for each in set(threading.enumerate()) - before if each.name.startswith("kafka-io")]
    assert not left, broken(internals.connected)


def test_a_null_header_of_a_message_to_a_refused_topic():
    def refuse(*_):
        raise kafka_errors.TopicAuthorizationFailedError({"a"})

    plain = KafkaProducer.__new__(KafkaProducer)
    config = {"api_version": (2, 0), "key_serializer": None, "value_serializer": None, "max_block_ms": 1}
    metadata = SimpleNamespace(partitions_for_topic=lambda _: None)
    plain.__dict__.update(_closed=False, config=config, _metadata=metadata, _wait_on_metadata=refuse)
    with internals.null_headers(plain, [("a", None)]) as marked:
        future = plain.send("a", b"x", b"k", marked)
    plain._closed = True
    assert isinstance(future.exception, kafka_errors.TopicAuthorizationFailedError)
