"""An `instance` is a static member of the group: a restart finds its partitions, and an older process of it ends."""

import json
import logging
import signal
import time

import orjson
import pytest

from connectors.errors import FencedError
from connectors.kafka import ClientError, client
from connectors.topics.commit import Committer
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, twin, wait_for

SESSION = 30.0  # seconds; a test that had to wait for its end would take longer


@pytest.fixture
def stream(kafka, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.settings["kafka"]["consumer"] = {"session_timeout_ms": int(SESSION * 1000), "heartbeat_interval_ms": 300}
    return stream


def produce(stream, records):
    stream.produce(orjson.dumps(record) for record in records)


def assert_exact(stream, records):
    found = {number: [] for number in range(stream.partitions)}
    for message in stream.read(stream.output, len(records)):
        found[message.partition].append(json.loads(message.value))
    for number, outputs in found.items():
        assert outputs == twin(stream.config().build_learner(), records[number :: stream.partitions])


@BOTH_CLIENTS
def test_a_killed_instance_is_back_without_a_rebalance(stream, caplog):
    caplog.set_level(logging.INFO)
    records = phishing(600)
    with running(stream.config(instance="a")) as other:
        process = start(stream.file(instance="b"))
        try:
            wait_for(lambda: stream.members() == [1, 1], "two members")
            produce(stream, records[:300])
            stream.read(stream.output, 300)
            process.kill()
            process.communicate()
            generations = len([r for r in caplog.records if r.getMessage().startswith("generation ")])
            began = time.monotonic()
            process = start(stream.file(instance="b"))
            produce(stream, records[300:])
            assert_exact(stream, records)
            assert time.monotonic() - began < SESSION, "nobody waited for the end of its session"
            again = len([r for r in caplog.records if r.getMessage().startswith("generation ")])
            assert again == generations, "the other one kept its generation"
        finally:
            process.kill()
            process.communicate()
        other.end()


@BOTH_CLIENTS
def test_a_restart_in_order_keeps_the_partitions(stream):
    """SIGTERM is a restart: until it is back, nobody takes its partitions."""
    records = phishing(400)
    with running(stream.config(instance="a")) as other:
        process = start(stream.file(instance="b"))
        try:
            wait_for(lambda: stream.members() == [1, 1], "two members")
            produce(stream, records[:200])
            stream.read(stream.output, 200)
            process.terminate()
            process.communicate(timeout=60)
            assert stream.members() == [1, 1]
            process = start(stream.file(instance="b"))
            produce(stream, records[200:])
            assert_exact(stream, records)
        finally:
            process.kill()
            process.communicate()
        other.end()


def test_ctrl_c_gives_the_partitions_up(stream):
    """Somebody who ends an instance for good does not want to wait for its session."""
    records = phishing(400)
    with running(stream.config(instance="a")) as other:
        process = start(stream.file(instance="b"))
        try:
            wait_for(lambda: stream.members() == [1, 1], "two members")
            produce(stream, records[:200])
            stream.read(stream.output, 200)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            wait_for(lambda: stream.members() == [2], "one member")
            produce(stream, records[200:])
            assert_exact(stream, records)
        finally:
            process.kill()
            process.communicate()
        other.end()


@BOTH_CLIENTS
def test_the_older_of_two_processes_ends(stream, client):
    """Also if it has nothing to do, and so commits nothing that could be refused."""
    older = start(stream.file(instance="same"))
    try:
        wait_for(lambda: stream.members() == [2], "a member")
        with running(stream.config(instance="same")) as newer:
            _, said = older.communicate(timeout=60)
            assert older.returncode == FencedError.exit_code and "`instance: same`" in said
            produce(stream, phishing(100))
            assert_exact(stream, phishing(100))
            newer.end()
    finally:
        older.kill()
        older.communicate()


def test_after_each_failure_membership_is_confirmed_before_a_new_producer(stream, monkeypatch):
    """Or a zombie would fence the producer of its successor, whatever it failed with."""
    steps, check, module = [], Committer._check_committed, client(stream.config().kafka.client)
    confirm, connect = module.Consumer.confirm_membership, module.Producer.__init__

    def check_once(committer):
        monkeypatch.setattr(Committer, "_check_committed", check)
        steps.append("fails")
        raise ClientError("once")

    def noting(name, method):
        return lambda *arguments: steps.append(name) or method(*arguments)

    monkeypatch.setattr(Committer, "_check_committed", check_once)
    monkeypatch.setattr(module.Consumer, "confirm_membership", noting("confirms", confirm))
    monkeypatch.setattr(module.Producer, "__init__", noting("connects", connect))
    with running(stream.config(instance="a")) as process:
        produce(stream, phishing(100))
        assert_exact(stream, phishing(100))
        process.end()
    assert steps == ["connects", "fails", "confirms", "connects"]


@BOTH_CLIENTS
def test_a_zombie_ends_when_it_wakes_up(stream):
    """It slept in the middle of its work while its successor went on; nothing is lost, doubled or learned twice."""
    records = phishing(900)
    zombie = start(stream.file(instance="same"))
    try:
        produce(stream, records[:300])
        stream.read(stream.output, 300)
        zombie.send_signal(signal.SIGSTOP)
        produce(stream, records[300:600])
        with running(stream.config(instance="same")) as successor:
            stream.read(stream.output, 600)
            zombie.send_signal(signal.SIGCONT)
            _, said = zombie.communicate(timeout=60)
            assert zombie.returncode == FencedError.exit_code and "`instance: same`" in said
            produce(stream, records[600:])
            assert_exact(stream, records)
            assert successor.result is None, "the zombie did not disturb its successor"
            successor.end()
    finally:
        zombie.kill()
        zombie.communicate()
