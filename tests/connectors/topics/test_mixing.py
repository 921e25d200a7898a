"""Mixing between topics: what bare learners do that mix when the topic's committed history says so."""

import contextlib
import copy
import json
from collections import defaultdict

import pytest

from connectors.snapshots.names import SnapshotName
from river_margins import snapshot
from river_margins.conversions import mix
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
                    found += [(int(each.key.rpartition(b":")[2]), json.loads(each.value)) for each in messages]
        return found

    def mixings(self):
        return sum(bool(value["mixed"]) for _, value in self.history())


def bare_outputs(stream, records):
    """The outputs of bare learners, and how often each has mixed, with the mixings that the topic tells."""
    model = stream.config().build_learner
    bare = {number: model() for number in range(PARTITIONS)}
    left = {number: records[number::PARTITIONS] for number in range(PARTITIONS)}
    learned, said, published, mixings = defaultdict(int), defaultdict(list), {}, defaultdict(int)

    def play(number, count):
        some, left[number] = left[number][:count], left[number][count:]
        learned[number] += sum(each.get("y") is not None for each in some)
        said[number] += twin(bare[number], some)

    for number, value in stream.history():
        name = SnapshotName.parse(value["snapshot"])
        play(number, name.offset - len(said[number]))
        assert name.examples == learned[number]
        others = [
            published[int(other), used] for other, used in sorted(value["mixed"].items(), key=lambda e: int(e[0]))
        ]
        if others:
            bare[number] = mix([bare[number], *others])
            mixings[number] += 1
        for path in (stream.folder / "snapshots").rglob(f"{value['snapshot']}.snapshot"):
            assert snapshot.dumps(snapshot.loads(path.read_bytes())) == snapshot.dumps(bare[number])
        published[number, value["snapshot"]] = copy.deepcopy(bare[number])
    for number in range(PARTITIONS):
        play(number, len(left[number]))
    return dict(said), mixings


@BOTH_CLIENTS
@pytest.mark.parametrize("every", [None, "1h"], ids=["each", "replayed"])
def test_killed_within_a_mixing_then_two_processes(kafka, client, tmp_path, every):
    """kill -9 right before a commit that mixes, then one process, two, and one again."""
    stream, records = MixingStream(kafka, tmp_path), phishing(2400)
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
            stream.produce(records[1800:2100])
            second_before = stream.mixings()
            wait_for(lambda: stream.mixings() > second_before, "a mixing of two")
            second.end()
        stream.produce(records[2100:])
        outputs = stream.outputs(len(records))
        first.end()
    expected, mixings = bare_outputs(stream, records)
    assert outputs == expected
    assert len(mixings) == PARTITIONS and min(mixings.values()) >= 2
    assert outputs != {n: twin(stream.config().build_learner(), records[n::PARTITIONS]) for n in range(PARTITIONS)}
