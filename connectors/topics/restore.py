"""From a committed offset to the model that belongs to it, by the metadata of the offset and nothing else.

If anything does not fit, a StateError says what happened and what to do: a PartitionStateError if only this partition
has the problem.
"""

import contextlib
import functools
import hashlib
import logging
import os
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from connectors.config import Config
from connectors.errors import StateError
from connectors.kafka import Committed, Topic
from connectors.labels import waiting_files
from connectors.labels.asking import Asking
from connectors.labels.waiting import BadState, WaitingRecords
from connectors.labels.waiting_files import WaitingFiles
from connectors.logs import where, where_read
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder
from connectors.model.rejects import Reject
from connectors.model.replay_proof import Progress, ReplayMismatch, ReplayProof
from connectors.snapshots.models import Builder, Found, find
from connectors.snapshots.names import SnapshotName
from connectors.snapshots.stores import Store
from connectors.topics.advice import REWIND, Advice, keep_model
from connectors.topics.bad_partitions import PartitionStateError
from connectors.topics.formats import Formats
from connectors.topics.late_labels import LateLabels
from connectors.topics.offset_metadata import OffsetMetadata
from connectors.topics.partition import Partition
from connectors.topics.stored import Stored
from river_margins import snapshot

log = logging.getLogger(__name__)

HOST = socket.gethostname()

_MAKING = threading.RLock()  # from Python 3.12 on, several threads may compute a cached property


class Start(NamedTuple):
    """Where to begin with a partition, and the first offset that is there."""

    offset: int
    first: int


@dataclass(frozen=True)
class Restorer:
    """Restores the models of the group `config.name`, whose input topic is now `topic`, and that of labels `labels`.

    `aligned` are the topics with as many partitions as the input: a message keeps its partition number there. `said`
    are the changes of the learner that the log tells already.
    """

    config: Config
    store: Store
    topic: Topic
    aligned: frozenset[str]
    said: set[str] = field(default_factory=set, compare=False)
    labels: Topic | None = None
    before: "Restorer | None" = field(default=None, compare=False, repr=False)

    @property
    def stored(self) -> Stored:
        return Stored(self.config, self.store)

    @property
    def _how(self) -> Advice:
        return Advice(self.config)

    def _go_on_from_newest(self, partition: int) -> str:
        # the newest may be an empty one, to which somebody has moved
        return self._how.go_on_from_newest([text for text, _ in self.stored.written(partition)])

    @functools.cached_property
    def _made_formats(self) -> Formats:
        # Those of the restorer before know schemas, and the registry may be away.
        return Formats(self.config) if self.before is None else self.before._formats

    @property
    def _formats(self) -> Formats:
        with _MAKING:
            return self._made_formats

    def unlike_partitions(self) -> str | None:
        """Return what is wrong if input and labels have unlike numbers of partitions, or None."""
        section = self.config.labels
        if section is None or self.labels is None or self.labels.partitions == self.topic.partitions:
            return None
        return (
            f"the labels `{section.topic}` have {self.labels.partitions} partitions and the input "
            f"`{self.config.input.topic}` has {self.topic.partitions}: a record and its label have the same key, and "
            f"must lie in partitions of the same number; add partitions to the topic that has fewer"
        )

    def check(self, partition: int, committed: Committed) -> OffsetMetadata:
        """Return the metadata of an offset, after all checks that can be made without building the model."""
        return self._checked(partition, committed)[0]

    def check_metadata(self, partition: int, committed: Committed) -> OffsetMetadata:
        """Return the metadata of an offset, after all checks that can be made without reading the snapshot."""
        return self._metadata(partition, committed)

    def check_snapshot(self, partition: int, metadata: OffsetMetadata) -> tuple[Found, WaitingFiles | None]:
        """Return what has changed in the learner since the snapshot, and what waits for labels, after all checks.

        The model is built for them.
        """
        found = self._checked_snapshot(partition, metadata)
        with self._named(partition, metadata.snapshot):
            for data in found.data.values():
                snapshot.loads(data)
        return found, self._waiting(partition, metadata)

    def _checked(self, partition: int, committed: Committed) -> tuple[OffsetMetadata, Found]:
        metadata = self._metadata(partition, committed)
        return metadata, self._checked_snapshot(partition, metadata)

    def _checked_snapshot(self, partition: int, metadata: OffsetMetadata) -> Found:
        data = self._data(partition, metadata)
        named = f"snapshot `{metadata.snapshot}` of {self._how.of(partition)}"
        try:
            snapshot.describe(data)
        except snapshot.SnapshotError as error:
            # its bytes are those that were committed: an older one may be of a version that wrote what this one reads
            go_back = self._how.go_back(partition, self.stored.learned(partition))
            text = f"{named} cannot be read: {error}; {go_back}{self._how.start_over(partition)}"
            raise PartitionStateError(partition, text) from error
        return find(self.config, data, named, self._how.start_over(), replays=metadata.inputs > 0)

    def restore(self, partition: int, committed: Committed) -> Partition:
        """Return a partition with the model that the committed metadata name; it may have inputs to replay."""
        metadata, models = self._checked(partition, committed)
        name, examples = SnapshotName.parse(metadata.snapshot), metadata.examples
        if metadata.inputs and name:  # the model of the snapshot has learned fewer than that of the committed offset
            examples = name.examples
        self._say(models)
        with self._named(partition, metadata.snapshot):
            model = self._builder(partition).restore(metadata.snapshot, examples, models, replays=metadata.inputs > 0)
        waiting = self._waiting(partition, metadata)
        found = self._partition(partition, model, committed, waiting)
        found.replay(Progress(metadata.offset, metadata.inputs, metadata.crc, metadata.examples))
        log.info(
            "restored %s from snapshot %s, %d examples, at offset %d, with %d inputs to read again",
            self._how.of(partition), metadata.snapshot, examples, metadata.offset, metadata.inputs,
            extra=where(self.config.input.topic, partition, metadata.offset),
        )  # fmt: skip
        return found

    def _say(self, models: Found) -> None:
        if models.made:
            self._say_once(f"the learner changes with the next snapshot of each partition: {', '.join(models.made)}")
        self._say_once(self.config.first_changes(models.new))

    def _say_once(self, said: str | None) -> None:
        if said and said not in self.said:
            self.said.add(said)
            log.warning("%s", said)

    def start(self, partition: int, at: Start, labels_at: Start | None, before: int) -> Partition:
        """Return a partition with a new model, for which nothing is committed yet; `before` is as in `check_former`."""
        self.check_start(partition)
        self.check_former(partition, before)
        self._say_once(self.stored.elsewhere(partition))
        self._say_once(self.config.first_changes())
        offset, labels_offset = at.offset, labels_at and labels_at.offset
        if self.config.input.start == "latest" and partition < before:
            offset, labels_offset = self._begun_at(partition, at, labels_at)
        labels = None if labels_offset is None else Committed(labels_offset, "")
        committed, waiting = Committed(offset, "", labels), None
        if section := self.config.labels:
            waiting = WaitingFiles(WaitingRecords(section.within_ms, section.pending))
        return self._partition(partition, self._builder(partition).start(), committed, waiting)

    def _begun_at(self, partition: int, at: Start, labels_at: Start | None) -> tuple[int, int | None]:
        """Return where the group has begun with a partition that has read nothing since, if its offset was lost.

        The name of its empty model tells that. `latest` would skip the records that have come since then. What
        retention has deleted since is left out. Without such a model, return the given offsets.
        """
        offset, labels_offset = at.offset, labels_at and labels_at.offset
        written = self.stored.written(partition)  # all are empty, see `check_start`
        if not written or written[-1][1].offset >= offset:
            return offset, labels_offset
        text, name = written[-1]
        begun = max(name.offset, at.first)
        if labels_at is not None and self.labels is not None:
            with contextlib.suppress(BadState):  # of a group that had no labels
                index, _, _ = waiting_files.read_index(self.store, partition, text)
                if index.topic == self.labels.id:
                    labels_offset = max(min(index.labels_offset, labels_at.offset), labels_at.first)
        log.warning(
            "the offset of %s was lost: it goes on at offset %d, as its empty model `%s` has begun at %d",
            self._how.of(partition), begun, text, name.offset, extra=where(self.config.input.topic, partition, begun),
        )  # fmt: skip
        return begun, labels_offset

    def _waiting(self, partition: int, metadata: OffsetMetadata) -> WaitingFiles | None:
        """Return what waits for labels according to the metadata of an offset."""
        section = self.config.labels
        if section is None:
            return None
        bounds = section.within_ms, section.pending
        try:
            return waiting_files.read(self.store, partition, metadata.snapshot, metadata.waiting, *bounds)
        except BadState as error:
            raise PartitionStateError(
                partition,
                f"what waits for labels with snapshot `{metadata.snapshot}` of {self._how.of(partition)} cannot be "
                f"read: {error}; restore it from a backup, or {self._how.start_over(partition)}"
                f"{keep_model(partition, metadata)}",
            ) from error

    def _asking(self, partition: int, waiting: WaitingFiles) -> Asking | None:
        """Return what decides which labels are asked for, as far as it had come."""
        section, sampler = self.config.queries, self.config.build_sampler()
        if section is None or sampler is None:
            return None
        try:
            fields = self._formats.parse_record or orjson.Fragment
            return Asking(sampler, section.at_most, section.all_wait, waiting.asked, fields)
        except BadState as error:
            text = f"{self._how.of(partition)}: {error}; {self._how.start_over(partition)}"
            raise PartitionStateError(partition, text) from error

    def _builder(self, number: int) -> Builder:
        record = self.config.record
        decode = Decoder(
            record.id, record.label, record.features, self._formats.parse_record, nulls=record.nulls,
            weight=record.weight, time=record.time, is_joined=self.config.labels is not None,
        ).decode  # fmt: skip
        can_replay = self.config.snapshots.every is not None

        def read(name: str) -> bytes:
            return self.store.read(number, name)

        return Builder(self.config, read, decode, can_replay, lambda name: self._named(number, name), where_read)

    def _partition(
        self, number: int, model: PartitionModel, committed: Committed, waiting: WaitingFiles | None
    ) -> Partition:
        can_replay, record, section = self.config.snapshots.every is not None, self.config.record, self.config.labels
        # the same bytes decoded in another way are other inputs
        seed = zlib.crc32(orjson.dumps(record.shape))
        proof = ReplayProof(committed.offset, seed, can_replay)
        source, labels = f"{self.config.input.topic}-{number}-", None
        if section is not None and waiting is not None and committed.labels is not None:
            sources = source, f"{section.topic}-{number}-"
            asking = self._asking(number, waiting)
            parsers = self._formats.parse_record, self._formats.parse_label
            position = committed.labels.offset
            labels = LateLabels(section, record, sources, model, waiting, position, asking, parsers)
        return Partition(source, model, proof, committed, labels)

    @contextlib.contextmanager
    def _named(self, partition: int, name: str) -> Iterator[None]:
        """Turn an error of loading a snapshot into one that names it."""
        try:
            yield
        except snapshot.SnapshotError as error:
            text = f"snapshot `{name}` of {self._how.of(partition)}: {error}; {self._how.start_over(partition)}"
            raise PartitionStateError(partition, text) from error

    def check_offset(
        self, partition: int, metadata: OffsetMetadata, range_of: Callable[[int], tuple[int, int]]
    ) -> None:
        """Raise PartitionStateError unless the topics still have the next record and label, and inputs to replay.

        `range_of` returns the range of offsets by number, as `Consumer.offset_range` does.
        """
        self._check_records(partition, metadata, range_of(partition))
        section = self.config.labels
        if section is None:
            return
        first, end = range_of(~partition)
        if not first <= metadata.labels_offset <= end:
            lost = (
                "retention deleted labels before they were read" if metadata.labels_offset < first else "it lost some"
            )
            raise PartitionStateError(
                partition,
                f"offset {metadata.labels_offset} of partition {partition} of the labels `{section.topic}` is out of "
                f"range, there are {first} to {end}: {lost}; to go on with the model and what waits, at the next label "
                f"that is there: `{REWIND} --to {metadata.snapshot}`; or {self._how.start_over(partition)}",
                may_heal=False,
            )

    def _check_records(self, partition: int, metadata: OffsetMetadata, edges: tuple[int, int]) -> None:
        first, end = edges
        of = self._how.of(partition)
        if not first <= metadata.offset <= end:
            is_late = metadata.offset < first
            lost = "retention deleted records before they were read" if is_late else "the topic lost records"
            keep = keep_model(partition, metadata) if is_late else ""
            if metadata.labels:
                keep += f"; {'either way, ' if is_late else ''}what waits for labels is dropped"
            raise PartitionStateError(
                partition,
                f"offset {metadata.offset} of {of} is out of range, there are {first} to {end}: {lost}; "
                f"{self._how.start_over(partition, first if is_late else end)}{keep}",
                may_heal=False,  # new records get the offsets of lost ones: to go on behind them would skip them
            )
        if metadata.inputs and metadata.snapshot_offset < first:
            raise PartitionStateError(
                partition,
                f"{of} must be read again from offset {metadata.snapshot_offset} of snapshot `{metadata.snapshot}`, "
                f"but begins at {first}: retention deleted records sooner than `snapshots.every` wrote a snapshot; "
                f"{self._how.start_over(partition)}{keep_model(partition, metadata)}",
                may_heal=False,
            )

    def lost_records(self, number: int, metadata: OffsetMetadata, end: int | None) -> PartitionStateError:
        """Return the error for a topic that has lost records before its committed offset, and has others since.

        `number` is as in `Consumer`, and the records before `end` are still there.
        """
        partition, section = number if number >= 0 else ~number, self.config.labels
        from_there = "" if end is None else f" from offset {end} on"
        why = "since then a replica that lacked them leads the partition (an unclean election), or its disk was lost"
        if number < 0 and section is not None:
            return PartitionStateError(
                partition,
                f"partition {partition} of the labels `{section.topic}` has lost labels{from_there} that were learned "
                f"before the committed offset {metadata.labels_offset}: {why}; to go on with the model, at that offset "
                f"(new labels before it are skipped): `{REWIND} --to {metadata.snapshot}`; or "
                f"{self._how.start_over(partition)}",
                may_heal=False,
            )
        again = f"; {self._how.start_over(partition, end)}"
        if end is not None:
            again = (
                f"; to go on there, from the newest model that had learned none of them (the output since then is "
                f"written again): `{REWIND} --offset {end} --partition {partition}`; if no snapshot is as old: "
                f"{self._how.start_over(partition, end)}"
            )
        return PartitionStateError(
            partition,
            f"{self._how.of(partition)} has lost records{from_there} that were learned before the committed offset "
            f"{metadata.offset}: {why}{again}; to keep the model, and go on at the committed offset (new records before"
            f" it are skipped): `{REWIND} --to {metadata.snapshot}`",
            may_heal=False,
        )

    def replay_error(self, partition: int, snapshot: str, error: ReplayMismatch) -> PartitionStateError:
        """Return the error for replayed inputs that did not lead to the committed model."""
        return PartitionStateError(
            partition,
            f"the inputs of {self._how.of(partition)} since snapshot `{snapshot}` are not those that were learned: "
            f"{error}; records expired or were compacted away, or `record` or a version changed; put `record` back as "
            f"it was, or {self._how.go_on(snapshot)}, or {self._how.start_over(partition)}",
            may_heal=False,  # loading it again does not help
        )

    def held(self, partition: int, snapshot: str, offset: int, reject: Reject) -> str:
        """Return what to say of a replay that waits for what is missing."""
        return (
            f"the inputs of {self._how.of(partition)} since snapshot `{snapshot}` are read again, and wait at offset "
            f"{offset} until this record can be read as before: {reject}; if that never comes back: "
            f"{self._how.go_on(snapshot)}"
        )

    def forget_unknown_schemas(self) -> None:
        """Let the registry be asked again for schemas that it did not know."""
        if self._formats.registry is not None:
            self._formats.registry.forget_unknown()

    def check_start(self, partition: int) -> None:
        """Raise PartitionStateError if nothing is committed for a partition with snapshots: its offset was lost."""
        if names := self.stored.learned(partition):
            raise PartitionStateError(
                partition,
                f"group `{self.config.name}` has no committed offset for {self._how.of(partition)}, but {len(names)} "
                f"snapshots in `{self.store.folder}/{partition}`: the offset expired or was deleted; to start over at "
                f"`input.start`: `{REWIND} --empty --partition {partition}`; {self._go_on_from_newest(partition)}",
            )

    def partitions_before(self, committed: Iterable[Committed | None]) -> int:
        """Return how many partitions the topic had when the oldest of these offsets was committed.

        If all offsets were lost, that is how many have begun: each of them has a snapshot. So no message advises to
        move the folder of a single partition away: the partition would be new.
        """
        found = [OffsetMetadata.from_text(each.metadata) for each in committed if each]
        told = [metadata.partitions for metadata in found if metadata and metadata.topic_id == self.topic.id]
        return min(told) if told else self.stored.count_begun(self.topic.partitions)

    def check_former(self, partition: int, before: int) -> None:
        """Raise StateError if nothing is committed for a partition because its topic was created again.

        That is not why if the topic had fewer partitions when others of them were committed, `before`.
        """
        if partition < before and (folder := self.stored.former(partition)):
            raise StateError(
                f"`{self.config.input.topic}` was deleted and created again: nothing is committed for "
                f"{self._how.of(partition)}, and the models of the topic that had this name before lie in `{folder}`; "
                f"to begin with new models: `{REWIND} --empty`, or move that folder away"
            )

    def _metadata(self, partition: int, committed: Committed) -> OffsetMetadata:
        metadata = OffsetMetadata.from_text(committed.metadata)
        of = self._how.of(partition)
        if metadata is None:
            said = f"`{committed.metadata[:100]}`" if committed.metadata else "empty"
            names = self.stored.learned(partition)
            # a tool that copies topics may have copied the offsets, too
            elsewhere = None if names else self.stored.elsewhere(partition)
            models = (
                f": an offset cannot be reset alone; `river-margins snapshots rewind` moves it together with a model, "
                f"`{REWIND} --offset {committed.offset} --partition {partition}` to the newest one that had read no "
                f"further; if that was a mistake, {self._go_on_from_newest(partition)}"
                if names
                else f": {elsewhere}"
                if elsewhere
                else ""  # the group was another program's
            )
            raise PartitionStateError(
                partition,
                f"offset {committed.offset} of {of} was committed by something else (its metadata is {said}), so no "
                f"model belongs to it{models}; {self._how.start_over(partition)}",
            )
        if metadata.topic_id != self.topic.id:
            raise StateError(
                f"`{self.config.input.topic}` was deleted and created again since offset {committed.offset} of {of} was"
                f" committed (topic id {metadata.topic_id}, now {self.topic.id}); {self._how.start_over()}"
            )
        if metadata.offset != committed.offset:
            raise PartitionStateError(
                partition,
                f"offset {committed.offset} of {of} was committed with the metadata of offset {metadata.offset}: an "
                f"offset cannot be moved alone; {self._how.go_on(metadata.snapshot)}; or "
                f"{self._how.start_over(partition)}",
            )
        self._check_labels(partition, metadata, committed.labels)
        return metadata

    def _check_labels(self, partition: int, metadata: OffsetMetadata, committed: Committed | None) -> None:
        """Check that the committed offset of the labels fits to that of the input, and both to the file."""
        section, of = self.config.labels, self._how.of(partition)
        if section is None or self.labels is None:
            if metadata.labels:
                raise StateError(
                    f"records of {of} wait for labels that come later, and the file has no `labels`: put the section "
                    f"back; to go on with the models and drop what waits: {self._how.rewind_each(metadata)}"
                )
            return
        if not metadata.labels:
            self._checked_snapshot(partition, metadata)  # with another `record`, the rewind would be refused
            raise StateError(
                f"the models of `{self.config.name}` were learned without `labels`: to go on with them: "
                f"{self._how.rewind_each(metadata)}"
            )
        if metadata.labels != self.labels.id:
            raise StateError(
                f"the labels `{section.topic}` were deleted and created again, or are another topic, since offset "
                f"{metadata.offset} of {of} was committed (topic id {metadata.labels}, now {self.labels.id}); to go on "
                f"with the models and what waits, from the first label that is there: {self._how.rewind_each(metadata)}"
            )
        expected = metadata.to_committed().labels
        if committed != expected:
            found = f"offset {committed.offset} with `{committed.metadata[:100]}`" if committed else "nothing"
            raise PartitionStateError(
                partition,
                f"the committed offset of {of} belongs to offset {metadata.labels_offset} of the labels "
                f"`{section.topic}`, for which {found} is committed: the offset of one topic cannot be moved or "
                f"deleted alone; {self._how.go_on(metadata.snapshot)}; or {self._how.start_over(partition)}",
            )

    def check_growth(self, before: int) -> None:
        """Raise StateError if the topic has another number of partitions than `before`, and the file refuses that."""
        if before != self.topic.partitions and self.config.input.new_partitions == "refuse":
            raise StateError(
                f"`{self.config.input.topic}` has {self.topic.partitions} partitions, and had {before} when the models "
                f"were learned: some keys now lie in other partitions than the models that know them; nothing was "
                f"committed; to keep these models and begin new ones in the new partitions, write `input: "
                f"{{new_partitions: start}}`; {self._how.start_over()}"
            )

    def _data(self, partition: int, metadata: OffsetMetadata) -> bytes:
        path = self.store.path(partition, metadata.snapshot)
        named = f"the snapshot `{path}`, which the committed offset of {self._how.of(partition)} names,"
        instead = (
            "restore it from a backup, or go on from another one that `river-margins snapshots list FILE` shows, with "
            f"`{REWIND} --to ID` (the output since then is written again), or {self._how.start_over(partition)}"
        )
        try:
            data = self.store.read(partition, metadata.snapshot)
        except FileNotFoundError:
            where = ""
            if metadata.host != HOST and "://" not in path:
                where = (
                    f" on host `{HOST}`; it was written on host `{metadata.host}`: all hosts of a group must share the "
                    f"folder `snapshots`; if they do"
                )
            elif "://" not in path and not os.path.isdir(self.store.folder):
                where = (
                    ", nor does its folder: a relative `snapshots` begins at the working directory; if that is right"
                )
            then = "," if where else ";"
            raise PartitionStateError(partition, f"{named} does not exist{where}{then} {instead}") from None
        if hashlib.sha256(data).hexdigest() != metadata.sha256:
            what = f"is corrupt: its SHA-256 is not the committed one ({len(data)} bytes)"
            raise PartitionStateError(partition, f"{named} {what}; {instead}")
        return data
