"""The commands as a user meets them: what they print, where, and the exit code."""

import contextlib
import importlib.metadata
import io
import json
import os
import platform
import shlex
import signal
import socket
import subprocess
import sys
import types
from collections import Counter

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from connectors import cli, errors
from connectors.tools import produce, replay_rejects
from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT

EXAMPLE = ROOT / "deploy" / "examples" / "phishing.yaml"


@pytest.fixture
def command(tmp_path):
    """Runs a command in a process of its own, which begins with half a second of imports."""

    def command(*arguments, **environment):
        environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **environment}
        line = [sys.executable, "-m", "connectors", *map(str, arguments)]
        return subprocess.run(
            line, check=False, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
        )

    return command


@pytest.fixture
def command_here(tmp_path, monkeypatch, capfd):
    """Runs a command in this process: one that changes nothing of its process but what `log` undoes."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        line = ["river-margins", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", line)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return subprocess.CompletedProcess(line, ended.value.code, *capfd.readouterr())

    return command


def test_the_version_names_the_packages_that_decide_what_happens(command_here):
    shown = command_here("--version")
    assert shown.returncode == 0
    packages = "".join(f", {name} {importlib.metadata.version(name)}" for name in ("river", "kafka-python"))
    assert shown.stdout.startswith(
        f"river-margins {importlib.metadata.version('river-margins')} (Python {platform.python_version()}{packages}"
    )


def test_the_command_as_a_module(tmp_path):
    line = [sys.executable, "-m", "connectors", "--version"]
    shown = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert shown.stdout.startswith("river-margins ")


def test_help_names_the_commands_and_every_exit_code(command_here):
    shown = command_here("--help")
    assert shown.returncode == 0
    names = "run lint explain schema evaluate learners topics produce tail replay-rejects kafka demo"
    for name in names.split():
        assert f"│ {name} " in shown.stdout
    for code, meaning in errors.exit_codes().items():
        assert f"{code}  {meaning}" in shown.stdout


def test_exit_codes_are_all_different():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert len(kinds) == len(errors.exit_codes())


def test_lint_of_a_good_file(command_here):
    shown = command_here("lint", EXAMPLE)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{EXAMPLE}: ok\n", "")


def test_what_a_terminal_cannot_show_is_written_in_its_code(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    monkeypatch.setattr(sys, "argv", ["river-margins", "learners", "PAClassifier"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    sys.stdout.flush()
    assert ended.value.code == 0 and b"\\u27e8w, x\\u27e9" in written.getvalue()


def test_process_number_1_ends_with_sigterm():
    """As in a container, where a signal without a handler does nothing; elsewhere it ends a process without a code."""
    code = (
        "import os, signal, sys, connectors.cli; os.getpid = lambda: 1; main = sys.modules['connectors.cli.main']; "
        "main.app = lambda **_: signal.raise_signal(signal.SIGTERM); main.main()"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=DEADLINE).returncode == 143


@pytest.mark.parametrize(
    ("arguments", "default"),
    [
        (["produce"], "(as fast as possible)"),
        (["evaluate"], "(the input file of the processor)"),
        (["topics", "create"], "(3, or the number of brokers)"),
    ],
)
def test_help_names_the_defaults(arguments, default):
    shown = CliRunner().invoke(cli.app, [*arguments, "--help"], env={"COLUMNS": "200"}, color=False)
    assert f"[default: {default}]" in shown.output


def test_schema(command_here):
    of_files = json.loads(command_here("schema").stdout)
    jsonschema.validate(yaml.safe_load(EXAMPLE.read_text()), of_files)
    of_output = json.loads(command_here("schema", EXAMPLE, "output").stdout)
    assert "Output of the processor phishing" in of_output["title"]
    refused = command_here("schema", EXAMPLE, "input")
    assert refused.returncode == 2 and "'output'" in refused.stderr


def test_lint_of_a_bad_file(command_here, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(EXAMPLE.read_text().replace("guarantee: exactly_once", "garantee: 1").replace("label:", "labl:"))
    shown = command_here("lint", bad)
    assert (shown.returncode, shown.stderr) == (2, "")
    first, second = shown.stdout.splitlines()
    assert first == f"{bad}:12:3: unknown key `record.labl`, did you mean `label`?"
    assert second == f"{bad}:18:14: unknown key `checkpoint.garantee`, did you mean `guarantee`?"


def test_run_of_a_bad_file_is_a_sentence_and_no_traceback(command, tmp_path):
    shown = command("run", tmp_path / "none.yaml")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == f"`{tmp_path}/none.yaml` cannot be read: No such file or directory\n"


def test_run_that_cannot_start_is_a_sentence_and_no_traceback(command, tmp_path):
    (tmp_path / "file").touch()
    shown = command("run", EXAMPLE, SNAPSHOTS=f"{tmp_path}/file/folder")
    assert (shown.returncode, shown.stdout) == (3, "")
    last = shown.stderr.splitlines()[-1]
    assert last == f"the folder of the snapshots `{tmp_path}/file/folder` cannot be written: Not a directory"
    assert "Traceback" not in shown.stderr


def run(*arguments, unbuffered, **streams):
    """Runs a command with the buffers that a shell gives it, or without any, as in the image."""
    line = [sys.executable, "-m", "connectors", *map(str, arguments)]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(line, check=False, text=True, timeout=120, env=environment, **streams)


@contextlib.contextmanager
def pipe_without_reader():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["shell", "container"])


@UNBUFFERED
@pytest.mark.parametrize("format", ["plain", "json"])
def test_the_exit_code_is_that_of_the_error_where_standard_error_takes_nothing(tmp_path, format, unbuffered):
    """Like a file on a full disk: a supervisor goes by the code."""
    (tmp_path / "bad.yaml").write_text("name: bad\n")
    with pipe_without_reader() as stderr:
        done = run("run", "--log-format", format, tmp_path / "bad.yaml", unbuffered=unbuffered, stderr=stderr)
    assert done.returncode == errors.ConfigError.exit_code


@UNBUFFERED
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["explain", EXAMPLE], ["--help"]], ids=["explain", "help"])
def test_standard_output_on_a_full_disk_is_a_sentence_and_no_traceback(arguments, unbuffered):
    """What is still in memory when the command ends is written then, and counts as well."""
    with open("/dev/full", "w") as full:
        done = run(*arguments, unbuffered=unbuffered, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == errors.ConnectorError.exit_code
    assert done.stderr == "standard output or a temporary file cannot be written: No space left on device\n"


WRITES = """
from connectors.cli import main
from connectors.tools.demo import topics

def run():
    with open("input", "w") as file:
        file.write("x" * 100_000)

topics.run = run
main()
"""


def test_a_full_disk_for_temporary_files_is_not_taken_for_that_of_standard_output(tmp_path):
    """The demo writes such files. The error names none."""
    line = f"ulimit -f 20; exec {shlex.quote(sys.executable)} -B -c {shlex.quote(WRITES)} demo"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", line], check=False, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
    )
    assert done.returncode == errors.ConnectorError.exit_code
    assert done.stderr == "standard output or a temporary file cannot be written: File too large\n"


@UNBUFFERED
def test_a_reader_that_has_ended_is_no_traceback(unbuffered):
    with pipe_without_reader() as stdout:
        done = run("explain", EXAMPLE, unbuffered=unbuffered, stdout=stdout, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.usefixtures("kafka")  # skips, or fails in CI, where no Kafka can be had
def test_kafka_runs_until_it_is_interrupted(tmp_path):
    line = [sys.executable, "-m", "connectors", "kafka", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as server:
        try:
            assert server.stdout is not None
            words = server.stdout.readline().split()
            host, port = next(word for word in words if word.startswith("127.0.0.1:")).rstrip(".,").split(":")
            socket.create_connection((host, int(port)), timeout=DEADLINE).close()
            server.send_signal(signal.SIGINT)
            assert server.wait(DEADLINE) == 0
            assert not list(tmp_path.glob("local-kafka-*"))
        finally:
            server.kill()


def test_replay_rejects_counts_the_reasons_that_it_does_not_show(monkeypatch):
    reasons = Counter({"not JSON": 5}) + Counter(f"`{n}` has its label already" for n in range(20))
    monkeypatch.setattr(replay_rejects, "replay", lambda *_: replay_rejects.Counts(reasons))
    said = CliRunner().invoke(cli.app, ["replay-rejects", str(EXAMPLE)]).output.splitlines()
    assert said[0].startswith("25 rejects sent") and said[1].split() == ["5", "not", "JSON"]
    assert said[-1].split() == ["11", "for", "other", "reasons,", "21", "in", "all"]


def test_a_reason_does_not_command_the_terminal(monkeypatch, tmp_path):
    sent = replay_rejects.Counts(Counter({"`\x1b[2J` has its label already": 2}))
    skipped = types.SimpleNamespace(sent=1, skipped=1, reason="in.svm:1: the label is `\x1b[2J`")
    monkeypatch.setattr(replay_rejects, "replay", lambda *_: sent)
    monkeypatch.setattr(produce, "produce", lambda *_, **__: skipped)
    for arguments in (["replay-rejects", EXAMPLE], ["produce", EXAMPLE, "in.svm"]):
        said = CliRunner().invoke(cli.app, list(map(str, arguments)), color=True).output
        assert r"`\x1b[2J`" in said and "\x1b" not in said


def test_snapshots_of_a_processor_between_files_are_where_the_command_says(command, command_here, tmp_path):
    (tmp_path / "records.jsonl").write_text('{"length": 3, "label": true}\n')
    (tmp_path / "files.yaml").write_text(
        "name: mail\ninput: {file: records.jsonl}\nrecord: {label: label}\nlearner: [PAClassifier]\n"
        "output: {file: predictions.jsonl}\nsnapshots: kept\n"
    )
    assert command("run", "files.yaml").returncode == 0
    refused = command_here("snapshots", "list", "files.yaml")
    assert refused.returncode == errors.ConfigError.exit_code
    (snapshot,) = (tmp_path / "kept" / "mail" / "files" / "0").iterdir()
    assert f"keeps one snapshot, in `{snapshot.parent}`" in refused.stderr
    shown = command_here("snapshots", "show", snapshot)
    assert shown.returncode == 0 and "PAClassifier" in shown.stdout
