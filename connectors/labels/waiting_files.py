"""The files of what waits for labels, beside the snapshots of a model.

Each snapshot `NAME` of a model with labels has a file `NAME-waiting`: a line of JSON, and then the manifest of
`connectors.labels.state`. The line names the segments that it needs, with their SHA-256; a segment has the name of the
snapshot with which it was written, `NAME-segment` or `NAME-segment1`. So many snapshots share a segment, which is
written once.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson
from pydantic import TypeAdapter, ValidationError

from connectors.labels import state
from connectors.labels.asking import Asked
from connectors.labels.segments import Segment, plan
from connectors.labels.waiting import BadState, Position, WaitingRecords
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import Store

WAITING, SEGMENT = "-waiting", "-segment"


class Index(NamedTuple):
    """The line of JSON: the offset of the next label, the segments that hold what waits, and what was asked for.

    `topic` is the id of the topic to which the offset belongs; older files do not have it.
    """

    labels_offset: int
    segments: list[Segment]
    asked: Asked | None = None
    topic: str = ""


INDEX = TypeAdapter(Index)


class Prepared(NamedTuple):
    """What a commit writes.

    Attributes
    ----------
    files
        The files to write, by name, in this order; the last one is that of the index.
    sha256
        The checksum of the last one.
    segments, position
        The segments that are needed afterwards, and how far they reach.
    """

    files: dict[str, bytes]
    sha256: str
    segments: Sequence[Segment]
    position: Position


class WaitingFiles:
    """What waits in one partition, and the segments that hold it since the last commit.

    Parameters
    ----------
    records
        What waits.
    segments
        The segments that hold it.
    asked
        How far `queries` had come when it was read.
    """

    def __init__(self, records: WaitingRecords, segments: Sequence[Segment] = (), asked: Asked | None = None) -> None:
        self.records, self.asked = records, asked
        self._segments, self._written = segments, records.position

    def prepare(self, snapshot: str, labels_offset: int, asked: Asked | None = None, topic: str = "") -> Prepared:
        """Return the files of a new snapshot. They hold what came since the last commit, and which of all waits."""
        files: dict[str, bytes] = {}

        def write(number: int, start: Position, end: Position) -> tuple[str, str]:
            name, data = f"{snapshot}{SEGMENT}{number or ''}", state.write_segment(self.records, start, end)
            files[name] = data
            return name, hashlib.sha256(data).hexdigest()

        segments = plan(self.records, self._segments, self._written).segments(write)
        named = {"labels_offset": labels_offset, "segments": segments} | ({} if asked is None else {"asked": asked})
        named |= {"topic": topic} if topic else {}
        line = orjson.dumps(named, default=tuple)
        index = line + b"\n" + state.write_manifest(self.records)
        files[f"{snapshot}{WAITING}"] = index
        return Prepared(files, hashlib.sha256(index).hexdigest(), segments, self.records.position)

    def remember(self, prepared: Prepared) -> None:
        """Note that these files were committed."""
        self._segments, self._written = prepared.segments, prepared.position


def read_index(store: Store, partition: int, snapshot: str, sha256: str | None = None) -> tuple[Index, bytes, str]:
    """Return what a snapshot needs, its manifest, and the SHA-256 of the file that holds both.

    Raise BadState if the file is missing or damaged, or has another SHA-256 than the one given.
    """
    name = f"{snapshot}{WAITING}"
    path = store.path(partition, name)
    try:
        data = store.read(partition, name)
    except FileNotFoundError:
        raise BadState(f"`{path}` does not exist") from None
    found = hashlib.sha256(data).hexdigest()
    if sha256 not in (None, found):
        raise BadState(f"`{path}` is corrupt: its SHA-256 is not the committed one")
    line, _, manifest = data.partition(b"\n")
    try:
        return INDEX.validate_json(line), manifest, found
    except ValidationError:
        raise BadState(f"`{path}` does not begin with the names of segments") from None


def read(store: Store, partition: int, snapshot: str, sha256: str, within: int, pending: int) -> WaitingFiles:
    """Return what waited at a snapshot, or raise BadState."""
    index, manifest, _ = read_index(store, partition, snapshot, sha256)
    records = state.read(manifest, _segments(store, partition, index.segments), within, pending)
    return WaitingFiles(records, index.segments, index.asked)


def _segments(store: Store, partition: int, segments: Iterable[Segment]) -> Iterable[bytes]:
    for segment in segments:
        path = store.path(partition, segment.name)
        try:
            data = store.read(partition, segment.name)
        except FileNotFoundError:
            raise BadState(f"`{path}` does not exist") from None
        if hashlib.sha256(data).hexdigest() != segment.sha256:
            raise BadState(f"`{path}` is corrupt: its SHA-256 is not the recorded one")
        yield data


def needed(store: Store, partition: int, has_labels: bool = False) -> dict[str, frozenset[str]]:
    """Return the files that each snapshot of a partition needs beside its own.

    An index that cannot be read may come back from a backup, and need each segment that was written before it. With
    `has_labels`, so may one that is not there.
    """
    found, names = {}, store.sizes(partition)
    snapshots = {name.removesuffix(WAITING) for name in names if name.endswith(WAITING)}
    if has_labels:
        snapshots.update(name for name in names if SnapshotName.parse(name))
    for snapshot in snapshots:
        try:
            found[snapshot] = files_of(snapshot, read_index(store, partition, snapshot)[0].segments)
        except BadState:
            segments = (name for name in names if _may_need(snapshot, name))
            found[snapshot] = frozenset({f"{snapshot}{WAITING}", *segments})
    return found


def _may_need(snapshot: str, file: str) -> bool:
    """Tell whether a file is a segment that was written with this snapshot or before it."""
    own, its = SnapshotName.parse(snapshot), SnapshotName.parse(file.rpartition(SEGMENT)[0])
    return own is not None and its is not None and its.offset <= own.offset and its.time <= own.time


def files_of(snapshot: str, segments: Iterable[Segment]) -> frozenset[str]:
    """Return the names of the files that a snapshot needs beside its own."""
    return frozenset({f"{snapshot}{WAITING}", *(segment.name for segment in segments)})
