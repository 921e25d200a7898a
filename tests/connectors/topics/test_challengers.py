"""Several learners on one stream: all models move with offsets and output, and keep their names over a restart."""

import json
from types import SimpleNamespace

from connectors.config.learner import assemble
from connectors.model.partition_model import PartitionModel
from connectors.model.replay_proof import ReplayProof
from connectors.model.standings import contest_of
from connectors.topics.commit import Committer
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.partition import Partition
from river_margins import PAClassifier, snapshot
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, twin, wait_for

STEPS = {
    "pa": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
    "arow": ["StandardScaler", "AROWClassifier"],
    "plain": ["PAClassifier"],
}


def roles(stream, champion, *challengers):
    return {
        "learner": {"name": champion, "steps": STEPS[champion]},
        "challengers": {name: STEPS[name] for name in challengers},
        "output": {"topic": stream.output, "challengers": True},
    }


def expected(name, records, since=0):
    """What the bare learner says of the records of a partition, and its bytes."""
    model = assemble(STEPS[name])[0]
    outputs = twin(model, records[since:])
    return [(output["prediction"], output["score"]) for output in outputs], snapshot.dumps(model)


def said(outputs, name, champion):
    found = [output if name == champion else output["challengers"][name] for output in outputs]
    return [(each["prediction"], each["score"]) for each in found]


def models_of(stream, number):
    data = stream.snapshot_path(number).read_bytes()
    about, parts = snapshot.beside(data)
    contest = contest_of(about)
    models = {contest.champion: data} | parts
    return {name: snapshot.dumps(snapshot.loads(each)) for name, each in models.items()}, contest


@BOTH_CLIENTS
def test_killed_and_started_again_with_other_roles(kafka, tmp_path, caplog):
    """kill -9 while records are under way; then the challenger is the champion, and one more comes."""
    stream = Stream(kafka, tmp_path, partitions=2, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    records = phishing(600)
    stream.produce(records[:300])
    process = start(stream.file(**roles(stream, "pa", "arow")))
    try:
        wait_for(lambda: stream.committed(0) is not None and stream.committed(0).offset > 50, "a commit")
    finally:
        process.kill()
        process.communicate()
    changed = stream.config(**roles(stream, "arow", "pa", "plain"))
    with running(changed) as second:
        stream.read(stream.output, 300)
        stream.produce(records[300:])
        found = stream.outputs(600)
        second.end()
    assert "the challenger `plain` is new, the champion is now `arow`, and no longer `pa`" in caplog.text
    for number, outputs in found.items():
        mine = records[number::2]
        exchanged = next(n for n, output in enumerate(outputs) if "pa" in output["challengers"])
        models, contest = models_of(stream, number)
        for name in ("pa", "arow"):
            outputs_of, model = expected(name, mine)
            assert said(outputs[:exchanged], name, "pa") == outputs_of[:exchanged]
            assert said(outputs[exchanged:], name, "arow") == outputs_of[exchanged:]
            assert models[name] == model
        outputs_of, model = expected("plain", mine, since=exchanged)
        assert (said(outputs[exchanged:], "plain", "arow"), models["plain"]) == (outputs_of, model)
        assert contest.champion == "arow" and contest.examples["pa"] == contest.examples["arow"]
        labels = {record["id"]: record.get("y") for record in mine}
        wrong = {"pa": 0, "arow": 0}
        for place, output in enumerate(outputs):
            for name in wrong:
                (prediction, _), label = (
                    said([output], name, "pa" if place < exchanged else "arow")[0],
                    labels[output["id"]],
                )
                wrong[name] += label is not None and prediction is not None and prediction != label
        assert {name: contest.standings.life.models[name].loss for name in wrong} == wrong


def test_a_challenger_that_is_taken_out_is_dropped(kafka, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    records = phishing(120)
    stream.produce(records[:60])
    with running(stream.config(**roles(stream, "pa", "arow", "plain"))) as process:
        stream.read(stream.output, 60)
        process.end()
    stream.produce(records[60:])
    with running(stream.config(**roles(stream, "pa", "plain"))) as process:
        outputs = [json.loads(message.value) for message in stream.read(stream.output, 120)]
        process.end()
    assert "the model `arow` is dropped, as the file does not name it" in caplog.text
    models, contest = models_of(stream, 0)
    assert models == {name: expected(name, records)[1] for name in ("pa", "plain")}
    assert list(outputs[-1]["challengers"]) == ["plain"] and set(contest.standings.life.models) == {"pa", "plain"}


def test_roles_were_exchanged_and_the_offset_moves_without_a_record():
    """The end of a transaction comes first. The new champion has learned less than the one of the snapshot."""
    before = OffsetMetadata.of_snapshot(b"", 7, 5, False, topic_id="t", partitions=1, host="h")
    model = PartitionModel(PAClassifier(), before.snapshot, 3, {}.get)
    partition = Partition("events-0-", model, ReplayProof(7, 0, False), before.to_committed())
    partition.proof.skip_to(8)
    checkpoint = SimpleNamespace(guarantee="exactly_once", every=1.0)
    config = SimpleNamespace(labels=None, rejects=None, record=SimpleNamespace(label="y"), checkpoint=checkpoint)
    assignment, outbox = SimpleNamespace(partitions={0: partition}, told=1), SimpleNamespace(moved={0})
    committer = Committer(config, None, assignment, outbox, None, None, None, None)
    committer.write_snapshots()
    found = OffsetMetadata.from_text(committer._offsets()[0].metadata)
    assert found is not None and (found.snapshot, found.offset, found.examples) == (before.snapshot, 8, 5)


def test_roles_are_exchanged_where_no_record_came(kafka, tmp_path):
    """The snapshot of an idle partition has the challenger, too: else it would refuse the new champion."""
    stream = Stream(kafka, tmp_path, partitions=2, checkpoint={"every": "50ms"})
    records = phishing(40)
    stream.produce(records[:20], partition=1)
    with running(stream.config(learner=STEPS["pa"])) as process:
        stream.read(stream.output, 20)
        process.end()
    for count, names in ((30, ["pa", "arow"]), (40, ["arow", "pa"])):
        stream.produce(records[count - 10 : count], partition=1)
        with running(stream.config(**roles(stream, *names))) as process:
            stream.read(stream.output, count)
            process.end()
        models, contest = models_of(stream, 0)
        assert (set(models), contest.champion) == (set(names), names[0])
        assert stream.committed(0).offset == 0
