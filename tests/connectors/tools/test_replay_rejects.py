"""`river-margins replay-rejects` on a real Kafka: each reject comes to the input again once, as it was."""

import json
import threading
import time
from types import SimpleNamespace

import pytest
from kafka import KafkaProducer

from connectors.errors import ConfigError, StartError
from connectors.kafka import ClientError, Ownership, confluent, kafka_python
from connectors.kafka import client as client_of
from connectors.kafka.facts import Facts
from connectors.runtime import watchdog
from connectors.tools import replay_rejects
from connectors.tools.replay_rejects import Counts, Reject, _Replay, parse
from connectors.topics.messages import SHORT_FIELDS
from tests.helpers.streams import BOTH_CLIENTS, DEADLINE, Stream, running

GOOD = b'{"id": "a", "x": 1, "y": true}'
HEADERS = [("traceparent", b"00-ab"), ("n", None), ("n", b"1"), ("source", b"upstream-0-1"), ("reason", b"")]


def send(stream, messages):
    """Writes messages of partition, key, value and headers to the input."""
    producer = client_of("confluent").Producer(None, {"bootstrap_servers": stream.kafka.bootstrap_servers})
    for partition, key, value, headers in messages:
        producer.send(stream.input, partition, key, value, headers, None)
    producer.flush(DEADLINE)
    producer.check()
    producer.close()


def described(message):
    return message.partition, message.key, message.value, list(message.headers)


@BOTH_CLIENTS
def test_each_reject_comes_again_once_as_it_was(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path)
    bad = [
        (0, b"k", b"{", HEADERS),
        (1, b"", b"", []),
        (1, b"k", b'{"id": "b", "x": 2, "y": "bad"}', HEADERS[:1]),
    ]
    nulls = [(1, None, None, HEADERS), (0, b"k", None, [])]  # in a compacted topic they would delete what came later
    send(stream, [(0, b"k", GOOD, []), (1, b"k", GOOD, []), *bad, *nulls])
    with running(stream.config()):
        stream.read(stream.rejects, 5)
    dry = replay_rejects.replay(stream.config(), dry_run=True)
    assert dry.sent.total() == 3 and len(stream.read(stream.input, 7)) == 7
    counts = replay_rejects.replay(stream.config())
    assert counts == dry and counts.left_out == {"without a value, which no processor takes": 2}
    again = [described(message) for message in stream.read(stream.input, 10) if message.offset > 2 + message.partition]
    assert len(again) == 3
    for partition, key, value, headers in bad:
        ((_, _, _, found),) = [each for each in again if each[:3] == (partition, key, value)]
        name, content = found.pop()
        assert found == headers and name == "rejected" and content.startswith(f"{stream.input}-{partition}-".encode())
    assert replay_rejects.replay(stream.config()).sent.total() == 0, "a second run sends nothing"
    assert len(stream.read(stream.input, 10)) == 10


@BOTH_CLIENTS
def test_what_goes_wrong_again_has_both_reasons(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path, partitions=1)
    send(stream, [(0, b"k", b"{", HEADERS[:1])])
    with running(stream.config()):
        stream.read(stream.rejects, 1)
        replay_rejects.replay(stream.config())
        _, second = stream.read(stream.rejects, 2)
        assert [name for name, _ in second.headers] == ["traceparent", "rejected", "reason", "source"]
        assert dict(second.headers)["rejected"].startswith(f"{stream.input}-0-0: not JSON".encode())
        assert dict(second.headers)["source"].decode() == f"{stream.input}-0-1"
        assert replay_rejects.replay(stream.config()).sent.total() == 1
        *_, third = stream.read(stream.rejects, 3)
    found = [content for name, content in third.headers if name == "rejected"]
    assert [each.partition(b":")[0].decode() for each in found] == [f"{stream.input}-0-0", f"{stream.input}-0-1"]


@BOTH_CLIENTS
def test_a_run_that_dies_in_the_middle_sends_nothing_twice(kafka, tmp_path, monkeypatch, client):
    monkeypatch.setattr(replay_rejects, "MOST_RECORDS", 4)
    monkeypatch.setattr(confluent.Consumer.poll, "__defaults__", (5,))
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.forget_the_dead_soon()
    if client == "kafka-python":
        stream.settings["kafka"]["consumer"] |= {"max_poll_records": 5}
    stream.produce([b"{%d" % n for n in range(30)])
    with running(stream.config()):
        stream.read(stream.rejects, 30)
    for place, steps in (("commit", 2), ("send_offsets", 1), ("flush", 3)):
        module = {"kafka-python": kafka_python, "confluent": confluent}[client]
        step, calls = getattr(module.Producer, place), []

        def die(self, *arguments, step=step, calls=calls, steps=steps):
            calls.append(1)
            if len(calls) == steps:
                raise MemoryError("dies here")
            return step(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module.Producer, place, die)
            with pytest.raises(MemoryError):
                replay_rejects.replay(stream.config())
    replay_rejects.replay(stream.config())
    values = [message.value for message in stream.read(stream.input, 60)]
    assert sorted(values) == sorted([b"{%d" % n for n in range(30)] * 2)


@BOTH_CLIENTS
def test_a_reject_that_is_too_large_for_its_topic_stops_the_replay(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce([b"{", b"{" + b"x" * 5000])
    with running(stream.config()):
        stream.read(stream.rejects, 2)
    stream.configure(stream.input, max_message_bytes=3000)
    with pytest.raises(StartError) as refused:
        replay_rejects.replay(stream.config())
    said = str(refused.value)
    assert "too large for its topic with its further header, and nothing of this transaction was sent" in said
    assert (
        f"raise `max.message.bytes` of `{stream.input}`" in said
        and "message takes" not in said
        and "sent one" not in said
    )
    stream.configure(stream.input, max_message_bytes=1_000_000)
    assert replay_rejects.replay(stream.config()).sent.total() == 2
    assert len(stream.read(stream.input, 4)) == 4


def test_what_is_left_out(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1)
    other = {"id": "a", "too_large": True, "length": 9, "sha256": "0", "first_bytes": "x"}
    assert other.keys() == SHORT_FIELDS
    headers = [("reason", b"r"), ("source", f"{stream.input}-0-0".encode())]
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for value, given in ((json.dumps(other).encode(), headers), (b"x", []), (b"x", [headers[0], ("source", b"b-0-1")])):
        producer.send(stream.rejects, value, headers=given).get(DEADLINE)
    old = int(time.time() - 8 * 24 * 3600) * 1000
    producer.close()
    counts = replay_rejects.replay(stream.config())
    assert not counts.sent and set(counts.left_out) == {
        "too large for the rejects, which hold only their beginning", "not written by a processor",
        f"not from `{stream.input}`",
    }  # fmt: skip
    stream.configure(stream.rejects, retention_ms=-1)
    another = Stream(kafka, tmp_path, partitions=1, rejects={"topic": stream.rejects}, input={"topic": stream.input})
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send(stream.rejects, b"{", headers=headers, timestamp_ms=old).get(DEADLINE)
    producer.close()
    with pytest.raises(StartError, match=r"older than 7 days.*--from-beginning"):
        replay_rejects.replay(another.config())
    assert replay_rejects.replay(stream.config()).sent.total() == 1, "where replays are known, age does not matter"
    assert replay_rejects.replay(another.config(), from_beginning=True).sent.total() == 1
    others = Facts({}, [], {"offsets.retention.minutes": str(30 * 24 * 60)}, frozenset())
    for module in (confluent, kafka_python):
        monkeypatch.setattr(module, "read_facts", lambda *_: others)  # of brokers that forget later
    third = Stream(kafka, tmp_path, partitions=1, rejects={"topic": stream.rejects}, input={"topic": stream.input})
    assert replay_rejects.replay(third.config()).sent.total() == 1


def test_a_file_without_rejects(kafka, tmp_path):
    with pytest.raises(ConfigError, match="no `rejects`"):
        replay_rejects.replay(Stream(kafka, tmp_path).config(rejects=None))


def test_only_the_last_headers_are_the_processors():
    found = parse((0, 0, None, b"", [("null", b"key and value"), ("reason", b"r"), ("source", b"a-b-3-4")], 0), ["a-b"])
    assert found == Reject("a-b", 3, "r", None, b"", [("null", b"key and value"), ("rejected", b"a-b-3-4: r")])
    found = parse((0, 0, None, b"", [("reason", b"r"), ("source", b"a-3-4"), ("null", b"key and value")], 0), ["a"])
    assert found == "without a value, which no processor takes"


def test_a_reject_that_a_rewind_has_repeated_is_sent_once(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    headers = [("reason", b"r"), ("source", f"{stream.input}-0-0".encode())]
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for value in (b"{", b"{", b"of a topic that was created again"):
        producer.send(stream.rejects, value, headers=headers).get(DEADLINE)
    producer.close()
    counts = replay_rejects.replay(stream.config())
    assert counts.sent == {"r": 2} and counts.left_out == {replay_rejects.TWICE: 1}
    assert [message.value for message in stream.read(stream.input, 2)] == [b"{", b"of a topic that was created again"]


def test_a_silent_broker_ends_the_command(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(watchdog, "_give_up", lambda seconds: ended.set())

    class Producer:
        def begin(self):
            pass

        flush = check = send_offsets = lambda *_: None

        def commit(self):
            assert ended.wait(10), "it waits without end"

    replay = object.__new__(_Replay)
    replay._producer, replay._opened, replay._source, replay._timeouts = Producer(), 1.0, "rejects", (1.0, 1.0, 0.05)
    replay._pending, replay._done, replay._sent, replay._sending = Counts(), Counts(), set(), set()
    replay._commit(Ownership(1, "member", frozenset({0}), None), {0: 5})


class Member:
    """A consumer of one partition of rejects, to which its group gives these partitions at these polls."""

    def __init__(self, rejects, assignments, committed):
        self.rejects, self.assignments, self.of_group = rejects, assignments, committed
        self.ownership, self.at, self.polls = None, 0, 0

    def offset_range(self, number):
        return 0, len(self.rejects)

    def committed(self, numbers, seconds):
        return {number: self.of_group.get(number) for number in numbers}

    def join(self):
        pass

    def seek(self, number, offset):
        self.at = offset

    def position(self, number):
        return self.at

    def poll(self, seconds):
        self.polls += 1
        if self.polls in self.assignments:
            self.ownership = Ownership(self.polls, "member", frozenset(self.assignments[self.polls]), None)
            return []
        self.at += len(found := self.rejects[self.at : self.at + 1])
        return found


def test_an_old_reject_after_new_ones_is_refused_before_anything_is_sent(monkeypatch):
    """With `output.timestamp: input` a reject has the time of its record, and rejects are in no order of time."""
    monkeypatch.setattr(replay_rejects, "MOST_RECORDS", 2)
    now = int(time.time() * 1000)
    times = [now, now, now, now - 8 * 24 * 3600 * 1000]
    rejects = [
        (0, n, b"k", b"{", [("reason", b"r"), ("source", b"events-0-%d" % n)], moment) for n, moment in enumerate(times)
    ]
    committed, sent = {}, []

    class Producer:
        def __init__(self, *_):
            self.open = []

        begin = flush = check = close = lambda *_: None

        def send(self, *message):
            self.open.append(message)

        def send_offsets(self, topic, offsets, ownership):
            self.offsets = offsets

        def commit(self):
            sent.extend(self.open)
            committed.update(self.offsets)
            self.open = []

    facts = Facts({}, [], {}, frozenset())
    module = SimpleNamespace(Producer=Producer, read_facts=lambda *_: facts)
    monkeypatch.setattr(replay_rejects, "client", lambda name: module)
    kafka = SimpleNamespace(client="", timeouts=(1.0, 1.0, 1.0), consumer_settings={}, producer_settings={})
    rejected = SimpleNamespace(topic="rejects")
    config = SimpleNamespace(kafka=kafka, input=SimpleNamespace(topic="events"), labels=None, rejects=rejected)

    def replay(from_beginning):
        member = Member(rejects, {1: [0]}, committed)
        return _Replay(config, member, "group", {"events": 1, "rejects": 1}, False, from_beginning).run()

    for _ in range(2):  # the second run is refused like the first one
        with pytest.raises(StartError, match=r"older than 7 days.*--from-beginning"):
            replay(False)
        assert not sent and not committed
    assert replay(True).sent.total() == len(sent) == 4
    assert replay(False).sent.total() == 0


def beside_another_run(assignments, dry_run):
    """A replay of four rejects by a member of a group that gives out their partition again, at these polls."""
    rejects = [(0, n, b"k", b"{", [("reason", b"r"), ("source", b"events-0-%d" % n)], 0) for n in range(3)]
    rejects.append((0, 3, b"k", None, [("reason", b"r"), ("source", b"events-0-3")], 0))

    class Producer:
        def __init__(self, *_):
            pass

        begin = send = flush = check = send_offsets = commit = close = lambda *_: None

    kafka = SimpleNamespace(client="", timeouts=(1.0, 1.0, 1.0), consumer_settings={}, producer_settings={})
    rejected = SimpleNamespace(topic="rejects")
    config = SimpleNamespace(kafka=kafka, input=SimpleNamespace(topic="events"), labels=None, rejects=rejected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_rejects, "MOST_RECORDS", 1)
        patch.setattr(replay_rejects, "client", lambda name: SimpleNamespace(Producer=Producer))
        return _Replay(
            config, Member(rejects, assignments, {}), "group", {"events": 1, "rejects": 1}, dry_run, True
        ).run()


def test_a_dry_run_counts_once_what_it_reads_again():
    counts = beside_another_run({1: [0], 5: [0]}, dry_run=True)
    assert counts.sent == {"r": 3} and counts.left_out == {"without a value, which no processor takes": 1}


@pytest.mark.parametrize(("assignments", "dry_run"), [({1: [0], 3: []}, False), ({1: []}, True)])
def test_a_run_whose_partition_another_one_gets_says_so(assignments, dry_run):
    """Else it would end as if it had read all of them, and what the other one only counts would not be sent."""
    with pytest.raises(ClientError, match="another run of this command, perhaps a dry one, reads `rejects`"):
        beside_another_run(assignments, dry_run)
