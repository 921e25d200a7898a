"""A real Apache Kafka for tests: the fixture `kafka`, the marker `kafka`, and a last line that says what ran.

    pytest_plugins = ["connectors.kafka.local.pytest_plugin"]  # in the topmost conftest.py

`kafka` is one broker for the whole session, so each test uses topic names of its own. Three environment variables
matter: KAFKA_VERSION is the version to start, by default the newest one that was tried. BOOTSTRAP is the address of a
running broker to use instead. Where no Kafka can run, a test that needs one is skipped with the reason; if CI is set,
it fails. A test that starts a `LocalKafka` itself carries `@pytest.mark.kafka`, so that it is counted.
"""

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from connectors.kafka.local import VERSION, LocalKafka, LocalKafkaUnavailable, create_topics


@dataclass
class _Summary:
    source: str
    reason: str = ""
    ran: int = 0
    skipped: int = 0


_summary = pytest.StashKey[_Summary]()


class GivenKafka:
    """The broker at BOOTSTRAP, with the interface of a LocalKafka; a test that tries to kill or stop it is skipped."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def create_topics(self, partitions: dict[str, int]) -> None:
        create_topics(self.bootstrap_servers, partitions)

    def kill(self, node: int) -> NoReturn:
        pytest.skip("the broker that BOOTSTRAP names cannot be killed, stopped or started by a test")

    start = stop = resume = kill


@pytest.fixture(scope="session")
def kafka() -> Iterator[LocalKafka | GivenKafka]:
    """One real Kafka for the session: `bootstrap_servers`, `create_topics`, `kill`, `start`, `stop`, `resume`."""
    if address := os.environ.get("BOOTSTRAP"):
        yield GivenKafka(address)
    else:
        with LocalKafka(version=_version()) as local:
            yield local


def _version() -> str:
    return os.environ.get("KAFKA_VERSION") or VERSION


def pytest_configure(config: pytest.Config) -> None:
    source = f"Apache Kafka {_version()} (1 broker, started from pip packages)"
    if address := os.environ.get("BOOTSTRAP"):
        source = f"the broker at {address}, named by BOOTSTRAP"
    config.stash[_summary] = _Summary(source)
    config.addinivalue_line("markers", "kafka: the test starts an Apache Kafka of its own")


def _skip_without_kafka(item: pytest.Item) -> Generator[None, object, object]:
    """Turn LocalKafkaUnavailable, wherever it is raised, into a skipped test, or a failed one in CI."""
    try:
        return (yield)
    except LocalKafkaUnavailable as error:
        reason = str(error)
    summary = item.config.stash[_summary]
    summary.reason = reason
    summary.skipped += 1
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (with CI in the environment, a missing Kafka is a failure)", pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _skip_without_kafka(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _skip_without_kafka(item))


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    needs_kafka = "kafka" in getattr(item, "fixturenames", ()) or item.get_closest_marker("kafka")
    skipped = call.excinfo is not None and isinstance(call.excinfo.value, pytest.skip.Exception)
    if needs_kafka and call.when == "call" and not skipped:
        item.config.stash[_summary].ran += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In one of several processes (pytest-xdist), hand the counts to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        summary = session.config.stash[_summary]
        session.config.workeroutput["kafka"] = (summary.reason, summary.ran, summary.skipped)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the counts of one of several processes."""
    reason, ran, skipped = getattr(node, "workeroutput", {}).get("kafka", ("", 0, 0))
    summary = node.config.stash[_summary]
    summary.reason = summary.reason or reason
    summary.ran += ran
    summary.skipped += skipped


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write, below the counts of all tests, how many of them used a real Kafka."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    summary = config.stash[_summary]
    if reporter and summary.ran:
        reporter.write_line(f"Kafka: {_tests(summary.ran)} ran against {summary.source}")
    if reporter and summary.skipped:
        outcome = "failed" if os.environ.get("CI") else "skipped"
        reporter.write_line(f"Kafka: not available, {_tests(summary.skipped)} {outcome}: {summary.reason}")


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
