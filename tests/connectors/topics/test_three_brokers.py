"""A processor on three brokers: its coordinators move to others, and one broker is lost for good."""

import contextlib
import uuid

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from connectors.errors import StartError
from connectors.kafka import CLIENTS
from connectors.kafka.local import LocalKafka
from connectors.tools import create_topics
from connectors.topics import check_broker
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, wait_for

pytestmark = pytest.mark.kafka
COORDINATORS = ["__consumer_offsets", "__transaction_state"]


@pytest.fixture(scope="module")
def three():
    with LocalKafka(brokers=3) as kafka:
        yield kafka


def leaders(admin):
    """Who coordinates: of each partition its leader and all its replicas."""
    return {
        TopicPartition(topic["name"], part["partition_index"]): (part["leader_id"], part["replica_nodes"])
        for topic in admin.describe_topics(COORDINATORS)
        for part in topic["partitions"]
    }


def test_topics_are_created_with_three_replicas(three, tmp_path):
    stream = Stream(three, tmp_path)
    file = stream.config(output={"topic": f"{stream.name}-new"}, rejects=None)
    assert create_topics.create(file)[1].replicas == 3
    with stream.admin() as admin:

        def heard_of():  # a broker other than the one that was asked to create it hears of it later
            (found,) = admin.describe_topics([f"{stream.name}-new"])
            return found if found["partitions"] else None

        topic = wait_for(heard_of, "a broker that knows the topic")
        asked = ConfigResource(ConfigResourceType.TOPIC, topic["name"])
        configs = admin.describe_configs([asked], config_filter="all")["topic"][topic["name"]]
    assert [len(partition["replica_nodes"]) for partition in topic["partitions"]] == [3, 3]
    assert configs["min.insync.replicas"]["value"] == "2"


def move_coordinators(stream):
    """Lets another broker lead each partition that holds offsets or transactions."""
    with stream.admin() as admin:
        before = leaders(admin)
        others = {
            place: sorted(nodes, key=lambda node, leader=leader: node == leader)
            for place, (leader, nodes) in before.items()
        }
        assert set(admin.alter_partition_reassignments(others).values()) == {None}

        def moved():
            admin.elect_leaders(0, COORDINATORS, raise_errors=False)
            return all(leader not in (-1, before[place][0]) for place, (leader, _) in leaders(admin).items())

        wait_for(moved, "other coordinators")


@BOTH_CLIENTS
def test_the_coordinators_move(three, tmp_path):
    stream = Stream(three, tmp_path, checkpoint={"every": "1s"})
    records = phishing(300)
    with running(stream.config()):
        stream.produce(records[:100])
        stream.read(stream.output, 100)
        with stream.reader(stream.output, "read_uncommitted") as (consumer, places):
            consumer.seek_to_end()
            ends = consumer.end_offsets(places)
            stream.produce(records[100:200])
            wait_for(lambda: consumer.end_offsets(places) != ends, "output of an open transaction")
        move_coordinators(stream)
        stream.produce(records[200:])
        stream.assert_exact(records)


def is_said(begins, files):
    """Whether `lint --check-broker` says a sentence that begins so of each file."""
    with contextlib.suppress(StartError):  # while the controllers elect another one
        return all(any(str(each).startswith(begins) for each in check_broker.check(file)) for file in files)
    return False


def test_a_broker_is_lost_for_good(three, tmp_path, monkeypatch):
    """The one that coordinates the group; it does not come back before all is done.

    `lint --check-broker` says of a topic that takes nothing then, before and after. No error of a client says why.
    """
    records, streams, files, full = phishing(300), [], [], "full-" + uuid.uuid4().hex
    three.create_topics({full: 1})
    with contextlib.ExitStack() as stack:
        for client in CLIENTS:
            monkeypatch.setattr("tests.helpers.streams.CLIENT", client)
            streams.append(Stream(three, tmp_path))
            stack.enter_context(running(streams[-1].config()))
            files.append(streams[-1].config(rejects={"topic": full}))
        streams[0].configure(full, min_insync_replicas=3)
        before = f"note: `min.insync.replicas` of `{full}` is 3, and it has 3 replicas: it takes no message while one"
        wait_for(lambda: is_said(before, files), "the note")
        for stream in streams:
            stream.produce(records[:150])
            stream.read(stream.output, 150)
        with streams[0].group() as consumer:
            consumer.committed(streams[0].place(0))
            lost = int(consumer._coordinator.coordinator_id.removeprefix("coordinator-"))
        three.kill(lost)
        try:
            for stream in streams:
                stream.produce(records[150:])
            for stream in streams:
                stream.assert_exact(records)
            after = f"problem: a partition of `{full}` (rejects) has 2 replicas in sync: it takes no message with fewer"
            wait_for(lambda: is_said(after, files), "the problem")
        finally:
            three.start(lost)
