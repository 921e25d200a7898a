"""The compiled route of a record does what the other one does."""

import collections
import contextlib
import gc
import json
import random
import time
import weakref

import pytest
from kafka import KafkaProducer

from connectors.topics import processor
from connectors.topics.partition import Partition
from connectors.topics.record_loop import RecordLoop
from river_margins import snapshot
from tests.helpers.streams import DEADLINE, Stream, phishing, running, wait_for
from tests.torture import grammar

PARTITIONS, COUNT = 2, 1_500
EVERY = 0.02  # seconds between two commits
LARGEST = 1_000_000  # bytes that a broker takes without being asked
PA = ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]


class Counted(RecordLoop):
    """Notes how many records the compiled route has taken."""

    taken = 0

    def take(self, partitions, records, start, skipped, due):
        place = super().take(partitions, records, start, skipped, due)
        Counted.taken += place - start
        return place


class Nothing:
    """Leaves every record to the other route."""

    def __init__(self, outbox):
        pass

    def take(self, partitions, records, start, skipped, due):
        return start


def odd_records():
    """Broken and odd records."""
    for n, record in enumerate(grammar.records(COUNT, seed=3, calm=PARTITIONS)):
        if len(record.value or b"") > LARGEST:
            continue
        timestamp = None if n % 5 else 1_700_000_000_000 + 977 * n % 100_000
        yield record.key, record.value, record.headers, timestamp


def classes():
    """Records of four classes that are texts, with labels of other types, and without labels, between them."""
    draw = random.Random(5)
    for n in range(COUNT):
        label = draw.choice(["a", "b", 'c"', "d\u2028"])
        odd = draw.choice([None, None, 7, True, [1], {"a": 1}]) if n % 4 == 3 else label
        id = n if n % 3 else f"r{n}"
        value = {"id": id, "x": draw.gauss(len(label), 1), "y": draw.gauss(ord(label[0]), 1), "label": odd}
        yield None, json.dumps(value).encode(), [], None


def alike():
    """Records with the same fields in the same order, except for a few."""
    draw = random.Random(9)
    for n in range(COUNT):
        fields = grammar.fields(draw, n) | {"count": draw.randrange(1_000), "is_new": draw.random() < 0.5}
        if n % 100 == 60:
            fields = dict(reversed(fields.items())) if n % 200 == 60 else fields | {"a": "text"}
        yield None, json.dumps(fields).encode(), [], None


INTEGERS = [*map(str, (0, 7, -7, 2**53 + 1, 2**63, 2**64 - 1, -(2**63))), "-0"]
ODD_IDS = [*map(str, (2**64, -(2**63) - 1)), "7.0", "1e2", "1e300", "true", "null", '"a"', "[7]", '{"a": 7}']


def integers_as_ids():
    """Records of which three in four have an integer as the id, in the fields of the record before or in others."""
    draw = random.Random(13)
    for n in range(COUNT):
        fields = grammar.fields(draw, n)
        del fields["id"]
        text = json.dumps(fields if n % 8 else dict(reversed(fields.items())))
        id = draw.choice(ODD_IDS if n % 4 == 3 else INTEGERS)
        yield None, f'{{"id": {id}, {text[1:]}'.encode(), [], None


CASES = {
    "snapshots at times": (odd_records, PA, {"id": "id", "label": "label"}),
    "snapshots at times, numbers": (odd_records, ["StandardScaler", "PARegressor"], {"id": "id", "label": "c"}),
    "fields alike": (alike, PA, {"id": "id", "label": "label"}),
    "two classes": (odd_records, PA, {"id": "id", "label": "label"}),
    "no id, named features": (odd_records, PA, {"label": "label", "features": ["a", "b", "odd"]}),
    "integers as ids": (integers_as_ids, PA, {"id": "id", "label": "label"}),
    "numbers": (odd_records, ["StandardScaler", "PARegressor"], {"id": "id", "label": "c"}),
    "more classes": (classes, ["StandardScaler", "AROWClassifier"], {"id": "id", "label": "label"}),
}


def test_no_model_is_held_of_a_partition_that_another_process_has(kafka, tmp_path, monkeypatch):
    made, original = [], Partition.__init__

    def remember(self, *arguments, **named):
        original(self, *arguments, **named)
        made.append(weakref.ref(self))

    def held():
        gc.collect()
        return sum(partition() is not None for partition in made)

    monkeypatch.setattr(Partition, "__init__", remember)
    stream = Stream(kafka, tmp_path, partitions=PARTITIONS)
    stream.produce(phishing(60))
    with running(stream.config()):
        stream.read(stream.output, 60)
        assert held() == PARTITIONS
        with running(stream.config()):
            wait_for(lambda: stream.members() == [1, 1], "both have one")
            wait_for(lambda: len(made) > PARTITIONS and held() == PARTITIONS, "one model each")


class Slow(RecordLoop):
    """Finds a record special only after a long time, as one of some megabytes under load."""

    def take(self, partitions, records, start, skipped, due):
        time.sleep(2 * EVERY)
        return start


def test_records_that_take_longer_than_the_time_between_two_commits(kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "RecordLoop", Slow)
    stream = Stream(kafka, tmp_path, checkpoint={"every": f"{round(1000 * EVERY)}ms"})
    records = phishing(20)
    stream.produce(records)
    with running(stream.config()):
        stream.assert_exact(records, stream.outputs(len(records)))


def feed(stream, records):
    """Writes records to the partitions in turn, and returns how many there are in each."""
    with contextlib.closing(KafkaProducer(bootstrap_servers=stream.kafka.bootstrap_servers, linger_ms=50)) as producer:
        sent = [
            producer.send(stream.input, value, key, headers, n % PARTITIONS, timestamp)
            for n, (key, value, headers, timestamp) in enumerate(records)
        ]
        return collections.Counter(future.get(timeout=DEADLINE).partition for future in sent)


def messages_of(stream, topic, count):
    """Partition, key, value, headers and timestamp of each message; of a model only how much it had learned."""
    found = []
    for message in stream.read(topic, count):
        headers = [(name, value.rsplit(b"/")[-1] if name == "model" else value) for name, value in message.headers]
        found.append((message.partition, message.key, message.value, headers, message.timestamp))
    return sorted(found, key=lambda message: [value for name, value in message[3] if name == "source"][-1])


def result(stream, ends):
    """What the records lead to: outputs, rejects, counts and models."""
    with running(stream.config()) as process:
        wait_for(lambda: all(getattr(stream.committed(n), "offset", 0) == end for n, end in ends.items()), "the end")
        counts = process.end()
    outputs = messages_of(stream, stream.output, counts.predicted)
    rejects = messages_of(stream, stream.rejects, counts.rejected)
    models = [snapshot.dumps(snapshot.loads(stream.snapshot_path(number).read_bytes())) for number in range(PARTITIONS)]
    return outputs, rejects, counts, models


# What a client is told differs in nothing between the cases.
@pytest.mark.parametrize(
    ("client", "case"), [("confluent", "two classes"), *(("kafka-python", case) for case in CASES)], indirect=["client"]
)
def test_both_routes_lead_to_the_same(kafka, tmp_path, monkeypatch, case):
    records, learner, fields = CASES[case]
    found = []
    stream = Stream(kafka, tmp_path, partitions=PARTITIONS, learner=learner, record=fields)
    ends = feed(stream, records())
    Counted.taken = 0
    for route in Counted, Nothing:
        monkeypatch.setattr(processor, "RecordLoop", route)
        other = Stream(kafka, tmp_path, partitions=PARTITIONS, learner=learner, record=fields)
        other.input = other.settings["input"]["topic"] = stream.input
        if case.startswith("snapshots"):
            other.settings["snapshots"] = {"folder": other.settings["snapshots"], "every": "300ms"}
        found.append(result(other, ends))
    (outputs, rejects, counts, models), (outputs_2, rejects_2, counts_2, models_2) = found
    assert outputs == outputs_2
    assert rejects == rejects_2
    assert models == models_2
    for name in ("read", "predicted", "learned", "rejected", "judged", "right", "classes", "reasons"):
        assert getattr(counts, name) == getattr(counts_2, name), name
    assert counts.error == pytest.approx(counts_2.error)
    assert len(counts.last_scores) == len(counts_2.last_scores)
    assert counts.rejected and Counted.taken > COUNT / 2, "both routes were needed"
