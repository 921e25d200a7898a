"""A reader of one partition without a group, on confluent-kafka (librdkafka)."""

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from connectors.kafka import ClientError, Record
from connectors.kafka.confluent.errors import ErrorTranslator
from connectors.kafka.confluent.settings import CONSUMER, merged
from connectors.kafka.errors import consumer_permissions
from connectors.kafka.retry import going_back

WAIT = 0.1  # seconds of one poll
BATCH = 1000  # records of one poll at most
# The broker answers the requests of a connection in turn: one that waits for records holds up the next one.
SOON = {"fetch.min.bytes": 1, "fetch.wait.max.ms": 50}


class Reader:
    """Reads a partition of `topic`; `settings` are those of librdkafka."""

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any], partition: int = 0, start: int = 0) -> None:
        self._topic, self._group, self._settings, self._partition = topic, group, settings, partition
        self._errors = ErrorTranslator(consumer_permissions(topic, group))
        self._consumer: confluent_kafka.Consumer | None = None
        self.position = start

    def _connected(self) -> confluent_kafka.Consumer:
        if self._consumer is None:
            self._consumer = confluent_kafka.Consumer(
                merged(CONSUMER, dict(self._settings))
                | SOON
                | {
                    "group.id": self._group,  # the library wants one, and joins none: the partition is assigned by hand
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "allow.auto.create.topics": False,
                    "enable.partition.eof": True,
                }
                | self._errors.callbacks
            )
            self._consumer.assign([TopicPartition(self._topic, self._partition, self.position)])
        return self._consumer

    def _begin_again(self) -> confluent_kafka.Consumer:
        """Connect again, at the beginning of a topic that ends earlier than it did: it was created again."""
        self.close()
        self.position = 0
        return self._connected()

    def read(self, seconds: float) -> list[Record]:
        records: list[Record] = []
        end = time.monotonic() + seconds
        with going_back(self), self._errors.translated():
            consumer = self._connected()
            place = TopicPartition(self._topic, self._partition)
            _, last = consumer.get_watermark_offsets(place, seconds)  # of committed records
            if last < self.position:
                consumer = self._begin_again()
            while self.position < last:
                before = self.position
                records += self._poll(consumer)
                if self.position == before and time.monotonic() >= end:
                    raise ClientError(f"`{self._topic}` was not read to its end within {seconds:g} s")
        return records

    def read_some(self) -> list[Record]:
        with self._errors.translated():
            return self._poll(self._connected())

    def _poll(self, consumer: confluent_kafka.Consumer) -> list[Record]:
        first = consumer.poll(WAIT)
        self._errors.check_authentication()
        if first is None:
            return []
        return [record for message in (first, *consumer.consume(BATCH - 1, 0)) for record in self._taken(message)]

    def _taken(self, message: Any) -> list[Record]:
        error, offset = message.error(), message.offset()
        if error is None:
            self.position = offset + 1
            return [(message.partition(), offset, message.key(), message.value(), None, message.timestamp()[1])]
        if error.code() != KafkaError._PARTITION_EOF:
            raise self._errors.translate(error, f"`{self._topic}`")
        self.position = max(self.position, offset)  # behind markers of transactions
        return []

    def close(self) -> None:
        if self._consumer is not None:
            with contextlib.suppress(KafkaException, RuntimeError):
                self._consumer.close()
            self._consumer = None
