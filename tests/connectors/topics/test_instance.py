"""An `instance` is a static member of the group: a restart finds its partitions, and an older process of it ends."""

import contextlib
import logging
import signal
import threading
import time
from types import SimpleNamespace

import pytest
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from connectors.errors import FencedError, StalledError
from connectors.kafka import ClientError, client
from connectors.topics import unassigned
from connectors.topics.commit import Committer
from connectors.topics.processor import Processor
from connectors.topics.unassigned import finding_unassigned
from tests.helpers.deadline import DEADLINE
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, wait_for

SESSION = 30.0  # seconds; at its end the others would have a new generation
RECORDS = phishing(600)


class PatientStream(Stream):
    """Its group waits for a member that is away."""

    def __init__(self, kafka, folder):
        super().__init__(kafka, folder, partitions=2)
        self.settings["kafka"]["consumer"] = {"session_timeout_ms": int(SESSION * 1000), "heartbeat_interval_ms": 300}


@pytest.fixture
def stream(kafka, tmp_path):
    return PatientStream(kafka, tmp_path)


@contextlib.contextmanager
def started(file):
    """A processor as a process of its own, killed in the end."""
    process = start(file)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def ended_beside_another(stream, by):
    """Two instances that have read the first half of the records; one of them has got this signal, and has ended."""
    with running(stream.config(instance="a")) as other, started(stream.file(instance="b")) as process:
        wait_for(lambda: stream.members() == [1, 1], "two members")
        stream.produce(RECORDS[:300])
        stream.read(stream.output, 300)
        process.send_signal(by)
        process.communicate(timeout=DEADLINE)
        yield
        other.end()


def generations(caplog):
    return len([r for r in caplog.records if r.getMessage().startswith("generation ")])


@BOTH_CLIENTS
@pytest.mark.parametrize("begin", ["earliest", "latest"])
def test_partitions_added_while_all_instances_are_away_get_an_owner(kafka, stream, begin):
    """Nobody looks for them then: the group knows its leader by the name that it had before."""
    stream.settings["input"] = {"topic": stream.input, "start": begin, "new_partitions": "start"}
    stream.settings["kafka"]["consumer"]["metadata_max_age_ms"] = 1000
    first = [start(stream.file(instance=name)) for name in "ab"]
    try:
        wait_for(lambda: stream.members() == [1, 1], "two members")
        wait_for(lambda: stream.committed(0) and stream.committed(1), "the first commits")
    finally:
        for process in first:
            process.kill()
            process.communicate()
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_partitions({stream.input: 3})
    stream.produce(RECORDS[:100], partition=2)
    with running(stream.config(instance="a")), running(stream.config(instance="b")):
        stream.read(stream.output, 100)  # from the first record, also with `latest`


@BOTH_CLIENTS
def test_a_killed_instance_is_back_without_a_rebalance(stream, caplog):
    caplog.set_level(logging.INFO)
    with ended_beside_another(stream, signal.SIGKILL):
        before = generations(caplog)
        with started(stream.file(instance="b")):
            stream.produce(RECORDS[300:])
            stream.assert_exact(RECORDS)
        assert generations(caplog) == before, "the other one kept its generation"


@BOTH_CLIENTS
def test_a_restart_in_order_keeps_the_partitions(stream):
    """SIGTERM is a restart: until it is back, nobody takes its partitions."""
    with ended_beside_another(stream, signal.SIGTERM):
        assert stream.members() == [1, 1]
        with started(stream.file(instance="b")):
            stream.produce(RECORDS[300:])
            stream.assert_exact(RECORDS)


def test_ctrl_c_gives_the_partitions_up(stream):
    """Somebody who ends an instance for good does not want to wait for its session."""
    with ended_beside_another(stream, signal.SIGINT):
        wait_for(lambda: stream.members() == [2], "one member")
        stream.produce(RECORDS[300:])
        stream.assert_exact(RECORDS)


@BOTH_CLIENTS
def test_the_older_of_two_processes_ends(stream, client):
    """Also if it has nothing to do, and so commits nothing that could be refused."""
    with started(stream.file(instance="same")) as older:
        wait_for(lambda: stream.members() == [2], "a member")
        with running(stream.config(instance="same")) as newer:
            _, said = older.communicate(timeout=DEADLINE)
            assert older.returncode == FencedError.exit_code and "`instance: same`" in said
            stream.produce(phishing(100))
            stream.assert_exact(phishing(100))
            newer.end()


@pytest.mark.parametrize("client", ["kafka-python"], indirect=True)
def test_a_failure_in_a_long_rebalance_waits_for_it(kafka, stream, monkeypatch, caplog):
    """A member that works for long lets the others wait. That is no failure, or the process would end after 20."""
    before, is_armed, answers = Processor._commit_before_rebalance, threading.Event(), []
    module = client(stream.config().kafka.client)
    confirm = module.Consumer.confirm_membership

    def fails_once(processor):
        if is_armed.is_set():
            is_armed.clear()
            processor._rebalance_error = ClientError("once")
        else:
            before(processor)

    def noting(consumer):
        answers.append(confirm(consumer))
        return answers[-1]

    monkeypatch.setattr(Processor, "_commit_before_rebalance", fails_once)
    monkeypatch.setattr(module.Consumer, "confirm_membership", noting)
    slow = KafkaConsumer(
        stream.input,
        group_id=stream.name,
        bootstrap_servers=kafka.bootstrap_servers,
        enable_auto_commit=False,
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    with contextlib.closing(slow), running(stream.config(instance="a")) as process:
        wait_for(lambda: stream.members() == [2], "a member")
        wait_for(lambda: slow.poll(100) is not None and slow.assignment(), "a second member")
        is_armed.set()
        with running(stream.config(instance="b")):
            wait_for(lambda: answers.count(False) > 2, "the group is still waiting")
            slow.close()
            stream.produce(RECORDS[:100])
            stream.assert_exact(RECORDS[:100])
        process.end()
    assert [said for said in caplog.messages if said.startswith("reset: ")] == ["reset: once"]


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
        stream.produce(phishing(100))
        stream.assert_exact(phishing(100))
        process.end()
    assert steps == ["connects", "fails", "confirms", "connects"]


@BOTH_CLIENTS
def test_a_zombie_ends_when_it_wakes_up(stream):
    """It slept in the middle of its work while its successor went on; nothing is lost, doubled or learned twice."""
    records = phishing(900)
    with started(stream.file(instance="same")) as zombie:
        stream.produce(records[:300])
        stream.read(stream.output, 300)
        zombie.send_signal(signal.SIGSTOP)
        stream.produce(records[300:600])
        with running(stream.config(instance="same")) as successor:
            stream.read(stream.output, 600)
            zombie.send_signal(signal.SIGCONT)
            _, said = zombie.communicate(timeout=DEADLINE)
            assert zombie.returncode == FencedError.exit_code and "`instance: same`" in said
            stream.produce(records[600:])
            stream.assert_exact(records)
            assert successor.result is None, "the zombie did not disturb its successor"
            successor.end()


@BOTH_CLIENTS
def test_a_zombie_that_slept_for_longer_than_its_session_leaves_the_place_to_its_successor(kafka, tmp_path):
    """It knows by its own clock that its session is over. If it joined again, the successor would be fenced."""
    stream = Stream(kafka, tmp_path, partitions=2)
    stream.forget_the_dead_soon()
    records = phishing(600)
    with started(stream.file(instance="same")) as zombie:
        stream.produce(records[:300])
        stream.read(stream.output, 300)
        zombie.send_signal(signal.SIGSTOP)
        with running(stream.config(instance="same")) as successor:
            stream.produce(records[300:400])
            stream.read(stream.output, 400)
            time.sleep(2 * stream.settings["kafka"]["consumer"]["session_timeout_ms"] / 1000)
            zombie.send_signal(signal.SIGCONT)
            zombie.communicate(timeout=DEADLINE)
            assert zombie.returncode in (FencedError.exit_code, StalledError.exit_code)
            stream.produce(records[400:])
            stream.assert_exact(records)
            assert successor.result is None, "the zombie did not disturb its successor"
            successor.end()


@pytest.mark.parametrize(("instance", "expected"), [("a", ["dropped"]), (None, [])])
def test_after_a_failed_last_commit_an_instance_has_no_transaction_to_abort(instance, expected):
    """A producer that aborts it would fence that of a successor."""

    def commit():
        raise ClientError("the committed offset is no longer the one of this process")

    ending, done = object.__new__(Processor), []
    ending._config = SimpleNamespace(instance=instance)
    ending._assignment = SimpleNamespace(is_current=True, ownership=object(), pass_markers=lambda: None)
    ending._committer = SimpleNamespace(
        write_all_snapshots=lambda: None, commit=commit, drop_uncommitted=lambda: done.append("dropped")
    )
    ending._finish()
    assert done == expected


@BOTH_CLIENTS
def test_a_silent_broker_ends_an_instance_so_that_a_supervisor_starts_it_again(own_kafka, tmp_path, client):
    """Nobody has its place, and a supervisor does not start it again after exit code 5."""
    stream = PatientStream(own_kafka, tmp_path)
    stream.settings["kafka"]["producer"] = {"transaction_timeout_ms": 2000}
    requests = {"request_timeout_ms": 4000} if client == "kafka-python" else {}
    stream.settings["kafka"]["consumer"] |= {"session_timeout_ms": 3000} | requests
    with started(stream.file(instance="alone")) as process:
        stream.produce(RECORDS[:100])
        stream.read(stream.output, 100)
        own_kafka.stop(1)
        try:
            time.sleep(8)  # longer than the session, and than requests wait
        finally:
            own_kafka.resume(1)
        stream.produce(RECORDS[100:200])

        def is_done():
            return sum(stream.committed(number).offset for number in range(2)) == 200

        # A broker may hear kafka-python again before it looks at the clock.
        wait_for(lambda: process.poll() is not None or is_done(), "it goes on, or it ends")
        if process.poll() is not None:
            _, said = process.communicate()
            assert process.returncode == StalledError.exit_code and "`instance: alone`" in said
    with running(stream.config(instance="alone")):
        stream.assert_exact(RECORDS[:200])


def test_partitions_without_an_owner_are_found_after_an_error_of_the_system(monkeypatch, caplog):
    monkeypatch.setattr(unassigned, "MIN_EVERY", 0.01)
    joined, refused = threading.Event(), iter([RuntimeError("can't start new thread")])

    class Member:
        ownership = object()

        def committed(self, numbers, seconds):
            return dict.fromkeys(numbers)

        def join(self):
            joined.set()

        def close(self, seconds):
            pass

    def make():
        for error in refused:
            raise error
        return Member()

    with finding_unassigned(make, lambda: 2, 1.0, 0.01):
        assert joined.wait(10)
    assert """could not be looked for: RuntimeError("can't start new thread")""" in caplog.text
