"""The log on standard error, as commands write it."""

import json
import logging
import subprocess
import sys
import threading
import warnings

import pytest

from connectors import logs
from connectors.model.rejects import log_reject
from tests.helpers.ports import free_port

ASK = """
from connectors import logs
from connectors.kafka import ClientError, client
logs.set_up({format!r})
try:
    client("kafka-python").describe(["events"], {{"bootstrap_servers": "127.0.0.1:{port}"}}, 6.0)
except ClientError:
    logs.logging.getLogger("connectors").warning("reset")
    logs.logging.getLogger("connectors").warning("reset")
"""


def test_kafka_python_reports_a_broker_that_is_away_once():
    """Each of its lines, by its text without numbers; lines of the processor are all there."""
    port = free_port()
    ended = subprocess.run(
        [sys.executable, "-c", ASK.format(format="plain", port=port)], capture_output=True, text=True
    )
    lines = [line.split(maxsplit=3)[3] for line in ended.stderr.splitlines()]
    of_library = ["".join(c for c in line if not c.isdigit()) for line in lines if line.startswith("kafka.")]
    assert any("ECONNREFUSED" in line for line in of_library)
    assert len(set(of_library)) == len(of_library)
    assert [line for line in lines if not line.startswith("kafka.")] == ["connectors: reset"] * 2


@pytest.fixture
def logged(monkeypatch, capsys):
    """Sets up the log in a format, and returns what was written to it since."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)

    def logged(format):
        logs.set_up(format)
        return lambda: capsys.readouterr().err

    yield logged
    logging.captureWarnings(False)


def test_a_record_cannot_write_lines_of_the_log(logged):
    """Reasons quote records. A terminal must not obey them either."""
    said = logged("plain")
    log_reject(logging.getLogger("x"), "events-0-7", "the feature `a\n2026-01-01 ERROR x: forged\x1b[2J` is ä\u2028", 1)
    (line,) = said().splitlines()
    assert line.endswith(r"rejected events-0-7: the feature `a\n2026-01-01 ERROR x: forged\x1b[2J` is ä\u2028")


def test_in_json_each_line_is_an_object(logged):
    """Also for text that UTF-8 cannot hold, such as the name of a file; for errors of threads, and for warnings."""
    said = logged("json")
    logging.getLogger("x").warning("file=%s", "a\udcff\n")
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("odd", stacklevel=1)
    first, second, third = [json.loads(line) for line in said().splitlines()]
    assert first["message"] == "file=a?\n"
    assert second["level"] == "critical" and "ZeroDivisionError" in second["exception"]
    assert third["level"] == "warning" and "odd" in third["message"]


def test_without_standard_error_the_last_sentence_is_not_among_the_data():
    code = "import sys; sys.stderr = None; from connectors import logs; logs.set_up(); logs.say_last(ValueError('bad'))"
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_last_words_do_not_command_the_terminal(capsys):
    """They may quote a snapshot or a record. The problems of a file are a line each."""
    logs.say_last(ValueError("`a\x1b[2J`\nb"))
    assert capsys.readouterr().err == "`a\\x1b[2J`\nb\n"
