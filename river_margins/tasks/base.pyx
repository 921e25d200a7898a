"""The task: the half-space that a label asks for, and the prediction that follows from scores."""

from collections.abc import Mapping

import numpy as np

from libc.math cimport isnan

from river_margins.rules.base cimport Seen
from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction


cdef class Task:
    """Turn a label into a direction and a target, and scores into a prediction.

    `blocks` is the number of weight vectors that the task needs. `kind` is the name of the task in the `tasks` of a rule.
    A task also owns what it learns of labels: their order, and their part of a learner's state. A learner asks for all of
    this here, so a new task changes no other file.
    """

    kind = "classification"

    # ------------------------------------------------------------------------------------------------- a round

    cdef double code(self, object y) except? -1.0:
        """Return the label as a number, or NaN for a label that no number stands for, such as a new class.

        Raise ValueError for a label that the task cannot take.
        """
        raise NotImplementedError(f"`{type(self).__name__}` must implement `code`, which turns a label into a number")

    cdef object codes(self, object labels):
        """Return the codes of a sequence of labels, as an array; raise ValueError, naming the row."""
        cdef list codes = []
        for y in labels:
            try:
                codes.append(self.code(y))
            except ValueError as error:
                raise ValueError(f"row {len(codes)} of the batch: {error}") from error
        return np.array(codes)

    cdef Py_ssize_t place(self, double code) noexcept:
        """Return the place of the label with this code among the labels; for a new label, the place after the last.

        Called only if classes have weights.
        """
        return self.blocks if isnan(code) else <Py_ssize_t> code

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        """Fill `direction` with the half-space of this row and label; return False if the label asks for nothing.

        `y` is None in some calls. Read it only if `code` is NaN.
        """
        return False

    cdef bint mistaken(self, Seen seen) noexcept:
        """Return whether the round counts as a mistake in the mistake bounds."""
        return seen.margin <= 0.0

    cdef int accept(self, object y) except -1:
        """Add a new label. The learner calls this after every check, so it must not fail."""
        return 0

    # -------------------------------------------------------------------------------------------- predictions

    cdef object predict(self, Row row):
        raise NotImplementedError(f"`{type(self).__name__}` must implement `predict`, which reads the scores of a row")

    cdef object score(self, Row row):
        raise NotImplementedError(f"`{type(self).__name__}` must implement `score`, which returns the scores of a row")

    cdef dict probabilities(self, Row row):
        """Return the scores squashed into (0, 1), by label. They are not calibrated."""
        raise NotImplementedError(f"`{type(self).__name__}` has no probabilities")

    cdef object present(self, list values):
        """Return one value for each block in the form that users see: the value itself if there is one block."""
        return values[0]

    cdef Task named_by(self, weights):
        """Return the task for weights that a user sets, in the form of `present`: with the labels that these name."""
        if any(isinstance(vector, Mapping) for vector in weights.values()):
            raise ValueError("this learner has one weight vector: give its weights as {feature: weight}, without labels")
        return self

    cdef list separate(self, weights):
        """Return the weight vector of each block."""
        return [weights]

    # ------------------------------------------------------------------------------- labels that are not known yet

    cdef Task decided_by(self, object y):
        """Return the task to use from the first label on. Called only if `undecided` is set."""
        return self

    cdef Task with_one_vector(self, str learner):
        """Return this task in the form that needs one weight vector; raise ValueError, naming the learner, if none does."""
        return self

    # --------------------------------------------------------------------------------------------------- state

    cdef Task updated(self, Task fresh):
        """Return the task with the parameters of `fresh` and the labels that this one has learned."""
        return fresh

    cdef dict state(self):
        """Return this task's part of a learner's state."""
        return {"labels": None, "one_vector": False}

    cdef Task restored(self, state):
        """Return the task that `state` describes, with the parameters of this one."""
        if state["labels"] is not None:
            raise ValueError(f"the state has the labels {state['labels']!r}, but a task of kind {self.kind!r} has none")
        return self


cdef class Labels(Task):
    """A task whose labels are classes. `labels` has them in the order that breaks ties."""

    cdef Task updated(self, Task fresh):
        return self

    cdef dict state(self):
        return {"labels": list(self.labels), "one_vector": False}
