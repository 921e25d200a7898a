"""Fixtures of the tests that run processors or commands; the `conftest.py` of their folders import them."""

import faulthandler
import gc
import logging
import os
import sys
import threading
import zlib
from collections.abc import Callable, Iterator

import pytest

from connectors import logs
from connectors.errors import CommitTimeoutError
from connectors.kafka import CLIENTS
from connectors.kafka.local import LocalKafka
from tests.helpers import streams

__all__ = ["client", "count_frozen", "hang", "log", "older_kafka"]


@pytest.fixture(autouse=True)
def log() -> Iterator[None]:
    """Undo what a command sets up for its own process: handlers, levels, hooks, the threshold of the collector."""
    root, hooks, threshold = logging.getLogger(), (sys.excepthook, threading.excepthook), gc.get_threshold()
    changed = [root, *map(logging.getLogger, logs.CLIENTS)]
    handlers, levels = root.handlers[:], [logger.level for logger in changed]
    yield
    root.handlers[:] = handlers
    sys.excepthook, threading.excepthook = hooks  # pytest sets that of threads once, and fails tests by it
    logging.captureWarnings(False)
    gc.set_threshold(*threshold)
    for logger, level in zip(changed, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture(autouse=True)
def hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a commit that hangs in a thread of this process fail its test, instead of ending the process."""

    def give_up(seconds: float) -> None:
        streams.hung = CommitTimeoutError(f"a commit did not end within {seconds:g} s, see the captured stacks")
        faulthandler.dump_traceback(sys.__stderr__)

    monkeypatch.setattr(streams, "hung", None)
    monkeypatch.setattr("connectors.runtime.watchdog._give_up", give_up)


@pytest.fixture(autouse=True)
def count_frozen(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """`gc.get_freeze_count`. A processor that asks is told 1: to count the objects of the whole suite takes 70 ms."""
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    return count


@pytest.fixture(scope="session")
def older_kafka() -> Iterator[LocalKafka]:
    """The last Kafka before 4.0. Records expire within half a second where a topic says so; metadata is short."""
    settings = {
        "log.retention.check.interval.ms": 300,
        "log.initial.task.delay.ms": 300,
        "offset.metadata.max.bytes": 600,
    }
    with LocalKafka(version="3.9.1", settings=settings) as local:
        yield local


@pytest.fixture(autouse=True)
def client(request: pytest.FixtureRequest) -> Iterator[str]:
    """The Kafka client of the processors of a test.

    A test marked `BOTH_CLIENTS` runs with each; every other one with one of them, which its name decides: half of them
    with either. CLIENT in the environment names one for all.
    """
    by_name = CLIENTS[zlib.crc32(request.node.nodeid.encode()) % len(CLIENTS)]
    streams.CLIENT = getattr(request, "param", None) or os.environ.get("CLIENT") or by_name
    yield streams.CLIENT
    try:
        streams.close_clients()
    finally:
        streams.kill_what_is_left()
