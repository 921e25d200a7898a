"""The client interface on kafka-python, with the defects of that library fenced in.

- Commits carry a generation and member id captured with the assignment: after an expulsion the library itself reports
  generation -1, which the broker takes unfenced.
- Each send is checked before a commit: the library commits a transaction in which a record has expired.
- A producer is never used again after an error: what it holds of the failed transaction may go into the next one.
- A poll waits for an assignment that is on its way: one that arrives between two polls would be thrown away.
- A refused connection to a coordinator counts as `not ready`: else the library forgets the request and waits for ever.
"""

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.structs import MemberState, OffsetAndMetadata

from connectors.kafka import (
    ClientError,
    Cluster,
    Committed,
    Fenced,
    Headers,
    LostOwnership,
    NotAccepted,
    NotPermitted,
    OutOfRange,
    Ownership,
    Record,
    TooLarge,
    Topic,
)
from connectors.kafka.kafka_python_settings import APART, COMMON, CONSUMER, PRODUCER, check_settings, timeouts

__all__ = ["APART", "Consumer", "Producer", "check_settings", "describe", "timeouts"]

log = logging.getLogger(__name__)

JOINING = 1.0  # seconds for which one poll waits for an assignment; a signal is seen after it

_NONE: dict[str, str] = {}
_KINDS: list[tuple[type[ClientError], tuple[type[Exception], ...]]] = [
    (NotPermitted, (kafka_errors.AuthorizationError, kafka_errors.SaslAuthenticationFailedError)),
    (Fenced, (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)),
    (
        LostOwnership,
        (
            kafka_errors.CommitFailedError,
            kafka_errors.IllegalGenerationError,
            kafka_errors.UnknownMemberIdError,
            kafka_errors.RebalanceInProgressError,
        ),
    ),
    (
        NotAccepted,
        (
            kafka_errors.InvalidSessionTimeoutError,
            kafka_errors.InvalidTransactionTimeoutError,
            kafka_errors.InconsistentGroupProtocolError,
            kafka_errors.GroupMaxSizeReachedError,
            kafka_errors.UnsupportedVersionError,
            kafka_errors.KafkaConfigurationError,
        ),
    ),
]


def _translate(error: Exception, cause: Exception | None = None, rights: Mapping[str, str] = _NONE) -> ClientError:
    """Our error for one of the library's; `rights` are the permissions that its client needs, by kind of resource."""
    for found in (error, cause):
        for named in _classes(found):
            for kind, classes in _KINDS:
                if issubclass(named, classes):
                    needed = next((right for name, right in rights.items() if named.__name__.startswith(name)), "")
                    return kind(f"{found}; grant {needed}" if needed else str(found))
    return ClientError(f"{type(error).__name__}: {error}")


def _classes(error: Exception | None) -> Iterator[type]:
    """The class of an error, and those that its text names: some arrive only as the text of a general one."""
    yield type(error)
    for name in re.findall(r"\w+Error", str(error)):
        named = getattr(kafka_errors, name, None)
        if isinstance(named, type):
            yield named


@contextlib.contextmanager
def _translated(rights: Mapping[str, str] = _NONE) -> Iterator[None]:
    try:
        yield
    except (kafka_errors.OffsetOutOfRangeError, kafka_errors.LogTruncationError) as error:
        ((partition, offset),) = list(_out_of_range(error).items())[:1]
        raise OutOfRange(partition.partition, offset) from error
    except (kafka_errors.KafkaError, OSError) as error:
        raise _translate(error, rights=rights) from error


def _out_of_range(error: Exception) -> dict[TopicPartition, int]:
    if isinstance(error, kafka_errors.LogTruncationError):
        return {partition: getattr(found, "offset", -1) for partition, found in error.divergent_offsets.items()}
    return error.args[0]


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
        with _translated(self._rights):
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

    def join(self) -> None:
        # The first `poll` joins. A leader that does not know the topic's partitions yet would assign none of them.
        with _translated(self._rights):
            if not self._consumer.partitions_for_topic(self._topic):
                raise ClientError(f"the broker does not tell the partitions of `{self._topic}`")

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

    def poll(self, seconds: float) -> list[Record]:
        coordinator = self._consumer._coordinator
        with _translated(self._rights):
            records = {} if coordinator.need_rejoin() else self._consumer.poll(timeout_ms=int(seconds * 1000))
            if not records and coordinator.need_rejoin():
                # The library throws an assignment away that arrives between two polls, and makes the whole group join
                # anew: however little time is left, it is waited for.
                coordinator.poll(timeout_ms=int(JOINING * 1000))
                return []
            return list(chain.from_iterable(records.values()))

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        deadline = time.monotonic() + seconds
        found: dict[int, Committed | None] = {}
        with _translated(self._rights):
            for partition in sorted(partitions):
                left = max(1, int((deadline - time.monotonic()) * 1000))
                place = TopicPartition(self._topic, partition)
                offset = self._consumer.committed(place, metadata=True, timeout_ms=left)
                found[partition] = Committed(offset.offset, (offset.metadata or "").rstrip("\0")) if offset else None
        return found

    def edges(self, partition: int) -> tuple[int, int]:
        place = TopicPartition(self._topic, partition)
        with _translated(self._rights):
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
        with _translated(self._rights):
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
        with _translated(self._rights):
            self._consumer.commit(_as_offsets(self._topic, offsets), timeout_ms=int(seconds * 1000))

    def close(self, seconds: float) -> None:
        with contextlib.suppress(kafka_errors.KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=int(seconds * 1000))


class Producer:
    """An idempotent producer, transactional with a `transactional_id`; `settings` are those of KafkaProducer."""

    def __init__(self, transactional_id: str | None, settings: Mapping[str, Any]) -> None:
        self._sent: list[tuple[Any, Any]] = []
        self._rights = {
            "TopicAuth": "`Write` on this topic",
            "TransactionalIdAuth": f"`Write` on transactional id `{transactional_id}`",
            "GroupAuth": "`Read` on the group",
        }
        with _translated(self._rights):
            self._producer = KafkaProducer(
                **PRODUCER | dict(settings),
                transactional_id=transactional_id,
                enable_idempotence=True,
                acks="all",
                allow_auto_create_topics=False,
            )
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
        return _translate(error, transactions.last_error if transactions else None, self._rights)

    def begin(self) -> None:
        with self._checked():
            self._producer.begin_transaction()

    def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers, tag: Any
    ) -> None:
        try:
            self._sent.append((self._producer.send(topic, value, key, headers, partition), tag))
        except kafka_errors.MessageSizeTooLargeError as error:
            raise TooLarge(tag, str(error)) from error
        except (kafka_errors.KafkaError, ValueError) as error:
            self._raise_too_large()  # which may be why this one was not taken
            raise self._explain(error) from error

    def _raise_too_large(self) -> None:
        for future, tag in self._sent:
            error = future.exception
            if isinstance(error, kafka_errors.MessageSizeTooLargeError | kafka_errors.RecordListTooLargeError):
                raise TooLarge(tag, str(error)) from error

    def flush(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._checked():
            while True:
                try:
                    return self._producer.flush(timeout=0.5)
                except (kafka_errors.KafkaTimeoutError, kafka_errors.UnknownError):
                    # a batch that the broker found too large is split: its own future is woken, but never ends
                    if all(future.is_done for future, _ in self._sent):
                        return None
                    if time.monotonic() > deadline:
                        raise

    def check(self) -> None:
        self._raise_too_large()
        for future, _ in self._sent:
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


def describe(topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    """Looks at the cluster: its id and these topics. ClientError when no broker answers within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _describe(topics, settings, deadline)
        except (NotPermitted, NotAccepted):
            raise
        except ClientError:
            # one broker of several may be down: the library does not ask another one by itself
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def _reasons() -> Iterator[list[str]]:
    """Collects why connections failed, which the library only logs."""
    reasons: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: "connection" in record.getMessage().lower())
    handler.emit = lambda record: reasons.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("kafka.net.manager")
    logger.addHandler(handler)
    try:
        yield reasons
    finally:
        logger.removeHandler(handler)


def _describe(topics: Iterable[str], settings: Mapping[str, Any], deadline: float) -> Cluster:
    known = {key: value for key, value in (COMMON | dict(settings)).items() if key in KafkaAdminClient.DEFAULT_CONFIG}
    left = max(1, int((deadline - time.monotonic()) * 1000))
    with _translated(), _reasons() as reasons:
        try:
            admin = KafkaAdminClient(**known | {"bootstrap_timeout_ms": left})
        except kafka_errors.KafkaTimeoutError as error:
            raise _translate(kafka_errors.KafkaError("; ".join([str(error), *reasons[-1:]]))) from error
        try:
            found = {}
            for topic in admin.describe_topics(list(topics)):
                if topic["error_code"] == kafka_errors.TopicAuthorizationFailedError.errno:
                    name = topic["name"]
                    raise NotPermitted(f"topic `{name}`: TopicAuthorizationFailedError; grant `Describe` on it")
                if topic["error_code"] == 0:
                    found[topic["name"]] = Topic(str(topic["topic_id"]), len(topic["partitions"]))
            names = admin.list_topics() if set(topics) - set(found) else found
            return Cluster(admin.describe_cluster()["cluster_id"], found, sorted(names))
        finally:
            admin.close()
