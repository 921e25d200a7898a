"""The commit: offsets, models and output of a processor move together, or not at all."""

import collections
import concurrent.futures
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence

from connectors.config import Config
from connectors.kafka import ClientError, Committed, Consumer
from connectors.labels.waiting_files import Prepared, files_of
from connectors.model.counts import Counts
from connectors.model.missing_labels import MissingLabels
from connectors.runtime.metrics import Metrics
from connectors.runtime.watchdog import watchdog
from connectors.snapshots.check_learner import note_of
from connectors.snapshots.retention import Superseded
from connectors.snapshots.stores import THREADS, Store
from connectors.topics.all_rejected import AllRejected
from connectors.topics.assignment import Assignment, listed
from connectors.topics.event_time import EventTimes
from connectors.topics.late_labels import LateLabels
from connectors.topics.mixing import Mixer
from connectors.topics.new_challengers import NewChallengers
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition
from connectors.topics.restore import HOST
from connectors.topics.timeouts import Timeouts

log = logging.getLogger(__name__)


class Committer:
    """Commits the models of an assignment, its offsets, and the messages of an outbox.

    `commit` first checks that the group still has what this process committed last. Then it takes these steps, in this
    order:

    1. `write_snapshots`: each model that has read a record is made durable in the store, under a new name (with
       `snapshots.every`: when it is due; else the last snapshot stays, with number and CRC of the inputs since); with
       labels that come later, what waits for them is made durable before it;
    2. `flush`: all output is sent;
    3. `check_sends`: each message has been acknowledged by the broker;
    4. `send_offsets`: the offsets, with the names of the snapshots, join the transaction under the generation in which
       the partitions were assigned, those of the labels with those of the input (at least once: nothing to do);
    5. `end_transaction`: output and offsets become visible at once (at least once: the offsets are committed);
    6. `remember`: the offsets written are noted as what the group has;
    7. `delete_superseded`: snapshots that no open transaction can name any more are deleted, except those to keep.

    A crash before the end of step 5 leaves offsets, models and output as they were; after it, all have moved. Steps 4
    and 5 can hang if a broker is silent: a watchdog then ends the process, and the next start reads the outcome.

    A challenger that has read the input from its beginning takes part in step 1: the snapshot is the first with it.

    With `mixing`, a partition that is due becomes the mean of its model and of what the others have published, in step
    1: the mixed model is what the snapshot holds. What it publishes is the name of that snapshot, in the transaction.

    Attributes
    ----------
    counts
        The counts of committed work.
    due
        When the next commit is due, on the clock of `time.monotonic`.
    all_rejected
        The warning for a processor that rejects every record.
    """

    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        assignment: Assignment,
        outbox: Outbox,
        timeouts: Timeouts,
        superseded: Superseded,
        metrics: Metrics,
        newcomers: NewChallengers,
        mixer: Mixer | None = None,
    ) -> None:
        self.counts = Counts()
        self.due = time.monotonic()
        self._config, self._consumer, self._assignment, self._outbox = config, consumer, assignment, outbox
        self._timeouts, self._metrics = timeouts, metrics
        self._is_transactional = config.checkpoint.guarantee == "exactly_once"
        self._new: dict[int, OffsetMetadata] = {}
        self._waiting: dict[int, Prepared] = {}
        self._newcomers, self._joining = newcomers, dict[int, list[str]]()
        self._mixer, self._mixing = mixer, set[int]()
        self._superseded = superseded
        self._writers = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="snapshot")
        self._begun: list[tuple[concurrent.futures.Future[None], int, str]] = []
        self._writes_all_snapshots = False
        self._missing_labels = MissingLabels(log, None if config.labels else config.record.label)
        self._event_times = EventTimes(config)
        self.all_rejected = AllRejected(log, config.input.topic if config.rejects else None)

    def request(self) -> None:
        """Let the next commit be due at once."""
        self.due = time.monotonic()

    def _restart_interval(self) -> None:
        self.due = time.monotonic() + self._config.checkpoint.every

    def write_all_snapshots(self) -> None:
        """Let the next commit write a snapshot of each model, so that the next start has nothing to replay."""
        self._writes_all_snapshots = True
        found = self._assignment.partitions.items()
        self._outbox.add_moved([n for n, partition in found if partition.proof.inputs and not partition.is_replaying])

    def commit(self) -> None:
        """Move offsets, models and output together. Do nothing if no partition has moved, or none is owned."""
        began = time.monotonic()
        if self._assignment.ownership is None:  # models are kept for the next assignment, and must not mix meanwhile
            self._restart_interval()
            return
        self._event_times.look(self._assignment.partitions)
        if self._mixer is not None:
            self._mixing = self._mixer.due(self._assignment.partitions)
            self._outbox.add_moved(self._mixing)
        ready, partitions = self._newcomers.ready(self._assignment.partitions), self._assignment.partitions
        self._outbox.add_moved(ready)
        # also where no record comes: the file may make one of these models the champion before the next record
        self._outbox.add_moved([n for n, each in partitions.items() if self._has_other_set(each)])
        if self._config.snapshots.every is not None:  # also where no record comes any more: those to read again expire
            self._outbox.add_moved(
                [n for n, each in partitions.items() if each.model.snapshot and self._needs_snapshot(each)]
            )
        # After a replay the champion holds inputs from before the committed offset, which a challenger has learned,
        # too: this commit writes a snapshot, and the next one lets the challenger take part.
        self._joining = {n: names for n, names in ready.items() if not partitions[n].is_ahead_of_snapshot}
        if not self._outbox.moved:
            self._follow_newcomers()
            self._restart_interval()
            return
        self._check_committed()
        with self._files_or_nothing():
            self.write_snapshots()  # 1
            self.flush()  # 2
            self.check_sends()  # 3
        with watchdog(self._timeouts.commit):
            self.send_offsets()  # 4
            self.end_transaction()  # 5
        done, numbers, oldest = self._outbox.pending, listed(self._outbox.moved), self._outbox.oldest
        place = {"topic": self._config.input.topic, "offsets": {n: to.offset for n, to in self._new.items()}}
        self.remember()  # 6
        self.delete_superseded()  # 7
        self._follow_newcomers()
        self._metrics.note_commit(time.monotonic() - began, oldest / 1000)
        log.info(
            "committed partitions=%s records=%d learned=%d rejects=%d snapshots=%d seconds=%.3f",
            numbers, done.read, done.learned, done.rejected, done.snapshots, time.monotonic() - began, extra=place,
        )  # fmt: skip
        if self._mixing:
            log.info("mixed and published partitions=%s", listed(self._mixing))
        examples = sum(partition.model.examples for partition in self._assignment.partitions.values())
        self._missing_labels.look(self.counts, examples)
        self.all_rejected.look(self.counts)

    def _follow_newcomers(self) -> None:
        assert self._assignment.ownership is not None
        self._newcomers.follow(self._assignment.partitions, self._assignment.ownership.partitions)

    def _check_committed(self) -> None:
        """Raise ClientError unless the group still has what this process committed last.

        The offsets of a topic are deleted with it. If the topic is created again at once, the client reads on by its
        name, at an offset that has another meaning there.
        """
        moved = self._outbox.moved
        found = self._consumer.committed(moved, self._timeouts.committed)
        for number in sorted(moved):
            partition = self._assignment.partitions[number]
            if found[number] != (partition.committed if partition.model.snapshot else None):
                raise ClientError(
                    f"the committed offset of partition {number} of `{self._config.input.topic}` is no longer the one "
                    f"of this process: the topic was created again, or the offset was moved or deleted"
                )

    @contextlib.contextmanager
    def _files_or_nothing(self) -> Iterator[None]:
        """Delete the files of a commit that fails before its offsets were sent: no offset can ever name them.

        Each attempt has other names. A store that is full for one partition would take those of the others each time.
        """
        self._begun = []
        try:
            yield
        except Exception:
            self._writers.submit(_delete, self._assignment.restorer.store, self._begun)
            raise

    def write_snapshots(self) -> None:
        self._new, self._waiting = {}, {}
        if self._mixer is not None and self._mixing:
            self._mixer.read(self._assignment.restorer)
        writing: collections.deque[concurrent.futures.Future[None]] = collections.deque()
        for number in sorted(self._outbox.moved):
            partition = self._assignment.partitions[number]
            if number in self._mixing or number in self._joining or self._needs_snapshot(partition):
                if len(writing) == THREADS:  # so that few models are in memory twice
                    writing.popleft().result()
                self._new[number], write = self._snapshot(number, partition)
                writing.append(self._writers.submit(write))
                self._begun.append((writing[-1], number, self._new[number].snapshot))
            else:
                last = OffsetMetadata.from_text(partition.committed.metadata)
                assert last is not None
                offset, inputs, crc, examples = partition.progress
                if not inputs:  # those of the snapshot: the file may have made another of its models the champion
                    examples = last.examples
                self._new[number] = last._replace(
                    partitions=self._assignment.told, offset=offset, examples=examples, inputs=inputs, crc=crc
                )
        for each in writing:
            each.result()
        if self._mixer is not None:
            for number in sorted(self._mixing):
                self._outbox.publish(number, *self._mixer.message(number, self._new[number]))

    def _snapshot(self, number: int, partition: Partition) -> tuple[OffsetMetadata, Callable[[], None]]:
        """Return the metadata of a new snapshot, and the function that writes it, in any thread."""
        began, topic, progress = time.monotonic(), self._assignment.restorer.topic, partition.progress
        store = self._assignment.restorer.store
        partition.model.prepare_snapshot()
        if self._mixer is not None and number in self._mixing:
            self._mixer.mix(number, partition.model)
        for name in self._joining.get(number, []):
            self._newcomers.join(name, number, partition)
        data = partition.model.dumps(note_of(self._config.record))
        metadata = OffsetMetadata.of_snapshot(
            data, progress.position, progress.examples, is_empty=not partition.model.snapshot,
            topic_id=topic.id, partitions=self._assignment.told, host=HOST,
        )  # fmt: skip
        files: dict[str, bytes] = {}
        if partition.labels is not None:
            metadata, files = self._add_waiting(number, partition.labels, metadata)

        # begun before `write`, which waits for them: so no thread waits for a file that none has begun
        writing = [self._writers.submit(store.write, number, name, content) for name, content in files.items()]
        self._begun += [(each, number, name) for each, name in zip(writing, files, strict=True)]

        def write() -> None:
            for each in writing:
                each.result()
            store.write(number, metadata.snapshot, data)
            self._metrics.note_snapshot(number, time.monotonic() - began, len(data))

        return metadata, write

    def _add_waiting(
        self, number: int, labels: LateLabels, metadata: OffsetMetadata
    ) -> tuple[OffsetMetadata, dict[str, bytes]]:
        """Return metadata that also name what waits for labels, and the files in which that is."""
        topic = self._assignment.restorer.labels
        assert topic is not None
        prepared = labels.files.prepare(metadata.snapshot, labels.position, labels.asked, topic.id)
        self._waiting[number] = prepared
        named = metadata._replace(labels=topic.id, labels_offset=labels.position, waiting=prepared.sha256)
        return named, prepared.files

    @staticmethod
    def _has_other_set(partition: Partition) -> bool:
        return partition.model.is_other_set and not partition.is_replaying

    def _needs_snapshot(self, partition: Partition) -> bool:
        if not partition.model.snapshot or partition.labels is not None or self._has_other_set(partition):
            return True
        if not partition.proof.inputs or partition.is_replaying:
            return False
        every = self._config.snapshots.every
        is_due = every is None or partition.snapshot_age >= every
        return is_due or self._writes_all_snapshots or partition.wants_snapshot or partition.is_uncertain

    def flush(self) -> None:
        self._outbox.flush(self._timeouts.transaction)

    def check_sends(self) -> None:
        self._outbox.check_sends()

    def send_offsets(self) -> None:
        assert self._assignment.ownership is not None
        if self._is_transactional:
            self._outbox.send_offsets(self._offsets(), self._assignment.ownership)

    def end_transaction(self) -> None:
        assert self._assignment.ownership is not None
        if self._is_transactional:
            self._outbox.end_transaction()
        else:
            self._consumer.commit(self._offsets(), self._assignment.ownership, self._timeouts.transaction)

    def remember(self) -> None:
        partitions, new_snapshots = self._assignment.partitions, 0
        for number, committed in self._offsets().items():
            partition, name, last = partitions[number], self._new[number].snapshot, partitions[number].model.snapshot
            new_snapshots += name != last
            if last and name != last and last != partition.published:
                self._superseded.add(number, [last])
            if number in self._mixing:
                self._note_mixing(number, partition, name)
            if partition.labels is not None:
                prepared = self._waiting[number]
                partition.labels.files.remember(prepared)
                self._superseded.note_files(number, name, files_of(name, prepared.segments))
            partition.note_commit(committed, name)
        self._outbox.pending.add_commit(new_snapshots)
        self.counts += self._outbox.pending
        positions = {number: partition.proof.position for number, partition in partitions.items()}
        positions |= {~number: each.labels.position for number, each in partitions.items() if each.labels is not None}
        replaying = {number for number, partition in partitions.items() if partition.is_replaying}
        self._outbox.note_commit(positions, self._assignment.loading | replaying)
        self._restart_interval()

    def _note_mixing(self, number: int, partition: Partition, name: str) -> None:
        if partition.published is None:
            self._superseded.count_from_now(number)  # one of them was published
        else:
            self._superseded.add(number, [partition.published])
        partition.note_mixing(name)
        self._metrics.note_mixing(number)

    def delete_superseded(self) -> None:
        named = {
            number: partition.model.snapshot
            for number, partition in self._assignment.partitions.items()
            if self._mixer is None or partition.published is not None  # else it is not known which one others mix with
        }
        self._superseded.delete(named, self._assignment.restorer.store)

    def _offsets(self) -> dict[int, Committed]:
        return {number: metadata.to_committed() for number, metadata in self._new.items()}

    # Failure

    def drop_uncommitted(self) -> None:
        """Drop all uncommitted work, and start another interval."""
        self._assignment.drop_uncommitted()
        self._restart_interval()

    def close(self) -> None:
        """Drop uncommitted work, and abort its transaction: readers need not wait for the time-out."""
        is_open = self._outbox.has_transaction
        self._assignment.close()
        self._superseded.close()
        self._writers.shutdown(wait=False)
        self._newcomers.close()
        if self._mixer is not None:
            self._mixer.close()
        self.drop_uncommitted()
        if is_open:
            with contextlib.suppress(ClientError):
                self._outbox.abort_transaction()


def _delete(store: Store, begun: Sequence[tuple[concurrent.futures.Future[None], int, str]]) -> None:
    """Delete files once nobody writes them any more; a store that refuses is not asked for each of them."""
    concurrent.futures.wait([writing for writing, _, _ in begun])
    with contextlib.suppress(OSError):
        for _, number, name in begun:
            store.delete(number, name)
