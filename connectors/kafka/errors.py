"""The errors of every Kafka client, whatever its library, and the sentences that both clients use.

ClientError            something failed that may succeed at the next attempt
├── Replaced           another process has the `instance` of this one now
│   └── LostPlace      or nobody has: the session of this one is over
├── Fenced             another producer holds this transactional id now
├── LostOwnership      the broker no longer takes commits of this generation
├── NotPermitted       the broker refuses for lack of a permission
├── NotAccepted        the broker refuses a setting or a member, or a library is missing: no attempt will succeed
├── OutOfRange         the next record to read is no longer in the topic
├── Truncated          records that were read are no longer in the topic
├── BadTimestamp       the broker refuses the timestamp of a message
└── TooLarge           one message is too large for the broker
"""

from collections.abc import Mapping
from typing import Any

Permissions = Mapping[str, str]  # what to grant, by kind of resource: `topic`, `group`, `transactional_id`

AUTHENTICATION_ADVICE = "correct the user, the password or the mechanism in `kafka`: they are wrong, or have changed"
NO_SASL_ADVICE = "the broker takes no password at this port: correct the security protocol or the port in `kafka`"
INCONSISTENT_PROTOCOL_ADVICE = (
    "another program in this consumer group uses another assignment strategy: give it or this processor another group"
)
# Enough to be told the number of partitions. Who grants only that is refused again, when the topic is read or written.
DESCRIBE = "`Describe` on it, or `Read` or `Write`, which include it; `lint --check-broker` names all that are missing"
METADATA_TOO_LARGE_ADVICE = "raise `offset.metadata.max.bytes` of the brokers: its default of 4096 is more than enough"


class ClientError(Exception):
    """Something failed that may succeed at the next attempt."""


class Fenced(ClientError):
    """Another producer holds this transactional id now, or the broker timed the transaction out."""


class Replaced(ClientError):
    """Another process has joined the group under the `instance` of this one."""


class LostPlace(Replaced):
    """The session of a member with an `instance` is over; another process may have its place by now, or nobody."""


class LostOwnership(ClientError):
    """The broker no longer takes commits of this generation."""


class NotPermitted(ClientError):
    """The broker refuses for lack of a permission."""


class NotAccepted(ClientError):
    """The broker refuses a setting or a member, or a library is missing: no attempt will succeed."""


class TopicWithoutId(NotAccepted):
    """The brokers are too old to give topics ids."""


def _partition(number: int) -> str:
    return f"partition {number}" if number >= 0 else f"partition {~number} of the labels"


class OutOfRange(ClientError):
    """The next record to read is no longer in the topic."""

    def __init__(self, partition: int, offset: int) -> None:
        super().__init__(f"offset {offset} of {_partition(partition)} is out of range")
        self.partition, self.offset = partition, offset


class Truncated(ClientError):
    """Records that were read are no longer in the topic, and others may have their offsets.

    `end` is the offset up to which the records are still the same; None if the broker does not know that, either.
    """

    def __init__(self, partition: int, end: int | None) -> None:
        at = "" if end is None else f" at offset {end}"
        super().__init__(f"the leader of {_partition(partition)} lacks records that were read: its log ended{at}")
        self.partition, self.end = partition, end


class BadTimestamp(ClientError):
    """The broker refuses the timestamp of a message: `message.timestamp.after.max.ms` of the topic, or `before`."""


class TooLarge(ClientError):
    """One message is too large for the broker.

    `opaque` is the value that the message was sent with. None: a batch was too large, and which of its messages is at
    fault shows only when each is sent alone.
    """

    def __init__(self, opaque: Any, reason: str) -> None:
        super().__init__(reason)
        self.opaque = opaque


def larger_than_allowed(topic: str | None) -> str:
    """Return what a user is told of a message that the broker refuses, which itself says only that it is too large.

    >>> larger_than_allowed("a")
    'a message to `a` is larger than the `max.message.bytes` of this topic: raise it; a short message takes its place'
    """
    limit = "the `max.message.bytes` of this topic"
    return f"a message to `{topic}` is larger than {limit}: raise it; a short message takes its place"


def with_advice(kind: type[ClientError], text: str, advice: str | None, permission: str | None) -> ClientError:
    """Return an error whose text ends with what to do: the advice, else the permission to grant, else nothing.

    >>> with_advice(NotPermitted, "refused", None, "`Read` on topic `a`")
    NotPermitted('refused; grant `Read` on topic `a`')
    """
    todo = advice or (permission and f"grant {permission}")
    return kind(f"{text}; {todo}" if todo else text)


def consumer_permissions(topic: str, group: str, labels: str | None = None) -> Permissions:
    topics = f"topic `{topic}`" + (f" and topic `{labels}`" if labels else "")
    return {"topic": f"`Read` on {topics}", "group": f"`Read` on group `{group}`"}


def producer_permissions(transactional_id: str | None) -> Permissions:
    """Return what a producer needs. A processor without an `instance` has another transactional id after each start."""
    prefix = f"{(transactional_id or '').partition(':')[0]}:"
    return {
        "topic": "`Write` on this topic",
        "group": "`Read` on the group",
        "transactional_id": f"`Write` on transactional ids with the prefix `{prefix}`",
    }


def without_headers(topic: str, partition: int, offset: int) -> str:
    """Return the sentence for a record whose headers the library cannot read."""
    place = f"offset {offset} of partition {partition} of `{topic}`"
    return f"the headers of the record at {place} are dropped: a name is not UTF-8"


def lost_place() -> LostPlace:
    return LostPlace("the group has dropped this member")


def not_assigned(partition: int) -> LostOwnership:
    return LostOwnership(f"partition {partition if partition >= 0 else ~partition} is not assigned any more")


def generation_ended() -> LostOwnership:
    return LostOwnership("the generation of the assignment has ended")


def no_generation() -> LostOwnership:
    return LostOwnership("no generation to commit under")


def no_outcome() -> ClientError:
    return ClientError("a message has no outcome")


def no_topic_id(topic: str) -> TopicWithoutId:
    return TopicWithoutId(
        f"topic `{topic}` has no id, by which one that is created again is known: the brokers must be Kafka 2.8 or "
        f"newer, also by their `inter.broker.protocol.version`"
    )
