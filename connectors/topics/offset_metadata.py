"""The metadata that a processor commits with an offset: the snapshot that belongs to the offset, and its conditions.

Anyone who may read as the group may commit metadata, so what is found there is input: it is used only if it is exactly
what a processor writes.
"""

import hashlib
import re
from typing import Any, NamedTuple

import orjson

from connectors.snapshots.names import SnapshotName


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
        return orjson.dumps({"river_margins": 1} | self._asdict()).decode()

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
        if not isinstance(found, dict) or found.pop("river_margins", None) != 1 or set(found) != set(cls._fields):
            return None
        metadata = cls(**found)
        return metadata if metadata._is_valid() else None

    def _is_valid(self) -> bool:
        """Return whether each value has the type and the form that a processor writes."""
        counts = self.partitions, self.offset, self.examples, self.inputs, self.crc
        texts = self.snapshot, self.sha256, self.topic_id, self.host
        if not all(type(count) is int and count >= 0 for count in counts) or not all(type(t) is str for t in texts):
            return False
        name = SnapshotName.parse(self.snapshot)
        return name is not None and name.offset <= self.offset and re.fullmatch("[0-9a-f]{64}", self.sha256) is not None
