"""The Kafka clients of a processor, as its file sets them."""

import uuid
from typing import Any

from connectors.config import Config
from connectors.kafka import Consumer, Producer, Reader, client
from connectors.kafka.settings import gathering

LONGEST_GATHERING = 0.1  # seconds that records may wait at the broker, so that a fetch has more of them


class Clients:
    """Makes the consumers, the producers and the readers of a processor.

    Parameters
    ----------
    config
        The processor's file.
    """

    def __init__(self, config: Config) -> None:
        self._config, self._module = config, client(config.kafka.client)
        self._for_consumer = config.kafka.consumer_settings
        self._for_member: dict[str, Any] = self._for_consumer
        self._transactional_id: str | None = None
        if config.checkpoint.guarantee == "exactly_once":  # nobody sees an output before the next commit
            wait = min(LONGEST_GATHERING, config.checkpoint.every / 10)
            self._for_member = gathering(self._for_consumer, self._module.FETCH_KEYS, wait)
            self._transactional_id = f"{config.transactional_id_prefix}{config.instance or uuid.uuid4().hex}"

    def consumer(self, instance: str | None = None) -> Consumer:
        """Return a consumer of the input and of the labels; it joins the group once `join` is called."""
        labels = self._config.topics.get("labels")
        return self._module.Consumer(self._config.input.topic, self._config.name, self._for_member, instance, labels)

    def producer(self, sends_apart: bool) -> Producer:
        """Return a producer, with `exactly_once` one of transactions; with `sends_apart`, of one message a request."""
        settings = self._config.kafka.producer_settings
        apart = self._module.ONE_MESSAGE_PER_BATCH if sends_apart else {}
        return self._module.Producer(self._transactional_id, settings | apart)

    def reader(self, number: int, start: int) -> Reader:
        """Return a reader of one partition of the input, from an offset on."""
        return self._module.Reader(self._config.input.topic, self._config.name, self._for_consumer, number, start)

    def reader_of(self, topic: str) -> Reader:
        """Return a reader of another topic."""
        return self._module.Reader(topic, self._config.name, self._for_consumer)

    def count_partitions(self, seconds: float) -> int:
        """Return how many partitions the input has; 0 if it does not exist."""
        topic = self._config.input.topic
        topics = self._module.describe([topic], self._for_consumer, seconds).topics
        return topics[topic].partitions if topic in topics else 0

    @property
    def seconds_between_refreshes(self) -> float:
        """How old what a client knows of the topics may become."""
        return self._module.seconds_between_refreshes(self._for_consumer)
