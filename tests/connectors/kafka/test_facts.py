"""What clients and brokers do that `connectors.kafka` fences, pinned: a release that behaves otherwise fails."""

import contextlib
import inspect
import uuid

import confluent_kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import CommitFailedError, KafkaTimeoutError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

from connectors.kafka import NotAccepted
from connectors.kafka.confluent import internals
from tests.helpers.streams import DEADLINE, wait_for


class Place:
    """A topic of two partitions and a group of the same name."""

    def __init__(self, kafka):
        self.kafka, self.servers = kafka, kafka.bootstrap_servers
        self.name = f"f{uuid.uuid4().hex[:12]}"
        self.partition = TopicPartition(self.name, 0)
        kafka.create_topics({self.name: 2})

    @contextlib.contextmanager
    def producer(self, **settings):
        producer = KafkaProducer(bootstrap_servers=self.servers, transactional_id=f"id-{self.name}", **settings)
        with contextlib.closing(producer):
            producer.init_transactions()
            producer.begin_transaction()
            yield producer

    @contextlib.contextmanager
    def consumer(self, **settings):
        consumer = KafkaConsumer(
            bootstrap_servers=self.servers,
            group_id=self.name,
            enable_auto_commit=False,
            metadata_max_age_ms=500,  # a broker that was silent knows of no topic for a moment
            **settings,
        )
        with contextlib.closing(consumer):
            yield consumer

    @contextlib.contextmanager
    def member(self):
        """A consumer that has joined the group."""
        with self.consumer() as consumer:
            self.subscribe(consumer)
            wait_for(lambda: consumer.poll(timeout_ms=100) or consumer.assignment(), "an assignment")
            yield consumer

    def subscribe(self, consumer):
        """A leader that does not know the topic yet would assign nothing."""
        wait_for(lambda: consumer.partitions_for_topic(self.name), "the partitions")
        consumer.subscribe([self.name])

    def committed(self):
        with self.consumer(isolation_level="read_committed") as consumer:
            return consumer.committed(self.partition, timeout_ms=int(1000 * DEADLINE))

    def read(self, least=0):
        """All committed values; at least so many, since brokers write the end of a transaction after its commit."""
        found = []
        with self.consumer(isolation_level="read_committed") as consumer:

            def end_offset():
                return consumer.end_offsets([self.partition])[self.partition]

            consumer.assign([self.partition])
            consumer.seek_to_beginning()
            wait_for(lambda: end_offset() >= least, "the end of the transaction")
            end = end_offset()
            while consumer.position(self.partition) < end:
                found += [message.value for messages in consumer.poll(100).values() for message in messages]
        return found


@pytest.fixture(params=["own_kafka", "older_kafka"])
def place(request):
    return Place(request.getfixturevalue(request.param))


@contextlib.contextmanager
def silent(kafka):
    kafka.stop(1)
    try:
        yield
    finally:
        kafka.resume(1)


def test_a_record_that_expires_does_not_fail_the_transaction_of_kafka_python(place):
    """The first one may still arrive; those behind it have never left the client."""
    settings = {"delivery_timeout_ms": 6000, "request_timeout_ms": 5000, "max_in_flight_requests_per_connection": 1}
    with place.producer(**settings, linger_ms=0, batch_size=0) as producer:
        producer.send(place.name, b"kept", partition=0).get(timeout=DEADLINE)
        with silent(place.kafka):
            futures = [producer.send(place.name, value, partition=0) for value in (b"perhaps", b"lost", b"lost")]
            for future in futures:
                with pytest.raises(KafkaTimeoutError):
                    future.get(timeout=DEADLINE)
        producer.commit_transaction()  # and says nothing
    found = place.read(least=1)
    assert found[0] == b"kept" and b"lost" not in found


def test_a_record_that_expires_fails_the_transaction_of_confluent(place):
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": place.servers, "transactional.id": f"id-{place.name}", "message.timeout.ms": 6000}
    )
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    with silent(place.kafka):
        producer.produce(place.name, b"lost")
        assert producer.flush(DEADLINE) == 0
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        producer.commit_transaction(DEADLINE)
    assert raised.value.args[0].txn_requires_abort()
    producer.abort_transaction(DEADLINE)


def test_kafka_python_takes_refused_offsets_into_the_next_transaction(place):
    """They go with the next offsets, under the metadata of those, whatever the partitions."""
    with place.member() as member, place.producer() as producer:
        present = member.group_metadata()
        stale = present._replace(generation_id=present.generation_id - 1)
        with pytest.raises(CommitFailedError):
            producer.send_offsets_to_transaction({place.partition: OffsetAndMetadata(7, "refused", -1)}, stale)
        producer.abort_transaction()
        producer.begin_transaction()
        other = TopicPartition(place.name, 1)
        producer.send_offsets_to_transaction({other: OffsetAndMetadata(1, "", -1)}, present)
        producer.commit_transaction()
    assert place.committed() == 7


def test_the_commit_of_kafka_python_has_no_time_out():
    assert list(inspect.signature(KafkaProducer.commit_transaction).parameters) == ["self"]


def no_generation(place, library):
    """A transaction that commits offset 5 under generation -1 and without a member id."""
    if library == "kafka-python":
        with place.producer() as producer:
            lost = ConsumerGroupMetadata(place.name, -1, "", None)
            producer.send_offsets_to_transaction({place.partition: OffsetAndMetadata(5, "", -1)}, lost)
            producer.commit_transaction()
        return
    servers = {"bootstrap.servers": place.servers}
    consumer = confluent_kafka.Consumer(servers | {"group.id": place.name})
    producer = confluent_kafka.Producer(servers | {"transactional.id": f"id-{place.name}"})
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    offsets = [confluent_kafka.TopicPartition(place.name, 0, 5)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), DEADLINE)
    producer.commit_transaction(DEADLINE)
    consumer.close()


@pytest.mark.parametrize("library", ["kafka-python", "confluent"])
def test_no_generation_is_taken_while_the_group_is_active(place, library):
    with place.member() as member:
        no_generation(place, library)
        assert place.committed() == 5
        assert member.group_metadata().generation_id > 0


def test_group_metadata_of_confluent_that_is_not_known_is_refused(place):
    """The bytes are not documented: what they are taken for is compared with what the broker says."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": place.servers, "group.id": place.name})
    consumer.subscribe([place.name])
    wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), "an assignment")
    token = consumer.consumer_group_metadata()
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=place.servers)) as admin:
        (member,) = admin.describe_groups([place.name])[place.name]["members"]
    assert internals.parse_group_metadata(token) == (1, member["member_id"])
    consumer.close()
    with pytest.raises(NotAccepted, match="update this package"):
        internals.parse_group_metadata(token.replace(b"CGMDv2:", b"CGMDv3:"))


def test_kafka_python_creates_a_deleted_topic_again_although_it_is_told_not_to(place):
    with (
        place.consumer(allow_auto_create_topics=False) as consumer,
        contextlib.closing(KafkaAdminClient(bootstrap_servers=place.servers)) as admin,
    ):
        place.subscribe(consumer)
        (before,) = admin.describe_topics([place.name])
        admin.delete_topics([place.name])

        def is_back():
            consumer.poll(timeout_ms=100)
            (found,) = admin.describe_topics([place.name])
            return found["error_code"] == 0 and found["topic_id"] != before["topic_id"]

        wait_for(is_back, "another topic of that name")


class _Watching(CooperativeStickyAssignor):
    """Notes what its consumer says while the leader of a new generation assigns partitions."""

    def __init__(self):
        super().__init__()
        self.consumer, self.seen = None, []

    def assign(self, cluster, members):
        self.seen.append((self.consumer.group_metadata().generation_id, self.consumer.assignment()))
        return RangePartitionAssignor.assign(cluster, members)


def test_kafka_python_shows_a_generation_before_its_assignment(place):
    """Between the answers to joining and to syncing: what was assigned before looks as if it were of now."""
    watching = _Watching()
    with place.consumer(partition_assignment_strategy=[watching]) as consumer:
        watching.consumer = consumer
        place.subscribe(consumer)
        wait_for(lambda: consumer.poll(timeout_ms=100) or consumer.assignment(), "an assignment")
        generation, assigned = consumer.group_metadata().generation_id, consumer.assignment()
        watching.seen.clear()
        consumer._coordinator.request_rejoin()
        wait_for(lambda: consumer.poll(timeout_ms=100) or watching.seen, "another generation")
    later, shown = watching.seen[0]
    assert later > generation and shown == assigned
