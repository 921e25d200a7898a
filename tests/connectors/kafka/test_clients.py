"""The clients behind their interface, on a real Kafka; the defects of the libraries that we fence are pinned here."""

import contextlib
import json
import math
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaConnectionError
from kafka.structs import MemberState
from kafka.version import __version__ as kafka_version

from connectors.errors import StartError
from connectors.kafka import (
    CLIENTS,
    BadTimestamp,
    ClientError,
    Committed,
    Fenced,
    LostOwnership,
    NotAccepted,
    OutOfRange,
    Ownership,
    Replaced,
    TooLarge,
    client,
)
from connectors.kafka.confluent import producer as confluent_producer
from connectors.kafka.kafka_python import producer as kafka_python_producer
from connectors.kafka.kafka_python import settings as kafka_python_settings
from connectors.kafka.quota import Quota
from tests.helpers.streams import DEADLINE, wait_for

LINGER = 60  # seconds


class Place:
    """A topic with its group and clients, all closed at the end; settings have the names of kafka-python."""

    def __init__(self, kafka, library):
        self.library, self.module = library, client(library)
        self.name = f"k{uuid.uuid4().hex[:12]}"
        self.settings = {"bootstrap_servers": kafka.bootstrap_servers}
        self.opened = []
        kafka.create_topics({self.name: 2})

    def consumer(self, instance=None, **settings):
        consumer = self.module.Consumer(self.name, self.name, self.settings | self.named(settings), instance)
        self.opened.append(lambda: consumer.close(5.0))
        return consumer

    def producer(self, transactional_id=None, **settings):
        producer = self.module.Producer(transactional_id, self.settings | self.named(settings))
        self.opened.append(producer.close)
        return producer

    def named(self, settings):
        if self.library == "kafka-python":
            return settings
        others = {"max_request_size": "message.max.bytes"}
        return {others.get(name, name.replace("_", ".")): value for name, value in settings.items()}

    def fill(self, count):
        producer = self.producer()
        for n in range(count):
            producer.send(self.name, n % 2, b"k", str(n).encode(), [], n)
        producer.flush(DEADLINE)
        producer.check()


@pytest.fixture(params=CLIENTS)
def place(kafka, request):
    yield from closed(Place(kafka, request.param))


@pytest.fixture(params=CLIENTS)
def own_place(own_kafka, request):
    yield from closed(Place(own_kafka, request.param))


def closed(place):
    yield place
    for close in reversed(place.opened):
        close()


def join(consumer, partitions):
    """Polls until the consumer has these partitions."""

    def assigned():
        assert consumer.poll(0.1) == []
        return consumer.ownership and consumer.ownership.partitions == frozenset(partitions)

    wait_for(assigned, f"an assignment of {partitions}")
    return consumer.ownership


def test_an_assignment_comes_paused_with_generation_and_member(place):
    place.fill(10)
    consumer = place.consumer()
    consumer.join()
    ownership = join(consumer, {0, 1})
    assert ownership.generation > 0 and ownership.member
    assert consumer.poll(0.5) == [], "nothing may be read before it is known where to go on"
    consumer.seek(0, 2)
    consumer.seek(1, 0)
    found = []
    wait_for(lambda: found.extend(consumer.poll(0.2)) or len(found) >= 8, "the records")
    assert [value for partition, _, _, value, *_ in found if partition == 0] == [b"4", b"6", b"8"]
    assert [offset for partition, offset, *_ in found if partition == 1] == [0, 1, 2, 3, 4]
    assert (consumer.position(0), consumer.offset_range(0)) == (5, (0, 5))


@pytest.mark.parametrize("place", ["kafka-python"], indirect=True)
@pytest.mark.parametrize("allowed", [5_000, 500])
def test_a_user_says_how_many_records_a_poll_of_kafka_python_may_return(place, allowed, monkeypatch):
    consumer = place.consumer(max_poll_records=allowed)
    consumer.join()
    join(consumer, {0, 1})
    asked = []
    monkeypatch.setattr(consumer._consumer, "poll", lambda milliseconds, most: asked.append(most) or {})
    consumer.poll(0.0)
    consumer.poll(0.0, 3)
    assert asked == [allowed, 3]


def test_a_poll_returns_no_more_than_it_is_asked_for_and_the_next_one_goes_on(place):
    place.fill(10)
    consumer = place.consumer(max_poll_records=4) if place.library == "kafka-python" else place.consumer()
    consumer.join()
    join(consumer, {0, 1})
    consumer.seek(0, 0)
    found = []
    for most in (1, 3):
        wait_for(lambda most=most: found.append(consumer.poll(0.2, most)) or found[-1], "records")
        assert len(found[-1]) <= most
    wait_for(lambda: found.append(consumer.poll(0.2)) or sum(map(len, found)) == 5, "the others")
    assert [offset for some in found for _, offset, *_ in some] == [0, 1, 2, 3, 4]
    if place.library == "kafka-python":  # a user may ask for fewer
        consumer.seek(0, 0)
        wait_for(lambda: found.append(consumer.poll(0.2)) or found[-1], "records")
        assert len(found[-1]) <= 4


@pytest.mark.parametrize("place", ["confluent"], indirect=True)
def test_an_error_of_a_callback_is_raised_by_poll_as_it_is(place):
    """The library itself makes a SystemError of an error from C, such as this KeyError, also in `close`."""
    for end in ("close", "rebalance"):
        consumer = place.consumer()
        consumer.join()
        join(consumer, {0, 1})
        consumer.before_rebalance = lambda: {}["lost"]
        if end == "close":
            consumer.close(5.0)
    other = place.consumer()
    other.join()
    with pytest.raises(KeyError, match="lost"):
        wait_for(lambda: consumer.poll(0.1) or other.poll(0.1), "a rebalance")


def test_a_fenced_producer_leaves_its_successor_alone(place):
    """What it sends is refused, and it does not begin the transactional id anew."""
    fenced = place.producer(place.name)
    fenced.begin()
    fenced.send(place.name, 0, b"k", b"aborted", [], 0)
    fenced.flush(DEADLINE)
    successor = place.producer(place.name)
    successor.begin()
    successor.send(place.name, 0, b"k", b"1", [], 1)
    successor.flush(DEADLINE)
    with pytest.raises(ClientError):
        fenced.send(place.name, 0, b"k", b"lost", [], 1)
        fenced.flush(DEADLINE)
        fenced.check()
    time.sleep(1.0)  # in which it could do harm
    successor.send(place.name, 0, b"k", b"2", [], 2)
    successor.flush(DEADLINE)
    successor.check()
    successor.commit()


class NotText(str):
    """A name that is written as bytes that are not UTF-8."""

    def encode(self, *_):
        return b"\xff\xfe"


def test_a_header_whose_name_is_not_text(place, kafka, caplog):
    """The headers are lost, which the log says; the records come, and those that follow in the same batch as well.

    Many have come before it: the interpreter has specialised its code for them.
    """
    names = [*(f"h{n}" for n in range(200)), NotText("odd"), "after"]
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=60_000)) as other:
        for n, name in enumerate(names):
            other.send(place.name, b"%d" % n, b"k", partition=0, headers=[(name, b"content")])
        other.flush()
    consumer = place.consumer()
    consumer.join()
    join(consumer, {0, 1})
    consumer.seek(0, 0)
    found = []
    wait_for(lambda: found.extend(consumer.poll(0.2)) or len(found) >= len(names), "the records")
    assert [(record[1], record[3]) for record in found] == [(n, b"%d" % n) for n in range(len(names))]
    assert [n for n, record in enumerate(found) if not record[4]] == [200]
    said = f"the headers of the record at offset 200 of partition 0 of `{place.name}` are dropped: a name is not UTF-8"
    assert [record.getMessage() for record in caplog.records if "headers" in record.getMessage()] == [said]


def test_the_offsets_of_a_topic_created_a_moment_ago(kafka, place):
    """The broker says for a moment that it is not the leader: the client asks again, and the user sees no error."""
    place.fill(2)
    consumer = place.consumer()
    assert [consumer.offset_range(number) for number in range(2)] == [(0, 1), (0, 1)]
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    with contextlib.closing(admin):
        admin.delete_topics([place.name])
        wait_for(lambda: place.name not in admin.list_topics(), "the end of the topic")
    kafka.create_topics({place.name: 64})
    assert {consumer.offset_range(number) for number in range(64)} == {(0, 0)}


def test_the_offsets_of_a_partition_added_a_moment_ago(kafka, place):
    """Also for a client that has asked for others before, and has not heard that the topic grew."""
    consumer = place.consumer()
    assert consumer.offset_range(1) == (0, 0)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_partitions({place.name: 3})
    assert consumer.offset_range(2) == (0, 0)


def test_a_reader_does_not_create_a_deleted_topic_again(kafka, place):
    place.fill(2)
    reader = place.module.Reader(place.name, place.name, place.settings | place.named({"metadata_max_age_ms": 200}))
    place.opened.append(reader.close)
    assert reader.read(DEADLINE)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.delete_topics([place.name])
        for _ in range(20):
            with contextlib.suppress(ClientError):
                reader.read_some()
        assert place.name not in admin.list_topics()


def test_an_instance_that_was_replaced_can_know_it(place):
    """Also if it slept for so long that the library has forgotten the coordinator of the group."""
    older, newer = (place.consumer("same", heartbeat_interval_ms=300) for _ in range(2))
    older.join()
    join(older, {0, 1})
    older.confirm_membership()
    newer.join()
    join(newer, {0, 1})
    if place.library == "kafka-python":
        older._consumer._coordinator.coordinator_dead("its session has expired")
    with pytest.raises(Replaced):
        older.confirm_membership()
    newer.confirm_membership()


@pytest.mark.parametrize("place", ["kafka-python"], indirect=True)  # the other library answers from what it knows
def test_a_member_that_joins_again_is_not_asked_for_its_former_generation(place):
    """The library would forget the new one, and so lose its place in the group."""
    member = place.consumer("same", heartbeat_interval_ms=300)
    member.join()
    join(member, {0, 1})
    coordinator = member._consumer._coordinator
    asked = []
    coordinator._send_heartbeat_request = lambda: asked.append(1)
    coordinator.state = MemberState.REBALANCING
    assert not member.confirm_membership() and not asked


def test_headers_and_timestamp_go_and_come(place):
    """Duplicates, empty and null ones; a timestamp of 0 is the present time."""
    headers = [("a", b"1"), ("traceparent", b"00-\xff"), ("a", None), ("", b"")]
    producer, consumer = place.producer(), place.consumer()
    for n, (given, timestamp) in enumerate([(headers, 1234), ([], 5678), ([("only", None)], 0)]):
        producer.send(place.name, 0, b"k" if n else None, b"%d" % n, given, n, timestamp)
    producer.flush(DEADLINE)
    producer.check()
    assert headers[2] == ("a", None), "what was given is left as it was"
    consumer.join()
    join(consumer, {0, 1})
    consumer.seek(0, 0)
    found = []
    wait_for(lambda: found.extend(consumer.poll(0.2)) or len(found) >= 3, "the records")
    assert [record[2:4] for record in found] == [(None, b"0"), (b"k", b"1"), (b"k", b"2")]
    assert list(found[0][4]) == headers and not found[1][4] and list(found[2][4]) == [("only", None)]
    assert [record[5] for record in found[:2]] == [1234, 5678]
    assert abs(found[2][5] / 1000 - time.time()) < 60


def test_a_timestamp_that_the_broker_refuses(place):
    producer = place.producer()
    producer.send(place.name, 0, None, b"early", [], "mine", int(time.time() * 1000) + 7_200_000)
    producer.flush(DEADLINE)
    with pytest.raises(BadTimestamp):
        producer.check()


def test_the_end_of_a_quota_holds_nothing_back(monkeypatch):
    """Librdkafka tells of it as well, with a time of 0."""
    monkeypatch.setattr(Quota, "held_back_until", -math.inf)
    confluent_producer._note_quota(SimpleNamespace(broker_id=1, throttle_time=0.0))
    assert Quota.held_back_until == -math.inf
    confluent_producer._note_quota(SimpleNamespace(broker_id=1, throttle_time=0.5))
    assert Quota.held_back_until > time.monotonic()


def test_the_room_under_a_quota(monkeypatch):
    """As many messages as were taken in 0.3 s at the rate of the last seconds: 0.3 s * 20,000 / 20 s = 300.

    Or those that fit into 20,000 bytes, and one at least; each takes 100 beside its own.
    """
    monkeypatch.setattr(Quota, "held_back_until", -math.inf)
    now = 1000.0
    monkeypatch.setattr("connectors.kafka.quota.time", SimpleNamespace(monotonic=lambda: now))
    quota = Quota()
    assert quota.room(10_000, 5_000, 100) == math.inf
    Quota.note(1)
    assert quota.room(10, 10, 100) == 90 and quota.room(100, 100, 100) == 0
    assert quota.room(3, 3, 3900) == 2 and quota.room(3, 0, 10**6) == 1
    now += 20.0
    assert quota.room(20_050, 50, 100) == 250
    now += 5.0
    assert quota.room(30_000, 0, 100) == 300, "the rate is that of ten seconds at least"
    now += 300.0
    assert quota.room(30_000, 0, 100) == math.inf, "it has not come again for a long time"


def test_a_message_without_a_key_to_a_compacted_topic(place, kafka):
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, place.name, configs={"cleanup.policy": "compact"})])
    admin.close()
    producer = place.producer()
    producer.send(place.name, 0, None, b"v", [], "a")
    producer.flush(DEADLINE)
    with pytest.raises(ClientError, match=r"(?i)no key, which a topic with .*compact|compacted topic .* without key"):
        producer.check()


def test_records_that_are_gone(place):
    place.fill(10)
    consumer = place.consumer()
    consumer.join()
    join(consumer, {0, 1})
    admin = KafkaAdminClient(**place.settings)
    admin.delete_records({TopicPartition(place.name, 1): 4})
    admin.close()
    consumer.seek(1, 2)
    with pytest.raises(OutOfRange) as raised:
        wait_for(lambda: consumer.poll(0.2), "an error")
    assert (raised.value.partition, raised.value.offset) == (1, 2)


def committed_epoch(place):
    """The epoch of the leader that Kafka has beside the committed offset of partition 0; -1 for none."""
    with contextlib.closing(
        KafkaConsumer(bootstrap_servers=place.settings["bootstrap_servers"], group_id=place.name)
    ) as it:
        return it.committed(TopicPartition(place.name, 0), metadata=True).leader_epoch


@pytest.mark.parametrize("is_transactional", [True, False])
def test_the_epoch_of_the_last_record_is_committed(place, is_transactional):
    """But none behind a marker, which may be of a later leader."""
    source = place.producer("source-" + place.name)
    source.begin()
    for n in range(3):
        source.send(place.name, 0, b"k", b"%d" % n, [], n)
    source.commit()
    consumer, producer = place.consumer(), place.producer("id-" + place.name) if is_transactional else None
    consumer.join()
    ownership = join(consumer, {0, 1})
    consumer.seek(0, 0)
    wait_for(lambda: consumer.position(0) == 4 or consumer.poll(0.1) is None, "the marker")
    for offset, epoch in ((2, 0), (3, 0), (4, -1)):
        offsets = {0: Committed(offset, "mine")}
        if producer is None:
            consumer.commit(offsets, ownership, DEADLINE)
        else:
            producer.begin()
            producer.send_offsets(place.name, offsets, ownership)
            producer.commit()
        assert committed_epoch(place) == epoch, offset


@pytest.mark.parametrize("is_transactional", [True, False])
def test_an_older_generation_cannot_commit(place, is_transactional):
    one, two = place.consumer(), place.consumer()
    producer = place.producer("id-" + place.name) if is_transactional else None

    def commit(consumer, ownership, offset):
        offsets = {0: Committed(offset, "mine")}
        if producer is None:
            return consumer.commit(offsets, ownership, DEADLINE)
        producer.begin()
        producer.send_offsets(place.name, offsets, ownership)
        producer.commit()

    one.join()
    first = join(one, {0, 1})
    commit(one, first, 1)
    assert one.committed({0, 1}, DEADLINE) == {0: Committed(1, "mine"), 1: None}
    two.join()

    def shared():
        return two.ownership and two.ownership.generation == one.ownership.generation > first.generation

    with ThreadPoolExecutor() as threads:  # as two processes would: neither gets its share before the other has joined
        list(threads.map(lambda consumer: wait_for(lambda: consumer.poll(0.1) or shared(), "a share each"), (one, two)))
    present = one.ownership
    assert present.generation > first.generation and len(present.partitions) == 1
    with pytest.raises(LostOwnership):
        commit(one, first, 2)
    if producer is not None:
        producer.close()
        producer = place.producer("id-" + place.name)
    assert one.committed({0}, DEADLINE)[0].offset == 1
    commit(one, present, 3)
    assert one.committed({0}, DEADLINE)[0].offset == 3


def test_no_generation_is_never_committed_under(place):
    """The broker would take it: both libraries ask for it after an expulsion."""
    consumer = place.consumer()
    library = consumer._consumer
    token = library.group_metadata() if place.library == "kafka-python" else library.consumer_group_metadata()
    producer = place.producer("id-" + place.name)
    producer.begin()
    lost = Ownership(-1, "", frozenset({0}), token)
    with pytest.raises(LostOwnership):
        producer.send_offsets(place.name, {0: Committed(1, "")}, lost)
    with pytest.raises(LostOwnership):
        consumer.commit({0: Committed(1, "")}, lost, DEADLINE)
    assert consumer.committed({0}, DEADLINE) == {0: None}


def test_pending_offsets_are_waited_for(place, caplog):
    """A process that died between sending its offsets and committing them: its time-out decides. That is no error."""
    consumer = place.consumer()
    consumer.join()
    ownership = join(consumer, {0, 1})
    producer = place.producer("id-" + place.name, transaction_timeout_ms=8000)
    producer.begin()
    producer.send_offsets(place.name, {0: Committed(7, "pending")}, ownership)
    with pytest.raises(ClientError):
        consumer.committed({0}, 0.5)
    began = time.monotonic()
    assert consumer.committed({0}, DEADLINE) == {0: None}
    assert time.monotonic() - began > 1
    assert not [line for line in caplog.messages if "fetching offsets" in line]


def test_a_successor_of_the_same_id_fences(place):
    first = place.producer("id-" + place.name)
    first.begin()
    first.send(place.name, 0, None, b"x", [], None)
    first.flush(DEADLINE)
    second = place.producer("id-" + place.name)
    with pytest.raises(Fenced):
        first.check()
        first.commit()
    second.begin()
    second.commit()


def test_closing_does_not_wait_for_messages_without_an_outcome(place, kafka):
    longer = {"delivery_timeout_ms": 2000 * LINGER, "transaction_timeout_ms": 3000 * LINGER}
    producer = place.producer("id-" + place.name, linger_ms=1000 * LINGER, **longer)
    producer.begin()
    for n in range(10):
        producer.send(place.name, 0, None, b"x", [], n)
    with pytest.raises(ClientError, match="no outcome"):
        producer.check()
    began = time.monotonic()
    producer.close()
    assert time.monotonic() - began < LINGER


def test_a_refused_question_for_an_epoch_hides_no_other_error_and_is_asked_again(kafka, monkeypatch):
    """librdkafka refuses it in a member that another one has replaced, and an event says so."""
    refused = iter([KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))])
    seek = confluent_kafka.Consumer.seek

    class Refusing(confluent_kafka.Consumer):
        def seek(self, place):
            for error in refused:
                raise error
            asked.append((place.offset, place.leader_epoch))
            seek(self, place)

    asked = []
    monkeypatch.setattr(confluent_kafka, "Consumer", Refusing)
    for place in closed(Place(kafka, "confluent")):
        place.fill(10)
        consumer = place.consumer()
        consumer.join()
        join(consumer, {0, 1})
        consumer.seek(0, 0)
        wait_for(lambda: consumer.position(0) == 5 or consumer.poll(0.1) is None, "the records")  # noqa: B023
        consumer.seek(0, 5)
        assert consumer.poll(0) == [] and asked == [] and next(refused, None) is None
        assert consumer.poll(0) == [] and asked == [(5, 0)]
        assert consumer.poll(0) == [] and asked == [(5, 0)]


def test_a_message_without_a_key_among_others_for_a_compacted_topic(place):
    """All messages of its batch fail with it, those before it first."""
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=place.settings["bootstrap_servers"])) as admin:
        configs = {"cleanup.policy": "compact"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, place.name, configs=configs)])
    producer = place.producer("id-" + place.name, linger_ms=1000)  # all go into one batch
    producer.begin()
    for n, key in enumerate([b"k", b"k", None, b"k"]):
        producer.send(place.name, 0, key, b"v", [], n)
    producer.flush(DEADLINE)
    with pytest.raises(BadTimestamp, match=rf"a message to `{place.name}`: .*(without key|it has no key)"):
        producer.check()


def test_a_record_that_expires_fails_the_check(own_place, own_kafka):
    """kafka-python would commit the transaction without it."""
    producer = own_place.producer("id-" + own_place.name, delivery_timeout_ms=6000, request_timeout_ms=5000)
    producer.begin()
    producer.send(own_place.name, 0, None, b"arrives", [], 0)
    producer.flush(DEADLINE)
    producer.check()
    own_kafka.stop(1)
    try:
        producer.send(own_place.name, 0, None, b"expires", [], 1)
        producer.flush(DEADLINE)
        with pytest.raises(ClientError, match=r"KafkaTimeoutError|RequestTimedOutError|timed out"):
            producer.check()
    finally:
        own_kafka.resume(1)


def test_what_a_reader_has_read_before_an_error_comes_with_the_next_call(place, monkeypatch):
    place.fill(4)
    reader = place.module.Reader(place.name, place.name, place.settings)
    place.opened.append(reader.close)
    poll = reader._poll

    def failing(consumer):
        if found := poll(consumer):
            monkeypatch.undo()
            assert found and reader.position > 0
            raise ClientError("injected")
        return found

    monkeypatch.setattr(reader, "_poll", failing)
    with pytest.raises(ClientError, match="injected"):
        reader.read(DEADLINE)
    assert [record[1] for record in reader.read(DEADLINE)] == [0, 1]
    assert reader.read(DEADLINE) == []


def test_a_reader_begins_again_with_a_topic_that_ends_earlier_than_it_did(place):
    place.fill(4)
    reader = place.module.Reader(place.name, place.name, place.settings, start=100)
    place.opened.append(reader.close)
    assert [record[1] for record in reader.read(DEADLINE)] == [0, 1]


def test_a_reader_does_not_wait_for_its_former_fetch(place):
    """The broker answers the requests of a connection in turn: a fetch that waits for records holds up the next one."""
    patience = {"fetch_max_wait_ms": 1000 * LINGER, "fetch_min_bytes": 1_000_000, "request_timeout_ms": 3000 * LINGER}
    if place.library == "confluent":
        patience = {"fetch.wait.max.ms": 1000 * LINGER, "fetch.min.bytes": 1_000_000, "socket.timeout.ms": 300_000}
    reader = place.module.Reader(place.name, place.name, place.settings | patience)
    place.opened.append(reader.close)
    for offset in range(2):
        place.fill(1)
        assert [record[1] for record in reader.read(LINGER / 2)] == [offset]
        assert reader.read(LINGER / 2) == []


def test_a_compression_that_cannot_be_undone_is_named(kafka, monkeypatch):
    """Others write with a library that kafka-python uses if it is there: no attempt would succeed."""
    monkeypatch.setattr("kafka.codec.has_lz4", lambda: False)
    place = Place(kafka, "kafka-python")
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "compression.type": "lz4"})
    producer.produce(place.name, b"x" * 1000, partition=0)
    assert producer.flush(DEADLINE) == 0
    said = r"lz4 compression codec not found; install .*pip install lz4"
    reader = place.module.Reader(place.name, place.name, place.settings)
    with contextlib.closing(reader), pytest.raises(NotAccepted, match=said):
        reader.read(DEADLINE)


def test_the_questions_of_kafka_python_for_offsets_end_before_a_member_leaves_its_group(monkeypatch):
    """A partition may have no leader for a while. The library would ask for it for half a minute, without a poll."""
    module, asked = client("kafka-python"), []

    def answer(places, timeout_ms=30_000):
        asked.append(timeout_ms)
        return dict.fromkeys(places, 0)

    library = SimpleNamespace(config={"request_timeout_ms": 30_000}, beginning_offsets=answer, end_offsets=answer)
    consumer = object.__new__(module.Consumer)
    consumer._topic, consumer._permissions, consumer._consumer = "t", {}, library
    assert consumer.offset_range(0) == (0, 0)
    assert sum(asked) < kafka_python_settings.CONSUMER["max_poll_interval_ms"]
    reader = module.Reader("t", "g", {})
    monkeypatch.setattr(reader, "_connected", lambda: library)
    assert reader.read(2.5) == [] and asked[2:] == [2500]


def test_the_last_question_of_confluent_for_committed_offsets_ends(monkeypatch):
    """A question that fails right before the end leaves less than no time for the next one."""
    module, asked = client("confluent"), []
    consumer = module.Consumer("t", "g", {"bootstrap_servers": "127.0.0.1:1"})

    class Library:
        now = 0.0

        def committed(self, places, timeout):
            asked.append(timeout)
            self.now = 9.999 if len(asked) == 1 else self.now + 1.0
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

        def consume(self, *_):
            self.now = 10.001
            return []

        def monotonic(self):
            return self.now

    library = Library()
    with contextlib.closing(consumer._consumer):
        monkeypatch.setattr(consumer, "_consumer", library)
        monkeypatch.setattr("connectors.kafka.confluent.consumer.time", library)
        with pytest.raises(ClientError):
            consumer.committed([0], 10.0)
        monkeypatch.undo()
    assert asked == [2.0, 0.0]


def test_a_seek_of_confluent_while_partitions_are_given_back():
    """Such as that of a model that has been loaded meanwhile. It is no failure: the next assignment seeks again."""
    consumer = client("confluent").Consumer("t", "g", {"bootstrap_servers": "127.0.0.1:1"})
    with contextlib.closing(consumer._consumer):
        consumer.ownership = Ownership(1, "m", frozenset({0}), b"")
        consumer.seek(0, 5)
        assert consumer.position(0) == 0
        with pytest.raises(LostOwnership):
            consumer.seek(1, 5)
        consumer.ownership = None
        with pytest.raises(LostOwnership):
            consumer.seek(0, 5)


def test_the_message_that_is_too_large_is_named(place):
    producer = place.producer(max_request_size=1000)
    producer.send(place.name, 0, None, b"x", [], "small")
    with pytest.raises(TooLarge) as raised:
        producer.send(place.name, 0, None, b"x" * 2000, [], "large")
    assert raised.value.opaque == "large"
    producer.flush(DEADLINE)
    producer.check()


def test_the_message_that_is_too_large_is_named_among_those_that_fail_with_it(own_kafka):
    """One of the others waits for its turn when the broker refuses the large one."""
    place, strict = Place(own_kafka, "kafka-python"), Place(own_kafka, "kafka-python").name
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=own_kafka.bootstrap_servers)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, strict, configs={"max.message.bytes": "1000"})])
    producer = place.producer("id-" + place.name, batch_size=2000, max_in_flight_requests_per_connection=1)
    try:
        for topic in (place.name, strict):
            producer._producer.partitions_for(topic)
        producer.begin()
        own_kafka.stop(1)  # until all are there
        for opaque in range(3):
            producer.send(place.name, 0, None, b"x" * 1500, [], opaque)
        producer.send(strict, 0, None, b"x" * 3000, [], "large")
        own_kafka.resume(1)
        wait_for(lambda: len(producer._failed) > 1, "an end with others")
        with pytest.raises(TooLarge) as raised:
            producer.check()
        assert raised.value.opaque == "large"
    finally:
        own_kafka.resume(1)
        producer.close()


def test_describe(place, kafka):
    cluster = place.module.describe([place.name, "no-such-topic"], place.settings, DEADLINE)
    assert cluster.topics[place.name].partitions == 2 and len(cluster.topics[place.name].id) == 36
    assert "no-such-topic" not in cluster.topics and "no-such-topic" not in cluster.names
    other = client("kafka-python").describe([place.name, "no-such-topic"], place.settings, DEADLINE)
    assert (cluster.id, cluster.topics) == (other.id, other.topics)
    assert place.name in cluster.names and place.name in other.names  # other processes create topics in between


def test_kafka_python_looks_up_metadata_after_a_look_up_has_failed(kafka):
    """Its loop waits for a look-up that is under way, and dies with it; nobody would hear of new partitions then."""
    place = Place(kafka, "kafka-python")
    consumer = place.consumer(metadata_max_age_ms=300)
    join(consumer, {0, 1})
    cluster, manager = consumer._consumer._cluster, consumer._consumer._manager
    ask, loop = cluster._do_refresh_metadata, cluster._refresh_loop_future

    async def fail(node_id):
        cluster._do_refresh_metadata = ask
        await manager._net.sleep(1)  # later on the same clock than the loop, which wakes up in between and waits for it
        raise KafkaConnectionError("away")

    async def look_up():
        while cluster.metadata_refresh_in_progress:
            await manager._net.sleep(0.01)
        cluster._do_refresh_metadata = fail
        await cluster.refresh_metadata()

    manager.call_soon(look_up)
    wait_for(lambda: loop.is_done, "the end of the library's loop")
    with contextlib.closing(KafkaAdminClient(**place.settings)) as admin:
        admin.create_partitions({place.name: 3})
    wait_for(lambda: consumer.poll(0.1) or len(cluster.partitions_for_topic(place.name)) == 3, "the third partition")
    for close in place.opened:
        close()


def test_settings_that_the_guarantee_owns_are_refused():
    owned = {
        "consumer": "bootstrap_servers group_id group_instance_id isolation_level enable_auto_commit auto_offset_reset "
        "allow_auto_create_topics partition_assignment_strategy key_deserializer",
        "producer": "bootstrap_servers transactional_id enable_idempotence acks allow_auto_create_topics partitioner",
    }
    for side, keys in owned.items():
        for key in keys.split():
            consumer, producer = ({key: "x"}, {}) if side == "consumer" else ({}, {key: "x"})
            ((found_side, found_key, sentence),) = kafka_python_settings.check_settings(consumer, producer)
            assert (found_side, found_key) == (side, key)
            assert f"`{key}` cannot be set: " in sentence and sentence.endswith("; leave it out")


@pytest.mark.parametrize(
    ("consumer", "producer", "expected"),
    [
        ({}, {}, []),
        ({"session_timeout_ms": 45_000, "max_poll_interval_ms": 60_000}, {"transaction_timeout_ms": 30_000}, []),
        ({"fetch_max_wait_ms": 100, "client_id": "me"}, {"compression_type": "gzip", "linger_ms": 0}, []),
        ({"session_timeout": 1}, {}, [("consumer", "session_timeout", "did you mean `session_timeout_ms`?")]),
        ({"linger_ms": 5}, {}, [("consumer", "linger_ms", "put it under `kafka.producer`")]),
        ({"session_timeout_ms": "15000"}, {}, [("consumer", "session_timeout_ms", "found the text `15000`")]),
        ({"metrics_enabled": 1}, {}, [("consumer", "metrics_enabled", "`true` or `false`")]),
        ({"session_timeout_ms": 3000}, {"transaction_timeout_ms": 2000},
         [("consumer", "session_timeout_ms", "must be above `heartbeat_interval_ms` (3000)")]),
        ({"session_timeout_ms": 9000}, {},
         [("consumer", "session_timeout_ms", "`session_timeout_ms` (9000) must be above `transaction_timeout_ms`")]),
        ({}, {"transaction_timeout_ms": 14_999}, []),
        ({}, {"transaction_timeout_ms": 15_000},
         [("producer", "transaction_timeout_ms", "`session_timeout_ms` (15000) must be above"),
          ("producer", "transaction_timeout_ms", "`max_poll_interval_ms` (30000) must be above")]),
        ({"max_poll_interval_ms": 25_000}, {}, [("consumer", "max_poll_interval_ms", "+ 15000 ms (25000)")]),
        ({}, {"delivery_timeout_ms": 4000}, [("producer", "delivery_timeout_ms", "above `request_timeout_ms`")]),
        ({}, {"transaction_timeout_ms": 0}, [("producer", "transaction_timeout_ms", "above 0")]),
        ({"security_protocol": "sasl_ssl"}, {}, [("consumer", "security_protocol", "found the text `sasl_ssl`")]),
        ({}, {"compression_type": "zip"}, [("producer", "compression_type", "found the text `zip`")]),
    ],
)  # fmt: skip
def test_contradictions(consumer, producer, expected):
    found = kafka_python_settings.check_settings(consumer, producer)
    assert [problem[:2] for problem in found] == [problem[:2] for problem in expected]
    for (_, _, sentence), (_, _, part) in zip(found, expected, strict=True):
        assert part in sentence


@pytest.mark.parametrize("place", ["kafka-python"], indirect=True)
def test_a_batch_with_a_wrong_checksum_is_read_again(place, monkeypatch):
    place.fill(2)
    consumer = place.consumer()
    consumer.join()
    join(consumer, {0, 1})
    answers = iter([False])
    monkeypatch.setattr("kafka.record.default_records.DefaultRecordBatch.validate_crc", lambda _: next(answers, True))
    consumer.seek(0, 0)
    with pytest.raises(ClientError, match="crc"):
        wait_for(lambda: consumer.poll(0.2), "the error")
    consumer.seek(0, 0)
    assert wait_for(lambda: consumer.poll(0.2), "the record")[0][3] == b"0"


def test_a_library_that_compresses_and_is_missing_is_named(kafka, monkeypatch):
    monkeypatch.setitem(kafka_python_producer.PACKAGES, "lz4", (lambda: False, "lz4"))
    with pytest.raises(StartError, match="`compression_type: lz4` needs a package: `pip install lz4`"):
        Place(kafka, "kafka-python").producer(compression_type="lz4")


def test_a_reader_reads_again_what_it_read_before_a_failure(place, monkeypatch):
    place.fill(10)
    monkeypatch.setattr("connectors.kafka.confluent.reader.BATCH", 2)
    few = {"max_poll_records": 2} if place.library == "kafka-python" else {}
    reader = place.module.Reader(place.name, place.name, place.settings | few, 1)
    place.opened.append(reader.close)
    poll = reader._poll

    def failing(consumer):
        if reader.position:
            raise ClientError("injected")
        return poll(consumer)

    reader._poll = failing
    with pytest.raises(ClientError, match="injected"):
        reader.read(DEADLINE)
    reader._poll = poll
    assert [record[3] for record in reader.read(DEADLINE)] == [b"1", b"3", b"5", b"7", b"9"]


@pytest.mark.parametrize("library", CLIENTS)
@pytest.mark.parametrize(
    ("key", "meant"), [("clients", "client"), ("consumers", "consumer"), ("producers", "producer")]
)
def test_a_misspelt_key_of_the_section_is_known(key, meant, library):
    assert any(f"did you mean `{meant}`?" in said for *_, said in client(library).check_settings({key: {}}, {}))


def test_a_confluent_kafka_that_is_too_old_is_named(monkeypatch):
    """It would refuse a setting that no user has written, and the error would blame the broker."""
    monkeypatch.setattr(confluent_kafka, "__version__", "2.9.0")
    with pytest.raises(
        ValueError, match=r"needs confluent-kafka 2\.12 or later, and the one that is installed is 2\.9\.0: `"
    ):
        client("confluent")
    monkeypatch.setattr(confluent_kafka, "__version__", "2.12.0rc1")
    assert client("confluent")


def test_a_confluent_kafka_that_lacks_names_is_too_old(tmp_path):
    """Version 2.2 has no `TopicCollection`."""
    code = (
        "import confluent_kafka; del confluent_kafka.TopicCollection; confluent_kafka.__version__ = '2.2.0'; "
        "from connectors import cli; cli.main()"
    )
    settings = {"name": "p", "kafka": {"client": "confluent", "bootstrap_servers": "localhost:1"}}
    file = tmp_path / "p.yaml"
    topics = {"input": {"topic": "a"}, "output": {"topic": "b"}}
    file.write_text(json.dumps(settings | topics | {"learner": ["PAClassifier"]}))
    ended = subprocess.run([sys.executable, "-c", code, "lint", file], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "needs confluent-kafka 2.12 or later, and the one that is installed is 2.2.0: `pip install" in ended.stdout
    assert not ended.stderr


def test_a_kafka_python_that_is_too_old_is_named(tmp_path):
    """Version 2 has no `kafka.net`."""
    code = "import sys, kafka; sys.modules['kafka.net.transport'] = None; from connectors import cli; cli.main()"
    settings = {"name": "p", "kafka": {"bootstrap_servers": "localhost:1"}, "learner": ["PAClassifier"]}
    file = tmp_path / "p.yaml"
    file.write_text(json.dumps(settings | {"input": {"topic": "a"}, "output": {"topic": "b"}}))
    for arguments in (["run", file], ["topics", "create", file], ["tail", file]):
        ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert ended.returncode == 3
        assert ended.stderr.startswith(f"kafka-python {kafka_version} does not suit this version of river-margins (")
        assert ended.stderr.endswith(": `pip install 'kafka-python>=3.0.12'`\n") and ended.stderr.count("\n") == 1
