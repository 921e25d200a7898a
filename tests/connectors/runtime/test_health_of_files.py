"""Looking at a processor between files from outside: the same metrics, and a line on a terminal."""

import contextlib
import json
import os
import pty
import re
import shlex
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from river import metrics as river_metrics

from connectors import config
from connectors.config.schema import MetricsAddress
from connectors.errors import StartError
from connectors.files import processor as files
from connectors.files.record_files import Reader
from connectors.runtime import health, server
from tests.connectors.runtime.test_health import NOT_READY, ask, scrape
from tests.helpers.ports import free_port
from tests.helpers.streams import DEADLINE, phishing, start, twin, wait_for


@pytest.fixture
def file(tmp_path):
    """Writes the file of a processor, and its input."""

    def write(records, **changes):
        (tmp_path / "in.jsonl").write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        settings = {
            "name": "trial",
            "input": {"file": str(tmp_path / "in.jsonl")},
            "record": {"id": "id", "label": "y"},
            "learner": ["StandardScaler", "PAClassifier"],
            "output": {"file": str(tmp_path / "out.jsonl")},
            "checkpoint": {"every": "50ms"},
            "snapshots": str(tmp_path / "snapshots"),
        }
        path = tmp_path / "processor.yaml"
        path.write_text(json.dumps(settings | changes))
        return path

    return write


def test_metrics_are_those_of_an_independent_count(file):
    port, records = free_port(), phishing(300)
    path = file(
        [], input={"file": "-"}, checkpoint={"guarantee": "none", "every": "50ms"}, metrics={"port": port}
    )  # fmt: skip
    process = start(path)
    try:
        process.stdin.writelines(json.dumps(record) + "\n" for record in records)
        process.stdin.write("no JSON\n")
        process.stdin.flush()
        wait_for(lambda: scrape(port).get(("records_total",)) == 301, "all records counted")
        wait_for(lambda: scrape(port)["commit_seconds_count",] >= 1, "the end of a commit")
        found = scrape(port)
        assert ask(port, "/ready")[0] == ask(port, "/live")[0] == 200
        said = process.communicate(timeout=DEADLINE)[1]
    finally:
        process.kill()
    assert process.returncode == 0, said
    model, accuracy = config.load(path).build_learner(), river_metrics.Accuracy()
    for output in twin(model, records):
        if "label" in output and output["prediction"] is not None:
            accuracy.update(output["label"], output["prediction"])
    assert found["progressive_accuracy",] == pytest.approx(accuracy.get())
    assert found["rejects_total", "format"] == 1
    assert found["model_examples", "0", "-"] == model["PAClassifier"].n_seen == found["learned_records_total",]
    assert found["model_updates", "0", "-"] == model["PAClassifier"].n_updates
    assert found["snapshot_bytes", "0", "-"] > 0 and 0 <= found["since_commit_seconds",] < DEADLINE
    assert found["processor_info", "files", "none", "trial"] == 1
    assert not any(name == "lag_records" for name, *_ in found)


def test_certificates_are_those_of_a_perceptron_in_numpy(file):
    port, records = free_port(), phishing(200, unlabelled=3)
    names = [name for name in records[0] if name not in ("id", "y")]
    u = dict.fromkeys(names, 0.0) | {names[0]: 1.5, names[1]: -0.5}
    watched = {"Watched": {"learner": {"Perceptron": {"intercept": False}}, "comparator": u}}
    learned = [(np.array([record[name] for name in names]), 1.0 if record["y"] else -1.0)
               for record in records if record.get("y") is not None]  # fmt: skip
    weights, mistakes, longest, loss = np.zeros(len(names)), 0, 0.0, 0.0
    for x, sign in learned:
        longest = max(longest, np.linalg.norm(x))
        if sign * (weights @ x) <= 0:
            mistakes, weights = mistakes + 1, weights + sign * x
            loss += max(0.0, 1.0 - sign * (np.array([*u.values()]) @ x))
    reach = longest * np.hypot(1.5, 0.5)
    path = file(
        [], input={"file": "-"}, checkpoint={"guarantee": "none", "every": "50ms"}, learner=[watched],
        metrics={"port": port},
    )  # fmt: skip
    process = start(path)
    try:
        process.stdin.writelines(json.dumps(record) + "\n" for record in records)
        process.stdin.flush()
        wait_for(lambda: scrape(port).get(("model_examples", "0", "-")) == len(learned), "all records learned")
        wait_for(lambda: scrape(port).get(("mistakes", "0", "-")) == mistakes, "a snapshot of all that")
        found = scrape(port)
        assert process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    bound = loss + reach**2 / 2 + reach * np.sqrt(loss + reach**2 / 4)
    assert found["mistake_bound", "0", "-"] == pytest.approx(bound, rel=1e-9) and mistakes < bound
    assert ("dual_progress", "0", "-") not in found, "there is none for this learner"


def test_comparing_what_was_done_before_is_no_death(file, monkeypatch):
    """It may take hours, and nothing can be said meanwhile but that it is not ready."""
    port, held, reached, skip = free_port(), threading.Event(), threading.Event(), Reader.skip
    files.run(config.load(file(phishing(20))))
    found = config.load(file(phishing(30), metrics={"port": port}))
    state = health.Health(found)

    def slow(*arguments):
        reached.set()
        assert held.wait(DEADLINE)
        skip(*arguments)

    monkeypatch.setattr(Reader, "skip", slow)
    monkeypatch.setattr(health.Health, "silence", property(lambda self: 1e9))
    thread = threading.Thread(target=files.run, args=[found, None, state])
    thread.start()
    try:
        wait_for(reached.is_set, "the input is read again")
        assert ask(port, "/live")[0] == 200 and ask(port, "/ready") == (503, NOT_READY)
    finally:
        held.set()
        thread.join(DEADLINE)
    assert state.metrics.work.counts.read == 10 and state.is_ready
    assert not state.is_live, "a loop that stands still"


@pytest.mark.parametrize("standard", [False, True])
def test_a_line_on_a_terminal(file, standard):
    changes = {"output": {"file": "-"}, "checkpoint": {"guarantee": "at_least_once"}} if standard else {}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "connectors", "run", str(file(phishing(200), **changes))]
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm"}
    said = b""
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # which is how a terminal ends
            while more := os.read(ours, 10_000):
                said += more
        assert process.wait(DEADLINE) == 0
    os.close(ours)
    line = re.search(rb"in\.jsonl \| 200 records \| .*/s \| accuracy [0-9.]+% \| last commit", said)
    assert (line is None) == standard, said
    assert (b"committed line=" in said) == standard
    assert b"ended at line 200 of" in said and b"| lag" not in said


def test_answers_by_their_method_and_by_the_address(file):
    """Of an answer to HEAD there is no content, and an address of IPv6 is one."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    found = health.Health(config.load(file([], metrics={"port": free_port(), "host": "::1"})))
    with server.serving(found, MetricsAddress(port=(port := free_port()), host="::1")):
        for path, status in (("/live", 200), ("/ready", 503), ("/nothing", 404), ("/", 200), ("/metrics", 200)):
            answers = {}
            for method in ("GET", "HEAD"):
                with socket.create_connection(("::1", port), timeout=DEADLINE) as connection:
                    connection.sendall(f"{method} {path} HTTP/1.0\r\n\r\n".encode())
                    head, _, content = connection.makefile("rb").read().partition(b"\r\n\r\n")
                assert int(head.split()[1]) == status
                answers[method] = re.findall(rb"Content-Length: (\d+)", head), content
            (length,), content = answers["GET"]
            assert int(length) == len(content) > 0 and answers["HEAD"][1] == b""
            assert path == "/metrics" or answers["HEAD"][0] == [length]  # the process' own figures change


def test_an_address_that_is_not_of_this_machine(file):
    with (
        pytest.raises(StartError, match=r"cannot be opened: .*; check `metrics.host` and `metrics.port`$"),
        server.serving(health.Health(config.load(file([]))), MetricsAddress(port=free_port(), host="not a host")),
    ):
        pass


def test_it_runs_without_standard_error(file, tmp_path):
    python, path = shlex.quote(sys.executable), shlex.quote(str(file(phishing(5))))
    command = f"exec {python} -m connectors run {path} <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", command], check=False, timeout=DEADLINE).returncode == 0
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 5


def test_names_that_a_scraper_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(
        "name: a\ninput: {file: a.jsonl}\nlearner: [PAClassifier]\noutput: {file: b.jsonl}\n"
    )
    port = free_port()
    with server.serving(health.Health(config.load(tmp_path / "p.yaml")), MetricsAddress(port=port)):
        url = f"http://127.0.0.1:{port}/metrics?name[]=river_margins_records_total"
        with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
            assert "\nriver_margins_records_total 0.0\n" in answer.read().decode()
