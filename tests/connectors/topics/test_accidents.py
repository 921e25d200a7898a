"""What happens to the world around a running processor, as the tables of docs/guarantees.md have it."""

import contextlib
import json
import math
import signal
import threading
import time

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import CommitFailedError, GroupSubscribedToTopicError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

from connectors.errors import StartError, StateError
from connectors.kafka import settings as kafka_settings
from connectors.kafka.kafka_python import consumer as kafka_python_consumer
from connectors.kafka.quota import Quota
from connectors.model.partition_model import PartitionModel
from connectors.snapshots.names import SnapshotName
from connectors.topics import processor, startup
from tests.helpers.streams import (
    BOTH_CLIENTS,
    DEADLINE,
    Stream,
    before_each_record,
    phishing,
    running,
    start,
    twin,
    wait_for,
)


def count_of(output):
    return int(output["id"].removeprefix("r"))


@BOTH_CLIENTS
def test_the_input_is_created_again_under_a_processor(kafka, tmp_path):
    """It sleeps meanwhile, and wakes with an offset that the new topic has as well."""
    stream = Stream(kafka, tmp_path, partitions=1)
    process = start(stream.file())
    try:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        process.send_signal(signal.SIGSTOP)
        with stream.admin() as admin:
            admin.delete_topics([stream.input])
            wait_for(lambda: stream.input not in admin.list_topics(), "the end of the topic")
        kafka.create_topics({stream.input: 1})
        stream.produce(phishing(60))
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == StateError.exit_code
    assert f"`{stream.input}` was deleted and created again" in said
    assert len(stream.read(stream.output, 30)) == 30


@BOTH_CLIENTS
def test_the_input_is_deleted_under_a_processor(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"]["consumer"] = {"metadata_max_age_ms": 300}
    with running(stream.config()) as process:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        with stream.admin() as admin:
            admin.delete_topics([stream.input])
        with pytest.raises(StartError, match=f"topic `{stream.input}` does not exist"):
            process.wait()
    with stream.admin() as admin:
        assert stream.input not in admin.list_topics(), "the processor created it again"


def hearing(monkeypatch):
    """What brokers have told of the topics; and a list from which they take what they tell next."""
    found, late, original = [], [], startup.make_restorer

    def make_restorer(*arguments, **options):
        if late:
            return late.pop()
        found.append(original(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(startup, "make_restorer", make_restorer)
    return found, late


@BOTH_CLIENTS
def test_the_input_is_deleted_and_a_broker_has_not_heard_of_it(kafka, tmp_path, monkeypatch):
    """It says once more that the topic is there: the processor, which is assigned nothing now, asks again."""
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"]["consumer"] = {"metadata_max_age_ms": 300}
    stream.settings["input"]["new_partitions"] = "refuse"
    found, late = hearing(monkeypatch)
    monkeypatch.setattr(kafka_python_consumer, "TOPIC_MISSING_TIMEOUT", 1.0)
    with running(stream.config()) as process:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        late.append(found[-1])
        with stream.admin() as admin:
            admin.delete_topics([stream.input])
        with pytest.raises(StartError, match=f"topic `{stream.input}` does not exist"):
            process.wait()
    assert not late, "nobody asked"


@BOTH_CLIENTS
def test_the_input_grows_and_a_broker_has_not_heard_of_it(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"]["consumer"] = {"metadata_max_age_ms": 300}
    stream.settings["input"]["new_partitions"] = "refuse"
    found, late = hearing(monkeypatch)
    with running(stream.config()) as process:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        late.append(found[-1])
        with stream.admin() as admin:
            admin.create_partitions({stream.input: 2})
        with pytest.raises(StateError, match="has 2 partitions, and had 1"):
            process.wait()
    assert not late, "nobody asked"
    assert stream.committed(1) is None


@BOTH_CLIENTS
def test_records_are_deleted_before_a_processor_reads_them(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    process = start(stream.file())
    try:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        process.send_signal(signal.SIGSTOP)
        stream.produce(phishing(1))  # which an answer that is on its way may still bring
        stream.produce(phishing(60))
        with stream.admin() as admin:
            admin.delete_records({stream.place(0): 90})
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == StateError.exit_code
    assert "of partition 0 of " in said and "is out of range, there are 90 to " in said


@BOTH_CLIENTS
def test_a_record_takes_longer_than_the_group_waits(kafka, tmp_path, monkeypatch):
    """Past `max_poll_interval_ms` another one has the partition, and what the slow one has done is dropped."""
    monkeypatch.setattr(kafka_settings, "MAX_POLL_MARGIN_MS", 500)  # which allows the times below
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"] |= {
        "consumer": {"session_timeout_ms": 1500, "heartbeat_interval_ms": 300, "max_poll_interval_ms": 2000},
        "producer": {"transaction_timeout_ms": 1200},
    }
    records = phishing(90)
    is_slow, is_over = threading.Event(), threading.Event()

    def see(record):
        if b'"r25"' in record[3] and not is_slow.is_set():
            is_slow.set()
            assert is_over.wait(DEADLINE)

    before_each_record(monkeypatch, see)
    with running(stream.config()) as slow:
        stream.produce(records[:60])
        wait_for(is_slow.is_set, "the record that takes long")
        wait_for(lambda: not stream.member_ids(), "its expulsion")
        with running(stream.config()) as other:
            stream.read(stream.output, 60)
            is_over.set()
            wait_for(lambda: len(stream.member_ids()) == 2, "the slow one in the group again")
            stream.produce(records[60:])
            stream.assert_exact(records)
            other.end()
        slow.end()


@BOTH_CLIENTS
def test_something_else_commits_under_a_processor(kafka, tmp_path):
    """Brokers take offsets from whatever names the group and no generation; the processor does not go on from there."""
    stream = Stream(kafka, tmp_path, partitions=1)
    with running(stream.config()) as process:
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        wait_for(lambda: stream.committed(0).offset == 30, "its commit")
        with contextlib.closing(
            KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=f"{stream.name}-foreign")
        ) as foreign:
            foreign.init_transactions()
            foreign.begin_transaction()
            offsets = {stream.place(0): OffsetAndMetadata(10, "", -1)}
            foreign.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(stream.name, -1, "", None))
            foreign.commit_transaction()
        stream.produce(phishing(10))
        with pytest.raises(StateError, match=r"offset 10 of partition 0 .* was committed by something else"):
            process.wait()
    assert len(stream.read(stream.output, 30)) == 30


def test_an_operator_cannot_change_a_group_that_works(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    with running(stream.config()):
        stream.produce(phishing(30))
        stream.read(stream.output, 30)
        with stream.admin() as admin, stream.group() as consumer:
            assert admin.delete_groups([stream.name]) == {stream.name: "NonEmptyGroupError"}
            refused = admin.delete_group_offsets(stream.name, [stream.place(0)])
            assert refused == {stream.place(0): GroupSubscribedToTopicError}
            with pytest.raises(CommitFailedError, match="UnknownMemberIdError"):
                consumer.commit({stream.place(0): OffsetAndMetadata(10, "", -1)})
        stream.produce(phishing(60)[30:])
        stream.assert_exact(phishing(60))


@BOTH_CLIENTS
def test_another_file_has_the_same_name(kafka, tmp_path):
    """With another learner it does not begin; with another input both work, in one group."""
    stream, other = Stream(kafka, tmp_path), Stream(kafka, tmp_path)
    records = phishing(200)
    with running(stream.config()):
        stream.produce(records[:100])
        stream.read(stream.output, 100)
        wait_for(lambda: stream.members() == [2], "a member with both partitions")
        with pytest.raises(StateError, match=r"the learner is not the one of .*another `name`"):
            processor.run(stream.config(learner=["Perceptron"]))
        assert stream.members() == [2]
        with running(other.config(name=stream.name)):
            other.produce(records)
            stream.produce(records[100:])
            other.assert_exact(records)
            stream.assert_exact(records)


def test_another_file_has_the_same_name_and_another_output(kafka, tmp_path):
    """An output may move with a restart; two files at once share the partitions, and so what is answered where."""
    stream = Stream(kafka, tmp_path)
    moved = f"{stream.name}-moved"
    kafka.create_topics({moved: 2})
    records = phishing(300)
    with running(stream.config()):
        stream.produce(records[:100])
        stream.read(stream.output, 100)
    with running(stream.config(output={"topic": moved})):
        stream.produce(records[100:200])
        stream.read(moved, 100)
        with running(stream.config()):
            wait_for(lambda: stream.members() == [1, 1], "a partition for each")
            stream.produce(records[200:])
            found = [stream.read(topic, 150) for topic in (stream.output, moved)]
    answers = [[(message.partition, json.loads(message.value)) for message in messages] for messages in found]
    later = [{number for number, output in some if count_of(output) >= 200} for some in answers]
    assert sorted(map(list, later)) == [[0], [1]], "a topic has the answers of one partition"
    for number in range(2):
        said = [output for some in answers for partition, output in some if partition == number]
        assert sorted(said, key=count_of) == twin(stream.config().build_learner(), records[number::2])


@BOTH_CLIENTS
def test_another_program_is_in_the_group_and_assigns_otherwise(kafka, tmp_path):
    """Cooperative and sticky assignors are known to lose partitions: nobody can bring one in from outside either."""
    stream = Stream(kafka, tmp_path)
    stranger = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        group_id=stream.name,
        partition_assignment_strategy=[CooperativeStickyAssignor()],
        enable_auto_commit=False,  # else its offsets are there first, and those are refused before the assignor is
    )
    with contextlib.closing(stranger):
        wait_for(lambda: stranger.partitions_for_topic(stream.input), "the partitions")
        stranger.subscribe([stream.input])
        wait_for(lambda: stranger.poll(timeout_ms=100) or stranger.assignment(), "its assignment")
        with pytest.raises(
            StartError, match=r"(?i)inconsistent.*group.*protocol.*give it or this processor another group"
        ):
            processor.run(stream.config())
        assert len(stream.member_ids()) == 1, "the processor is not a member"


def test_the_clock_is_set_back(kafka, tmp_path, monkeypatch):
    """Names and ages of snapshots are by the clock, and so are the records' times; what is loaded is not."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "every": "100ms", "keep": {"last": 1}}
    records, real = phishing(120), (time.time, time.gmtime)

    def set_back():
        monkeypatch.setattr(time, "time", lambda: real[0]() - 7200)
        monkeypatch.setattr(time, "gmtime", lambda *seconds: real[1](*(seconds or [time.time()])))

    for begin in (0, 60):
        with running(stream.config()):
            stream.produce(records[begin : begin + 30])
            stream.read(stream.output, begin + 30)
            set_back()
            stream.produce(records[begin + 30 : begin + 60])
            stream.read(stream.output, begin + 60)
    stream.assert_exact(records)
    names = [SnapshotName.parse(path.stem) for path in (tmp_path / "snapshots").rglob("*.snapshot")]
    assert max(names).time < min(names).time, "the clock was not set back"


def test_a_step_fails_half_way(kafka, tmp_path, monkeypatch):
    """As when a store does not answer: the partition is loaded again, also if it is its first record since a commit."""
    undo, calls = PartitionModel.undo, []

    def fail(model):
        calls.append(model)
        if len(calls) < 3:
            raise OSError("the store does not answer")
        undo(model)

    stream = Stream(kafka, tmp_path, partitions=1, learner=["StandardScaler", "PARegressor"])
    monkeypatch.setattr(PartitionModel, "undo", fail)
    records = [{"id": f"r{n}", "x": n % 7, "y": n % 5 / 3} for n in range(40)]
    features = {"id": "its label is too large", "x": 30}
    bad = features | {"y": 1.7e308}
    with running(stream.config()):
        stream.produce(records[:20])
        stream.read(stream.output, 20)
        wait_for(lambda: stream.committed(0).offset == 20, "a commit")
        stream.produce([bad, *records[20:], bad])
        # the scaler learns before the label is refused
        stream.assert_exact([*records[:20], features, *records[20:], features])
        assert [json.loads(message.value) for message in stream.read(stream.rejects, 2)] == [bad, bad]
    assert len(calls) >= 4


@BOTH_CLIENTS
def test_the_log_says_that_a_record_outlasted_the_transaction(kafka, tmp_path, client, monkeypatch, caplog):
    """It is the seventh of a batch, so the transaction is open; the clients say that another producer took over."""
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.forget_the_dead_soon()
    stream.settings["checkpoint"]["every"] = "1500ms"
    records = phishing(10)
    learn, slept = PartitionModel.learn, threading.Event()

    def has_been_aborted():
        with stream.admin() as admin:
            found = admin.list_transactions(state_filters=["CompleteAbort"])
        return any(stream.name in each.transactional_id for some in found.values() for each in some)

    def learn_once_slowly(model, record, *arguments, **options):
        if record.source.endswith("-6") and not slept.is_set():
            slept.set()
            wait_for(has_been_aborted, "the brokers abort the transaction")
        return learn(model, record, *arguments, **options)

    monkeypatch.setattr(PartitionModel, "learn", learn_once_slowly)
    monkeypatch.setattr(processor, "RecordLoop", Slowly)
    stream.produce(records)
    with running(stream.config()) as process:
        stream.assert_exact(records)
        process.end()
    said = [found for found in caplog.messages if found.startswith("reset: ")]
    assert (
        len(said) == 1 and "the brokers abort it after 2 s" in said[0] and "raise the transaction time-out" in said[0]
    )


class Slowly:
    """Leaves all records to the route in Python."""

    def __init__(self, outbox):
        self.place = 0

    def take(self, partitions, records, place, skipped, due):
        self.place = place
        return place


@pytest.mark.parametrize(
    ("client", "rate", "count"), [("confluent", 150_000, 15_000), ("kafka-python", 20_000, 2_500)], indirect=["client"]
)
def test_a_quota_slows_a_processor_down_and_it_goes_on(kafka, tmp_path, monkeypatch, caplog, rate, count):
    """The brokers take a burst of some seconds' worth; what an interval makes of the backlog is more than that.

    The first commit may time out: its messages were under way when the broker told of the quota.
    """
    monkeypatch.setattr(Quota, "held_back_until", -math.inf)
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "1s"})
    stream.settings["kafka"]["producer"] = {"client_id": stream.name, "linger_ms": 1000}
    stream.limit_producer(stream.name, rate)
    records = phishing(count)
    stream.produce(records)
    with running(stream.config()) as process:
        stream.assert_exact(records)
        process.end()
    assert "a quota of broker 1 holds this producer back" in caplog.text
    assert caplog.text.count("reset:") <= 1
