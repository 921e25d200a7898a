"""A consumer on kafka-python, with the defects of that library fenced in.

- Commits carry a generation and member id captured with the assignment: after an expulsion the library itself reports
  generation -1, which the broker takes unfenced.
- A poll waits for an assignment that is on its way: the library would throw it away between two polls.
- What the library has no public way for is in `connectors.kafka.kafka_python.internals`.
"""

import contextlib
import itertools
import logging
import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from connectors.kafka import RECORDS_PER_POLL, ClientError, Committed, Ownership, Record, places
from connectors.kafka.errors import (
    Replaced,
    consumer_permissions,
    generation_ended,
    lost_place,
    not_assigned,
    without_headers,
)
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import CONSUMER
from connectors.kafka.leader_epochs import LeaderEpochs

log = logging.getLogger(__name__)

# seconds for which metadata may lack the topic: a broker that was silent knows of no topic for a moment
TOPIC_MISSING_TIMEOUT = 3.0
COORDINATOR_TIMEOUT = 5.0  # seconds to find the coordinator of the group
REQUEST_TIMEOUT_MS = 10_000  # for each end of a partition: a member that does not poll for long leaves its group
JOIN_TIMEOUT = 1.0  # seconds for which one poll waits for an assignment; a signal is seen after it


class _CapturingRange(RangePartitionAssignor):
    """Eager range assignment that reports generation and partitions together, as the library does nowhere else.

    It keeps the library's name, `range`: the members of a group must have a name in common, also with another client.
    """

    def __init__(self, on_assigned: Callable[[Sequence[TopicPartition], int], None]) -> None:
        self._on_assigned = on_assigned

    @classmethod
    def assign(cls, cluster: Any, members: Sequence[Any]) -> Any:
        return super().assign(cluster, internals.static_members_first(members))

    def on_assignment(self, assignment: Any, generation: int) -> None:  # type: ignore[override]
        self._on_assigned(assignment.partitions(), generation)


class Consumer:
    """A member of the group `group`, reading `topic`, and `labels` too; `settings` are those of KafkaConsumer.

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
        self._has_told = False  # of the present rebalance
        self._epochs = LeaderEpochs()
        self._topic, self._labels, self._instance = topic, labels, instance
        self._topics = [topic] if labels is None else [topic, labels]
        self._permissions = consumer_permissions(topic, group, labels)
        with translated(self._permissions):
            self._consumer: KafkaConsumer = internals.connected(
                KafkaConsumer,
                *self._topics,
                **CONSUMER | dict(settings),
                group_id=group,
                group_instance_id=instance,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="none",
                allow_auto_create_topics=False,
                partition_assignment_strategy=[_CapturingRange(self._on_assigned)],
            )
        internals.never_create_consumed_topic(self._consumer)
        internals.forget_timeouts(self._consumer)
        internals.call_before_join(self._consumer, self._before_join)
        self._topic_seen = time.monotonic()

    def join(self) -> None:
        # The first `poll` joins. A leader that does not know the partitions of the topic yet assigns none of them.
        with translated(self._permissions):
            for topic in self._topics:
                if not self._consumer.partitions_for_topic(topic):
                    raise ClientError(f"the broker does not tell the partitions of `{topic}`")
        self._topic_seen = time.monotonic()

    def _on_assigned(self, assigned: Sequence[TopicPartition], generation: int) -> None:
        """Capture an assignment. Called within `poll`, in one step with it: membership cannot change meanwhile."""
        present = self._consumer.group_metadata()
        self.ownership, self._has_told = None, False
        if generation >= 0 and present.generation_id == generation and present.member_id:
            numbers = [self._number(partition) for partition in assigned]
            has_labels = self._labels is not None
            self.ownership = Ownership.of(generation, present.member_id, numbers, present, has_labels, self._epochs)
        for partition in assigned:
            # fetch nothing before `seek`, and look up no position, which may not exist yet
            self._consumer.pause(partition)
            self._consumer.seek(partition, 0)

    def _place(self, number: int) -> TopicPartition:
        return TopicPartition(self._topic, number) if number >= 0 else TopicPartition(self._labels, ~number)

    def _number(self, place: TopicPartition) -> int:
        return place.partition if place.topic == self._topic else ~place.partition

    def _before_join(self) -> None:
        owned, present = self.ownership, self._consumer.group_metadata()
        if self._instance and owned is not None and (present.generation_id < 0 or not present.member_id):
            raise lost_place()
        if self._has_told or self.before_rebalance is None or owned is None:
            return
        if (present.generation_id, present.member_id) == (owned.generation, owned.member):  # else membership is lost
            self._has_told = True
            self.before_rebalance()

    def _check_topic(self) -> None:
        """Raise ClientError when the topic is gone, of which the library says nothing."""
        missing = [topic for topic in self._topics if not internals.knows_topic(self._consumer, topic)]
        if not missing:
            self._topic_seen = time.monotonic()
        elif time.monotonic() - self._topic_seen > TOPIC_MISSING_TIMEOUT:
            # the next polls go on, so that the caller has time to ask the brokers why
            self._topic_seen = time.monotonic()
            raise ClientError(f"the brokers do not know `{missing[0]}` any more")

    def poll(self, seconds: float, most: int = RECORDS_PER_POLL) -> list[Record]:
        consumer = self._consumer
        allowed = consumer.config["max_poll_records"]
        most = allowed if most == RECORDS_PER_POLL else min(most, allowed)  # a user may allow more than the default
        internals.keep_refreshing_metadata(consumer)
        self._check_topic()
        if self._instance and internals.was_replaced(consumer):
            raise Replaced("the group has given the place of this member to another one")
        with translated(self._permissions, self._labels):
            records = {} if internals.must_join(consumer) else consumer.poll(int(seconds * 1000), most)
            if not records and internals.must_join(consumer):
                internals.wait_for_assignment(consumer, JOIN_TIMEOUT)  # however little of `seconds` is left
                return []
            for place, some in records.items():
                self._note_epochs(self._number(place), some)
            found = [one for some in records.values() for one in some]
            for one in found:
                if one.headers is None:
                    log.warning(without_headers(one.topic, one.partition, one.offset))
            if self._labels is not None:
                numbers = {place: self._number(place) for place in records}
                return [
                    (numbers[place], one.offset, one.key, one.value, one.headers, one.timestamp)
                    for place, some in records.items()
                    for one in some
                ]
            return [(one.partition, one.offset, one.key, one.value, one.headers, one.timestamp) for one in found]

    def _note_epochs(self, number: int, records: Sequence[Any]) -> None:
        if records[0].leader_epoch == records[-1].leader_epoch:  # so have those between: epochs only grow
            runs = [records]
        else:
            runs = [list(run) for _, run in itertools.groupby(records, operator.attrgetter("leader_epoch"))]
        for run in runs:
            if run[0].leader_epoch >= 0:
                self._epochs.note(number, run[0].offset, run[-1].offset, run[0].leader_epoch)

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        numbers = sorted(partitions)
        wanted = [TopicPartition(topic, number) for topic in self._topics for number in numbers]
        with translated(self._permissions):
            found = internals.fetch_committed(self._consumer, wanted, seconds)
        for place, offset in found.items():
            if offset:
                self._epochs.note_committed(self._number(place), offset.offset, offset.leader_epoch)
        committed = {
            place: Committed(offset.offset, (offset.metadata or "").rstrip("\0"))
            for place, offset in found.items()
            if offset
        }
        return {
            number: to and to.with_labels(committed.get(self._place(~number)))
            for number in numbers
            for to in [committed.get(self._place(number))]
        }

    def offset_range(self, partition: int) -> tuple[int, int]:
        place = self._place(partition)
        wait = min(REQUEST_TIMEOUT_MS, self._consumer.config["request_timeout_ms"])
        with translated(self._permissions):
            first = self._consumer.beginning_offsets([place], wait)[place]
            return first, self._consumer.end_offsets([place], wait)[place]

    def seek(self, partition: int, offset: int) -> None:
        place = self._place(partition)
        if place not in self._consumer.assignment():
            raise not_assigned(partition)
        internals.seek(self._consumer, place, offset, self._epochs.before(partition, offset))
        self._consumer.resume(place)

    def pause(self, partition: int) -> None:
        place = self._place(partition)
        if place in self._consumer.assignment():
            self._consumer.pause(place)

    hold = pause

    def release(self, partition: int) -> None:
        place = self._place(partition)
        if place in self._consumer.assignment():
            self._consumer.resume(place)

    def position(self, partition: int) -> int:
        return internals.position(self._consumer, self._place(partition))

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        # Membership begins only in `poll`. Until the next one the library holds either this generation, and sends its
        # number, or none, and refuses to commit.
        present = self._consumer.group_metadata()
        if (present.state, present.generation_id, present.member_id) != (
            MemberState.STABLE,
            ownership.generation,
            ownership.member,
        ):
            raise generation_ended()
        with translated(self._permissions):
            self._commit(offsets, ownership.epochs, seconds)

    def _commit(self, offsets: Mapping[int, Committed], epochs: LeaderEpochs, seconds: float) -> None:
        found = offsets_and_metadata(self._topic, offsets, epochs, self._labels)
        self._consumer.commit(found, timeout_ms=int(seconds * 1000))

    def alter_group_offsets(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        with translated(self._permissions):
            # a subscribed consumer has to be a member; the broker refuses one that is none while the group has members
            self._consumer.unsubscribe()
            self._commit(offsets, LeaderEpochs(), seconds)

    def confirm_membership(self) -> bool:
        if internals.is_joining(self._consumer):
            return False
        with translated(self._permissions), contextlib.suppress(kafka_errors.RebalanceInProgressError):
            internals.send_heartbeat(self._consumer, COORDINATOR_TIMEOUT)
        return True

    def leave(self) -> None:
        internals.leave_at_close(self._consumer)

    def close(self, seconds: float) -> None:
        with contextlib.suppress(kafka_errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=int(seconds * 1000))


def offsets_and_metadata(
    topic: str, offsets: Mapping[int, Committed], epochs: LeaderEpochs, labels: str | None = None
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets as the library takes them, with metadata that end with a null character.

    confluent-kafka, with which the group may go on, needs that character to find the end of the text, and writes it.
    """
    return {
        TopicPartition(of, partition): OffsetAndMetadata(offset, f"{metadata}\0", epoch)
        for of, partition, offset, epoch, metadata in places(topic, labels, offsets, epochs)
    }
