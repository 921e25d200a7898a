"""Counts of the work of a processor."""

import bisect
import math
import time
from collections import Counter, deque
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

LAST_REJECTS = 20
LAST_SCORES = 1000
DELAYS = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0, math.inf)  # seconds


class LastReject(NamedTuple):
    """A record or label that was rejected: when (seconds since 1970), which one, and why."""

    time: float
    source: str
    kind: str
    reason: str


@dataclass
class Counts:
    """Counts of records, by what was done with them.

    Attributes
    ----------
    read, predicted, learned, rejected
        Records. Each one that was read was predicted or rejected, or both: predicted, and rejected because it could not
        be learned.
    shortened, unsent
        Outputs that were too large for the broker: replaced by a short one, or left out because that was too large too.
    snapshots, checkpoints
        Snapshots written, and commits made.
    reasons
        Rejected records by the kind of their reason.
    classes
        Predictions by class, in the order of their first appearance; the class is None before the first label.
    judged, right, error
        Predictions whose label was learned afterwards; how many of them were right; for numbers, the sum of their
        absolute errors.
    labels
        Records of labels that came later. Those that were rejected count as `rejected`, by their reason.
    early
        Labels that came before their record.
    expired, displaced
        Records that waited too long for their label, and those that were evicted because too many waited.
    delays, delay
        Late labels that were learned or refused, by how long after their record they came: the smallest limit of
        `DELAYS` in seconds that was not exceeded, and the sum of all delays in seconds. A label that came before its
        record has a delay of 0.
    queries, withheld
        Records whose label was asked for, and those whose label the sampler asked for beyond `queries.at_most`.
    last_rejects, last_scores
        The last `LAST_REJECTS` rejects, and the scores of the last `LAST_SCORES` predictions. Where each class has a
        score, it is that of the predicted class.

    >>> Counts(read=2, predicted=2) + Counts(read=1, rejected=1)
    Counts(read=3, predicted=2, learned=0, rejected=1, shortened=0, unsent=0, snapshots=0, checkpoints=0)
    >>> print(Counts(read=2, predicted=2))
    read=2 predicted=2 learned=0 rejected=0 shortened=0 unsent=0 snapshots=0 checkpoints=0
    """

    read: int = 0
    predicted: int = 0
    learned: int = 0
    rejected: int = 0
    shortened: int = 0
    unsent: int = 0
    snapshots: int = 0
    checkpoints: int = 0
    reasons: Counter[str] = field(default_factory=Counter, repr=False, compare=False)
    classes: Counter[Any] = field(default_factory=Counter, repr=False, compare=False)
    judged: int = field(default=0, repr=False, compare=False)
    right: int = field(default=0, repr=False, compare=False)
    error: float = field(default=0.0, repr=False, compare=False)
    labels: int = field(default=0, repr=False, compare=False)
    early: int = field(default=0, repr=False, compare=False)
    expired: int = field(default=0, repr=False, compare=False)
    displaced: int = field(default=0, repr=False, compare=False)
    delays: Counter[float] = field(default_factory=Counter, repr=False, compare=False)
    delay: float = field(default=0.0, repr=False, compare=False)
    queries: int = field(default=0, repr=False, compare=False)
    withheld: int = field(default=0, repr=False, compare=False)
    last_rejects: deque[LastReject] = field(
        default_factory=lambda: deque(maxlen=LAST_REJECTS), repr=False, compare=False
    )
    last_scores: deque[Any] = field(default_factory=lambda: deque(maxlen=LAST_SCORES), repr=False, compare=False)

    def __str__(self) -> str:
        """Return the counts as words of a line of the log."""
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(Counts) if field.repr)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Counts)))

    def add_prediction(self, prediction: Any, score: Any, label: Any, is_number: bool) -> None:
        """Count a record that was predicted and, unless its label is None, learned."""
        self.read += 1
        self.predicted += 1
        self.last_scores.append(score.get(prediction) if type(score) is dict else score)
        if not is_number:
            self.classes[prediction] = self.classes.get(prediction, 0) + 1  # half the time of `+= 1` on a Counter
        if label is not None:
            self.add_learned(prediction, label, is_number)

    def add_plain(self, read: int, learned: int, judged: int, right: int, error: float) -> None:
        """Count records that were predicted, and those that were learned; `error` is the new sum of absolute errors.

        Their classes and scores are noted already.
        """
        self.read += read
        self.predicted += read
        self.learned += learned
        self.judged += judged
        self.right += right
        self.error = error

    def add_learned(self, prediction: Any, label: Any, is_number: bool) -> None:
        """Count a record, counted as predicted already, that was learned, and judge its prediction."""
        self.learned += 1
        if prediction is None:  # as in River, a model that predicts nothing yet is not judged
            return
        self.judged += 1
        if is_number:
            self.error += abs(prediction - label)
        elif prediction == label:
            self.right += 1

    def add_reject(self, kind: str, source: str, reason: str) -> None:
        """Count a record from a source that was rejected for a reason of this kind."""
        self.read += 1
        self.add_unlearned(kind, source, reason)

    def add_unlearned(self, kind: str, source: str, reason: str) -> None:
        """Count a record, counted as predicted already, that was rejected because it could not be learned."""
        self.rejected += 1
        self.reasons[kind] += 1
        self.last_rejects.append(LastReject(time.time(), source, kind, reason))

    @property
    def unteachable(self) -> int:
        """How many records had a label, and were rejected because it, or their weight, cannot be learned."""
        return self.reasons["label"] + self.reasons["weight"]

    def add_delay(self, milliseconds: int) -> None:
        """Count a late label that came so long after its record."""
        seconds = max(0, milliseconds) / 1000
        limit = DELAYS[bisect.bisect_left(DELAYS, seconds)]
        self.delays[limit] = self.delays.get(limit, 0) + 1
        self.delay += seconds

    def add_shortened(self) -> None:
        """Count an output that was too large for the broker and replaced by a short one."""
        self.shortened += 1

    def add_unsent(self) -> None:
        """Count an output of which not even a short one was small enough."""
        self.unsent += 1

    def add_commit(self, snapshots: int) -> None:
        """Count a commit that wrote so many snapshots."""
        self.checkpoints += 1
        self.snapshots += snapshots

    @property
    def accuracy(self) -> float | None:
        """The fraction of judged predictions that were right; None before the first one."""
        return self.right / self.judged if self.judged else None

    @property
    def mean_error(self) -> float | None:
        """The mean absolute error of judged predictions; None before the first one."""
        return self.error / self.judged if self.judged else None
