"""Labels in a topic of their own: every output, outcome and reject is that of the bare route, in the order of times."""

import json
import random
import re
import time

import pytest
from kafka import KafkaProducer
from kafka.structs import OffsetAndMetadata

from connectors.errors import StartError, StateError
from connectors.kafka import OutOfRange
from connectors.labels import inbox
from connectors.labels.merging import Side
from connectors.model.partition_model import PartitionModel
from connectors.tools import create_topics, replay_rejects
from connectors.topics import check_broker, processor, snapshot_admin, two_topics
from tests.helpers import late_labels
from tests.helpers.streams import (
    BOTH_CLIENTS,
    DEADLINE,
    Stream,
    phishing,
    read_until,
    running,
    start,
    wait_for,
)

BEGIN = int(time.time() - 1800) * 1000  # milliseconds; retention deletes what is much older
WITHIN = 60_000


class LateStream(Stream):
    """A stream with topics for labels and outcomes; what is produced is kept for the bare route."""

    def __init__(self, kafka, folder, /, partitions=2, label_partitions=None, **changes):
        super().__init__(kafka, folder, partitions)
        self.labels, self.outcomes = f"{self.name}-labels", f"{self.name}-outcomes"
        kafka.create_topics({self.labels: label_partitions or partitions, self.outcomes: partitions})
        self.sides = {Side.RECORDS: {}, Side.LABELS: {}}  # by partition: value and timestamp, in order
        self.settings |= {
            "labels": {
                "topic": self.labels, "id": "of", "label": "is", "within": f"{WITHIN}ms", "wait": "300ms",
            },
            "outcomes": {"topic": self.outcomes},
        } | changes  # fmt: skip

    def send(self, side, found):
        """Write `(partition, value, timestamp)`, in order, to the input or to the labels."""
        topic = self.input if side is Side.RECORDS else self.labels
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap_servers, linger_ms=1000)
        try:
            for number, value, timestamp in found:
                value = value if isinstance(value, bytes) else json.dumps(value).encode()
                producer.send(topic, value, b"k", partition=number, timestamp_ms=timestamp)
                self.sides[side].setdefault(number, []).append((value, timestamp))
            producer.flush(DEADLINE)
        finally:
            producer.close()

    def route(self, number):
        """Returns what the bare route leads to in a partition for all that was sent."""
        return late_labels.bare(self.config(), number, *(self._messages(side, number) for side in Side))

    def bare(self, number):
        """Returns the outputs, outcomes and rejects of a partition that the bare route has for all that was sent."""
        found = self.route(number)
        return [each[:2] for each in found.outputs], found.outcomes, found.rejects

    def _messages(self, side, number):
        sent = self.sides[side].get(number, [])
        return [late_labels.Message(at, b"k", value, [], time) for at, (value, time) in enumerate(sent)]

    def assert_bare(self):
        """Asserts that the topics hold what the bare route leads to, each message once."""
        expected = {number: self.bare(number) for number in range(self.partitions)}
        outputs = self.read(self.output, sum(len(found) for found, _, _ in expected.values()))
        outcomes = self.read(self.outcomes, sum(len(found) for _, found, _ in expected.values()))
        rejects = self.read(self.rejects, sum(len(found) for _, _, found in expected.values()))
        for number, (of_records, of_labels, _) in expected.items():
            mine = [message for message in outputs if message.partition == number]
            assert [(header(message, "source"), message.value) for message in mine] == of_records
            mine = [message for message in outcomes if message.partition == number]
            found = [(header(message, "source"), header(message, "label"), message.value) for message in mine]
            assert found == of_labels
        found = [(header(message, "source"), header(message, "reason"), message.value) for message in rejects]
        assert sorted(found) == sorted(each for _, _, of_one in expected.values() for each in of_one)

    def are_done(self):
        """Whether all that was sent is committed, in both topics."""
        with self.group() as consumer:
            for side, topic in ((Side.RECORDS, self.input), (Side.LABELS, self.labels)):
                for number, sent in self.sides[side].items():
                    place = self.place(number)._replace(topic=topic)
                    if (consumer.committed(place) or 0) < len(sent):
                        return False
        return True


def header(message, name):
    return dict(message.headers)[name].decode()


def mixed(count, partitions=2, seed=1):
    """Records, and labels of every kind: in time, before, twice, unknown, too late, no label, at the same moment."""
    generator = random.Random(seed)
    records, labels = [], []
    for n, x in enumerate(phishing(count, unlabelled=10**9)):
        number, moment, y = n % partitions, BEGIN + n * 500, x.pop("y", True)
        records.append((number, x if n % 50 else b"not JSON", moment))
        label = {"of": x["id"], "is": y}
        delay = generator.choice([0, 0, 1, 500, 2000, 20_000, -700, -5000])
        if n % 11 == 0:
            delay = WITHIN + 30_000
        if n % 13 == 0:
            labels.append((number, {"of": x["id"], "is": not y}, moment + 25_000))
        if n % 17 == 0:
            labels.append((number, {"of": f"nobody{n}", "is": y}, moment))
        if n % 19 == 0:
            labels.append((number, b"\xff", moment))
        if n % 23 == 0:
            label = {"of": x["id"], "is": "no boolean"}
        if n % 29:
            labels.append((number, label, moment + delay))
    labels.sort(key=lambda found: found[2])
    return records, labels


@BOTH_CLIENTS
@pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])
def test_records_and_labels_are_joined_in_the_order_of_their_times(kafka, tmp_path, guarantee):
    stream = LateStream(kafka, tmp_path, checkpoint={"every": "50ms", "guarantee": guarantee})
    records, labels = mixed(400)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)
    with running(stream.config()) as process:
        wait_for(stream.are_done, "all records and labels")
        counts = process.end()
    stream.assert_bare()
    assert counts.labels == len(labels) and counts.early and counts.expired
    assert {"second_label", "unknown_id", "late_label", "label", "format"} <= set(counts.reasons)


COMMIT_EACH = """
from connectors.topics.commit import Committer

Committer.due = property(lambda self: 0.0, lambda self, due: None)  # a commit after each record
original, done = Committer.{step}, 0

def held(self):
    global done
    original(self)
    done += 1
    if done == {at}:
        assert any(len(each.labels.waiting.records) for each in self._assignment.partitions.values())
        hold()

Committer.{step} = held
"""


def kill_at(stream, step, at):
    """Starts a process that commits after each record, and kills it after a step of a commit."""
    process = start(stream.file(), COMMIT_EACH.format(step=step, at=at))
    try:
        read_until(process, "held")
    finally:
        process.kill()
        process.communicate()


@BOTH_CLIENTS
def test_kill_9_around_the_steps_of_a_commit(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path)
    stream.forget_the_dead_soon()
    records, labels = mixed(400)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)
    for step in ("write_snapshots", "send_offsets", "end_transaction"):
        kill_at(stream, step, 70)
    with running(stream.config()):
        wait_for(stream.are_done, "all records and labels")
    stream.assert_bare()


SLOW = """
import time
from connectors.topics import two_topics

class Slow(two_topics.LateLoop):
    def take(self, number, partition, due):
        time.sleep({seconds})
        return True  # what comes next is left to the other route

two_topics.LateLoop = Slow
"""


@BOTH_CLIENTS
def test_a_process_joins_and_leaves(kafka, tmp_path):
    """Both partitions of a number move together, with what waits."""
    stream = LateStream(kafka, tmp_path, partitions=4)
    records, labels = mixed(800, partitions=4)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)
    processes = [start(stream.file(), SLOW.format(seconds=0.05))]  # a minute of work, until the other one is there
    try:
        read_until(processes[0], "committed partitions")
        read_until(processes[0], "committed partitions")
        processes.append(start(stream.file(), SLOW.format(seconds=0.004)))
        read_until(processes[1], "restored")
        read_until(processes[1], "committed partitions")
        processes[0].terminate()
        processes[0].communicate()
        wait_for(stream.are_done, "all records and labels")
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    stream.assert_bare()


@BOTH_CLIENTS
def test_one_check_lets_all_records_go_that_have_waited(kafka, tmp_path):
    """Without any label, records wait once, and not once each."""
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.settings["labels"] |= {"wait": "400ms"}
    records, _ = mixed(300, partitions=1)
    began = time.monotonic()
    with running(stream.config()):
        stream.send(Side.RECORDS, records)
        sent = time.monotonic()
        wait_for(stream.are_done, "all records")
        assert time.monotonic() - sent < 0.4 * len(records) / 2 and time.monotonic() - began > 0.4
    stream.assert_bare()


@BOTH_CLIENTS
def test_a_topic_waits_for_what_is_earlier_in_the_other_one(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.settings["labels"] |= {"wait": "1h"}
    records, labels = mixed(100, partitions=1)
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0), "the start")
        stream.send(Side.RECORDS, records)
        time.sleep(0.5)
        assert process.result is None and stream.committed(0).offset == 0, "the records wait"
        stream.send(Side.LABELS, labels)
        wait_for(lambda: stream.committed(0).offset > 0, "records whose labels are there")
    stream.settings["labels"] |= {"wait": "300ms"}  # nothing comes after the last ones
    with running(stream.config()):
        wait_for(stream.are_done, "all records and labels")
    stream.assert_bare()


def test_a_full_queue_is_read_on_later(kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(inbox, "MOST_BYTES", 8 * inbox.OF_OBJECTS)
    stream = LateStream(kafka, tmp_path)
    records, labels = mixed(400)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)
    with running(stream.config()):
        wait_for(stream.are_done, "all records and labels")
    stream.assert_bare()


def test_topics_with_unlike_numbers_of_partitions_are_refused(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=2, label_partitions=3)
    with pytest.raises(StartError, match=r"have 3 partitions and the input .* has 2"):
        processor.run(stream.config())


@BOTH_CLIENTS
def test_one_topic_gets_more_partitions_before_the_other(kafka, tmp_path, caplog):
    stream = LateStream(kafka, tmp_path)
    stream.settings["kafka"]["consumer"] |= {"metadata_max_age_ms": 300}
    records, labels = mixed(100)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)
    with running(stream.config()) as process:
        wait_for(stream.are_done, "all records and labels")
        with stream.admin() as admin:
            admin.create_partitions({stream.input: 3})
            wait_for(lambda: "of partition 2, this process was assigned either the input or" in caplog.text, "a reset")
            assert "nothing is read until this is corrected: `river-margins lint --check-broker FILE`" in caplog.text
            admin.create_partitions({stream.labels: 3})
        more = mixed(90, partitions=3, seed=2)
        for side, found in zip((Side.LABELS, Side.RECORDS), (more[1], more[0]), strict=True):
            stream.send(side, [(number, value, time) for number, value, time in found if number == 2])
        wait_for(stream.are_done, "the new partition")
        process.end()
    assert "a label for an earlier record may also go there, and does not find its record" in caplog.text
    stream.partitions = 3
    outputs = stream.read(stream.output, sum(len(stream.bare(number)[0]) for number in range(3)))
    assert {header(message, "source") for message in outputs} == {
        source for number in range(3) for source, _ in stream.bare(number)[0]
    }


@pytest.mark.parametrize("role", ["input", "labels"])
def test_a_topic_is_deleted_under_a_processor(kafka, tmp_path, role):
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"]["consumer"] = {"metadata_max_age_ms": 300}
    with running(stream.config()) as process:
        stream.send(Side.RECORDS, mixed(20, partitions=1)[0])
        wait_for(stream.are_done, "all records")
        deleted = getattr(stream, role)
        with stream.admin() as admin:
            admin.delete_topics([deleted])
        with pytest.raises(StartError, match=f"topic `{deleted}` does not exist"):
            process.wait()


def test_what_the_broker_says_before_a_start(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=2, label_partitions=3)
    problems = [str(found) for found in check_broker.check(stream.config()) if found.kind]
    assert len(problems) == 1 and "have 3 partitions and the input" in problems[0]
    with stream.admin() as admin:
        admin.create_partitions({stream.input: 4})  # the labels have fewer: no client may wait for what is not there
    found = [str(each) for each in check_broker.check(stream.config())]
    assert any("have 3 partitions and the input" in each for each in found)
    assert not any("cannot be checked" in each for each in found)
    labels = stream.settings["labels"] | {"topic": f"{stream.labels}x"}
    (problem,) = [str(found) for found in check_broker.check(stream.config(labels=labels)) if found.kind]
    assert problem.startswith(f"problem: topic `{stream.labels}x` (labels) does not exist, did you mean")
    stream.configure(stream.labels, retention_ms=60_000)
    problems = [str(found) for found in check_broker.check(stream.config()) if found.kind]
    assert any(f"`{stream.labels}` keeps records for 60 s" in problem for problem in problems)


def test_topics_are_created(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=3)
    names = {role: f"{stream.name}-new-{role}" for role in ("labels", "outcomes")}
    labels = stream.settings["labels"] | {"topic": names["labels"]}
    file = stream.config(labels=labels, outcomes={"topic": names["outcomes"]})
    made = {outcome.role: outcome.partitions for outcome in create_topics.create(file) if outcome.replicas}
    assert made == {"labels": 3, "outcomes": 3}


@pytest.fixture
def waiting(kafka, tmp_path):
    """A stream that was stopped while records waited."""
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.send(Side.RECORDS, mixed(60, partitions=1)[0])
    with running(stream.config()) as process:
        wait_for(stream.are_done, "all records")
        process.end()
    return stream


def test_labels_that_come_after_a_restart_find_their_records(waiting):
    with running(waiting.config()):
        waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
        wait_for(waiting.are_done, "all labels")
    waiting.assert_bare()
    assert len(waiting.bare(0)[1]) > 50


@BOTH_CLIENTS
def test_an_instance_that_was_killed_goes_on_with_what_waited(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=1, instance="same")
    stream.send(Side.RECORDS, mixed(60, partitions=1)[0])
    process = start(stream.file())
    try:
        wait_for(stream.are_done, "all records")
    finally:
        process.kill()
        process.communicate()
    with running(stream.config()):
        stream.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
        wait_for(stream.are_done, "all labels")
    stream.assert_bare()
    assert len(stream.bare(0)[1]) > 50


def test_an_offset_of_the_labels_that_was_moved_alone_is_refused(waiting):
    place = waiting.place(0)._replace(topic=waiting.labels)
    with waiting.group() as consumer:
        consumer.commit({place: OffsetAndMetadata(0, "", -1)})
    with pytest.raises(StateError, match="the offset of one topic cannot be moved or deleted alone") as refused:
        processor.run(waiting.config())
    move = follow(waiting, refused.value)
    assert (move.before, move.offset) == (60, 60)
    with running(waiting.config()):
        waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
        wait_for(waiting.are_done, "all labels of the records that waited")
    waiting.assert_bare()


def test_a_file_without_labels_is_refused_while_records_wait(waiting):
    with pytest.raises(StateError, match="the file has no `labels`: put the section back") as refused:
        processor.run(waiting.config(labels=None, outcomes=None))
    move = follow(waiting, refused.value, labels=None, outcomes=None)
    assert (move.before, move.offset) == (60, 60)
    with running(waiting.config(labels=None, outcomes=None)):
        waiting.sides[Side.LABELS].clear()
        waiting.send(Side.RECORDS, mixed(20, partitions=1)[0])
        wait_for(waiting.are_done, "the records that need no label")


def follow(stream, error, **changes):
    """Type the command with which an error goes on with the model of partition 0."""
    (id,) = re.findall(r"`river-margins snapshots rewind FILE --to (\S+)`", str(error))
    with snapshot_admin.opened(stream.config(**changes)) as admin:
        (move,) = admin.rewind({0: admin.entry(id)})
    return move


def test_a_segment_that_is_missing_or_damaged_is_named(waiting):
    (*_, path) = sorted(waiting.folder.rglob("*-segment.snapshot"))
    data = path.read_bytes()
    path.write_bytes(data[:-5] + b"XXXXX")
    with pytest.raises(StateError, match=r"-segment.snapshot` is corrupt: its SHA-256"):
        processor.run(waiting.config())
    path.unlink()
    with pytest.raises(StateError, match=r"-segment.snapshot` does not exist; .*export FILE .*`start_from`"):
        processor.run(waiting.config())
    with snapshot_admin.opened(waiting.config()) as admin:
        (named,) = [entry for entry in admin.entries() if entry.is_named]
        with pytest.raises(StateError, match=r"no rewind to .* nothing was changed"):
            admin.rewind({0: named})
    path.write_bytes(data)
    with running(waiting.config()):
        waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
        wait_for(waiting.are_done, "all labels")


def test_models_learned_without_labels_are_refused(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=1)
    with running(stream.config(labels=None, outcomes=None)):
        stream.send(Side.RECORDS, mixed(20, partitions=1)[0])
        wait_for(stream.are_done, "all records")
    with pytest.raises(StateError, match="were learned without `labels`: to go on with them: ") as refused:
        processor.run(stream.config())
    move = follow(stream, refused.value)
    assert (move.before, move.offset) == (20, 20)
    more = [(0, {**x, "id": f"more{n}"}, BEGIN + 30_000) for n, x in enumerate(phishing(10, unlabelled=10**9))]
    stream.send(Side.LABELS, [(0, {"of": x["id"], "is": x.pop("y", True)}, BEGIN + 40_000) for _, x, _ in more])
    stream.send(Side.RECORDS, more)
    with running(stream.config()):
        wait_for(stream.are_done, "the records with labels")
    stream.read(stream.outcomes, 10)


def test_labels_created_again_are_read_from_their_first_one(waiting):
    """The model and what waits stay; a former offset of the labels means nothing in their new topic."""
    waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(10)])
    waiting.send(Side.LABELS, [(0, {"of": "nobody", "is": True}, BEGIN + 40_000)])
    keep = {"folder": waiting.settings["snapshots"], "keep": {"last": 1000}}
    with running(waiting.config(snapshots=keep)):
        wait_for(waiting.are_done, "ten labels")
    named = waiting.pointer().snapshot
    waiting.labels += "-again"
    waiting.settings["labels"] |= {"topic": waiting.labels}
    waiting.kafka.create_topics({waiting.labels: 1})
    waiting.sides[Side.LABELS].clear()
    waiting.send(Side.LABELS, [(0, {"of": "nobody else", "is": True}, BEGIN + 40_000)])
    waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
    with pytest.raises(StateError, match="or are another topic") as refused:
        processor.run(waiting.config())
    for _ in range(2):  # typing it again changes nothing
        follow(waiting, refused.value)
    with running(waiting.config(snapshots=keep)):
        wait_for(waiting.are_done, "all labels")
    assert {json.loads(message.value)["id"] for message in waiting.read(waiting.outcomes, 58)} >= {"r11", "r59"}
    with snapshot_admin.opened(waiting.config()) as admin:
        admin.rewind({0: admin.entry(named)})
    assert waiting.pointer().labels_offset == 0, "the offset in that snapshot belongs to the former topic"


def test_a_new_model_from_the_first_record_reads_all_labels(waiting):
    waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
    with running(waiting.config()):
        wait_for(waiting.are_done, "all labels")
    outcomes = len(waiting.bare(0)[1])
    with snapshot_admin.opened(waiting.config()) as admin:
        admin.start_anew([0], 0)
    with running(waiting.config()):
        wait_for(waiting.are_done, "all of it again")
    waiting.read(waiting.outcomes, 2 * outcomes)


def test_a_rewind_moves_both_topics(waiting):
    """What came after the snapshot comes again: outputs and outcomes are those of the bare route, repeated."""
    with running(waiting.config(snapshots={"folder": waiting.settings["snapshots"], "keep": {"last": 1000}})):
        waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(60)])
        wait_for(waiting.are_done, "all labels")
    with snapshot_admin.opened(waiting.config()) as admin:
        before = min((entry for entry in admin.entries() if entry.name.offset == 60), key=lambda entry: entry.name.time)
        (move,) = admin.rewind({0: before})
    assert (move.before, move.offset) == (60, 60)
    place = waiting.place(0)._replace(topic=waiting.labels)
    with waiting.group() as consumer:
        assert consumer.committed(place) < 60
    with running(waiting.config()):
        wait_for(waiting.are_done, "all labels")
    _, outcomes, _ = waiting.bare(0)
    found = [message.value for message in waiting.read(waiting.outcomes, 2 * len(outcomes))]
    assert found == [value for _, _, value in outcomes] * 2
    with snapshot_admin.opened(waiting.config()) as admin:
        (move,) = admin.start_anew([0], None)
    with running(waiting.config()):
        waiting.send(Side.RECORDS, mixed(20, partitions=1)[0])
        wait_for(waiting.are_done, "the records with the new model")


def test_a_new_model_after_retention_deleted_labels(waiting):
    """The labels that were not read are gone, so a new model reads on at the first one that is left."""
    waiting.send(Side.LABELS, [(0, {"of": f"r{n}", "is": True}, BEGIN + 40_000) for n in range(10)])
    place = waiting.place(0)._replace(topic=waiting.labels)
    with waiting.admin() as admin:
        admin.delete_records({place: 10})
    with pytest.raises(StateError, match=r"labels .* is out of range.*rewind FILE --empty --partition 0`") as refused:
        processor.run(waiting.config())
    before = waiting.pointer()
    move = follow(waiting, refused.value)
    assert (move.offset, move.snapshot) == (60, before.snapshot), "the model stays"
    assert waiting.pointer() == before._replace(labels_offset=10)
    with snapshot_admin.opened(waiting.config()) as admin:
        admin.start_anew([0], None)
    with waiting.group() as consumer:
        assert consumer.committed(place) == 10
    with running(waiting.config()):
        waiting.send(Side.RECORDS, mixed(20, partitions=1)[0])
        wait_for(waiting.are_done, "the records with the new model")


class InPython(two_topics.LateLoop):
    """Leaves all to the route in Python."""

    def take(self, number, partition, due):
        return True


def test_a_step_that_fails_half_way_leaves_nothing_of_it(kafka, tmp_path, monkeypatch):
    """As when a store or a registry does not answer: the partition is loaded again, also if nothing came before."""
    learn, calls = PartitionModel.learn, []

    def fail(model, record, **options):
        learn(model, record, **options)
        calls.append(record)
        if len(calls) in (1, 2, 10):
            raise OSError("the store does not answer")

    monkeypatch.setattr(two_topics, "LateLoop", InPython)
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.settings["checkpoint"] = {"every": "200ms"}
    records = [(0, x, BEGIN + n) for n, x in enumerate(phishing(40, unlabelled=10**9)) if x.pop("y", True) or True]
    stream.send(Side.RECORDS, records)
    with running(stream.config()):
        wait_for(lambda: stream.committed(0) and stream.committed(0).offset == 40, "the records")
        monkeypatch.setattr(PartitionModel, "learn", fail)
        stream.send(
            Side.LABELS, [(0, {"of": x["id"], "is": n % 3 > 0}, BEGIN + 100 + n) for n, (_, x, _) in enumerate(records)]
        )
        wait_for(stream.are_done, "all labels")
        monkeypatch.undo()
    assert len(calls) > 40
    stream.assert_bare()


def test_a_rejected_label_is_sent_again_to_the_topic_of_labels(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path)
    stream.send(Side.RECORDS, [(0, b"[", BEGIN)])
    stream.send(Side.LABELS, [(1, b"{", BEGIN)])
    with running(stream.config()):
        stream.read(stream.rejects, 2)
    counts = replay_rejects.replay(stream.config())
    assert counts.sent.total() == 2 and not counts.left_out
    for topic, number, value in ((stream.input, 0, b"["), (stream.labels, 1, b"{")):
        first, again = stream.read(topic, 2)
        assert (
            (again.partition, again.key, again.value) == (number, b"k", value) == (first.partition, b"k", first.value)
        )
        ((name, content),) = again.headers
        assert name == "rejected" and content.startswith(f"{topic}-{number}-0: ".encode())


def test_what_waits_stays_when_a_reject_of_an_old_stream_is_sent_again(kafka, tmp_path):
    """The times are those of BEGIN, half an hour ago: with the timestamp of now, the record would expire."""
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.send(Side.RECORDS, [(0, {"id": "a", "x": 1.0}, BEGIN), (0, b"[", BEGIN)])
    stream.send(Side.LABELS, [(0, b"{", BEGIN)])
    with running(stream.config()):
        stream.read(stream.rejects, 2)
        assert replay_rejects.replay(stream.config()).sent.total() == 2
        stream.read(stream.rejects, 4)
        stream.send(Side.LABELS, [(0, {"of": "a", "is": True}, BEGIN + 1000)])
        (outcome,) = stream.read(stream.outcomes, 1)
    assert json.loads(outcome.value)["delay"] == 1000
    for topic in (stream.input, stream.labels):
        assert {message.timestamp - BEGIN for message in stream.read(topic, 3)} <= {0, 1000}


@pytest.mark.parametrize("limit", ["retention_ms", "message_timestamp_before_max_ms"])
def test_what_a_topic_would_delete_or_refuse_is_sent_again_with_the_time_of_now(kafka, tmp_path, limit):
    old = (int(time.time()) - 5 * 86_400) * 1000  # more than half of a week
    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.configure(stream.labels, retention_ms=-1)
    stream.send(Side.LABELS, [(0, b"{", old)])
    with running(stream.config()):
        stream.read(stream.rejects, 1)
    stream.configure(stream.labels, **{"retention_ms": -1} | {limit: 7 * 86_400_000})
    assert replay_rejects.replay(stream.config()).sent.total() == 1
    first, again = stream.read(stream.labels, 2)
    assert first.timestamp == old and again.timestamp > BEGIN


def test_the_message_after_retention_deleted_records_tells_that_what_waits_is_dropped(waiting):
    waiting.send(Side.RECORDS, [(0, {"id": f"n{n}", "x": 1.0}, BEGIN + 40_000) for n in range(10)])
    with waiting.admin() as admin:
        admin.delete_records({waiting.place(0): 65})
    with pytest.raises(StateError, match=r"are 65 to 70: .* either way, what waits for labels is dropped$"):
        processor.run(waiting.config())


def test_labels_that_are_gone_are_named_by_topic_and_partition(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path)
    for place, said in ((1, f"partition 1 of `{stream.input}`"), (~1, f"partition 1 of the labels `{stream.labels}`")):
        with (
            pytest.raises(StateError, match=f"offset 7 of {said} is out of range"),
            processor.refusals_as_errors(stream.config()),
        ):
            raise OutOfRange(place, 7)


def test_another_record_is_told_before_a_rewind_that_would_be_refused(kafka, tmp_path):
    stream = LateStream(kafka, tmp_path, partitions=1)
    with running(stream.config(labels=None, outcomes=None, record={"id": "id", "label": "y"})):
        stream.send(Side.RECORDS, [(0, record, BEGIN + n) for n, record in enumerate(phishing(20))])
        wait_for(stream.are_done, "all records")
    with pytest.raises(StateError, match=r"learned other records: `record\.label` was `y` and is now left out"):
        processor.run(stream.config(record={"id": "id"}))


@BOTH_CLIENTS
@pytest.mark.kafka
def test_a_slow_learner_stays_in_the_group_while_many_records_expire(kafka, tmp_path, client, monkeypatch, caplog):
    """600 records of 10 ms: at once, they would take longer than the transaction with their outputs may be open."""
    learn = PartitionModel.learn

    def learn_slowly(model, *arguments, **options):
        time.sleep(0.01)
        learn(model, *arguments, **options)

    stream = LateStream(kafka, tmp_path, partitions=1)
    stream.settings["labels"]["otherwise"] = False
    stream.settings["checkpoint"]["every"] = "1500ms"
    stream.forget_the_dead_soon()
    stream.send(Side.RECORDS, [(0, {"id": n, "a": n % 5}, BEGIN) for n in range(600)])
    stream.send(Side.RECORDS, [(0, {"id": "last", "a": 1.0}, BEGIN + 2 * WITHIN)])
    monkeypatch.setattr(PartitionModel, "learn", learn_slowly)
    with running(stream.config()) as process:
        stream.read(stream.output, 601)
        assert process.end().learned == 600
    assert not [found for found in caplog.messages if found.startswith("reset")]
    monkeypatch.undo()
    stream.assert_bare()


def test_a_time_in_the_future_is_told(kafka, tmp_path, caplog):
    """All that waits has expired, and nothing else will until then. A start says it again, and so does the check."""
    stream = LateStream(kafka, tmp_path)
    records = phishing(5, unlabelled=1)
    now = int(time.time() * 1000)
    times = {0: [now - 5_000, now + 30 * 60_000 + 30_000], 1: [now - 5_000, now - 4_000]}  # brokers take an hour
    stream.send(Side.RECORDS, [(number, records[n], times[number][n]) for n in range(2) for number in range(2)])
    said = f"the event time of partition 0 of `{stream.input}` is 30.* minutes ahead of the clock"
    with running(stream.config()) as process:
        stream.read(stream.output, 4)
        wait_for(stream.are_done, "the records")
        wait_for(lambda: re.search(said, caplog.text), "the warning")
        process.end()
    assert len(re.findall("ahead of the clock", caplog.text)) == 1
    notes = [str(each) for each in check_broker.check(stream.config()) if "ahead of the clock" in str(each)]
    assert len(notes) == 1 and re.search(said, notes[0]) and "--empty --partition 0`" in notes[0]
    caplog.clear()
    with running(stream.config()):  # nothing is read
        wait_for(lambda: re.search(said, caplog.text), "the warning")
