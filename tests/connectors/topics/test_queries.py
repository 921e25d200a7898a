"""Labels that are asked for, in a topic: the queries are those of the bare route, each once."""

import json

from connectors.labels.merging import Side
from connectors.tools import create_topics
from connectors.topics import check_broker
from tests.connectors.topics.test_late_labels import LateStream, header, kill_at, mixed
from tests.helpers.streams import BOTH_CLIENTS, running, wait_for

QUERIES = {"sampler": {"RandomizedSelectiveSampler": {"b": 0.5, "seed": 3}}, "at_most": "3 per 10"}


class AskingStream(LateStream):
    """A stream with a topic for queries."""

    def __init__(self, kafka, folder, /, partitions=2, **changes):
        super().__init__(kafka, folder, partitions)
        self.queries = f"{self.name}-queries"
        kafka.create_topics({self.queries: partitions})
        self.settings |= {"queries": {"topic": self.queries} | QUERIES} | changes

    def assert_bare(self):
        super().assert_bare()
        expected = [self.route(number).queries for number in range(self.partitions)]
        found = self.read(self.queries, sum(map(len, expected)))
        for number, queries in enumerate(expected):
            mine = [message for message in found if message.partition == number]
            assert [(header(message, "source"), message.value) for message in mine] == queries
        assert {message.key for message in found} == {b"k"}
        count = sum(len(self.bare(number)[0]) for number in range(self.partitions))
        outputs = {header(message, "source"): message for message in self.read(self.output, count)}
        assert all(message.headers == outputs[header(message, "source")].headers for message in found)
        return found


def sent(stream, count):
    records, labels = mixed(count, stream.partitions)
    stream.send(Side.LABELS, labels)
    stream.send(Side.RECORDS, records)


@BOTH_CLIENTS
def test_queries_are_in_the_transaction_of_their_outputs(kafka, tmp_path):
    stream = AskingStream(kafka, tmp_path, checkpoint={"every": "50ms"})
    sent(stream, 300)
    with running(stream.config()) as process:
        wait_for(stream.are_done, "all records and labels")
        counts = process.end()
    found = stream.assert_bare()
    assert counts.queries == len(found) > 30 and counts.withheld
    query = json.loads(found[0].value)
    assert set(query) == {"id", "prediction", "score", "record"} and query["record"]["id"] == query["id"]


def test_after_kill_9_the_same_labels_are_asked_for(kafka, tmp_path):
    stream = AskingStream(kafka, tmp_path)
    stream.settings["queries"]["waits"] = "asked"
    stream.forget_the_dead_soon()
    sent(stream, 240)
    for step in ("send_offsets", "end_transaction"):
        kill_at(stream, step, 30)
    with running(stream.config()):
        wait_for(stream.are_done, "all records and labels")
    stream.assert_bare()


def test_the_bound_holds_over_a_time_without_queries(kafka, tmp_path):
    stream = AskingStream(kafka, tmp_path, partitions=1)
    section = {"topic": stream.queries, "sampler": {"ShareSampler": {"share": 1.0, "seed": 3}}, "at_most": "3 per 100"}
    for n, settings in enumerate(({"queries": section}, {"queries": None}, {"queries": section})):
        sent_now = [(0, {"id": str(at), "x": 1.0}, 1_000 + at) for at in range(10 * n, 10 * n + 10)]
        stream.send(Side.RECORDS, sent_now)
        with running(stream.config(**settings)) as process:
            stream.read(stream.output, 10 * n + 10)
            process.end()
    asked = [header(each, "source") for each in stream.read(stream.queries, 3)]
    assert asked == [f"{stream.input}-0-{n}" for n in range(3)]


def test_the_topic_is_checked_and_created(kafka, tmp_path):
    stream = AskingStream(kafka, tmp_path)
    name = f"{stream.queries}-new"
    changed = stream.config(queries=stream.settings["queries"] | {"topic": name})
    (problem,) = [str(found) for found in check_broker.check(changed) if found.kind]
    assert problem.startswith(f"problem: topic `{name}` (queries) does not exist, did you mean")
    (made,) = [outcome for outcome in create_topics.create(changed) if outcome.replicas]
    assert str(made) == f"created `{name}` (queries): 2 partitions, 1 replica, 30 days"
    assert not [found for found in check_broker.check(changed) if found.kind]
