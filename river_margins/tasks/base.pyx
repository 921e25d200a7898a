"""What a label demands of the weights: a half-space they should lie in, and how scores become a prediction."""

import numpy as np

from river_margins.rules.base cimport Seen
from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction


cdef class Task:
    """Turns a label into a direction and a target, and scores into a prediction.

    `blocks` is the number of weight vectors it needs, `kind` what a rule calls it that says which tasks it suits.
    """

    kind = "classification"

    cdef double code(self, object y) except? -1.0:
        """The label as a number, NaN where it is none (a class that is new); refuses a label the task cannot take."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say which labels it takes")

    cdef object codes(self, object labels):
        """The codes of a sequence of labels, as an array."""
        return np.array([self.code(y) for y in labels])

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        """State the half-space of the row and its label; False if the label demands nothing.

        The code says it all unless it is NaN: only then is y sure to be the label.
        """
        return False

    cdef bint mistaken(self, Seen seen) noexcept:
        """Whether the round counts as a mistake in the bounds."""
        return seen.margin <= 0.0

    cdef int accept(self, object y) except -1:
        """Register a new label; called when nothing can fail any more."""
        return 0

    cdef object predict(self, Row row):
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it predicts")

    cdef object score(self, Row row):
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it scores")


cdef class Labels(Task):
    """A task whose labels are classes, in the fixed order that breaks ties."""

    cdef dict probabilities(self, Row row):
        """Scores squashed into (0, 1), summing to 1: uncalibrated."""
        raise NotImplementedError(f"`{type(self).__name__}` has no probabilities")
