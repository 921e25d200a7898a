"""`river-margins produce` on a real Kafka: each record once, under its key, in order."""

import gzip
import json
import os
import sys
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest
from river import datasets

from connectors.errors import ConfigError, StartError
from connectors.tools import produce
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream


@pytest.fixture
def stream(kafka, tmp_path, client):
    return Stream(kafka, tmp_path, partitions=1)


@BOTH_CLIENTS
def test_lines_of_json_as_they_are(stream, tmp_path):
    lines = [b'{"id": "a", "x": 1}', b'{"x": 2.50, "id": 7}', b'{"x": 3}', b"no JSON", b"[1]"]
    (tmp_path / "records.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    counts = produce.produce(stream.config(), str(tmp_path / "records.jsonl"))
    assert (counts.sent, counts.skipped) == (5, 0)
    found = stream.read(stream.input, 5)
    assert [message.value for message in found] == lines
    assert [message.key for message in found] == [b"a", b"7", None, None, None]


@BOTH_CLIENTS
def test_rows_of_csv_become_objects(stream, tmp_path):
    rows = 'id,x,site,y\n07,1.5,"a, b",true\n08,,c,false\n09,1\n'
    (tmp_path / "records.csv.gz").write_bytes(gzip.compress(rows.encode()))
    counts = produce.produce(stream.config(), str(tmp_path / "records.csv.gz"))
    assert (counts.sent, counts.skipped) == (2, 1)
    assert counts.reason == "records.csv.gz:4: the row has 2 cells, and the header 4"
    found = stream.read(stream.input, 2)
    assert [json.loads(message.value) for message in found] == [
        {"id": "07", "x": 1.5, "site": "a, b", "y": True},
        {"id": "08", "site": "c", "y": False},
    ]
    assert [message.key for message in found] == [b"07", b"08"]


@BOTH_CLIENTS
def test_a_data_set(stream):
    counts = produce.produce(stream.config(), "Phishing", limit=20)
    assert counts.sent == 20
    found = stream.read(stream.input, 20)
    expected = [
        {"id": f"phishing-{number}", **x, "y": y} for number, (x, y) in enumerate(datasets.Phishing().take(20), 1)
    ]
    assert [json.loads(message.value) for message in found] == expected
    assert [message.key.decode() for message in found] == [each["id"] for each in expected]


def test_without_id_and_label(stream):
    produce.produce(stream.config(record={}), "phishing", limit=1)
    (message,) = stream.read(stream.input, 1)
    assert message.key is None and json.loads(message.value) == next(iter(datasets.Phishing()))[0]


def test_the_rate_is_kept(stream):
    began = time.monotonic()
    produce.produce(stream.config(), "phishing", rate=20, limit=11)
    assert time.monotonic() - began >= 0.5  # the eleventh record is due after ten twentieths of a second
    stream.read(stream.input, 11)


def test_what_is_wrong_is_said(stream, tmp_path):
    with pytest.raises(ConfigError, match="River has no data set `Fishing`, did you mean `Phishing`"):
        produce.produce(stream.config(), "Fishing")
    with pytest.raises(StartError, match=r"none\.jsonl`: it does not exist"):
        produce.produce(stream.config(), str(tmp_path / "none.jsonl"))
    with pytest.raises(StartError, match=r"`absent` does not exist; `river-margins topics create FILE` creates it"):
        produce.produce(stream.config(input={"topic": "absent"}), "phishing")
    with pytest.raises(StartError, match=rf"does not exist, did you mean `{stream.input}`"):
        produce.produce(stream.config(input={"topic": f"{stream.input}x"}), "phishing")


def test_labels_that_cannot_be_sent(stream, tmp_path):
    (tmp_path / "labels.csv").write_text("of,is\na,true\n")
    path, labels = str(tmp_path / "labels.csv"), {"topic": "labels", "id": "of", "label": "is", "within": "1d"}
    with pytest.raises(ConfigError, match="the file has no `labels`"):
        produce.produce(stream.config(), path, are_labels=True)
    with pytest.raises(ConfigError, match=r"`labels\.id` names no field"):
        produce.produce(stream.config(labels=labels | {"id": None}), path, are_labels=True)
    with pytest.raises(StartError, match="has no column `off`, did you mean `of`"):
        produce.produce(stream.config(labels=labels | {"id": "off"}), path, are_labels=True)
    with pytest.raises(ConfigError, match="`Phishing` is a data set of River, which has its labels in its records"):
        produce.produce(stream.config(labels=labels), "Phishing", are_labels=True)
    with pytest.raises(ConfigError, match=r"`record\.id` names no field.*no label finds its record"):
        produce.produce(stream.config(labels=labels, record={}), path)


@BOTH_CLIENTS
def test_a_record_that_is_too_large(stream, tmp_path, monkeypatch):
    monkeypatch.setattr(produce, "KNOWN", 10)
    stream.configure(stream.input, max_message_bytes=1000)
    (tmp_path / "large.jsonl").write_text('{"n": 1}\n' * 24 + json.dumps({"text": "x" * 5000}))
    with pytest.raises(StartError, match=f"too large for topic `{stream.input}`: raise `max.message.bytes`") as refused:
        produce.produce(stream.config(), str(tmp_path / "large.jsonl"))
    assert "the first 20 records are written, some of the next 5 may be" in str(refused.value)


def test_large_records_do_not_wait_behind_one_another(stream, monkeypatch):
    """A client gives up what it could not send within some seconds, however much was handed over before."""
    waiting, most = [0], [0]

    class Producer:
        def __init__(self, *_):
            pass

        def send(self, topic, partition, key, value, headers, place):
            waiting.append(waiting[-1] + len(value))

        def flush(self, seconds):
            most.append(waiting[-1])
            waiting[:] = [0]

        check = close = lambda self: None

    monkeypatch.setattr(produce, "client", lambda _: SimpleNamespace(Producer=Producer))
    monkeypatch.setattr(produce, "KNOWN_BYTES", 2000)
    assert produce.produce(stream.config(), "Phishing", limit=100).sent == 100
    assert len(most) > 5 and max(most) < 2500


def test_rows_that_json_cannot_express_are_not_sent(stream, tmp_path):
    table = pa.table({"id": ["a", "b"], "x": [float("inf"), 1.0]})
    pyarrow.parquet.write_table(table, tmp_path / "records.parquet")
    (tmp_path / "records.csv").write_text("id,x\na,1e999\nb,1\n")
    for name in ("records.parquet", "records.csv"):
        counts = produce.produce(stream.config(record={"id": "id"}), str(tmp_path / name))
        assert (counts.sent, counts.skipped) == (1, 1) and "cannot be expressed in JSON" in counts.reason
    assert [message.key for message in stream.read(stream.input, 2)] == [b"b", b"b"]


def test_a_limit_does_not_wait_for_one_more_record(stream, monkeypatch):
    ours, theirs = os.pipe()
    os.write(theirs, b'{"a": 1}\n{"a": 2}\n')
    late = threading.Timer(DEADLINE, os.close, [theirs])  # without it, a failure would last for ever
    late.start()
    with os.fdopen(ours) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert produce.produce(stream.config(), "-", limit=2).sent == 2
    assert late.is_alive()
    late.cancel()
    os.close(theirs)


def test_a_table_without_labels(stream, tmp_path):
    (tmp_path / "new.csv").write_text("id,x\na,1\n")
    assert produce.produce(stream.config(), str(tmp_path / "new.csv")).sent == 1
    (message,) = stream.read(stream.input, 1)
    assert (message.key, json.loads(message.value)) == (b"a", {"id": "a", "x": 1})
    labels = {"topic": "l", "id": "id", "label": "y", "time": "at", "within": "1d"}
    timed = stream.config(labels=labels, record={"id": "id", "time": "at"})  # each record would be a reject
    with pytest.raises(StartError, match="has no column `at`"):
        produce.produce(timed, str(tmp_path / "new.csv"))
