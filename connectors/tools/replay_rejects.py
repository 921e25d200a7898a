"""Sends rejects to the topic again that they came from, each one once: `river-margins replay-rejects`.

The rejects are read by a consumer group of their own. Its offsets and the messages move together in one transaction, so
a run that is killed, or repeated, sends nothing twice.
"""

import contextlib
import functools
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from connectors.config import Config
from connectors.errors import AccessError, ConfigError, StartError
from connectors.kafka import (
    ClientError,
    Committed,
    Consumer,
    Headers,
    LostOwnership,
    NotPermitted,
    Ownership,
    Producer,
    Record,
    TooLarge,
    client,
)
from connectors.kafka.facts import Facts, TopicFacts
from connectors.runtime.watchdog import watchdog
from connectors.tools import progress
from connectors.tools.create_topics import look
from connectors.topics.messages import SHORT_FIELDS
from connectors.topics.startup import BROKER_WAIT

GROUP = "{name}::replay-rejects"  # also the transactional id: no processor and no instance can have this name
MOST_RECORDS = 1_000  # of one transaction
LONGEST_TRANSACTION = 1.0  # seconds
LONGEST_SILENCE = 120.0  # seconds without a record before the work is given up
TWICE = "there twice, as after a `rewind`, and sent once"
KEPT = 7 * 86_400_000  # milliseconds for which topics keep records, by default
# how old a message may be; the last one is of brokers before Kafka 3.6
OLDEST = "retention.ms", "message.timestamp.before.max.ms", "message.timestamp.difference.max.ms"
OFFSETS_KEPT = 7 * 24 * 60  # minutes for which brokers keep the offsets of a group without members, by default


@dataclass
class Counts:
    """Rejects by what was done with them.

    Attributes
    ----------
    sent
        How many were sent, by reason.
    left_out
        How many cannot be sent, by why.
    """

    sent: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        self.sent += other.sent
        self.left_out += other.left_out


@dataclass(frozen=True)
class Reject:
    """A reject as the record, or the label, that it was.

    Attributes
    ----------
    topic, partition
        Where it was.
    reason
        Why it was rejected.
    key, value, headers
        Those of the record, with a further header `rejected`: source and reason.
    """

    topic: str
    partition: int
    reason: str
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def digest(self) -> bytes:
        """What tells it from all others: its source, and its key and value, if its topic was created again."""
        source = (self.headers[-1][1] or b"").partition(b": ")[0]
        return hashlib.sha256(b"\0".join((source, self.key or b"", self.value or b""))).digest()


def parse(record: Record, topics: Collection[str]) -> Reject | str:
    """Return a reject of a record of one of these topics, or why the message is none that can be sent.

    >>> headers = [("a", b"b"), ("reason", b"not JSON"), ("source", b"events-2-5")]
    >>> found = parse((0, 7, b"k", b"{", headers, 0), ["events"])
    >>> found.topic, found.partition, found.headers
    ('events', 2, [('a', b'b'), ('rejected', b'events-2-5: not JSON')])
    """
    _, _, key, value, given, _ = record
    headers = list(given or ())
    if headers[-1:] == [("null", b"key and value")] and key is None and value == b"":
        headers.pop()
        value = None
    if len(headers) < 2 or [name for name, _ in headers[-2:]] != ["reason", "source"]:
        return "not written by a processor"
    (_, reason), (_, source) = headers[-2:]
    origin, _, place = (source or b"").decode("utf-8", "replace").rpartition("-")
    topic, _, partition = origin.rpartition("-")
    if topic not in topics or not (partition.isdecimal() and place.isdecimal()):
        return f"not from {' or '.join(f'`{name}`' for name in topics)}"
    if value is None:
        return "without a value, which no processor takes"
    if _is_short(value):
        return "too large for the rejects, which hold only their beginning"
    kept: Headers = [*headers[:-2], ("rejected", (source or b"") + b": " + (reason or b""))]
    return Reject(topic, int(partition), (reason or b"").decode("utf-8", "replace"), key, value, kept)


def _is_short(value: bytes | None) -> bool:
    try:
        fields = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return False
    return isinstance(fields, dict) and fields.keys() == SHORT_FIELDS and fields["too_large"] is True


def replay(config: Config, dry_run: bool = False, from_beginning: bool = False) -> Counts:
    """Send the rejects that were not sent yet to the topics that they came from, up to those there at the start.

    Parameters
    ----------
    config
        The processor's file.
    dry_run
        Only count what would be sent.
    from_beginning
        If no replay is known, start with the oldest reject, however old it is. See `_check_first`.

    Raises
    ------
    ConfigError
        The file has no rejects.
    StartError
        No broker answers, a topic does not exist, or a record is too large.
    AccessError
        A permission is missing.
    """
    if config.rejects is None:
        raise ConfigError("the file has no `rejects`: the processor logs and counts records it cannot process")
    rejects, targets = config.rejects.topic, targets_of(config)
    found = look(config, [*targets, rejects]).topics
    for topic in (*targets, rejects):
        if topic not in found:
            raise StartError(f"the topic `{topic}` does not exist; `river-margins topics create FILE` creates it")
    group = GROUP.format(name=config.name)
    with _plainly(config, group, dry_run):
        consumer = client(config.kafka.client).Consumer(rejects, group, config.kafka.consumer_settings)
        with contextlib.ExitStack() as stack:
            stack.callback(consumer.close, 5.0)
            partitions = {topic: found[topic].partitions for topic in (*targets, rejects)}
            return _Replay(config, consumer, group, partitions, dry_run, from_beginning).run()


def targets_of(config: Config) -> list[str]:
    """Return the topics to which rejects are sent: the input, and with labels that come later theirs."""
    return [config.input.topic, *([config.labels.topic] if config.labels else [])]


def _timed_by_timestamp(config: Config) -> frozenset[str]:
    """Return the topics whose timestamps order records and labels that come later."""
    if config.labels is None:
        return frozenset()
    times = {config.input.topic: config.record.time, config.labels.topic: config.labels.time}
    return frozenset(topic for topic, field in times.items() if field is None)


class _Replay:
    def __init__(
        self,
        config: Config,
        consumer: Consumer,
        group: str,
        partitions: Mapping[str, int],
        dry_run: bool,
        from_beginning: bool,
    ) -> None:
        assert config.rejects is not None
        self._config, self._consumer, self._group = config, consumer, group
        self._targets, self._source, self._partitions = targets_of(config), config.rejects.topic, partitions
        self._timed = _timed_by_timestamp(config)
        self._dry_run, self._from_beginning = dry_run, from_beginning
        self._timeouts = config.kafka.timeouts
        self._producer: Producer | None = None
        self._ends = {number: consumer.offset_range(number) for number in range(partitions[self._source])}
        self._done, self._pending = Counts(), Counts()
        self._sent, self._sending = set[bytes](), set[bytes]()  # which ones, by their digest
        self._opened: float | None = None

    def run(self) -> Counts:
        self._connect()  # which ends the transaction of a run that was killed
        starts = self._starts(range(len(self._ends)))
        total = sum(end - starts[number] for number, (_, end) in self._ends.items())
        if total > 0:
            self._consumer.join()
            try:
                with progress.shown(self._source, total) as update:
                    if self._is_first and not self._from_beginning and not self._dry_run:
                        self._check_all(total)
                    self._work(update, total)
            finally:
                self._close()
        else:
            self._close()
        return self._done

    def _connect(self) -> None:
        if self._dry_run:
            return
        module = client(self._config.kafka.client)
        self._producer = module.Producer(self._group, self._config.kafka.producer_settings)

    def _close(self) -> None:
        if self._producer is not None:
            self._producer.close()
        self._producer, self._opened, self._pending, self._sending = None, None, Counts(), set()

    def _starts(self, numbers: "range | frozenset[int]") -> dict[int, int]:
        """Return the offsets of the first rejects that were not sent yet."""
        every = self._consumer.committed(range(len(self._ends)), self._timeouts[1])
        self._is_first = not any(every.values())
        return {
            number: max(self._ends[number][0], committed.offset if (committed := every[number]) else 0)
            for number in numbers
        }

    def _check_all(self, total: int) -> None:
        """Read all rejects before the first commit: after it a replay is known, and their age counts no more."""
        self._close()
        self._dry_run = True
        self._work(lambda done: None, total)
        self._dry_run = False
        self._done, self._sent = Counts(), set()
        self._connect()

    def _work(self, update: Callable[[int], None], total: int) -> None:
        ownership: Ownership | None = None
        positions: dict[int, int] = {}
        heard = time.monotonic()
        while ownership is None or any(position < self._ends[number][1] for number, position in positions.items()):
            try:
                records = self._consumer.poll(0.5)
                if self._consumer.ownership is not ownership:
                    ownership, positions = self._take_over()
                    continue
                for record in records:
                    self._take(record)
                if records:
                    heard = time.monotonic()
                elif time.monotonic() - heard > LONGEST_SILENCE:
                    raise ClientError(f"`{self._source}` could not be read to its end")
                if ownership is None:
                    continue
                reached = {number: self._consumer.position(number) for number in positions}
                positions = {n: min(max(reached[n], positions[n]), self._ends[n][1]) for n in positions}
                is_full = sum((self._pending.sent + self._pending.left_out).values()) >= MOST_RECORDS
                is_old = self._opened is not None and time.monotonic() - self._opened > LONGEST_TRANSACTION
                if is_full or is_old or all(position == self._ends[n][1] for n, position in positions.items()):
                    self._commit(ownership, positions)
                    update(total - sum(self._ends[n][1] - position for n, position in positions.items()))
            except LostOwnership:  # another run has begun or ended
                self._close()
                self._connect()
                ownership = None
        if len(positions) < len(self._ends):
            who = "another run of this command, perhaps a dry one"
            raise ClientError(f"{who}, reads `{self._source}`, too: wait until it has ended")

    def _take_over(self) -> tuple[Ownership | None, dict[int, int]]:
        """Read on where the group is, in the partitions of a new assignment."""
        if self._opened is not None:
            self._close()
            self._connect()
        self._pending, self._sending = Counts(), set()  # what was not committed comes again
        if self._dry_run:  # which commits nothing
            self._done, self._sent = Counts(), set()
        ownership = self._consumer.ownership
        if ownership is None:
            return None, {}
        positions = self._starts(ownership.partitions)
        for number, position in positions.items():
            self._consumer.seek(number, position)
        return ownership, positions

    def _take(self, record: Record) -> None:
        number, offset, *_, timestamp = record
        if offset >= self._ends[number][1]:
            return
        if self._is_first and not self._from_beginning:
            self._check_first(timestamp or 0)
        found = parse(record, self._targets)
        if isinstance(found, str):
            self._pending.left_out[found] += 1
            return
        digest = found.digest
        if digest in self._sent or digest in self._sending:
            self._pending.left_out[TWICE] += 1
            return
        self._sending.add(digest)
        self._pending.sent[found.reason] += 1
        if self._producer is None:
            return
        sent = timestamp if timestamp and self._keeps_timestamp(found.topic, timestamp) else 0
        self._begin()
        to = found.partition if found.partition < self._partitions[found.topic] else None
        place = f"offset {offset} of partition {number} of `{self._source}`"
        self._producer.send(found.topic, to, found.key, found.value, found.headers, place, sent)

    def _keeps_timestamp(self, topic: str, timestamp: int) -> bool:
        """Tell whether a message to a topic has the timestamp of its reject. Otherwise it has that of now.

        It has that of its reject where the timestamp orders records and labels: in streams that are older, that of now
        would make all that waits expire. But retention may delete what is too old before a processor reads it, and
        a topic may refuse it.
        """
        if topic not in self._timed:
            return False
        configs = {"retention.ms": KEPT} | dict(self._facts.topics.get(topic, TopicFacts()).configs)
        limits = [float(configs[name]) for name in OLDEST if name in configs]
        return all(limit < 0 or timestamp > time.time() * 1000 - limit / 2 for limit in limits)

    def _check_first(self, timestamp: int) -> None:
        """Raise StartError for an old reject if no replay is known: brokers forget the offsets of an idle group."""
        if 0 < timestamp < (time.time() - self._offsets_kept * 60) * 1000:
            time_kept = f"{self._offsets_kept / 1440:.3g} days"
            raise StartError(
                f"`{self._source}` has rejects that are older than {time_kept}, after which brokers forget what was "
                f"sent again: if nothing in it was sent again before, repeat this with `--from-beginning`"
            )

    @functools.cached_property
    def _offsets_kept(self) -> float:
        """For how many minutes the brokers keep the offsets of an idle group, as far as they tell."""
        return float(self._facts.broker.get("offsets.retention.minutes", OFFSETS_KEPT))

    @functools.cached_property
    def _facts(self) -> Facts:
        ask = client(self._config.kafka.client).read_facts
        return ask([self._source, *self._targets], self._group, self._config.kafka.consumer_settings, BROKER_WAIT)

    def _begin(self) -> None:
        if self._producer is not None and self._opened is None:
            self._producer.begin()
            self._opened = time.monotonic()

    def _commit(self, ownership: Ownership, positions: dict[int, int]) -> None:
        """Move messages and offsets together."""
        if self._producer is not None:
            self._begin()
            self._producer.flush(self._timeouts[0])
            self._producer.check()
            offsets = {number: Committed(position, "") for number, position in positions.items()}
            with watchdog(self._timeouts[2]):  # both may wait for a silent broker without end
                self._producer.send_offsets(self._source, offsets, ownership)
                self._producer.commit()
        self._done.add(self._pending)
        self._sent |= self._sending
        self._pending, self._opened, self._sending = Counts(), None, set()


@contextlib.contextmanager
def _plainly(config: Config, group: str, dry_run: bool) -> Iterator[None]:
    assert config.rejects is not None
    topics, rejects = " and ".join(f"`{topic}`" for topic in targets_of(config)), config.rejects.topic
    try:
        yield
    except TooLarge as error:
        which, batch = f"the reject at {error.opaque}", ""
        if error.opaque is None:
            which = "one of the rejects, or a batch of them,"
            batch = "; or keep `batch.size` in `kafka.producer` below it"
        raise StartError(
            f"{which} is too large for its topic with its further header, and nothing of this transaction was sent: "
            f"raise `max.message.bytes` of {topics}, and the largest request in `kafka.producer`{batch}"
        ) from error
    except NotPermitted as error:
        raise AccessError(
            f"the broker refuses: {error}. This command needs `Read` on topic `{rejects}` and on group `{group}`, and "
            f"`Write` on topic {topics} and on transactional id `{group}`"
        ) from error
    except ClientError as error:
        done = "counted" if dry_run else f"sent to {topics}"
        raise StartError(f"the rejects were not all {done}, repeat this: {error}") from error
