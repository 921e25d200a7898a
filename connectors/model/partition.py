"""One input partition: its model, how far it has read, and the checkpoint that holds both."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import crc32c
from river import base, compose

from connectors.kafka import Committed
from connectors.model.records import Example, Reject
from connectors.snapshots.names import Name, Pointer

__all__ = ["Partition", "Pointer"]  # the pointer for whoever keeps a partition


class Mark(NamedTuple):
    """How far a model has come: the next offset, number and CRC of the inputs since its snapshot, examples learned."""

    position: int
    inputs: int
    crc: int
    examples: int


class WentBack(Exception):
    """The model is again that of its snapshot: the inputs since must come again, from `Partition.position` on."""


class Elsewhere(Exception):
    """Inputs that came again are not those that were learned: the text says what differs."""


PredictScore = Callable[[dict[str, Any]], tuple[Any, Any]]
Decode = Callable[[bytes | None, str], Example]  # of a value, and the name of the place where it was


def _no_inputs(value: bytes | None, source: str) -> Example:
    raise NotImplementedError("this partition is given examples only")


class Partition:
    """A model that predicts and learns the records of one partition, in order.

    Parameters
    ----------
    learner
        The model as the snapshot has it.
    written
        The committed offset with its metadata.
    snapshot, examples
        Name of the snapshot, and how many examples its model has learned.
    load
        Reads the model of a snapshot by its name.
    decode
        Reads the inputs; without it, examples come from elsewhere.
    rereads
        Whether inputs since the snapshot can come again (`WentBack`); else what was learned is held in memory.
    seed
        Where the CRC of the inputs begins.
    """

    def __init__(
        self,
        learner: Any,
        written: Committed,
        snapshot: str,
        examples: int,
        load: Any,
        decode: Decode = _no_inputs,
        rereads: bool = False,
        seed: int = 0,
    ) -> None:
        self.position = written.offset
        self.examples = examples
        self.goal: Mark | None = None
        self.decode = decode
        self._load, self._rereads, self._seed = load, rereads, seed
        self._take(learner)
        self.written = written
        self._begin(snapshot)

    def _take(self, learner: Any) -> None:
        steps = list(learner.steps.values()) if isinstance(learner, compose.Pipeline) else [learner]
        self.learner = learner
        self._last = steps[-1]
        self.is_regressor = isinstance(self._last, base.Regressor)
        self._check_label = getattr(self._last, "check_label", None)
        # Some of River's transformers note a feature that they are only asked to transform.
        self._is_pure = all(type(step).__module__.startswith("river_margins") for step in steps[:-1])
        self._predict_score_one: PredictScore | None = getattr(learner, "predict_score_one", None)

    def remember(self, written: Committed, snapshot: str) -> None:
        """Takes note that this is committed; of a new snapshot, that it has the model of this moment."""
        self.written = written
        if snapshot != self.snapshot:
            self._begin(snapshot)

    def _begin(self, snapshot: str) -> None:
        name = Name.parse(snapshot)
        self.name = snapshot.encode()
        self.snapshot, self.saved = snapshot, time.monotonic() - (max(0.0, time.time() - name.time) if name else 0.0)
        self.inputs, self.crc = 0, self._seed
        self.wants_snapshot = False
        self._learned: list[bytes | tuple[dict[str, Any], Any]] = []
        self._untried: dict[int, str] = {}

    @property
    def mark(self) -> Mark:
        """How far all has come that was answered, whether or not the model is there again."""
        return self.goal or Mark(self.position, self.inputs, self.crc, self.examples)

    def go_back(self, goal: Mark) -> None:
        """With the model of the snapshot in place, waits for the inputs that lead from there to the goal."""
        if goal.inputs:
            name = Name.parse(self.snapshot)
            assert name is not None
            self.goal, self.position, self.examples = goal, name.offset, name.examples
            self.inputs, self.crc = 0, self._seed

    def take_note(self, offset: int, value: bytes | None) -> None:
        """Moves past an input that was answered. Raises Elsewhere when the goal should be reached and is not."""
        self.position = offset + 1
        self.inputs += 1
        if not (self._rereads or self.goal):
            return  # the next commit writes a snapshot, from which no input comes again
        length = -1 if value is None else len(value)
        self.crc = crc32c.crc32c(value or b"", crc32c.crc32c(b"%d %d " % (offset, length), self.crc))
        if self.goal is not None and self.inputs == self.goal.inputs:
            if (self.crc, self.examples) != (self.goal.crc, self.goal.examples):
                raise Elsewhere(
                    f"the CRC of {self.inputs} inputs is {self.crc} instead of {self.goal.crc}, and {self.examples} "
                    f"examples were learned instead of {self.goal.examples}"
                )
            self.position = max(self.position, self.goal.position)
            self.goal = None

    def check_goal(self, position: int) -> None:
        """Raises Elsewhere when all has come again that there is before the position, and the goal is not reached."""
        if self.goal is not None and position >= self.goal.position:
            raise Elsewhere(f"{self.inputs} inputs came again instead of {self.goal.inputs}")

    @property
    def updates(self) -> int:
        """How often the model has moved."""
        return getattr(self._last, "n_updates", 0)

    def predict(self, features: dict[str, Any]) -> tuple[Any, Any]:
        """Returns prediction and score; nothing moves. Reject when a step cannot take the features."""
        if self._untried and (reason := self._untried.get(self.inputs)):
            raise Reject(reason)
        try:
            if self._predict_score_one is not None:
                return self._predict_score_one(features)
            return self.learner.predict_one(features), self.learner.score_one(features)
        except Exception as error:
            if not self._is_pure:
                self._rebuild(error)
            raise _reject(error, "features") from error

    def learn(self, features: dict[str, Any], label: Any, value: bytes | None = None) -> None:
        """Learns one example, or raises Reject with the model as it was, bit for bit.

        `value` is the input that `decode` reads it from: held until the next snapshot, it takes the least room.
        """
        try:
            if self._check_label is not None:
                self._check_label(label)
        except ValueError as error:
            raise _reject(error, "label") from error
        try:
            self.learner.learn_one(features, label)
        except Exception as error:
            self._rebuild(error)
            raise _reject(error, "features") from error
        if not self._rereads:
            self._learned.append((features, label) if value is None else value)
        self.examples += 1

    def _rebuild(self, error: Exception) -> None:
        """Builds the model again from its snapshot and what it has learned since: a step that raises may have moved.

        Where the inputs come again, the one that raised is then rejected without being tried.
        """
        reject = _reject(error, "features")
        if self._rereads and not isinstance(reject, Reject):
            raise reject
        self._take(self._load(self.snapshot))
        for held in self._learned:
            self.learner.learn_one(*(held if isinstance(held, tuple) else self.decode(held, "")[1:]))
        if self._rereads:
            self._untried[self.inputs] = str(reject)
            self.wants_snapshot = True
            self.go_back(self.mark)
            raise WentBack from error


def _reject(error: Exception, kind: str) -> Exception:
    if isinstance(error, MemoryError):
        return error
    said = str(error) or "no reason given"
    if isinstance(error, OverflowError):
        kind = "overflow"
    return Reject(said if isinstance(error, ValueError | OverflowError) else f"{type(error).__name__}: {said}", kind)
