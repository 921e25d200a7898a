"""Records and labels of a partition that were read and are not taken yet."""

from libc.math cimport INFINITY

from connectors.labels.merging import Side

CHECKS = 4  # questions within one wait, at most
MOST_BYTES = 32 * 1024 * 1024  # of one side
OF_OBJECTS = 500  # bytes in memory of a record without key, value and headers, about
cdef Py_ssize_t of_objects = OF_OBJECTS
cdef object RECORDS = Side.RECORDS, LABELS = Side.LABELS


cdef class Arrived:
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
        The record, or what a consumer has read, of which the record is made when its turn comes.
    size
        The bytes that it takes in memory, about.
    """


cdef Arrived arrival(object time, double arrived, long long offset, object record, Py_ssize_t size):
    cdef Arrived made = Arrived.__new__(Arrived)
    made.time, made.arrived, made.offset, made.record, made.size = time, arrived, offset, record, size
    return made


cdef Py_ssize_t size_of(object key, object value, object headers) except -1:
    """Return the bytes that a record takes in memory, about."""
    cdef Py_ssize_t size = of_objects + len(key or b"") + len(value or b"")
    if headers:
        for name, content in headers:
            size += len(name) + len(content or b"")
    return size


cdef class Queue:
    """What was read of one topic."""

    def __cinit__(self):
        self.clear()

    cdef bint is_empty(self) except -1:
        return self.first == len(self.items)

    cdef int put(self, Arrived arrived) except -1:
        self.items.append(arrived)
        self.size += arrived.size
        return 0

    cdef Arrived head(self):
        return <Arrived> self.items[self.first]

    cdef int drop_head(self) except -1:
        self.size -= self.head().size
        self.items[self.first] = None
        self.first += 1
        if 2 * self.first > len(self.items):
            del self.items[: self.first]
            self.first = 0
        return 0

    cdef int clear(self) except -1:
        self.items, self.first, self.size, self.is_full = [], 0, 0, False
        self.empty_at = self.asked_at = -INFINITY
        return 0


cdef class Inbox:
    """The two queues of a partition, from which records and labels are taken in the order of their times.

    While one queue is empty, the head of the other one waits: something may come that is earlier. It waits for `wait`
    seconds, and then until `note_asked` says that the topic of the empty queue had nothing at a later moment. That a
    queue is empty says nothing: its topic may have records that were not read yet.

    Parameters
    ----------
    wait
        Seconds that one side waits for the other one.

    >>> from connectors.model.records import Record
    >>> inbox = Inbox(wait=1.0)
    >>> inbox.add(Side.RECORDS, 7, Record("events-0-7", None, b"{}"), 5000, arrived=10.0)
    >>> print(inbox.next, inbox.asks(10.5), inbox.asks(11.0))
    None None Side.LABELS
    >>> inbox.note_asked(Side.LABELS, 11.0, is_empty=True)
    >>> inbox.next
    <Side.RECORDS: 'records'>
    """

    def __init__(self, double wait):
        self.wait = wait
        self.records, self.labels = Queue(), Queue()

    cdef Queue queue(self, object side):
        return self.records if side is RECORDS else self.labels

    def __bool__(self):
        return not (self.records.is_empty() and self.labels.is_empty())

    def add(self, side, offset, record, time, arrived):
        """Add what was read of one topic, in the order of its offsets."""
        size = size_of(record.key, record.value, record.headers)
        self.queue(side).put(arrival(time, arrived, offset, record, size))

    cdef Queue following(self):
        """Return the queue to take from, as `choose` does; None if there is nothing to take, or not yet."""
        cdef Queue records = self.records, labels = self.labels
        if self.pinned is not None:
            return self.pinned
        if records.is_empty():
            if labels.is_empty() or labels.head().arrived + self.wait > records.empty_at:
                return None
            return labels
        if labels.is_empty():
            return None if records.head().arrived + self.wait > labels.empty_at else records
        return labels if labels.head().time <= records.head().time else records

    @property
    def next(self):
        """The side to take from; None if there is nothing to take, or not yet."""
        cdef Queue queue = self.following()
        return None if queue is None else RECORDS if queue is self.records else LABELS

    def pin(self, side):
        """Return the head of one side, which is taken next, whatever may come before: its step has begun."""
        self.pinned = self.queue(side)
        return self.pinned.head()

    def take(self, side):
        """Take out the head of one side."""
        cdef Queue queue = self.queue(side)
        self.pinned = None
        cdef Arrived found = queue.head()
        queue.drop_head()
        return found

    # The topic of an empty queue

    def asks(self, double now):
        """Return the side whose topic must be asked now whether it has anything; None if neither."""
        cdef Queue waiting, empty
        for waiting, empty, side in ((self.records, self.labels, LABELS), (self.labels, self.records, RECORDS)):
            if not waiting.is_empty() and empty.is_empty() and waiting.head().arrived + self.wait <= now:
                return side if now >= empty.asked_at + self.wait / CHECKS else None
        return None

    def note_asked(self, side, double moment, is_empty):
        """Note that the topic of a side was asked after a moment, and whether all that it has was read.

        All that had arrived on the other side by `wait` before may be taken then.
        """
        cdef Queue queue = self.queue(side)
        queue.asked_at = moment
        if is_empty and queue.is_empty():
            queue.empty_at = moment

    # Bounds

    def takes_more(self, side):
        """Whether the queue of a side has room. One that was full has room again when most of it was taken."""
        cdef Queue queue = self.queue(side)
        queue.is_full = queue.size >= MOST_BYTES // (4 if queue.is_full else 1)
        return not queue.is_full

    def has(self, side):
        """Whether something of a side is not taken yet."""
        return not self.queue(side).is_empty()

    def is_full(self, side):
        """Whether the queue of a side had no room at the last look."""
        return self.queue(side).is_full

    def clear(self):
        """Drop all that was not taken: it is read again."""
        self.records.clear()
        self.labels.clear()
        self.pinned = None
