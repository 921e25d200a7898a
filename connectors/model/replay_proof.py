"""Proof that replayed inputs are those that the model has learned before."""

from typing import NamedTuple

import crc32c


class ReplayMismatch(Exception):
    """The replayed inputs differ from those learned before. The text says how."""


class Progress(NamedTuple):
    """Progress in a partition.

    Attributes
    ----------
    position
        The offset of the next record.
    inputs, crc
        Number and CRC-32C of the inputs since the snapshot.
    examples
        How many examples the model has learned.
    """

    position: int
    inputs: int
    crc: int
    examples: int


class ReplayProof:
    """Position in a partition, with number and CRC-32C of the inputs since the snapshot of its model.

    A model that was loaded from an older snapshot must learn the inputs since then again. During this replay,
    `target` is the progress to reach; number, CRC and examples must then be the same.

    Parameters
    ----------
    position
        The offset of the next record.
    seed
        The value at which the CRC of the inputs begins.
    can_replay
        Whether inputs may have to be replayed later. If not, no CRC is computed.

    >>> proof = ReplayProof(7, 0, can_replay=True)
    >>> proof.advance(7, b"first", examples=1)
    >>> reached = proof.progress(examples=1)
    >>> proof.replay(reached, position=7)
    >>> proof.target == reached
    True
    >>> proof.advance(7, b"first", examples=1)
    >>> print(proof.target)
    None
    """

    def __init__(self, position: int, seed: int, can_replay: bool) -> None:
        self.position = position
        self.target: Progress | None = None
        self._seed, self._can_replay = seed, can_replay
        self.start_at_snapshot()

    def start_at_snapshot(self) -> None:
        """Count inputs from here on: a snapshot holds the model of this moment."""
        self.inputs, self._crc = 0, self._seed

    def progress(self, examples: int) -> Progress:
        """Return how far the partition was processed; a replay does not change that."""
        return self.target or Progress(self.position, self.inputs, self._crc, examples)

    def replay(self, target: Progress, position: int) -> None:
        """Expect the inputs from `position`, that of the snapshot, up to `target`."""
        self.target, self.position = target, position
        self.start_at_snapshot()

    def advance(self, offset: int, value: bytes | None, examples: int) -> None:
        """Move past a processed input. Raise ReplayMismatch if it ends a replay with another result than before."""
        self.position = offset + 1
        self.inputs += 1
        if not (self._can_replay or self.target):
            return  # the next commit writes a snapshot, after which no input is replayed
        length = -1 if value is None else len(value)
        self._crc = crc32c.crc32c(value or b"", crc32c.crc32c(b"%d %d " % (offset, length), self._crc))
        if self.target is not None and self.inputs == self.target.inputs:
            self._end_replay(self.target, examples)

    def pass_inputs(self, position: int, inputs: int) -> None:
        """Move past processed inputs that will not be replayed, because the next commit writes a snapshot."""
        self.position = position
        self.inputs += inputs

    def _end_replay(self, target: Progress, examples: int) -> None:
        if (self._crc, examples) != (target.crc, target.examples):
            raise ReplayMismatch(
                f"the CRC of {self.inputs} inputs is {self._crc} instead of {target.crc}, and {examples} examples were "
                f"learned instead of {target.examples}"
            )
        self.position = max(self.position, target.position)
        self.target = None

    def check_not_passed(self, position: int) -> None:
        """Raise ReplayMismatch if a replay has come to `position` with fewer inputs than there were."""
        if self.target is not None and position >= self.target.position:
            raise ReplayMismatch(f"{self.inputs} inputs were read again instead of {self.target.inputs}")

    def skip_to(self, position: int) -> None:
        """Move past offsets that hold no record."""
        self.position = position
