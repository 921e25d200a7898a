"""The processor end to end on a real Kafka."""

import gc
import hashlib
import importlib.metadata
import json
import logging
import math
import re
import signal
import subprocess
import sys
import textwrap
import time

import orjson
import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from connectors.errors import FencedError, StalledError, StartError, StateError
from connectors.kafka import client
from connectors.tools import referee
from connectors.topics import outbox, processor
from tests.helpers import streams
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

GUARANTEES = pytest.mark.parametrize("guarantee", ["exactly_once", "at_least_once"])


@BOTH_CLIENTS
@GUARANTEES
def test_equals_the_bare_pipeline_bit_for_bit(kafka, tmp_path, guarantee):
    stream = Stream(kafka, tmp_path, checkpoint={"guarantee": guarantee, "every": "50ms"})
    records = phishing(2000)
    stream.produce(records)
    with running(stream.config()) as process:
        found = stream.outputs(len(records))
        counts = process.end()
    stream.assert_exact(records, found)
    assert counts.read == counts.predicted == len(records)
    assert counts.learned == sum(record.get("y") is not None for record in records)
    assert counts.checkpoints > 1


@GUARANTEES
def test_goes_on_after_a_restart(kafka, tmp_path, guarantee):
    stream = Stream(kafka, tmp_path, checkpoint={"guarantee": guarantee, "every": "50ms"})
    records = phishing(1200)
    for begin, end in ((0, 500), (500, 1200)):
        stream.produce(records[begin:end])
        with running(stream.config()) as process:
            stream.outputs(end)
            assert process.end().read == end - begin
    stream.assert_exact(records)


def test_a_client_takes_over_from_the_other_one(kafka, tmp_path, monkeypatch):
    """Each reads the topic ids, snapshots and metadata of the other."""
    stream = Stream(kafka, tmp_path)
    records = phishing(400)
    for turn, name in enumerate(["kafka-python", "confluent"] * 2):
        monkeypatch.setattr("tests.helpers.streams.CLIENT", name)
        stream.produce(records[100 * turn : 100 * turn + 100])
        with running(stream.config()) as process:
            found = stream.outputs(100 * turn + 100)
            assert process.end().read == 100
    stream.assert_exact(records, found)


@BOTH_CLIENTS
def test_killed_with_a_transaction_open_and_started_again(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, checkpoint={"every": "1s"})
    stream.forget_the_dead_soon()
    records = phishing(1500)
    before = """
        from connectors.topics.commit import Committer
        def flush(self, step=Committer.flush):
            step(self)
            if self.counts.read >= 500:
                hold()
        Committer.flush = flush
    """
    stream.produce(records[:500])
    first = start(stream.file(), before)
    stream.read(stream.output, 500)
    stream.produce(records[500:])
    read_until(first, "held")
    assert len(uncommitted(stream)) > 500
    first.kill()
    first.communicate()
    with running(stream.config()):
        found = stream.outputs(len(records))
    stream.assert_exact(records, found)


def uncommitted(stream):
    with stream.reader(stream.output, "read_uncommitted") as (consumer, places):
        ends = consumer.end_offsets(places)
        found = []
        while any(consumer.position(place) < ends[place] for place in places):
            for messages in consumer.poll(timeout_ms=200).values():
                found += messages
        return found


def test_sigterm_finishes_and_leaves(kafka, tmp_path):
    stream = Stream(kafka, tmp_path)
    stream.produce(phishing(100))
    file = stream.file()
    process = start(file)
    stream.read(stream.output, 100)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, said
    (begin,) = [line for line in said.splitlines() if ": starting " in line]
    assert begin.endswith(
        f" file={file} name={stream.name} client={streams.CLIENT} guarantee=exactly_once input={stream.input} "
        "partitions=2 learner=StandardScaler() | PAClassifier()"
    )
    assert f" version={importlib.metadata.version('river-margins')} " in begin
    assert re.search(r"committed partitions=0,1 records=\d+ learned=\d+ rejects=0 snapshots=2 seconds=", said)
    assert stream.member_ids() == [], "the next process would wait for the session of one that is gone"
    stream.produce(phishing(10))
    with running(stream.config()):
        stream.read(stream.output, 110)


@BOTH_CLIENTS
def test_a_second_sigterm_does_not_keep_a_process_from_leaving(kafka, tmp_path, client):
    """It comes after the last commit, while the connections are closed."""
    before = """
        from connectors.kafka import client
        Consumer = client(%r).Consumer
        close = Consumer.close
        def closing(self, seconds):
            hold()
            close(self, seconds)
        Consumer.close = closing
        """
    stream = Stream(kafka, tmp_path)
    stream.produce(phishing(10))
    process = start(stream.file(), before % client)
    stream.read(stream.output, 10)
    process.send_signal(signal.SIGTERM)
    read_until(process, "held")
    process.send_signal(signal.SIGTERM)
    let_go(process)
    _, said = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, said
    assert stream.member_ids() == []


def test_a_process_that_a_failed_test_leaves_is_killed(tmp_path):
    process = start(tmp_path / "none.yaml", "hold()")
    read_until(process, "held")
    streams.kill_what_is_left()
    assert process.returncode == -signal.SIGKILL


def test_second_ctrl_c_ends_at_once():
    code = "import signal; from connectors.runtime.stop import Stop; stop = Stop(); stop.request(); "
    command = [sys.executable, "-c", f"{code}stop._handle(signal.SIGINT, None)"]
    assert subprocess.run(command, timeout=DEADLINE).returncode == 130


BAD = {
    b"not json": "not JSON",
    b'{"a": NaN}': "not JSON",
    b'{"a": 1e999}': "not JSON",
    b"[1, 2]": "not a JSON object but a list",
    b"{}": "no features",
    b'{"id": "x", "y": true}': "no features",
    b'{"a": "text", "y": true}': "a",
    b'{"https": 1e308, "y": true}': "beyond floating point",
    None: "the value is null",
}


BAD_LABELS = {"[true]": "the label is a list", '{"a": 1}': "the label is an object", '"spam"': "bool", "7": "bool"}


@BOTH_CLIENTS
@pytest.mark.parametrize("scaler", ["StandardScaler", "river.preprocessing.StandardScaler"])
def test_a_bad_label_does_not_cost_the_prediction(kafka, tmp_path, scaler):
    stream = Stream(kafka, tmp_path, partitions=1, learner=[scaler, "PAClassifier"])
    good = phishing(40)
    bad = [{"id": f"bad {n}", "https": n + 1, "y": None} for n in range(len(BAD_LABELS))]
    values = good[:20]
    values += [
        orjson.dumps(record).replace(b'"y":null', b'"y":%s' % label.encode())
        for record, label in zip(bad, BAD_LABELS, strict=True)
    ]
    values += good[20:]
    stream.produce(values)
    with running(stream.config()) as process:
        found = stream.outputs(len(values))
        rejects = stream.read(stream.rejects, len(bad))
        counts = process.end()
    stream.assert_exact([*good[:20], *bad, *good[20:]], found)
    assert "label" not in found[0][20]
    for n, (reject, said) in enumerate(zip(rejects, BAD_LABELS.values(), strict=True), 20):
        headers = dict(reject.headers)
        assert reject.value == values[n] and headers["source"].decode() == f"{stream.input}-0-{n}"
        assert said in headers["reason"].decode()
    assert (counts.read, counts.predicted, counts.rejected) == (44, 44, 4)
    assert counts.reasons == {"label": 4} and counts.learned == 32
    verdict = referee.compare(stream.config())
    assert verdict.exact and (verdict.outputs, verdict.rejects) == (44, 4), verdict.examples


@BOTH_CLIENTS
def test_weights_of_records(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1, record={"id": "id", "label": "y", "weight": "w"})
    values = [record | {"w": n % 4 * 0.5} for n, record in enumerate(phishing(60))]
    values[20] |= {"w": -1, "y": True}
    stream.produce(values)
    with running(stream.config()) as process:
        found = stream.outputs(60)[0]
        (reject,) = stream.read(stream.rejects, 1)
        counts = process.end()
    assert dict(reject.headers)["reason"] == b"the weight is -1: a number from 0 to 1e+100 is needed"
    assert found[20]["id"] == "r20" and "label" not in found[20] and counts.reasons == {"weight": 1}
    verdict = referee.compare(stream.config())
    assert verdict.exact and (verdict.outputs, verdict.rejects) == (60, 1), verdict.examples


@BOTH_CLIENTS
def test_rejects_keep_their_bytes_and_leave_the_model_untouched(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    good = phishing(60)
    values, bad = [], list(BAD)
    for n, record in enumerate(good):
        values += [record] if n < 5 or n - 5 >= len(bad) else [record, bad[n - 5]]
    stream.produce(values)
    with running(stream.config()) as process:
        found = stream.outputs(len(good))
        rejects = stream.read(stream.rejects, len(bad))
        counts = process.end()
    stream.assert_exact(good, found)
    assert counts.rejected == len(bad) and counts.read == len(bad) + len(good)
    for n, message in enumerate(rejects):
        headers = dict(message.headers)
        assert (message.key, message.value) == (b"k", bad[n])
        assert headers["source"].decode() == f"{stream.input}-0-{values.index(bad[n])}"
        assert BAD[bad[n]] in headers["reason"].decode()


def test_a_null_record_without_a_key_is_not_lost(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce([b"x"], key=None)
    stream.produce([b""], key=None)
    with running(stream.config()):
        rejects = stream.read(stream.rejects, 2)
    assert [(message.key, message.value) for message in rejects] == [(None, b"x"), (None, b"")]


def test_without_a_topic_rejects_are_logged_and_counted(kafka, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce([b"nonsense", *phishing(5)])
    with caplog.at_level(logging.WARNING), running(stream.config(rejects=None)) as process:
        stream.read(stream.output, 5)
        counts = process.end()
    assert counts.rejected == 1
    assert f"rejected {stream.input}-0-0: not JSON" in caplog.text


@BOTH_CLIENTS
@pytest.mark.parametrize("limit", ["client", "broker"])
def test_too_large_messages_are_shortened(kafka, tmp_path, limit, caplog):
    """The client refuses by its own setting; the broker by that of the topic, in the middle of a batch."""
    servers = {"bootstrap_servers": kafka.bootstrap_servers}
    stream = Stream(kafka, tmp_path, partitions=1)
    if limit == "client":
        stream.settings["kafka"] = servers | {"producer": {"max_request_size": 3000, "batch_size": 2000}}
    else:
        stream.configure(stream.output, max_message_bytes=3000)
        stream.configure(stream.rejects, max_message_bytes=3000)
    good = phishing(50)
    good[20]["id"] = "long" * 2000
    junk = b"junk" * 2000
    stream.produce([*good[:30], junk, *good[30:]])
    with running(stream.config()) as process:
        found = [json.loads(message.value) for message in stream.read(stream.output, len(good))]
        (reject,) = stream.read(stream.rejects, 1)
        counts = process.end()
    expected = twin(stream.config().build_learner(), good)
    assert found[:20] + found[21:] == expected[:20] + expected[21:]
    whole = orjson.dumps(expected[20])
    assert found[20] == {
        "id": good[20]["id"][:200],
        "too_large": True,
        "length": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
        "first_bytes": whole[:200].decode(),
    }
    short = json.loads(reject.value)
    assert short["sha256"] == hashlib.sha256(junk).hexdigest() and short["length"] == len(junk)
    assert dict(reject.headers)["source"].decode() == f"{stream.input}-0-30"
    assert (counts.shortened, counts.rejected, counts.read) == (2, 1, 51)
    for topic in (stream.output, stream.rejects):
        told = f"reset: a message to `{topic}` is larger than the `max.message.bytes` of this topic: raise it"
        assert (told in caplog.text) == (limit == "broker")


def test_key_partition_and_headers(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2)
    records = phishing(40)
    for record in records:
        del record["id"]
    stream.produce(records, key=b"key")
    with running(stream.config(record={"label": "y"})):
        messages = stream.read(stream.output, 40)
    for number in range(2):
        mine = [message for message in messages if message.partition == number]
        for n, message in enumerate(mine):
            headers = dict(message.headers)
            source = f"{stream.input}-{number}-{n}"
            assert message.key == b"key" and headers["source"].decode() == source
            assert json.loads(message.value)["id"] == source, "without `record.id` a record is named by its position"
            snapshot, _, examples = headers["model"].decode().rpartition("/")
            unlabelled = sum(records[number + 2 * m].get("y") is None for m in range(n))
            assert int(examples) == n - unlabelled
            assert list((tmp_path / "snapshots").rglob(f"{snapshot}.snapshot"))


def send(stream, messages):
    """Writes messages of value, headers and timestamp to partition 0 of the input."""
    producer = client("confluent").Producer(None, {"bootstrap_servers": stream.kafka.bootstrap_servers})
    for value, headers, timestamp in messages:
        producer.send(stream.input, 0, b"k", value, headers, None, timestamp)
    producer.flush(DEADLINE)
    producer.check()
    producer.close()


@BOTH_CLIENTS
@GUARANTEES
@pytest.mark.parametrize("timestamp", ["input", "now"])
def test_headers_and_timestamp_of_the_input_are_kept(kafka, tmp_path, guarantee, timestamp):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"guarantee": guarantee, "every": "50ms"})
    stream.settings["output"]["timestamp"] = timestamp
    headers = [("traceparent", b"00-ab-cd-01"), ("source", b"upstream-0-3"), ("n", None), ("n", b"\xff"), ("n", b"")]
    record = orjson.dumps(phishing(1)[0])
    sent = int(time.time() * 1000) - 3_600_000
    send(stream, [(record, headers, sent), (b"junk", headers, sent), (record, [], sent + 1)])
    with running(stream.config()):
        first, second = stream.read(stream.output, 2)
        (reject,) = stream.read(stream.rejects, 1)
    assert list(first.headers[:5]) == list(reject.headers[:5]) == headers
    assert [name for name, _ in first.headers[5:]] == [name for name, _ in second.headers] == ["source", "model"]
    assert [name for name, _ in reject.headers[5:]] == ["reason", "source"]
    assert dict(first.headers)["source"].decode() == f"{stream.input}-0-0"
    found = [message.timestamp for message in (first, reject, second)]
    if timestamp == "input":
        assert found == [sent, sent, sent + 1]
    else:
        assert all(abs(each / 1000 - time.time()) < DEADLINE for each in found)


def test_outputs_are_explained_after_a_restart_too(kafka, tmp_path):
    learner = ["StandardScaler", {"PAClassifier": {"C": 0.01, "intercept": False}}]
    stream = Stream(kafka, tmp_path, partitions=1, learner=learner)
    stream.settings["output"]["explain"] = 99  # more than there are features: they add up to the score
    records = phishing(200)
    for begin, end in ((0, 100), (100, 200)):
        stream.produce(records[begin:end])
        with running(stream.config()) as process:
            found = stream.outputs(end)
            process.end()
    for output in found[0]:
        assert math.fsum(output.pop("explanation").values()) == pytest.approx(output["score"] or 0.0, abs=1e-12)
    stream.assert_exact(records, found)


def test_timestamps_that_are_the_brokers_or_none(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    record = orjson.dumps(phishing(1)[0])
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send(stream.input, record, b"k", partition=0, timestamp_ms=-1).get(DEADLINE)
    stream.configure(stream.input, message_timestamp_type="LogAppendTime")
    appended = []

    def is_of_broker():  # which applies a setting a moment after it has taken it
        sent = producer.send(stream.input, record, b"k", partition=0, timestamp_ms=1000)
        appended.append(sent.get(DEADLINE).timestamp)
        return appended[-1] > 1000

    wait_for(is_of_broker, "a record with the time of the broker")
    producer.close()
    with running(stream.config()):
        none, *others = stream.read(stream.output, 1 + len(appended))
    assert abs(none.timestamp / 1000 - time.time()) < DEADLINE
    assert [each.timestamp for each in others] == appended


@BOTH_CLIENTS
@GUARANTEES
def test_a_timestamp_that_the_output_refuses_is_replaced(kafka, tmp_path, guarantee, caplog, monkeypatch):
    monkeypatch.setattr(outbox, "TRY_AGAIN", 0.0)  # the first four may be in two checkpoints
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"guarantee": guarantee, "every": "50ms"})
    stream.configure(stream.output, message_timestamp_before_max_ms=3_600_000)
    records = phishing(8)
    recent = int(time.time() * 1000) - 60_000
    send(stream, [(orjson.dumps(record), [], recent - 86_400_000) for record in records[:4]])
    with running(stream.config()) as process:
        replaced = stream.read(stream.output, 4)
        send(stream, [(orjson.dumps(record), [], recent) for record in records[4:]])
        found = stream.read(stream.output, 8)
        process.end()
    assert all(abs(message.timestamp / 1000 - time.time()) < DEADLINE for message in replaced)
    assert [message.timestamp for message in found[4:]] == [recent] * 4
    assert [json.loads(message.value) for message in found] == twin(stream.config().build_learner(), records)
    assert f"refuses a timestamp, so records get the present time: a message to `{stream.output}`: " in caplog.text


@BOTH_CLIENTS
def test_a_device_with_a_wrong_clock_costs_one_more_attempt_and_not_one_at_each_checkpoint(kafka, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, partitions=1, checkpoint={"every": "50ms"})
    stream.configure(stream.output, message_timestamp_before_max_ms=3_600_000)
    records = phishing(12)
    now = int(time.time() * 1000)
    with running(stream.config()) as process:
        for n, record in enumerate(records):  # each in a checkpoint of its own; each second one with the wrong time
            send(stream, [(orjson.dumps(record), [], now - 86_400_000 * (n % 2))])
            found = stream.read(stream.output, n + 1)
        process.end()
    assert [json.loads(message.value) for message in found] == twin(stream.config().build_learner(), records)
    assert sum("refuses a timestamp" in said for said in caplog.messages) == 2


def test_many_classes_and_numbers(kafka, tmp_path):
    for learner, labels in (
        ([{"PAClassifier": {"C": 1.0}}], ["red", "green", "blue"]),
        ([{"PARegressor": {"C": 1.0}}], [1.5, -2, 0.25]),
    ):
        stream = Stream(kafka, tmp_path, partitions=1, learner=learner)
        records = [{"id": n, "a": n % 7 - 3.0, "b": n % 3, "y": labels[n % 3]} for n in range(30)]
        stream.produce(records)
        with running(stream.config()):
            found = stream.outputs(len(records))
        stream.assert_exact(records, found)


def test_only_listed_features_count(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1, record={"label": "y", "id": "id", "features": ["a", "b"]})
    records = [{"id": n, "a": n % 5, "b": 1.0, "c": "noise", "y": n % 5 > 2} for n in range(20)]
    stream.produce([*records, b'{"c": 1, "y": true}'])
    with running(stream.config()):
        found = stream.outputs(len(records))
        (reject,) = stream.read(stream.rejects, 1)
    assert dict(reject.headers)["reason"] == b"no features: the record has none of `record.features`"
    listed = [{name: record[name] for name in ("id", "a", "b", "y")} for record in records]
    stream.assert_exact(listed, found)


@BOTH_CLIENTS
def test_fields_by_path_nulls_and_text(kafka, tmp_path):
    features = ["amount", {"country": "card.country"}, "items[0].price", "note"]
    stream = Stream(kafka, tmp_path, partitions=1, learner=["river.preprocessing.OneHotEncoder", "PAClassifier"])
    stream.settings["record"] = {"id": "meta.id", "label": "meta.y", "features": features, "nulls": "absent"}
    countries = ["CH", "FR", None]
    records = [
        {
            "meta": {"id": f"r{n}", "y": n % 3 == 0},
            "amount": str(n % 4),
            "card": {"country": countries[n % 3]},
            "items": [{"price": "low" if n % 2 else "high"}] if n % 5 else [],
            "other": n,
        }
        for n in range(60)
    ]
    stream.produce([*records, b'{"card": {}, "note": null}'])
    flat = [
        {"id": record["meta"]["id"], "y": record["meta"]["y"], "amount": record["amount"]}
        | ({"country": country} if (country := record["card"]["country"]) else {})
        | ({"items[0].price": record["items"][0]["price"]} if record["items"] else {})
        for record in records
    ]
    with running(stream.config()):
        found = stream.outputs(len(records))
        (reject,) = stream.read(stream.rejects, 1)
    stream.assert_exact(flat, found)
    assert dict(reject.headers)["reason"] == b"no features: the record has none of `record.features`"
    assert referee.compare(stream.config()).exact


@BOTH_CLIENTS
def test_brokers_gather_records_as_long_as_nobody_waits_for_them(kafka, tmp_path, monkeypatch):
    given, records = [], phishing(20)
    module = client(Stream(kafka, tmp_path).config().kafka.client)
    make = module.Consumer
    monkeypatch.setattr(module, "Consumer", lambda *rest: given.append(rest[2]) or make(*rest), raising=False)
    least, wait = module.FETCH_KEYS

    def settings_of(for_consumer, **checkpoint):
        stream = Stream(kafka, tmp_path, checkpoint=checkpoint)
        stream.settings["kafka"]["consumer"] |= for_consumer
        stream.produce(records)
        given.clear()
        with running(stream.config()):
            stream.assert_exact(records, stream.outputs(len(records)))
        return {key: given[0][key] for key in (least, wait) if key in given[0]}

    assert settings_of({}, every="1s") == {least: 65_536, wait: 100}
    assert settings_of({}, every="300ms") == {least: 65_536, wait: 30}
    assert settings_of({}, every="50ms") == {}
    assert settings_of({}, every="1s", guarantee="at_least_once") == {}
    assert settings_of({"fetch_max_wait_ms": 250}, every="1s") == {wait: 250}


def test_start_latest_skips_what_was_there(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce(phishing(10))
    latest = {"input": {"topic": stream.input, "start": "latest"}}
    with running(stream.config(**latest)):
        wait_for(lambda: stream.committed(0), "the first commit")
        stream.produce(phishing(15)[10:])
        found = stream.outputs(5)
    assert [output["id"] for output in found[0]] == ["r10", "r11", "r12", "r13", "r14"]


@BOTH_CLIENTS
def test_an_outage_of_the_broker_is_survived(own_kafka, tmp_path):
    stream = Stream(own_kafka, tmp_path)
    records = phishing(400)
    stream.produce(records[:200])
    process = start(stream.file())
    try:
        stream.read(stream.output, 200)
        own_kafka.kill(1)
        own_kafka.start(1)
        stream.produce(records[200:])
        stream.assert_exact(records)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@BOTH_CLIENTS
def test_a_second_worker_shares_and_hands_back(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2)
    records = phishing(900)
    with running(stream.config()) as one:
        stream.produce(records[:300])
        stream.read(stream.output, 300)
        with running(stream.config()) as two:
            wait_for(lambda: stream.members() == [1, 1], "a partition for each")
            stream.produce(records[300:600])
            stream.read(stream.output, 600)
            assert two.end().read > 0
        stream.produce(records[600:])
        found = stream.outputs(len(records))
        one.end()
    stream.assert_exact(records, found)


@BOTH_CLIENTS
def test_refuses_an_offset_that_an_operator_has_reset(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce(phishing(50))
    with running(stream.config()):
        stream.read(stream.output, 50)
    for metadata, said in (("", "its metadata is empty"), ("mine", "its metadata is `(mine|not readable)")):
        with stream.group() as consumer:
            consumer.commit({TopicPartition(stream.input, 0): OffsetAndMetadata(10, metadata)})
        with pytest.raises(StateError, match=said) as refused:
            processor.run(stream.config())
        assert "rewind FILE --empty --partition 0`" in str(refused.value)
    assert len(stream.read(stream.output, 50)) == 50


@BOTH_CLIENTS
def test_two_processes_with_one_instance_end(kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "MAX_FENCINGS", 2)
    stream = Stream(kafka, tmp_path, instance="same")
    with running(stream.config()) as one, running(stream.config()) as two:
        end = time.monotonic() + DEADLINE
        while not (one.result or two.result) and time.monotonic() < end:
            stream.produce(phishing(20))
        errors = [process.result for process in (one, two) if process.result]
    assert errors and isinstance(errors[0], FencedError)
    assert "`instance: same`" in str(errors[0])


@pytest.mark.parametrize("good", [0, 1])
def test_a_processor_that_rejects_every_record_says_so(kafka, tmp_path, caplog, good):
    """Such as one whose `record.format` is missing. The rejects are in their topic, and the log only counts them."""
    stream, said = Stream(kafka, tmp_path, partitions=1), "could be processed so far; the last one: not JSON"
    with running(stream.config()) as process:
        stream.produce([*phishing(good), *[b"\0\0\0\0\x07\x02a"] * 12])
        wait_for(lambda: (found := stream.committed(0)) and found.offset == 12 + good, "a commit")
        if not good:
            wait_for(lambda: f"no record of `{stream.input}` {said}" in caplog.text, "the warning")
        process.end()
    assert caplog.text.count(said) == (not good)


@pytest.mark.parametrize("rejects", [None, True])
def test_a_short_run_that_rejects_every_record_says_so_at_its_end(kafka, tmp_path, caplog, rejects):
    """Without a topic for the rejects, the log has each of them already."""
    stream = Stream(kafka, tmp_path, partitions=1)
    if rejects is None:
        del stream.settings["rejects"]
    stream.produce([b"\0"])
    with running(stream.config()) as process:
        wait_for(lambda: (found := stream.committed(0)) and found.offset == 1, "a commit")
        assert "could be processed" not in caplog.text
        process.end()
    assert ("could be processed so far; the last one: not JSON" in caplog.text) == bool(rejects)


def test_a_wrong_field_as_the_label(kafka, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, record={"id": "id", "label": "why"})
    stream.produce(phishing(1_000, unlabelled=1_000))  # a null label would be a null feature
    with running(stream.config()):
        wait_for(lambda: "`record.label: why`" in caplog.text, "a warning")


def silenced(stream, before=""):
    """A processor whose broker falls silent when 20 records are committed and 20 are about to be sent."""
    stream.settings["kafka"]["producer"] = {
        "delivery_timeout_ms": 2500, "request_timeout_ms": 2000, "max_block_ms": 2000, "bootstrap_timeout_ms": 3000
    }  # fmt: skip
    pause = """
        from connectors.topics import processor
        from connectors.kafka.confluent import consumer, producer
        consumer.REQUEST_TIMEOUT = producer.INIT_TIMEOUT = producer.QUEUE_TIMEOUT = 3.0
        def impatient(transaction, committed, commit, make=processor.Timeouts):
            return make(transaction, 3.0, commit)
        processor.Timeouts = impatient
        from connectors.topics.commit import Committer
        from connectors.topics.outbox import Outbox
        committed = []
        def remember(self, step=Committer.remember):
            step(self)
            committed.append(self.counts.read)
        def open_for(self, number, step=Outbox.open_for):
            if committed[-1] == 20:
                hold()
            return step(self, number)
        Committer.remember, Outbox.open_for = remember, open_for
    """
    stream.produce(phishing(20))
    process = start(stream.file(), textwrap.dedent(pause) + before)
    stream.read(stream.output, 20)
    stream.produce(phishing(40)[20:])
    read_until(process, "held")
    stream.kafka.stop(1)
    let_go(process)
    return process


@BOTH_CLIENTS
def test_a_broker_that_falls_silent_for_a_while(own_kafka, tmp_path):
    stream = Stream(own_kafka, tmp_path, partitions=1)
    try:
        process = silenced(stream)
        read_until(process, "reset: ")
    finally:
        own_kafka.resume(1)
    try:
        stream.assert_exact(phishing(40))
    finally:
        process.kill()
        print(process.communicate()[1])


@BOTH_CLIENTS
def test_resets_without_progress_end_the_process(own_kafka, tmp_path):
    stream = Stream(own_kafka, tmp_path, partitions=1)
    try:
        process = silenced(stream, "processor.MAX_RESETS = 2")
        _, said = process.communicate(timeout=DEADLINE)
    finally:
        own_kafka.resume(1)
    assert process.returncode == StalledError.exit_code
    assert "2 resets in a row without a commit, the last one for: " in said.splitlines()[-1]
    with running(stream.config()):
        stream.assert_exact(phishing(40))


@BOTH_CLIENTS
def test_a_setting_the_broker_refuses(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.settings["kafka"]["producer"] = {"transaction_timeout_ms": 901_000}
    stream.settings["kafka"]["consumer"] = {"session_timeout_ms": 950_000, "max_poll_interval_ms": 960_000}
    with pytest.raises(StartError, match="does not accept"):
        processor.run(stream.config())


def test_a_run_leaves_the_collector_as_it_was(kafka, tmp_path, monkeypatch, count_frozen):
    monkeypatch.setattr(gc, "get_freeze_count", count_frozen)
    stream = Stream(kafka, tmp_path)
    stream.produce(phishing(10))
    gc.unfreeze()
    try:
        with running(stream.config()):
            stream.outputs(10)
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()  # as `tests/conftest.py` left it: each later collection would look at all tests
