"""Snapshots apart from checkpoints: the inputs in between are read again, exactly, or the processor refuses."""

import concurrent.futures
import errno
import json
import logging
import threading
from types import SimpleNamespace

import pytest
from kafka.structs import OffsetAndMetadata

from connectors.config.learner import assemble
from connectors.errors import StartError, StateError
from connectors.kafka import ClientError, Committed, client
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder
from connectors.model.replay_proof import ReplayProof
from connectors.snapshots import check_learner
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import StoreError
from connectors.topics import processor
from connectors.topics.commit import Committer
from connectors.topics.loading import Loading
from connectors.topics.partition import Partition
from connectors.topics.restore import Restorer
from river_margins import snapshot
from tests.helpers import streams
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import Stream, ended, phishing, running, start, twin, wait_for

RARELY = {"every": "1h"}


@pytest.fixture
def stream(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots")} | RARELY
    return stream


def outputs(stream, count):
    return [json.loads(message.value) for message in stream.read(stream.output, count)]


def snapshots(stream):
    return sorted(path.stem for path in (stream.folder / "snapshots").rglob("*.snapshot"))


def killed_at(stream, count):
    """Lets a processor commit so many records and kills it."""
    process = start(stream.file())
    try:
        stream.read(stream.output, count)
        wait_for(lambda: stream.pointer().offset == count, "its commit")
    finally:
        process.kill()
        process.communicate()


def test_a_killed_processor_goes_on_exactly_from_an_old_snapshot(stream):
    stream.forget_the_dead_soon()
    records = phishing(300)
    for begin, end in ((0, 100), (100, 200)):
        stream.produce(records[begin:end])
        killed_at(stream, end)
        assert len(snapshots(stream)) == 1 and snapshots(stream)[0].endswith("-empty")
        assert stream.pointer().inputs == end and stream.pointer().snapshot_offset == 0
    stream.produce(records[200:])
    with running(stream.config()) as process:
        found = outputs(stream, 300)
        assert process.end().read == 100, "what is read again is not counted again"
    model = stream.config().build_learner()
    assert found == twin(model, records)
    last = stream.pointer()
    assert (last.offset, last.inputs) == (300, 0), "an orderly end leaves nothing to read again"
    path = stream.snapshot_path()
    assert snapshot.dumps(snapshot.load(path)) == snapshot.dumps(model)


def test_inputs_that_are_read_again_have_their_weights(stream):
    stream.forget_the_dead_soon()
    stream.settings["record"] = {"id": "id", "label": "y", "weight": "w"}
    records = [record | {"w": n % 4 * 0.5} for n, record in enumerate(phishing(100))]
    stream.produce(records[:60])
    killed_at(stream, 60)
    stream.produce(records[60:])
    with running(stream.config()):
        outputs(stream, 100)
    model = stream.config().build_learner()
    for record in records:
        if record.get("y") is not None:
            features = {name: value for name, value in record.items() if name not in ("id", "y", "w")}
            model.learn_one(features, record["y"], w=record["w"])
    assert snapshot.dumps(snapshot.load(stream.snapshot_path())) == snapshot.dumps(model)


def test_snapshots_come_as_often_as_asked(stream):
    stream.settings["snapshots"]["every"] = "10ms"
    stream.produce(phishing(100))
    with running(stream.config()) as process:
        stream.read(stream.output, 100)
        wait_for(
            lambda: stream.pointer().offset == 100 and stream.pointer().inputs == 0, "a snapshot of the last record"
        )
        process.end()


@pytest.fixture
def killed(stream):
    """A stream whose processor was killed with 30 inputs since its snapshot."""
    stream.forget_the_dead_soon()
    stream.produce(phishing(30))
    killed_at(stream, 30)
    return stream


def refused(stream, said, **changes):
    before = stream.committed(0)
    with pytest.raises(StateError, match=said), running(stream.config(**changes)) as process:
        process.wait()
    assert stream.committed(0) == before
    assert len(outputs(stream, 30)) == 30


def test_inputs_that_expired(killed):
    with killed.admin() as admin:
        admin.delete_records({killed.place(0): 10})
    refused(
        killed, r"must be read again from offset 0 .*begins at 10: retention deleted .*snapshot; to go on with an e"
    )


def test_another_way_to_read_the_inputs(killed, monkeypatch):
    record = {"label": "y", "id": "id", "features": ["https", "popup_window"]}
    refused(killed, r"`record.features` was left out and is now .*; put `record` back as it was", record=record)
    monkeypatch.setattr(check_learner, "_differences", lambda before, now: [])  # as with a snapshot that tells nothing
    refused(killed, r"are not those that were learned: the CRC of 30 inputs .*put `record` back", record=record)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": 31}, "30 inputs were read again instead of 31"),
        ({"inputs": 29}, "the CRC of 29 inputs is"),
        ({"crc": 7}, "instead of 7"),
    ],
)
def test_a_replay_that_ends_elsewhere(killed, changes, said):
    changed = killed.pointer()._replace(**changes)
    wait_for(lambda: killed.members() == [], "the end of the dead member")
    with killed.group() as consumer:
        consumer.commit({killed.place(0): ended(OffsetAndMetadata(30, changed.to_text()))})
    refused(killed, said)


def test_a_compacted_input_is_refused(stream):
    stream.configure(stream.input, cleanup_policy="compact")
    with pytest.raises(StartError, match=r"is compacted: .*leave `snapshots.every` out"):
        processor.run(stream.config())
    with running(stream.config(snapshots=str(stream.folder / "other"))):
        stream.produce(phishing(5))
        stream.read(stream.output, 5)


OVERFLOWS = {"id": "bad", "https": 1.2e154, "popup_window": 1.2e154, "y": True}


def test_a_step_that_raises_half_way_is_rejected_and_rejected_again(stream):
    """The scaler has moved when the classifier finds the overflow: the model goes back and its inputs come again."""
    stream.forget_the_dead_soon()
    stream.settings["learner"] = [{"StandardScaler": {"with_std": False}}, {"PAClassifier": {"C": 0.01, "mode": 1}}]
    records = phishing(90)
    mixed = [*records[:20], OVERFLOWS, *records[20:25], OVERFLOWS, *records[25:60]]
    stream.produce(mixed)
    process = start(stream.file())
    try:
        stream.read(stream.output, 60)
        rejects = stream.read(stream.rejects, 2)
        wait_for(lambda: stream.pointer().offset == 62, "its commit")
    finally:
        process.kill()
        process.communicate()
    assert all(b"scale the features" in dict(reject.headers)["reason"] for reject in rejects)
    stream.produce(records[60:])
    with running(stream.config()) as process:
        found = outputs(stream, 90)
        assert process.end().read == 30
    assert found == twin(stream.config().build_learner(), records)
    assert len(stream.read(stream.rejects, 2)) == 2


def test_a_rejected_record_is_met_again_by_the_next_process(stream, monkeypatch):
    """Nothing of the first process' memory is left: the replay itself finds that the record cannot be learned."""
    stream.forget_the_dead_soon()
    stream.settings["learner"] = [{"StandardScaler": {"with_std": False}}, {"PAClassifier": {"C": 0.01, "mode": 1}}]
    records = phishing(60)
    stream.produce([*records[:20], OVERFLOWS, *records[20:40]])
    never = (
        "from connectors.topics.commit import Committer; "
        "Committer._needs_snapshot = lambda self, p: not p.model.snapshot"
    )
    process = start(stream.file(), never)
    try:
        stream.read(stream.output, 40)
        wait_for(lambda: stream.pointer().offset == 41, "its commit")
    finally:
        process.kill()
        process.communicate()
    assert stream.pointer().inputs == 41
    stream.produce(records[40:])
    with running(stream.config()):
        found = outputs(stream, 60)
    assert found == twin(stream.config().build_learner(), records)
    assert len(stream.read(stream.rejects, 1)) == 1


@pytest.mark.parametrize("snapshots", [{}, RARELY])
def test_restoring_one_partition_does_not_stop_the_others(kafka, tmp_path, monkeypatch, snapshots):
    stream = Stream(kafka, tmp_path, checkpoint={"every": "50ms"})
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots")} | snapshots
    records = phishing(80)
    stream.produce(records[:40])
    with running(stream.config()):
        stream.read(stream.output, 40)
    restored, original = threading.Event(), Restorer.restore

    def slow(self, number, committed):
        if number == 0:
            assert restored.wait(DEADLINE)
        return original(self, number, committed)

    monkeypatch.setattr(Restorer, "restore", slow)
    stream.produce(records[40:])
    with running(stream.config()):
        others = stream.read(stream.output, 60)
        assert [message.partition for message in others].count(1) == 40, "all of partition 1, while 0 is being restored"
        restored.set()
        found = {number: [] for number in range(2)}
        for message in stream.read(stream.output, 80):
            found[message.partition].append(json.loads(message.value))
    for number in range(2):
        assert found[number] == twin(stream.config().build_learner(), records[number::2])


@pytest.mark.parametrize("between", ["later", "between a poll and its records"])
def test_records_that_come_while_a_model_is_loaded_again(kafka, tmp_path, monkeypatch, between):
    """After a failed commit the partition is not paused: what comes before the model is there is read again."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    records, consumer = phishing(60), client(streams.CLIENT).Consumer
    asked, came, loaded = threading.Event(), threading.Event(), threading.Event()
    originals, failures = (Restorer.restore, Committer.end_transaction, consumer.poll), iter([True])

    def restore(self, number, committed):
        asked.set()
        assert loaded.wait(DEADLINE)
        return originals[0](self, number, committed)

    def end_transaction(self):
        if next(failures, False):
            raise ClientError("failed")
        originals[1](self)

    def poll(self, seconds, most):
        found = originals[2](self, seconds, most)
        if found and asked.is_set():
            came.set()
            if between != "later":
                loaded.set()
        return found

    def take_finished(self, original=Loading.take_finished):
        if loaded.is_set():
            concurrent.futures.wait([future for _, future in self._requested.values()], 60)
        yield from original(self)

    stream.produce(records[:20])
    with running(stream.config()):
        stream.read(stream.output, 20)
        monkeypatch.setattr(Restorer, "restore", restore)
        monkeypatch.setattr(Committer, "end_transaction", end_transaction)
        monkeypatch.setattr(consumer, "poll", poll)
        monkeypatch.setattr(Loading, "take_finished", take_finished)
        stream.produce(records[20:40])
        wait_for(asked.is_set, "a model that is loaded again")
        stream.produce(records[40:])
        wait_for(came.is_set, "records without their model")
        loaded.set()
        assert outputs(stream, 60) == twin(stream.config().build_learner(), records)


def test_a_store_that_fails_while_a_model_is_loaded_is_asked_again(kafka, tmp_path, monkeypatch, caplog):
    stream = Stream(kafka, tmp_path, partitions=1)
    records = phishing(40)
    stream.produce(records[:20])
    with running(stream.config()):
        stream.read(stream.output, 20)
    original, failures = Restorer.restore, iter([True])

    def failing(self, number, committed):
        if next(failures, False):
            raise OSError("the store is away")
        return original(self, number, committed)

    monkeypatch.setattr(Restorer, "restore", failing)
    stream.produce(records[20:])
    with caplog.at_level(logging.WARNING), running(stream.config()):
        assert outputs(stream, 40) == twin(stream.config().build_learner(), records)
    assert "is paused, the others go on: the store is away" in caplog.text


def test_a_model_that_cannot_be_loaded_again_is_dropped():
    """A step has raised half-way, and the store is away: this model must neither go on nor be written."""

    def away(name):
        raise StoreError(errno.EIO, "the store is away")

    learner = assemble(["PAClassifier"])[0]
    name = SnapshotName.new(0, 0, is_empty=True)
    model = PartitionModel(learner, name, 0, away, Decoder("id", "y", None).decode, can_replay=True)
    partition = Partition("events-0-", model, ReplayProof(0, 0, True), Committed(0, ""))
    moved = set()
    loop = object.__new__(processor.Processor)
    loop._assignment = SimpleNamespace(partitions={0: partition})
    loop._outbox = SimpleNamespace(add_moved=moved.update, pending=Counts())
    with pytest.raises(StoreError):
        loop._take_one((0, 0, None, json.dumps(OVERFLOWS).encode(), None, None), set())
    assert moved == {0}


def test_a_quiet_partition_gets_its_snapshot_too(stream):
    """No record comes any more, and those since the last snapshot will expire."""
    stream.forget_the_dead_soon()
    stream.settings["snapshots"]["every"] = "2s"
    stream.produce(phishing(30))
    process = start(stream.file())
    try:
        stream.read(stream.output, 30)
        wait_for(
            lambda: (stream.pointer().offset, stream.pointer().inputs) == (30, 0), "a snapshot of a quiet partition"
        )
    finally:
        process.kill()
        process.communicate()
    with stream.admin() as admin:
        admin.delete_records({stream.place(0): 30})
    stream.produce(phishing(40)[30:])
    with running(stream.config()):
        assert outputs(stream, 40) == twin(stream.config().build_learner(), phishing(40))
