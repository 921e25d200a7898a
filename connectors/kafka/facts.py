"""What a broker tells a user who asks before a processor starts, whatever the client.

The function `read_facts` of a client module asks the broker; permissions are those of the user who asks, such as READ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TopicFacts:
    """A topic. `operations` are what the user may do with it; `configs` is empty if the user may not read them.

    `replicas` and `in_sync` are those of the partition that has the fewest; 0 are in sync if nobody leads it.
    """

    partitions: int = 0
    replicas: int = 0
    operations: frozenset[str] = frozenset()
    configs: Mapping[str, str] = field(default_factory=dict)
    in_sync: int = 0


@dataclass(frozen=True)
class Facts:
    """The answers of a broker.

    Attributes
    ----------
    topics
        Those that exist, by name.
    names
        All topics that can be seen, if one does not exist; for a hint.
    broker
        The configuration of one broker; empty if the user may not read it.
    group_operations
        What the user may do with the group.
    """

    topics: Mapping[str, TopicFacts]
    names: Iterable[str]
    broker: Mapping[str, str]
    group_operations: frozenset[str]
