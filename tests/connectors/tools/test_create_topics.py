"""`river-margins topics create` on a real Kafka: what it creates, and what it leaves as it is."""

import json
import sys

import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from connectors import cli
from connectors.errors import StartError
from connectors.tools import create_topics
from tests.helpers.streams import BOTH_CLIENTS, Stream

DAY_MS = 86_400_000


def described(stream, names):
    """Number of partitions of topics."""
    with stream.admin() as admin:
        return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics(names)}


def setting(stream, topic, name):
    with stream.admin() as admin:
        found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
        return found["topic"][topic][name]["value"]


def topics(name):
    """The sections of a file with three topics that do not exist."""
    return {part: {"topic": f"{name}-new-{part}"} for part in ("input", "output", "rejects")}


@BOTH_CLIENTS
def test_all_topics_are_created(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path)
    new = topics(stream.name)
    names = [section["topic"] for section in new.values()]
    said = [str(outcome) for outcome in create_topics.create(stream.config(**new))]
    assert said == [
        f"created `{names[0]}` (input): 4 partitions, 1 replica, 7 days",
        f"created `{names[1]}` (output): 4 partitions, 1 replica, 7 days",
        f"created `{names[2]}` (rejects): 1 partition, 1 replica, 30 days",
    ]
    assert described(stream, names) == dict(zip(names, [4, 4, 1], strict=True))
    assert [int(setting(stream, name, "retention.ms")) // DAY_MS for name in names] == [7, 7, 30]
    assert {setting(stream, name, "cleanup.policy") for name in names} == {"delete"}
    again = [str(outcome) for outcome in create_topics.create(stream.config(**new))]
    assert again == [
        f"exists  `{names[0]}` (input): 4 partitions",
        f"exists  `{names[1]}` (output): 4 partitions",
        f"exists  `{names[2]}` (rejects): 1 partition",
    ]


@BOTH_CLIENTS
def test_an_output_follows_the_input_that_exists(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path, partitions=3)
    other = f"{stream.name}-other"
    file = stream.config(output={"topic": other}, rejects=None)
    said = [str(outcome) for outcome in create_topics.create(file, partitions=5)]
    assert said == [
        f"exists  `{stream.input}` (input): 3 partitions, not 5; it was left as it is",
        f"created `{other}` (output): 3 partitions, 1 replica, 7 days",
    ]
    assert described(stream, [stream.input, other]) == {stream.input: 3, other: 3}


def test_an_output_with_another_number_is_said(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=3)
    other = f"{stream.name}-other"
    kafka.create_topics({other: 2})
    said = [str(outcome) for outcome in create_topics.create(stream.config(output={"topic": other}))]
    assert said[1] == f"exists  `{other}` (output): 2 partitions, not 3; it was left as it is"


def test_more_replicas_than_brokers(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    new = topics(stream.name)
    with pytest.raises(StartError, match="`--replication-factor 3` needs 3 brokers, and the cluster has 1"):
        create_topics.create(stream.config(**new), replication_factor=3)
    assert create_topics.create(stream.config(**new), partitions=2)[0].partitions == 2


@BOTH_CLIENTS
def test_no_broker_is_one_sentence(tmp_path, monkeypatch, capfd, client):
    monkeypatch.setattr(create_topics, "BROKER_WAIT", 1.0)
    file = tmp_path / "p.yaml"
    settings = {"bootstrap_servers": "127.0.0.1:1", "client": client}
    file.write_text(json.dumps({"name": "p", "kafka": settings, "learner": ["PAClassifier"]} | topics("p")))
    monkeypatch.setattr(sys, "argv", ["river-margins", "topics", "create", str(file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("no broker answered at `127.0.0.1:1` within 1 s; is it running")


@pytest.mark.parametrize("command", [["topics", "create"], ["produce"], ["tail"]])
def test_a_processor_between_files_has_no_topics(tmp_path, monkeypatch, capsys, command):
    file = tmp_path / "p.yaml"
    file.write_text(
        '{"name": "p", "input": {"file": "a.jsonl"}, "learner": ["PAClassifier"], "output": {"file": "b.jsonl"}}'
    )
    arguments = ["phishing"] if command == ["produce"] else []
    monkeypatch.setattr(sys, "argv", ["river-margins", *command, str(file), *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "reads a file, and a processor between topics is needed here" in capsys.readouterr().err
