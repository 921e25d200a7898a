"""The interface of a Kafka client, whatever library speaks to the broker.

`client` returns the module of a client by its name. `ClientModule` says what such a module offers: a `Consumer`, a
`Producer`, three questions about the cluster, and the checks of a user's settings. Each client turns the errors of its
library into those of `connectors.kafka.errors`.

A client is a package with the same files: `consumer`, `producer`, `cluster` (what a processor asks before it starts),
`facts` (what `lint --check-broker` asks), `settings`, `errors`, and `internals`, which holds every use of something
that the library does not document.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from connectors.kafka.errors import (
    BadTimestamp,
    ClientError,
    Fenced,
    LostOwnership,
    LostPlace,
    NotAccepted,
    NotPermitted,
    OutOfRange,
    Replaced,
    TooLarge,
    Truncated,
)
from connectors.kafka.facts import Facts
from connectors.kafka.leader_epochs import LeaderEpochs
from connectors.kafka.settings import Problem

__all__ = [
    "CLIENTS",
    "RECORDS_PER_POLL",
    "BadTimestamp",
    "ClientError",
    "ClientModule",
    "Cluster",
    "Committed",
    "Consumer",
    "Fenced",
    "Headers",
    "LostOwnership",
    "LostPlace",
    "NotAccepted",
    "NotPermitted",
    "OutOfRange",
    "Ownership",
    "Producer",
    "Reader",
    "Record",
    "Replaced",
    "TooLarge",
    "Topic",
    "Truncated",
    "client",
    "places",
]

Headers = list[tuple[str, bytes | None]]
# A record: partition (see `Consumer`), offset, key, value, headers, timestamp. A plain tuple: one with names takes
# five times as long. Headers are None or empty if there are none. The timestamp is in milliseconds since 1970; -1 or
# None if there is none.
Record = tuple[int, int, bytes | None, bytes | None, Headers | None, int | None]
OLDEST_CONFLUENT = 2, 12  # as in `pyproject.toml`; librdkafka 2.9 lacks settings that the processor needs
CLIENTS = ("kafka-python", "confluent")
RECORDS_PER_POLL = 2_000


@dataclass(frozen=True)
class Ownership:
    """Partitions with the generation and member id under which they were assigned, captured in one moment.

    `token` is what the client needs to commit under exactly this generation, also when a newer one has begun. With a
    topic of labels, `partitions` are those of the input, and `unmatched` are the numbers of which only one of the two
    topics was assigned. `epochs` are those of the records that were read: a commit tells them with the offsets.
    """

    generation: int
    member: str
    partitions: frozenset[int]
    token: Any
    unmatched: frozenset[int] = frozenset()
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs, compare=False)

    @classmethod
    def of(
        cls, generation: int, member: str, numbers: Iterable[int], token: Any, has_labels: bool, epochs: LeaderEpochs
    ) -> "Ownership":
        """Return the ownership of partitions of one topic or two, by their numbers as in `Consumer`."""
        assigned = set(numbers)
        partitions = frozenset(number for number in assigned if number >= 0)
        labels = {~number for number in assigned if number < 0}
        return cls(generation, member, partitions, token, partitions ^ labels if has_labels else frozenset(), epochs)


class Committed(NamedTuple):
    """A committed offset of the group with its metadata; `labels` is that of the same partition of the labels."""

    offset: int
    metadata: str
    labels: "Committed | None" = None

    def with_labels(self, labels: "Committed | None") -> "Committed":
        """Return this offset with that of the labels."""
        return self._replace(labels=labels)


def places(
    topic: str, labels: str | None, offsets: Mapping[int, Committed], epochs: LeaderEpochs
) -> list[tuple[str, int, int, int, str]]:
    """Return topic, partition, offset, epoch of the record before it, and metadata, those of the labels among them.

    >>> epochs = LeaderEpochs()
    >>> epochs.note(3, 0, 6, 2)
    >>> places("events", "labels", {3: Committed(7, "a", Committed(5, "b"))}, epochs)
    [('events', 3, 7, 2, 'a'), ('labels', 3, 5, -1, 'b')]
    """
    found = []
    for number, to in offsets.items():
        found.append((topic, number, to.offset, epochs.before(number, to.offset), to.metadata))
        if labels is not None and to.labels is not None:
            epoch = epochs.before(~number, to.labels.offset)
            found.append((labels, number, to.labels.offset, epoch, to.labels.metadata))
    return found


class Consumer(Protocol):
    """A member of the group, reading one topic with read_committed; eager range assignment, no automatic commit.

    With `labels` it reads that topic too. Its partitions have numbers below 0 where records are read: partition n of
    the labels is `~n`. Committed offsets are those of the input, each with that of the labels in it; both are asked for
    in one request, and committed in one.
    """

    ownership: Ownership | None
    """The latest assignment; changes only within `poll`, None before the first one and after a lost one."""

    before_rebalance: Callable[[], None] | None
    """Called within `poll`, in its thread, before the partitions are given back in order.

    The group still takes commits under `ownership` then. It is not called when the membership is lost, and must not
    raise.
    """

    def poll(self, seconds: float, most: int = RECORDS_PER_POLL) -> list[Record]:
        """Return at most so many records, in order per partition. A new assignment comes with none, all paused.

        Waits a little longer than `seconds` while the group is being joined.
        """

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        """Return the committed offsets of the group, after waiting for those pending in an open transaction."""

    def offset_range(self, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition and the one after its last."""

    def seek(self, partition: int, offset: int) -> None:
        """Read on from an offset and lift the pause of a new assignment; LostOwnership when there is none.

        If the epoch of the record before it is known, the next polls raise Truncated unless that record is still there.
        """

    def pause(self, partition: int) -> None:
        """Read nothing of a partition until the next `seek`; nothing happens if it is not assigned."""

    def hold(self, partition: int) -> None:
        """Read no more of a partition until `release`, if the library can do that without reading anything twice.

        What comes all the same counts as read. A `seek` releases it, and so may that of another partition.
        """

    def release(self, partition: int) -> None:
        """Read on where `hold` has stopped."""

    def position(self, partition: int) -> int:
        """Return the offset after all that `poll` has passed, markers and aborted records included; 0 if unknown."""

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        """Commit without a transaction, under this generation and no other: else LostOwnership."""

    def alter_group_offsets(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        """Commit for a group without members, all or none; LostOwnership when it has any."""

    def confirm_membership(self) -> bool:
        """Return True once the group has said that this is still its member. Raise Replaced if it is another one.

        Return False while the group assigns its partitions anew: poll, and ask again. Raise ClientError if there is no
        answer.
        """

    def join(self) -> None:
        """Join the group. Before, only `committed`, `offset_range` and `alter_group_offsets` may be called."""

    def leave(self) -> None:
        """Let `close` give the partitions up at once although this member is an instance, if the client can do that."""

    def close(self, seconds: float) -> None:
        """Leave the group. An instance stays a member, so that its next start finds its partitions."""


class Reader(Protocol):
    """Reads one partition of a topic, with read_committed, and belongs to no group."""

    position: int
    """The offset after all that was read, markers and aborted records included."""

    def read(self, seconds: float) -> list[Record]:
        """Return what was committed since the last call, up to the present end; ClientError after `seconds`.

        The first call after a failure begins where the failed one began. A topic that was created again is read from
        its beginning.
        """

    def read_some(self) -> list[Record]:
        """Return the next records; none if there are none within a moment."""

    def close(self) -> None:
        """Close at once."""


class Producer(Protocol):
    """An idempotent producer; transactional when it was given an id. After any error it is closed and replaced."""

    def begin(self) -> None:
        """Begin a transaction."""

    def send(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        opaque: Any,
        timestamp: int = 0,
    ) -> None:
        """Take a message; TooLarge when the client already knows, of this message or of an earlier one.

        `opaque` is any value of the caller's; TooLarge has that of the message at fault. `timestamp` is in milliseconds
        since 1970, and 0 is the present time.
        """

    def flush(self, seconds: float) -> None:
        """Wait until each message has an outcome."""

    def check(self) -> None:
        """Raise the first outcome since the last check that is a failure; BadTimestamp if it is about a timestamp."""

    def send_offsets(
        self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership, labels: str | None = None
    ) -> None:
        """Add offsets to the transaction, under this generation and no other: else LostOwnership."""

    def commit(self) -> None:
        """Commit the transaction. May not return while the broker is silent."""

    def close(self) -> None:
        """Close at once, and drop the messages without an outcome."""


@dataclass(frozen=True)
class Topic:
    id: str
    partitions: int


@dataclass(frozen=True)
class Cluster:
    """What `describe` found. When a topic does not exist, `names` are all that can be seen, for a hint."""

    id: str
    topics: Mapping[str, Topic]
    names: Sequence[str]


# these names mean something else within the next class
_Consumer: TypeAlias = Consumer
_Producer: TypeAlias = Producer
_Reader: TypeAlias = Reader


class ClientModule(Protocol):
    """What the module of a client offers. `settings` are those of the client's library.

    The three questions repeat themselves until they are answered; ClientError after `seconds`.
    """

    ONE_MESSAGE_PER_BATCH: dict[str, Any]
    """Settings of a producer whose TooLarge always knows which message is at fault."""

    FETCH_KEYS: tuple[str, str]
    """Settings of a consumer: the bytes for which a broker waits before it answers a fetch, and how long, in ms."""

    def Consumer(
        self,
        topic: str,
        group: str,
        settings: Mapping[str, Any],
        instance: str | None = None,
        labels: str | None = None,
    ) -> _Consumer:
        """Return a consumer of `topic`, and of `labels`, that may join `group`; with an instance as a static member."""

    def Producer(self, transactional_id: str | None, settings: Mapping[str, Any]) -> _Producer:
        """Return a producer, transactional with an id."""

    def Reader(
        self, topic: str, group: str, settings: Mapping[str, Any], partition: int = 0, start: int = 0
    ) -> _Reader:
        """Return a reader of a partition. It connects when it first reads, and does not join `group`.

        It begins at offset `start`, or at the first one that is there if that was deleted. The group is one that the
        user may read: a library may ask for its coordinator.
        """

    def describe(self, topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
        """Return the id of the cluster and these topics, as far as they exist."""

    def is_compacted(self, topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
        """Tell whether the broker may remove single records of a topic."""

    def read_facts(self, topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
        """Return topics, permissions and configuration, for a user who wants to know before a start."""

    def check_settings(self, consumer: dict[str, Any], producer: dict[str, Any]) -> list[Problem]:
        """Return what is wrong with a user's settings, each with side (`consumer` or `producer`), key and sentence."""

    def timeouts(self, consumer: dict[str, Any], producer: dict[str, Any]) -> tuple[float, float, float]:
        """Return the seconds of a transaction, of the wait for pending offsets, and of a commit."""

    def seconds_between_refreshes(self, consumer: dict[str, Any]) -> float:
        """Return how often a consumer looks for new partitions; negative for never."""


def client(name: str) -> ClientModule:
    """Return the module of a client by its name in the YAML file; ValueError when there is none."""
    if name not in CLIENTS:
        raise ValueError(f"there is no client `{name}`")
    try:
        if name == "confluent":
            _check_version(importlib.import_module("confluent_kafka"))
        module: Any = importlib.import_module(f"connectors.kafka.{name.replace('-', '_')}")
    except ModuleNotFoundError as error:
        if error.name != "confluent_kafka":
            raise
        raise ValueError(
            "the client `confluent` needs the package `confluent-kafka`: `pip install 'river-margins[confluent]'`"
        ) from error
    found: ClientModule = module
    return found


def _check_version(library: Any) -> None:
    """Raise ValueError if confluent-kafka is too old. What uses it may not even be imported then.

    Or librdkafka would only refuse a setting that no user has written.
    """
    version = str(library.__version__)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_CONFLUENT:
        oldest = ".".join(map(str, OLDEST_CONFLUENT))
        raise ValueError(
            f"the client `confluent` needs confluent-kafka {oldest} or later, and the one that is installed is "
            f"{version}: `pip install -U 'river-margins[confluent]'`"
        )


if TYPE_CHECKING:  # mypy compares each client with what it must offer
    from connectors.kafka import confluent, kafka_python

    _kafka_python: ClientModule = kafka_python
    _confluent: ClientModule = confluent
