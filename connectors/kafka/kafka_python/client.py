"""The client interface on kafka-python, with the defects of that library fenced in.

- Commits carry a generation and member id captured with the assignment: after an expulsion the library itself reports
  generation -1, which the broker takes unfenced.
- Each send is checked before a commit: the library commits a transaction in which a record has expired.
- A producer is never used again after an error: what it holds of the failed transaction may go into the next one.
- A poll waits for an assignment that is on its way: one that arrives between two polls would be thrown away.
- A topic that was deleted is not created again: the library does not pass `allow_auto_create_topics` on.
- Metadata are looked up again and again: the library's loop for that ends when a look-up of somebody else fails.
- A refused connection to a coordinator counts as `not ready`: else the library forgets the request and waits for ever.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from connectors.kafka import (
    ClientError,
    Committed,
    Headers,
    LostOwnership,
    Ownership,
    Record,
    TooLarge,
)
from connectors.kafka.kafka_python.cluster import describe, is_compacted
from connectors.kafka.kafka_python.errors import translate, translated
from connectors.kafka.kafka_python.settings import APART, CONSUMER, PRODUCER, check_settings, timeouts

__all__ = ["APART", "Consumer", "Producer", "check_settings", "describe", "is_compacted", "timeouts"]

log = logging.getLogger(__name__)

_TOO_LARGE = (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError)
SERVED = 1_000  # messages after which those that were acknowledged are let go of
GONE = 3.0  # seconds without a word of the topic; a broker that was silent knows of none for a moment
JOINING = 1.0  # seconds for which one poll waits for an assignment; a signal is seen after it


class _CapturingRange(RangePartitionAssignor):
    """Eager range assignment that passes on generation and partitions together, as the library shows them nowhere."""

    def __init__(self, assigned: Any) -> None:
        self._assigned = assigned

    def on_assignment(self, assignment: Any, generation: int) -> None:  # type: ignore[override]
        self._assigned(assignment.partitions(), generation)


class Consumer:
    """A member of the group `group`, reading `topic`; `settings` are those of KafkaConsumer."""

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any]) -> None:
        self.ownership: Ownership | None = None
        self._topic = topic
        self._rights = {"TopicAuth": f"`Read` on topic `{topic}`", "GroupAuth": f"`Read` on group `{group}`"}
        with translated(self._rights):
            self._consumer = KafkaConsumer(
                topic,
                **CONSUMER | dict(settings),
                group_id=group,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="none",
                allow_auto_create_topics=False,
                partition_assignment_strategy=[_CapturingRange(self._assigned)],
            )
        self._consumer._cluster.config["allow_auto_create_topics"] = False
        self._known = time.monotonic()

    def join(self) -> None:
        # The first `poll` joins. A leader that does not know the topic's partitions yet would assign none of them.
        with translated(self._rights):
            if not self._consumer.partitions_for_topic(self._topic):
                raise ClientError(f"the broker does not tell the partitions of `{self._topic}`")
        self._known = time.monotonic()

    def _assigned(self, assigned: Sequence[TopicPartition], generation: int) -> None:
        """Runs within `poll`, in one step with the assignment: nothing can change the membership meanwhile."""
        present = self._consumer.group_metadata()
        self.ownership = None
        if generation >= 0 and present.generation_id == generation and present.member_id:
            partitions = frozenset(partition.partition for partition in assigned)
            self.ownership = Ownership(generation, present.member_id, partitions, present)
        for partition in assigned:
            # nothing is fetched before `seek`, nor is a position looked up that may not exist yet
            self._consumer.pause(partition)
            self._consumer.seek(partition, 0)

    def _keep_looking(self) -> None:
        """Starts the library's loop of looking metadata up anew when it has ended."""
        cluster = self._consumer._cluster
        loop = cluster._refresh_loop_future
        if loop is not None and loop.is_done:
            cluster._refresh_loop_future = None
            cluster.start_refresh_loop()

    def _check_topic(self) -> None:
        """Raises ClientError when the topic is gone, of which the library says nothing."""
        if self._consumer._cluster.partitions_for_topic(self._topic):
            self._known = time.monotonic()
        elif time.monotonic() - self._known > GONE:
            self._known = time.monotonic()  # the next polls are as ever: whoever asks the brokers meanwhile knows why
            raise ClientError(f"the brokers do not know `{self._topic}` any more")

    def poll(self, seconds: float) -> list[Record]:
        self._keep_looking()
        self._check_topic()
        coordinator = self._consumer._coordinator
        if coordinator.rejoining and not coordinator.need_rejoin():
            # Begun because partitions were added or deleted, which the leader takes note of before it has an answer:
            # when a poll ends then, the library forgets that it is joining, and stands still.
            coordinator.request_rejoin()
        with translated(self._rights):
            records = {} if coordinator.need_rejoin() else self._consumer.poll(timeout_ms=int(seconds * 1000))
            if not records and coordinator.need_rejoin():
                # The library throws an assignment away that arrives between two polls, and makes the whole group join
                # anew: however little time is left, it is waited for.
                coordinator.poll(timeout_ms=int(JOINING * 1000))
                return []
            return [(one.partition, one.offset, one.key, one.value) for some in records.values() for one in some]

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        places = {partition: TopicPartition(self._topic, partition) for partition in sorted(partitions)}
        with translated(self._rights):
            # the library's own `committed` asks for one partition at a time
            coordinator = self._consumer._coordinator
            found = coordinator.fetch_committed_offsets(list(places.values()), timeout_ms=int(seconds * 1000))
        return {
            partition: Committed(offset.offset, (offset.metadata or "").rstrip("\0")) if offset else None
            for partition, place in places.items()
            for offset in [found.get(place)]
        }

    def edges(self, partition: int) -> tuple[int, int]:
        place = TopicPartition(self._topic, partition)
        with translated(self._rights):
            first = self._consumer.beginning_offsets([place])[place]
            return first, self._consumer.end_offsets([place])[place]

    def seek(self, partition: int, offset: int) -> None:
        place = TopicPartition(self._topic, partition)
        if place not in self._consumer.assignment():
            raise LostOwnership(f"partition {partition} is not assigned any more")
        self._consumer.seek(place, offset)
        self._consumer.resume(place)

    def position(self, partition: int) -> int:
        place = TopicPartition(self._topic, partition)
        if place not in self._consumer.assignment():
            return 0
        with translated(self._rights):
            return self._consumer.position(place, timeout_ms=1000) or 0

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        # Membership begins in `poll` only, so from here on the library holds either this generation, whose number it
        # sends, or none, and then it refuses.
        present = self._consumer.group_metadata()
        if (present.state, present.generation_id, present.member_id) != (
            MemberState.STABLE,
            ownership.generation,
            ownership.member,
        ):
            raise LostOwnership("the generation of the assignment has ended")
        with translated(self._rights):
            self._consumer.commit(_as_offsets(self._topic, offsets), timeout_ms=int(seconds * 1000))

    def move(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        with translated(self._rights):
            self._consumer.unsubscribe()  # else the library wants a membership; without one the broker refuses members
            self._consumer.commit(_as_offsets(self._topic, offsets), timeout_ms=int(seconds * 1000))

    def close(self, seconds: float) -> None:
        with contextlib.suppress(kafka_errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=int(seconds * 1000))


class Producer:
    """An idempotent producer, transactional with a `transactional_id`; `settings` are those of KafkaProducer."""

    def __init__(self, transactional_id: str | None, settings: Mapping[str, Any]) -> None:
        self._sent: list[Any] = []
        self._failed: list[tuple[Any, Exception]] = []
        self._rights = {
            "TopicAuth": "`Write` on this topic",
            "TransactionalIdAuth": f"`Write` on transactional id `{transactional_id}`",
            "GroupAuth": "`Read` on the group",
        }
        with translated(self._rights):
            self._producer = KafkaProducer(
                **PRODUCER | dict(settings),
                transactional_id=transactional_id,
                enable_idempotence=True,
                acks="all",
                allow_auto_create_topics=False,
            )
        self._producer._metadata.config["allow_auto_create_topics"] = False
        if transactional_id is not None:
            client = self._producer._sender._client
            client.await_ready = _false_on_error(client.await_ready)
            try:
                with self._checked():
                    self._producer.init_transactions()
            except ClientError:
                self.close()
                raise

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except (kafka_errors.KafkaError, OSError, ValueError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> ClientError:
        # an earlier failure is often reported as `an error state` only
        transactions = self._producer._transaction_manager
        return translate(error, transactions.last_error if transactions else None, self._rights)

    def begin(self) -> None:
        with self._checked():
            self._producer.begin_transaction()

    def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers, tag: Any
    ) -> None:
        try:
            future = self._producer.send(topic, value, key, headers, partition)
            future.add_errback(self._note, tag)
            self._sent.append(future)
            if len(self._sent) % SERVED == 0:
                # only what was acknowledged has a value: all else is for `check`
                self._sent = [future for future in self._sent if future.value is None]
        except kafka_errors.MessageSizeTooLargeError as error:
            raise TooLarge(tag, str(error)) from error
        except (kafka_errors.KafkaError, ValueError) as error:
            self._raise_too_large()  # which may be why this one was not taken
            raise self._explain(error) from error

    def _note(self, tag: Any, error: Exception) -> None:
        self._failed.append((tag, error))

    def _raise_too_large(self) -> None:
        # The failure of one ends the transaction, and the library gives its error to all that were not sent yet.
        for tag, error in self._failed[:1]:
            if isinstance(error, _TOO_LARGE):
                raise TooLarge(tag, str(error)) from error

    def flush(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._checked():
            while True:
                try:
                    return self._producer.flush(timeout=0.5)
                except (kafka_errors.KafkaTimeoutError, kafka_errors.UnknownError):
                    # a batch that the broker found too large is split: its own future is woken, but never ends
                    if all(future.is_done for future in self._sent):
                        return None
                    if time.monotonic() > deadline:
                        raise

    def check(self) -> None:
        self._raise_too_large()
        for future in self._sent:
            if not future.is_done:
                raise ClientError("a message has no outcome")
            if future.exception is not None:
                raise self._explain(future.exception) from future.exception
        self._sent = []

    def send_offsets(self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership) -> None:
        if ownership.token.generation_id < 0 or not ownership.token.member_id:
            raise LostOwnership("no generation to commit under")
        with self._checked():
            self._producer.send_offsets_to_transaction(_as_offsets(topic, offsets), ownership.token)

    def commit(self) -> None:
        with self._checked():
            self._producer.commit_transaction()

    def close(self) -> None:
        # KafkaProducer.close waits for its messages and stays open when they do not end
        self._producer._sender.force_close()
        self._producer._sender.join(timeout=5)
        with contextlib.suppress(kafka_errors.KafkaError):
            self._producer.close(timeout=0)
        self._producer._closed = True


def _false_on_error(await_ready: Callable[..., bool]) -> Callable[..., bool]:
    def checked(*arguments: Any, **options: Any) -> bool:
        try:
            return await_ready(*arguments, **options)
        except kafka_errors.KafkaError:
            return False

    return checked


def _as_offsets(topic: str, offsets: Mapping[int, Committed]) -> dict[TopicPartition, OffsetAndMetadata]:
    # confluent-kafka, with which the group may go on, finds the end of the text by a null character, and writes one too
    return {TopicPartition(topic, p): OffsetAndMetadata(to.offset, f"{to.metadata}\0") for p, to in offsets.items()}
