"""Two classes with one weight vector."""

import numpy as np

from libc.math cimport exp, nextafter

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, set_one
from river_margins.tasks.base cimport Labels, Task
from river_margins.tasks.multiclass cimport Multiclass
from river_margins.core.checks import abridged
from river_margins.tasks.labels import is_missing, plain, same_kind


cdef class Binary(Labels):
    """Ask for ⟨w, x⟩ >= 1 if the label is the positive one, else for ⟨w, -x⟩ >= 1. A score of 0 predicts the positive one."""

    def __init__(self, negative, positive):
        self.negative = negative
        self.positive = positive
        self.labels = [negative, positive]
        self.blocks, self.by_sign = 1, True

    cdef double code(self, object y) except? -1.0:
        if y is self.positive:
            return 1.0
        if y is self.negative:
            return -1.0
        label = plain(y)
        if same_kind(label, self.positive) and not is_missing(label):
            if label == self.positive:
                return 1.0
            if label == self.negative:
                return -1.0
        if not hasattr(label, "__len__") and is_missing(label):  # an array cannot be compared, either
            raise ValueError(f"label {abridged(y)} is not a class: it stands for a missing label")
        raise ValueError(
            f"label {abridged(y)}, of type {type(y).__name__}, is neither {self.negative!r} nor {self.positive!r}, the two "
            "labels of this learner" + (
                ": it is for two classes only, or its first label was a bool; for two other labels, write "
                "classes=[negative, positive]"
                if self.positive is True else ""
            )
        )

    cdef Py_ssize_t place(self, double code) noexcept:
        return code > 0.0

    cdef object codes(self, object labels):
        if isinstance(labels, np.ndarray) and labels.dtype != object and same_kind(plain(labels[0]), self.positive):
            positive = labels == self.positive
            if (positive | (labels == self.negative)).all():
                codes = positive.astype(np.float64)  # 0 or 1, and -1 or 1 in place, because a new array takes longer
                codes *= 2.0
                codes -= 1.0
                return codes
        return Labels.codes(self, labels)

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        set_one(direction, 0, code)
        direction.target = 1.0
        direction.wrong = (row.scores[0] >= 0.0) != (code > 0.0)
        return True

    cdef object predict(self, Row row):
        return self.positive if row.scores[0] >= 0.0 else self.negative

    cdef object score(self, Row row):
        return row.scores[0]

    cdef dict probabilities(self, Row row):
        cdef double score = row.scores[0], likely
        if score >= 0.0:
            likely = 1.0 / (1.0 + exp(-score))
        else:
            # For a score just below 0 this quotient rounds to one half, and an argmax would take that for a tie.
            likely = min(exp(score) / (1.0 + exp(score)), nextafter(0.5, 0.0))
        return {self.positive: likely, self.negative: 1.0 - likely}

    # --------------------------------------------------------------------------------------------------- state

    cdef dict state(self):
        return {"labels": list(self.labels), "one_vector": True}

    cdef Task restored(self, state):
        if not state["one_vector"]:
            raise ValueError(f"the state has a weight vector for each label, but {self.labels!r} share one")
        return binary_task(state["labels"])


def binary_task(labels):
    """Return the task of two labels: False and True, or two different classes."""
    if not (len(labels) == 2 and all(isinstance(label, bool) for label in labels) and labels[0] != labels[1]):
        Multiclass(labels)  # which refuses what cannot be a class, and a class that is named twice
    return Binary(*labels)
