"""`river-margins tail` on a real Kafka: committed records as JSON lines, and nothing else."""

import contextlib
import itertools
import json
import subprocess
import sys
import threading
import types

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from connectors.errors import ConfigError, StartError
from connectors.formats import codecs
from connectors.tools import tail
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream, running


def lines(count, *arguments, **options):
    return [json.loads(line) for line in itertools.islice(tail.tail(*arguments, **options), count)]


@BOTH_CLIENTS
def test_output_and_rejects_of_a_processor(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce([b'{"id": "a", "x": 1, "y": true}', b"no JSON", b'{"id": "b", "x": 1}'], key=b"k")
    with running(stream.config()):
        first, second = lines(2, stream.config(), from_beginning=True)
        (reject,) = lines(1, stream.config(), "rejects", from_beginning=True)
    assert first.pop("model").endswith("-empty/0")
    assert first == {
        "key": "k",
        "source": f"{stream.input}-0-0",
        "value": {"id": "a", "prediction": None, "score": 0.0, "label": True},
    }
    assert (second["source"], second["value"]["id"]) == (f"{stream.input}-0-2", "b")
    assert (reject["key"], reject["source"], reject["value"]) == ("k", f"{stream.input}-0-1", "no JSON")
    assert "not JSON" in reject["reason"]


def test_an_open_transaction_is_not_shown(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=f"{stream.name}-x")
    producer.init_transactions()
    try:
        producer.begin_transaction()
        producer.send(stream.output, b'"given up"').get(timeout=DEADLINE)
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(stream.output, b'"committed"').get(timeout=DEADLINE)
        producer.commit_transaction()
    finally:
        producer.close()
    assert lines(1, stream.config(), from_beginning=True)[0]["value"] == "committed"


def test_from_the_next_record_on(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send(stream.output, b'"old"').get(timeout=DEADLINE)
    ended = threading.Event()

    def go_on():  # the reader looks for the end of the topic at some moment that only it knows
        number = 0
        while not ended.wait(0.1):
            number += 1
            producer.send(stream.output, str(number).encode())

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        first, second = lines(2, stream.config())
    finally:
        ended.set()
        writer.join()
        producer.close()
    assert first["value"] >= 1 and second["value"] == first["value"] + 1


def test_the_command_ends_at_its_limit_and_with_its_reader(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for number in range(5):
        producer.send(stream.output, str(number).encode())
    producer.close()
    command = [sys.executable, "-m", "connectors", "tail", str(stream.file()), "--from-beginning"]
    limited = subprocess.run([*command, "--limit", "2"], capture_output=True, text=True, timeout=DEADLINE)
    assert limited.returncode == 0 and [json.loads(line)["value"] for line in limited.stdout.splitlines()] == [0, 1]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert json.loads(process.stdout.readline())["value"] == 0
        process.send_signal(2)
        assert process.wait(30) == 0 and process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


def test_what_is_wrong_is_said(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    with pytest.raises(ConfigError, match="the file has no `rejects`"):
        lines(1, stream.config(rejects=None), "rejects")
    with pytest.raises(
        ConfigError, match="the file has no `outcomes`: the processor counts what it learns from labels"
    ):
        lines(1, stream.config(), "outcomes")
    with pytest.raises(StartError, match=r"`absent` does not exist; `river-margins topics create FILE` creates it"):
        lines(1, stream.config(output={"topic": "absent"}))


def test_what_cannot_be_shown_as_json_is_text():
    value = b"[" * 300 + b"]" * 300
    record = types.SimpleNamespace(key=None, value=value, headers=None)
    assert json.loads(tail._shown(record, (), None)) == {"key": None, "value": value.decode()}


def test_a_value_is_shown_as_it_is():
    value = b'{"id": 12345678901234567890123,\r\n "a": 1.10}'
    record = types.SimpleNamespace(key=None, value=value, headers=None)
    assert tail._shown(record, (), None) == b'{"key":null,"value":{"id": 12345678901234567890123,   "a": 1.10}}'


@pytest.mark.parametrize("what", ["output", "outcomes", "rejects"])
def test_headers_of_the_input_are_not_taken_for_those_of_the_processor(what):
    names = ("label", "model", "reason", "source")
    record = types.SimpleNamespace(key=None, value=b"1", headers=[(name, name.encode()) for name in names])
    shown = json.loads(tail._shown(record, tail.SHOWN_HEADERS[what], None))
    own = {"output": {"model", "source"}, "outcomes": {"label", "source"}, "rejects": {"reason", "source"}}
    assert shown.keys() == {"key", "value"} | own[what]


def test_a_registry_that_is_away_is_named(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send(stream.output, b"\0\0\0\0\7x").get(timeout=DEADLINE)
    producer.close()
    record = stream.settings["record"] | {"registry": "http://127.0.0.1:1"}
    config = stream.config(record=record, output={"topic": stream.output, "format": "avro"})
    with pytest.raises(StartError, match=r"cannot be read: .*http://127\.0\.0\.1:1 does not answer"):
        lines(1, config, from_beginning=True)


@pytest.mark.parametrize("decode", [lambda value: {}["x"], lambda value: {"raw": value}])
def test_what_a_codec_cannot_read_is_shown_as_it_is(decode):
    """A codec may read records and write outputs, and not read these."""
    parse = codecs.parser("mine", types.SimpleNamespace(decode=decode))
    record = types.SimpleNamespace(key=None, value=b'{"id": 1}', headers=None)
    assert json.loads(tail._shown(record, (), parse)) == {"key": None, "value": {"id": 1}}


def send(kafka, topic, partition, values):
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as producer:
        for value in values:
            producer.send(topic, str(value).encode(), partition=partition)


def test_partitions_that_are_added_are_read_from_their_first_record(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1)
    send(kafka, stream.output, 0, [1, 2])
    monkeypatch.setattr(tail, "LOOK_EVERY", 0.5)
    shown = tail.tail(stream.config(), from_beginning=True)
    assert [json.loads(next(shown))["value"] for _ in range(2)] == [1, 2]
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_partitions({stream.output: 2})
    send(kafka, stream.output, 1, [3])
    send(kafka, stream.output, 0, [4])
    assert sorted(json.loads(next(shown))["value"] for _ in range(2)) == [3, 4]


def test_what_retention_leaves_is_shown(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    send(kafka, stream.output, 0, [json.dumps([number, "x" * 1000]) for number in range(8000)])
    shown = tail.tail(stream.config(), from_beginning=True)
    numbers = (json.loads(line)["value"][0] for line in shown)
    assert next(numbers) == 0  # a fetch has 1 MB, an eighth of them
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.delete_records({TopicPartition(stream.output, 0): 7990})
    left = itertools.dropwhile(lambda number: number < 7990, numbers)
    assert list(itertools.islice(left, 10)) == list(range(7990, 8000))


def test_a_deleted_topic_is_named_and_not_created_again(kafka, tmp_path, monkeypatch):
    stream = Stream(kafka, tmp_path, partitions=1)
    send(kafka, stream.output, 0, [1])
    monkeypatch.setattr(tail, "LOOK_EVERY", 3.0)  # the reader asks for the topic as soon as a fetch fails
    shown = tail.tail(stream.config(), from_beginning=True)
    assert json.loads(next(shown))["value"] == 1
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.delete_topics([stream.output])
        with pytest.raises(StartError, match=f"the topic `{stream.output}` was deleted"):
            next(shown)
        assert stream.output not in admin.list_topics()
