"""The checkpoint: offsets, models and output of a processor move together, or not at all."""

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from connectors.config import Config
from connectors.kafka import ClientError, Committed, Consumer, Ownership, Producer, TooLarge
from connectors.logs import where
from connectors.model.counts import Counts
from connectors.model.partition import Elsewhere, Partition
from connectors.model.records import Message, shortened
from connectors.runtime.metrics import Metrics
from connectors.runtime.watchdog import watchdog
from connectors.snapshots.names import Pointer
from connectors.snapshots.retention import Superseded
from connectors.topics.loading import Loading
from connectors.topics.restore import HOST, Restorer
from river_margins import snapshot

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Timeouts:
    """Seconds: how long a transaction may be open, pending offsets are waited for, and a commit may take."""

    transaction: float
    committed: float
    commit: float


class Checkpoint:
    """Owns the partitions of this process, with their models, and the producer of their output.

    `commit` first asks whether the group still has what this process committed last, and then is these steps, in this
    order:

    1. `write_snapshots`: each model that has read a record is made durable in the store, under a new name (with
       `snapshots.every`: when it is due; else the last snapshot stays, with number and CRC of the inputs since);
    2. `flush`: all output is sent;
    3. `check_sends`: each message has been acknowledged by the broker;
    4. `send_offsets`: the offsets, with the names of the snapshots, join the transaction under the generation that the
       partitions were assigned in (at least once: nothing to do);
    5. `end_transaction`: output and offsets become visible at once (at least once: the offsets are committed);
    6. `remember`: what was written is now what the group has;
    7. `delete_superseded`: snapshots that no open transaction can name any more are deleted, but for those to keep.

    A crash before the end of 5 leaves offsets, models and output as they were; after it, all have moved. Steps 4 and 5
    can hang with a silent broker: a watchdog ends the process then, and the next start reads what came of it.
    """

    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        restorer: Restorer,
        make_producer: Callable[[bool], Producer],
        find_restorer: Callable[[], Restorer],
        timeouts: Timeouts,
        metrics: Metrics,
    ) -> None:
        self.partitions: dict[int, Partition] = {}
        self.ownership: Ownership | None = None
        self.due = time.monotonic()
        self.counts = Counts()
        self.pending = Counts()
        self._config, self._consumer, self._timeouts, self._metrics = config, consumer, timeouts, metrics
        self._make_producer, self._find_restorer = make_producer, find_restorer
        self._is_transactional = config.checkpoint.guarantee == "exactly_once"
        self._restorer = restorer
        self._producer: Producer | None = None
        self._opened: float | None = None
        self._touched: set[int] = set()
        self._new: dict[int, tuple[Pointer, Committed]] = {}
        self._shortening: dict[tuple[int, int], int] = {}
        self._sends_apart = False
        self._superseded = Superseded(config.snapshots.keep, timeouts.transaction)
        self._is_settling = False
        self._loading = Loading()

    # Ownership

    def own(self) -> None:
        """Takes over the partitions of the present assignment, before any of their records is processed.

        Models stay in memory when the group has what this process wrote or loaded last; else they are loaded.
        """
        ownership, before, self.ownership = self._consumer.ownership, self.ownership, None
        assigned = ownership.partitions if ownership else frozenset()
        is_same_member = ownership and before and ownership.member == before.member
        if self._touched and not (is_same_member and self._touched <= assigned):
            self.reset()
        if ownership is None:
            return
        self._ready_producer()
        self._look_around(assigned)
        committed = self._consumer.committed(assigned, self._timeouts.committed)
        if any(self.partitions[number].written != committed[number] for number in self._touched):
            self.reset()
            self._ready_producer()
            committed = self._consumer.committed(assigned, self._timeouts.committed)
        self._take(committed)
        self.ownership = ownership
        self._metrics.rebalances.inc()
        started = {number for number, found in committed.items() if found is None}
        if started:
            self._touched |= started
            self.commit()
        for number, partition in self.partitions.items():
            self._consumer.seek(number, partition.position)
        self._loading.wait()
        self.take_loaded()
        log.info("generation %d: partitions %s", ownership.generation, _numbers(assigned))

    def _look_around(self, assigned: frozenset[int]) -> None:
        restorer, before = self._find_restorer(), self._restorer
        if assigned and max(assigned) >= restorer.topic.partitions:
            name = self._config.input.topic
            raise ClientError(
                f"a broker has not heard yet that `{name}` has more than {restorer.topic.partitions} partitions"
            )
        if restorer.topic != before.topic:  # no model goes on without being asked whether it fits
            self.reset()
            self.partitions.clear()
            self._loading.clear()
            self._ready_producer()
        self._restorer = restorer

    def _take(self, committed: Mapping[int, Committed | None]) -> None:
        """Keeps what is known, starts what is new, and lets the rest be loaded while the others go on."""
        known, self.partitions = self.partitions, {}
        missing = {}
        for number, found in committed.items():
            if found is None:
                first, end = self._consumer.offset_range(number)
                offset = first if self._config.input.start == "earliest" else end
                self.partitions[number] = self._restorer.start(number, offset)
            elif number in known and known[number].written == found:
                self.partitions[number] = known[number]
            else:
                missing[number] = found
        self._loading.ask(missing, self._restore)

    def _restore(self, number: int, committed: Committed) -> Partition:
        with self._metrics.restore_seconds.time():
            return self._restorer.restore(number, committed)

    @property
    def is_loading(self) -> bool:
        """Whether a model is not there yet; its partition is paused meanwhile."""
        return bool(self._loading)

    def take_loaded(self) -> None:
        """Takes over the models that have been loaded."""
        for number, partition in self._loading.done():
            self.partitions = self.partitions | {number: partition}
            self._consumer.seek(number, partition.position)

    # Output

    def send(self, number: int, offset: int, topic: str | None, id: Any, message: Message) -> None:
        """Sends the one message of a record and moves the partition past it.

        A message that is too large for the broker is replaced by one that names it; if that is too large as well, it
        is logged.
        """
        self._touched.add(number)
        if topic is None:
            return
        tag = number, offset
        level = self._shortening.get(tag, 0) if self._shortening else 0
        if level:
            message = shortened(id, message)
        if level > 1:
            self.pending.unsent += 1
            at = where(self._config.input.topic, number, offset)
            log.error("record %s: not even a short message fits into `%s`: %r", id, topic, message[1], extra=at)
            return
        if self._is_transactional and self._opened is None:
            self._open()
        to = number if topic in self._restorer.aligned else None
        key, value, headers = message
        try:
            (self._producer or self._ready_producer()).send(topic, to, key, value, headers, tag)
        except TooLarge as error:
            self._shorten(error.opaque)
            if error.opaque != tag:
                raise
            self.send(number, offset, topic, id, message)
            return
        if level:
            self.pending.shortened += 1

    def _shorten(self, tag: tuple[int, int] | None) -> None:
        if tag is None:
            self._sends_apart = True
            return
        self._shortening[tag] = self._shortening.get(tag, 0) + 1

    def _open(self) -> None:
        self._ready_producer().begin()
        self._opened = time.monotonic()

    def _ready_producer(self) -> Producer:
        if self._producer is None:
            self._producer = self._make_producer(self._sends_apart)
        return self._producer

    # Commit

    def pass_markers(self) -> None:
        """Moves past what a transaction of the input leaves behind, once all records that were read are processed.

        Markers and given-up records give no output, but their offsets are committed too: else the lag never ends.
        """
        for number, partition in self.partitions.items() if self.ownership else ():
            passed = self._consumer.position(number)
            self.check_goal(number, passed)
            if partition.goal is None and passed > partition.position:
                partition.position = passed
                self._touched.add(number)

    def check_goal(self, number: int, position: int) -> None:
        """Raises StateError when inputs that came again up to a position do not lead to the committed model."""
        try:
            self.partitions[number].check_goal(position)
        except Elsewhere as error:
            raise self.elsewhere(number, error) from error

    def elsewhere(self, number: int, error: Elsewhere) -> Exception:
        """Returns the StateError for inputs that came again and are others."""
        return self._restorer.elsewhere(number, self.partitions[number].snapshot, error)

    def settle(self) -> None:
        """Lets the next commit write all snapshots, so that the next start has nothing to read again."""
        self._is_settling = True
        self._touched |= {n for n, partition in self.partitions.items() if partition.inputs and not partition.goal}

    def commit(self) -> None:
        """Moves offsets, models and output together; does nothing when no partition has moved."""
        began = time.monotonic()
        if not self._touched:
            self.due = began + self._config.checkpoint.every
            return
        self._check_committed()
        self.write_snapshots()  # 1
        self.flush()  # 2
        self.check_sends()  # 3
        with watchdog(self._timeouts.commit):
            self.send_offsets()  # 4
            self.end_transaction()  # 5
        read, numbers = self.pending, _numbers(self._touched)
        place = {"topic": self._config.input.topic, "offsets": {n: to.offset for n, to in self._offsets().items()}}
        self.remember()  # 6
        self.delete_superseded()  # 7
        self._metrics.note_commit(time.monotonic() - began)
        log.info(
            "committed partitions=%s records=%d learned=%d rejects=%d snapshots=%d seconds=%.3f",
            numbers, read.read, read.learned, read.rejected, read.snapshots, time.monotonic() - began, extra=place,
        )  # fmt: skip

    def _check_committed(self) -> None:
        """Raises ClientError unless the group still has what this process committed last.

        A topic takes its offsets with it. One that is there again at once has the same name, so that the client reads
        on in it, at an offset that means nothing there.
        """
        found = self._consumer.committed(self._touched, self._timeouts.committed)
        for number in sorted(self._touched):
            partition = self.partitions[number]
            if found[number] != (partition.written if partition.snapshot else None):
                raise ClientError(
                    f"the committed offset of partition {number} of `{self._config.input.topic}` is no longer the one "
                    f"of this process: the topic was created again, or the offset was moved or deleted"
                )

    def write_snapshots(self) -> None:
        world = {"topic_id": self._restorer.topic.id, "partitions": self._restorer.topic.partitions, "host": HOST}
        for number in sorted(self._touched):
            partition, began = self.partitions[number], time.monotonic()
            mark = partition.mark
            if self._needs_snapshot(partition):
                data = snapshot.dumps(partition.learner)
                pointer = Pointer.to(data, mark.position, mark.examples, not partition.snapshot, **world)
                self._restorer.store.write(number, pointer.snapshot, data)
                self._metrics.note_snapshot(number, time.monotonic() - began, len(data))
            else:
                last = Pointer.from_text(partition.written.metadata)
                assert last is not None
                offset, inputs, crc, examples = mark
                pointer = last._replace(offset=offset, examples=examples, inputs=inputs, crc=crc)
            self._new[number] = pointer, Committed(pointer.offset, pointer.to_text())

    def _needs_snapshot(self, partition: Partition) -> bool:
        if not partition.snapshot:
            return True
        if not partition.inputs or partition.goal is not None:
            return False
        every = self._config.snapshots.every
        is_due = every is None or time.monotonic() - partition.saved >= every
        return is_due or self._is_settling or partition.wants_snapshot

    def flush(self) -> None:
        self._ready_producer().flush(self._timeouts.transaction)

    def check_sends(self) -> None:
        try:
            self._ready_producer().check()
        except TooLarge as error:
            self._shorten(error.opaque)
            raise

    def send_offsets(self) -> None:
        if not self._is_transactional:
            return
        assert self.ownership is not None
        if self._opened is None:
            self._open()
        self._ready_producer().send_offsets(self._config.input.topic, self._offsets(), self.ownership)

    def end_transaction(self) -> None:
        assert self.ownership is not None
        if self._is_transactional:
            self._ready_producer().commit()
        else:
            self._consumer.commit(self._offsets(), self.ownership, self._timeouts.transaction)

    def remember(self) -> None:
        for number, (pointer, committed) in self._new.items():
            partition = self.partitions[number]
            is_new = pointer.snapshot != partition.snapshot
            self.pending.snapshots += is_new
            if partition.snapshot and is_new:
                self._superseded.add(number, partition.snapshot)
            partition.remember(committed, pointer.snapshot)
        self.pending.checkpoints = 1
        self.counts += self.pending
        self._shortening = {
            (number, offset): level
            for (number, offset), level in self._shortening.items()
            if number in self.partitions and offset >= self.partitions[number].position
        }
        if self._sends_apart:
            self._ready_producer().close()
            self._producer, self._sends_apart = None, False
        self._begin_anew()

    def delete_superseded(self) -> None:
        named = {number: partition.snapshot for number, partition in self.partitions.items()}
        self._superseded.delete(named, self._restorer.store)

    def _offsets(self) -> dict[int, Committed]:
        return {number: committed for number, (_, committed) in self._new.items()}

    def _begin_anew(self) -> None:
        self.due = time.monotonic() + self._config.checkpoint.every
        self._touched, self._new, self._opened, self.pending = set(), {}, None, Counts()

    # Failure

    def transaction_age(self) -> float:
        """Seconds since the open transaction began, 0 without one."""
        return time.monotonic() - self._opened if self._opened is not None else 0.0

    def reset(self) -> None:
        """Gives up all that is not committed: the producer with its transaction, and the models that have moved.

        The next `own` reads what the group has, which also tells what came of a commit of unknown outcome.
        """
        if self._producer is not None:
            self._producer.close()
            self._producer = None
        for number in self._touched:
            self.partitions.pop(number, None)
        self._begin_anew()
        self.ownership = None

    def close(self) -> None:
        """Gives up what is not committed; an open transaction is aborted, so that nobody waits for its time-out."""
        is_open = self._opened is not None
        self._loading.close()
        self.reset()
        if is_open:
            with contextlib.suppress(ClientError):
                self._make_producer(False).close()  # a successor of the same id ends the transaction of the one before


def _numbers(partitions: Any) -> str:
    return ",".join(str(number) for number in sorted(partitions)) or "none"
