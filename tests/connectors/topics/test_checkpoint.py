"""The checkpoint: a failure before or after any of its steps neither loses nor doubles a record."""

import errno
import json
from types import SimpleNamespace

import pytest

from connectors.config.schema import Record
from connectors.errors import CommitTimeoutError
from connectors.kafka import ClientError
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.replay_proof import ReplayProof
from connectors.snapshots import retention as module
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import FolderStore, StoreError
from connectors.topics import processor
from connectors.topics.commit import Committer
from connectors.topics.partition import Partition
from river_margins import PAClassifier, snapshot
from tests.helpers.streams import (
    BOTH_CLIENTS,
    DEADLINE,
    Stream,
    let_go,
    phishing,
    read_until,
    running,
    start,
    twin,
    wait_for,
)

STEPS = [
    "write_snapshots",
    "flush",
    "check_sends",
    "send_offsets",
    "end_transaction",
    "remember",
    "delete_superseded",
]


def read_so_far(stream):
    with stream.group() as consumer:
        offsets = [consumer.committed(stream.place(number)) for number in range(stream.partitions)]
    return sum(offset or 0 for offset in offsets)


def assert_exact(stream, records):
    for number, outputs in stream.outputs(len(records)).items():
        model = stream.config().build_learner()
        mine = records[number :: stream.partitions]
        assert outputs == twin(model, mine)
        pointer = stream.pointer(number)
        path = stream.snapshot_path(number)
        assert snapshot.dumps(snapshot.load(path)) == snapshot.dumps(model), "the committed snapshot is the model"
        assert pointer.examples == sum(record.get("y") is not None for record in mine)


def test_the_steps_are_those_of_the_docstring():
    said = [
        line.split("`")[1]
        for line in Committer.__doc__.splitlines()
        if line.strip()[:2] in {f"{n}." for n in range(1, 8)}
    ]
    assert said == STEPS and all(callable(getattr(Committer, step)) for step in STEPS)


@pytest.mark.parametrize("at", ["the first snapshot", "work"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_at_any_step(kafka, tmp_path, monkeypatch, when, at):
    """Each step fails in turn, in one run: from the first snapshot on, or with output in flight."""
    monkeypatch.setattr(processor, "MAX_PAUSE", 0.05)
    stream = Stream(kafka, tmp_path, checkpoint={"every": "30ms"})
    failing = list(STEPS)
    records, failed = phishing(len(failing) * 20), []

    def wrap(step):
        original = getattr(Committer, step)

        def wrapped(self):
            fails = failing[:1] == [step] and (at != "work" or self._outbox.pending.read or self.counts.read)
            if fails and when == "before":
                failed.append(failing.pop(0))
                raise ClientError(f"failed before {step}")
            original(self)
            if fails:
                failed.append(failing.pop(0))
                raise ClientError(f"failed after {step}")

        monkeypatch.setattr(Committer, step, wrapped)

    for step in STEPS:
        wrap(step)
    with running(stream.config()):
        for begin in range(0, len(records), 20):
            stream.produce(records[begin : begin + 20])
            wait_for(lambda end=begin + 20: read_so_far(stream) >= end, "their commit")
        assert failed == STEPS
        assert_exact(stream, records)


@BOTH_CLIENTS
def test_at_least_once_may_repeat_but_the_model_is_exact(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"guarantee": "at_least_once", "every": "50ms"})
    records = phishing(200)
    original = Committer.end_transaction
    failures = iter([True, False] * 3)

    def failing(self):
        if self._assignment.partitions[0].proof.position > 50 and next(failures, False):
            raise ClientError("failed before the commit, with all output sent")
        original(self)

    monkeypatch.setattr(Committer, "end_transaction", failing)
    expected = twin(stream.config().build_learner(), records)
    with running(stream.config()) as process:
        for begin in range(0, 200, 50):
            stream.produce(records[begin : begin + 50])
            wait_for(lambda end=begin + 50: (stream.committed(0) or (0,))[0] >= end, "its commit")
        process.end()
    with stream.reader(stream.output) as (consumer, places):
        outputs = []
        while consumer.position(places[0]) < consumer.end_offsets(places)[places[0]]:
            for messages in consumer.poll(timeout_ms=200).values():
                outputs += [json.loads(message.value) for message in messages]
    assert len(outputs) > len(expected), "nothing was repeated, so nothing was shown"
    by_id = {output["id"]: output for output in outputs}
    assert [by_id[output["id"]] for output in expected] == expected
    assert all(output == by_id[output["id"]] for output in outputs), "a repeated output is the same output"


def test_a_snapshot_is_deleted_long_after_its_successor_only(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    snapshots = tmp_path / "snapshots"
    stream.settings["snapshots"] = {"folder": str(snapshots), "keep": {"last": 2}}
    foreign = None
    with running(stream.config()) as process:
        for n in range(3):
            stream.produce(phishing(10))
            stream.read(stream.output, 10 * n + 10)
        assert len(list(snapshots.rglob("*.snapshot"))) >= 4, "the group may still name them"
        name = f"{1:020d}-1-20200101T000000Z-aaaaaaaa.snapshot"
        foreign = next(snapshots.rglob("*.snapshot")).with_name(name)
        foreign.write_bytes(b"of another process")
        monkeypatch.setattr(module, "GRACE", -1000.0)
        stream.produce(phishing(10))
        stream.read(stream.output, 40)
        process.end()
    named = stream.pointer().snapshot
    found = sorted(path.stem for path in snapshots.rglob("*.snapshot"))
    assert len(found) == 3, "the newest two, and what is not ours"
    assert found[0] == foreign.stem and found[-1] == named
    assert 30 <= SnapshotName.parse(found[1]).offset < SnapshotName.parse(named).offset == 40, (
        "commits may part the last ten"
    )


@BOTH_CLIENTS
def test_a_process_that_was_replaced_loads_what_the_group_has(kafka, tmp_path, monkeypatch):
    """One is cut off from its group until the other has moved its partition on; then its commit is refused."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    records = phishing(300)
    first = start(stream.file())
    try:
        stream.produce(records[:100])
        stream.read(stream.output, 100)
        stream.produce(records[100:200])
        first.send_signal(19)  # SIGSTOP: asleep, with whatever it has begun
        with running(stream.config()) as second:
            stream.read(stream.output, 200)
            first.send_signal(18)  # SIGCONT: it goes on as if it still had the partition
            wait_for(lambda: len(stream.member_ids()) == 2, "both in the group")
            second.end()
        stream.produce(records[200:])
        assert_exact(stream, records)
    finally:
        first.kill()
        first.communicate()


@BOTH_CLIENTS
def test_an_end_without_a_commit_leaves_no_transaction_open(kafka, tmp_path, monkeypatch):
    """Readers and successors would wait for its time-out, which is two minutes here."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "60s"})
    stream.settings["kafka"] |= {
        "consumer": {"session_timeout_ms": 130_000, "max_poll_interval_ms": 150_000, "heartbeat_interval_ms": 300},
        "producer": {"transaction_timeout_ms": 120_000},
    }
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0), "the first commit")
        stream.produce(phishing(20))
        with stream.reader(stream.output, "read_uncommitted") as (consumer, (place,)):
            wait_for(lambda: consumer.end_offsets([place])[place] == 20, "the outputs")

        def fail(committer):
            raise ClientError("the broker is away")

        monkeypatch.setattr(Committer, "commit", fail)
        process.end()
    with stream.reader(stream.output) as (consumer, (place,)):
        wait_for(lambda: consumer.end_offsets([place])[place] == 21, "the end of the transaction, with its marker")
    assert stream.read(stream.output, 0) == []


@BOTH_CLIENTS
def test_a_commit_that_does_not_end_ends_the_process(own_kafka, tmp_path):
    """The broker sleeps from step 4 on; the process must not hang with it."""
    stream = Stream(own_kafka, tmp_path, partitions=1)
    stream.forget_the_dead_soon()
    stream.produce(phishing(20))
    before = """
        from connectors.topics.commit import Committer
        original = Committer.commit
        def commit(self):
            if self.counts.read:
                self._timeouts = type(self._timeouts)(10.0, 25.0, 1.5)
            original(self)
        def send_offsets(self, step=Committer.send_offsets):
            if self.counts.read == 20:
                hold()
            step(self)
        Committer.commit, Committer.send_offsets = commit, send_offsets
    """
    process = start(stream.file(), before)
    try:
        stream.read(stream.output, 20)
        stream.produce(phishing(5))
        read_until(process, "held")
        own_kafka.stop(1)
        let_go(process)
        _, said = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
        own_kafka.resume(1)
    assert process.returncode == CommitTimeoutError.exit_code
    assert "a commit did not end within 1.5 s" in said
    with running(stream.config()):
        stream.read(stream.output, 25)


def test_counts_are_of_committed_work_only(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1)
    original = Committer.end_transaction
    failures = iter([False, True, True])

    def failing(self):
        if next(failures, False):
            raise ClientError("failed")
        original(self)

    monkeypatch.setattr(Committer, "end_transaction", failing)
    stream.produce(phishing(20, unlabelled=4))
    with running(stream.config()) as process:
        stream.read(stream.output, 20)
        counts = process.end()
    assert counts == Counts(
        read=20,
        predicted=20,
        learned=15,
        snapshots=counts.snapshots,
        checkpoints=counts.checkpoints,
    )


def test_a_failed_last_commit_is_left_to_the_next_start(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "9s"})
    records = phishing(60)
    original = Committer.end_transaction

    def failing(self):
        if self._outbox.pending.read:
            raise ClientError("failed")
        original(self)

    monkeypatch.setattr(Committer, "end_transaction", failing)
    stream.produce(records)
    with running(stream.config()) as process, stream.reader(stream.output, "read_uncommitted") as (consumer, _):
        wait_for(lambda: consumer.poll(timeout_ms=200), "uncommitted output")
        assert process.end().read == 0
    monkeypatch.undo()
    with running(stream.config(checkpoint={"every": "50ms"})):
        assert_exact(stream, records)


def test_no_offset_names_a_snapshot_that_could_not_be_written(kafka, tmp_path, monkeypatch):
    """The disk is full for a moment: the commit fails as a whole, and its records are processed again."""
    stream, write, failed = Stream(kafka, tmp_path), FolderStore.write, []

    def fail_once(store, number, name, data):
        if not failed:
            failed.append(name)
            raise OSError("no space left on device")
        write(store, number, name, data)

    records = phishing(60)
    with running(stream.config()) as process:
        stream.produce(records[:30])
        stream.read(stream.output, 30)
        monkeypatch.setattr(FolderStore, "write", fail_once)
        stream.produce(records[30:])
        stream.read(stream.output, 60)
        process.end()
    assert_exact(stream, records)
    assert failed and not {stream.pointer(number).snapshot for number in range(stream.partitions)} & set(failed)


@pytest.mark.parametrize("fails", ["the store", "a message"])
def test_a_commit_that_fails_before_its_offsets_are_sent_keeps_no_files(tmp_path, fails):
    """The store is full for the large model only: each attempt would take more of the room that is left."""

    class Full(FolderStore):
        def write(self, partition, name, data):
            if partition == 1 and fails == "the store":
                raise StoreError(errno.ENOSPC, "it is full")
            super().write(partition, name, data)

    def refuse():
        raise ClientError("a message is too large")

    store, numbers = Full(tmp_path), (0, 1, 2)
    partitions = {
        n: Partition(f"events-{n}-", PartitionModel(PAClassifier(), "", 0, {}.get), ReplayProof(7, 0, False), None)
        for n in numbers
    }
    assignment = SimpleNamespace(
        ownership=object(), partitions=partitions, told=3,
        restorer=SimpleNamespace(store=store, topic=SimpleNamespace(id="t")),
    )  # fmt: skip
    config = SimpleNamespace(
        labels=None, rejects=None, record=Record(label="y"),
        checkpoint=SimpleNamespace(guarantee="exactly_once", every=1.0), snapshots=SimpleNamespace(every=None),
    )  # fmt: skip
    outbox = SimpleNamespace(
        moved=set(numbers), add_moved=lambda numbers: None, flush=lambda seconds: None, check_sends=refuse
    )
    consumer = SimpleNamespace(committed=lambda numbers, seconds: dict.fromkeys(numbers))
    committer = Committer(
        config, consumer, assignment, outbox, SimpleNamespace(committed=1.0, transaction=1.0), None,
        SimpleNamespace(note_snapshot=lambda *_: None), SimpleNamespace(ready=lambda partitions: {}),
    )  # fmt: skip
    for _ in range(3):
        with pytest.raises((StoreError, ClientError)):
            committer.commit()
    committer._writers.shutdown()
    assert not any(store.sizes(number) for number in numbers)
