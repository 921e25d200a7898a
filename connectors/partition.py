"""One input partition: its model, how far it has read, and the checkpoint that holds both."""

from typing import Any

from river import base, compose

from connectors.kafka import Committed
from connectors.pointer import Pointer
from connectors.records import Reject

__all__ = ["Partition", "Pointer"]  # the pointer for whoever keeps a partition


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
    """

    def __init__(self, learner: Any, written: Committed, snapshot: str, examples: int, load: Any) -> None:
        self.position = written.offset
        self.examples = examples
        self._load = load
        self._take(learner)
        self.remember(written, snapshot)

    def _take(self, learner: Any) -> None:
        steps = list(learner.steps.values()) if isinstance(learner, compose.Pipeline) else [learner]
        self.learner = learner
        self._transformers, self._last = steps[:-1], steps[-1]
        self.is_regressor = isinstance(self._last, base.Regressor)
        # Some of River's transformers note a feature that they are only asked to transform.
        self._is_pure = all(type(step).__module__.startswith("river_margins") for step in self._transformers)

    def remember(self, written: Committed, snapshot: str) -> None:
        """Takes note that the model of this moment is in a snapshot that is committed."""
        self.written, self.snapshot = written, snapshot
        self._learned: list[tuple[dict[str, Any], Any]] = []

    @property
    def updates(self) -> int:
        """How often the model has moved."""
        return getattr(self._last, "n_updates", 0)

    def predict(self, features: dict[str, Any]) -> tuple[Any, Any]:
        """Returns prediction and score; nothing moves. Reject when a step cannot take the features."""
        try:
            for transformer in self._transformers:
                features = transformer.transform_one(features)
            return self._last.predict_one(features), self._last.score_one(features)
        except Exception as error:
            if not self._is_pure:
                self._rebuild()
            raise _reject(error, "features") from error

    def learn(self, features: dict[str, Any], label: Any) -> None:
        """Learns one example, or raises Reject with the model as it was, bit for bit."""
        try:
            if hasattr(self._last, "check_label"):
                self._last.check_label(label)
        except ValueError as error:
            raise _reject(error, "label") from error
        try:
            self.learner.learn_one(features, label)
        except Exception as error:
            self._rebuild()
            raise _reject(error, "features") from error
        self._learned.append((features, label))
        self.examples += 1

    def _rebuild(self) -> None:
        """Builds the model again from its snapshot and what it has learned since: a step that raises may have moved."""
        self._take(self._load(self.snapshot))
        for example in self._learned:
            self.learner.learn_one(*example)


def _reject(error: Exception, kind: str) -> Exception:
    if isinstance(error, MemoryError):
        return error
    said = str(error) or "no reason given"
    if isinstance(error, OverflowError):
        kind = "overflow"
    return Reject(said if isinstance(error, ValueError | OverflowError) else f"{type(error).__name__}: {said}", kind)
