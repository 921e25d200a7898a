"""The client interface on confluent-kafka."""

from connectors.kafka.confluent.client import Consumer, Producer
from connectors.kafka.confluent.cluster import describe, is_compacted
from connectors.kafka.confluent.facts import find
from connectors.kafka.confluent.settings import APART, check_settings, timeouts

__all__ = ["APART", "Consumer", "Producer", "check_settings", "describe", "find", "is_compacted", "timeouts"]
