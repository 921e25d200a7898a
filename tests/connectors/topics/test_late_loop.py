"""The compiled route of records and labels that come later does what the other one does."""

import json
import math
import random

import pytest

from connectors import config
from connectors.kafka import Committed, TooLarge
from connectors.labels import state
from connectors.labels.late_learning import Results
from connectors.labels.waiting import WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.model.records import Decoder, Record
from connectors.model.replay_proof import ReplayProof
from connectors.snapshots.models import Builder
from connectors.topics import two_topics
from connectors.topics.late_labels import LateLabels
from connectors.topics.late_loop import LateLoop
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition
from connectors.topics.two_topics import TwoTopics

COUNT, BEGIN, FOREVER = 600, 1_700_000_000_000, 4_000_000_000_000
PA = ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]
SOURCES = "events-0-", "labels-0-"


class Counted(LateLoop):
    """Counts what it leaves to the other route."""

    left = 0

    def take(self, number, partition, due):
        is_special = super().take(number, partition, due)
        Counted.left += is_special
        return is_special


class Nothing(LateLoop):
    """Leaves all to the other route."""

    def take(self, number, partition, due):
        return True


class Client:
    """Stands for a producer that keeps what it is given, and for a consumer whose topics have more to read."""

    def __init__(self):
        self.sent = []

    def begin(self):
        pass

    def send(self, topic, partition, key, value, headers, opaque, timestamp=0):
        self.sent.append((topic, partition, key, value, headers, opaque, timestamp))

    def offset_range(self, place):
        return 0, math.inf

    def position(self, place):
        return 0


class Commits:
    """Stands for a committer that is asked to commit after each record, or never."""

    def __init__(self, due):
        self.due, self.count = due, 0

    def commit(self):
        self.count += 1

    def request(self):
        pass


class Assigned:
    """Stands for an assignment."""

    def __init__(self, partition):
        self.partitions = {0: partition}


def features(draw, n):
    found = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1), "c": n % 7}
    if n % 40 == 20:
        found = dict(reversed(found.items()))
    if n % 50 == 30:
        found |= {"d": draw.choice([None, "text", [1], 1e300, 1e-300, True, {"x": 1}])}
    return found


ODD_VALUES = [None, b"", b"{", b"[1]", b"7", b'{"id": 3}', b'{"id": "x", "a": 1e999}', b'{"a": 1}', b"\xff"]
ODD_IDS = [2**64, -(2**63) - 1, 7.0, True, [7], {"a": 7}, 'a"\u2028\\', "", -5, 2**63, None]
ODD_TIMES = [None, -1, 0]


def streams(seed, answers):
    """Records and labels of every kind, in the order of the times of each, as a consumer reads them."""
    draw = random.Random(seed)
    records, labels = [], []
    for n in range(COUNT):
        moment = BEGIN + 500 * n
        id = draw.choice(ODD_IDS) if n % 25 == 11 else n if n % 3 else f"r{n}"
        fields = {"id": id} | features(draw, n)
        if n % 45 == 7:
            fields["y"] = draw.choice(answers)
        value = ODD_VALUES[n // 31 % len(ODD_VALUES)] if n % 31 == 30 else json.dumps(fields).encode()
        headers = [("h", b"x")] if n % 4 == 0 else draw.choice([None, []])
        key = draw.choice([None, b"\xff"]) if n % 29 == 5 else f"k{n}".encode()
        records.append((key, value, headers, moment))
        delay = WITHIN + 60_000 if n % 37 == 9 else draw.choice([0, 0, 1, 500, 2000, 20_000])
        if n % 43 == 3:
            delay = -draw.choice([500, 5000])
        label = {"of": id, "is": draw.choice(answers)}
        if n % 41 == 8:
            label["is"] = draw.choice([None, [1], {"a": 1}, "no such label", 1e300])
        if n % 9:
            labels.append((key, json.dumps(label).encode(), headers, moment + delay))
        if n % 33 == 1:
            labels.append((key, json.dumps(label).encode(), headers, moment + delay + 1000))
        if n % 35 == 2:
            labels.append((key, draw.choice([*ODD_VALUES, b'{"of": "nobody", "is": true}']), headers, moment + delay))
    labels.sort(key=lambda label: label[3])
    last = None, json.dumps({"id": "last", "of": "last", "is": answers[0], "a": 1.0}).encode(), None, FOREVER
    for place, found in ((0, records), (-1, labels)):
        for offset, (key, value, headers, moment) in enumerate([*found, last]):
            sent = draw.choice(ODD_TIMES) if 0 < offset < len(found) and offset % 27 == 26 else moment
            yield place, 3 * offset, key, value, headers, sent


def batches(seed, answers):
    """What each poll returns."""
    draw, found = random.Random(seed), [*streams(seed, answers)]
    sides = [[each for each in found if (each[0] >= 0) == is_record] for is_record in (True, False)]
    while any(sides):
        batch = []
        for side in sides:
            count = draw.choice([0, 1, 10, 50])
            batch += side[:count]
            del side[:count]
        yield batch


WITHIN = 60_000
TWO = [True, False]
CASES = {
    "two classes": (PA, {"id": "id", "label": "y"}, {}, TWO),
    "the key is the id": (PA, {"features": ["a", "b", "c"]}, {"id": None}, TWO),
    "named features": (PA, {"id": "id", "features": ["a", "b", "d"]}, {}, TWO),
    "few may wait": (PA, {"id": "id"}, {"pending": 3}, TWO),
    "otherwise": (PA, {"id": "id"}, {"otherwise": False}, TWO),
    "numbers": (["StandardScaler", "PARegressor"], {"id": "id"}, {}, [1.5, -2, 0.0, -0.0]),
    "more classes": (["StandardScaler", "AROWClassifier"], {"id": "id"}, {}, ["a", "b", 'c"']),
    "a step of River": ([{"river.preprocessing.StandardScaler": {}}, "PAClassifier"], {"id": "id"}, {}, TWO),
    "a commit after each": (PA, {"id": "id"}, {}, TWO),
}


def loaded(folder, case, has_topics):
    learner, record, labels, _ = CASES[case]
    found = {
        "name": "late", "kafka": {"bootstrap_servers": "localhost:1"}, "input": {"topic": "events"}, "record": record,
        "learner": learner, "output": {"topic": "out"}, "snapshots": str(folder),
        "labels": {"topic": "labels", "id": "of", "label": "is", "within": f"{WITHIN}ms", "wait": "1h"} | labels,
    }  # fmt: skip
    if found["labels"]["id"] is None:
        del found["labels"]["id"]
    if has_topics:
        found |= {"rejects": {"topic": "rejects"}, "outcomes": {"topic": "outcomes"}}
    path = folder / "late.yaml"
    path.write_text(json.dumps(found))
    return config.load(path)


def started(file, client, due):
    """The work on two topics, with its partition, outbox and commits."""
    fields, section = file.record, file.labels
    decode = Decoder(fields.id, fields.label, fields.features, is_joined=True).decode
    model = Builder(file, lambda _: first, decode).start()
    first = model.dumps({})
    waiting = WaitingFiles(WaitingRecords(section.within_ms, section.pending))
    labels = LateLabels(section, fields, SOURCES, model, waiting, 0)
    partition = Partition(SOURCES[0], model, ReplayProof(0, 0, False), Committed(0, ""), labels)
    outbox, commits = Outbox(file, lambda is_apart: client), Commits(due)
    both = TwoTopics(client, Assigned(partition), outbox, commits, section.wait, file.rejects is not None)
    return both, partition, outbox, commits


def result(file, answers, due, seed):
    """What the records and labels lead to: messages, counts, model, what waits, and how far both topics were read."""
    client = Client()
    both, partition, outbox, commits = started(file, client, due)
    model, labels = partition.model, partition.labels
    for batch in batches(seed, answers):
        both.take(batch, set())
    # A copy: in Python 3.13.0 the dict of an object that the collector frees loses what is in it.
    counts, records = dict(vars(outbox.pending)), labels.waiting
    counts |= {"last_rejects": [each[1:] for each in counts["last_rejects"]], "last_scores": [*counts["last_scores"]]}
    held = state.write_segment(records, state.Position()), state.write_manifest(records)
    read = labels.position, partition.proof.position, partition.proof.inputs, model.examples
    learned = [(record.value, record.features, record.label) for record in model.examples_since_snapshot()]
    return client.sent, counts, model.dumps({}), held, read, learned, outbox.moved, outbox.oldest, commits.count


@pytest.mark.parametrize("has_topics", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_both_routes_lead_to_the_same(tmp_path, monkeypatch, case, has_topics):
    file, answers = loaded(tmp_path, case, has_topics), CASES[case][3]
    due = 0.0 if case == "a commit after each" else math.inf
    Counted.left, found = 0, []
    for route in Counted, Nothing:
        monkeypatch.setattr(two_topics, "LateLoop", route)
        found.append(result(file, answers, due, seed=11))
    for mine, others in zip(*found, strict=True):
        assert mine == others
    counts = found[0][1]
    assert counts["learned"] > COUNT / 4 and counts["rejected"] and counts["expired"] + counts["displaced"]
    if case not in ("few may wait", "otherwise", "a step of River"):
        assert Counted.left < COUNT, "both routes were needed"


def test_a_store_that_fails_while_a_model_is_brought_back(tmp_path, monkeypatch):
    """The partition has moved, so that it is dropped with the work of this transaction."""
    both, partition, outbox, _ = started(loaded(tmp_path, "two classes", False), Client(), math.inf)

    def fail():
        raise OSError("the store does not answer")

    records = [
        (0, n, None, b'{"id": %d, "a": %s}' % (n, value), None, BEGIN + n) for n, value in enumerate([b"1", b"1e300"])
    ]
    labels = [(-1, n, None, b'{"of": %d, "is": true}' % n, None, BEGIN + 10 + n) for n in range(2)]
    monkeypatch.setattr(partition.model, "undo", fail)
    with pytest.raises(OSError, match="does not answer"):
        both.take([*records, *labels, (0, 2, None, b"{}", None, FOREVER)], set())
    assert outbox.moved == {0}


def test_labels_that_give_way_to_a_smaller_bound_are_rejected_at_once(tmp_path):
    client = Client()
    both, partition, _, _ = started(loaded(tmp_path, "two classes", True), client, math.inf)
    labels = [(-1, n, None, b'{"of": "x%d", "is": true}' % n, None, BEGIN + 10 + n) for n in range(3)]
    later = (0, 1, None, b'{"id": 1, "a": 1}', None, BEGIN + WITHIN + 1)
    both.take([(0, 0, None, b'{"id": 0, "a": 1}', None, BEGIN), later, *labels], set())
    partition.labels.waiting.labels.most = 1  # as after a start with another `pending`
    both.take([(-1, 3, None, b'{"of": "y", "is": true}', None, FOREVER)], set())
    assert [each[3] for each in client.sent if each[0] == "rejects"] == [labels[0][3], labels[1][3]]


@pytest.mark.parametrize("route", [LateLoop, Nothing])
@pytest.mark.parametrize("case", ["two classes", "otherwise"])
def test_records_give_way_to_a_smaller_bound_before_the_next_label_is_taken(tmp_path, monkeypatch, case, route):
    monkeypatch.setattr(two_topics, "LateLoop", route)
    client = Client()
    both, partition, outbox, _ = started(loaded(tmp_path, case, True), client, math.inf)
    records = [(0, n, None, b'{"id": %d, "a": 1}' % n, None, BEGIN + n) for n in range(4)]
    label = (-1, 0, None, b'{"of": 0, "is": true}', None, BEGIN + 10)
    both.take([*records, label], set())
    partition.labels.waiting.records.most = 2  # as after a start with another `pending`
    both.take([(0, 4, None, b'{"id": 4, "a": 1}', None, FOREVER)], set())
    assert [each[3] for each in client.sent if each[0] == "rejects"] == [label[3]]
    assert outbox.pending.displaced == 2


def test_a_label_without_an_id_of_which_not_even_a_short_reject_fits(tmp_path, caplog):
    class Full(Client):
        def send(self, topic, partition, key, value, headers, opaque, timestamp=0):
            raise TooLarge(opaque, "too large")

    outbox = Outbox(loaded(tmp_path, "two classes", True), lambda is_apart: Full())
    outbox.send_results(0, (-1, 3), Results((), [Record("labels-0-3", None, b"{", "not JSON")]))
    assert outbox.pending.unsent == 1
    outbox.note_commit({0: 1, -1: 4}, ())
    assert "record labels-0-3: not even a short message" in caplog.text


class Small(Client):
    """Takes no whole outcome."""

    def send(self, topic, partition, key, value, headers, opaque, timestamp=0):
        if topic == "outcomes" and b'"too_large":true' not in value:
            raise TooLarge(opaque, "too large")
        super().send(topic, partition, key, value, headers, opaque, timestamp)


def test_short_outcomes_of_both_routes_name_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "Client", Small)
    file, found = loaded(tmp_path, "two classes", True), []
    for route in LateLoop, Nothing:
        monkeypatch.setattr(two_topics, "LateLoop", route)
        found.append(result(file, TWO, math.inf, seed=11)[0])
    assert found[0] == found[1]
