"""A reader of one partition without a group, on kafka-python."""

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors

from connectors.kafka import ClientError, Record
from connectors.kafka.errors import consumer_permissions
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import CONSUMER
from connectors.kafka.retry import going_back

WAIT_MS = 100  # of one poll
# The broker answers the requests of a connection in turn: one that waits for records holds up the next one.
SOON = {"fetch_min_bytes": 1, "fetch_max_wait_ms": 50}


class Reader:
    """Reads a partition of `topic`; `settings` are those of KafkaConsumer."""

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any], partition: int = 0, start: int = 0) -> None:
        self._place, self._settings = TopicPartition(topic, partition), settings
        self.position = start
        self._permissions = consumer_permissions(topic, group)
        self._consumer: KafkaConsumer | None = None

    def _connected(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = internals.connected(
                KafkaConsumer,
                **CONSUMER | dict(self._settings) | SOON,
                group_id=None,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="earliest",  # also if compaction has removed the next offset
                allow_auto_create_topics=False,
            )
            internals.never_create_consumed_topic(self._consumer)
            internals.forget_timeouts(self._consumer)
            self._consumer.assign([self._place])
            self._consumer.seek(self._place, self.position)
        return self._consumer

    def _begin_again(self) -> KafkaConsumer:
        """Connect again, at the beginning of a topic that ends earlier than it did: it was created again."""
        self.close()
        self.position = 0
        return self._connected()

    def read(self, seconds: float) -> list[Record]:
        records: list[Record] = []
        end = time.monotonic() + seconds
        with going_back(self), translated(self._permissions):
            consumer = self._connected()
            last = consumer.end_offsets([self._place], int(seconds * 1000))[self._place]
            if last < self.position:
                consumer = self._begin_again()
            while self.position < last:
                if time.monotonic() >= end:
                    raise ClientError(f"`{self._place.topic}` was not read to its end within {seconds:g} s")
                records += self._poll(consumer)
        return records

    def read_some(self) -> list[Record]:
        with translated(self._permissions):
            return self._poll(self._connected())

    def _poll(self, consumer: KafkaConsumer) -> list[Record]:
        found = consumer.poll(timeout_ms=WAIT_MS).get(self._place, [])
        self.position = consumer.position(self._place, timeout_ms=WAIT_MS) or self.position
        return [(one.partition, one.offset, one.key, one.value, None, one.timestamp) for one in found]

    def close(self) -> None:
        if self._consumer is not None:
            with contextlib.suppress(kafka_errors.KafkaError):
                self._consumer.close(autocommit=False, timeout_ms=0)
            self._consumer = None
