"""A running processor as seen from outside: metrics, liveness, readiness, the log, the line on a terminal."""

import contextlib
import functools
import itertools
import json
import logging
import multiprocessing
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import orjson
import pytest
from kafka import KafkaProducer
from prometheus_client.parser import text_string_to_metric_families
from river import metrics as river_metrics

from connectors import cli, config
from connectors.errors import StartError
from connectors.model.counts import Counts
from connectors.runtime import health, server
from connectors.runtime.metrics import MAX_CLASS_LENGTH, MAX_CLASSES, Metrics, by_class
from connectors.topics import lag, processor, startup
from connectors.topics.commit import Committer
from tests.helpers.ports import free_port
from tests.helpers.streams import DEADLINE, Stream, before_each_record, phishing, running, start, twin, wait_for

PREFIX = "river_margins_"
NOT_READY = "partitions are not assigned, or their models not restored\n"


def ask(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except urllib.error.URLError:  # nobody listens yet
        return 0, ""


def scrape(port):
    """The samples by name without our prefix, and the values of their labels."""
    return samples(ask(port, "/metrics")[1])


def samples(text):
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix(PREFIX)
            found[name, *sample.labels.values()] = sample.value
    return found


@pytest.fixture
def stream(kafka, tmp_path, monkeypatch):
    return observed(kafka, tmp_path, monkeypatch)


def observed(kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(lag, "LAG_EVERY", 0.1)
    return Stream(kafka, tmp_path, metrics={"port": free_port()})


def test_metrics_are_those_of_an_independent_count(stream):
    port, records = stream.settings["metrics"]["port"], phishing(600)
    stream.produce([*records, b"no JSON", b"[]", None, b'{"y": true}'])
    with running(stream.config()):
        stream.read(stream.output, 600)
        wait_for(lambda: scrape(port).get(("records_total",)) == 604, "all records counted")
        wait_for(lambda: scrape(port).get(("lag_records", "1", stream.input)) == 0, "no lag")
        wait_for(lambda: scrape(port)["commit_seconds_count",] >= 2, "the end of the commit of all that")
        found = scrape(port)
        assert ask(port, "/ready") == (200, "partitions are restored\n")
        assert ask(port, "/live") == (200, "the loop moves\n")
        assert ask(port, "/nothing")[0] == 404
        told = json.loads(ask(port, "/state.json")[1])
    models = [stream.config().build_learner() for _ in range(2)]
    said = [output for n in range(2) for output in twin(models[n], records[n::2])]
    accuracy = river_metrics.Accuracy()
    for output in said:
        if "label" in output and output["prediction"] is not None:
            accuracy.update(output["label"], output["prediction"])
    assert found["progressive_accuracy",] == pytest.approx(accuracy.get())
    assert found["judged_predictions_total",] == accuracy.cm.n_samples
    assert found["learned_records_total",] == sum("label" in output for output in said)
    for label, name in ((True, "true"), (False, "false"), (None, "none")):
        assert found["predictions_total", name] == sum(output["prediction"] is label for output in said)
    assert found["rejects_total", "format"] == 2
    assert (found["rejects_total", "null"], found["rejects_total", "no_features"]) == (1, 1)
    assert found["rejects_total", "features"] == 0, "a series that begins with its first rejects has no rate"
    assert ("rejects_total", "late_label") not in found
    for number, model in enumerate(models):
        place = str(number), stream.input
        assert found["model_examples", *place] == model["PAClassifier"].n_seen
        assert found["model_updates", *place] == model["PAClassifier"].n_updates
        newest = max((stream.folder / "snapshots").rglob(f"{number}/*.snapshot"))
        assert found["snapshot_bytes", *place] == newest.stat().st_size
        page = told["partitions"][number]
        assert (page["partition"], page["offset"], page["lag"], page["paused"]) == (number, 302, 0, None)
        assert page["examples"] == model["PAClassifier"].n_seen
    assert told["rejects"]["reasons"] == {"format": 2, "null": 1, "no_features": 1}
    assert {each["source"] for each in told["rejects"]["last"]} == {
        f"{stream.input}-{n % 2}-{300 + n // 2}" for n in range(4)
    }
    assert found["assigned_partitions",] == 2 and 0 <= found["since_commit_seconds",] < DEADLINE
    assert found["commit_seconds_count",] >= 2 and found["snapshot_seconds_count",] >= 4
    assert found["restore_seconds_count",] == 0 and found["rebalances_total",] >= 1 and found["resets_total",] == 0
    with running(stream.config()):
        wait_for(lambda: ask(port, "/ready")[0] == 200, "a process that goes on")
        found = scrape(port)
        assert found["restore_seconds_count",] == 2 and found["records_total",] == 0
        assert found["model_examples", "0", stream.input] == models[0]["PAClassifier"].n_seen


def test_time_from_a_record_to_its_commit(stream, kafka):
    """That of the oldest record of each commit. A clock that runs ahead counts as no time."""
    port, began = stream.settings["metrics"]["port"], time.time()
    count, total = ("record_to_commit_seconds_count",), ("record_to_commit_seconds_sum",)
    with (
        running(stream.config()),
        contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=60_000)) as producer,
    ):

        def produce(*ages):
            for record, age in zip(phishing(3), ages, strict=False):
                milliseconds = int((began - age) * 1000)
                producer.send(stream.input, orjson.dumps(record), partition=0, timestamp_ms=milliseconds)
            producer.flush()

        wait_for(lambda: scrape(port).get(("commit_seconds_count",), 0) > 0, "the commit of the new partitions")
        assert scrape(port)[count] == 0, "it has no record"
        produce(3600)
        wait_for(lambda: scrape(port)[count] == 1, "the first commit")
        first = scrape(port)
        assert 3600 <= first[total] <= 3600 + time.time() - began
        assert first["record_to_commit_seconds_bucket", "1800.0"] == 0
        produce(10, 50, 0)
        wait_for(lambda: scrape(port)["records_total",] == 4, "all records")
        assert 50 <= scrape(port)[total] - first[total] <= 60 + 3 * (time.time() - began)
        before = scrape(port)
        produce(-3600)
        wait_for(lambda: scrape(port)[count] == before[count] + 1, "the last commit")
        assert scrape(port)[total] == before[total]


def test_lag_ends_at_the_last_stable_offset(stream, kafka, monkeypatch):
    port, commit = stream.settings["metrics"]["port"], Committer.commit
    with (
        contextlib.closing(
            KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=uuid.uuid4().hex)
        ) as writer,
        running(stream.config()),
    ):
        wait_for(lambda: scrape(port).get(("lag_records", "0", stream.input)) == 0, "an end that is known")
        monkeypatch.setattr(Committer, "commit", Committer._restart_interval)  # none, however long the next steps take
        writer.init_transactions()
        writer.begin_transaction()
        for record in phishing(7):  # which no reader of committed records may see yet
            writer.send(stream.input, orjson.dumps(record), partition=0).get(timeout=DEADLINE)
        stream.produce(phishing(5), partition=1)
        wait_for(lambda: scrape(port)["lag_records", "1", stream.input] == 5, "a lag before the next commit")
        assert scrape(port)["lag_records", "0", stream.input] == 0
        writer.commit_transaction()
        wait_for(lambda: scrape(port)["lag_records", "0", stream.input] == 8, "the records and their marker")
        monkeypatch.setattr(Committer, "commit", commit)
        stream.read(stream.output, 12)
        wait_for(lambda: scrape(port)["lag_records", "0", stream.input] == 0, "no lag after the commit")


def test_the_lag_is_known_again_after_an_error_of_the_system(stream, monkeypatch, caplog):
    port, refused = stream.settings["metrics"]["port"], iter([RuntimeError("can't start new thread")] * 3)

    def following(metrics, make_consumer):
        def make():
            for error in refused:
                raise error
            return make_consumer()

        return lag.following_lag(metrics, make)

    monkeypatch.setattr(processor, "following_lag", following)
    stream.produce(phishing(5), partition=1)
    with running(stream.config()):
        stream.read(stream.output, 5)
        wait_for(lambda: scrape(port).get(("lag_records", "1", stream.input)) == 0, "a lag")
    (line,) = [text for text in caplog.messages if text.startswith("the lag is not known")]
    assert line == """the lag is not known: RuntimeError("can't start new thread")"""
    assert next(refused, None) is None


def test_the_lag_of_labels(stream, kafka):
    port, labels = stream.settings["metrics"]["port"], f"{stream.name}-labels"
    kafka.create_topics({labels: 2})
    section = {"topic": labels, "id": "of", "label": "is", "within": "1d", "wait": "1h"}
    stream.produce(phishing(8, unlabelled=10**9), partition=1)
    later = int(time.time() + 60) * 1000  # an earlier record may still come, so these labels wait
    with contextlib.closing(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)) as producer:
        for n in range(3):
            producer.send(labels, b'{"of": "r%d", "is": true}' % n, partition=1, timestamp_ms=later).get(DEADLINE)
    with running(stream.config(labels=section)):
        wait_for(lambda: scrape(port).get(("lag_records", "1", labels)) == 3, "labels that are not taken yet")
        wait_for(lambda: scrape(port).get(("records_total",)) == 8, "all records")
        found = scrape(port)
        lags = [found["lag_records", number, topic] for number in "01" for topic in (stream.input, labels)]
        assert lags == [0, 0, 0, 3]
        told = json.loads(ask(port, "/state.json")[1])["partitions"]
        assert [(each["lag"], each["lag_of_labels"]) for each in told] == [(0, 0), (0, 3)]


def test_an_outage_is_no_death_and_what_is_done_again_counts_once(own_kafka, tmp_path, monkeypatch):
    stream = observed(own_kafka, tmp_path, monkeypatch)
    port = stream.settings["metrics"]["port"]
    stream.produce(phishing(200))
    with running(stream.config()):
        stream.read(stream.output, 200)
        own_kafka.kill(1)
        try:
            stream_is_silent = wait_for(lambda: scrape(port).get(("since_commit_seconds",), 0) > 1, "no more commits")
            assert stream_is_silent and ask(port, "/live")[0] == 200
        finally:
            own_kafka.start(1)
        stream.produce(phishing(400)[200:])
        stream.read(stream.output, 400)
        wait_for(lambda: scrape(port)["records_total",] == 400, "each record counted once")
        assert ask(port, "/live")[0] == ask(port, "/ready")[0] == 200


def test_a_commit_that_fails_is_a_reset_and_counts_nothing(stream, monkeypatch):
    from connectors.kafka import ClientError
    from connectors.topics.commit import Committer

    port, times, step = stream.settings["metrics"]["port"], itertools.count(), Committer.end_transaction

    def fail_once(self):
        if self._outbox.pending.read and next(times) == 0:
            raise ClientError("on purpose")
        step(self)

    monkeypatch.setattr(Committer, "end_transaction", fail_once)
    stream.produce(phishing(50))
    with running(stream.config()):
        stream.read(stream.output, 50)
        wait_for(lambda: scrape(port)["records_total",] == 50, "each record counted once")
        assert scrape(port)["resets_total",] == 1
        assert scrape(port)["rebalances_total",] >= 2


def test_a_loop_that_stands_still_is_not_live(stream, monkeypatch):
    port, held = stream.settings["metrics"]["port"], threading.Event()
    monkeypatch.setattr(health, "LIVENESS_LIMIT", 1.5)
    monkeypatch.setattr(health.Health, "extend_limit", lambda self, seconds: None)
    before_each_record(monkeypatch, lambda _: held.wait(DEADLINE))
    with running(stream.config()):
        wait_for(lambda: ask(port, "/ready")[0] == 200, "restored")
        wait_for(lambda: ask(port, "/live")[0] == 200, "a loop that moves")  # its first commit may take long
        stream.produce(phishing(5))
        code, said = wait_for(lambda: (found := ask(port, "/live"))[0] == 503 and found, "a loop that stands still")
        assert code == 503 and re.fullmatch(r"the loop has not moved for \d+ s\n", said)
        held.set()
        wait_for(lambda: ask(port, "/live")[0] == 200, "a loop that moves again")


def test_a_start_that_waits_for_brokers_is_live(stream, monkeypatch):
    port, held = stream.settings["metrics"]["port"], threading.Event()
    monkeypatch.setattr(health, "LIVENESS_LIMIT", 0.2)
    original = startup.check_input
    monkeypatch.setattr(startup, "check_input", lambda *found: held.wait(DEADLINE) and original(*found))
    with running(stream.config()):
        wait_for(lambda: ask(port, "/live")[0] == 200, "an answer")
        time.sleep(0.5)
        assert ask(port, "/live")[0] == 200 and ask(port, "/ready")[0] == 503
        held.set()
        wait_for(lambda: ask(port, "/ready")[0] == 200, "restored")


def test_not_ready_before_partitions_are_restored(stream, monkeypatch):
    from connectors.topics.assignment import Assignment

    port, held = stream.settings["metrics"]["port"], threading.Event()
    original = Assignment.take_over
    monkeypatch.setattr(Assignment, "take_over", lambda self: held.wait(DEADLINE) and original(self))
    with running(stream.config()):
        wait_for(lambda: scrape(port).get(("assigned_partitions",)) == 0, "a scrape")
        assert ask(port, "/ready") == (503, NOT_READY)
        held.set()
        wait_for(lambda: ask(port, "/ready")[0] == 200, "restored")


def test_not_ready_before_inputs_were_read_again(stream, monkeypatch):
    """With the model of an old snapshot, predictions are not yet those of the committed offset."""
    from connectors.topics.commit import Committer

    port, held, seen = stream.settings["metrics"]["port"], threading.Event(), threading.Event()
    monkeypatch.setattr(Committer, "write_all_snapshots", lambda self: None)  # which an end in order does
    stream.settings["snapshots"] = {"folder": str(stream.folder / "snapshots"), "every": "1h"}
    stream.produce(phishing(60))
    with running(stream.config()):
        stream.read(stream.output, 60)

    def slow(model, record, counts, original=processor.process_record):
        if record.source.endswith("-1-20"):
            seen.set()
            assert held.wait(DEADLINE)
        return original(model, record, counts)

    monkeypatch.setattr(processor, "process_record", slow)
    with running(stream.config()):
        wait_for(seen.is_set, "an input that comes again")
        assert scrape(port)["assigned_partitions",] == 2, "assigned, and both models loaded"
        assert ask(port, "/ready") == (503, NOT_READY)
        held.set()
        wait_for(lambda: ask(port, "/ready")[0] == 200, "all inputs read again")
        assert scrape(port)["records_total",] == 0, "none of them is answered twice"


def file_with(tmp_path, **changes):
    path = tmp_path / "processor.yaml"
    settings = {
        "name": "p",
        "kafka": {"bootstrap_servers": "127.0.0.1:1"},
        "input": {"topic": "events"},
        "record": {"label": "y"},
        "learner": ["PAClassifier"],
        "output": {"topic": "predictions"},
        "snapshots": str(tmp_path / "snapshots"),
    }
    path.write_text(json.dumps(settings | changes))
    return path


def test_a_port_that_is_taken_is_a_sentence_whose_advice_works(tmp_path, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = rf"port {port} of 127.0.0.1 cannot be opened: Address already in use; give"
        with pytest.raises(StartError, match=said) as refused:
            processor.run(config.load(file_with(tmp_path, metrics={"port": port})))
    (advice,) = re.findall("`(port: .*)` on a line of its own", str(refused.value))
    path = file_with(tmp_path)
    settings = json.loads(path.read_text()).items()
    path.write_text("\n".join([*(f"{key}: {json.dumps(value)}" for key, value in settings), "metrics:", f"  {advice}"]))
    monkeypatch.setenv("METRICS_PORT", "19464")
    assert config.load(path).metrics.port == 19464


def test_classes_are_bounded_and_only_grow():
    counts, before = Counts(), {}
    for n in range(100):
        counts += Counts(classes=type(counts.classes)({f"{n % 60}-{'long' * n}": 1}))
        found = by_class(counts.classes)
        assert len(found) <= MAX_CLASSES + 1 and max(map(len, found)) <= MAX_CLASS_LENGTH
        assert all(found[name] >= number for name, number in before.items()), "a counter never goes down"
        before = found
    assert sum(before.values()) == 100


def test_error_of_a_regressor(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1, learner=["PARegressor"], metrics={"port": free_port()})
    records = [{"id": n, "a": n % 7 - 3.0, "b": n % 3, "y": n % 5 - 1.5} for n in range(60)]
    stream.produce(records)
    with running(stream.config()):
        stream.read(stream.output, 60)
        wait_for(lambda: scrape(stream.settings["metrics"]["port"])["records_total",] == 60, "all records counted")
        found = scrape(stream.settings["metrics"]["port"])
    expected = river_metrics.MAE()
    for output in twin(stream.config().build_learner(), records):
        expected.update(output["label"], output["prediction"])
    assert found["progressive_absolute_error",] == pytest.approx(expected.get())
    assert found["absolute_error_total",] == pytest.approx(60 * expected.get())
    assert not any(name.startswith(("predictions", "progressive_accuracy", "right")) for name, *_ in found)


def test_names_are_as_prometheus_has_them(tmp_path):
    metrics = Metrics(config.load(file_with(tmp_path)))
    ours = [family for family in metrics.registry.collect() if family.name.startswith(PREFIX)]
    assert len(ours) > 15
    for family in ours:
        assert re.fullmatch(r"[a-z_]+", family.name) and family.documentation.endswith(".")
        assert family.type != "histogram" or family.name.endswith("_seconds")


def test_the_log_as_json_names_places_and_no_secret(kafka, tmp_path, client):
    stream = Stream(kafka, tmp_path, rejects=None)
    stream.settings["kafka"] |= {
        "kafka-python": {"sasl_plain_username": "me", "sasl_plain_password": "hunter2"},
        "confluent": {"sasl.username": "me", "sasl.password": "hunter2"},
    }[client]
    stream.produce([*phishing(20), b"no JSON"])
    process = start(stream.file(), arguments=["--log-format", "json"])
    try:
        stream.read(stream.output, 20)
        wait_for(lambda: [stream.committed(number).offset for number in (0, 1)] == [11, 10], "all is committed")
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=DEADLINE)[1]
    finally:
        process.kill()
    assert process.returncode == 0 and "hunter2" not in said
    lines = [json.loads(line) for line in said.splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    (rejected,) = [line for line in lines if line["message"].startswith("rejected")]
    assert (rejected["level"], rejected["topic"], rejected["partition"], rejected["offset"]) == (
        ("warning", stream.input, 0, 10)
    )
    offsets = [line["offsets"] for line in lines if line["message"].startswith("committed")]
    assert functools.reduce(dict.__or__, offsets) == {"0": 11, "1": 10}


def test_what_ends_a_processor_is_json_too(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(sys, "argv", ["river-margins", "run", "--log-format", "json", str(tmp_path / "none.yaml")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = json.loads(capsys.readouterr().err)
    assert ended.value.code == 2 and said["level"] == "critical" and "cannot be read" in said["message"]
    try:
        raise RuntimeError("unforeseen")
    except RuntimeError as error:
        sys.excepthook(RuntimeError, error, error.__traceback__)
    said = json.loads(capsys.readouterr().err)
    assert said["message"] == "unforeseen" and "Traceback" in said["exception"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_line_on_a_terminal_and_nowhere_else(kafka, tmp_path, is_terminal):
    stream = Stream(kafka, tmp_path)
    stream.produce([*phishing(200), b"no JSON"])
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    command = [sys.executable, "-m", "connectors", "run", str(stream.file())]
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm"} | ({} if is_terminal else {"FORCE_COLOR": "1"})
    with subprocess.Popen(command, stderr=theirs, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        said = b""
        try:
            wanted = rb"2 partitions \| 201 records \| .*/s \| 1 rejects \| lag 0 \| accuracy [0-9.]+% \| last commit"
            while not re.search(wanted if is_terminal else rb"rejects=1 ", said):
                said += os.read(ours, 10_000)
            shown, hidden = said.rfind(b"\x1b[?25h"), said.rfind(b"\x1b[?25l")
            assert shown > hidden or not is_terminal, "a second Ctrl-C would leave a terminal without a cursor"
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(OSError):  # which is how a terminal ends
                while more := os.read(ours, 10_000):
                    said += more
            assert process.wait(DEADLINE) == 0
        finally:
            process.kill()
            os.close(ours)
    assert (b"\x1b[" in said) == is_terminal
    assert (b"committed partitions=" in said) != is_terminal
    assert b"ended read=201 " in said, said


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_meanwhile_keeps_no_port(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("name: t\ninput: {file: in.csv}\nlearner: [PAClassifier]\noutput: {file: out.csv}\n")
    state, address = health.Health(config.load(path)), config.schema.MetricsAddress(port=free_port())
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(DEADLINE,))
    try:
        with server.serving(state, address):
            process.start()
        with server.serving(state, address):
            pass
    finally:
        process.kill()
        process.join()


def test_connections_that_say_nothing_take_neither_handles_nor_answers(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("name: t\ninput: {file: in.csv}\nlearner: [PAClassifier]\noutput: {file: out.csv}\n")
    state, address = health.Health(config.load(path)), config.schema.MetricsAddress(port=free_port())
    with server.serving(state, address), contextlib.ExitStack() as connections:
        for _ in range(2 * server.MOST_CONNECTIONS):
            silent = connections.enter_context(socket.create_connection((address.host, address.port), DEADLINE))
            silent.sendall(b"GET / HT")
        assert ask(address.port, "/live")[0] == 200
        wait_for(lambda: threading.active_count() <= server.MOST_CONNECTIONS + 10, "no more threads than connections")


def test_a_clock_that_is_set_back_makes_no_commit_younger(tmp_path, monkeypatch):
    metrics = Metrics(config.load(file_with(tmp_path)))
    monkeypatch.setattr("connectors.runtime.metrics.time.time", lambda: 0.0)
    assert 0.0 <= metrics.registry.get_sample_value("river_margins_since_commit_seconds") < 60.0
