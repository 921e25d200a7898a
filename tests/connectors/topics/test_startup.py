"""What stops a processor before it joins the group: each error says what is wrong and what to do."""

import concurrent.futures
import contextlib
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from types import SimpleNamespace

import pytest
import trustme
from kafka import KafkaProducer

from connectors import config
from connectors.errors import AccessError, StartError, StateError
from connectors.kafka import ClientError, Cluster, Topic, client
from connectors.snapshots import check_learner
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import THREADS, FolderStore
from connectors.topics import processor, startup
from connectors.topics.check_state import check_state
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.restore import Restorer
from river_margins import snapshot
from tests.helpers import streams
from tests.helpers.streams import BOTH_CLIENTS, DEADLINE, Stream, ended, phishing, running, start, wait_for


@pytest.fixture
def stream(kafka, tmp_path):
    return Stream(kafka, tmp_path, partitions=1)


@pytest.fixture
def learned(stream):
    """A stream that a processor has read and left."""
    stream.produce(phishing(30))
    with running(stream.config()) as process:
        stream.read(stream.output, 30)
        process.end()
    return stream


def refused(stream, error, *sentences, **changes):
    """Runs the processor, which must end with an error that says all this, before any member joins the group."""
    with pytest.raises(error) as raised:
        processor.run(stream.config(**changes))
    for sentence in sentences:
        assert sentence in str(raised.value)
    assert stream.members() == []


def snapshots(stream):
    return sorted((stream.folder / "snapshots").rglob("*.snapshot"))


@BOTH_CLIENTS
def test_no_broker(stream):
    file = stream.file(kafka={"bootstrap_servers": "localhost:1"})
    process = start(file, "from connectors.topics import startup; startup.BROKER_WAIT = 1.0")
    _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == StartError.exit_code
    assert "no broker answered at `localhost:1` within 1 s" in said.splitlines()[-1]


@BOTH_CLIENTS
def test_a_file_of_the_settings_that_does_not_exist(stream, client, tmp_path, monkeypatch):
    key = {"kafka-python": "ssl_cafile", "confluent": "ssl.ca.location"}[client]
    monkeypatch.setattr(startup, "BROKER_WAIT", 2.0)
    monkeypatch.setenv("HOME", str(tmp_path))
    stream.settings["kafka"] |= {"security_protocol": "SSL", key: "~/authority.pem"}
    with pytest.raises(StartError, match=f"the file `{tmp_path}/authority.pem` of `{key}` does not exist"):
        processor.run(stream.config())


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("security.protocol", "`{mechanism}` has no effect without `{protocol}: SASL_SSL`"),
        ("sasl.mechanism", "`{mechanism}` is missing, such as"),
        ("sasl.username", "`{user}` is missing"),
        ("sasl.password", "`{password}` is missing"),
        (None, "no broker answered"),
    ],
)
@BOTH_CLIENTS
def test_what_a_password_needs_is_named(stream, client, left_out, said):
    """Without `security_protocol` both clients connect without a password: the broker only closes the connection."""
    keys = dict(zip(("mechanism", "user", "password"), SASL[client], strict=True))
    keys["protocol"] = {"kafka-python": "security_protocol", "confluent": "security.protocol"}[client]
    which = {"sasl.mechanism": "mechanism", "sasl.username": "user", "sasl.password": "password"}
    given = SASL[client] | {"security_protocol": "SASL_PLAINTEXT"}
    if left_out is not None:
        given.pop("security_protocol" if left_out == "security.protocol" else keys[which[left_out]])
    stream.settings["kafka"] |= given
    assert said.format(**keys) in startup.no_answer(stream.config().kafka, 1, ClientError("closed"))


@BOTH_CLIENTS
def test_a_password_that_one_side_lacks_is_named(stream, client):
    """Consumer and producer may be two users."""
    _, user, password = SASL[client]
    protocol = {"kafka-python": "security_protocol", "confluent": "security.protocol"}[client]
    sides = {"consumer": SASL[client], "producer": {key: SASL[client][key] for key in SASL[client] if key != password}}
    stream.settings["kafka"] |= {protocol: "SASL_PLAINTEXT"} | sides
    said = startup.no_answer(stream.config().kafka, 1, ClientError("closed"))
    assert f"`{password}` is missing" in said and user not in said


@BOTH_CLIENTS
def test_a_certificate_that_one_side_lacks_is_told(stream, client, tmp_path):
    """The consumer has none; the broker did not refuse that of the producer."""
    key = {"kafka-python": "ssl_certfile", "confluent": "ssl.certificate.location"}[client]
    trustme.CA().issue_cert("a@example.org").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    stream.settings["kafka"]["producer"] = {key: str(tmp_path / "both.pem")}
    said = startup.no_answer(stream.config().kafka, 1, ClientError("tlsv13 alert certificate required"))
    assert "names none for the consumer or for the producer" in said


SASL = {
    "kafka-python": {"sasl_mechanism": "PLAIN", "sasl_plain_username": "u", "sasl_plain_password": "p"},
    "confluent": {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
}


@BOTH_CLIENTS
def test_a_broker_without_sasl(stream, client, monkeypatch, caplog):
    """It answers, and refuses the user: no waiting helps. The reason is told also by commands with a silent log."""
    monkeypatch.setattr(startup, "BROKER_WAIT", 2.0)
    caplog.set_level(logging.CRITICAL, "kafka")
    stream.settings["kafka"] |= SASL[client] | {"security_protocol": "SASL_PLAINTEXT"}
    with pytest.raises(AccessError, match=r"(?i)sasl.*the broker takes no password at this port"):
        processor.run(stream.config())


def test_a_broker_that_answers_late(stream, monkeypatch):
    """One of several is away or has only just begun: whatever is asked before the start is asked again."""
    consumer, failed = client(streams.CLIENT).Consumer, []
    answers = {name: getattr(consumer, name) for name in ("committed", "offset_range", "join")}
    for name in answers:

        def ask(self, *arguments, name=name):
            if name not in failed:
                failed.append(name)
                raise ClientError("not yet")
            return answers[name](self, *arguments)

        monkeypatch.setattr(consumer, name, ask)
    stream.produce(phishing(30))
    with running(stream.config()):
        stream.read(stream.output, 30)
    assert failed == ["committed", "join", "offset_range"]
    failed.clear()
    with running(stream.config()) as process:
        wait_for(lambda: len(failed) == 3, "the same for a group that has committed")
        process.end()

    def never(self, *arguments):
        raise ClientError("not yet")

    monkeypatch.setattr(consumer, "committed", never)
    monkeypatch.setattr(startup, "BROKER_WAIT", 1.5)
    refused(stream, StartError, "does not answer as it should: not yet")


@BOTH_CLIENTS
def test_a_mistyped_topic_is_named_and_not_created(stream):
    wrong = f"{stream.name}-evnts"
    sentences = [f"topic `{wrong}` does not exist", f"did you mean `{stream.input}`?"]
    refused(stream, StartError, *sentences, input={"topic": wrong})
    with stream.admin() as admin:
        assert wrong not in admin.list_topics()
    refused(stream, StartError, "does not exist", output={"topic": "nowhere-at-all"})
    refused(stream, StartError, "does not exist", rejects={"topic": "nowhere-at-all"})


def test_a_folder_that_cannot_be_written(stream, tmp_path):
    (tmp_path / "file").write_text("")
    refused(stream, StartError, f"`{tmp_path / 'file'}` cannot be written", snapshots=str(tmp_path / "file"))


def test_a_missing_snapshot(learned):
    path = learned.snapshot_path()
    path.unlink()
    ways = "backup", "rewind FILE --empty --partition 0`"
    refused(learned, StateError, f"the snapshot `{path}`", "partition 0", "does not exist", *ways)


def test_a_snapshot_on_another_host(learned, monkeypatch):
    learned.snapshot_path().unlink()
    monkeypatch.setattr("connectors.topics.restore.HOST", "elsewhere")
    refused(learned, StateError, "does not exist on host `elsewhere`", "must share the folder", "rewind FILE --empty")


def test_a_corrupt_snapshot(learned):
    path = learned.snapshot_path()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    refused(learned, StateError, f"the snapshot `{path}`", "is corrupt", "SHA-256")


@pytest.mark.parametrize(
    "learner",
    [
        ["StandardScaler", {"PAClassifier": {"C": 0.02, "mode": 1, "intercept": False}}],
        ["StandardScaler", "Perceptron"],
        [{"PAClassifier": {"C": 0.01, "mode": 1}}],
    ],
)
def test_another_learner(learned, learner):
    refused(learned, StateError, "the learner is not the one of snapshot", "put `learner` back", learner=learner)


def test_more_partitions(learned):
    with learned.admin() as admin:
        admin.create_partitions({learned.input: 3})
        wait_for(lambda: len(admin.describe_topics([learned.input])[0]["partitions"]) == 3, "three partitions")
    before = learned.committed(0)
    refuse = {"topic": learned.input, "new_partitions": "refuse"}
    refused(learned, StateError, "has 3 partitions, and had 1", "`input: {new_partitions: start}`", input=refuse)
    assert [learned.committed(number) for number in range(3)] == [before, None, None]


def test_snapshots_without_an_offset(learned):
    with learned.admin() as admin:
        admin.delete_group_offsets(learned.name, [learned.place(0)])
    folder = named_folder(learned)
    refused(learned, StateError, "has no committed offset", f"`{folder}`", "to start over", "rewind FILE --to 000")


def named_folder(stream):
    return snapshots(stream)[0].parent


def test_an_empty_model_of_a_start_that_died_is_no_loss(stream):
    """Between the first snapshot and its commit a processor may die: there is nothing to lose yet."""
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0), "the first commit")
        process.end()
    with stream.admin() as admin:
        admin.delete_group_offsets(stream.name, [stream.place(0)])
    stream.produce([b'{"a": 1, "y": true}'])
    with running(stream.config()):
        stream.read(stream.output, 1)


@pytest.mark.parametrize("has_labels", [False, True])
def test_latest_skips_nothing_where_a_group_has_begun_and_lost_its_offset(stream, has_labels):
    """Brokers forget the offsets of a group that nobody uses; a partition that has read nothing has no other trace."""
    stream.settings["input"]["start"] = "latest"
    if has_labels:
        labels, outcomes = f"{stream.name}-labels", f"{stream.name}-outcomes"
        stream.kafka.create_topics({labels: 1, outcomes: 1})
        stream.settings |= {"record": {"id": "id"}, "outcomes": {"topic": outcomes}}
        stream.settings["labels"] = {"topic": labels, "id": "id", "label": "y", "within": "1h", "wait": "100ms"}
    stream.produce([b'{"a": 1, "id": 1}'])
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0), "the first commit")
        process.end()
    wait_for(lambda: not stream.members(), "the end of the last member")
    with stream.admin() as admin:
        admin.delete_groups([stream.name])
    stream.produce([b'{"a": 1, "id": 2, "y": true}'])
    if has_labels:
        with contextlib.closing(KafkaProducer(bootstrap_servers=stream.kafka.bootstrap_servers)) as producer:
            producer.send(labels, b'{"id": 2, "y": true}').get(DEADLINE)
    with running(stream.config()) as process:
        (message,) = stream.read(stream.output, 1)
        assert json.loads(message.value)["id"] == 2
        if has_labels:
            assert len(stream.read(outcomes, 1)) == 1
        process.end()


def test_latest_after_retention_where_a_group_has_begun_and_lost_its_offset(stream):
    """What came since the start is partly deleted: the first record that is there is the next one."""
    stream.settings["input"]["start"] = "latest"
    with running(stream.config()) as process:
        wait_for(lambda: stream.committed(0), "the first commit")
        process.end()
    wait_for(lambda: not stream.members(), "the end of the last member")
    stream.produce([b'{"a": 1, "id": 1}', b'{"a": 1, "id": 2}'])
    with stream.admin() as admin:
        admin.delete_groups([stream.name])
        admin.delete_records({stream.place(0): 1})
    with running(stream.config()) as process:
        (message,) = stream.read(stream.output, 1)
        assert json.loads(message.value)["id"] == 2
        process.end()


@BOTH_CLIENTS
def test_records_deleted_before_they_were_read(learned):
    learned.produce(phishing(10))
    with learned.admin() as admin:
        admin.delete_records({learned.place(0): 35})
    refused(
        learned,
        StateError,
        "offset 30 of partition 0",
        "out of range",
        "35 to 40",
        "rewind FILE --empty --offset 35 --partition 0`",
    )


def test_a_topic_created_again(learned):
    """Kafka forgets the offsets of a deleted topic, we do not; nor is one that came back by hand taken for ours."""
    kept = learned.committed(0)
    with learned.admin() as admin:
        admin.delete_topics([learned.input])
        wait_for(lambda: learned.input not in admin.list_topics(), "the end of the topic")
    learned.kafka.create_topics({learned.input: 1})
    learned.produce(phishing(40))
    wait_for(lambda: learned.committed(0) is None, "the end of its offsets")
    folder = str(named_folder(learned).parent)
    refused(learned, StateError, "was deleted and created again: nothing is committed", folder, "rewind FILE --empty")
    with learned.group() as consumer:
        consumer.commit({learned.place(0): ended(kept)})
    refused(learned, StateError, "was deleted and created again")
    # Tools that copy topics to another cluster translate the offsets and keep their metadata: the snapshot is missing.
    with learned.group() as consumer:
        consumer.commit({learned.place(0): ended(kept)._replace(offset=kept.offset - 10)})
    refused(learned, StateError, "was deleted and created again", "rewind FILE --empty`")


def test_models_of_another_cluster_are_named(learned, caplog):
    """A new cluster, or one that was set up again, with the topics of the old one: the models begin anew."""
    of_cluster = named_folder(learned).parent.parent
    of_cluster.rename(of_cluster.with_name("another-cluster"))
    with learned.admin() as admin:
        admin.delete_group_offsets(learned.name, [learned.place(0)])
    said = f"the models of `{learned.input}` at this Kafka cluster begin anew"
    assert any(said in str(finding) for finding in check_state(learned.config()))
    with running(learned.config()) as process:
        learned.read(learned.output, 60)
        process.end()
    assert said in caplog.text and "another-cluster" in caplog.text


def test_models_of_another_cluster_are_named_if_the_offsets_were_copied(learned):
    of_cluster = named_folder(learned).parent.parent
    of_cluster.rename(of_cluster.with_name("another-cluster"))
    with learned.group() as consumer:
        consumer.commit({learned.place(0): ended(learned.committed(0)._replace(metadata=""))})
    refused(learned, StateError, "was committed by something else", "another-cluster", "rewind FILE --empty")


def test_models_of_another_input_are_named(learned, caplog):
    """Its records may have been copied into the new topic, and all of them would be answered again."""
    former, learned.input = learned.input, f"{learned.input}-copy"
    learned.kafka.create_topics({learned.input: 1})
    learned.settings["input"] = {"topic": learned.input}
    said = f"the models of `{learned.input}` begin anew"
    assert any(said in str(finding) for finding in check_state(learned.config()))
    with running(learned.config()) as process:
        wait_for(lambda: learned.committed(0), "the first commit")
        process.end()
    assert said in caplog.text and f"/{former}-" in caplog.text


def test_an_offset_that_was_reset_by_mistake(learned):
    snapshot = learned.pointer().snapshot
    with learned.group() as consumer:
        consumer.commit({learned.place(0): ended(learned.committed(0)._replace(offset=0, metadata=""))})
    refused(learned, StateError, "committed by something else", "if that was a mistake, to go on", f"--to {snapshot}`")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        f"""
        name: p
        kafka: {{bootstrap_servers: "127.0.0.1:1"}}
        input: {{topic: events}}
        record: {{label: y}}
        learner: [PAClassifier]
        output: {{topic: predictions}}
        snapshots: {tmp_path}
        """
    )
    return config.load(path)


def test_a_topic_that_was_there_is_not_missing_for_a_moment(file, monkeypatch):
    """A broker that was silent knows of no topic for a moment. At a start, a topic that is missing is mistyped."""
    there = {name: Topic(name, 1) for name in ("events", "predictions")}
    answers = [Cluster("c", {}, [])]

    def describe(topics, settings, seconds):
        return answers.pop() if answers else Cluster("c", there, sorted(there))

    monkeypatch.setattr(startup, "client", lambda name: SimpleNamespace(describe=describe))
    before = Restorer(file, FolderStore(file.snapshots.folder), there["events"], frozenset())
    assert startup.make_restorer(file, {}, before).topic == there["events"] and not answers
    answers.append(Cluster("c", {}, []))
    with pytest.raises(StartError, match="do not exist"):
        startup.make_restorer(file, {})


@pytest.mark.parametrize("inputs", [0, 30])
def test_labels_after_a_kill_with_inputs_since_the_snapshot(file, tmp_path, inputs):
    """The command that keeps the model goes back to the snapshot: the message says so, and how to lose nothing."""
    store, data = FolderStore(tmp_path), snapshot.dumps(file.build_learner(), check_learner.note_of(file.record))
    metadata = OffsetMetadata.of_snapshot(data, 10, 8, False, topic_id="events", partitions=1, host="h")
    store.write(0, metadata.snapshot, data)
    metadata = metadata._replace(offset=10 + inputs, inputs=inputs)
    (path,) = tmp_path.glob("*.yaml")
    path.write_text(f"{path.read_text()}labels: {{topic: labels, id: id, label: y, within: 1h}}\n".replace(" " * 8, ""))
    restorer = Restorer(config.load(path), store, Topic("events", 1), frozenset(), labels=Topic("labels", 1))
    with pytest.raises(StateError, match="were learned without `labels`") as refused:
        restorer.check_metadata(0, metadata.to_committed())
    assert (f"goes back by {inputs} inputs, whose output is written again" in str(refused.value)) == bool(inputs)


def test_partitions_that_a_topic_gets_long_after_it_was_created_again(file, tmp_path):
    """Models of the topic before still lie there. The group has begun with the topic of today when it had fewer."""
    id, former = (str(uuid.uuid4()) for _ in range(2))
    for number in range(3):
        FolderStore(tmp_path / f"events-{former}").write(number, SnapshotName.new(9, 9, is_empty=False), b"")
    restorer = Restorer(file, FolderStore(tmp_path / f"events-{id}"), Topic(id, 3), frozenset())
    data = snapshot.dumps(file.build_learner(), check_learner.note_of(file.record))
    metadata = OffsetMetadata.of_snapshot(data, 0, 0, True, topic_id=id, partitions=2, host="h")
    restorer.store.write(0, metadata.snapshot, data)
    restorer.store.write(1, metadata.snapshot, data)
    committed = {0: metadata.to_committed(), 1: metadata.to_committed(), 2: None}

    class Consumer:
        def committed(self, numbers, seconds):
            return {number: committed[number] for number in numbers}

        def offset_range(self, number):
            return 0, 0

    assert startup._Check(Consumer(), restorer, 1.0).problems() == {}
    committed[1] = None  # which it had from the beginning, so its offset was lost with the topic before
    with pytest.raises(StateError, match="was deleted and created again"):
        startup._Check(Consumer(), restorer, 1.0).problems()


def test_growth_is_seen_where_the_group_has_lost_its_offsets(file, tmp_path):
    """Two partitions have begun, and one of them has learned: the third one is new, which the file may refuse."""
    restorer = Restorer(file, FolderStore(tmp_path / "events-t"), Topic("t", 3), frozenset())
    restorer.store.write(0, SnapshotName.new(0, 0, is_empty=True), b"")
    restorer.store.write(1, SnapshotName.new(0, 0, is_empty=True), b"")
    assert restorer.partitions_before([None] * 3) == 3, "a first start has died"
    restorer.store.write(0, SnapshotName.new(9, 9, is_empty=False), b"")
    assert restorer.partitions_before([None] * 3) == 2


def test_the_store_is_asked_for_many_partitions_side_by_side(file, tmp_path):
    """An answer of an object store takes long, and a member of the group must poll meanwhile."""
    together = threading.Barrier(THREADS)

    class Slow(FolderStore):
        def sizes(self, partition):
            together.wait(DEADLINE)
            return super().sizes(partition)

    restorer = Restorer(file, Slow(tmp_path / "events-t"), Topic("t", THREADS), frozenset())
    assert restorer.partitions_before([None] * THREADS) == THREADS


def test_records_that_others_read_before_retention_deleted_them(file, tmp_path):
    """The group goes on while a process looks at its offsets; here its input is retained for a moment only."""
    restorer = Restorer(file, FolderStore(tmp_path / "events-t"), Topic("t", 1), frozenset())
    data = snapshot.dumps(file.build_learner(), check_learner.note_of(file.record))
    at = [OffsetMetadata.of_snapshot(data, n, 0, True, topic_id="t", partitions=1, host="h") for n in (3, 7)]
    for metadata in at:
        restorer.store.write(0, metadata.snapshot, data)

    offsets = [at[0], at[1]]

    class Consumer:
        def committed(self, numbers, seconds):
            return {0: offsets.pop(0).to_committed()}

        def offset_range(self, number):
            return 5, 9

    assert startup._Check(Consumer(), restorer, 1.0).problems() == {}
    offsets += [at[0], at[0]]
    (problem,) = startup._Check(Consumer(), restorer, 1.0).problems().values()
    assert "offset 3 of partition 0 of `events` is out of range" in str(problem)


def test_the_schemas_that_are_known_stay_known_after_a_rebalance(tmp_path, monkeypatch):
    path = tmp_path / "p.yaml"
    path.write_text(
        f"name: p\nkafka: {{bootstrap_servers: 'localhost:9'}}\ninput: {{topic: i}}\noutput: {{topic: o}}\n"
        f"learner: [PAClassifier]\nsnapshots: {tmp_path}/snapshots\n"
    )
    file = config.load(path)
    cluster = Cluster("c", {topic: Topic(f"{topic}-id", 1) for topic in ("i", "o")}, ["i", "o"])
    first = startup.restorer_of(file, cluster)
    made = []
    monkeypatch.setattr("connectors.topics.restore.Formats", lambda _: (time.sleep(0.1), made.append(1), object())[2])
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: first._formats, range(4)))
    assert len(made) == 1 and len(set(map(id, found))) == 1
    assert startup.restorer_of(file, cluster, first)._formats is first._formats


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_start_at_once(tmp_path, how):
    """The port is held and nobody listens: the start would try for 15 s."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        (tmp_path / "f.yaml").write_text(
            f"name: a\nkafka: {{bootstrap_servers: '127.0.0.1:{held.getsockname()[1]}'}}\ninput: {{topic: a}}\n"
            "learner: [PAClassifier]\noutput: {topic: b}\n"
        )
        line = [sys.executable, "-m", "connectors", "run", "f.yaml"]
        with subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE) as started:
            assert started.stderr is not None
            assert b"Connection failed" in started.stderr.readline()
            started.send_signal(how)
            started.wait(DEADLINE)
            assert started.returncode == (130 if how == signal.SIGINT else -how)
