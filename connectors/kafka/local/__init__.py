"""A real Apache Kafka on this machine, from two pip packages: for demos and for tests with real faults."""

from connectors.kafka.local.broker import VERSION, LocalKafka, create_topics, serve
from connectors.kafka.local.jars import LocalKafkaUnavailable

__all__ = ["VERSION", "LocalKafka", "LocalKafkaUnavailable", "create_topics", "serve"]
