"""What a broker tells a user who asks before a processor is started, whatever the client.

The function `find` of a client module asks the broker; permissions are those of the user who asks, such as READ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TopicFacts:
    """A topic; `configs` is empty when the user may not read them."""

    partitions: int = 0
    replicas: int = 0
    may: frozenset[str] = frozenset()
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """`topics` without those that do not exist, `names` all that can be seen, `broker` the properties of one broker."""

    topics: Mapping[str, TopicFacts]
    names: Iterable[str]
    broker: Mapping[str, str]
    may_group: frozenset[str]
