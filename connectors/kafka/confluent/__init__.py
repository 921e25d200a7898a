"""The client interface on confluent-kafka (librdkafka)."""

from connectors.kafka.confluent.cluster import describe, is_compacted
from connectors.kafka.confluent.consumer import Consumer
from connectors.kafka.confluent.facts import read_facts
from connectors.kafka.confluent.producer import Producer
from connectors.kafka.confluent.reader import Reader
from connectors.kafka.confluent.settings import (
    FETCH_KEYS,
    ONE_MESSAGE_PER_BATCH,
    check_settings,
    seconds_between_refreshes,
    timeouts,
)

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
