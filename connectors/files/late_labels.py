"""Labels that come later than their records, in a processor between files: read, joined, and kept at a checkpoint."""

import contextlib
import hashlib
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from connectors.config.files_schema import FileConfig
from connectors.errors import StateError
from connectors.files.merged import (
    Lookahead,
    Taken,
    clock_of_labels,
    clock_of_records,
    decoder_of_labels,
    merged,
)
from connectors.files.readers import AnyReader
from connectors.labels import state
from connectors.labels.asking import Asked, Asking
from connectors.labels.late_learning import LateLearning, Results
from connectors.labels.merging import Side
from connectors.labels.segments import Segment, plan
from connectors.labels.waiting import BadState, Position, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.snapshots.stores import FolderStore

PARTITION = 0
BACKWARD = (
    "records and labels came after one with a later time: sort both files by time, and let both end at the same time"
)


@dataclass(frozen=True)
class Kept:
    """What a checkpoint holds of what waits: the manifest of `connectors.labels.state`, and its segments.

    With `queries`, also how far asking for labels has come.
    """

    manifest: str
    sha256: str
    segments: list[Segment]
    asked: Asked | None = None


class WaitingStore:
    """What waits, in a folder beside the snapshots. `write` adds to it, and never changes what a checkpoint names.

    Parameters
    ----------
    folder
        The folder.
    start_over
        How messages describe a start with a new model.
    """

    def __init__(self, folder: pathlib.Path, start_over: str) -> None:
        self._store, self._start_over = FolderStore(folder), start_over
        self._segments: Sequence[Segment] = ()
        self._manifest, self._written = "", Position()
        self._superseded: set[str] = set()

    def read(self, kept: Kept, within: int, pending: int) -> WaitingRecords:
        """Return what waited at a checkpoint, or raise StateError."""
        try:
            manifest = self._read(kept.manifest, kept.sha256)
            segments = [self._read(segment.name, segment.sha256) for segment in kept.segments]
            waiting = state.read(manifest, segments, within, pending)
        except OSError as error:
            raise StateError(f"what waits for labels cannot be read: {error.strerror}; {self._start_over}") from error
        except BadState as error:
            raise StateError(
                f"what waits for labels, in `{self._store.folder}`: {error}; {self._start_over}"
            ) from error
        self._segments, self._manifest, self._written = kept.segments, kept.manifest, waiting.position
        return waiting

    def _read(self, name: str, sha256: str) -> bytes:
        data = self._store.read(PARTITION, name)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise BadState(f"`{self._store.path(PARTITION, name)}` is corrupt: its SHA-256 is not the recorded one")
        return data

    def write(self, waiting: WaitingRecords, name: str, asked: Asked | None = None) -> Kept:
        """Write what came since the last checkpoint and still waits, under a new name."""

        def write(number: int, start: Position, end: Position) -> tuple[str, str]:
            segment = f"{name}-segment{number or ''}"
            return segment, self._write(segment, state.write_segment(waiting, start, end))

        segments = plan(waiting, self._segments, self._written).segments(write)
        return Kept(f"{name}-manifest", self._write(f"{name}-manifest", state.write_manifest(waiting)), segments, asked)

    def _write(self, name: str, data: bytes) -> str:
        self._store.write(PARTITION, name, data)
        return hashlib.sha256(data).hexdigest()

    def remember(self, kept: Kept, position: Position) -> None:
        """Note that a checkpoint holds this, written at a position."""
        before = {self._manifest, *(segment.name for segment in self._segments)}
        self._superseded |= before - {"", kept.manifest, *(segment.name for segment in kept.segments)}
        self._manifest, self._segments, self._written = kept.manifest, kept.segments, position

    def delete_superseded(self) -> None:
        """Delete what the last checkpoint does not name any more."""
        with contextlib.suppress(OSError):
            for name in self._superseded:
                self._store.delete(PARTITION, name)
        self._superseded = set()


class LateLabels:
    """The two inputs of a processor with labels, and the route of their records.

    Parameters
    ----------
    config
        The processor's file.
    records, labels
        The readers of both inputs, at the position of the checkpoint.
    model
        The model.
    waiting
        What waits.
    asking
        Decides which labels are asked for; None: none.

    Attributes
    ----------
    records, labels
        The same readers, each with its next record.
    backward
        How many of them were taken after one with a later time.
    """

    backward = 0

    def __init__(
        self,
        config: FileConfig,
        records: AnyReader,
        labels: AnyReader,
        model: PartitionModel,
        waiting: WaitingRecords,
        asking: Asking | None = None,
    ) -> None:
        assert config.labels is not None
        section, path = config.labels, config.labels.file
        self.waiting = waiting
        self.records = Lookahead(records, clock_of_records(config.record, records, config.text_fields))
        self.labels = Lookahead(labels, clock_of_labels(section, labels))
        decoder = decoder_of_labels(section, labels)
        sources = (f"{pathlib.Path(config.input.file).name}:", f"{pathlib.Path(path).name}:")
        self._route = LateLearning(model, waiting, decoder, sources, section.otherwise, asking)

    @property
    def asked(self) -> Asked | None:
        """How far asking for labels has come; None without `queries`."""
        return None if self._route.asking is None else self._route.asking.asked

    def __iter__(self) -> Iterator[Taken]:
        """Yield records and labels in the order of their times."""
        return merged(self.records, self.labels)

    def process(self, taken: Taken, counts: Counts) -> Results:
        """Take one of them through the model, and return what became of labels."""
        self.backward += self.waiting.is_past(taken.time)
        take = self._route.take_record if taken.side is Side.RECORDS else self._route.take_label
        return take(taken.record, taken.sequence, taken.time, counts)
