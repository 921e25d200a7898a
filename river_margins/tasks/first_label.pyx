"""Classification with classes that are not known yet."""

from collections.abc import Mapping

from river_margins.core.reader cimport Row
from river_margins.tasks.base cimport Task
from river_margins.tasks.binary cimport Binary
from river_margins.tasks.multiclass cimport Multiclass
from river_margins.tasks.binary import binary_task
from river_margins.tasks.labels import plain


cdef class FirstLabel(Task):
    """The task of a classifier before its first label.

    If the first label is a bool, the task becomes `Binary`, with one weight vector; else it becomes `Multiclass`.

    Parameters
    ----------
    rivals
        As in `Multiclass`.
    """

    def __init__(self, rivals="max"):
        self.rivals = rivals
        self.undecided = True

    cdef Task decided_by(self, object y):
        return Binary(False, True) if isinstance(plain(y), bool) else Multiclass((), self.rivals)

    cdef Task with_one_vector(self, str learner):
        return Binary(False, True)

    cdef object predict(self, Row row):
        return None

    cdef object score(self, Row row):
        return {}

    cdef dict probabilities(self, Row row):
        # As River's classifiers of two labels: an active learner that asks where probabilities are equal must ask now.
        return {True: 0.5, False: 0.5}

    cdef object present(self, list values):
        return {}

    cdef Task named_by(self, weights):
        if not weights:
            return self
        if all(isinstance(vector, Mapping) and not isinstance(plain(label), bool) for label, vector in weights.items()):
            return Multiclass([plain(label) for label in weights], self.rivals)
        return Binary(False, True).named_by(weights)

    cdef list separate(self, weights):
        return []

    cdef Task restored(self, state):
        if state["labels"] is None:
            return self
        return binary_task(state["labels"]) if state["one_vector"] else Multiclass(state["labels"], self.rivals)
