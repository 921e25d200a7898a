"""One partition whose state is bad is paused, and the others go on."""

import hashlib
import json
import logging
import time

import pytest
from kafka.structs import OffsetAndMetadata

from connectors.errors import StateError
from connectors.topics import bad_partitions, processor
from connectors.topics.offset_metadata import OffsetMetadata
from tests.connectors.runtime.test_health import ask, scrape
from tests.helpers.ports import free_port
from tests.helpers.streams import (
    BOTH_CLIENTS,
    Stream,
    ended,
    let_go,
    phishing,
    read_until,
    running,
    start,
    twin,
    wait_for,
)

BAD = 1  # the partition


@pytest.fixture
def stream(kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(bad_partitions, "LONGEST_PAUSE", 1.0)
    stream = Stream(kafka, tmp_path, partitions=3)
    stream.settings["metrics"] = {"port": free_port()}
    return stream


@pytest.fixture
def learned(stream):
    """A stream that a processor has read and left."""
    stream.produce(phishing(300))
    with running(stream.config()) as process:
        stream.read(stream.output, 300)
        process.end()
    return stream


def corrupt(stream):
    path = stream.snapshot_path(BAD)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return "is corrupt"


def remove(stream):
    stream.snapshot_path(BAD).unlink()
    return "does not exist"


def reset(stream):
    with stream.group() as consumer:
        consumer.commit({stream.place(BAD): ended(OffsetAndMetadata(10, ""))})
    return "was committed by something else"


def forget(stream):
    with stream.admin() as admin:
        admin.delete_group_offsets(stream.name, [stream.place(BAD)])
    return "has no committed offset"


def point_elsewhere(stream):
    found = stream.committed(BAD)
    data = json.loads(found.metadata) | {"snapshot": "../../../victim/precious"}
    with stream.group() as consumer:
        consumer.commit({stream.place(BAD): ended(OffsetAndMetadata(found.offset, json.dumps(data)))})
    return "was committed by something else"


def exact(stream, records, but=None):
    """The outputs of each partition but one are those of the bare learner, once and in order."""
    found = {number: [] for number in range(stream.partitions)}
    mine = [n for n in range(len(records)) if n % stream.partitions != but]
    silent = 300 // stream.partitions if but is not None else 0
    for message in stream.read(stream.output, len(mine) + silent):
        found[message.partition].append(json.loads(message.value))
    for number, outputs in found.items():
        if number != but:
            assert outputs == twin(stream.config().build_learner(), records[number :: stream.partitions])


@BOTH_CLIENTS
@pytest.mark.parametrize("harm", [corrupt, remove, reset, forget, point_elsewhere])
def test_the_others_go_on(learned, caplog, harm):
    said, port, records = harm(learned), learned.settings["metrics"]["port"], phishing(600)
    before = learned.committed(BAD)
    with running(learned.config()) as process:
        learned.produce(records[300:])
        exact(learned, records, but=BAD)
        status, text = ask(port, "/ready")
        assert status == 503 and f"partition {BAD} is paused: " in text and said in text
        assert ask(port, "/live")[0] == 200
        found = scrape(port)
        assert found["paused_partitions", str(BAD), learned.input] == 1
        assert ("paused_partitions", "0", learned.input) not in found
        process.end()
    assert learned.committed(BAD) == before
    (line,) = [r for r in caplog.records if "is paused, the others go on" in r.getMessage()]
    assert line.getMessage().startswith(f"partition {BAD} of `{learned.input}`") and said in line.getMessage()
    assert (line.topic, line.partition) == (learned.input, BAD)


@pytest.mark.parametrize("harm", [corrupt, remove, reset])
def test_stop_ends_the_processor(learned, harm):
    said = harm(learned)
    with pytest.raises(StateError, match=said):
        processor.run(learned.config(on_bad_state="stop"))


def test_all_bad_ends_the_processor(learned):
    for path in (learned.folder / "snapshots").rglob("*.snapshot"):
        path.write_bytes(b"nothing")
    with pytest.raises(StateError, match="is corrupt"):
        processor.run(learned.config())


def test_a_restored_file_lets_the_partition_go_on(learned):
    path, records = learned.snapshot_path(BAD), phishing(600)
    data = path.read_bytes()
    path.unlink()
    with running(learned.config()) as process:
        learned.produce(records[300:])
        exact(learned, records, but=BAD)
        path.write_bytes(data)
        exact(learned, records)
        wait_for(lambda: ask(learned.settings["metrics"]["port"], "/ready")[0] == 200, "the partition")
        process.end()


@BOTH_CLIENTS
def test_records_that_are_deleted_under_a_processor(learned):
    """The partition whose records are gone stands still, the others go on in the same process."""
    records, port = phishing(600), learned.settings["metrics"]["port"]
    before = """
        from connectors.topics.assignment import Assignment
        def resume(assignment, step=Assignment.resume):
            Assignment.resume = step
            step(assignment)
            while assignment.loading:
                time.sleep(0.01)
                assignment.take_loaded()
            hold()
        Assignment.resume = resume
    """
    process = start(learned.file(), before)
    try:
        read_until(process, "held")
        learned.produce(records[300:])
        with learned.admin() as admin:
            admin.delete_records({learned.place(BAD): 190})
        let_go(process)
        exact(learned, records, but=BAD)
        wait_for(lambda: f"partition {BAD} is paused: offset 100 of partition {BAD} " in ask(port, "/ready")[1], "it")
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_a_bad_partition_does_not_kill_its_owners(learned):
    """It is found by whoever is given it; all of them live on."""
    corrupt(learned)
    records = phishing(600)
    learned.settings.pop("metrics")
    processes = [start(learned.file()) for _ in range(3)]
    try:
        wait_for(lambda: learned.members() == [1, 1, 1], "three members")
        learned.produce(records[300:])
        exact(learned, records, but=BAD)
        for process in processes[:2]:
            process.kill()
            process.communicate()
        wait_for(lambda: learned.members() == [3], "one member")
        assert processes[2].poll() is None
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_inputs_that_are_not_those_that_were_learned(learned, caplog):
    """Found at the end of a replay: this partition is paused, and what it had sent is dropped."""
    caplog.set_level(logging.INFO)
    found = learned.committed(BAD)
    wrong = OffsetMetadata.from_text(found.metadata)
    names = {p.stem: p for p in (learned.folder / "snapshots").rglob("*.snapshot") if p.parent.name == str(BAD)}
    older = min(names)
    data = names[older].read_bytes()
    wrong = wrong._replace(snapshot=older, sha256=hashlib.sha256(data).hexdigest(), inputs=100, crc=7)
    with learned.group() as consumer:
        consumer.commit({learned.place(BAD): ended(OffsetAndMetadata(found.offset, wrong.to_text()))})
    records = phishing(600)
    learned.settings["snapshots"] = {"folder": learned.settings["snapshots"], "every": "1h"}
    with running(learned.config()) as process:
        learned.produce(records[300:])
        exact(learned, records, but=BAD)
        process.end()
    assert [r for r in caplog.records if "are not those that were learned" in r.getMessage()]


@BOTH_CLIENTS
def test_an_offset_beyond_the_end_stays_bad_when_the_topic_grows_past_it(learned):
    """The brokers have lost records. New ones get their offsets: to go on behind them would skip them."""
    port, records = learned.settings["metrics"]["port"], phishing(600)
    beyond = OffsetMetadata.from_text(learned.committed(BAD).metadata)._replace(offset=150)
    with learned.group() as consumer:
        consumer.commit({learned.place(BAD): ended(OffsetAndMetadata(150, beyond.to_text()))})
    with running(learned.config()) as process:
        wait_for(lambda: "the topic lost records" in ask(port, "/ready")[1], "the pause")
        learned.produce(records[300:])
        exact(learned, records, but=BAD)
        time.sleep(3 * bad_partitions.LONGEST_PAUSE)  # in which it would have gone on
        assert ask(port, "/ready")[0] == 503
        process.end()
    assert learned.committed(BAD).offset == 150


def test_the_lag_of_a_paused_partition_is_known(learned):
    remove(learned)
    port = learned.settings["metrics"]["port"]
    with running(learned.config()) as process:
        learned.produce(phishing(600)[300:])
        wait_for(lambda: scrape(port).get(("lag_records", str(BAD), learned.input)) == 100, "the lag of it")
        process.end()
