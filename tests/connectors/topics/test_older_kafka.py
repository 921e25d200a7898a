"""The processor on Apache Kafka 3.9, whose settings are such that records expire soon and metadata must be short."""

import contextlib
import json
import uuid

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from connectors.errors import StartError, StateError
from connectors.snapshots.names import SnapshotName
from connectors.topics import processor
from connectors.topics.offset_metadata import OffsetMetadata
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, twin, wait_for

GUARANTEES = pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])


@BOTH_CLIENTS
def test_exact_through_rebalances_and_a_restart(older_kafka, tmp_path):
    stream = Stream(older_kafka, tmp_path)
    records = phishing(400)
    for begin in (0, 200):
        with running(stream.config()), running(stream.config()) as two:
            wait_for(lambda: stream.members() == [1, 1], "a partition for each")
            stream.produce(records[begin : begin + 100])
            stream.read(stream.output, begin + 100)
            two.end()
            stream.produce(records[begin + 100 : begin + 200])
            messages = stream.read(stream.output, begin + 200)
    for number in range(2):
        found = [json.loads(message.value) for message in messages if message.partition == number]
        assert found == twin(stream.config().build_learner(), records[number::2])


def test_records_expire_before_they_are_read(older_kafka, tmp_path):
    stream = Stream(older_kafka, tmp_path, partitions=1)
    stream.produce(phishing(30))
    with running(stream.config()):
        stream.read(stream.output, 30)
    stream.produce(phishing(10))
    stream.configure(stream.input, retention_ms=1)
    with stream.group() as consumer:
        wait_for(lambda: consumer.beginning_offsets([stream.place(0)])[stream.place(0)] == 40, "their end")
    with pytest.raises(StateError, match=r"offset 30 .* there are 40 to 40: retention deleted records"):
        processor.run(stream.config())


@BOTH_CLIENTS
@GUARANTEES
def test_the_broker_takes_no_metadata_of_that_length(older_kafka, tmp_path, monkeypatch, guarantee):
    monkeypatch.setattr("connectors.topics.commit.HOST", "h" * 600)
    stream = Stream(older_kafka, tmp_path, partitions=1, checkpoint={"guarantee": guarantee})
    with pytest.raises(StartError, match=r"does not accept .*raise `offset.metadata.max.bytes` of the brokers"):
        processor.run(stream.config())


def test_the_longest_metadata_is_short_enough_by_far():
    """Of 4096 bytes, which brokers take unless they are told otherwise."""
    most = 2**63
    name = SnapshotName.new(most, most, is_empty=True)
    longest = OffsetMetadata(
        name, "f" * 64, "f" * 36, most, "h" * 255, most, most, most, most, "f" * 36, most, "f" * 64
    )
    assert len(longest.to_text()) < 1000 and len(longest.to_committed().labels.metadata) < 1000


def test_old_records_are_kept(older_kafka):
    """This broker looks at all topics every 0.3 s, and deletes what has expired; it does so three times here."""
    kept, expires = (f"{name}-{uuid.uuid4().hex}" for name in ("kept", "expires"))
    older_kafka.create_topics({kept: 1, expires: 1})
    address = older_kafka.bootstrap_servers
    with KafkaAdminClient(bootstrap_servers=address) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, expires, configs={"retention.ms": "1"})])
    with (
        contextlib.closing(KafkaProducer(bootstrap_servers=address)) as producer,
        contextlib.closing(KafkaConsumer(bootstrap_servers=address)) as consumer,
    ):

        def send(name):
            producer.send(name, b"old", timestamp_ms=1_000_000_000_000).get(timeout=DEADLINE)

        def first(name):
            place = TopicPartition(name, 0)
            return consumer.beginning_offsets([place])[place]

        send(kept)
        for number in range(1, 4):
            send(expires)
            wait_for(lambda number=number: first(expires) == number, "it is deleted")
        assert first(kept) == 0
