"""A processor that can be told where to die, and how to be wrong: `python -m tests.torture.worker FILE [options]`.

It runs `river-margins run FILE` with the steps of its checkpoint wrapped from outside, so that the product has no hook.
"""

import argparse
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka

from connectors import cli, config
from connectors.kafka import ClientError, Ownership, client
from connectors.kafka.kafka_python import consumer as kafka_python
from connectors.labels.waiting import WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.topics.assignment import Assignment
from connectors.topics.commit import Committer
from connectors.topics.partition import Partition
from connectors.topics.restore import Restorer
from tests.helpers.deadline import DEADLINE

STEPS = (
    "write_snapshots", "flush", "check_sends", "send_offsets", "end_transaction", "remember", "delete_superseded"
)  # fmt: skip

Action = Callable[[Committer, str], None]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the torture waits for something that does not come")
        time.sleep(0.01)


class Plan:
    """At a step of the n-th commit with an open transaction, or of the next one that gets so far, does something."""

    fired = False

    def __init__(self, text: str, action: Action) -> None:
        self.place, self.step, number = text.split(":")
        self.number = int(number)
        self.action = action
        self.commits = 0
        self.armed = False

    def install(self) -> None:
        commit, step = Committer.commit, getattr(Committer, self.step)

        def counting_commit(committer: Committer) -> None:
            has_opened = committer._outbox.has_transaction
            self.commits += has_opened
            self.armed = has_opened and self.commits >= self.number and not Plan.fired
            commit(committer)

        def wrapped_step(committer: Committer) -> None:
            if self.armed and self.place == "before":
                self.act(committer)
            step(committer)
            if self.armed and self.place == "after":
                self.act(committer)

        Committer.commit = counting_commit  # type: ignore[assignment, method-assign]
        setattr(Committer, self.step, wrapped_step)

    def act(self, committer: Committer) -> None:
        self.armed = False
        Plan.fired = True
        self.action(committer, f"{self.place} {self.step}")


def crash(folder: Path) -> Action:
    """Notes where, then dies as by kill -9."""

    def act(committer: Committer, where: str) -> None:
        with (folder / "crashes").open("a") as file:
            file.write(f"{where}\n")
        os.kill(os.getpid(), signal.SIGKILL)

    return act


def freeze(folder: Path) -> Action:
    """Freezes until somebody sends SIGCONT."""
    return lambda committer, where: os.kill(os.getpid(), signal.SIGSTOP)


def leave(folder: Path) -> Action:
    """Leaves the group in the middle of a commit, ends the commit when released, and dies."""

    def act(committer: Committer, where: str) -> None:
        committer._consumer.before_rebalance = None  # or leaving would commit once more, within this commit
        committer._consumer.close(5.0)
        (folder / "left").touch()
        wait_until((folder / "released").exists)
        committer.end_transaction()
        os.kill(os.getpid(), signal.SIGKILL)

    return act


def fail(folder: Path) -> Action:
    """Lets the step fail, and says so."""

    def act(committer: Committer, where: str) -> None:
        (folder / "failed").touch()
        raise ClientError("the torture lets this step fail")

    return act


def note_question(module: Any, folder: Path) -> None:
    """Tells when this processor asks what the group has committed."""
    committed = module.Consumer.committed

    def noting(consumer: Any, *arguments: Any) -> Any:
        (folder / "asked").touch()
        return committed(consumer, *arguments)

    module.Consumer.committed = noting


def newest(module: Any) -> None:
    """Wrong: goes on from the newest snapshot instead of the one that the committed offset names."""
    restore = Restorer.restore

    def restore_newest(restorer: Restorer, number: int, committed: Any) -> Partition:
        partition = restore(restorer, number, committed)
        name = list(restorer.store.sizes(number))[-1]
        partition.model.saved_as(name)
        partition.model.reload()
        partition.proof.start_at_snapshot()
        partition._start_at_snapshot()
        return partition

    Restorer.restore = restore_newest  # type: ignore[assignment, method-assign]


def uncommitted(module: Any) -> None:
    """Wrong: takes committed offsets as they are while another's transaction may still move them, and looks once."""
    Committer._check_committed = lambda self: None  # type: ignore[method-assign]
    consumer = confluent_kafka.Consumer

    class Uncommitted(kafka_python.KafkaConsumer):
        def __init__(self, *topics: str, **settings: Any) -> None:
            super().__init__(*topics, **settings | {"isolation_level": "read_uncommitted"})

    kafka_python.KafkaConsumer = Uncommitted  # type: ignore[misc]
    confluent_kafka.Consumer = lambda settings: consumer(  # type: ignore[misc, assignment]
        settings | {"isolation.level": "read_uncommitted"}
    )


def moment(module: Any) -> None:
    """Wrong: commits under the group's metadata of the moment, and here only once the library knows of an expulsion."""
    consumers: list[Any] = []
    subscribe = module.Consumer.join

    def join(consumer: Any) -> None:
        consumers.append(consumer._consumer)
        subscribe(consumer)

    def send_offsets(producer: Any, topic: str, offsets: Any, ownership: Ownership, labels: str | None = None) -> None:
        (consumer,) = consumers
        if Plan.fired:
            wait_until(lambda: consumer.group_metadata().generation_id == -1)
        producer._producer.send_offsets_to_transaction(
            kafka_python.offsets_and_metadata(topic, offsets, ownership.epochs), consumer.group_metadata()
        )

    module.Consumer.join, module.Producer.send_offsets = join, send_offsets


def kept(module: Any) -> None:
    """Wrong: keeps the models of work that is dropped."""

    def drop_uncommitted(assignment: Assignment) -> None:
        assignment._outbox.drop()
        assignment.ownership = None

    Assignment.drop_uncommitted = drop_uncommitted  # type: ignore[method-assign]


def nobody(module: Any) -> None:
    """Wrong: an instance has no transactional id of its own, and commits without its membership (kafka-python)."""
    make = module.Producer.__init__

    def init(producer: Any, transactional_id: str | None, *rest: Any) -> None:
        make(producer, f"{transactional_id}-{uuid.uuid4().hex}", *rest)

    def send_offsets(producer: Any, topic: str, offsets: Any, ownership: Ownership, labels: str | None = None) -> None:
        producer._producer.send_offsets_to_transaction(
            kafka_python.offsets_and_metadata(topic, offsets, ownership.epochs), ownership.token.group_id
        )

    module.Producer.__init__, module.Producer.send_offsets = init, send_offsets


def left_out(module: Any) -> None:
    """Wrong: leaves out of the checkpoint what waits for labels."""
    prepare = WaitingFiles.prepare
    WaitingFiles.prepare = (  # type: ignore[method-assign]
        lambda files, *names: prepare(WaitingFiles(WaitingRecords(1000, 10)), *names)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the processor's YAML file")
    parser.add_argument("--folder", type=Path, help="where workers and tests leave signs for each other")
    parser.add_argument(
        "--act", nargs=2, metavar=("ACTION", "PLACE:STEP:N"), help="crash, fail, freeze or leave, and where"
    )
    parser.add_argument("--wrong", choices=["newest", "uncommitted", "moment", "kept", "nobody", "left_out"])
    options = parser.parse_args()
    module = client(config.load(options.file).kafka.client)
    if options.wrong:
        globals()[options.wrong](module)
    if options.act:
        action, place = options.act
        Plan(place, {"crash": crash, "fail": fail, "freeze": freeze, "leave": leave}[action](options.folder)).install()
    if options.folder:
        note_question(module, options.folder)
    sys.argv = ["river-margins", "run", options.file]
    cli.main()


if __name__ == "__main__":
    main()
