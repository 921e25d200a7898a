"""A processor on three brokers: its coordinators move to others, and one broker is lost for good."""

import contextlib
import uuid

import orjson
import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from connectors import cli, config
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


def leaders(admin, topics):
    """Return of each partition its leader and all its replicas."""
    return {
        TopicPartition(topic["name"], part["partition_index"]): (part["leader_id"], part["replica_nodes"])
        for topic in admin.describe_topics(topics)
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


def move_leaders(stream, topics):
    """Lets another broker lead each partition of these topics."""
    with stream.admin() as admin:
        before = leaders(admin, topics)
        others = {
            place: sorted(nodes, key=lambda node, leader=leader: node == leader)
            for place, (leader, nodes) in before.items()
        }
        assert set(admin.alter_partition_reassignments(others).values()) == {None}

        def moved():
            admin.elect_leaders(0, topics, raise_errors=False)
            return all(leader not in (-1, before[place][0]) for place, (leader, _) in leaders(admin, topics).items())

        wait_for(moved, "other leaders")


def produce_in_transaction(stream, records):
    """Writes records to the partitions of the input in turn, and markers behind them, of later leaders."""
    producer = KafkaProducer(bootstrap_servers=stream.kafka.bootstrap_servers, transactional_id=uuid.uuid4().hex)
    with contextlib.closing(producer):
        producer.init_transactions()
        producer.begin_transaction()
        for n, record in enumerate(records):
            producer.send(stream.input, orjson.dumps(record), b"k", partition=n % stream.partitions)
        producer.flush()
        move_leaders(stream, [stream.input])
        producer.commit_transaction()


def end_of(stream):
    with stream.reader(stream.input) as (consumer, places):
        return consumer.end_offsets(places)[places[0]]


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
        move_leaders(stream, COORDINATORS)
        stream.produce(records[200:])
        stream.assert_exact(records)


@BOTH_CLIENTS
def test_other_brokers_come_to_lead_the_input(three, tmp_path, caplog):
    """Each has all that was read, and some offsets are committed behind markers: nothing is taken for lost."""
    stream = Stream(three, tmp_path, checkpoint={"every": "100ms"})
    records = phishing(120)
    for began in range(0, 120, 40):
        with running(stream.config()):
            produce_in_transaction(stream, records[began : began + 20])
            stream.read(stream.output, began + 20)
            wait_for(lambda: stream.committed(0).offset == end_of(stream), "the offset behind the marker")
        with running(stream.config()):
            move_leaders(stream, [stream.input])
            stream.produce(records[began + 20 : began + 40])
            stream.read(stream.output, began + 40)
    stream.assert_exact(records)
    assert "lost" not in caplog.text and "lacks" not in caplog.text


def test_a_broker_that_lacks_records_comes_to_lead(three, tmp_path, monkeypatch, caplog):
    """New records have the offsets of the lost ones when the processor reads again. The other partition goes on."""
    records, streams = phishing(80), []
    for client in CLIENTS:
        monkeypatch.setattr("tests.helpers.streams.CLIENT", client)
        streams.append(Stream(three, tmp_path))
        stream = streams[-1]
        stream.input += "-unclean"
        stream.settings["input"] = {"topic": stream.input}
        configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        with stream.admin() as admin:
            admin.create_topics({stream.input: {"assignments": {0: [1, 2], 1: [3, 1]}, "configs": configs}})
        stream.produce(records[:20])
        stream.path = stream.file()
    three.kill(2)
    try:
        for stream in streams:
            stream.produce(records[20:40])
            with running(config.load(stream.path)):
                stream.read(stream.output, 40)
        three.kill(1)
    finally:
        three.start(2)
    try:
        for stream in streams:
            wait_for(lambda s=stream: leads(2, s), "the other leader")
    finally:
        three.start(1)
    for stream in streams:
        stream.produce(records[40:])  # to partition 0 from offset 10 on; 20 is committed
        caplog.clear()
        with running(config.load(stream.path)):
            stream.read(stream.output, 60)
            wait_for(lambda: "has lost records" in caplog.text, "the warning")
        said = (
            f"partition 0 of `{stream.input}` has lost records from offset 10 on that were learned before the committed"
        )
        assert f"{said} offset 20" in caplog.text
        assert f"rewind FILE --to {stream.pointer().snapshot}" in caplog.text
    for stream in streams:
        go_on = f"rewind {stream.path} --to {stream.pointer().snapshot}"
        monkeypatch.setattr("sys.argv", ["river-margins", "snapshots", *go_on.split()])
        with contextlib.suppress(SystemExit):
            cli.main()
        with running(config.load(stream.path)):
            stream.read(stream.output, 70)  # 40 new records are there, and the first 10 have offsets before 20


def leads(node, stream):
    """Whether a broker leads partition 0 of the input."""
    with contextlib.suppress(KafkaError), stream.admin() as admin:  # which may ask the broker that is gone
        return leaders(admin, [stream.input])[stream.place(0)][0] == node
    return False


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
