"""The client interface on kafka-python."""

from connectors.kafka.kafka_python.client import Consumer, Producer
from connectors.kafka.kafka_python.cluster import describe, is_compacted
from connectors.kafka.kafka_python.facts import find
from connectors.kafka.kafka_python.settings import APART, check_settings, timeouts

__all__ = ["APART", "Consumer", "Producer", "check_settings", "describe", "find", "is_compacted", "timeouts"]
