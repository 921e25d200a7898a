from collections.abc import Mapping, Sequence

from connectors.kafka import Record
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition

class LateLoop:
    def __init__(self, outbox: Outbox) -> None: ...
    def receive(
        self, partitions: Mapping[int, Partition], polled: Sequence[Record], skipped: set[int], moment: float
    ) -> None: ...
    def take(self, number: int, partition: Partition, due: float) -> bool: ...
