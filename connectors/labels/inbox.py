"""Records and labels of a partition that were read and are not taken yet."""

import math
from collections import deque
from typing import NamedTuple

from connectors.labels.merging import Side, choose
from connectors.model.records import Record

CHECKS = 4  # questions within one wait, at most
MOST_BYTES = 32 * 1024 * 1024  # of one side
OF_OBJECTS = 500  # bytes in memory of a record without key, value and headers, about


class Arrived(NamedTuple):
    """A record or a label that was read.

    Attributes
    ----------
    time
        Its time in milliseconds, or `NO_TIME`.
    arrived
        When it was read, on a monotonic clock in seconds.
    offset
        Its offset.
    record
        The record.
    size
        The bytes that it takes in memory, about.
    """

    time: float
    arrived: float
    offset: int
    record: Record
    size: int


class _Queue:
    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.items: deque[Arrived] = deque()
        self.size = 0
        self.is_full = False
        self.empty_at = self.asked_at = -math.inf


class Inbox:
    """The two queues of a partition, from which records and labels are taken in the order of their times.

    While one queue is empty, the head of the other one waits: something may come that is earlier. It waits for `wait`
    seconds, and then until `note_empty` says that the topic of the empty queue had nothing at a later moment. That a
    queue is empty says nothing: its topic may have records that were not read yet.

    Parameters
    ----------
    wait
        Seconds that one side waits for the other one.

    >>> inbox = Inbox(wait=1.0)
    >>> inbox.add(Side.RECORDS, 7, Record("events-0-7", None, b"{}"), 5000, arrived=10.0)
    >>> print(inbox.next, inbox.asks(10.5), inbox.asks(11.0))
    None None Side.LABELS
    >>> inbox.note_asked(Side.LABELS, 11.0, is_empty=True)
    >>> inbox.next
    <Side.RECORDS: 'records'>
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._records, self._labels = _Queue(), _Queue()
        self._queues = {Side.RECORDS: self._records, Side.LABELS: self._labels}

    def __bool__(self) -> bool:
        return bool(self._records.items or self._labels.items)

    def add(self, side: Side, offset: int, record: Record, time: float, arrived: float) -> None:
        """Add what was read of one topic, in the order of its offsets."""
        queue = self._queues[side]
        size = OF_OBJECTS + len(record.value or b"") + len(record.key or b"")
        if record.headers:
            size += sum(len(name) + len(content or b"") for name, content in record.headers)
        queue.items.append(Arrived(time, arrived, offset, record, size))
        queue.size += size

    @property
    def next(self) -> Side | None:
        """The side to take from; None if there is nothing to take, or not yet."""
        records, labels = self._records, self._labels
        if records.items:
            head = records.items[0]
            if labels.items:
                return choose(head.time, labels.items[0].time)
            return choose(head.time, None, are_labels_awaited=head.arrived + self._wait > labels.empty_at)
        if labels.items:
            head = labels.items[0]
            return choose(None, head.time, are_records_awaited=head.arrived + self._wait > records.empty_at)
        return None

    def take(self, side: Side) -> Arrived:
        """Take out the head of one side."""
        queue = self._queues[side]
        found = queue.items.popleft()
        queue.size -= found.size
        return found

    # The topic of an empty queue

    def asks(self, now: float) -> Side | None:
        """Return the side whose topic must be asked now whether it has anything; None if neither."""
        for waiting, empty, side in (
            (self._records, self._labels, Side.LABELS),
            (self._labels, self._records, Side.RECORDS),
        ):
            if waiting.items and not empty.items and waiting.items[0].arrived + self._wait <= now:
                return side if now >= empty.asked_at + self._wait / CHECKS else None
        return None

    def note_asked(self, side: Side, moment: float, is_empty: bool) -> None:
        """Note that the topic of a side was asked after a moment, and whether all that it has was read.

        All that had arrived on the other side by `wait` before may be taken then.
        """
        queue = self._queues[side]
        queue.asked_at = moment
        if is_empty and not queue.items:
            queue.empty_at = moment

    # Bounds

    def takes_more(self, side: Side) -> bool:
        """Whether the queue of a side has room. One that was full has room again when most of it was taken."""
        queue = self._queues[side]
        queue.is_full = queue.size >= MOST_BYTES // (4 if queue.is_full else 1)
        return not queue.is_full

    def has(self, side: Side) -> bool:
        """Whether something of a side is not taken yet."""
        return bool(self._queues[side].items)

    def is_full(self, side: Side) -> bool:
        """Whether the queue of a side had no room at the last look."""
        return self._queues[side].is_full

    def clear(self) -> None:
        """Drop all that was not taken: it is read again."""
        self._records.clear()
        self._labels.clear()
