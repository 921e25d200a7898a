"""Mixing between topics: what bare learners do that mix when the topic's committed history says so."""

import contextlib
import errno
import hashlib
import itertools
import json
import logging
import threading
from collections import Counter
from types import SimpleNamespace

import pytest
from kafka import KafkaProducer

from connectors import config
from connectors.config.topics_schema import Mixing
from connectors.errors import StateError
from connectors.kafka import BadTimestamp, NotAccepted, NotPermitted, TooLarge, Topic
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Record
from connectors.snapshots import retention
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import FolderStore, StoreError
from connectors.tools import create_topics
from connectors.topics import check_broker, mixing, snapshot_admin
from connectors.topics import outbox as outbox_module
from connectors.topics.commit import Committer
from connectors.topics.mixing import Mixer
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.outbox import Outbox
from connectors.topics.snapshot_admin import SnapshotAdmin
from connectors.topics.timeouts import Timeouts
from river_margins import PAClassifier, StandardScaler, snapshot
from river_margins.conversions import mix
from tests.helpers.deadline import DEADLINE
from tests.helpers.mixing import follow
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, twin, wait_for

PARTITIONS = 3
HOLDS_IN_A_MIXING = """
from connectors.topics.commit import Committer
check_sends, mixings = Committer.check_sends, []
def held(self):  # the brokers have what is published, in an open transaction
    check_sends(self)
    mixings.extend(self._mixing)
    if self._mixing and len(mixings) > 6:
        hold()
Committer.check_sends = held
"""


class MixingStream(Stream):
    def __init__(self, kafka, folder, /, **changes):
        super().__init__(kafka, folder, PARTITIONS, checkpoint={"every": "50ms"}, **changes)
        self.mixing = f"{self.name}-mixing"
        kafka.create_topics({self.mixing: 1})
        self.configure(self.mixing, cleanup_policy="compact")
        self.settings["mixing"] = {"topic": self.mixing, "every": "150ms"}

    def history(self):
        """All committed records of the mixing topic, in order: partition and value of each."""
        found = []
        with self.reader(self.mixing) as (consumer, (place,)):
            while consumer.position(place) < consumer.end_offsets([place])[place]:
                for messages in consumer.poll(timeout_ms=200).values():
                    found += [
                        (int(each.key.rpartition(b":")[2]), json.loads(each.value)) for each in messages if each.value
                    ]
        return found

    def mixings(self):
        return sum(bool(value["mixed"]) for _, value in self.history())


def bare_outputs(stream, records):
    """The outputs of bare learners, and how often each has mixed, with the mixings that the topic tells."""
    bare = {number: stream.config().build_learner() for number in range(PARTITIONS)}
    left = dict(records)
    learned, mixings = Counter(), Counter()
    said = {number: [] for number in range(PARTITIONS)}

    def play(number, before):
        count = before - len(said[number])
        some, left[number] = left[number][:count], left[number][count:]
        learned[number] += sum(each.get("y") is not None for each in some)
        said[number] += twin(bare[number], some)
        return learned[number]

    for number, value in follow(stream.history(), bare, play):
        mixings[number] += bool(value["mixed"])
        for path in (stream.folder / "snapshots").rglob(f"{value['snapshot']}.snapshot"):
            assert snapshot.dumps(snapshot.loads(path.read_bytes())) == snapshot.dumps(bare[number])
    for number in range(PARTITIONS):
        play(number, len(records[number]))
    return said, mixings


@BOTH_CLIENTS
def test_killed_within_a_mixing_then_two_processes(kafka, client, tmp_path):
    """kill -9 right before a commit that mixes, then one process, two, one again; one client reads records again."""
    every, kind = ("1h", "AROWClassifier") if client == "confluent" else (None, "PAClassifier")
    stream, records = MixingStream(kafka, tmp_path, learner=["StandardScaler", kind]), phishing(2400)
    stream.forget_the_dead_soon()
    changes = {"snapshots": {"folder": stream.settings["snapshots"], "every": every}} if every else {}
    process = start(stream.file(**changes), HOLDS_IN_A_MIXING)
    with contextlib.ExitStack() as ends:
        try:
            produced, said = 0, ""
            while "held" not in said:  # only what has read records since its last mixing mixes
                stream.produce(records[produced : produced + 60])
                produced += 60
                said = next(line for line in process.stderr if "committed" in line or "held" in line)
        finally:
            process.kill()
            process.communicate()
        before = stream.mixings()
        first = ends.enter_context(running(stream.config(**changes)))
        stream.produce(records[produced:1800])
        wait_for(lambda: stream.mixings() > before, "a mixing after the restart")
        with running(stream.config(**changes)) as second:
            wait_for(lambda: len(stream.members()) == 2, "two members")
            second_before = stream.mixings()  # without more records nobody mixes again
            stream.produce(records[1800:2100])
            wait_for(lambda: stream.mixings() > second_before, "a mixing of two")
            second.end()
        stream.produce(records[2100:])
        outputs = stream.outputs(len(records))
        first.end()
    split = {number: records[number::PARTITIONS] for number in range(PARTITIONS)}
    expected, mixings = bare_outputs(stream, split)
    assert outputs == expected
    assert len(mixings) == PARTITIONS and min(mixings.values()) >= 2
    assert outputs != {n: twin(stream.config().build_learner(), split[n]) for n in split}


def test_what_is_wrong_in_the_topic_is_named_and_not_mixed_with(kafka, tmp_path, caplog):
    stream, records = MixingStream(kafka, tmp_path), phishing(120)
    with caplog.at_level(logging.ERROR), running(stream.config()) as process:
        stream.produce(records[:60], partition=0)
        right = wait_for(lambda: has_learned(stream), "what partition 0 publishes when it has learned")
        folder = stream.snapshot_path(0).parents[1] / "1"
        other = snapshot.dumps(StandardScaler() | PAClassifier(C=7.0))
        name = right["snapshot"]
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.snapshot").write_bytes(other)
        wrong = [
            ("1", b"no JSON", "its value is not JSON"),
            ("9", right, "with N a partition below 3"),
            ("-1", right, "with N a partition below 3"),
            ("1", right | {"snapshot": "../../0/" + name}, "`snapshot` is not the name of a snapshot"),
            ("1", right | {"sha256": "0"}, "`sha256` is not a SHA-256"),
            ("1", right | {"more": 1}, "its keys are not"),
            ("1", right, "the SHA-256 of snapshot"),
            ("2", right, "No such file"),
            (
                "1",
                right | {"sha256": hashlib.sha256(other).hexdigest()},
                "the learner of partition 1 is another one than that of partition 0: step 2 was `PAClassifier(C=0.01)`",
            ),
        ]
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
        for place, (number, value, phrase) in enumerate(wrong):
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            sent = producer.send(stream.mixing, data, f"{stream.name}:{number}".encode(), partition=0)
            offset = sent.get(DEADLINE).offset
            stream.produce(records[60 + 5 * place : 65 + 5 * place], partition=0)
            wait_for(lambda offset=offset, phrase=phrase: is_refused(caplog, stream, offset, phrase), phrase)
        producer.close()
        stream.produce(records[105:], partition=0)
        outputs = stream.outputs(len(records))
        process.end()
    assert sum("is not mixed with" in each.getMessage() for each in caplog.records) == len(wrong)
    assert outputs[0] == twin(stream.config().build_learner(), records)


def has_learned(stream):
    """What was published first of a model that has learned; none is mixed with before."""
    return next((value for _, value in stream.history() if SnapshotName.parse(value["snapshot"]).examples), None)


def is_refused(caplog, stream, offset, phrase):
    lines = [each.getMessage() for each in caplog.records]
    return any(f"offset {offset} of `{stream.mixing}` is not mixed with: " in line and phrase in line for line in lines)


def test_a_partition_without_labels_gets_what_the_others_have_learned(kafka, tmp_path):
    """It does not count itself, and a record without a value takes back what a partition has published."""
    stream, records = MixingStream(kafka, tmp_path), phishing(120)
    taught, asked = records[:60], [{k: v for k, v in each.items() if k != "y"} for each in records[60:]]
    with running(stream.config()) as process:
        for number, some, offset in (
            (0, taught[:40], 40),
            (2, asked[:20], 20),
            (0, taught[40:], 60),
            (2, asked[20:40], 40),
        ):
            stream.produce(some, partition=number)
            wait_for(lambda at=(number, offset): at in mixed(stream), f"that partition {number} mixes at {offset}")
        with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as producer:
            producer.send(stream.mixing, None, f"{stream.name}:0".encode(), partition=0).get(DEADLINE)
        stream.produce(asked[40:], partition=2)
        wait_for(lambda: (2, 60) in mixed(stream), "a mixing with nothing")
        outputs = stream.outputs(len(records))
        process.end()
    expected, _ = bare_outputs(stream, {0: taught, 1: [], 2: asked})
    assert outputs == expected
    for (number, offset), others in mixed(stream).items():
        assert others == (["0"] if number == 2 and offset <= 40 else [])
    assert outputs[2][0]["prediction"] is None
    assert {each["prediction"] for each in outputs[2][20:]} == {True, False}


def mixed(stream):
    """The partitions with which a partition has mixed at an offset."""
    return {
        (number, SnapshotName.parse(value["snapshot"]).offset): list(value["mixed"])
        for number, value in stream.history()
    }


def test_what_is_published_stays_until_more_is_published(kafka, tmp_path, monkeypatch):
    """Superseded snapshots are deleted at once here; each partition publishes twice, and goes on without mixing."""
    for module in (retention, snapshot_admin):
        monkeypatch.setattr(module, "GRACE", -1000.0)
    monkeypatch.setattr("connectors.topics.partition.Partition.is_due_to_mix", is_due_twice)
    stream, records = MixingStream(kafka, tmp_path), phishing(600)
    stream.settings["snapshots"] = {"folder": stream.settings["snapshots"], "keep": {"last": 0}}

    def there():
        return {path.stem for path in (tmp_path / "snapshots").rglob("*.snapshot")}

    def are_gone(names):
        stream.produce(records[:3])  # old snapshots are deleted after a commit
        return not names & there()

    with running(stream.config()) as process:
        for begin in range(0, len(records), 60):
            stream.produce(records[begin : begin + 60])
            wait_for(lambda end=begin + 60: sum(committed(stream)) == end, "a commit")
        names = [value["snapshot"] for _, value in stream.history()]
        wait_for(lambda: are_gone(set(names[:3])), "that what was published first is deleted")
        process.end()
    assert sorted(number for number, _ in stream.history()) == [0, 0, 1, 1, 2, 2]
    with snapshot_admin.opened(stream.config()) as admin:
        admin.prune(is_trial=False)
    assert set(names[3:]) <= there()
    assert not set(names) & {stream.pointer(number).snapshot for number in range(PARTITIONS)}


def is_due_twice(partition, every):
    published = SnapshotName.parse(partition.published or "")
    is_due = partition.proof.position >= (50 if published is None else 100)
    return bool(partition.model.snapshot) and is_due and (published is None or published.offset < 100)


def committed(stream):
    return [found.offset if (found := stream.committed(number)) else 0 for number in range(PARTITIONS)]


def test_a_commit_mixes_what_its_time_allows_and_loads_side_by_side(monkeypatch):
    """Of a transaction of 10 s the means may take 2, and each takes 0.8 here: those that wait longest are first."""
    count, now = 4, [100.0]
    models = [PAClassifier() for _ in range(count)]
    for number, model in enumerate(models):
        model.learn_one({f"f{number}": 1.0}, True)
    files = [snapshot.dumps(model) for model in models]
    names = [f"{1:020d}-1-20261124T120000Z-{number:08x}" for number in range(count)]
    records = [
        (0, number, f"group:{number}".encode(), json.dumps({
            "input": "id", "snapshot": names[number], "sha256": hashlib.sha256(files[number]).hexdigest(), "mixed": {},
        }).encode(), None, 0)
        for number in range(count)
    ]  # fmt: skip
    together = threading.Barrier(count, timeout=DEADLINE)

    def read(number, name):
        together.wait()
        return files[number]

    def slow_mix(*arguments):
        now[0] += 0.8
        return mix(*arguments)

    monkeypatch.setattr(mixing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(mixing, "mix", slow_mix)
    reader = SimpleNamespace(read=lambda seconds: records)
    mixer = Mixer("group", Mixing(topic="mixing", every="1s"), reader, Timeouts(10.0, 20.0, 5.0), None)
    partitions = {
        number: SimpleNamespace(mixed_at=-number, is_due_to_mix=lambda every: True) for number in range(count)
    }
    assert mixer.due(partitions) == {3}
    mixer.read(SimpleNamespace(topic=Topic("id", count), store=SimpleNamespace(read=read)))
    own = PartitionModel(snapshot.loads(files[3]), names[3], 1, lambda name: None)
    mixer.mix(3, own)
    expected = mix([models[3], *models[:3]])
    assert snapshot.dumps(own.learner) == snapshot.dumps(expected)
    assert mixer.due(partitions) == {3, 2}


def test_the_topic_is_created_compacted_and_checked(kafka, tmp_path):
    stream = MixingStream(kafka, tmp_path)
    created = f"{stream.name}-created"
    (outcome,) = [
        each
        for each in create_topics.create(stream.config(mixing={"topic": created, "every": "1s"}))
        if each.role == "mixing"
    ]
    assert str(outcome) == f"created `{created}` (mixing): 1 partition, 1 replica, compacted"
    found = check_broker.check(stream.config(mixing={"topic": created}))
    assert [finding for finding in found if finding.kind] == []
    stream.configure(created, cleanup_policy="delete")
    (problem,) = [finding for finding in check_broker.check(stream.config(mixing={"topic": created})) if finding.kind]
    assert "cleanup.policy=delete" in str(problem) and "set `cleanup.policy=compact`" in str(problem)


FILE = """
name: p
kafka: {bootstrap_servers: "127.0.0.1:1"}
input: {topic: events}
record: {label: y}
learner: [PAClassifier]
output: {topic: predictions}
mixing: {topic: mixing}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(FILE)
    return config.load(path)


def test_a_message_that_turns_out_to_be_too_large_while_another_is_published(file):
    """The next attempt shortens it. What is published itself cannot be shortened: no attempt would succeed."""
    sent, output = [], (0, 7, "predictions")
    errors = [
        TooLarge(output, "an earlier one"),
        TooLarge((1, -1, "mixing"), "this one"),
        BadTimestamp("an earlier one"),
    ]

    def send(topic, partition, key, value, headers, opaque, timestamp=0):
        if topic == "mixing":
            raise errors.pop(0)
        sent.append((value, timestamp))

    outbox = Outbox(file, lambda apart: SimpleNamespace(begin=lambda: None, send=send, close=lambda: None))
    with pytest.raises(TooLarge):
        outbox.publish(1, "mixing", b"p:1", b"{}")
    outbox.drop()
    record = Record("events-0-7", None, b"{}", timestamp=1000)
    record.id, record.output, record.examples = "a", b'{"a":1}', 3
    outbox.send(0, 7, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))
    assert json.loads(sent[-1][0])["too_large"] is True
    with pytest.raises(NotAccepted, match=r"raise `max\.message\.bytes`"):
        outbox.publish(1, "mixing", b"p:1", b"{}")
    with pytest.raises(BadTimestamp):
        outbox.publish(1, "mixing", b"p:1", b"{}")
    record.output = b"{}"
    outbox.send(0, 8, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))
    assert sent[-1] == (b"{}", 0)


def test_timestamps_that_are_refused_again_within_a_minute_are_left_out_for_a_minute(file, monkeypatch):
    clock, sent, refused = SimpleNamespace(now=1000.0), [], []

    def send(topic, partition, key, value, headers, opaque, timestamp=0):
        if timestamp and refused:
            raise BadTimestamp(refused.pop())
        sent.append(timestamp)

    monkeypatch.setattr("connectors.topics.outbox.time", SimpleNamespace(monotonic=lambda: clock.now))
    outbox = Outbox(file, lambda apart: SimpleNamespace(begin=lambda: None, send=send, close=lambda: None))
    record = Record("events-0-7", None, b"{}", timestamp=1000)
    record.id, record.output, record.examples = "a", b'{"a":1}', 3
    for at, is_refused, timestamp in [
        (1000.0, True, 0),  # the first one: the present time up to the next commit
        (1001.0, False, 1000),
        (1030.0, True, 0),  # again
        (1031.0, False, 0),
        (1089.0, False, 0),  # up to the first commit at 1090 or later
        (1091.0, False, 0),
        (1092.0, False, 1000),
        (1120.0, True, 0),  # within a minute after that, too
        (1150.0, False, 0),
        (1181.0, False, 0),
        (1182.0, False, 1000),
        (1300.0, True, 0),  # the first one for long
        (1301.0, False, 1000),
    ]:
        clock.now = at
        if is_refused:
            refused.append("out of range")
            with pytest.raises(BadTimestamp):
                outbox.send(0, 7, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))
            outbox.drop()
        outbox.send(0, 7, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))
        outbox.note_commit({0: 8}, set())
        assert sent[-1] == timestamp, at


def test_if_the_present_time_is_refused_the_log_names_the_clock(file, caplog):
    def send(*arguments):
        raise BadTimestamp("out of range")

    outbox = Outbox(file, lambda apart: SimpleNamespace(begin=lambda: None, send=send, close=lambda: None))
    record = Record("events-0-7", None, b"{}", timestamp=1000)
    record.id, record.output, record.examples = "a", b'{"a":1}', 3
    for said in (
        "refuses a timestamp, so records get the present time",
        "check the clocks of this host and of the broker",
    ):
        assert said not in caplog.text
        with pytest.raises(BadTimestamp):
            outbox.send(0, 7, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))
        outbox.drop()
        assert said in caplog.text


def sent_where_larger_ones_are_refused(file, limit):
    """Sends 50 outputs, again after each refusal; returns the outbox and its messages, with their sizes in bytes."""
    sent = []

    def send(topic, partition, key, value, headers, opaque, timestamp=0):
        sent.append((opaque, len(value)))

    def check():
        for tag, size in sent:
            if size > limit:
                raise TooLarge(tag, "too large")

    producer = SimpleNamespace(begin=lambda: None, send=send, check=check, close=lambda: None)
    outbox, partition = Outbox(file, lambda apart: producer), SimpleNamespace(model=SimpleNamespace(snapshot="s"))
    for _ in range(4):
        outbox.drop()
        sent.clear()
        for n in range(50):
            record = Record(f"events-0-{n:02d}", None, b"{}")
            record.id, record.output, record.examples = f"id{n:02d}", b"x" * 2000, 3
            outbox.send(0, n, record, partition)
        with contextlib.suppress(TooLarge):
            outbox.check_sends()
            return outbox, sent
    raise AssertionError("four attempts were not enough")


def test_what_is_as_large_as_a_refused_message_is_shortened_at_once(file):
    outbox, sent = sent_where_larger_ones_are_refused(file, limit=1000)
    assert len(sent) == 50
    outbox.note_commit({0: 50}, ())  # it had short messages: the next interval keeps what was learned
    assert not outbox.is_plain
    outbox._refused_at -= outbox_module.TRY_AGAIN + 1
    outbox.pending.add_shortened()
    outbox.note_commit({0: 50}, ())
    assert outbox.is_plain, "the topic may take larger messages by now"


def test_where_no_short_message_fits_either_each_is_said_once_and_a_few_attempts_show_it(file, caplog):
    """An attempt for each record, each of which names all records before, would take hours and gigabytes of log."""
    outbox, sent = sent_where_larger_ones_are_refused(file, limit=10)
    assert not sent and outbox.pending.unsent == 50 and "not even a short message" not in caplog.text
    outbox.note_commit({0: 50}, ())
    said = [record.message for record in caplog.records if "not even a short message" in record.message]
    assert [text.partition(":")[0] for text in said] == [f"record id{n:02d}" for n in range(50)]
    outbox.note_commit({0: 50}, ())
    assert len([record for record in caplog.records if "not even" in record.message]) == 50, "it is said again"


def test_prune_leaves_what_a_partition_has_published_last(file, tmp_path, monkeypatch):
    store, names = FolderStore(tmp_path), [f"{n:020d}-{n}-20261122T05000{n}Z-0badcafe" for n in range(6)]
    for number, name in itertools.product(range(2), names):
        store.write(number, name, b"")
    named = OffsetMetadata(names[5], "0" * 64, "t", 2, "h", 5, 5)
    restorer = SimpleNamespace(store=store, topic=SimpleNamespace(id="t", partitions=2))
    consumer = SimpleNamespace(committed=lambda numbers, seconds: dict.fromkeys(numbers, named.to_committed()))

    def published(number, name):
        value = {"input": "t", "snapshot": name, "sha256": "0" * 64, "mixed": {}}
        return (0, 0, b"p:%d" % number, name and json.dumps(value).encode(), None, -1)

    records = [
        *(published(*each) for each in ((0, names[0]), (1, names[0]), (0, names[1]), (1, None))),
        (0, 4, b"of another", b"{}", None, -1),
    ]
    reader = SimpleNamespace(read=lambda seconds: records, close=lambda: None)
    monkeypatch.setattr(
        "connectors.topics.snapshot_admin.client", lambda name: SimpleNamespace(Reader=lambda *_: reader)
    )
    admin = SnapshotAdmin(file, consumer, restorer, Timeouts(10.0, 25.0, 30.0))
    removed = {(entry.partition, names.index(entry.id)) for entry in admin.prune(is_trial=False)}
    assert removed == {(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)}, (
        "the last three stay, and what partition 0 has published"
    )
    assert names[1] in store.sizes(0)


def test_a_rewind_takes_back_what_was_published(kafka, tmp_path):
    stream, records = MixingStream(kafka, tmp_path), phishing(300)

    def all_have_learned():
        stream.produce(records[:30])
        names = {n: SnapshotName.parse(value["snapshot"]) for n, value in stream.history()}
        return len(names) == PARTITIONS and all(name.examples for name in names.values())

    with running(stream.config()) as process:
        wait_for(all_have_learned, "what all publish")
        process.end()
    with snapshot_admin.opened(stream.config()) as admin:
        admin.start_anew(list(range(PARTITIONS)), None)
    before = stream.history()
    taken_back = {value["snapshot"] for _, value in before}
    with running(stream.config()) as process:
        stream.produce(records[30:], partition=0)
        wait_for(lambda: len(stream.history()) > len(before), "a mixing after it")
        process.end()
    assert not any(taken_back & {*value["mixed"].values()} for _, value in stream.history()[len(before) :])


def admin_of_two(file, store, monkeypatch, check):
    """A SnapshotAdmin of two partitions whose producer is checked by `check`, and the offsets that it moves."""
    offsets = dict.fromkeys(range(2))
    restorer = SimpleNamespace(
        store=store, labels=None, topic=SimpleNamespace(id="t", partitions=2),
        partitions_before=lambda committed: 2, stored=SimpleNamespace(former=lambda number: None),
        check_metadata=lambda *_: None, check_snapshot=lambda *_: None,
    )  # fmt: skip
    consumer = SimpleNamespace(
        committed=lambda numbers, seconds: dict(offsets), offset_range=lambda number: (0, 100),
        alter_group_offsets=lambda targets, seconds: offsets.update(targets),
    )  # fmt: skip
    producer = SimpleNamespace(send=lambda *_: None, flush=lambda _: None, check=check, close=lambda: None)
    monkeypatch.setattr(
        "connectors.topics.snapshot_admin.client", lambda name: SimpleNamespace(Producer=lambda *_: producer)
    )
    return SnapshotAdmin(file, consumer, restorer, Timeouts(10.0, 25.0, 30.0)), offsets


def test_a_rewind_that_cannot_take_back_says_that_it_has_moved(file, tmp_path, monkeypatch):
    def refused():
        raise NotPermitted("write")

    admin, offsets = admin_of_two(file, FolderStore(tmp_path), monkeypatch, refused)
    with pytest.raises(StateError, match="the partitions were moved, but what they have published"):
        admin.start_anew([0, 1], None)
    assert all(offsets.values())


def test_a_store_that_refuses_half_way_keeps_no_empty_model(file, tmp_path, monkeypatch):
    class Full(FolderStore):
        def write(self, partition, name, data):
            if partition == 1:
                raise StoreError(errno.ENOSPC, "it is full")
            super().write(partition, name, data)

    store = Full(tmp_path)
    admin, offsets = admin_of_two(file, store, monkeypatch, lambda: None)
    with pytest.raises(StoreError, match="full"):
        admin.start_anew([0, 1], None)
    assert not store.sizes(0) and not any(offsets.values())


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("is_replaying", [False, True])
def test_commits_of_other_partitions_do_not_forget_what_was_refused(file, is_large, is_replaying):
    """Partition 0 is loaded, or replayed, for longer than the others go without a commit. It would never get on."""
    sent, attempts = [], 0

    def make_producer(sends_apart):
        def check():
            for tag, value, timestamp in sent:
                if is_large and len(value) > 1000:
                    raise TooLarge(tag if sends_apart else None, "too large")
                if not is_large and timestamp == 1:
                    raise BadTimestamp("too old")

        def send(topic, partition, key, value, headers, opaque, timestamp=0):
            sent.append((opaque, value, timestamp))

        return SimpleNamespace(begin=lambda: None, send=send, check=check, close=sent.clear)

    def send(number, offset):
        record = Record(f"events-{number}-{offset}", None, b"{}", timestamp=number + 1)
        record.id, record.examples, record.output = "a", 3, b"{}" if number or not is_large else b"x" * 2000
        outbox.send(number, offset, record, SimpleNamespace(model=SimpleNamespace(snapshot="s")))

    outbox = Outbox(file, make_producer)
    others = {1: SimpleNamespace(proof=SimpleNamespace(position=5), is_replaying=False, labels=None)}
    behind = {0: SimpleNamespace(proof=SimpleNamespace(position=2), is_replaying=True, labels=None)}
    assignment = SimpleNamespace(
        partitions=others | (behind if is_replaying else {}), loading=set() if is_replaying else {0}
    )
    committer = Committer(file, None, assignment, outbox, None, None, None, None)
    while True:
        attempts += 1
        send(1, 4)
        outbox.check_sends()
        committer.remember()
        sent.clear()
        send(0, 7)
        try:
            outbox.check_sends()
            break
        except (BadTimestamp, TooLarge):
            assert attempts < 5
            outbox.drop()
    assignment.partitions, assignment.loading = others, set()
    committer.remember()
    assert not outbox._shortening and outbox._keeps_timestamps and not outbox._sends_apart
