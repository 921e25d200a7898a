"""A consumer on kafka-python, with the defects of that library fenced in.

- Commits carry a generation and member id captured with the assignment: after an expulsion the library itself reports
  generation -1, which the broker takes unfenced.
- A poll waits for an assignment that is on its way: the library would throw it away between two polls.
- What the library has no public way for is in `connectors.kafka.kafka_python.internals`.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from connectors.kafka import ClientError, Committed, Ownership, Record
from connectors.kafka.errors import consumer_permissions, generation_ended, lost_place, not_assigned, without_headers
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import CONSUMER

log = logging.getLogger(__name__)

# seconds for which metadata may lack the topic: a broker that was silent knows of no topic for a moment
TOPIC_MISSING_TIMEOUT = 3.0
COORDINATOR_TIMEOUT = 5.0  # seconds to find the coordinator of the group
JOIN_TIMEOUT = 1.0  # seconds for which one poll waits for an assignment; a signal is seen after it


class _CapturingRange(RangePartitionAssignor):
    """Eager range assignment that reports generation and partitions together, as the library does nowhere else."""

    def __init__(self, on_assigned: Callable[[Sequence[TopicPartition], int], None]) -> None:
        self._on_assigned = on_assigned

    def on_assignment(self, assignment: Any, generation: int) -> None:  # type: ignore[override]
        self._on_assigned(assignment.partitions(), generation)


class Consumer:
    """A member of the group `group`, reading `topic`; `settings` are those of KafkaConsumer.

    With an `instance` it is a static member. One that has lost its membership never joins again by itself: it would
    take the place of its successor.
    """

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any], instance: str | None = None) -> None:
        self.ownership: Ownership | None = None
        self.before_rebalance: Callable[[], None] | None = None
        self._has_told = False  # of the present rebalance
        self._topic, self._instance = topic, instance
        self._permissions = consumer_permissions(topic, group)
        with translated(self._permissions):
            self._consumer = KafkaConsumer(
                topic,
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
        internals.call_before_join(self._consumer, self._before_join)
        self._topic_seen = time.monotonic()

    def join(self) -> None:
        # The first `poll` joins. A leader that does not know the partitions of the topic yet assigns none of them.
        with translated(self._permissions):
            if not self._consumer.partitions_for_topic(self._topic):
                raise ClientError(f"the broker does not tell the partitions of `{self._topic}`")
        self._topic_seen = time.monotonic()

    def _on_assigned(self, assigned: Sequence[TopicPartition], generation: int) -> None:
        """Capture an assignment. Called within `poll`, in one step with it: membership cannot change meanwhile."""
        present = self._consumer.group_metadata()
        self.ownership, self._has_told = None, False
        if generation >= 0 and present.generation_id == generation and present.member_id:
            partitions = frozenset(partition.partition for partition in assigned)
            self.ownership = Ownership(generation, present.member_id, partitions, present)
        for partition in assigned:
            # fetch nothing before `seek`, and look up no position, which may not exist yet
            self._consumer.pause(partition)
            self._consumer.seek(partition, 0)

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
        if internals.knows_topic(self._consumer, self._topic):
            self._topic_seen = time.monotonic()
        elif time.monotonic() - self._topic_seen > TOPIC_MISSING_TIMEOUT:
            # the next polls go on, so that the caller has time to ask the brokers why
            self._topic_seen = time.monotonic()
            raise ClientError(f"the brokers do not know `{self._topic}` any more")

    def poll(self, seconds: float) -> list[Record]:
        consumer = self._consumer
        internals.keep_refreshing_metadata(consumer)
        self._check_topic()
        internals.resume_join(consumer)
        if self._instance and internals.was_replaced(consumer):
            raise lost_place()
        with translated(self._permissions):
            records = {} if internals.must_join(consumer) else consumer.poll(timeout_ms=int(seconds * 1000))
            if not records and internals.must_join(consumer):
                internals.wait_for_assignment(consumer, JOIN_TIMEOUT)  # however little of `seconds` is left
                return []
            found = [one for some in records.values() for one in some]
            for one in found:
                if one.headers is None:
                    log.warning(without_headers(self._topic, one.partition, one.offset))
            return [(one.partition, one.offset, one.key, one.value, one.headers, one.timestamp) for one in found]

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        places = {partition: TopicPartition(self._topic, partition) for partition in sorted(partitions)}
        with translated(self._permissions):
            found = internals.fetch_committed(self._consumer, list(places.values()), seconds)
        return {
            partition: Committed(offset.offset, (offset.metadata or "").rstrip("\0")) if offset else None
            for partition, place in places.items()
            for offset in [found.get(place)]
        }

    def offset_range(self, partition: int) -> tuple[int, int]:
        place = TopicPartition(self._topic, partition)
        with translated(self._permissions):
            first = self._consumer.beginning_offsets([place])[place]
            return first, self._consumer.end_offsets([place])[place]

    def seek(self, partition: int, offset: int) -> None:
        place = TopicPartition(self._topic, partition)
        if place not in self._consumer.assignment():
            raise not_assigned(partition)
        self._consumer.seek(place, offset)
        self._consumer.resume(place)

    def pause(self, partition: int) -> None:
        place = TopicPartition(self._topic, partition)
        if place in self._consumer.assignment():
            self._consumer.pause(place)

    def position(self, partition: int) -> int:
        place = TopicPartition(self._topic, partition)
        if place not in self._consumer.assignment():
            return 0
        with translated(self._permissions):
            return self._consumer.position(place, timeout_ms=1000) or 0

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
            self._consumer.commit(offsets_and_metadata(self._topic, offsets), timeout_ms=int(seconds * 1000))

    def alter_group_offsets(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        with translated(self._permissions):
            # a subscribed consumer has to be a member; the broker refuses one that is none while the group has members
            self._consumer.unsubscribe()
            self._consumer.commit(offsets_and_metadata(self._topic, offsets), timeout_ms=int(seconds * 1000))

    def confirm_membership(self) -> None:
        with translated(self._permissions), contextlib.suppress(kafka_errors.RebalanceInProgressError):
            internals.send_heartbeat(self._consumer, COORDINATOR_TIMEOUT)

    def leave(self) -> None:
        internals.leave_at_close(self._consumer)

    def close(self, seconds: float) -> None:
        with contextlib.suppress(kafka_errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=int(seconds * 1000))


def offsets_and_metadata(topic: str, offsets: Mapping[int, Committed]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return offsets as the library takes them, with metadata that end with a null character.

    confluent-kafka, with which the group may go on, needs that character to find the end of the text, and writes it.
    """
    return {TopicPartition(topic, p): OffsetAndMetadata(to.offset, f"{to.metadata}\0") for p, to in offsets.items()}
