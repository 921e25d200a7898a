"""From a committed offset to the model that belongs to it: by what its metadata names and nothing else.

Whatever does not fit together is a StateError that says what happened and what to do.
"""

import hashlib
import logging
import socket
from dataclasses import dataclass
from typing import Any

from connectors.config import Config
from connectors.errors import StateError
from connectors.kafka import Committed, Topic
from connectors.logs import where
from connectors.partition import Partition
from connectors.pointer import Name, Pointer
from connectors.stores import Store
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
        pointer = self._pointer(partition, committed)
        data = self._data(partition, pointer)
        try:
            changes = snapshot.difference(data, self.config.build_learner())
        except snapshot.SnapshotError as error:
            raise StateError(f"snapshot `{pointer.snapshot}` of {self._of(partition)}: {error}") from error
        if changes:
            raise StateError(
                f"the learner is not the one of snapshot `{pointer.snapshot}` of {self._of(partition)}: "
                f"{'; '.join(changes)}; put `learner` back as it was, or {self._start_over()}"
            )
        return pointer

    def restore(self, partition: int, committed: Committed) -> Partition:
        """Returns the partition as the committed metadata says."""
        pointer = self.check(partition, committed)
        load = self._loader(partition)
        log.info(
            "restored %s from snapshot %s, %d examples, at offset %d",
            self._of(partition), pointer.snapshot, pointer.examples, committed.offset,
            extra=where(self.config.input.topic, partition, committed.offset),
        )  # fmt: skip
        return Partition(load(pointer.snapshot), committed, pointer.snapshot, pointer.examples, load)

    def start(self, partition: int, offset: int) -> Partition:
        """Returns a partition whose model is as it begins, and that nothing is committed for yet."""
        self.check_start(partition)
        return Partition(self.config.first_learner(), Committed(offset, ""), "", 0, self._loader(partition))

    def _loader(self, partition: int) -> Any:
        def load(name: str) -> Any:
            try:
                return snapshot.loads(self.store.read(partition, name))
            except snapshot.SnapshotError as error:
                raise StateError(f"snapshot `{name}` of {self._of(partition)}: {error}") from error

        return load

    def check_offset(self, partition: int, offset: int, edges: tuple[int, int]) -> None:
        first, end = edges
        if not first <= offset <= end:
            lost = "retention deleted records before they were read" if offset < first else "the topic lost records"
            raise StateError(
                f"offset {offset} of {self._of(partition)} is out of range, there are {first} to {end}: {lost}; "
                f"{self._start_over()}"
            )

    def has_learned(self, partition: int) -> bool:
        """Tells whether there is a snapshot of a model that has read a record."""
        return bool(self._learned(partition))

    def _learned(self, partition: int) -> list[str]:
        # an empty model may be left of a first start that died, and what else lies there is not ours
        return [name for name in self.store.sizes(partition) if (found := Name.parse(name)) and not found.is_anchor]

    def check_start(self, partition: int) -> None:
        """Checks a partition for which nothing is committed."""
        names = self._learned(partition)
        if not names:
            return
        data = self.store.read(partition, names[-1])
        offset, examples = (int(part) for part in names[-1].split("-")[:2])
        sha256 = hashlib.sha256(data).hexdigest()
        pointer = Pointer(names[-1], sha256, self.topic.id, self.topic.partitions, examples, HOST)
        raise StateError(
            f"group `{self.config.name}` has no committed offset for {self._of(partition)}, but {len(names)} snapshots "
            f"in `{self.store.folder}/{partition}`: the offset expired or was deleted; to start over at "
            f"`input.start`, move that folder away; to go on from the newest snapshot (the output of its last records "
            f"may be missing or doubled), commit offset {offset} with the metadata `{pointer.to_text()}`"
        )

    def _pointer(self, partition: int, committed: Committed) -> Pointer:
        pointer = Pointer.from_text(committed.metadata)
        of = self._of(partition)
        if pointer is None:
            said = f"`{committed.metadata[:100]}`" if committed.metadata else "empty"
            raise StateError(
                f"offset {committed.offset} of {of} was committed by something else (its metadata is {said}), so no "
                f"model belongs to it: an offset cannot be reset alone; {self._start_over()}"
            )
        if pointer.offset != committed.offset:
            raise StateError(
                f"offset {committed.offset} of {of} was committed with the snapshot of offset {pointer.offset}: an "
                f"offset cannot be moved alone; commit {pointer.offset} with this metadata, or {self._start_over()}"
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
            raise StateError(f"{named} does not exist; restore it from a backup, or {self._start_over()}") from None
        if hashlib.sha256(data).hexdigest() != pointer.sha256:
            raise StateError(
                f"{named} is corrupt: its SHA-256 is not the committed one ({len(data)} bytes); "
                f"restore it from a backup, or {self._start_over()}"
            )
        return data

    def _of(self, partition: int) -> str:
        return f"partition {partition} of `{self.config.input.topic}`"

    def _start_over(self) -> str:
        return (
            f"to start over with empty models, give the processor another `name`, or delete the offsets of group "
            f"`{self.config.name}` and move `{self.store.folder}` away"
        )
