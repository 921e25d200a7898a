"""One assigned partition of the input: its model, the proof of its inputs, and what is committed for it."""

import math
import time

from connectors.kafka import Committed
from connectors.model.partition_model import PartitionModel
from connectors.model.rejects import Reject
from connectors.model.replay_proof import Progress, ReplayProof
from connectors.snapshots.names import SnapshotName
from connectors.topics.late_labels import LateLabels
from connectors.topics.offset_metadata import OffsetMetadata


class Partition:
    """A partition of the input topic that this process has taken over.

    Parameters
    ----------
    source
        The beginning of the source of its records, such as `events-0-`.
    model
        The model, as its snapshot holds it.
    proof
        The position, with the proof that replayed inputs are the same.
    committed
        The committed offset with its metadata.
    labels
        The labels of these records that come later; None if all are in the records.

    Attributes
    ----------
    published
        The snapshot that other partitions mix with; None until this process has published one.
    mixed_at
        When it has last mixed or was loaded, on the clock of `time.monotonic`.
    is_uncertain
        Whether a record since the snapshot was rejected that may not be when it is read again. The next commit then
        writes a snapshot, so that nobody reads it again.
    held_until
        When its replay, which is held, goes on, on the clock of `time.monotonic`; infinite if it is not held.
    """

    def __init__(
        self,
        source: str,
        model: PartitionModel,
        proof: ReplayProof,
        committed: Committed,
        labels: LateLabels | None = None,
    ) -> None:
        self.source, self.model, self.proof, self.committed, self.labels = source, model, proof, committed, labels
        self.published: str | None = None
        self._note_mixing()
        self._start_at_snapshot()

    def _note_mixing(self) -> None:
        self.mixed_at, self._mixed_position = time.monotonic(), self.proof.position

    def is_due_to_mix(self, every: float) -> bool:
        """Whether it has read records since its last mixing, `every` seconds ago or more, or since it was loaded."""
        is_there = bool(self.model.snapshot) and not self.is_replaying
        return is_there and self.proof.position > self._mixed_position and time.monotonic() - self.mixed_at >= every

    def note_mixing(self, published: str) -> None:
        """Note that a mixed model was committed, and published as this snapshot."""
        self.published = published
        self._note_mixing()

    def _start_at_snapshot(self) -> None:
        name = SnapshotName.parse(self.model.snapshot)
        age = max(0.0, time.time() - name.time) if name else 0.0
        self._snapshot_time = time.monotonic() - age
        self._rejects: dict[int, Reject] = {}
        self._wants_snapshot, self.is_uncertain, self.held_until = self.model.is_to_change, False, math.inf

    @property
    def wants_snapshot(self) -> bool:
        """Whether the next commit writes a snapshot in any case; after a drift, so that no replay has to repeat it."""
        return self._wants_snapshot or self.model.has_drifted

    @property
    def progress(self) -> Progress:
        """How far the records were processed; a replay does not change that."""
        return self.proof.progress(self.model.examples)

    @property
    def is_replaying(self) -> bool:
        """Whether the model learns inputs again that were processed before."""
        return self.proof.target is not None

    @property
    def is_ahead_of_snapshot(self) -> bool:
        """Whether the snapshot lacks inputs from before the committed offset."""
        metadata = OffsetMetadata.from_text(self.committed.metadata)
        return metadata is not None and metadata.inputs > 0

    @property
    def snapshot_age(self) -> float:
        """Seconds since the snapshot was written."""
        return time.monotonic() - self._snapshot_time

    @property
    def is_special(self) -> bool:
        """Whether the next record needs more than to be predicted and learned."""
        return self.is_replaying or self.wants_snapshot or bool(self._rejects)

    def known_reject(self) -> Reject | None:
        """Return why the next record is rejected without being tried, or None."""
        return self._rejects.get(self.proof.inputs) if self._rejects else None

    def note_uncertain(self, reject: Reject) -> None:
        """Reject the present record again if this process reads it again before the next commit."""
        self.is_uncertain = True
        if self.model.can_replay:
            self._rejects[self.proof.inputs] = reject

    def replay_and_reject(self, reject: Reject) -> None:
        """Reload the model, replay the inputs since its snapshot, and then reject the present record."""
        target = self.progress
        self.model.reload()
        self._rejects[self.proof.inputs] = reject
        self._wants_snapshot = True
        self.replay(target)

    def replay(self, target: Progress) -> None:
        """Replay the inputs since the snapshot, which the model holds now, up to a progress."""
        if target.inputs:
            name = SnapshotName.parse(self.model.snapshot)
            assert name is not None
            self.proof.replay(target, name.offset)

    def note_commit(self, committed: Committed, snapshot: str) -> None:
        """Note what was committed; a new snapshot holds the model of this moment."""
        self.committed = committed
        if snapshot != self.model.snapshot:
            self.model.saved_as(snapshot)
            self.proof.start_at_snapshot()
            self._start_at_snapshot()
