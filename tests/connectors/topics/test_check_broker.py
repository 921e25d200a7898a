"""What `lint --check-broker` finds on a real Kafka, and that a good one has nothing to say against."""

import json

import pytest

from connectors import cli, config
from connectors.errors import StartError
from connectors.kafka.facts import Facts, TopicFacts
from connectors.kafka.kafka_python.producer import PACKAGES
from connectors.topics import check_broker
from tests.helpers.streams import Stream

BOTH = pytest.mark.parametrize("client", ["kafka-python", "confluent"], indirect=True)


def problems(stream, **changes):
    return [str(f) for f in check_broker.check(stream.config(**changes)) if f.kind]


def notes(stream, **changes):
    return [str(f) for f in check_broker.check(stream.config(**changes)) if not f.kind]


@pytest.fixture
def stream(kafka, tmp_path, client):
    return Stream(kafka, tmp_path)


@BOTH
def test_nothing_against_a_good_one(stream, monkeypatch, capsys):
    assert problems(stream) == []
    found = notes(stream)
    replicas = [note for note in found if "one replica" in note]
    assert len(replicas) == 3
    (moved,) = [note for note in found if note not in replicas and "partitions" in note] or [""]
    assert moved == "", "input and output have as many partitions"
    monkeypatch.setattr("sys.argv", ["river-margins", "lint", "--check-broker", str(stream.file())])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0 and capsys.readouterr().out.splitlines()[-1].endswith(": ok")


@BOTH
def test_a_missing_topic_and_one_with_other_partitions(stream, kafka):
    other = f"{stream.name}-other"
    kafka.create_topics({other: 3})
    (problem,) = problems(stream, output={"topic": other}, rejects={"topic": f"{stream.rejects}x"})
    assert problem == (
        f"problem: topic `{stream.rejects}x` (rejects) does not exist, did you mean `{stream.rejects}`? "
        "If not, `river-margins topics create FILE` creates it"
    )
    assert any(
        f"`{other}` has 3 partitions and `{stream.input}` 2: outputs go" in note and note.endswith("topic with as many")
        for note in notes(stream, output={"topic": other})
    )


@BOTH
def test_outputs_that_are_deleted_sooner_than_the_input(stream):
    """They have the timestamps of the input."""
    said = f"`{stream.output}` (output) keeps records for 1m from the timestamp of their input, and "
    stream.configure(stream.input, retention_ms=-1)
    assert not any("from the timestamp" in note for note in notes(stream)), "all are kept for ever"
    stream.configure(stream.output, retention_ms=60_000)
    (note,) = [note for note in notes(stream) if "from the timestamp" in note]
    assert said + f"`{stream.input}` keeps them for ever: " in note
    stream.configure(stream.input, retention_ms=7_200_000)
    assert any(said + f"`{stream.input}` keeps them for 2h: " in note for note in notes(stream))
    assert not any(said in note for note in notes(stream, output={"topic": stream.output, "timestamp": "now"}))


@BOTH
def test_settings_of_topics(stream):
    stream.configure(stream.input, retention_ms=60_000, retention_bytes=1_000_000)
    stream.configure(stream.output, cleanup_policy="compact")
    stream.configure(stream.rejects, max_message_bytes=1000)
    first, second = sorted(problems(stream))
    assert first.startswith(f"problem: `{stream.input}` keeps records for 60 s: ") and "at least 3600000" in first
    assert first.count("exit code 4") == 1
    assert (
        second.startswith(f"problem: `{stream.output}` (output) is compacted: ") and "cleanup.policy=delete" in second
    )
    said = " ".join(notes(stream))
    assert f"`{stream.input}` keeps 1,000,000 bytes a partition" in said
    assert f"`{stream.rejects}` takes messages of 1,000 bytes and `{stream.input}` of 1,048,588" in said
    stream.configure(stream.output, cleanup_policy="delete", min_insync_replicas=2)
    stream.configure(stream.input, cleanup_policy="compact")
    compacted, _ = sorted(problems(stream))
    assert f"`{stream.input}` is compacted" in compacted
    assert f"`min.insync.replicas` of `{stream.output}` is 2, and it has 1 replicas: Kafka before 3.7" in " ".join(
        notes(stream)
    )


@pytest.mark.parametrize("client", ["kafka-python"], indirect=True)
def test_a_transaction_longer_than_the_broker_takes(stream):
    stream.settings["kafka"]["producer"] = {"transaction_timeout_ms": 901_000}
    stream.settings["kafka"]["consumer"] = {"session_timeout_ms": 950_000, "max_poll_interval_ms": 960_000}
    refused, told = sorted(problems(stream), key=lambda said: "may last" in said)
    assert "does not take the transactions of the processor, of up to 901 s" in refused
    assert "a transaction may last 901 s here and 900 s at the broker" in told
    assert problems(stream, checkpoint={"guarantee": "at_least_once"}) == []


def test_no_broker(tmp_path, monkeypatch):
    monkeypatch.setattr(check_broker, "BROKER_WAIT", 1.0)
    settings = {
        "name": "p",
        "kafka": {"bootstrap_servers": "127.0.0.1:1", "client": "kafka-python"},
        "input": {"topic": "a"},
        "learner": ["PAClassifier"],
        "output": {"topic": "b"},
    }
    (tmp_path / "p.yaml").write_text(json.dumps(settings))
    with pytest.raises(StartError, match=r"no broker answered at `127\.0\.0\.1:1` within 1 s"):
        check_broker.check(config.load(tmp_path / "p.yaml"))


@pytest.mark.parametrize("client", ["kafka-python"], indirect=True)
@pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])
def test_a_package_that_compresses_and_is_missing(stream, monkeypatch, guarantee):
    monkeypatch.setitem(PACKAGES, "lz4", (lambda: False, "lz4"))
    stream.settings["kafka"] = {
        "bootstrap_servers": stream.kafka.bootstrap_servers, "client": "kafka-python",
        "producer": {"compression_type": "lz4"},
    }  # fmt: skip
    found = check_broker.check(stream.config(checkpoint={"guarantee": guarantee}))
    assert any("needs a package" in str(finding) for finding in found)


def test_what_is_written_is_asked_with_the_user_who_writes():
    reads = Facts(
        {"in": TopicFacts(1, 3, frozenset({"READ"})), "out": TopicFacts(1, 3, frozenset())}, [], {}, frozenset()
    )
    writes = Facts({"in": TopicFacts(), "out": TopicFacts(1, 3, frozenset({"WRITE"}))}, [], {}, frozenset())
    roles = {"input": "in", "output": "out"}
    assert [*check_broker._topics(roles, reads, writes)] == []
    (finding,) = check_broker._topics(roles, reads, reads)
    assert finding.sentence.startswith("grant `Write` on topic `out` (output)")


@pytest.mark.parametrize(("role", "replicas", "value", "count"), [
    ("input", 3, "true", 1),
    ("labels", 3, "true", 1),
    ("input", 3, "false", 0),
    ("input", 1, "true", 0),  # no other replica can lead
    ("output", 3, "true", 0),  # whose offsets no processor commits
])  # fmt: skip
def test_an_input_that_a_replica_without_all_records_may_lead(role, replicas, value, count):
    topic = TopicFacts(4, replicas, (), {"unclean.leader.election.enable": value}, replicas)
    found = [finding.sentence for finding in check_broker._elections(role, "events", topic)]
    assert len(found) == count and all("set `unclean.leader.election.enable=false`" in each for each in found)
