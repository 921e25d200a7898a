"""The work of a processor with labels that come later: records and labels of each partition in one order."""

import logging
import time
from collections.abc import Iterable, Sequence

from connectors.kafka import Consumer
from connectors.kafka import Record as Polled
from connectors.labels.inbox import CHECKS, Inbox
from connectors.labels.merging import Side
from connectors.logs import where_read
from connectors.model.records import Record
from connectors.model.rejects import log_reject
from connectors.topics.assignment import Assignment
from connectors.topics.commit import Committer
from connectors.topics.late_labels import LateLabels, place_of
from connectors.topics.late_loop import LateLoop
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition
from connectors.topics.timeouts import LONGEST_WORK

log = logging.getLogger(__name__)

LEAST_WORK = 0.001  # seconds of work on a partition: it takes one record at least


class TwoTopics:
    """Takes what was polled of two topics through the models, in the order of the times of each partition.

    Parameters
    ----------
    consumer, assignment, outbox, committer
        Those of the processor.
    wait
        Seconds that one topic waits for the other one.
    has_rejects
        Whether rejects are kept in a topic; if not, they are logged.
    """

    def __init__(
        self,
        consumer: Consumer,
        assignment: Assignment,
        outbox: Outbox,
        committer: Committer,
        wait: float,
        has_rejects: bool,
    ) -> None:
        self._consumer, self._assignment, self._outbox, self._committer = consumer, assignment, outbox, committer
        self._wait, self._has_rejects = wait, has_rejects
        self._first: int | None = None  # the partition for which the last `take` had no time left
        self.forget()

    def forget(self) -> None:
        """Hold no model any more: others may have the partitions now."""
        self._loop = LateLoop(self._outbox)

    @property
    def longest_poll(self) -> float | None:
        """How long a poll may take, in seconds: what waits for the other topic may be taken then. None: at will."""
        found = [each.labels.inbox for each in self._assignment.partitions.values() if each.labels]
        if any(inbox.next is not None for inbox in found):
            return 0.0
        return self._wait / CHECKS if any(found) else None

    def take(self, polled: Sequence[Polled], skipped: set[int]) -> None:
        """Put what was polled into the inboxes, except that of skipped partitions, and process what comes next.

        Each partition has an equal share of the time between two polls, and what those before it have left of theirs.
        With a slow learner that may be less than one record each: those that had none come first the next time.
        """
        partitions = self._assignment.partitions
        began = time.monotonic()
        end = began + LONGEST_WORK
        self._loop.receive(partitions, polled, skipped, began)
        first, self._first = self._first, None
        for left, number in zip(range(len(partitions), 0, -1), _beginning_with(first, partitions), strict=True):
            partition = partitions[number]
            labels = partition.labels
            if number not in skipped and labels is not None and labels.inbox:
                now = time.monotonic()
                if now < end:
                    self._look_for_more(number, labels.inbox)
                    now = time.monotonic()
                    self._process(number, partition, labels, now + max(LEAST_WORK, (end - now) / left))
                elif self._first is None:
                    self._first = number
                self._bound(number, labels.inbox)

    def _look_for_more(self, number: int, inbox: Inbox) -> None:
        """Ask the broker whether a topic of which nothing was read has nothing, if the other one has waited for it."""
        moment = time.monotonic()
        if (side := inbox.asks(moment)) is not None:
            place = place_of(side, number)
            end = self._consumer.offset_range(place)[1]
            inbox.note_asked(side, moment, is_empty=self._consumer.position(place) >= end)

    def _process(self, number: int, partition: Partition, labels: LateLabels, end: float) -> None:
        """Process what comes next, by the compiled route if nothing is special about it."""
        committer, now = self._committer, time.monotonic
        while labels.inbox.next is not None and now() < end:
            if self._loop.take(number, partition, min(committer.due, end)):
                self._take_one(number, partition, labels)
            if now() >= committer.due:
                committer.commit()

    def _take_one(self, number: int, partition: Partition, labels: LateLabels) -> None:
        side, outbox = labels.inbox.next, self._outbox
        assert side is not None
        head = labels.inbox.pin(side)
        outbox.add_moved([number])  # also if what follows fails half-way
        some = labels.let_some_go(head.time, outbox.pending)
        if some is not None:  # the others leave after a look at the clock, and perhaps a poll
            outbox.send_results(number, (place_of(side, number), head.offset), some)
            if not self._has_rejects:
                self._log_rejects(some.rejects)
            return
        taken = labels.inbox.take(side)
        record = taken.record if isinstance(taken.record, Record) else labels.record_of(side, taken.record)
        results = labels.process(side, record, taken.offset, taken.time, outbox.pending)
        if side is Side.RECORDS:
            partition.proof.advance(taken.offset, record.value, partition.model.examples)
            outbox.send(number, taken.offset, record, partition)
        outbox.send_results(number, (place_of(side, number), taken.offset), results)
        if not self._has_rejects:
            rejected = [record] if side is Side.RECORDS and record.reason is not None else []
            self._log_rejects([*rejected, *results.rejects])
        if partition.wants_snapshot:
            self._committer.request()

    def _log_rejects(self, rejected: Iterable[Record]) -> None:
        for record in rejected:
            at = where_read(record.source)
            log_reject(log, record.source, record.reason or "", self._outbox.pending.rejected, at)

    def _bound(self, number: int, inbox: Inbox) -> None:
        """Read nothing of a topic whose queue is full until most of it was taken."""
        for side in Side:
            was_full = inbox.is_full(side)
            if not inbox.takes_more(side):
                self._consumer.hold(place_of(side, number))
            elif was_full:
                self._consumer.release(place_of(side, number))


def _beginning_with(first: int | None, numbers: Iterable[int]) -> list[int]:
    """Return the numbers in their order, from the first one on, and then those before it.

    >>> _beginning_with(2, [0, 1, 2, 3]), _beginning_with(7, [0, 1])
    ([2, 3, 0, 1], [0, 1])
    """
    every = list(numbers)
    place = every.index(first) if first in every else 0
    return every[place:] + every[:place]
