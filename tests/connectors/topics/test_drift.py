"""Drift between topics: what a bare loop does, through kill -9 and through records that are read again."""

import json
import logging
import random

import pytest
from river import drift

from connectors.drift.watch import drift_of
from connectors.labels.merging import Side
from connectors.model.standings import contest_of
from river_margins import snapshot
from tests.connectors.drift.bare import STEPS, Bare, LateBare, late_events, switching
from tests.connectors.topics.test_late_labels import BEGIN, LateStream
from tests.helpers.streams import Stream, running, start, wait_for

SLOWLY = """
from connectors.labels import late_learning
take = late_learning.process_record
late_learning.process_record = lambda *arguments: (time.sleep(5e-3), take(*arguments))[1]
"""
RECORDS = switching(1400, 600, 1000)


def settings(stream, then, others):
    return {
        "learner": {"name": "pa", "steps": STEPS["pa"]},
        "challengers": {name: STEPS[name] for name in others},
        "output": {"topic": stream.output, "challengers": bool(others)},
        "drift": {"detector": "ADWIN", "then": then},
    }


def assert_exact(stream, bare, outputs):
    data = stream.snapshot_path().read_bytes()
    about, parts = snapshot.beside(data)
    contest, told = contest_of(about), drift_of(about)
    champion = contest.champion if contest else "pa"
    models = {name: snapshot.dumps(snapshot.loads(each)) for name, each in ({champion: data} | parts).items()}
    assert outputs == bare.play(RECORDS)
    assert (models, champion) == (bare.data, bare.champion)
    assert told.past.drifts == len(bare.drifts) >= 2
    assert told.past.last == f"{stream.input}-0-{bare.drifts[-1][1:]}"


@pytest.mark.parametrize(
    ("then", "others", "every"), [({"promote": "arow"}, ["arow"], None), ("reset", [], "1h")], ids=["promote", "reset"]
)
def test_killed_and_started_again(kafka, tmp_path, caplog, then, others, every):
    """kill -9 after the first drift was committed; with `snapshots.every`, records are read again then."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    changes = settings(stream, then, others)
    if every:
        changes["snapshots"] = {"folder": stream.settings["snapshots"], "every": every}
    stream.produce(RECORDS[:700])
    process = start(stream.file(**changes))
    try:
        wait_for(lambda: stream.committed(0) is not None and stream.committed(0).offset >= 690, "a commit")
    finally:
        process.kill()
        process.communicate()
    with caplog.at_level(logging.WARNING), running(stream.config(**changes)) as second:
        stream.read(stream.output, 700)
        stream.produce(RECORDS[700:])
        outputs = [json.loads(message.value) for message in stream.read(stream.output, len(RECORDS))]
        second.end()
    bare = Bare(drift.ADWIN(), "arow" if others else then, others=others)
    assert_exact(stream, bare, outputs)
    (line,) = [record for record in caplog.records if record.getMessage().startswith("drift at")]
    assert (line.topic, line.partition, line.offset) == (stream.input, 0, int(bare.drifts[-1][1:]))
    assert ("is the champion since the drift at" in caplog.text) == bool(others)


def test_labels_that_come_later_are_judged_by_whom_they_were_predicted(kafka, tmp_path):
    """The reset and the predictions that wait over it; kill -9 on the way."""
    stream = LateStream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    changes = settings(stream, "reset", [])
    lines, labels, events = late_events(RECORDS[:1100], random.Random(4))
    stream.send(Side.LABELS, [(0, {"of": each["of"], "is": each["label"]}, BEGIN + each["at"]) for each in labels])
    records = [(0, {key: each[key] for key in each if key != "at"}, BEGIN + each["at"]) for each in lines]
    stream.send(Side.RECORDS, records)
    process = start(stream.file(**changes), SLOWLY)  # so that it does not come to the end
    try:
        wait_for(lambda: stream.committed(0) is not None and stream.committed(0).offset > 500, "a commit")
    finally:
        process.kill()
        process.communicate()
    with running(stream.config(**changes)) as second:
        wait_for(stream.are_done, "all records and labels")
        second.end()
    bare = LateBare(drift.ADWIN(), "reset", others=())
    outputs, outcomes = bare.play_late(events)
    assert [json.loads(message.value) for message in stream.read(stream.output, len(outputs))] == outputs
    found = [json.loads(message.value) for message in stream.read(stream.outcomes, len(outcomes))]
    assert [{key: value for key, value in each.items() if key != "delay"} for each in found] == outcomes
    data = stream.snapshot_path().read_bytes()
    assert snapshot.dumps(snapshot.loads(data)) == bare.data["pa"]
    assert drift_of(snapshot.beside(data)[0]).past.drifts == len(bare.drifts) > 0


def test_a_new_section_waits_until_records_are_read_again_also_without_every(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    records = [{"id": f"r{n}", "a": float(n % 2), "y": bool(n % 2) == (n < 600)} for n in range(1200)]
    stream.produce(records[:1100])
    process = start(stream.file(snapshots={"folder": stream.settings["snapshots"], "every": "1h"}))
    try:
        wait_for(lambda: getattr(stream.committed(0), "offset", 0) == 1100, "its commit")
    finally:
        process.kill()
        process.communicate()
    stream.produce(records[1100:])
    drift = {"detector": {"PageHinkley": {"min_instances": 30, "threshold": 5.0}}, "then": "reset"}
    with running(stream.config(drift=drift)) as second:
        stream.read(stream.output, 1200)
        second.end()
