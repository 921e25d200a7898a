"""A reader of one partition without a group, on kafka-python."""

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors

from connectors.kafka import ClientError, Record
from connectors.kafka.errors import consumer_permissions
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import CONSUMER

WAIT_MS = 100  # of one poll


class Reader:
    """Reads partition 0 of `topic`; `settings` are those of KafkaConsumer."""

    def __init__(self, topic: str, group: str, settings: Mapping[str, Any]) -> None:
        self._place, self._settings = TopicPartition(topic, 0), settings
        self._permissions = consumer_permissions(topic, group)
        self._consumer: KafkaConsumer | None = None

    def _connected(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = KafkaConsumer(
                **CONSUMER | dict(self._settings),
                group_id=None,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="earliest",  # also if compaction has removed the next offset
                allow_auto_create_topics=False,
            )
            self._consumer.assign([self._place])
            self._consumer.seek_to_beginning(self._place)
        return self._consumer

    def read(self, seconds: float) -> list[Record]:
        records: list[Record] = []
        end = time.monotonic() + seconds
        with translated(self._permissions):
            consumer = self._connected()
            last = consumer.end_offsets([self._place])[self._place]
            while consumer.position(self._place) < last:
                if time.monotonic() >= end:
                    raise ClientError(f"`{self._place.topic}` was not read to its end within {seconds:g} s")
                for some in consumer.poll(timeout_ms=WAIT_MS).values():
                    records += [(one.partition, one.offset, one.key, one.value, None, one.timestamp) for one in some]
        return records

    def close(self) -> None:
        if self._consumer is not None:
            with contextlib.suppress(kafka_errors.KafkaError):
                self._consumer.close(autocommit=False, timeout_ms=0)
            self._consumer = None
