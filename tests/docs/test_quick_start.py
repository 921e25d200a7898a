"""The quick start of the README works word by word, on a real Kafka; only the port is another one."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT

PAGE = (ROOT / "README.md").read_text()
(COMMANDS,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(FILE,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Terminals:
    """Runs the commands of a shell block; those that do not end by themselves stay until `close`."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.environment = os.environ | {"BOOTSTRAP": f"localhost:{port}", "PYTHONPATH": str(ROOT)}
        self.running = {}

    def start(self, line):
        program, name, *arguments = shlex.split(line, comments=True)
        assert program == "river-margins"
        if name == "kafka":
            arguments += ["--port", str(self.port)]
        process = subprocess.Popen(
            [sys.executable, "-m", "connectors.cli", name, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.running[name] = process
        return process

    def close(self):
        for name in reversed(self.running):
            process = self.running[name]
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


@pytest.fixture
def terminals(tmp_path):
    (tmp_path / "phishing.yaml").write_text(FILE)
    found = Terminals(tmp_path, free_port())
    try:
        yield found
    finally:
        found.close()


@pytest.mark.kafka
def test_quick_start(terminals):
    lines = COMMANDS.splitlines()
    assert [line.split()[1] for line in lines] == ["kafka", "topics", "produce", "run", "tail"]
    assert "localhost:9092" in lines[0] and "localhost:9092" in FILE
    kafka, create, produce, run, tail = lines
    assert terminals.start(kafka).stdout.readline().strip() == f"127.0.0.1:{terminals.port}"
    said, _ = terminals.start(create).communicate(timeout=60)
    assert [line.split("`")[1] for line in said.splitlines()] == ["events", "predictions", "rejects"]
    assert terminals.start(produce).communicate(timeout=60)[0] == "1,250 records sent to `events`\n"
    processor = terminals.start(run)
    reader = terminals.start(tail)
    outputs = [json.loads(reader.stdout.readline()) for _ in range(1250)]
    assert len({output["source"] for output in outputs}) == 1250
    right = sum(output["value"]["prediction"] == output["value"]["label"] for output in outputs)
    assert right > 1000
    processor.send_signal(signal.SIGINT)
    assert processor.wait(60) == 0
