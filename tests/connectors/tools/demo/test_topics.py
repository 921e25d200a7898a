"""The demo in short: the whole of it, with a stream of ten seconds instead of forty."""

import os
import re
import signal
import subprocess
import sys

import pytest
from kafka import KafkaAdminClient

from connectors.tools.demo import topics as demo
from tests.helpers.deadline import DEADLINE


@pytest.fixture
def shortened(kafka, monkeypatch):
    monkeypatch.setattr(demo, "PASSES", 4)
    monkeypatch.setenv("BOOTSTRAP", kafka.bootstrap_servers)
    for name in ("PREFIX", "SNAPSHOTS"):  # the demo sets them; this is so that they are unset afterwards
        monkeypatch.setenv(name, "")
    return kafka


def test_a_killed_processor_leaves_no_trace(shortened, capsys):
    assert demo.run()
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    shown = "\n".join(lines)
    assert "killed (kill -9) with" in shown
    assert "output continues" in shown
    assert "asked to stop (SIGTERM): exit code 0" in shown
    assert shown.count("5,000 of 5,000") >= 1
    assert lines[-1] == "exact: the kill cannot be seen in the output"
    rows = {cells[1].strip(): cells[2].strip() for cells in (line.split("│") for line in lines) if len(cells) == 4}
    assert (rows["records in"], rows["without an output"], rows["with more than one"]) == ("5,000", "0", "0")
    with KafkaAdminClient(bootstrap_servers=shortened.bootstrap_servers) as admin:
        assert not [topic for topic in admin.list_topics() if topic.startswith("demo-")]
        assert not [group for group in admin.list_groups() if group["group_id"].startswith("demo-")]


def test_sigterm_takes_its_processor_along(shortened, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "connectors", "demo"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        found = (re.search(r"process (\d+) started", line) for line in process.stdout)
        started = next(filter(None, found))
        process.terminate()
        assert process.wait(DEADLINE) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(started[1]), 0)
    assert not list(tmp_path.iterdir())
