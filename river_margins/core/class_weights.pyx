"""The weights of classes, which multiply sample weights."""

import warnings
from collections.abc import Mapping

from river_margins.tasks.base cimport Labels, Task

from river_margins.core.checks import positive
from river_margins.tasks.labels import plain


cdef class ClassWeights:
    """The weight of each class in a learner: given, or by how often each label was seen.

    Parameters
    ----------
    parameter
        A mapping from labels to weights > 0, in which a missing label has the weight 1. Or "balanced": n/(k·n_y) for the
        label y, at most n_y, where n examples with k different labels were seen, n_y of them with y; the present one
        counts.
    """

    def __init__(self, parameter):
        self.balanced = isinstance(parameter, str) and parameter == "balanced"
        if not (self.balanced or isinstance(parameter, Mapping)):
            raise ValueError(
                f"`class_weight` must be None, 'balanced' or a mapping from labels to weights, not {parameter!r}"
            )
        # A copy: whoever changes the given mapping later does not change the learner.
        self.parameter = parameter if self.balanced else {
            plain(label): plain(positive(f"class_weight[{label!r}]", weight)) for label, weight in parameter.items()
        }
        self.checked = self.balanced
        self.counts = []

    cdef int check_labels(self, Task task) except -1:
        """Raise ValueError for a label that the task can never take, because its weight would have no effect."""
        if self.checked or task.undecided:
            return 0
        for label in self.parameter:
            try:
                task.code(label)
            except ValueError as error:
                raise ValueError(f"`class_weight`: {error}") from None
        self.checked = True
        return 0

    cdef double weight(self, Task task, object y, Py_ssize_t place) except -1.0:
        """Return the weight of the label at a place in the labels of a task; a new label y has the place after the last."""
        cdef list labels
        cdef long long own = 1
        if self.balanced:
            if place < len(self.counts):
                own += <long long> self.counts[place]
            # The first example of a label that comes late would weigh n/k, and few learners recover from such a step.
            return min(<double> (self.examples + 1) / (<double> (self.kinds + (own == 1)) * own), <double> own)
        self.check_labels(task)
        labels = (<Labels> task).labels
        if place < len(labels):
            return self.parameter.get(labels[place], 1.0)
        label = plain(y)
        if label not in self.parameter and (alike := [key for key in self.parameter if str(key) == str(label)]):
            warnings.warn(
                f"`class_weight` has the label {alike[0]!r}, and this label is {label!r}: its weight has no effect; write both in "
                "the same way",
                stacklevel=1,
            )
        return self.parameter.get(label, 1.0)

    cdef int count(self, Py_ssize_t place) except -1:
        """Count an example that was learned."""
        if self.balanced:
            while len(self.counts) <= place:
                self.counts.append(0)
            self.kinds += self.counts[place] == 0
            self.counts[place] += 1
            self.examples += 1
        return 0

    cdef dict state(self):
        """Return this object's part of a learner's state."""
        return {"class_counts": list(self.counts)} if self.balanced else {}

    cdef int restore(self, dict state) except -1:
        """Count as in a learner's state, whose labels are checked already."""
        cdef list counts
        if not self.balanced:
            return 0
        counts = list(state.get("class_counts", ()))  # for a learner that had none they begin here
        if len(counts) > len(state["labels"] or ()) or not all(type(each) is int and each >= 0 for each in counts):
            raise ValueError(f"`class_counts` must be a count for each of the labels {state['labels']!r}, not {counts!r}")
        self.examples, self.kinds = sum(counts), sum([each > 0 for each in counts])
        self.counts = counts
        return 0
