"""The client interface on confluent-kafka (librdkafka).

- Commits carry the bytes of `consumer_group_metadata()` of the moment of the assignment: after an expulsion the library
  itself reports generation -1, which the broker takes unfenced.
- The position is counted here: only the event at the end of a partition tells that markers were passed.
- A producer is never used again after an error; what it still holds is purged, so that closing waits for nobody.
- Adding offsets to a transaction keeps to no time-out: with a coordinator that is lost for good the library waits until
  any other broker comes or goes. So it has a thread of its own, which is given up together with the producer.
- Errors that concern no call, such as a wrong password, come by a callback: they are kept, and said by the next call.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from connectors.kafka import (
    ClientError,
    Committed,
    Headers,
    LostOwnership,
    NotAccepted,
    OutOfRange,
    Ownership,
    Record,
    TooLarge,
)
from connectors.kafka.confluent.cluster import describe, is_compacted
from connectors.kafka.confluent.errors import Watch
from connectors.kafka.confluent.settings import APART, CONSUMER, PRODUCER, check_settings, merged, timeouts

__all__ = ["APART", "Consumer", "Producer", "check_settings", "describe", "is_compacted", "timeouts"]

MOST = 2_000  # records of one poll
SLICE = 0.1  # seconds of one wait: an assignment is seen, and a signal, after it
PATIENCE = 10.0  # seconds for the broker to answer what is asked in between
SERVED = 1_000  # messages after which outcomes are fetched, so that those with one take no room


class Consumer:
    """A member of the group `group`, reading `topic`; `settings` are those of librdkafka."""

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any]) -> None:
        self.ownership: Ownership | None = None
        self._topic = topic
        self._has_joined = self._is_assigned = self._is_moved = False
        self._next: dict[int, int] = {}  # the offsets to go on from, of the partitions that are read
        self._watch = Watch({"topic": f"`Read` on topic `{topic}`", "group": f"`Read` on group `{group}`"})
        with self._watch.translated():
            self._consumer = confluent_kafka.Consumer(
                merged(CONSUMER, dict(settings))
                | {
                    "group.id": group,
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "allow.auto.create.topics": False,
                    "partition.assignment.strategy": "range",
                    "enable.partition.eof": True,
                }
                | self._watch.callbacks
            )

    def join(self) -> None:
        with self._watch.translated():
            self._consumer.subscribe(
                [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
            )
        self._has_joined = True

    def _assigned(self, consumer: confluent_kafka.Consumer, assigned: list[TopicPartition]) -> None:
        """Runs within `poll`; the library joins no other generation before this has returned."""
        token = consumer.consumer_group_metadata()
        generation, member = membership(token)
        partitions = frozenset(place.partition for place in assigned)
        self.ownership, self._is_assigned, self._next = None, True, {}
        self._is_moved = False
        if generation >= 0 and member:
            self.ownership = Ownership(generation, member, partitions, token)
        consumer.assign([])  # nothing is read before `seek`

    def _revoked(self, consumer: confluent_kafka.Consumer, _: list[TopicPartition]) -> None:
        self._is_assigned = self._is_moved = False
        self._next = {}
        consumer.unassign()

    def _lost(self, consumer: confluent_kafka.Consumer, lost: list[TopicPartition]) -> None:
        self.ownership = None
        self._revoked(consumer, lost)

    def _places(self, offsets: Mapping[int, int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition, offset) for partition, offset in offsets.items()]

    def poll(self, seconds: float) -> list[Record]:
        before, end = self.ownership, time.monotonic() + seconds
        with self._watch.translated():
            if self._is_moved:
                # the library's own `seek` can lose against a look-up of an offset that is on its way
                self._consumer.assign(self._places(self._next))
                self._is_moved = False
            while True:
                messages = self._consumer.consume(1, max(0.0, min(SLICE, end - time.monotonic())))
                if messages or self.ownership is not before or time.monotonic() >= end:
                    break
                self._watch.check()
            messages += self._consumer.consume(MOST - 1, 0)
        records = self._take(messages)
        return records if self.ownership is before else []

    def _take(self, messages: Sequence[Any]) -> list[Record]:
        """Moves the positions past records, and past what leads to the end of a partition."""
        reached, records = self._next, []
        for message in messages:
            if (error := message.error()) is not None:
                self._take_event(message, error)
                continue
            partition, offset = message.partition(), message.offset()
            if partition in reached and offset >= reached[partition]:  # else of an assignment that has ended
                reached[partition] = offset + 1
                records.append((partition, offset, message.key(), message.value()))
        return records

    def _take_event(self, message: Any, error: KafkaError) -> None:
        partition, offset = message.partition(), message.offset()
        if error.code() == KafkaError._PARTITION_EOF:
            if partition in self._next:
                self._next[partition] = max(self._next[partition], offset)
            return
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION):
            raise OutOfRange(partition, self._next.get(partition, offset))
        raise self._watch.translate(error, f"partition {partition} of `{message.topic()}`" if message.topic() else "")

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        places = self._places(dict.fromkeys(sorted(partitions), 0))
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                with self._watch.translated():
                    found = self._consumer.committed(places, left if self._has_joined else min(left, PATIENCE / 5))
                break
            except ClientError:
                if self._has_joined or time.monotonic() >= end:
                    raise
                self.poll(0)  # which says why, if the broker refuses the group
        self._check(found)
        return {
            place.partition: Committed(place.offset, _metadata(place)) if place.offset >= 0 else None for place in found
        }

    def _check(self, places: Sequence[TopicPartition]) -> None:
        for place in places:
            if place.error:
                raise self._watch.translate(place.error, f"partition {place.partition} of `{place.topic}`")

    def edges(self, partition: int) -> tuple[int, int]:
        with self._watch.translated():
            return self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), PATIENCE)

    def seek(self, partition: int, offset: int) -> None:
        if not (self._is_assigned and self.ownership and partition in self.ownership.partitions):
            raise LostOwnership(f"partition {partition} is not assigned any more")
        self._next[partition], self._is_moved = offset, True

    def position(self, partition: int) -> int:
        return self._next.get(partition, 0)

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        # The library sends the generation of the moment. Another one begins after a revoke in `poll` only.
        with self._watch.translated():
            if not self._is_assigned or self._consumer.consumer_group_metadata() != ownership.token:
                raise LostOwnership("the generation of the assignment has ended")
            self._check(self._consumer.commit(offsets=as_places(self._topic, offsets), asynchronous=False))

    def move(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        with self._watch.translated():
            self._check(self._consumer.commit(offsets=as_places(self._topic, offsets), asynchronous=False))

    def close(self, seconds: float) -> None:
        # waits for the answer of the coordinator, 5 s at the most
        with contextlib.suppress(KafkaException, RuntimeError):
            self._consumer.close()


class Producer:
    """An idempotent producer, transactional with a `transactional_id`; `settings` are those of librdkafka."""

    def __init__(self, transactional_id: str | None, settings: Mapping[str, Any]) -> None:
        self._sent = 0
        self._failed: list[tuple[Any, KafkaError, confluent_kafka.Message]] = []
        self._watch = Watch({"transactional": f"`Write` on transactional id `{transactional_id}`"})
        given = merged(PRODUCER, dict(settings))
        self._seconds = given["transaction.timeout.ms"] / 1000
        self._is_apart = given.items() >= APART.items()
        with self._watch.translated():
            self._producer: Any = confluent_kafka.Producer(
                {"delivery.timeout.ms": given["transaction.timeout.ms"]}
                | given
                | {
                    "enable.idempotence": True,
                    "acks": "all",
                    "partitioner": "murmur2_random",
                    "delivery.report.only.error": True,
                    "on_delivery": self._report,
                }
                | ({"transactional.id": transactional_id} if transactional_id is not None else {})
                | self._watch.callbacks
            )
        if transactional_id is not None:
            try:
                with self._watch.translated():
                    self._producer.init_transactions(PATIENCE)
            except ClientError:
                self.close()
                raise

    def begin(self) -> None:
        with self._watch.translated():
            self._producer.begin_transaction()

    def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers, tag: Any
    ) -> None:
        # A callback that knows its message takes longer than sending it: only who must name one has such.
        report = functools.partial(self._report, tag=tag) if self._is_apart else None
        to = -1 if partition is None else partition
        end = 0.0
        while True:
            try:
                # by position (callback, its alias, timestamp): names would take a quarter of the call
                self._producer.produce(topic, value, key, to, report, None, 0, headers)
                break
            except BufferError as error:
                end = end or time.monotonic() + PATIENCE
                if time.monotonic() > end:
                    raise ClientError(f"no room for a message to `{topic}`: the brokers do not take any") from error
                self._serve(SLICE)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
                    raise TooLarge(tag, error.args[0].str()) from error
                self._raise_too_large()  # which may be why this one was not taken
                raise self._watch.translate(error.args[0], f"a message to `{topic}`") from error
        self._sent += 1
        if self._sent % SERVED == 0:
            self._serve(0)

    def _report(self, error: KafkaError, message: confluent_kafka.Message, tag: Any = None) -> None:
        self._failed.append((tag, error, message))

    def _serve(self, seconds: float) -> None:
        with self._watch.translated():
            self._producer.poll(seconds)

    def _raise_too_large(self) -> None:
        large = [tag for tag, error, _ in self._failed if error.code() == KafkaError.MSG_SIZE_TOO_LARGE]
        if large and self._is_apart:
            raise TooLarge(large[0], "a message is too large for the broker")
        if large:
            limit = "keep `batch.size` below the `max.message.bytes` of the topic"
            raise TooLarge(None, f"a batch is too large for the broker, so its messages are sent one by one; {limit}")

    def flush(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self._watch.translated():
            while (left := self._producer.flush(SLICE)) and not self._failed and time.monotonic() < end:
                pass
        # What failed is for `check` to say; the others then wait for a transaction that cannot go on.
        if left and not self._failed:
            raise ClientError(f"{left} messages have no outcome after {seconds:g} s")

    def check(self) -> None:
        self._raise_too_large()
        if self._failed:
            _, error, message = self._failed[0]
            if error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
                self._raise_cause()
            where = f"a message to partition {message.partition()} of `{message.topic()}`"
            raise self._watch.translate(error, where, {"topic": f"`Write` on topic `{message.topic()}`"})
        if len(self._producer):
            raise ClientError("a message has no outcome")

    def _raise_cause(self) -> None:
        """Raises why the transaction failed; until it is given up, every call says so."""
        topics = sorted({f"`{message.topic()}`" for _, _, message in self._failed})
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            rights = {"topic": f"`Write` on topic {' and topic '.join(topics)}"}
            raise self._watch.translate(error.args[0], "", rights) from error

    def send_offsets(self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership) -> None:
        if ownership.generation < 0 or not ownership.member:
            raise LostOwnership("no generation to commit under")
        with self._watch.translated():
            add = self._producer.send_offsets_to_transaction
            if not _ends(add, as_places(topic, offsets), ownership.token, seconds=self._seconds):
                raise ClientError(f"the coordinator of the group takes no offsets within {self._seconds:g} s")

    def commit(self) -> None:
        with self._watch.translated():
            self._producer.commit_transaction()

    def close(self) -> None:
        if self._producer is None:
            return
        # the library's own `close` would wait for the brokers; its end without messages does not
        with contextlib.suppress(KafkaException, SystemError):
            self._producer.purge()
        self._producer = None


def _ends(call: Callable[..., Any], *arguments: Any, seconds: float) -> bool:
    """Returns whether a call that nothing can interrupt ends in time; raises what it raises."""
    ended, errors = threading.Event(), []

    def run() -> None:
        try:
            call(*arguments)
        except BaseException as error:
            errors.append(error.with_traceback(None))  # which would hold on to the call, and so to its owner
        ended.set()

    threading.Thread(target=run, name="offsets", daemon=True).start()
    has_ended = ended.wait(seconds)
    if has_ended and errors:
        raise errors.pop()
    return has_ended


def membership(token: bytes) -> tuple[int, str]:
    """Reads generation and member id from a group's metadata as librdkafka writes them.

    >>> membership(b"CGMDv2:" + (7).to_bytes(4, "little") + b"group" + bytes(1) + b"member-1" + bytes(2))
    (7, 'member-1')
    """
    magic, rest = token[:7], token[7:]
    if magic != b"CGMDv2:":
        raise NotAccepted(
            f"this librdkafka writes group metadata as {magic!r}, which is not known: update this package"
        )
    _, member, *_ = rest[4:].split(b"\0")
    return int.from_bytes(rest[:4], "little", signed=True), member.decode()


def _metadata(place: TopicPartition) -> str:
    """The text of a committed offset. The library reads on behind one that does not end with a null character."""
    try:
        text = place.metadata or ""
    except UnicodeDecodeError:
        return "not readable"
    end = text.find("}") + 1
    return text[:end] if end else text


def as_places(topic: str, offsets: Mapping[int, Committed]) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, to.offset, to.metadata) for partition, to in offsets.items()]
