"""Mixing: the model of a partition becomes the mean of its own and of those that the other partitions have published.

A compacted topic has one record for each partition: the name and the SHA-256 of the snapshot that it has published. The
snapshots are in the store, which all hosts of a group share. A record is written in the transaction that commits its
snapshot, so whoever reads committed records finds the name of a committed model.
"""

import concurrent.futures
import hashlib
import logging
import math
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from connectors.config.topics_schema import Mixing
from connectors.kafka import Reader
from connectors.kafka import Record as KafkaRecord
from connectors.model.partition_model import PartitionModel
from connectors.runtime.metrics import Metrics
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import THREADS
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.partition import Partition
from connectors.topics.restore import Restorer
from connectors.topics.timeouts import Timeouts
from river_margins import snapshot
from river_margins.conversions import mix

log = logging.getLogger(__name__)

READS = 3  # of the topic in one commit, if a snapshot was deleted meanwhile because a newer one was published
SHARE = 0.2  # of the transaction time-out that the means of one commit may take; the rest mixes with later commits


class Published(NamedTuple):
    """What a record of the topic tells: the id of the input, the snapshot of one of its partitions, and its SHA-256."""

    input: str
    snapshot: str
    sha256: str
    offset: int = 0

    @classmethod
    def parse(cls, value: bytes, offset: int) -> "Published":
        """Return what a record tells; raise ValueError if it does not have exactly the form that `Mixer` writes."""
        try:
            found = orjson.loads(value)
        except ValueError as error:
            raise ValueError(f"its value is not JSON: {error}") from error
        if not isinstance(found, dict) or set(found) != {"input", "snapshot", "sha256", "mixed"}:
            raise ValueError("its keys are not `input`, `snapshot`, `sha256` and `mixed`")
        topic, name, sha256 = found["input"], found["snapshot"], found["sha256"]
        if not isinstance(topic, str) or not isinstance(name, str) or SnapshotName.parse(name) is None:
            raise ValueError("`snapshot` is not the name of a snapshot")
        if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
            raise ValueError("`sha256` is not a SHA-256")
        return cls(topic, name, sha256, offset)


def read_published(record: KafkaRecord, group: str, partitions: int) -> tuple[int, Published | None]:
    """Return a partition, and what it has published; None: it counts no more, until it publishes again.

    Raise ValueError if the record is not of this group, or does not have exactly the form that `Mixer` writes.
    """
    _, offset, key, value, _, _ = record
    of, _, number = (key or b"").decode(errors="replace").rpartition(":")
    if of != group or not re.fullmatch("[0-9]{1,9}", number) or int(number) >= partitions:
        raise ValueError(f"its key is not `{group}:N` with N a partition below {partitions}")
    return int(number), None if value is None else Published.parse(value, offset)


class Mixer:
    """Mixes the models of partitions with those that the other ones have published.

    Parameters
    ----------
    group
        The name of the processor.
    mixing
        The section of the file.
    reader
        Reads the topic.
    timeouts
        How long to wait for the topic, and how long a transaction may be open.
    metrics
        The metrics of the processor.
    """

    def __init__(self, group: str, mixing: Mixing, reader: Reader, timeouts: Timeouts, metrics: Metrics) -> None:
        self._group, self._mixing, self._reader = group, mixing, reader
        self._timeouts, self._metrics = timeouts, metrics
        self._seconds = math.inf  # that the last mean took
        self._published: dict[int, Published] = {}
        self._models: dict[int, tuple[Published, Any]] = {}  # None in place of a model that was refused
        self._used: dict[int, dict[int, str]] = {}
        self._input = ""

    def due(self, partitions: Mapping[int, Partition]) -> set[int]:
        """Return the partitions that mix with the next commit: those that wait longest, as many as its time allows.

        It is one as long as it is not known how long that takes.
        """
        waiting = [number for number, each in partitions.items() if each.is_due_to_mix(self._mixing.every)]
        waiting.sort(key=lambda number: partitions[number].mixed_at)
        return set(waiting[: max(1, int(SHARE * self._timeouts.transaction / self._seconds))])

    # What the others have published

    def read(self, restorer: Restorer) -> None:
        """Read what all partitions have published by now, and load the models that are new."""
        self._input, self._used = restorer.topic.id, {}
        for attempt in range(READS):
            for record in self._reader.read(self._timeouts.committed):
                self._take(record, restorer.topic.partitions)
            try:
                self._load(restorer, is_last=attempt == READS - 1)
                return
            except FileNotFoundError:
                continue

    def _take(self, record: KafkaRecord, partitions: int) -> None:
        try:
            number, published = read_published(record, self._group, partitions)
            if published is None:
                self._models.pop(number, None)
                self._published.pop(number, None)
            else:
                self._published[number] = published
        except ValueError as error:
            self._refuse(record[1], error)

    def _refuse(self, offset: int, error: Exception) -> None:
        """Note that a record is not mixed with."""
        self._metrics.mixing_refused.inc()
        log.error("offset %d of `%s` is not mixed with: %s", offset, self._mixing.topic, error)

    def _load(self, restorer: Restorer, is_last: bool) -> None:
        """Load the models that are new side by side: most of the time, that of an object store, is waiting."""
        wanted, missing = {}, None
        for number, published in sorted(self._published.items()):
            before = self._models.get(number)
            if published.input == self._input and (before is None or before[0] != published):
                wanted[number] = published
        with concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="mixing") as threads:
            loading = {number: threads.submit(self._loaded, restorer, number, wanted[number]) for number in wanted}
        for number, loaded in loading.items():
            model = None
            try:
                model = loaded.result()
            except FileNotFoundError as error:
                if not is_last:
                    missing = error
                    continue
                self._refuse(wanted[number].offset, error)
            except ValueError as error:  # of which SnapshotError is one
                self._refuse(wanted[number].offset, error)
            self._models[number] = wanted[number], model
        if missing is not None:
            raise missing

    @staticmethod
    def _loaded(restorer: Restorer, number: int, published: Published) -> Any:
        data = restorer.store.read(number, published.snapshot)
        if hashlib.sha256(data).hexdigest() != published.sha256:
            raise ValueError(f"the SHA-256 of snapshot `{published.snapshot}` is not that of the record")
        return snapshot.loads(data)

    # One partition

    def mix(self, number: int, model: PartitionModel) -> None:
        """Let a model be the mean of itself and of those of the other partitions, in the order of their numbers.

        A model that has learned nothing does not count. Call `read` before.
        """
        began = time.monotonic()
        others = {other: (published, found) for other, published, found in self._peers(number, model.learner)}
        self._used[number] = {other: published.snapshot for other, (published, _) in others.items()}
        if not others:
            return
        shares = [float(model.examples > 0), *(1.0 for _ in others)]
        try:
            model.replace(mix([model.learner, *(found for _, found in others.values())], shares))
        except ValueError as error:
            self._refuse(max(published.offset for published, _ in others.values()), error)
            self._used[number] = {}
        else:
            self._seconds = max(0.001, time.monotonic() - began)

    def _peers(self, number: int, own: Any) -> Iterator[tuple[int, Published, Any]]:
        for other, (published, found) in sorted(self._models.items()):
            name = SnapshotName.parse(published.snapshot)
            if other == number or found is None or published.input != self._input or not (name and name.examples):
                continue
            if differences := snapshot.difference(own, found):
                said = f"the learner of partition {other} is another one than that of partition {number}"
                self._refuse(published.offset, ValueError(f"{said}: {'; '.join(differences)}"))
                self._models[other] = published, None
                continue
            yield other, published, found

    def message(self, number: int, metadata: OffsetMetadata) -> tuple[str, bytes, bytes]:
        """Return topic, key and value of what a partition publishes with a new snapshot, after `mix`."""
        mixed = {str(other): name for other, name in self._used[number].items()}
        value = {"input": self._input, "snapshot": metadata.snapshot, "sha256": metadata.sha256, "mixed": mixed}
        return self._mixing.topic, f"{self._group}:{number}".encode(), orjson.dumps(value)

    def close(self) -> None:
        """Close the reader."""
        self._reader.close()
