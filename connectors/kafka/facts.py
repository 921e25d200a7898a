"""What a broker tells a user who asks before a processor is started, whatever the client.

`find` of `kafka_python_facts` and `confluent_facts` ask; permissions are those of the user who asks, such as READ.
"""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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


def find(client: str, topics: Iterable[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    """Asks a broker. ClientError when none answers within `seconds`."""
    module = importlib.import_module(f"connectors.kafka.{client.replace('-', '_')}_facts")
    found: Facts = module.find(list(topics), group, settings, seconds)
    return found
