"""The outbox: the messages of a processor since the last commit, in one open transaction."""

import logging
import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from connectors.config import Config
from connectors.errors import ConnectorError
from connectors.kafka import BadTimestamp, Committed, NotAccepted, Ownership, Producer, TooLarge
from connectors.labels.late_learning import Results
from connectors.logs import where_read
from connectors.model.counts import Counts
from connectors.model.records import Record
from connectors.topics.formats import Formats
from connectors.topics.messages import (
    Message,
    outcome_message,
    output_message,
    query_message,
    reject_message,
    shortened,
)
from connectors.topics.partition import Partition

log = logging.getLogger(__name__)

# Partition (below 0 for a label, see `Consumer`) and offset of the record that a message belongs to, and topic of the
# message. Of several messages that one record leads to, each has its own source too.
Tag = tuple[Any, ...]
PUBLISHED = -1  # in place of the offset, for what a partition tells the other ones
TRY_AGAIN = 60.0  # seconds after which a size or a timestamp that a topic has refused is tried again


class Outbox:
    """Uncommitted work of a process: sent messages, partitions that have moved, and counts.

    All of it is committed together, or dropped together.

    Parameters
    ----------
    config
        The processor's file.
    make_producer
        Makes a producer. With True it sends each message by itself, which tells which message is too large.

    Attributes
    ----------
    moved
        The partitions that have moved since the last commit.
    pending
        The counts since the last commit.
    oldest
        The earliest timestamp of a record since the last commit, in milliseconds since 1970; infinite without one.
    """

    def __init__(self, config: Config, make_producer: Callable[[bool], Producer]) -> None:
        self.moved: set[int] = set()
        self.pending = Counts()
        self.oldest = math.inf
        self._input, self._output = config.input.topic, config.output.topic
        self._rejects = config.rejects.topic if config.rejects else None
        self._outcomes, self._labels = config.topics.get("outcomes"), config.topics.get("labels")
        self._queries = config.topics.get("queries")
        self._is_transactional = config.checkpoint.guarantee == "exactly_once"
        self._make_producer = make_producer
        self._producer: Producer | None = None
        self._opened: float | None = None
        self._aligned: Collection[str] = ()
        self._shortening: dict[Tag, int] = {}
        # The sizes of the smallest whole and of the smallest short message that each topic has refused lately.
        # Compressed, a larger one may fit.
        self._refused: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._unsent: list[tuple[str, Any, str, bytes | None]] = []  # source and id of a record, topic, short message
        self._refused_at = -math.inf
        settings = config.kafka.producer_settings.items()
        self._compresses = any("compression" in key and value not in (None, "none") for key, value in settings)
        self._sends_apart = False
        self._keeps_timestamps = config.output.timestamp == "input"
        self._has_bad_timestamps = False
        self._present_until = -math.inf  # each refused timestamp has all work since the last commit done again
        self._encode, self._format = Formats(config).encode_output, config.output.format

    def align(self, topics: Collection[str]) -> None:
        """Keep the partition number of records in these topics: they have as many partitions as the input."""
        self._aligned = topics

    def add_moved(self, numbers: Collection[int], oldest: float = math.inf) -> None:
        """Note that these partitions have moved, with records of which the earliest has the timestamp `oldest`."""
        self.moved |= set(numbers)
        self.oldest = min(self.oldest, oldest)

    # Messages

    def send(self, number: int, offset: int, record: Record, partition: Partition) -> None:
        """Send the output of a processed record, its reject, or both.

        A message that is too large for the broker is replaced by a short one; if that is too large as well, it is
        logged.
        """
        self.moved.add(number)
        if 0 < record.timestamp < self.oldest:
            self.oldest = record.timestamp
        if record.output is not None:
            message = output_message(record, partition.model.snapshot)
            if self._encode is not None:
                message = message[0], self._encoded(record), message[2]
            self._send(number, (number, offset, self._output), record, self._output, message)
        if record.reason is not None and self._rejects is not None:
            self._send(number, (number, offset, self._rejects), record, self._rejects, reject_message(record))

    def _encoded(self, record: Record) -> bytes:
        """Return an output in `output.format`. Raise ConnectorError, with the record, for a fault of the codec."""
        assert self._encode is not None and record.output is not None
        refusal = f"the codec `{self._format}` cannot write the output of {record.source}"
        try:
            value: object = self._encode(record.output)
        except (OSError, ConnectorError):  # of the registry, and not of this output
            raise
        except Exception as error:
            raise ConnectorError(f"{refusal}: {type(error).__name__}: {error}") from error
        if not isinstance(value, bytes):
            raise ConnectorError(f"{refusal}: `encode` returns {type(value).__name__}, and not bytes")
        return value

    def send_results(self, number: int, place: tuple[int, int], results: Results) -> None:
        """Send the queries, outcomes and rejects to which a record or label has led, at place number and offset."""
        self.moved.add(number)
        if (topic := self._queries) is not None:
            for query in results.queries:
                record = query.record
                self._send(number, (*place, topic, record.source), record, topic, query_message(query))
        if (topic := self._outcomes) is not None:
            for outcome in results.outcomes:
                record = outcome.message
                self._send(number, (*place, topic, record.source), record, topic, outcome_message(outcome))
        if (topic := self._rejects) is not None:
            for record in results.rejects:
                self._send(number, (*place, topic, record.source), record, topic, reject_message(record))

    def publish(self, number: int, topic: str, key: bytes, value: bytes) -> None:
        """Send what a partition tells the other ones, in the open transaction."""
        if self._opened is None:
            self._open()
        try:
            self.connect().send(topic, 0, key, value, [], (number, PUBLISHED, topic))
        except (BadTimestamp, TooLarge) as error:  # perhaps of an earlier message
            self._note_refused(error)
            raise

    def _send(self, number: int, tag: Tag, record: Record, topic: str, whole: Message) -> None:
        message = whole
        level = self._shortening.get(tag, 0) if self._shortening else 0
        if level or self._refused[0]:
            level, message = self._level_of(level, tag, record, topic, whole)
        if level > 1:
            self.pending.add_unsent()
            id = getattr(record, "id", record.source)  # a label that was not decoded has none
            self._unsent.append((record.source, id, topic, message[1]))
            return
        if self._is_transactional and self._opened is None:
            self._open()
        to = number if topic in self._aligned else None
        key, value, headers = message
        timestamp = record.timestamp if self._keeps_timestamps else 0
        try:
            (self._producer or self.connect()).send(topic, to, key, value, headers, tag, timestamp)
        except (BadTimestamp, TooLarge) as error:
            self.send_again(error, number, tag, record, topic, whole)
            return
        if level:
            self.pending.add_shortened()

    def _level_of(self, level: int, tag: Tag, record: Record, topic: str, whole: Message) -> tuple[int, Message]:
        """Return how short a message must be, 0 for whole and 2 for none, and the message.

        The topic has refused it at all lower levels, or one that is not larger: to try it would be one reset more.
        """
        message = whole
        for present, refused in enumerate(self._refused):
            size = _size_of(message)
            if level <= present and size < refused.get(topic, math.inf):
                return present, message
            if level > present and not self._compresses:
                refused[topic] = min(size, refused.get(topic, size))
            self._shortening[tag] = present + 1
            message = shortened(record, whole)
        return 2, message

    def send_again(
        self, error: BadTimestamp | TooLarge, number: int, tag: Tag, record: Record, topic: str, whole: Message
    ) -> None:
        """Send a message that the client has refused because it is too large, shortened. Raise any other error."""
        self._note_refused(error)
        if isinstance(error, BadTimestamp) or error.opaque != tag:
            raise error
        self._send(number, tag, record, topic, whole)

    @property
    def is_plain(self) -> bool:
        """Whether outputs are JSON, and none has to be shortened."""
        return self._encode is None and not self._shortening and not self._refused[0]

    @property
    def has_outcomes(self) -> bool:
        """Whether there is a topic for what became of records whose label came later."""
        return self._outcomes is not None

    def open_for(self, number: int) -> tuple[Callable[..., None], str, int | None, bool]:
        """Open the transaction, and return what sends outputs of a partition: a call, topic, partition, timestamps."""
        if self._is_transactional and self._opened is None:
            self._open()
        to = number if self._output in self._aligned else None
        return self.connect().send, self._output, to, self._keeps_timestamps

    def _note_refused(self, error: BadTimestamp | TooLarge) -> None:
        """Let the next attempt send the message at fault in another way."""
        if isinstance(error, BadTimestamp):
            self._note_bad_timestamp(error)
        else:
            self._shorten(error.opaque)

    def _shorten(self, tag: Tag | None) -> None:
        if tag is None:
            self._sends_apart = True
            return
        if tag[1] == PUBLISHED:
            number, _, topic = tag
            raise NotAccepted(
                f"the names of the snapshots with which partition {number} has mixed do not fit into one message of "
                f"`{topic}`: raise `max.message.bytes` of this topic"
            )
        self._shortening[tag] = self._shortening.get(tag, 0) + 1
        self._refused_at = time.monotonic()

    def _open(self) -> None:
        self.connect().begin()
        self._opened = time.monotonic()

    def connect(self) -> Producer:
        """Return the producer. A new one ends the open transaction of an earlier process with the same id."""
        if self._producer is None:
            self._producer = self._make_producer(self._sends_apart)
        return self._producer

    # Commit

    def flush(self, seconds: float) -> None:
        """Wait until each message has an outcome."""
        self.connect().flush(seconds)

    def check_sends(self) -> None:
        """Raise the first failure among the outcomes."""
        try:
            self.connect().check()
        except (BadTimestamp, TooLarge) as error:
            self._note_refused(error)
            raise

    def _note_bad_timestamp(self, error: BadTimestamp) -> None:
        """Write the records that are repeated now with the present time, up to a commit with no partition behind.

        If that comes again within a minute, as from a device with a wrong clock, do so for the next minute.
        """
        if self._keeps_timestamps:
            log.warning("a topic refuses a timestamp, so records get the present time: %s", error)
            self._keeps_timestamps, self._has_bad_timestamps = False, True
            now = time.monotonic()
            is_again = now - self._present_until < TRY_AGAIN
            self._present_until = now + TRY_AGAIN if is_again else now
        else:
            advice = "if the time is the reason, check the clocks of this host and of the broker"
            log.error("a message is refused, also with the present time: %s; %s", error, advice)

    def send_offsets(self, offsets: Mapping[int, Committed], ownership: Ownership) -> None:
        """Add offsets to the transaction."""
        if self._opened is None:
            self._open()
        self.connect().send_offsets(self._input, offsets, ownership, self._labels)

    def end_transaction(self) -> None:
        """Commit the transaction: its messages and offsets become visible at once."""
        self.connect().commit()

    def note_commit(self, positions: Mapping[int, int], behind: Collection[int]) -> None:
        """Start with nothing uncommitted, the partitions being at these positions.

        Those `behind` are loaded or replayed: they may not have come again to the record whose message was refused, so
        what was learned from that stays.
        """
        self._shortening = {
            tag: level
            for tag, level in self._shortening.items()
            if max(tag[0], ~tag[0]) in behind or (tag[0] in positions and tag[1] >= positions[tag[0]])
        }
        is_old = time.monotonic() - self._refused_at > TRY_AGAIN
        if is_old or not (self.pending.shortened or self.pending.unsent):
            self._refused = {}, {}
        for source, id, topic, short in self._unsent:  # only now: until then each attempt would say it
            log.error(
                "record %s: not even a short message fits into `%s`: %r", id, topic, short, extra=where_read(source)
            )
        if self._sends_apart and not behind:
            self.connect().close()
            self._producer, self._sends_apart = None, False
        if self._has_bad_timestamps and not behind and time.monotonic() >= self._present_until:
            self._keeps_timestamps, self._has_bad_timestamps = True, False
        self._clear()

    def _clear(self) -> None:
        self.moved, self._opened, self.pending, self.oldest = set(), None, Counts(), math.inf
        self._unsent = []

    # Failure

    @property
    def has_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._opened is not None

    @property
    def transaction_age(self) -> float:
        """Seconds since the open transaction began; 0 without one."""
        return time.monotonic() - self._opened if self._opened is not None else 0.0

    def drop(self) -> None:
        """Drop all uncommitted work, and close the producer with its transaction."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None
        self._clear()

    def abort_transaction(self) -> None:
        """End a transaction whose producer was closed: a new producer of the same id aborts it."""
        self._make_producer(False).close()


def _size_of(message: Message) -> int:
    """Return how many bytes a message takes, but for its place in a batch: each part has its length before it."""
    key, value, headers = message
    parts = [key, value, *(part for name, content in headers for part in (name.encode(), content))]
    lengths = [len(part or b"") for part in parts]
    return sum(lengths) + sum(max(1, ((2 * length).bit_length() + 6) // 7) for length in lengths)  # varints, signed
