"""What a processor has done, as numbers."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class Counts:
    """What a processor has done, committed work only.

    Attributes
    ----------
    reasons
        Rejected records by the kind of their reason.
    classes
        Predictions by class, in the order of their first appearance; None before the first label.
    judged, right, error
        Predictions made before their label was learned, how many of them were right, and for numbers the sum of how far
        they were off.

    >>> Counts(read=2, predicted=2) + Counts(read=1, rejected=1)
    Counts(read=3, predicted=2, learned=0, rejected=1, shortened=0, unsent=0, snapshots=0, checkpoints=0)
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

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Counts)))

    def judge(self, prediction: Any, label: Any, is_number: bool) -> None:
        """Takes note of a prediction and, unless it is None, of the label that was not known to it."""
        if not is_number:
            self.classes[prediction] = self.classes.get(prediction, 0) + 1  # half the time of `+= 1` on a Counter
        if label is None or prediction is None:  # as River does, a model that says nothing yet is not judged
            return
        self.judged += 1
        if is_number:
            self.error += abs(prediction - label)
        elif prediction == label:
            self.right += 1

    @property
    def accuracy(self) -> float | None:
        """The part of the judged predictions that was right; None before the first."""
        return self.right / self.judged if self.judged else None

    @property
    def mean_error(self) -> float | None:
        """How far predictions were off on average; None before the first judged one."""
        return self.error / self.judged if self.judged else None
