"""The client interface on kafka-python.

The library is imported when something is needed that connects to a broker: the checks of settings do without it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from connectors.errors import StartError
from connectors.kafka.kafka_python.settings import (
    FETCH_KEYS,
    ONE_MESSAGE_PER_BATCH,
    check_settings,
    seconds_between_refreshes,
    timeouts,
)

if TYPE_CHECKING:
    from connectors.kafka.kafka_python.cluster import describe, is_compacted
    from connectors.kafka.kafka_python.consumer import Consumer
    from connectors.kafka.kafka_python.facts import read_facts
    from connectors.kafka.kafka_python.producer import Producer
    from connectors.kafka.kafka_python.reader import Reader

__all__ = [
    "FETCH_KEYS",
    "ONE_MESSAGE_PER_BATCH",
    "Consumer",
    "Producer",
    "Reader",
    "check_settings",
    "describe",
    "is_compacted",
    "read_facts",
    "seconds_between_refreshes",
    "timeouts",
]

_MODULES = {
    "Consumer": "consumer",
    "Producer": "producer",
    "Reader": "reader",
    "describe": "cluster",
    "is_compacted": "cluster",
    "read_facts": "facts",
}


def check_assertions() -> None:
    """Raise StartError under `python -O`: the library decodes a part of each answer in an `assert`."""
    if not __debug__:
        raise StartError(
            "kafka-python cannot read what brokers answer without assertions: unset PYTHONOPTIMIZE and leave out "
            "`python -O`, or take `client: confluent`"
        )


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    check_assertions()
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
