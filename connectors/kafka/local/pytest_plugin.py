"""A real Apache Kafka for tests: two fixtures, the marker `kafka`, and a last line that says what ran.

    pytest_plugins = ["connectors.kafka.local.pytest_plugin"]  # in the topmost conftest.py

`kafka` is one broker for the whole run, also for the processes of pytest-xdist, so each test uses topic names of its
own. A test that kills, stops or starts a broker takes `own_kafka`, which no other process uses; without pytest-xdist,
both are the same broker.

Three environment variables matter: KAFKA_VERSION is the version to start, by default the newest one that was tried.
BOOTSTRAP is the address of a running broker to use instead. Where no Kafka can run, a test that needs one is skipped
with the reason; if CI is set, it fails. A test that starts a `LocalKafka` itself carries `@pytest.mark.kafka`, so that
it is counted.
"""

import contextlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NoReturn

import pytest

from connectors.kafka.local import VERSION, LocalKafka, LocalKafkaUnavailable, create_topics


@dataclass
class _Summary:
    source: str
    reason: str = ""
    ran: int = 0
    skipped: int = 0


class _SharedBroker:
    """The broker of all processes of pytest-xdist, in the process that hands out the tests.

    It starts when the first of them asks. A process that dies takes nothing along, and this one ends after all of them.
    """

    def __init__(self) -> None:
        self._key = secrets.token_hex(32).encode()
        self._listener = Listener(("127.0.0.1", 0), backlog=100)  # a port: the path of a file may be too long for one
        self._broker, self._lock = contextlib.ExitStack(), threading.Lock()
        self._answer: dict[str, str] | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def place(self) -> tuple[int, bytes]:
        """Where the processes ask: a port, and the key to it."""
        return self._listener.address[1], self._key

    def close(self) -> None:
        """End the broker."""
        self._listener.close()
        with self._lock:
            self._broker.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # when the listener is closed
            while True:
                # a thread for each: who connects and says nothing keeps no other one waiting
                threading.Thread(target=self._tell, args=(self._listener.accept(),), daemon=True).start()

    def _tell(self, connection: Connection) -> None:
        with connection, contextlib.suppress(OSError, EOFError):  # who has asked may be dead when the broker is there
            if hmac.compare_digest(connection.recv_bytes(2 * len(self._key)), self._key):
                with self._lock:
                    if self._answer is None:
                        self._answer = _started(self._broker)
                connection.send_bytes(json.dumps(self._answer).encode())


def _started(broker: contextlib.ExitStack) -> dict[str, str]:
    """Start a broker, and return its address, or why there is none."""
    try:
        return {"address": broker.enter_context(LocalKafka(version=_version())).bootstrap_servers}
    except LocalKafkaUnavailable as error:
        return {"unavailable": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _ask(port: int, key: bytes) -> str:
    """Return the address of the broker that all processes share, and raise what kept it from starting."""
    with Client(("127.0.0.1", port)) as connection:
        connection.send_bytes(key)
        answer = json.loads(connection.recv_bytes())
    if "unavailable" in answer:
        raise LocalKafkaUnavailable(answer["unavailable"])
    if "error" in answer:
        raise RuntimeError(f"the broker of all processes did not start: {answer['error']}")
    return str(answer["address"])


_summary = pytest.StashKey[_Summary]()
_shared = pytest.StashKey[_SharedBroker]()


class _Address:
    """A broker that a test can use and not harm, with the interface of a LocalKafka."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def create_topics(self, partitions: dict[str, int]) -> None:
        create_topics(self.bootstrap_servers, partitions)


class GivenKafka(_Address):
    """The broker at BOOTSTRAP; a test that tries to kill or stop it is skipped."""

    def kill(self, node: int) -> NoReturn:
        pytest.skip("the broker that BOOTSTRAP names cannot be killed, stopped or started by a test")

    start = stop = resume = kill


class SharedKafka(_Address):
    """The broker of all processes of pytest-xdist; a test that tries to kill or stop it fails."""

    def kill(self, node: int) -> NoReturn:
        pytest.fail(
            "the broker of the fixture `kafka` serves the tests of other processes, too: a test that kills, stops or "
            "starts a broker takes the fixture `own_kafka` instead"
        )

    start = stop = resume = kill


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[LocalKafka | GivenKafka | SharedKafka]:
    """One real Kafka for all tests, also those of other processes: `bootstrap_servers`, `create_topics`."""
    if address := os.environ.get("BOOTSTRAP"):
        yield GivenKafka(address)
    elif place := _shared_place(pytestconfig):
        yield SharedKafka(_ask(*place))
    else:
        with LocalKafka(version=_version()) as local:
            yield local


@pytest.fixture(scope="session")
def own_kafka(request: pytest.FixtureRequest) -> Iterator[LocalKafka | GivenKafka]:
    """One real Kafka for the tests of this process: as `kafka`, with `kill`, `start`, `stop`, `resume`."""
    if _shared_place(request.config) and not os.environ.get("BOOTSTRAP"):
        with LocalKafka(version=_version()) as local:
            yield local
    else:
        yield request.getfixturevalue("kafka")


def _shared_place(config: pytest.Config) -> tuple[int, bytes] | None:
    """Return where to ask for the broker that several processes share; None if this is the only process."""
    place: tuple[int, bytes] | None = getattr(config, "workerinput", {}).get("kafka")
    return place


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
    fixtures = getattr(item, "fixturenames", ())
    needs_kafka = "kafka" in fixtures or "own_kafka" in fixtures or item.get_closest_marker("kafka")
    skipped = call.excinfo is not None and isinstance(call.excinfo.value, pytest.skip.Exception)
    if needs_kafka and call.when == "call" and not skipped:
        item.config.stash[_summary].ran += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In one of several processes (pytest-xdist), hand the counts to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        summary = session.config.stash[_summary]
        session.config.workeroutput["kafka"] = (summary.reason, summary.ran, summary.skipped)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell one of several processes where to ask for the broker that they share."""
    if _shared not in node.config.stash:
        node.config.stash[_shared] = _SharedBroker()
    node.workerinput["kafka"] = node.config.stash[_shared].place


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the counts of one of several processes."""
    reason, ran, skipped = getattr(node, "workeroutput", {}).get("kafka", ("", 0, 0))
    summary = node.config.stash[_summary]
    summary.reason = summary.reason or reason
    summary.ran += ran
    summary.skipped += skipped


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the broker of all processes. Write, below the counts of all tests, how many of them used a real Kafka."""
    if shared := config.stash.get(_shared, None):
        shared.close()
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    summary = config.stash[_summary]
    if reporter and summary.ran:
        reporter.write_line(f"Kafka: {_tests(summary.ran)} ran against {summary.source}")
    if reporter and summary.skipped:
        outcome = "failed" if os.environ.get("CI") else "skipped"
        reporter.write_line(f"Kafka: not available, {_tests(summary.skipped)} {outcome}: {summary.reason}")


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
