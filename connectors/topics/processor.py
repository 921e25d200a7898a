"""The processor between topics: poll, decode, predict, encode, learn, send, commit.

The loop is `Processor._step`; the order of a commit, which makes crashes harmless, is in `connectors.topics.commit`.
"""

import collections
import contextlib
import functools
import gc
import logging
import math
import random
import time
from collections.abc import Iterator, Mapping

from connectors.config import Config
from connectors.errors import AccessError, FencedError, StalledError, StartError, StateError
from connectors.kafka import (
    RECORDS_PER_POLL,
    ClientError,
    Consumer,
    Fenced,
    Headers,
    LostPlace,
    NotAccepted,
    NotPermitted,
    OutOfRange,
    Replaced,
    TooLarge,
    Truncated,
)
from connectors.kafka import Record as KafkaRecord
from connectors.logs import where
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel, ReplayNeeded
from connectors.model.process_record import process_record
from connectors.model.records import Record
from connectors.model.rejects import Reject, log_reject
from connectors.model.replay_proof import ReplayMismatch
from connectors.runtime.health import Health
from connectors.runtime.server import serving
from connectors.runtime.start_line import log_start
from connectors.runtime.stop import Stop
from connectors.snapshots.retention import Superseded
from connectors.topics import startup
from connectors.topics.assignment import Assignment
from connectors.topics.bad_partitions import PartitionStateError
from connectors.topics.clients import Clients
from connectors.topics.commit import Committer
from connectors.topics.lag import following_lag
from connectors.topics.mixing import Mixer
from connectors.topics.new_challengers import NewChallengers
from connectors.topics.outbox import Outbox
from connectors.topics.record_loop import RecordLoop
from connectors.topics.restore import Restorer
from connectors.topics.timeouts import LONGEST_WORK, Timeouts
from connectors.topics.two_topics import TwoTopics
from connectors.topics.unassigned import finding_unassigned

log = logging.getLogger(__name__)

MAX_POLL = 0.5  # seconds; a signal is seen after that at the latest
MIN_PAUSE, MAX_PAUSE = 0.1, 10.0  # seconds between two attempts
GC_THRESHOLD = 50_000  # new objects before the collector scans them
MAX_RESETS = 20  # in a row without a commit, which takes some minutes
QUIET = 600.0  # seconds without a reset, longer than any attempt takes: the next one begins another row
MAX_FENCINGS, FENCING_WINDOW = 5, 120.0  # how many, within how many seconds


def run(config: Config, stop: Stop | None = None, health: Health | None = None) -> Counts:
    """Run a processor until SIGTERM or Ctrl-C. These finish the batch, commit and leave the group.

    Parameters
    ----------
    config
        The processor's file, as `connectors.config.load_topics` returns it.
    stop
        Ends the processor once it is requested; default: signals only.
    health
        The state of the processor, for other threads; default: one for `config.metrics`.

    Returns
    -------
    The counts of committed work.

    Raises
    ------
    ConnectorError
        One of its classes for each reason that a processor cannot start or go on; see `connectors.errors`.
    """
    stop = stop or Stop()
    health = health or Health(config)
    # A signal is noted once there is work to finish; before that, it ends the start at once. It is noted up to the end,
    # when the process has left its group: else a second SIGTERM would make the others wait for its session.
    with contextlib.ExitStack() as signals, serving(health, config.metrics), _ready(config, health) as processor:
        signals.enter_context(stop.on_signals())
        return processor.run(stop)


@contextlib.contextmanager
def _ready(config: Config, health: Health) -> Iterator["Processor"]:
    """Check everything that can be checked before the group is joined, and build a processor."""
    timeouts, for_consumer = Timeouts(*config.kafka.timeouts), config.kafka.consumer_settings
    health.extend_limit(sum(timeouts))  # from here on: the start waits for silent brokers, too
    clients = Clients(config)

    def find_restorer() -> Restorer:
        return startup.make_restorer(config, for_consumer, before=restorer)

    startup.check_store(config)
    if (away := startup.check_registry(config)) is not None:
        log.warning("%s", away)
    restorer = startup.make_first_restorer(config, for_consumer)
    with refusals_as_errors(config):
        consumer = clients.consumer(config.instance)
    try:
        with refusals_as_errors(config):
            startup.retried(lambda: startup.check_input(config, for_consumer))
            startup.retried(lambda: startup.check(config, consumer, restorer, timeouts.committed))
        log_start(
            log, config, client=config.kafka.client, guarantee=config.checkpoint.guarantee, input=config.input.topic,
            partitions=restorer.topic.partitions,
        )  # fmt: skip
        outbox = Outbox(config, clients.producer)
        superseded = Superseded(config.snapshots.keep, timeouts.transaction)
        assignment = Assignment(config, consumer, outbox, restorer, find_restorer, timeouts, superseded, health.metrics)
        mixer = None
        if config.mixing is not None:
            reader = clients.reader_of(config.mixing.topic)
            mixer = Mixer(config.name, config.mixing, reader, timeouts, health.metrics)
        newcomers = NewChallengers(config.input.topic, clients.reader)
        committer = Committer(
            config, consumer, assignment, outbox, timeouts, superseded, health.metrics, newcomers, mixer
        )
        processor = Processor(config, consumer, assignment, outbox, committer, timeouts, health)
        health.metrics.report(processor)
        with contextlib.ExitStack() as threads:
            if health.needs_lag:
                threads.enter_context(following_lag(health.metrics, clients.consumer))
            if config.instance:
                count = functools.partial(clients.count_partitions, timeouts.committed)
                every = clients.seconds_between_refreshes
                threads.enter_context(finding_unassigned(clients.consumer, count, timeouts.committed, every))
            yield processor
    finally:
        consumer.close(5.0)


class Processor:
    """A processor between topics: it takes the records of its partitions through their models, in order.

    Parameters
    ----------
    config
        The processor's file.
    consumer
        The member of the group.
    assignment
        The partitions with their models.
    outbox
        Where the message for each record goes.
    committer
        Commits offsets, models and messages together.
    timeouts
        The time-outs of the processor.
    health
        The state of the processor, for other threads.
    """

    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        assignment: Assignment,
        outbox: Outbox,
        committer: Committer,
        timeouts: Timeouts,
        health: Health,
    ) -> None:
        self._config, self._consumer, self._assignment, self._outbox = config, consumer, assignment, outbox
        self._committer, self._timeouts, self._health = committer, timeouts, health
        self._rebalance_error: ClientError | OSError | None = None
        self._may_be_replaced = False
        self._has_rejects = config.rejects is not None
        self._two_topics: TwoTopics | None = None
        if config.labels is not None:
            wait = config.labels.wait
            self._two_topics = TwoTopics(consumer, assignment, outbox, committer, wait, self._has_rejects)
        self._is_leaving = False  # from the last commit before a rebalance on, until `_take_over`
        self._loop = RecordLoop(outbox)
        self._most = RECORDS_PER_POLL  # fewer where records take long
        self._resets, self._progress, self._last_reset = 0, 0, -math.inf
        self._fencings: collections.deque[float] = collections.deque(maxlen=MAX_FENCINGS)

    # For metrics, in other threads

    @property
    def counts(self) -> Counts:
        return self._committer.counts

    @property
    def models(self) -> Mapping[int, PartitionModel]:
        return {number: partition.model for number, partition in dict(self._assignment.partitions).items()}

    @property
    def assigned(self) -> int | None:
        ownership = self._assignment.ownership
        return len(ownership.partitions) if ownership else None

    @property
    def is_ready(self) -> bool:
        ownership, there = self._assignment.ownership, dict(self._assignment.partitions)
        return ownership is not None and all(n in there and not there[n].is_replaying for n in ownership.partitions)

    @property
    def paused(self) -> Mapping[int, str]:
        return self._assignment.bad.reasons

    @property
    def committed_offsets(self) -> Mapping[int, int]:
        there = {n: partition.committed for n, partition in dict(self._assignment.partitions).items()}
        found = self._assignment.bad.committed | there
        of_labels = {~n: committed.labels.offset for n, committed in found.items() if committed.labels is not None}
        return {n: committed.offset for n, committed in found.items()} | of_labels

    @property
    def waiting(self) -> Mapping[int, int]:
        found = dict(self._assignment.partitions).items()
        return {number: len(each.labels.waiting.records) for number, each in found if each.labels is not None}

    # Work

    def run(self, stop: Stop) -> Counts:
        """Join the group, and work until the end is requested."""
        with refusals_as_errors(self._config):
            startup.retried(self._consumer.join)
        # Freeze the objects loaded so far: rescanning them costs a third of CPU time. The objects of a record are freed
        # without the collector. A high threshold keeps it from scanning them, which costs a tenth.
        gc.collect()
        was_frozen = gc.get_freeze_count() > 0
        gc.freeze()
        before = gc.get_threshold()
        gc.set_threshold(GC_THRESHOLD)
        self._consumer.before_rebalance = self._commit_before_rebalance
        try:
            while not stop.requested:
                try:
                    self._step()
                except (ClientError, OSError) as error:
                    self._recover(error, stop)
                except PartitionStateError as error:
                    self._assignment.pause(error)
                    self._committer.drop_uncommitted()
            self._finish()
            if stop.leaves and self._config.instance:
                self._consumer.leave()
        finally:
            self._consumer.before_rebalance = None
            gc.set_threshold(*before)
            if not was_frozen:  # else nothing of this run, and of the program that calls it, would ever be freed
                gc.unfreeze()
            self._committer.close()
        self._committer.all_rejected.look(self.counts, least=1)
        log.info("ended %s", self.counts)
        return self.counts

    def _step(self) -> None:
        self._health.beat()
        assignment, committer, now = self._assignment, self._committer, time.monotonic
        longest = self._longest_poll()
        records = self._consumer.poll(min(max(0.0, committer.due - now()), longest), self._most)
        if self._rebalance_error is not None:
            error, self._rebalance_error = self._rebalance_error, None
            raise error
        if not assignment.is_current:
            self._take_over()  # which seeks, so that these records come again
            return
        skipped = assignment.without_model  # also if a model comes now: the next poll then reads from its offset
        assignment.take_loaded()
        if self._two_topics is not None:
            if self._takes_inboxes:
                self._two_topics.take(records, skipped)
            records = []
        self._take(records, skipped)
        if now() >= committer.due:
            assignment.pass_markers()
            committer.commit()

    def _take(self, records: list[KafkaRecord], skipped: set[int]) -> None:
        """Process records in their order, each by the compiled route if nothing is special about it.

        What is left after some seconds is read again: a member that does not poll for long leaves its group. To go back
        drops all that the client has fetched, so the next polls ask for no more than can be done in that time.
        """
        committer, now, place = self._committer, time.monotonic, 0
        began = now()
        end = began + LONGEST_WORK
        while place < len(records):
            if now() >= end:
                self._most = max(1, place // 2)
                for number in {record[0] for record in records[place:]} - skipped:
                    self._assignment.seek(number)
                return
            try:
                place = self._loop.take(self._assignment.partitions, records, place, skipped, min(committer.due, end))
            except ReplayNeeded as needed:
                place = self._loop.place
                self._replay_and_reject(records[place][0], needed, skipped)
            if place < len(records):  # also if a commit is due: to leave a long record may take longer than `every`
                self._take_one(records[place], skipped)
                place += 1
            if now() >= committer.due:
                committer.commit()
        if len(records) == self._most and now() - began < LONGEST_WORK / 4:
            self._most = min(2 * self._most, RECORDS_PER_POLL)

    def _take_one(self, record: KafkaRecord, skipped: set[int]) -> None:
        number = record[0]
        if number in skipped:
            return
        try:
            try:
                self._process(*record)
            except ReplayNeeded as needed:
                self._replay_and_reject(number, needed, skipped)
            except Reject as reject:
                skipped.add(number)
                self._assignment.hold_replay(number, reject)
        except OSError:  # the partition may have moved half-way: it must be dropped with the uncommitted work
            self._outbox.add_moved([number])
            raise

    def _replay_and_reject(self, number: int, needed: ReplayNeeded, skipped: set[int]) -> None:
        skipped.add(number)
        self._assignment.partitions[number].replay_and_reject(needed.reject)
        self._assignment.seek(number)

    def _longest_poll(self) -> float:
        if self._assignment.loading:
            return MIN_PAUSE
        soon = self._two_topics.longest_poll if self._two_topics and self._takes_inboxes else None
        return MAX_POLL if soon is None else min(MAX_POLL, soon)

    @property
    def _takes_inboxes(self) -> bool:
        """Whether what is in the inboxes may be processed: else the next assignment has it read again."""
        return self._assignment.ownership is not None and not self._is_leaving

    def _take_over(self) -> None:
        self._is_leaving = False
        if self._may_be_replaced:  # then a new producer would fence that of the successor
            if not self._consumer.confirm_membership():
                return  # no failure: a rebalance may take as long as the slowest member, and each poll waits for it
            self._may_be_replaced = False
        self._loop = RecordLoop(self._outbox)  # the former one holds models of partitions that others may have now
        if self._two_topics is not None:
            self._two_topics.forget()
        started = self._assignment.take_over()
        if started:
            self._committer.commit()  # so that from now on a missing offset means that it was lost
        if self._assignment.ownership is not None:
            self._assignment.resume()
        gc.collect()  # the models that others have now may be parts of cycles; it scans them too rarely by itself

    def _commit_before_rebalance(self) -> None:
        """Commit while the group still takes it: then the models that stay are kept, and the others are up to date."""
        if not self._assignment.is_current or self._assignment.ownership is None:
            return
        self._is_leaving = True
        try:
            self._committer.commit()
        except (ClientError, OSError) as error:  # the library that calls this would lose it
            self._rebalance_error = error

    def _process(
        self,
        number: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        timestamp: int | None,
    ) -> None:
        partition = self._assignment.partitions[number]
        sent = timestamp if timestamp is not None and timestamp > 0 else 0
        known = partition.known_reject()
        record = Record(f"{partition.source}{offset}", key, value, None, headers, sent, known)
        proof = partition.proof
        is_replayed = proof.target is not None  # then only the model must learn it again
        if is_replayed:
            self._assignment.check_replay(number, offset)
        process_record(partition.model, record, Counts() if is_replayed else self._outbox.pending)
        if record.known is not None and record.known.may_pass and known is None:
            if is_replayed:  # it was learned: an uncertain reject is not read again once it is committed
                raise record.known
            partition.note_uncertain(record.known)
        try:
            proof.advance(offset, value, partition.model.examples)
        except ReplayMismatch as error:
            raise self._assignment.replay_error(number, error) from error
        if partition.wants_snapshot and proof.target is None:
            self._committer.request()
        if is_replayed:
            return
        if record.reason is not None and not self._has_rejects:
            at = where(self._config.input.topic, number, offset)
            log_reject(log, record.source, record.reason, self._outbox.pending.rejected, at)
        self._outbox.send(number, offset, record, partition)

    def _finish(self) -> None:
        """Commit the work done so far. If that fails, the next start does it again."""
        try:
            if self._assignment.is_current and self._assignment.ownership is not None:
                with contextlib.suppress(PartitionStateError):  # the next start finds it, too
                    self._assignment.pass_markers()
                self._committer.write_all_snapshots()
                self._committer.commit()
        except (ClientError, OSError) as error:
            log.warning("the last commit failed, the next start repeats its records: %s", error)
            if self._config.instance is not None:  # to abort the transaction, a producer would fence a successor's
                self._committer.drop_uncommitted()

    def _recover(self, error: ClientError | OSError, stop: Stop) -> None:
        """Drop uncommitted work, and wait before the next attempt. Raise an error if no attempt can help."""
        age = self._outbox.transaction_age
        if isinstance(error, Truncated):
            self._assignment.take_truncation(error)
        self._committer.drop_uncommitted()
        self._may_be_replaced = self._config.instance is not None and not isinstance(error, TooLarge)
        if isinstance(error, OutOfRange) and self._config.on_bad_state == "pause":
            self._assignment.reload(error.partition)  # which compares its offset with the topic
        self._health.metrics.resets.inc()
        if isinstance(error, Fenced) and age >= (longest := self._timeouts.transaction):  # not by another producer
            error = Fenced(
                f"the transaction was open for {age:.1f} s, and the brokers abort it after {longest:g} s: a record, a "
                "snapshot, or the brokers (overloaded, or with a quota) took too long, or this process was suspended; "
                "if this happens again, raise the transaction time-out in `kafka.producer`, and the longest time "
                f"between two polls in `kafka.consumer` ({error})"
            )
        log.warning("reset: %s", error)
        with refusals_as_errors(self._config):
            if isinstance(error, NotPermitted | NotAccepted | Replaced):
                raise error
            if isinstance(error, OutOfRange) and self._config.on_bad_state == "stop":
                raise error
        if isinstance(error, TooLarge):
            return
        before, self._last_reset = self._last_reset, time.monotonic()
        if self.counts.checkpoints > self._progress or self._last_reset - before > QUIET:
            self._resets, self._progress = 0, self.counts.checkpoints
        if isinstance(error, Fenced) and age < self._timeouts.transaction:
            self._count_fencing(error)
        self._resets += 1
        if self._resets > MAX_RESETS:
            raise StalledError(f"{MAX_RESETS} resets in a row without a commit, the last one for: {error}") from error
        pause = min(MAX_PAUSE, MIN_PAUSE * 2**self._resets) * random.uniform(0.5, 1.0)
        end = time.monotonic() + pause
        while not stop.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _count_fencing(self, error: Fenced) -> None:
        now = time.monotonic()
        self._fencings.append(now)
        if len(self._fencings) == MAX_FENCINGS and now - self._fencings[0] < FENCING_WINDOW:
            whose = f"`instance: {self._config.instance}`" if self._config.instance else "a fresh transactional id"
            raise FencedError(
                f"another process took over the transactional id of this one {MAX_FENCINGS} times within "
                f"{FENCING_WINDOW:g} s (with {whose}): give each process of group `{self._config.name}` an `instance` "
                f"of its own, or none"
            ) from error


@contextlib.contextmanager
def refusals_as_errors(config: Config) -> Iterator[None]:
    """Turn failures that no further attempt can repair into errors for a user."""
    try:
        yield
    except NotPermitted as error:
        raise AccessError(f"the broker refuses what group `{config.name}` asks for: {error}") from error
    except NotAccepted as error:
        raise StartError(
            f"the broker does not accept what group `{config.name}` asks for, or its answer cannot be read: {error}"
        ) from error
    except LostPlace as error:  # to join again here could fence a successor
        raise StalledError(
            f"group `{config.name}` heard nothing of `instance: {config.instance}` for a whole session and has dropped "
            f"it ({error}): the broker, the network or this process hung; start it again"
        ) from error
    except Replaced as error:
        raise FencedError(
            f"another process of group `{config.name}` runs with `instance: {config.instance}` ({error}); give each "
            f"process an `instance` of its own, or none"
        ) from error
    except OutOfRange as error:
        number, topic = error.partition, f"`{config.input.topic}`"
        if number < 0 and config.labels is not None:
            number, topic = ~number, f"the labels `{config.labels.topic}`"
        raise StateError(
            f"offset {error.offset} of partition {number} of {topic} is out of range: records "
            f"were deleted before they were read, by retention or by hand; `river-margins lint --check-broker FILE` "
            f"says what is left, and how to go on"
        ) from error
    except ClientError as error:
        raise StartError(
            f"the broker at `{config.kafka.bootstrap_servers}` does not answer as it should: {error}"
        ) from error
