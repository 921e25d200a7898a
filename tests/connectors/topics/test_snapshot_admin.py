"""The commands of an operator, each tried on a real Kafka: what follows is what the bare learner gives."""

import contextlib
import json
import re
import shutil
import time
from types import SimpleNamespace

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.structs import OffsetAndMetadata
from typer.testing import CliRunner

from connectors import cli
from connectors.config.schema import Keep, Record
from connectors.errors import ConnectorError, StateError
from connectors.kafka import ClientError
from connectors.labels import waiting_files
from connectors.labels.waiting import WaitingRecords
from connectors.model.records import Record as Message
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import FolderStore
from connectors.topics import processor, snapshot_admin
from connectors.topics.offset_metadata import OffsetMetadata
from river_margins import KernelPerceptron, PAClassifier, snapshot
from tests.helpers.paths import ROOT
from tests.helpers.streams import Stream, ended, phishing, running, twin, wait_for


class Operator:
    """Types commands for a stream."""

    def __init__(self, stream):
        self.file = str(stream.file())

    def run(self, command, *arguments, fails=0):
        ended = CliRunner().invoke(cli.app, ["snapshots", command, self.file, *map(str, arguments)])
        said, code, self.warned = ended.output, ended.exit_code, ended.stderr
        if isinstance(ended.exception, ConnectorError):
            said, code = str(ended.exception), ended.exception.exit_code
        elif ended.exception and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        assert code == fails, said
        return said if fails else ended.stdout

    def table(self, command, *arguments):
        titles, *lines = [line.split("\t") for line in self.run(command, *arguments).splitlines()]
        return [dict(zip(titles, line, strict=True)) for line in lines]

    def follow(self, error, way="--empty"):
        """Types the command with which an error goes on with empty models, or in another way."""
        (arguments,) = re.findall(f"`river-margins snapshots rewind FILE ({way}.*?)`", str(error))
        return self.table("rewind", *arguments.split())


RECORDS = phishing(90)


def outputs(stream, count):
    found = {number: [] for number in range(stream.partitions)}
    for message in stream.read(stream.output, count):
        found[message.partition].append(json.loads(message.value))
    return found


@pytest.fixture
def keep(request):
    return getattr(request, "param", {"last": 100})


@pytest.fixture
def stream(kafka, tmp_path, keep):
    """One partition whose snapshots of offsets 20, 40 and 60 are kept; nobody works on it now."""
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "keep": keep}
    with running(stream.config()):
        for begin in (0, 20, 40):
            stream.produce(RECORDS[begin : begin + 20])
            stream.read(stream.output, begin + 20)
            wait_for(lambda end=begin + 20: stream.committed(0).offset == end, "its commit")
    for path in (tmp_path / "snapshots").rglob("*.snapshot"):
        if SnapshotName.parse(path.stem).offset % 20:  # a commit that was due between two records
            path.unlink()
    return stream


@pytest.fixture
def operator(stream):
    return Operator(stream)


def model_after(stream, count):
    model = stream.config().build_learner()
    twin(model, RECORDS[:count])
    return model


def goes_on(stream, offset, count):
    """Runs the processor on: it must answer everything from this offset, with the model of that offset."""
    before = len(list(all_outputs(stream)))
    stream.produce(RECORDS[60:])
    expected = twin(model_after(stream, count), RECORDS[offset:])
    with running(stream.config()) as process:
        found = [json.loads(message.value) for message in stream.read(stream.output, before + len(expected))]
        assert process.end().read == len(expected)
    assert found[before:] == expected
    path = stream.snapshot_path()
    model = model_after(stream, count)
    twin(model, RECORDS[offset:])
    assert snapshot.dumps(snapshot.load(path)) == snapshot.dumps(model)


def all_outputs(stream):
    with stream.reader(stream.output) as (consumer, places):
        while any(consumer.position(place) < consumer.end_offsets([place])[place] for place in places):
            for messages in consumer.poll(timeout_ms=200).values():
                yield from messages


def id_at(operator, offset):
    return [row["snapshot"] for row in operator.table("list") if row["offset"] == str(offset)][-1]


def test_show_of_a_kernel_names_no_weights():
    model = KernelPerceptron()
    model.learn_one({"x": 1.0}, True)
    shown = dict(snapshot_admin.contents(snapshot.dumps(model)))
    assert shown["KernelPerceptron.n_seen"] == "1" and "KernelPerceptron.weights" not in shown


def test_list_and_show_and_export(stream, operator, tmp_path):
    rows = operator.table("list")
    assert [row["offset"] for row in rows if int(row["offset"]) % 20 == 0] == ["0", "20", "40", "60"]
    assert [row["offset"] for row in rows if row["committed"]] == ["60"]
    last = rows[-1]
    path = stream.snapshot_path()
    assert int(last["bytes"]) == path.stat().st_size
    assert int(last["examples"]) == sum(record.get("y") is not None for record in RECORDS[:60])
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", last["time"])
    for said in (operator.table("show", last["snapshot"]), Operator.table(Shown(path), "show")):
        shown = {row["what"]: row["value"] for row in said}
        assert shown["learner"] == "StandardScaler() | PAClassifier()"
        assert "river-margins" in shown["written by"]
        assert shown["PAClassifier.n_seen"] == last["examples"] and shown["PAClassifier.weights"] == "10"
    exported = tmp_path / "model.snapshot"
    for replaced in (False, True):
        said = operator.run("export", id_at(operator, 40)[-8:], "--to", exported)
        assert said.rstrip().endswith("in place of the file that was there") is replaced
    assert snapshot.dumps(snapshot.load(exported)) == snapshot.dumps(model_after(stream, 40))
    assert "there is no snapshot `nothing`" in operator.run("show", "nothing", fails=4)
    assert "say which snapshot" in operator.run("show", fails=2)
    assert "cannot be written" in operator.run(
        "export", id_at(operator, 40)[-8:], "--to", tmp_path / "no" / "a", fails=3
    )
    assert "cannot be read" in Shown(tmp_path / "none").run("show", fails=3)


class Shown(Operator):
    def __init__(self, path):
        self.file = str(path)


def test_list_marks_what_was_committed_while_it_read_the_store(stream, operator, monkeypatch):
    path, read = stream.snapshot_path(), snapshot_admin.SnapshotAdmin._metadata
    aside = path.rename(path.with_suffix(".aside"))

    def commits_meanwhile(admin):
        aside.rename(path)
        return read(admin)

    monkeypatch.setattr(snapshot_admin.SnapshotAdmin, "_metadata", commits_meanwhile)
    assert [row["offset"] for row in operator.table("list") if row["committed"]] == ["60"]


def test_another_working_directory_is_no_empty_store(tmp_path, monkeypatch):
    """A new model would be written there, where no processor finds it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "deploy" / "examples" / "phishing.yaml", "phishing.yaml")
    said = Shown("phishing.yaml").run("rewind", "--empty", fails=4)
    assert f"`{tmp_path}/snapshots` does not exist: a relative `snapshots` begins at the working directory" in said
    assert said.endswith("before its first start, `river-margins lint --check-broker FILE` makes the folder")


def test_the_last_eight_characters_of_an_empty_model():
    names = [SnapshotName.new(60, 0, is_empty=True), SnapshotName.new(70, 10, is_empty=False)]
    admin = object.__new__(snapshot_admin.SnapshotAdmin)
    admin.entries = lambda: [snapshot_admin.Entry(0, text, SnapshotName.parse(text), 1, False) for text in names]
    assert [admin.entry(text[-8:]).id for text in names] == names
    assert admin.entry(SnapshotName.parse(names[0]).suffix).id == names[0]


def test_show_of_what_is_no_snapshot(tmp_path):
    (tmp_path / "x").write_bytes(b"junk")
    assert f"`{tmp_path}/x`: " in Shown(tmp_path / "x").run("show", fails=4)


def test_rewind_to_a_snapshot(stream, operator):
    (moved,) = operator.table("rewind", "--to", id_at(operator, 20))
    assert (moved["from offset"], moved["to offset"]) == ("60", "20")
    goes_on(stream, 20, 20)


def test_rewind_to_an_offset_and_to_a_time(stream, operator):
    (moved,) = operator.table("rewind", "--offset", 45)
    assert moved["to offset"] == "40"
    (moved,) = operator.table("rewind", "--time", "now")  # moves forward too: nothing was answered in between
    assert (moved["from offset"], moved["to offset"]) == ("40", "60")
    assert "records from offset 40 to 59 without an output get none" in operator.warned
    said = operator.run("rewind", "--time", "2020-01-01", fails=4)
    assert "partition 0 has no snapshot that old" in said and "rewind FILE --empty --partition 0`" in said
    assert "is not a time" in operator.run("rewind", "--time", "yesterday", fails=2)
    assert "is in the future" in operator.run("rewind", "--time", "2999-01-01T00:00:00Z", fails=2)
    assert "give exactly one of" in operator.run("rewind", fails=2)
    assert "has no partition 7" in operator.run("rewind", "--time", "now", "--partition", 7, fails=4)
    goes_on(stream, 60, 60)


@pytest.mark.parametrize("metadata", ["", "of another program"])
def test_rewind_after_an_operator_reset_the_offset(stream, operator, metadata):
    with stream.group() as consumer:
        consumer.commit({TopicPartition(stream.input, 0): OffsetAndMetadata(33, metadata)})
    with pytest.raises(StateError, match="`river-margins snapshots rewind` moves it together") as refused:
        processor.run(stream.config())
    (moved,) = operator.follow(refused.value, "--offset")
    assert (moved["from offset"], moved["to offset"]) == ("33", "20")
    goes_on(stream, 20, 20)


def test_rewind_after_the_group_was_deleted(stream, operator):
    wait_for(lambda: not stream.members(), "the end of the last member")
    with stream.admin() as admin:
        admin.delete_groups([stream.name])
    old(stream, 70, 3600)  # of work that a rewind has undone
    with pytest.raises(StateError, match="has no committed offset") as refused:
        processor.run(stream.config())
    id, other = re.findall(r"rewind FILE --to (\S+)`", str(refused.value))
    assert SnapshotName.parse(other).order < SnapshotName.parse(id).order
    (moved,) = operator.table("rewind", "--to", id)
    assert (moved["from offset"], moved["to offset"]) == ("", "60")
    goes_on(stream, 60, 60)


def test_partitions_start_over_one_by_one_after_the_group_was_deleted(kafka, tmp_path):
    """With `latest` each of them goes on at its end, also the last one: it is no new partition."""
    stream = Stream(kafka, tmp_path, partitions=2, checkpoint={"every": "50ms"})
    stream.settings["input"]["start"], stream.settings["on_bad_state"] = "latest", "stop"
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(1), "the first commit")
        for number in (0, 1):
            stream.produce(RECORDS[:10], partition=number)
        stream.read(stream.output, 20)
        process.end()
    wait_for(lambda: not stream.members(), "the end of the last member")
    with stream.admin() as admin:
        admin.delete_groups([stream.name])
    for number in (0, 1):
        with pytest.raises(StateError, match="has no committed offset") as refused:
            processor.run(stream.config())
        Operator(stream).follow(refused.value)
        assert (stream.committed(number).offset, stream.pointer(number).partitions) == (10, 2)


def test_the_group_was_deleted_after_a_rewind_to_an_empty_model(stream, operator):
    """What was before is undone: the processor goes on with the empty model, and answers nothing twice."""
    written = SnapshotName.parse(stream.pointer().snapshot).time
    wait_for(lambda: time.time() >= written + 1, "another second: names tell no less")
    operator.run("rewind", "--empty")
    named = stream.pointer().snapshot
    wait_for(lambda: not stream.members(), "the end of the last member")
    with stream.admin() as admin:
        admin.delete_groups([stream.name])
    with pytest.raises(StateError, match="has no committed offset") as refused:
        processor.run(stream.config())
    id, _ = re.findall(r"rewind FILE --to (\S+)`", str(refused.value))
    assert id == named
    operator.run("rewind", "--to", id)
    goes_on(stream, 60, 0)


def test_rewind_to_an_empty_model_when_the_store_is_lost(stream, operator):
    shutil.rmtree(stream.folder / "snapshots" / stream.name)
    said = (
        r"does not exist, nor does its folder: a relative `snapshots` .*; if that is right, restore it from a backup, "
    )
    with pytest.raises(StateError, match=said):
        processor.run(stream.config())
    (moved,) = operator.table("rewind", "--empty")
    assert (moved["from offset"], moved["to offset"]) == ("60", "60")
    goes_on(stream, 60, 0)


def corrupt(stream):
    path = stream.snapshot_path()
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def lose(stream):
    stream.snapshot_path().unlink()


def reset(stream):
    with stream.group() as consumer:
        consumer.commit({stream.place(0): OffsetAndMetadata(60, "")})


def change_the_learner(stream):
    stream.settings["learner"] = ["StandardScaler", "AROWClassifier"]


def change_the_features(stream):
    stream.settings["record"] |= {"features": [name for name in RECORDS[0] if name not in ("id", "y")]}


@pytest.mark.parametrize("damage", [corrupt, lose, reset, change_the_learner, change_the_features])
def test_the_command_that_a_message_names_goes_on_with_no_output_twice(stream, damage):
    damage(stream)
    with pytest.raises(StateError) as refused:
        processor.run(stream.config())
    (moved,) = Operator(stream).follow(refused.value)
    assert moved["to offset"] == "60"
    goes_on(stream, 60, 0)


def test_the_command_after_retention_names_the_first_record_that_is_left(stream, operator):
    stream.produce(RECORDS[60:70])
    with stream.admin() as admin:
        admin.delete_records({stream.place(0): 65})
    with pytest.raises(StateError, match="out of range") as refused:
        processor.run(stream.config())
    (moved,) = operator.follow(refused.value)
    assert (moved["from offset"], moved["to offset"]) == ("60", "65")
    with running(stream.config()) as process:
        stream.read(stream.output, 60 + 5)
        assert process.end().read == 5


def test_the_message_after_retention_tells_how_to_keep_the_model(stream, operator, tmp_path):
    with stream.admin() as admin:
        stream.produce(RECORDS[60:70])
        admin.delete_records({stream.place(0): 65})
    with pytest.raises(StateError, match="out of range") as refused:
        processor.run(stream.config())
    (id,) = re.findall(r"`river-margins snapshots export FILE (\S+) --to model-0.snapshot`", str(refused.value))
    operator.run("export", id, "--to", tmp_path / "model-0.snapshot")
    operator.file = str(stream.file(start_from=str(tmp_path / "model-0.snapshot")))
    operator.follow(refused.value)
    assert f"begin with the model of `start_from`, `{tmp_path / 'model-0.snapshot'}`" in operator.warned
    model = model_after(stream, 60)
    expected = twin(model, RECORDS[65:70])
    with running(stream.config()) as process:
        found = stream.read(stream.output, 60 + 5)
        process.end()
    assert [json.loads(message.value) for message in found[60:]] == expected


def test_rewind_to_the_beginning_with_an_empty_model(stream, operator):
    operator.run("rewind", "--empty", "--offset", 0)
    goes_on(stream, 0, 0)


def test_rewind_refuses_while_a_processor_runs(stream, operator):
    with running(stream.config()) as process:
        wait_for(lambda: stream.members() == [1], "a member")
        before, there = stream.committed(0), names(stream)
        for arguments in (["--offset", 20], ["--empty"]):
            said = operator.run("rewind", *arguments, fails=4)
            assert "has members, and nothing was changed: stop its processors first" in said
        assert stream.committed(0) == before
        assert names(stream) <= there  # else a rewind to the newest snapshot would go to an empty model
        process.end()


def test_rewind_refuses_what_cannot_be_read_again(stream, operator):
    with stream.admin() as admin:
        admin.delete_records({stream.place(0): 30})
    before = stream.committed(0)
    said = operator.run("rewind", "--offset", 20, fails=4)
    assert "out of range, there are 30 to 60, and nothing was changed" in said and "--empty" not in said
    assert stream.committed(0) == before
    (moved,) = operator.table("rewind", "--offset", 40)
    assert moved["to offset"] == "40"
    assert "out of range" in operator.run("rewind", "--empty", "--offset", 29, fails=4)
    operator.run("rewind", "--empty", "--offset", 30)
    goes_on(stream, 30, 0)


def test_rewind_after_the_topic_was_created_again(stream, operator):
    kept = stream.committed(0)
    with stream.admin() as admin:
        admin.delete_topics([stream.input])
        wait_for(lambda: stream.input not in admin.list_topics(), "the end of the topic")
    stream.kafka.create_topics({stream.input: 1})
    stream.produce(RECORDS[:60])
    wait_for(lambda: stream.committed(0) is None, "the end of its offsets")
    with stream.group() as consumer:  # an operator brings them back, and means well
        consumer.commit({stream.place(0): ended(kept)})
    stream.settings["input"]["start"] = "latest"  # which is for the first start of a group
    with pytest.raises(StateError, match="was deleted and created again") as refused:
        processor.run(stream.config())
    (moved,) = Operator(stream).follow(refused.value)
    assert (moved["from offset"], moved["to offset"]) == ("60", "0")
    goes_on(stream, 0, 0)


def test_rewind_accepts_more_partitions(stream):
    """The keys lie elsewhere now, which the operator accepts: old partitions keep their models, new ones begin."""
    with stream.admin() as admin:
        admin.create_partitions({stream.input: 2})
        wait_for(lambda: len(admin.describe_topics([stream.input])[0]["partitions"]) == 2, "two partitions")
    stream.settings["input"]["new_partitions"] = "refuse"
    with pytest.raises(StateError, match="has 2 partitions, and had 1"):
        processor.run(stream.config())
    operator = Operator(stream)  # with the file of the processor
    assert [row["partition"] for row in operator.table("rewind", "--time", "now")] == ["0"]
    operator.run("rewind", "--time", "now", "--partition", 0)
    goes_on(stream, 60, 60)


# Tidying up


def old(stream, offset, age):
    """A snapshot that was written so many seconds ago."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - age))
    (folder,) = (stream.folder / "snapshots").rglob("0")
    name = f"{offset:020d}-1-{moment}-{offset:08x}"
    (folder / f"{name}.snapshot").write_bytes(snapshot.dumps(stream.config().build_learner()))
    return name


def names(stream):
    return {path.stem for path in (stream.folder / "snapshots").rglob("*.snapshot")}


@pytest.mark.parametrize("keep", [{"last": 0, "hourly": 2, "daily": 1}], indirect=True)
def test_prune(stream, operator):
    hour = SnapshotName.parse(stream.pointer().snapshot).time // 3600
    for path in (stream.folder / "snapshots").rglob("*.snapshot"):
        if SnapshotName.parse(path.stem).time // 3600 != hour:  # an hour of the clock has ended meanwhile
            path.unlink()
    young = names(stream)
    stay = {old(stream, 21, 3 * 3600)}  # the newest of its hour
    go = {old(stream, 20, 4 * 3600), old(stream, 22, 30 * 3600), old(stream, 23, 30 * 3600 + 1)}
    ahead = {old(stream, 70, 40 * 3600)}  # of a transaction that may still end
    (folder,) = (stream.folder / "snapshots").rglob("0")
    (folder / "mine.snapshot").write_bytes(b"foreign")
    assert {row["snapshot"] for row in operator.table("prune", "--dry-run")} == go
    assert names(stream) == young | stay | go | ahead | {"mine"}
    assert {row["snapshot"] for row in operator.table("prune")} == go
    assert names(stream) == young | stay | ahead | {"mine"}
    goes_on(stream, 60, 60)


@pytest.mark.parametrize("keep", [{"last": 0}], indirect=True)
def test_prune_never_touches_what_an_offset_names(stream, operator):
    """A group that stands still names an old snapshot; without a committed offset nothing goes at all."""
    named = stream.pointer()
    moment = f"{named.offset:020d}-{named.examples}-20250101T000000Z-0badcafe"
    path = stream.snapshot_path()
    path.rename(path.with_name(f"{moment}.snapshot"))
    other = old(stream, 10, 9999)
    with stream.group() as consumer:
        text = named._replace(snapshot=moment).to_text()
        consumer.commit({stream.place(0): ended(OffsetAndMetadata(60, text))})
    assert SnapshotName.parse(moment).time < time.time() - 1e6
    assert [row["snapshot"] for row in operator.table("prune")] == [other]
    with stream.admin() as admin:
        admin.delete_group_offsets(stream.name, [stream.place(0)])
    again = old(stream, 10, 9999)
    assert operator.table("prune") == [] and {moment, again} <= names(stream)


def test_a_snapshot_of_another_partition_is_refused(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.produce(phishing(20))
    with running(stream.config()) as process:
        stream.read(stream.output, 20)
        process.end()
    before = [stream.committed(n) for n in range(2)]
    Operator(stream).run("rewind", "--to", stream.pointer(0).snapshot, "--partition", 1, fails=2)
    assert [stream.committed(n) for n in range(2)] == before


def test_a_rewind_leaves_new_partitions_new(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.settings["input"] = {"topic": stream.input, "start": "latest", "new_partitions": "start"}
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0) and stream.committed(1), "the first commits")
        process.end()
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_partitions({stream.input: 3})
    stream.produce(phishing(10), partition=2)
    Operator(stream).run("rewind", "--time", "now")
    assert stream.pointer(0).partitions == 2
    with running(stream.config()):
        stream.read(stream.output, 10)


def test_now_is_after_what_a_host_with_another_clock_wrote():
    name = SnapshotName(17, 12, 2**32, "0badcafe", False)
    entry = snapshot_admin.Entry(0, str(name), name, 4, False)
    assert snapshot_admin.choose([entry], [0], None, snapshot_admin.moment_of("now")) == {0: entry}


@pytest.mark.parametrize("error", [ClientError("away"), KeyboardInterrupt()])
@pytest.mark.parametrize("is_sent", [False, True])
def test_a_move_that_was_not_sent_leaves_no_snapshot(tmp_path, error, is_sent):
    """Else the newest snapshot, to which `--time now` goes, would be an empty one that no offset names."""
    store = FolderStore(tmp_path)

    class Consumer:
        def committed(self, numbers, seconds):
            return dict.fromkeys(numbers)

        def offset_range(self, number):
            if number == 1 and not is_sent:
                raise error
            return 0, 9

        def alter_group_offsets(self, offsets, seconds):
            raise error  # perhaps after the broker has taken them

    topic = SimpleNamespace(partitions=2, id="id")
    restorer = SimpleNamespace(
        store=store, topic=topic, labels=None, partitions_before=lambda committed: 2,
        stored=SimpleNamespace(former=lambda number: None),
        check_metadata=lambda *_: None, check_snapshot=lambda *_: None,
    )  # fmt: skip
    reads = SimpleNamespace(topic="events", start="earliest", new_partitions="start")
    config = SimpleNamespace(
        name="p", input=reads, labels=None, mixing=None, record=Record(), first_learner=PAClassifier
    )
    timeouts = SimpleNamespace(transaction=1.0, committed=1.0)
    admin = snapshot_admin.SnapshotAdmin(config, Consumer(), restorer, timeouts)
    with pytest.raises(type(error)):
        admin.start_anew([0, 1], None)
    assert [len(store.sizes(number)) for number in range(2)] == ([1, 1] if is_sent else [0, 0])


@pytest.mark.parametrize("is_lost", [False, True])
def test_prune_keeps_what_an_index_that_cannot_be_read_may_need(tmp_path, is_lost):
    store, files, names = FolderStore(tmp_path), waiting_files.WaitingFiles(WaitingRecords(10**12, 10**6)), []
    for number in range(3):
        record = Message(f"events-0-{number}", None, b"%d" % number)
        record.prediction, record.score = True, 0.5
        files.records.advance(number)
        files.records.add(f"r{number}", number, record)
        names.append(f"{number:020d}-0-20250101T00000{number}Z-{number:08x}")
        prepared = files.prepare(names[-1], number, topic="labels")
        for name, content in prepared.files.items():
            store.write(0, name, content)
        store.write(0, names[-1], b"model")
        files.remember(prepared)
    index = store.read(0, f"{names[-1]}-waiting")
    if is_lost:
        store.delete(0, f"{names[-1]}-waiting")
    else:
        store.write(0, f"{names[-1]}-waiting", b"damaged")
    digest = prepared.sha256
    committed = OffsetMetadata(names[-1], digest, "id", 1, "host", 2, 0, 0, 0, "labels", 2, digest).to_committed()
    admin = object.__new__(snapshot_admin.SnapshotAdmin)
    admin._store, admin._numbers = store, range(1)
    admin._timeouts = SimpleNamespace(transaction=10.0, committed=1.0)
    admin._config = SimpleNamespace(snapshots=SimpleNamespace(keep=Keep(last=1)), mixing=None)
    admin._consumer = SimpleNamespace(committed=lambda numbers, seconds: {0: committed})
    assert [entry.id for entry in admin.prune(False)] == names[:2]
    store.write(0, f"{names[-1]}-waiting", index)  # from a backup, as the processor says
    found = waiting_files.read(store, 0, names[-1], digest, 10**12, 10**6)
    assert len(found.records.records) == 3
    assert {name for name in store.sizes(0) if name.endswith("-waiting")} == {f"{names[-1]}-waiting"}
