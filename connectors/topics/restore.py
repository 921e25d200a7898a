"""From a committed offset to the model that belongs to it: by what its metadata names and nothing else.

Whatever does not fit together is a StateError that says what happened and what to do.
"""

import hashlib
import logging
import re
import socket
import zlib
from dataclasses import dataclass
from typing import Any

from connectors.config import Config
from connectors.errors import StateError
from connectors.kafka import Committed, Topic
from connectors.logs import where
from connectors.model.partition import Elsewhere, Mark, Partition
from connectors.model.records import Decoder
from connectors.snapshots.names import Name, Pointer
from connectors.snapshots.stores import Store
from river_margins import snapshot

log = logging.getLogger(__name__)

HOST = socket.gethostname()


@dataclass(frozen=True)
class Restorer:
    """Finds models of the group `config.name`, whose input topic is now `topic`.

    `aligned` are the topics with as many partitions: a message keeps its partition there.
    """

    config: Config
    store: Store
    topic: Topic
    aligned: frozenset[str]

    def check(self, partition: int, committed: Committed) -> Pointer:
        """Checks all that can be without building the model."""
        return self._checked(partition, committed)[0]

    def _checked(self, partition: int, committed: Committed) -> tuple[Pointer, bytes]:
        pointer = self._pointer(partition, committed)
        data = self._data(partition, pointer)
        named = f"snapshot `{pointer.snapshot}` of {self._of(partition)}"
        check_learner(self.config.build_learner(), data, named, self._start_over())
        return pointer, data

    def restore(self, partition: int, committed: Committed) -> Partition:
        """Returns the partition as the committed metadata says; it may have inputs to read again."""
        pointer, data = self._checked(partition, committed)
        found = self._partition(partition, self._loads(partition, pointer.snapshot, data), committed, pointer)
        found.go_back(Mark(pointer.offset, pointer.inputs, pointer.crc, pointer.examples))
        log.info(
            "restored %s from snapshot %s, %d examples, at offset %d, with %d inputs to read again",
            self._of(partition), pointer.snapshot, found.examples, pointer.offset, pointer.inputs,
            extra=where(self.config.input.topic, partition, pointer.offset),
        )  # fmt: skip
        return found

    def start(self, partition: int, offset: int) -> Partition:
        """Returns a partition whose model is as it begins, and that nothing is committed for yet."""
        self.check_start(partition)
        self.check_former(partition)
        return self._partition(partition, self.config.first_learner(), Committed(offset, ""), None)

    def _partition(self, partition: int, learner: Any, committed: Committed, pointer: Pointer | None) -> Partition:
        def load(name: str) -> Any:
            return self._loads(partition, name, self.store.read(partition, name))

        name, examples = (pointer.snapshot, pointer.examples) if pointer else ("", 0)
        # inputs that are read otherwise are other inputs
        seed = zlib.crc32(self.config.record.model_dump_json().encode())
        rereads = self.config.snapshots.every is not None
        record = self.config.record
        decode = Decoder(record.id, record.label, record.features).decode
        return Partition(learner, committed, name, examples, load, decode, rereads, seed)

    def _loads(self, partition: int, name: str, data: bytes) -> Any:
        try:
            return snapshot.loads(data)
        except snapshot.SnapshotError as error:
            raise StateError(f"snapshot `{name}` of {self._of(partition)}: {error}") from error

    def check_offset(self, partition: int, pointer: Pointer, edges: tuple[int, int]) -> None:
        """Checks that the records are there which come next, or again."""
        first, end = edges
        of = self._of(partition)
        if not first <= pointer.offset <= end:
            is_late = pointer.offset < first
            lost = "retention deleted records before they were read" if is_late else "the topic lost records"
            raise StateError(
                f"offset {pointer.offset} of {of} is out of range, there are {first} to {end}: {lost}; "
                f"{self._start_over()}"
            )
        if pointer.inputs and pointer.snapshot_offset < first:
            raise StateError(
                f"{of} must be read again from offset {pointer.snapshot_offset} of snapshot `{pointer.snapshot}`, but "
                f"begins at {first}: retention deleted records sooner than `snapshots.every` wrote a snapshot; "
                f"{self._go_on(pointer.snapshot)}, or {self._start_over()}"
            )

    def elsewhere(self, partition: int, snapshot: str, error: Elsewhere) -> StateError:
        """Says that inputs which came again did not lead to the committed model."""
        return StateError(
            f"the inputs of {self._of(partition)} since snapshot `{snapshot}` are not those that were learned: {error};"
            f" records expired or were compacted away, or `record` or a version changed; put `record` back as "
            f"it was, or {self._go_on(snapshot)}, or {self._start_over()}"
        )

    def has_learned(self, partition: int) -> bool:
        """Tells whether there is a snapshot of a model that has read a record."""
        return bool(_learned(self.store, partition))

    def check_start(self, partition: int) -> None:
        """Checks a partition for which nothing is committed."""
        if names := _learned(self.store, partition):
            raise StateError(
                f"group `{self.config.name}` has no committed offset for {self._of(partition)}, but {len(names)} "
                f"snapshots in `{self.store.folder}/{partition}`: the offset expired or was deleted; to start over at "
                f"`input.start`, move that folder away; {self._go_on(names[-1])}"
            )

    def check_former(self, partition: int) -> None:
        """Checks that a partition for which nothing is committed is none of a topic that was created again."""
        topic = self.config.input.topic
        for store in self.store.beside():
            of_topic = re.fullmatch(rf"{re.escape(topic)}-[0-9a-f-]{{36}}", store.folder.rpartition("/")[2])
            if of_topic and _learned(store, partition):
                raise StateError(
                    f"`{topic}` was deleted and created again: nothing is committed for {self._of(partition)}, and the "
                    f"models of the topic that had this name before lie in `{store.folder}`; to begin with new models: "
                    f"`river-margins snapshots rewind FILE --empty`, or move that folder away"
                )

    def _pointer(self, partition: int, committed: Committed) -> Pointer:
        pointer = Pointer.from_text(committed.metadata)
        of = self._of(partition)
        if pointer is None:
            said = f"`{committed.metadata[:100]}`" if committed.metadata else "empty"
            raise StateError(
                f"offset {committed.offset} of {of} was committed by something else (its metadata is {said}), so no "
                f"model belongs to it: an offset cannot be reset alone; `river-margins snapshots rewind` moves it "
                f"together with a model; {self._start_over()}"
            )
        if pointer.offset != committed.offset:
            raise StateError(
                f"offset {committed.offset} of {of} was committed with the metadata of offset {pointer.offset}: an "
                f"offset cannot be moved alone; `river-margins snapshots rewind` moves it together with a model; "
                f"{self._start_over()}"
            )
        if pointer.topic_id != self.topic.id:
            raise StateError(
                f"`{self.config.input.topic}` was deleted and created again since offset {committed.offset} of {of} was"
                f" committed (topic id {pointer.topic_id}, now {self.topic.id}); {self._start_over()}"
            )
        if pointer.partitions != self.topic.partitions:
            raise StateError(
                f"`{self.config.input.topic}` has {self.topic.partitions} partitions, and had {pointer.partitions} "
                f"when {of} was learned: keys now lie in other partitions than the models that know them; "
                f"{self._start_over()}"
            )
        return pointer

    def _data(self, partition: int, pointer: Pointer) -> bytes:
        path = self.store.path(partition, pointer.snapshot)
        named = f"the snapshot `{path}`, which the committed offset of {self._of(partition)} names,"
        try:
            data = self.store.read(partition, pointer.snapshot)
        except FileNotFoundError:
            if pointer.host != HOST and "://" not in path:
                where = f"does not exist on host `{HOST}`; it was written on host `{pointer.host}`: all hosts of a "
                raise StateError(f"{named} {where}group must share the folder `snapshots`") from None
            raise StateError(
                f"{named} does not exist; restore it from a backup, or go on from another one with `river-margins "
                f"snapshots rewind` (the output since then comes again), or {self._start_over()}"
            ) from None
        if hashlib.sha256(data).hexdigest() != pointer.sha256:
            raise StateError(
                f"{named} is corrupt: its SHA-256 is not the committed one ({len(data)} bytes); "
                f"restore it from a backup, or {self._start_over()}"
            )
        return data

    def _of(self, partition: int) -> str:
        return f"partition {partition} of `{self.config.input.topic}`"

    def _go_on(self, name: str) -> str:
        return (
            f"to go on from the model of that moment (the output since then comes again): `river-margins snapshots "
            f"rewind FILE --to {name}`"
        )

    def _start_over(self) -> str:
        return (
            f"to start over with empty models, give the processor another `name`, or delete the offsets of group "
            f"`{self.config.name}` and move `{self.store.folder}` away"
        )


def check_learner(learner: Any, data: bytes, named: str, start_over: str) -> None:
    """Raises StateError when the bytes of a snapshot are not of this learner, trained or not."""
    try:
        changes = snapshot.difference(data, learner)
    except snapshot.SnapshotError as error:
        raise StateError(f"{named} cannot be read: {error}; {start_over}") from error
    if changes:
        said = f"the learner is not the one of {named}: {'; '.join(changes)}"
        raise StateError(f"{said}; put `learner` back as it was, or {start_over}")


def _learned(store: Store, partition: int) -> list[str]:
    # an empty model may be left of a first start that died, and what else lies there is not ours
    return [name for name in store.sizes(partition) if (found := Name.parse(name)) and not found.is_anchor]
