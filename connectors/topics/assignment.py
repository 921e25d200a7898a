"""The assignment: the partitions that this process has taken over, with their models."""

import concurrent.futures
import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping

from connectors.config import Config
from connectors.errors import StateError
from connectors.kafka import ClientError, Committed, Consumer, Ownership, Truncated
from connectors.labels.merging import Side
from connectors.labels.waiting_files import needed
from connectors.model.rejects import Reject
from connectors.model.replay_proof import ReplayMismatch
from connectors.runtime.metrics import Metrics
from connectors.snapshots.retention import Superseded
from connectors.snapshots.stores import THREADS, Store
from connectors.topics.bad_partitions import BadPartitions, PartitionStateError
from connectors.topics.late_labels import LateLabels
from connectors.topics.loading import Loading
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition
from connectors.topics.restore import Restorer, Start
from connectors.topics.timeouts import Timeouts

log = logging.getLogger(__name__)

HELD = 10.0  # seconds until a replay that was held tries again
TRUNCATED_FOR = 600.0  # seconds in which records that are lost again are those of before; to load a model may take some
STRAY = "; a label for an earlier record may also go there, and does not find its record"


class Assignment:
    """The partitions of this process, under the generation and member id with which they were assigned.

    In each new generation, before any record is processed, the committed offsets are read. A model stays in memory if
    the group has what this process committed or loaded last; else it is dropped, and loaded from the snapshot that the
    committed offset names. A partition whose state is bad is paused, and the others go on.

    With labels in a topic of their own, a partition is one of both topics: an assignment that gives them to different
    members is not taken over, and both committed offsets must fit.

    Parameters
    ----------
    config
        The processor's file.
    consumer
        The member of the group.
    outbox
        The uncommitted work, which ends with the assignment that it belongs to.
    restorer, find_restorer
        Restores models of the input topic; looks at the cluster again, since the topic may be another one by now.
    timeouts
        The time-outs of the processor.
    superseded
        The snapshots to delete.
    metrics
        The metrics of the processor.

    Attributes
    ----------
    partitions
        The partitions whose models are in memory.
    ownership
        The assignment that was taken over; None if there is none.
    told
        How many partitions the topic has, as commits tell it: their former number until new ones have begun.
    bad
        The partitions that are paused because their state is bad.
    restorer
        The restorer for the input topic of this generation.
    """

    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        outbox: Outbox,
        restorer: Restorer,
        find_restorer: Callable[[], Restorer],
        timeouts: Timeouts,
        superseded: Superseded,
        metrics: Metrics,
    ) -> None:
        self.partitions: dict[int, Partition] = {}
        self.ownership: Ownership | None = None
        self.bad = BadPartitions(config.input.topic)
        self._config, self._consumer, self._outbox = config, consumer, outbox
        self._find_restorer, self._timeouts, self._metrics = find_restorer, timeouts, metrics
        self._superseded = superseded
        self._loading = Loading()
        self._growth: tuple[int, int] | None = None
        self._truncated_until = -math.inf
        self._use(restorer)

    @property
    def is_current(self) -> bool:
        """Whether the latest assignment of the consumer was taken over."""
        return self.ownership is self._consumer.ownership

    # Rebalance

    def take_over(self) -> set[int]:
        """Take over the partitions of the latest assignment.

        Returns
        -------
        The partitions for which nothing was ever committed. Commit them before `resume`.
        """
        ownership, before, self.ownership = self._consumer.ownership, self.ownership, None
        assigned = ownership.partitions if ownership else frozenset()
        is_same_member = ownership and before and ownership.member == before.member
        if self._outbox.moved and not (is_same_member and self._outbox.moved <= assigned):
            self.drop_uncommitted()
        if ownership is None:
            return set()
        self._check_matched(ownership)
        self._outbox.connect()  # which ends the transaction of an earlier process, whose offsets may be pending
        self._look_at_topic(assigned)
        committed = self._read_committed(assigned)
        if any(self.partitions[number].committed != committed[number] for number in self._outbox.moved):
            self.drop_uncommitted()
            self._outbox.connect()
            committed = self._read_committed(assigned)
        self._keep_start_or_load(committed, self._partitions_before(committed))
        self.ownership = ownership
        self._metrics.rebalances.inc()
        started = {number for number, found in committed.items() if found is None and number in self.partitions}
        self._outbox.add_moved(started)
        return started

    def _check_matched(self, ownership: Ownership) -> None:
        """Raise ClientError unless both partitions of each number were assigned: a later assignment may do that.

        Raise StartError if one of the topics is gone.
        """
        if ownership.unmatched:
            self._find_restorer()  # a topic that was deleted needs a person: then this raises StartError
            raise ClientError(
                f"of partition {listed(ownership.unmatched)}, this process was assigned either the input or the "
                f"labels, and not both: one topic has got more partitions than the other, or was deleted, or a process "
                f"of group `{self._config.name}` does not read both; nothing is read until this is corrected: "
                f"`river-margins lint --check-broker FILE` checks the topics"
            )

    def _read_committed(self, numbers: Iterable[int]) -> dict[int, Committed | None]:
        return self._consumer.committed(numbers, self._timeouts.committed)

    def _look_at_topic(self, assigned: frozenset[int]) -> None:
        """Look up the topics that are read. If one is another one than before, drop all models."""
        restorer, before = self._find_restorer(), self.restorer
        if unlike := restorer.unlike_partitions():  # one topic has got more, and the other one may follow
            raise ClientError(unlike)
        if assigned and max(assigned) >= restorer.topic.partitions:
            name = self._config.input.topic
            raise ClientError(
                f"a broker has not heard yet that `{name}` has more than {restorer.topic.partitions} partitions"
            )
        ids = [topic and topic.id for topic in (restorer.topic, restorer.labels, before.topic, before.labels)]
        if ids[:2] != ids[2:]:  # each model must be checked against the topic of today
            self.drop_uncommitted()
            self.partitions.clear()
            self._loading.clear()
            self._outbox.connect()
        self._use(restorer)

    def _use(self, restorer: Restorer) -> None:
        self.restorer = restorer
        self.told = restorer.topic.partitions
        self._outbox.align(restorer.aligned)

    def _partitions_before(self, committed: Mapping[int, Committed | None]) -> int:
        """Return how many partitions the topic had when the group committed the oldest of these offsets.

        Raise StateError if they have become more, and `input.new_partitions` refuses that.
        """
        now, of_all = self.restorer.topic, committed
        if None in committed.values():  # only the other partitions of the group can tell whether this one is new
            of_all = self._read_committed(range(now.partitions))
        before = self.restorer.partitions_before(of_all.values())
        if before < now.partitions:
            if of_all is committed:
                of_all = self._read_committed(range(now.partitions))
            if None in of_all.values():  # else all have begun, and some process has not told it yet
                self.restorer.check_growth(before)
            # By the former number, whoever gets the others sees that they are new. Those of this process begin at once.
            if any(found is None and number not in committed for number, found in of_all.items()):
                self.told = before
        if before < now.partitions and self._growth != (before, now.partitions):
            self._growth = before, now.partitions
            log.warning(
                "`%s` has %d partitions, and had %d: models that exist stay, each new partition is read from its "
                "beginning with a new model; some keys now go to another partition, whose model has not seen them"
                "%s", self._config.input.topic, now.partitions, before, STRAY if self._config.labels else "",
            )  # fmt: skip
        return before

    def _keep_start_or_load(self, committed: Mapping[int, Committed | None], before: int) -> None:
        """Keep known models, start new ones, and load the others in threads, so that no partition waits for them."""
        known, self.partitions = self.partitions, {}
        new, missing = list[int](), {}
        self.bad.keep(committed)
        for number, found in committed.items():
            if self.bad.is_known(number, found):
                continue
            if found is None:
                new.append(number)
            elif number in known and known[number].committed == found:
                self._add(number, known[number])
            else:
                missing[number] = found
        self._start(new, before)
        self._loading.request(missing, self._restore)

    def _start(self, numbers: list[int], before: int) -> None:
        """Begin partitions with new models. Those that the topic has got meanwhile are read from their first record.

        They begin side by side: most of the time, that of an object store, is waiting, and a member must poll.
        """
        with concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="start") as threads:
            starting = {
                number: threads.submit(self.restorer.start, number, *self._start_offsets(number, before), before)
                for number in numbers
            }
        for number, started in starting.items():
            try:
                self.partitions[number] = started.result()
            except PartitionStateError as error:
                self._pause(number, None, error, may_heal=False)

    def _start_offsets(self, number: int, before: int) -> tuple[Start, Start | None]:
        """Return where to begin with the records of a partition, and with their labels."""
        is_new = number >= before
        # the labels first: else, with `latest`, the label of the first record may come before the first label
        labels = self._start_offset(~number, is_new) if self._config.labels else None
        return self._start_offset(number, is_new), labels

    def _start_offset(self, number: int, is_new: bool) -> Start:
        first, end = self._consumer.offset_range(number)
        return Start(first if is_new or self._config.input.start == "earliest" else end, first)

    def _restore(self, number: int, committed: Committed) -> Partition:
        with self._metrics.restore_seconds.time():
            partition = self.restorer.restore(number, committed)
        store = self.restorer.store
        self._find_superseded(number, partition.model.snapshot, store)
        with contextlib.suppress(OSError):
            store.delete_unfinished(number)
        return partition

    def _find_superseded(self, number: int, current: str, store: Store) -> None:
        """Note what others have left beside the current snapshot; a later commit does it if the store fails."""
        partition = self.partitions.get(number)  # there in a later commit, and others mix with what it has published
        published = None if partition is None else partition.published
        try:
            # also if the file has no labels any more: what waited is deleted then
            files = needed(store, number, self._config.labels is not None)
            self._superseded.add_found(number, current, store, files, published)
        except OSError:
            self._superseded.note_unknown(number, self._find_superseded)

    def resume(self) -> None:
        """Read on where the models are."""
        for number in self.partitions:
            self.seek(number)
        self._loading.wait()
        self.take_loaded()
        assert self.ownership is not None
        numbers = listed(self.ownership.partitions)
        log.info("generation %d: partitions %s", self.ownership.generation, numbers)

    # Models

    @property
    def loading(self) -> set[int]:
        """The partitions whose models are still being loaded."""
        return self._loading.numbers

    @property
    def without_model(self) -> set[int]:
        """The partitions whose models are still being loaded, or are bad.

        They are paused in a new assignment. After a failure they are not: records that come now are read again later.
        """
        return self._loading.numbers | set(self.bad.reasons)

    def take_loaded(self) -> None:
        """Take over the models that have been loaded, and read their partitions. Load due ones again.

        Without an assignment they wait for the next one.
        """
        if self.ownership is None:
            return
        moment = time.monotonic()
        for number, partition in self.partitions.items():
            if partition.held_until <= moment:
                self.seek(number)
        for number, committed, loaded in self._loading.take_finished():
            try:
                self._take(number, loaded)
            except (StateError, OSError) as error:
                now = self._read_committed([number])[number]
                if now is None or now == committed:
                    self._pause(number, committed, error, getattr(error, "may_heal", True))
                else:  # another process has owned the partition meanwhile, and has deleted what it superseded
                    self._loading.add(number, now, self._restore)
        for number, committed in self.bad.take_due().items():
            self._loading.add(number, committed, self._restore)

    def _take(self, number: int, loaded: Partition | Exception) -> None:
        if isinstance(loaded, Exception):
            raise loaded
        metadata = OffsetMetadata.from_text(loaded.committed.metadata)
        assert metadata is not None
        self.restorer.check_offset(number, metadata, self._consumer.offset_range)
        self._add(number, loaded)
        self.bad.remove(number)
        self.seek(number)

    def _add(self, number: int, partition: Partition) -> None:
        self.partitions = self.partitions | {number: partition}
        metadata = OffsetMetadata.from_text(partition.committed.metadata)
        if metadata is not None and metadata.partitions != self.told:
            self._outbox.add_moved([number])  # so that the next commit tells the present number

    def seek(self, number: int) -> None:
        """Read a partition from the position of its model, and so its labels."""
        partition = self.partitions[number]
        partition.held_until = math.inf
        self._consumer.seek(number, partition.proof.position)
        if partition.labels is not None:
            partition.labels.inbox.clear()
            self._consumer.seek(~number, partition.labels.position)

    def pass_markers(self) -> None:
        """Move past offsets without records, once all records that were read are processed.

        Transactions of the input leave markers and aborted records. These give no output, but their offsets are
        committed too: else the lag would never be 0.
        """
        for number, partition in self.partitions.items() if self.ownership else ():
            if partition.labels is not None:
                self._pass_markers_of_both(number, partition, partition.labels)
                continue
            position = self._consumer.position(number)
            self.check_replay(number, position)
            if not partition.is_replaying and position > partition.proof.position:
                partition.proof.skip_to(position)
                self._outbox.add_moved([number])

    def _pass_markers_of_both(self, number: int, partition: Partition, labels: LateLabels) -> None:
        """Move past offsets without records in both topics; what waits in the inbox is not processed yet."""
        position, of_labels = self._consumer.position(number), self._consumer.position(~number)
        if position > partition.proof.position and not labels.inbox.has(Side.RECORDS):
            partition.proof.skip_to(position)
            self._outbox.add_moved([number])
        if of_labels > labels.position and not labels.inbox.has(Side.LABELS):
            labels.position = of_labels
            self._outbox.add_moved([number])

    def check_replay(self, number: int, position: int) -> None:
        """Raise PartitionStateError if a replay has come to this position with other inputs than before."""
        try:
            self.partitions[number].proof.check_not_passed(position)
        except ReplayMismatch as error:
            raise self.replay_error(number, error) from error

    def replay_error(self, number: int, error: ReplayMismatch) -> PartitionStateError:
        """Return the error for replayed inputs that differ from those learned before."""
        return self.restorer.replay_error(number, self.partitions[number].model.snapshot, error)

    def hold_replay(self, number: int, reject: Reject) -> None:
        """Let a replay wait at a record that was learned and is rejected now, because something is missing for a while.

        Other partitions go on.
        """
        position = self.partitions[number].proof.position
        log.warning("%s", self.restorer.held(number, self.partitions[number].model.snapshot, position, reject))
        self.restorer.forget_unknown_schemas()
        self.seek(number)  # else the position is one behind the records that are not processed
        self._pause_both(number)
        self.partitions[number].held_until = time.monotonic() + HELD

    # Failure

    def pause(self, error: PartitionStateError) -> None:
        """Pause a partition whose inputs are not those that its model has learned, or whose snapshot is damaged.

        Raise StateError if `on_bad_state` says so, or if no other partition of the topic could go on. Call
        `drop_uncommitted` then.
        """
        self._pause(error.partition, self.partitions[error.partition].committed, error, error.may_heal)

    def _pause(self, number: int, committed: Committed | None, error: Exception, may_heal: bool = True) -> None:
        others = set(range(self.restorer.topic.partitions)) - {number, *self.bad.lasting}
        if isinstance(error, StateError) and (self._config.on_bad_state == "stop" or not others):
            raise StateError(str(error)) from error
        self.bad.add(number, committed, error, may_heal)
        self._pause_both(number)

    def take_truncation(self, error: Truncated) -> None:
        """Load a partition again whose topic has lost records that were read; pause it if its model has learned them.

        The records that are lost may all be later than the committed offset, and the topic may be another one now: so
        it is paused only if that comes again at the committed offset, after the topic was looked up. Raise StateError
        where `pause` does.
        """
        number = error.partition if error.partition >= 0 else ~error.partition
        partition = self.partitions.get(number)
        committed = None if partition is None else partition.committed
        metadata = None if committed is None else OffsetMetadata.from_text(committed.metadata)
        is_new, self._truncated_until = time.monotonic() > self._truncated_until, time.monotonic() + TRUNCATED_FOR
        if is_new or committed is None or metadata is None or not self._has_learned(committed, error):
            self.reload(number)
            return
        lost = self.restorer.lost_records(error.partition, metadata, error.end)
        self._pause(number, committed, lost, lost.may_heal)

    def _has_learned(self, committed: Committed, error: Truncated) -> bool:
        """Return whether records before the committed offset are lost: the error may be about a later position."""
        of = committed if error.partition >= 0 else committed.labels
        if of is None or self._consumer.position(error.partition) != of.offset:
            return False
        return error.end is None or error.end < of.offset

    def reload(self, number: int) -> None:
        """Let the next `take_over` load the model of a partition again, and read nothing of it until then."""
        number = number if number >= 0 else ~number
        self.partitions.pop(number, None)
        self._pause_both(number)

    def _pause_both(self, number: int) -> None:
        self._consumer.pause(number)
        if self._config.labels is not None:
            self._consumer.pause(~number)

    def drop_uncommitted(self) -> None:
        """Drop all uncommitted work: the messages with their transaction, and the models that have moved.

        The next `take_over` reads what the group has. That also tells the outcome of a commit that failed unclearly.
        """
        moved = self._outbox.moved
        self._outbox.drop()
        for number in moved:
            self.partitions.pop(number, None)
        self.ownership = None

    def close(self) -> None:
        """Stop loading models."""
        self._loading.close()


def listed(numbers: Iterable[int]) -> str:
    """Return partition numbers as text.

    >>> listed({2, 0}), listed([])
    ('0,2', 'none')
    """
    return ",".join(str(number) for number in sorted(numbers)) or "none"
