"""A consumer on confluent-kafka (librdkafka).

- Commits carry the bytes of `consumer_group_metadata()` of the moment of the assignment: after an expulsion the library
  itself reports generation -1, which the broker takes unfenced.
- The position is counted here: only the event at the end of a partition tells that markers were passed.
- What the library does not document is in `connectors.kafka.confluent.internals`.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from connectors.kafka import RECORDS_PER_POLL, ClientError, Committed, OutOfRange, Ownership, Record, places
from connectors.kafka.confluent import internals
from connectors.kafka.confluent.errors import ErrorTranslator
from connectors.kafka.confluent.messages import records_of
from connectors.kafka.confluent.settings import CONSUMER, merged
from connectors.kafka.errors import (
    Truncated,
    consumer_permissions,
    generation_ended,
    lost_place,
    not_assigned,
    without_headers,
)
from connectors.kafka.leader_epochs import UNKNOWN, LeaderEpochs
from connectors.kafka.retry import retry

log = logging.getLogger(__name__)

HEARTBEAT_INTERVAL_MS = 3_000  # the library's default
LONGEST_WAIT = 0.1  # seconds of one wait within a poll: after it an assignment is seen, and a signal
REQUEST_TIMEOUT = 10.0  # seconds for the offsets of a partition
START_TIMEOUT = 5.0  # seconds until all partitions are read: until then the library takes no `seek`
COMMITTED_ATTEMPT = 2.0  # seconds of one request for committed offsets before the group is joined


class Consumer:
    """A member of the group `group`, reading `topic`, and `labels` too; `settings` are those of librdkafka.

    With an `instance` it is a static member. One that has lost its membership never joins again by itself: it would
    take the place of its successor.
    """

    def __init__(
        self,
        topic: str,
        group: str,
        settings: Mapping[str, Any],
        instance: str | None = None,
        labels: str | None = None,
    ) -> None:
        self.ownership: Ownership | None = None
        self.before_rebalance: Callable[[], None] | None = None
        self._topic, self._labels, self._instance = topic, labels, instance
        self._topics = [topic] if labels is None else [topic, labels]
        self._has_lost = False
        self._heartbeat_interval = int(settings.get("heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS)) / 1000
        self._has_joined = self._is_assigned = self._has_new_positions = False
        self._positions: dict[int, int] = {}  # of the partitions that are read
        self._sought: dict[int, int] = {}  # the positions at which nothing has been read yet
        self._epochs = LeaderEpochs()
        self._held: set[int] = set()
        self._callback_error: Exception | None = None
        self._errors = ErrorTranslator(consumer_permissions(topic, group, labels))
        with self._errors.translated():
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
                | ({"group.instance.id": instance} if instance else {})
                | self._errors.callbacks
            )

    def join(self) -> None:
        with self._errors.translated():
            self._consumer.subscribe(
                self._topics,
                on_assign=self._kept(self._on_assign),
                on_revoke=self._kept(self._on_revoke),
                on_lost=self._kept(self._on_lost),
            )
        self._has_joined = True

    def _kept(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Return a callback whose error is kept for the end of `poll`: the library makes a SystemError of some."""

        def call(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except Exception as error:
                self._callback_error = error

        return call

    def _on_assign(self, consumer: confluent_kafka.Consumer, assigned: list[TopicPartition]) -> None:
        """Capture an assignment. Called within `poll`: the library joins no other generation before this returns."""
        token = consumer.consumer_group_metadata()
        generation, member = internals.parse_group_metadata(token)
        self.ownership, self._is_assigned, self._positions = None, True, {}
        self._has_new_positions = False
        if generation >= 0 and member:
            numbers = [self._number(place.topic, place.partition) for place in assigned]
            self.ownership = Ownership.of(generation, member, numbers, token, self._labels is not None, self._epochs)
        consumer.assign([])  # read nothing before `seek`

    def _on_revoke(self, consumer: confluent_kafka.Consumer, _: list[TopicPartition]) -> None:
        try:
            if self.before_rebalance is not None and self.ownership is not None:
                self.before_rebalance()
        finally:
            self._release_all()
            self._is_assigned = self._has_new_positions = False
            self._positions = {}
            consumer.unassign()

    def _on_lost(self, consumer: confluent_kafka.Consumer, lost: list[TopicPartition]) -> None:
        self.ownership, self._has_lost = None, True
        if self._instance:
            consumer.unsubscribe()  # else the library joins again after this, and fences a successor
        self._on_revoke(consumer, lost)

    def _topic_partitions(self, offsets: Mapping[int, int]) -> list[TopicPartition]:
        epochs = self._epochs
        return [self._place(number, offset, epochs.before(number, offset)) for number, offset in offsets.items()]

    def _place(self, number: int, offset: int = 0, epoch: int = UNKNOWN) -> TopicPartition:
        topic, partition = (self._topic, number) if number >= 0 else (str(self._labels), ~number)
        return TopicPartition(topic, partition, offset, leader_epoch=epoch)

    def _number(self, topic: str | None, partition: int) -> int:
        return partition if self._labels is None or topic == self._topic else ~partition

    def poll(self, seconds: float, most: int = RECORDS_PER_POLL) -> list[Record]:
        before, end = self.ownership, time.monotonic() + seconds
        with self._errors.translated():
            if self._has_new_positions:
                self._release_all()
                # a response to an earlier offset request can undo the library's own `seek`
                self._consumer.assign(self._topic_partitions(self._positions))
                self._has_new_positions = not self._ask_for_epochs()
            while True:
                messages = self._consumer.consume(1, max(0.0, min(LONGEST_WAIT, end - time.monotonic())))
                if self._instance and self._has_lost:
                    self._take(messages)  # raises Replaced if the broker says that another one has its place
                    raise lost_place()
                if messages or self._callback_error or self.ownership is not before or time.monotonic() >= end:
                    break
                self._errors.check_authentication()
            messages += self._consumer.consume(most - 1, 0)
        if self._callback_error is not None:
            error, self._callback_error = self._callback_error, None
            raise error
        records = self._take(messages)
        return records if self.ownership is before else []

    def _ask_for_epochs(self) -> bool:
        """Let the library ask the leader for the records before each new position: at an `assign` it does not.

        Return False if it refuses that, to try again: a member that was replaced has no partitions, and only an event
        tells why.
        """
        self._sought = {n: offset for n, offset in self._sought.items() if self._positions.get(n) == offset}
        known = [place for place in self._topic_partitions(self._sought) if internals.leader_epoch(place) != UNKNOWN]
        end = time.monotonic() + START_TIMEOUT
        return all([internals.seeks_once_started(self._consumer, place, end) for place in known])

    def _take(self, messages: list[Any]) -> list[Record]:
        """Return records, and move the positions past them and past the markers that end a partition."""
        return records_of(messages, self._positions, self._labels, self._epochs, self._take_event, _note_bad_headers)

    def _take_event(self, message: Any, error: KafkaError) -> None:
        partition, offset = self._number(message.topic(), message.partition()), message.offset()
        if error.code() == KafkaError._PARTITION_EOF:
            if partition in self._positions:
                self._positions[partition] = max(self._positions[partition], offset)
            return
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            if internals.is_truncation(error):
                raise Truncated(partition, internals.end_of_truncated(error))
            raise OutOfRange(partition, self._positions.get(partition, offset))
        where = f"partition {message.partition()} of `{message.topic()}`" if message.topic() else ""
        raise self._errors.translate(error, where)

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        numbers = sorted(partitions)
        wanted = [TopicPartition(topic, number) for topic in self._topics for number in numbers]
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, end - time.monotonic())  # a negative time-out has no end
            try:
                with self._errors.translated():
                    found = self._consumer.committed(wanted, left if self._has_joined else min(left, COMMITTED_ATTEMPT))
                break
            except ClientError:
                if self._has_joined or time.monotonic() >= end:
                    raise
                self.poll(0)  # raises NotPermitted if the broker refuses the user
        self._check_errors(found)
        for place in found:
            if place.offset >= 0:
                number = self._number(place.topic, place.partition)
                self._epochs.note_committed(number, place.offset, internals.leader_epoch(place))
        committed = {
            self._number(place.topic, place.partition): Committed(place.offset, internals.offset_metadata(place))
            for place in found
            if place.offset >= 0
        }
        return {n: to and to.with_labels(committed.get(~n)) for n in numbers for to in [committed.get(n)]}

    def _check_errors(self, found: Sequence[TopicPartition]) -> None:
        for place in found:
            if place.error:
                raise self._errors.translate(place.error, f"partition {place.partition} of `{place.topic}`")

    def offset_range(self, partition: int) -> tuple[int, int]:
        # The library asks once, and a broker that is about to lead the partition refuses: the next request finds it.
        return retry(lambda left: self._offset_range(partition, left), REQUEST_TIMEOUT)

    def _offset_range(self, partition: int, seconds: float) -> tuple[int, int]:
        with self._errors.translated():
            try:
                return self._consumer.get_watermark_offsets(self._place(partition), seconds)
            except KafkaException as error:
                if error.args[0].code() == KafkaError._UNKNOWN_PARTITION:
                    # The library answers from what it knew before the topic grew, for up to five minutes.
                    self._consumer.list_topics(self._place(partition).topic, seconds)
                raise

    def seek(self, partition: int, offset: int) -> None:
        number = partition if partition >= 0 else ~partition
        if not (self.ownership and number in self.ownership.partitions):
            raise not_assigned(partition)
        if self._is_assigned:  # else the partitions were given back in order, and the next assignment seeks again
            self._positions[partition], self._sought[partition] = offset, offset
            self._has_new_positions = True

    def pause(self, partition: int) -> None:
        if self._positions.pop(partition, None) is not None:
            self._has_new_positions = True

    def hold(self, partition: int) -> None:
        if partition in self._positions and partition not in self._held:
            self._held.add(partition)
            with self._errors.translated():
                self._consumer.pause([self._place(partition)])

    def release(self, partition: int) -> None:
        if partition in self._held:
            self._held.remove(partition)
            with self._errors.translated():
                self._consumer.resume([self._place(partition)])

    def _release_all(self) -> None:
        """Release what is held: the library may hold it in the next assignment, too."""
        with contextlib.suppress(KafkaException):
            self._consumer.resume([self._place(partition) for partition in self._held])
        self._held.clear()

    def position(self, partition: int) -> int:
        return self._positions.get(partition, 0)

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        # The library sends its present generation. A newer one begins only after a revocation, within `poll`.
        with self._errors.translated():
            if not self._is_assigned or self._consumer.consumer_group_metadata() != ownership.token:
                raise generation_ended()
            self._commit(offsets, ownership.epochs)

    def _commit(self, offsets: Mapping[int, Committed], epochs: LeaderEpochs) -> None:
        found = offsets_and_metadata(self._topic, offsets, epochs, self._labels)
        self._check_errors(self._consumer.commit(offsets=found, asynchronous=False))

    def alter_group_offsets(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        with self._errors.translated():
            self._commit(offsets, LeaderEpochs())

    def confirm_membership(self) -> bool:
        # The library learns of it with a heartbeat. What is read meanwhile is read again.
        end = time.monotonic() + 2 * self._heartbeat_interval
        while time.monotonic() < end:
            self.poll(LONGEST_WAIT)
        return True

    def leave(self) -> None:
        log.info("librdkafka cannot give up the partitions of an instance: they wait until its session has timed out")

    def close(self, seconds: float) -> None:
        # Waits at most 5 s for the response of the coordinator. An assignment that arrives meanwhile can find the
        # membership ended: its error is kept, and nothing asks for it.
        with contextlib.suppress(KafkaException, RuntimeError):
            self._consumer.close()


def offsets_and_metadata(
    topic: str, offsets: Mapping[int, Committed], epochs: LeaderEpochs, labels: str | None = None
) -> list[TopicPartition]:
    return [
        TopicPartition(of, partition, offset, metadata, leader_epoch=epoch)
        for of, partition, offset, epoch, metadata in places(topic, labels, offsets, epochs)
    ]


def _note_bad_headers(message: Any) -> None:
    log.warning(without_headers(message.topic(), message.partition(), message.offset()))
