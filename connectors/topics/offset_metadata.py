"""The metadata that a processor commits with an offset: the snapshot that belongs to the offset, and its conditions.

Anyone who may read as the group may commit metadata, so what is found there is input: it is used only if it is exactly
what a processor writes.
"""

import hashlib
import re
from typing import Any, NamedTuple

import orjson

from connectors.kafka import Committed
from connectors.snapshots.names import SnapshotName

OF_LABELS = ("labels", "labels_offset", "waiting")  # the fields of a processor with labels that come later


class OffsetMetadata(NamedTuple):
    """The metadata of a committed offset.

    Attributes
    ----------
    snapshot, sha256
        Name and checksum of the snapshot.
    topic_id, partitions
        The input topic, and its number of partitions: the snapshot is valid for no other.
    host
        The host that wrote the snapshot.
    offset
        The committed offset.
    examples
        How many examples the model has learned at that offset.
    inputs, crc
        Number and CRC-32C of the inputs between the snapshot and the offset, which must be replayed.
    labels, labels_offset, waiting
        With labels that come later: their topic, the offset committed for it, and the checksum of the index of what
        waits (see `connectors.labels.waiting_files`). Without them, the text does not hold these three.
    """

    snapshot: str
    sha256: str
    topic_id: str
    partitions: int
    host: str
    offset: int
    examples: int
    inputs: int = 0
    crc: int = 0
    labels: str = ""
    labels_offset: int = 0
    waiting: str = ""

    @classmethod
    def of_snapshot(cls, data: bytes, offset: int, examples: int, is_empty: bool, **world: Any) -> "OffsetMetadata":
        """Return the metadata for a new snapshot of the model at `offset`.

        Parameters
        ----------
        data
            The bytes of the snapshot.
        offset, examples
            The offset to commit, and the number of examples learned.
        is_empty
            Whether the model has read no record.
        **world
            `topic_id`, `partitions` and `host`.
        """
        name = SnapshotName.new(offset, examples, is_empty)
        return cls(name, hashlib.sha256(data).hexdigest(), offset=offset, examples=examples, **world)

    @property
    def snapshot_offset(self) -> int:
        """The offset at which the snapshot was taken."""
        return int(self.snapshot.partition("-")[0])

    def to_text(self) -> str:
        """Return the text to commit."""
        values = self._asdict()
        if not self.labels:
            for name in OF_LABELS:
                del values[name]
        return orjson.dumps({"river_margins": 1} | values).decode()

    def to_committed(self) -> Committed:
        """Return the offset to commit, with that of the labels, whose metadata name the same snapshot."""
        committed = Committed(self.offset, self.to_text())
        if not self.labels:
            return committed
        said = {"river_margins": 1, "labels_of": self.snapshot, "sha256": self.sha256, "topic_id": self.labels}
        text = orjson.dumps(said | {"offset": self.labels_offset, "input_offset": self.offset}).decode()
        return committed.with_labels(Committed(self.labels_offset, text))

    @classmethod
    def from_text(cls, text: str) -> "OffsetMetadata | None":
        """Read the metadata of an offset; None if another program wrote it.

        >>> metadata = OffsetMetadata.of_snapshot(b"", 17, 12, False, topic_id="id", partitions=4, host="host")
        >>> OffsetMetadata.from_text(metadata.to_text()) == metadata
        True
        >>> OffsetMetadata.from_text(""), OffsetMetadata.from_text("{}")
        (None, None)
        >>> OffsetMetadata.from_text(metadata._replace(snapshot="../../precious").to_text())
        """
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(found, dict) or found.pop("river_margins", None) != 1:
            return None
        if set(found) not in (set(cls._fields), set(cls._fields) - set(OF_LABELS)):
            return None
        metadata = cls(**found)
        return metadata if metadata._is_valid() else None

    def _is_valid(self) -> bool:
        """Return whether each value has the type and the form that a processor writes."""
        counts = self.partitions, self.offset, self.examples, self.inputs, self.crc, self.labels_offset
        texts = self.snapshot, self.sha256, self.topic_id, self.host, self.labels, self.waiting
        if not all(type(count) is int and count >= 0 for count in counts) or not all(type(t) is str for t in texts):
            return False
        name = SnapshotName.parse(self.snapshot)
        checksums = [self.sha256, self.waiting] if self.labels or self.waiting else [self.sha256]
        return (
            name is not None
            and name.offset <= self.offset
            and (self.inputs > 0 or name.examples == self.examples)  # else they are compared after the replay
            and all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in checksums)
        )
