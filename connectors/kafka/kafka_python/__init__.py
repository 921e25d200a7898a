"""The client interface on kafka-python."""

from connectors.kafka.kafka_python.cluster import describe, is_compacted
from connectors.kafka.kafka_python.consumer import Consumer
from connectors.kafka.kafka_python.facts import read_facts
from connectors.kafka.kafka_python.producer import Producer
from connectors.kafka.kafka_python.settings import ONE_MESSAGE_PER_BATCH, check_settings, timeouts

__all__ = [
    "ONE_MESSAGE_PER_BATCH",
    "Consumer",
    "Producer",
    "check_settings",
    "describe",
    "is_compacted",
    "read_facts",
    "timeouts",
]
