"""What `lint --check-broker` finds in the state that an earlier run left: all of it at once, by partition."""

import errno
import os
import tempfile

import pytest
from kafka.structs import OffsetAndMetadata

from connectors import cli
from connectors.errors import StartError, StateError
from connectors.topics import check_broker, check_state, processor, startup
from connectors.topics.advice import keep_model
from connectors.topics.offset_metadata import OffsetMetadata
from tests.helpers.streams import BOTH_CLIENTS, Stream, ended, phishing, running, wait_for

PARTITIONS = 8
CHANGED = ["StandardScaler", {"PAClassifier": {"C": 0.5, "mode": 1}}]


@pytest.fixture
def learned(kafka, tmp_path):
    """A stream whose partitions a processor has all learned, and left."""
    stream = Stream(kafka, tmp_path, partitions=PARTITIONS)
    stream.produce(phishing(20 * PARTITIONS))
    with running(stream.config()) as process:
        stream.read(stream.output, 20 * PARTITIONS)
        process.end()
    return stream


def findings(stream, **changes):
    return list(check_state.check_state(stream.config(**changes)))


def commit(stream, partition, offset, metadata):
    with stream.group() as consumer:
        consumer.commit({stream.place(partition): ended(OffsetAndMetadata(offset, metadata))})


@BOTH_CLIENTS
def test_all_is_found_at_once(learned):
    assert findings(learned) == []
    learned.snapshot_path(0).unlink()
    data = bytearray(learned.snapshot_path(1).read_bytes())
    data[-1] ^= 1
    learned.snapshot_path(1).write_bytes(data)
    commit(learned, 2, 20, "of another program")
    past = learned.pointer(3)._replace(offset=30)
    commit(learned, 3, 30, past.to_text())
    commit(learned, 7, 40, learned.pointer(7)._replace(offset=40).to_text())
    os.chmod(learned.snapshot_path(4), 0)
    with learned.admin() as admin:
        admin.delete_group_offsets(learned.name, [learned.place(5)])
    found = findings(learned, learner=["StandardScaler", "Perceptron"])
    said = [(finding.kind, finding.sentence) for finding in found]
    expected = [
        (StateError, "which the committed offset of partition 0 of", "does not exist; restore it from a backup"),
        (StateError, "which the committed offset of partition 1 of", "is corrupt: its SHA-256"),
        (StateError, "offset 20 of partition 2 of", "was committed by something else"),
        (StateError, "offset 30 of partition 3 of", "is out of range, there are 0 to"),
        (StateError, "the learner is not the one of snapshot", "(the same for partition"),
        (StateError, "has no committed offset for partition 5 of", "the offset expired or was deleted"),
    ]
    if os.geteuid():  # root reads every file
        expected.append((StartError, "partition 4", "cannot be read"))
    for kind, *parts in expected:
        assert sum(issubclass(k, kind) and all(part in sentence for part in parts) for k, sentence in said) == 1, (
            parts,
            said,
        )
    assert len(said) == len(expected)
    (lost,) = [sentence for _, sentence in said if "offset 30 of partition 3" in sentence]
    assert lost.endswith(
        "--empty --offset 20 --partition 3` (the same for partition 7, with their own commands in place of those: "
        "partition 7: `river-margins snapshots rewind FILE --empty --offset 20 --partition 7`)"
    )


def test_the_commands_of_a_partition_stand_together(learned):
    """They are alternatives: an empty model, the newest one, and the one before it."""
    with learned.admin() as admin:
        admin.delete_group_offsets(learned.name, [learned.place(number) for number in (5, 6, 7)])
    (found,) = [each.sentence for each in findings(learned) if each.kind]
    restorer = startup.make_first_restorer(learned.config(), learned.config().kafka.consumer_settings)
    for number in (6, 7):
        *_, before, last = [text for text, _ in restorer.stored.written(number)]
        rewind = "`river-margins snapshots rewind FILE"
        choice = f"{rewind} --empty --partition {number}`, {rewind} --to {last}`, {rewind} --to {before}`"
        assert f"partition {number}: {choice}" in found


def test_what_is_the_same_for_all_is_said_once(learned):
    (finding,) = findings(learned, record={"id": "id", "label": "https"})
    assert finding.sentence.endswith("(the same for partition 1 to 7)") and "`record.label` was `y`" in finding.sentence
    assert check_broker.exit_code([finding]) == 4
    (note,) = findings(learned, learner=CHANGED)
    assert note.kind is None and note.sentence.endswith(": PAClassifier C 0.01 -> 0.5")


def test_more_partitions_that_the_file_refuses(learned):
    more = PARTITIONS + 1
    with learned.admin() as admin:
        admin.create_partitions({learned.input: more})
        wait_for(lambda: len(admin.describe_topics([learned.input])[0]["partitions"]) == more, "the new partition")
    assert [finding for finding in findings(learned) if finding.kind] == []
    (finding,) = findings(learned, input={"topic": learned.input, "start": "earliest", "new_partitions": "refuse"})
    assert finding.kind is StateError and "has 9 partitions, and had 8 when the models" in finding.sentence


def test_a_topic_that_was_created_again(learned):
    with learned.admin() as admin:
        admin.delete_topics([learned.input])
    wait_for(lambda: learned.input not in _topics(learned), "the end of the topic")
    wait_for(lambda: _create(learned), "the topic")
    found = findings(learned)
    assert found and all("created again" in finding.sentence for finding in found)
    with pytest.raises(StateError, match="created again"):
        processor.run(learned.config())


def _topics(stream):
    with stream.admin() as admin:
        return admin.list_topics()


def _create(stream):
    stream.kafka.create_topics({stream.input: PARTITIONS})
    return True


def test_a_store_that_cannot_be_written(learned):
    file = learned.folder / "no-folder"
    file.write_text("")
    first, second = findings(learned, snapshots=str(file))
    assert first.kind is StartError and first.sentence.startswith(
        f"the folder of the snapshots `{file}` cannot be written"
    )
    assert second.kind is StartError and second.sentence.endswith("(the same for partition 1 to 7)")


def test_a_partition_that_cannot_be_written(learned, monkeypatch):
    """Its folder may belong to another user, such as one who has run the processor before."""
    folder, make = learned.snapshot_path(0).parent, tempfile.TemporaryFile

    def refuse(dir):
        if dir == folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        return make(dir=dir)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    (found,) = findings(learned)
    assert found.kind is StartError and f"`{folder}` cannot be written: access is denied" in found.sentence


def test_a_running_processor_is_no_problem(learned, monkeypatch):
    """It deletes the snapshot that an offset named a moment ago: then the offset is read again."""
    checked, check, ask = [], check_state._CheckState._check, check_state._CheckState._committed
    before = learned.pointer(0)

    def once_stale(self, numbers):
        answer = ask(self, numbers)
        if not checked:
            name = before.snapshot[:-8] + "00000000"
            answer[0] = answer[0]._replace(metadata=before._replace(snapshot=name).to_text())
        return answer

    def noted(self, committed, progress):
        checked.append(sorted(committed))
        return check(self, committed, progress)

    monkeypatch.setattr(check_state._CheckState, "_committed", once_stale)
    monkeypatch.setattr(check_state._CheckState, "_check", noted)
    assert findings(learned) == []
    assert checked == [[*range(PARTITIONS)], [0]]


def test_the_command_ends_with_the_code_of_the_problem(learned, monkeypatch, capsys):
    learned.snapshot_path(6).unlink()
    monkeypatch.setattr("sys.argv", ["river-margins", "lint", "--check-broker", str(learned.file())])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == StateError.exit_code
    assert "problem: the snapshot `" in (shown := capsys.readouterr().out) and "partition 6" in shown


def test_a_store_that_cannot_be_opened_is_a_finding(learned, monkeypatch):
    def refuse(url, **options):
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr("fsspec.url_to_fs", refuse)
    found = check_broker.check(learned.config(snapshots="sftp://host/models"))
    assert any("cannot be opened" in str(finding) for finding in found)


@pytest.mark.parametrize(("inputs", "but"), [(0, ""), (30, ", but for its last 30 inputs")])
def test_what_the_model_of_a_snapshot_lacks_is_said(inputs, but):
    said = keep_model(4, OffsetMetadata("s", "f" * 64, "t", 1, "h", 5, 3, inputs, 7))
    assert said.startswith(f"; to keep the model{but}, save it before, with `river-margins snapshots export FILE s ")
