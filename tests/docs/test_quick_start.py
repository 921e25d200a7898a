"""The quick start of the README works word by word, on a real Kafka; only a port that is in use is another one."""

import itertools
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest

from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT
from tests.helpers.ports import free_port

PAGE = (ROOT / "README.md").read_text()
(COMMANDS,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
(FILE,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


class Terminals:
    """Runs lines of a shell, each in a terminal of its own; those that do not end by themselves stay until `close`."""

    def __init__(self, folder, bootstrap=None):
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        program = programs / "river-margins"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m connectors "$@"\n')
        program.chmod(0o755)
        self.environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}"}
        self.environment.pop("BOOTSTRAP", None)
        if bootstrap is not None:
            self.environment["BOOTSTRAP"] = bootstrap
        self.running = []

    def start(self, line):
        with (self.folder / "errors.txt").open("a") as errors:
            process = subprocess.Popen(
                f"exec {line}",
                shell=True,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.running.append(process)
        return process

    def read(self, process, count):
        """The next lines of a process; fails with the errors of all processes if it ends before."""
        lines = list(itertools.islice(process.stdout, count))
        assert len(lines) == count, (self.folder / "errors.txt").read_text()[-5000:]
        return lines

    def close(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=DEADLINE)


@pytest.fixture
def port():
    """The port of the page, or another one if a program of this machine has it."""
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", 9092))
        except OSError:
            yield free_port()
            return
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # only the broker of the test can listen there
        yield 9092


@pytest.fixture
def terminals(tmp_path, port):
    (tmp_path / "phishing.yaml").write_text(FILE)
    found = Terminals(tmp_path, None if port == 9092 else f"localhost:{port}")
    try:
        yield found
    finally:
        found.close()


@pytest.mark.kafka
def test_quick_start(terminals, port):
    lines = COMMANDS.splitlines()
    assert [line.split()[1] for line in lines] == ["kafka", "topics", "produce", "run", "tail"]
    assert "localhost:9092" in lines[0] and "localhost:9092" in FILE
    kafka, create, produce, run, tail = lines
    if port != 9092:
        kafka = kafka.replace("kafka ", f"kafka --port {port} ", 1)
    assert terminals.read(terminals.start(kafka), 1) == [f"127.0.0.1:{port}\n"]
    said, _ = terminals.start(create).communicate(timeout=DEADLINE)
    assert [line.split("`")[1] for line in said.splitlines()] == ["events", "predictions", "rejects"]
    assert terminals.start(produce).communicate(timeout=DEADLINE)[0] == "1,250 records sent to `events`\n"
    processor = terminals.start(run)
    reader = terminals.start(tail)
    outputs = [json.loads(line) for line in terminals.read(reader, 1250)]
    assert len({output["source"] for output in outputs}) == 1250
    right = sum(output["value"]["prediction"] == output["value"]["label"] for output in outputs)
    assert right > 1000
    processor.send_signal(signal.SIGINT)
    assert processor.wait(DEADLINE) == 0
