from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Message

from connectors.kafka import Record
from connectors.kafka.leader_epochs import LeaderEpochs

def records_of(
    messages: list[Message],
    positions: dict[int, int],
    labels: str | None,
    epochs: LeaderEpochs,
    take_event: Callable[[Any, KafkaError], None],
    note_bad_headers: Callable[[Any], None],
) -> list[Record]: ...
