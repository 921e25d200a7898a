"""The stream processor: poll, decode, predict, learn, encode, send, checkpoint.

The loop is `Processor._step`; what must hold at a crash is in `connectors.topics.checkpoint`.
"""

import collections
import contextlib
import gc
import logging
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from connectors.config import Config
from connectors.errors import AccessError, FencedError, StalledError, StartError, StateError
from connectors.kafka import (
    ClientError,
    Consumer,
    Fenced,
    NotAccepted,
    NotPermitted,
    OutOfRange,
    Producer,
    TooLarge,
    client,
)
from connectors.logs import where
from connectors.model.counts import Counts
from connectors.model.partition import Elsewhere, WentBack
from connectors.model.process_record import answer
from connectors.runtime.health import Watch, serving
from connectors.topics import startup
from connectors.topics.checkpoint import Checkpoint, Timeouts
from connectors.topics.restore import Restorer

log = logging.getLogger(__name__)

LONGEST_POLL = 0.5  # seconds; a signal is seen after it
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
YOUNG = 50_000  # objects that may be left over before the collector looks at them
MOST_RESETS = 20  # in a row without a commit: some minutes
MOST_FENCINGS, FENCING_WINDOW = 5, 120.0


class Stop:
    """Whether the processor shall end. A flag and no Event: a signal handler must not take a lock."""

    requested = False

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C request the end; the second Ctrl-C ends the process at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        if self.requested and number == signal.SIGINT:
            os._exit(130)
        self.requested = True


def run(config: Config, stop: Stop | None = None, watch: Watch | None = None) -> Counts:
    """Runs a processor until SIGTERM or Ctrl-C, which finish the batch, commit and leave the group.

    Parameters
    ----------
    config
        The processor's file, as `connectors.config.load_topics` returns it.
    stop
        Ends the processor when its `requested` is set; default: signals only.
    watch
        Is kept informed of what goes on; default: one for `config.metrics`.

    Returns
    -------
    What was done and committed.

    Raises
    ------
    ConnectorError
        One of its classes for each reason that a processor cannot start or go on; see `connectors.errors`.
    """
    stop = stop or Stop()
    watch = watch or Watch(config)
    with stop.on_signals(), serving(watch, config.metrics), _ready(config, watch) as processor:
        return processor.run(stop)


@contextlib.contextmanager
def _ready(config: Config, watch: Watch) -> Iterator["Processor"]:
    """Checks what can be checked before the group is joined, and puts the parts together."""
    module = client(config.kafka.client)
    for_consumer, for_producer = config.kafka.consumer_settings, config.kafka.producer_settings
    timeouts = Timeouts(*config.kafka.timeouts)
    transactional_id = None
    if config.checkpoint.guarantee == "exactly_once":
        transactional_id = f"{config.name}-{config.instance or uuid.uuid4().hex}"

    def make_producer(sends_apart: bool) -> Producer:
        return module.Producer(transactional_id, for_producer | (module.ONE_MESSAGE_PER_BATCH if sends_apart else {}))

    def find_restorer() -> Restorer:
        return startup.find(config, for_consumer)

    startup.check_store(config)
    restorer = startup.look(config, for_consumer)
    with refusals_as_errors(config):
        consumer = module.Consumer(config.input.topic, config.name, for_consumer)
    try:
        with refusals_as_errors(config):
            startup.patiently(lambda: startup.check_input(config, for_consumer))
            startup.patiently(lambda: startup.check(config, consumer, restorer, timeouts.committed))
        checkpoint = Checkpoint(config, consumer, restorer, make_producer, find_restorer, timeouts, watch.metrics)
        watch.metrics.work = checkpoint
        watch.wait_for_brokers(timeouts)
        with watch.following(lambda: module.Consumer(config.input.topic, config.name, for_consumer)):
            yield Processor(config, consumer, checkpoint, timeouts, watch)
    finally:
        consumer.close(5.0)


class Processor:
    """Takes the records of its partitions through their models, in order, and gives a message for each."""

    def __init__(
        self, config: Config, consumer: Consumer, checkpoint: Checkpoint, timeouts: Timeouts, watch: Watch
    ) -> None:
        self._config, self._consumer, self._checkpoint, self._timeouts = config, consumer, checkpoint, timeouts
        self._watch = watch
        self._topic = config.input.topic
        self._output = config.output.topic
        self._rejects = config.rejects.topic if config.rejects else None
        self._resets, self._progress = 0, 0
        self._fencings: collections.deque[float] = collections.deque(maxlen=MOST_FENCINGS)

    def run(self, stop: Stop) -> Counts:
        """Joins the group and works until the end is requested."""
        with refusals_as_errors(self._config):
            startup.patiently(self._consumer.join)
        # What is there by now stays: a collector that walks through it again and again takes a third of the CPU time.
        # What a poll brings goes again without it: only when more is left does it look, or it takes a tenth.
        gc.collect()
        gc.freeze()
        before = gc.get_threshold()
        gc.set_threshold(YOUNG)
        try:
            while not stop.requested:
                try:
                    self._step()
                except (ClientError, OSError) as error:
                    self._recover(error, stop)
            self._finish()
        finally:
            gc.set_threshold(*before)
            self._checkpoint.close()
        log.info("ended: %s", self._checkpoint.counts)
        return self._checkpoint.counts

    def _step(self) -> None:
        self._watch.beat()
        checkpoint, now = self._checkpoint, time.monotonic
        longest = SHORTEST_PAUSE if checkpoint.is_loading else LONGEST_POLL
        records = self._consumer.poll(min(max(0.0, checkpoint.due - now()), longest))
        if checkpoint.ownership is not self._consumer.ownership:
            checkpoint.own()  # and goes on from where its models are, so these records come again
            return
        checkpoint.take_loaded()
        went_back: set[int] = set()
        for number, offset, key, value in records:
            if number in went_back:
                continue
            try:
                self._process(number, offset, key, value)
            except WentBack:
                went_back.add(number)
                self._consumer.seek(number, checkpoint.partitions[number].position)
            if now() >= checkpoint.due:
                checkpoint.commit()
        if now() >= checkpoint.due:
            checkpoint.pass_markers()
            checkpoint.commit()

    def _process(self, number: int, offset: int, key: bytes | None, value: bytes | None) -> None:
        checkpoint = self._checkpoint
        partition, source = checkpoint.partitions[number], f"{self._topic}-{number}-{offset}"
        was_answered = partition.goal is not None  # before the committed offset: only the model must learn it again
        if was_answered:
            checkpoint.check_goal(number, offset)
        counts = Counts() if was_answered else checkpoint.pending
        try:
            id, message, reason = answer(partition, key, value, source, counts)
        except WentBack:
            counts.read -= 1
            raise
        try:
            partition.take_note(offset, value)
        except Elsewhere as error:
            raise checkpoint.elsewhere(number, error) from error
        if partition.wants_snapshot and partition.goal is None:
            checkpoint.due = time.monotonic()
        if was_answered:
            return
        topic = self._output if reason is None else self._rejects
        if topic is None:
            log.warning("rejected %s: %s", source, reason, extra=where(self._topic, number, offset))
        checkpoint.send(number, offset, topic, id, message)

    def _finish(self) -> None:
        """Commits what is done; if that fails, the next start does it again."""
        try:
            if self._checkpoint.ownership is self._consumer.ownership is not None:
                self._checkpoint.pass_markers()
                self._checkpoint.settle()
                self._checkpoint.commit()
        except (ClientError, OSError) as error:
            log.warning("the last commit failed, the next start repeats its records: %s", error)

    def _recover(self, error: ClientError | OSError, stop: Stop) -> None:
        """Gives up what is not committed, ends the process when that cannot help, and waits before the next attempt."""
        age = self._checkpoint.transaction_age()
        self._checkpoint.reset()
        self._watch.metrics.resets.inc()
        log.warning("reset: %s", error)
        with refusals_as_errors(self._config):
            if isinstance(error, NotPermitted | NotAccepted | OutOfRange):
                raise error
        if isinstance(error, TooLarge):
            return
        if self._checkpoint.counts.checkpoints > self._progress:
            self._resets, self._progress = 0, self._checkpoint.counts.checkpoints
        if isinstance(error, Fenced) and age < self._timeouts.transaction:
            self._count_fencing(error)
        self._resets += 1
        if self._resets > MOST_RESETS:
            raise StalledError(f"{MOST_RESETS} resets in a row without a commit, the last one for: {error}") from error
        pause = min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**self._resets) * random.uniform(0.5, 1.0)
        end = time.monotonic() + pause
        while not stop.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _count_fencing(self, error: Fenced) -> None:
        now = time.monotonic()
        self._fencings.append(now)
        if len(self._fencings) == MOST_FENCINGS and now - self._fencings[0] < FENCING_WINDOW:
            whose = f"`instance: {self._config.instance}`" if self._config.instance else "a fresh transactional id"
            raise FencedError(
                f"another process took over the transactional id of this one {MOST_FENCINGS} times within "
                f"{FENCING_WINDOW:g} s (with {whose}): give each process of group `{self._config.name}` an `instance` "
                f"of its own, or none"
            ) from error


@contextlib.contextmanager
def refusals_as_errors(config: Config) -> Iterator[None]:
    """Turns what no further attempt can repair into errors for a user."""
    try:
        yield
    except NotPermitted as error:
        raise AccessError(f"the broker refuses for lack of a permission of group `{config.name}`: {error}") from error
    except NotAccepted as error:
        raise StartError(f"the broker does not accept what group `{config.name}` asks for: {error}") from error
    except OutOfRange as error:
        raise StateError(
            f"offset {error.offset} of partition {error.partition} of `{config.input.topic}` is out of range: records "
            f"were deleted before they were read, by retention or by hand; to start over with empty models, give the "
            f"processor another `name`"
        ) from error
    except ClientError as error:
        raise StartError(
            f"the broker at `{config.kafka.bootstrap_servers}` does not answer as it should: {error}"
        ) from error
