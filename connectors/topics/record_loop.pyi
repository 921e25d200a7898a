from collections.abc import Mapping, Sequence

from connectors.kafka import Record
from connectors.topics.outbox import Outbox
from connectors.topics.partition import Partition

class RecordLoop:
    place: int
    def __init__(self, outbox: Outbox) -> None: ...
    def take(
        self,
        partitions: Mapping[int, Partition],
        records: Sequence[Record],
        start: int,
        skipped: set[int],
        due: float,
    ) -> int: ...
