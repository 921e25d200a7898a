"""What the processor asks of a Kafka client, whatever library speaks to the broker.

A client is a module with six names, found by `client`: the classes `Consumer` and `Producer`; `describe`, which looks
at the cluster; `is_compacted`, which looks at a topic; `check_settings`, which finds what is wrong with a user's
settings; `timeouts`, the seconds that a transaction, the wait for pending offsets and a commit may take; and `APART`,
settings of a producer that sends each message for itself. It turns the errors of its library into these:

    ClientError            something failed that may be gone at the next attempt
    ├── Fenced             another producer holds this transactional id now
    ├── LostOwnership      the broker no longer takes commits of this generation
    ├── NotPermitted       the broker refuses for lack of a permission
    ├── NotAccepted        the broker refuses a setting or a member: no attempt will succeed
    ├── OutOfRange         the next record to read is not in the topic any more
    └── TooLarge           one message is too large for the broker; knows which one
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Headers = list[tuple[str, bytes]]
# A record of the input topic: partition, offset, key, value. A plain tuple: one with names takes five times as long.
Record = tuple[int, int, bytes | None, bytes | None]
CLIENTS = ("kafka-python", "confluent")
STRANGER = "a member of this group that is no such processor assigns partitions otherwise: give either another name"
METADATA_LIMIT = "raise `offset.metadata.max.bytes` of the brokers: its default of 4096 is more than enough"


class ClientError(Exception):
    """Something failed that may be gone at the next attempt."""


class Fenced(ClientError):
    """Another producer holds this transactional id now, or the broker timed the transaction out."""


class LostOwnership(ClientError):
    """The broker no longer takes commits of this generation."""


class NotPermitted(ClientError):
    """The broker refuses for lack of a permission."""


class NotAccepted(ClientError):
    """The broker refuses a setting or a member: no attempt will succeed."""


class OutOfRange(ClientError):
    """The next record to read is not in the topic any more."""

    def __init__(self, partition: int, offset: int) -> None:
        super().__init__(f"offset {offset} of partition {partition} is out of range")
        self.partition, self.offset = partition, offset


class TooLarge(ClientError):
    """One message is too large for the broker; `tag` is what it was sent with, None if only sending apart can tell."""

    def __init__(self, tag: Any, reason: str) -> None:
        super().__init__(reason)
        self.tag = tag


@dataclass(frozen=True)
class Ownership:
    """Partitions with the generation and member id under which they were assigned, captured in one moment.

    `token` is what the client needs to commit under exactly this generation, also when another one has come since.
    """

    generation: int
    member: str
    partitions: frozenset[int]
    token: Any


class Committed(NamedTuple):
    """An offset of the group with its metadata."""

    offset: int
    metadata: str


class Consumer(Protocol):
    """A member of the group, reading one topic with read_committed; eager range assignment, no automatic commit."""

    ownership: Ownership | None
    """The latest assignment; changes only within `poll`, None before the first one and after a lost one."""

    def poll(self, seconds: float) -> Sequence[Record]:
        """Returns records in order per partition, or none. A new assignment comes with no records, all paused.

        Waits a little longer than `seconds` while the group is being joined.
        """

    def committed(self, partitions: Iterable[int], seconds: float) -> dict[int, Committed | None]:
        """Reads what the group has committed, waiting for offsets that are pending in an open transaction."""

    def edges(self, partition: int) -> tuple[int, int]:
        """Returns the first offset of a partition and the one after its last."""

    def seek(self, partition: int, offset: int) -> None:
        """Goes on from an offset and lifts the pause of a new assignment; LostOwnership when there is none."""

    def position(self, partition: int) -> int:
        """Returns the offset after all that `poll` has passed, markers and given-up records included; 0 if unknown."""

    def commit(self, offsets: Mapping[int, Committed], ownership: Ownership, seconds: float) -> None:
        """Commits without a transaction, under this generation and no other: else LostOwnership."""

    def move(self, offsets: Mapping[int, Committed], seconds: float) -> None:
        """Commits for a group without members, all or none; LostOwnership when it has any."""

    def join(self) -> None:
        """Joins the group: before, only `committed`, `edges` and `move` may be called."""

    def close(self, seconds: float) -> None:
        """Leaves the group."""


class Producer(Protocol):
    """An idempotent producer; transactional when it was given an id. After any error it is closed and replaced."""

    def begin(self) -> None:
        """Starts a transaction."""

    def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers, tag: Any
    ) -> None:
        """Takes a message; TooLarge when the client knows already, of this message or of an earlier one."""

    def flush(self, seconds: float) -> None:
        """Returns when each message has an outcome."""

    def check(self) -> None:
        """Raises the first outcome since the last check that is a failure."""

    def send_offsets(self, topic: str, offsets: Mapping[int, Committed], ownership: Ownership) -> None:
        """Adds offsets to the transaction, under this generation and no other: else LostOwnership."""

    def commit(self) -> None:
        """Ends the transaction. May not return while the broker is silent."""

    def close(self) -> None:
        """Closes at once; what has no outcome yet is given up."""


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


def client(name: str) -> Any:
    """Returns the module of a client by its name in the YAML file; ValueError when there is none."""
    if name not in CLIENTS:
        raise ValueError(f"there is no client `{name}`")
    try:
        return importlib.import_module(f"connectors.kafka.{name.replace('-', '_')}")
    except ModuleNotFoundError as error:
        if error.name != "confluent_kafka":
            raise
        raise ValueError(
            "the client `confluent` needs the package `confluent-kafka`: `pip install river-margins[confluent]`"
        ) from error
