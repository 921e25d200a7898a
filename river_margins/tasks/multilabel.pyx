"""Any number of labels, of which each is relevant or not, each with a weight vector."""

from collections.abc import Mapping

from libc.math cimport NAN, exp, isnan, nextafter

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, set_two
from river_margins.tasks.base cimport Labels, Task
from river_margins.tasks.multiclass cimport Multiclass
from river_margins.core.checks import abridged
from river_margins.tasks.labels import check_text, check_together, plain


cdef class Multilabel(Multiclass):
    """Ask for ⟨w_r, x⟩ - ⟨w_s, x⟩ >= 1, where r is the lowest relevant label and s the highest irrelevant one.

    y is a dict from labels to bools. A label that y does not name is neither relevant nor irrelevant. Of equal scores the
    label that comes first in y is taken. `new_labels` has the labels that are new in this round, with their future blocks.
    """

    kind = "multilabel"

    def __init__(self, labels=()):
        super().__init__(labels)
        self.new_labels = {}

    cdef double code(self, object y) except? -1.0:
        cdef list new = []
        if not isinstance(y, Mapping):
            raise ValueError(
                f"label {abridged(y)}, of type {type(y).__name__}, is not a dict from labels to bools, such as "
                "{'sport': True, 'music': False}"
            )
        for label, relevant in y.items():
            if isnan(Multiclass.code(self, label)):
                check_text(plain(label), new)  # which are not among the labels of this task yet
                new.append(plain(label))
            is_relevant(label, relevant)
        return NAN

    cdef object codes(self, object labels):
        codes = Labels.codes(self, labels)
        check_together([(i, plain(label)) for i, y in enumerate(labels) for label in y])
        return codes

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        cdef Py_ssize_t block, lowest = -1, highest = -1
        cdef bint relevant, wrong = False
        cdef double score
        self.new_labels = {}
        for label, answer in y.items():
            label = plain(label)
            relevant = is_relevant(label, answer)
            block = self.block_of_label(row, label)
            score = row.scores[block]
            wrong |= (score > 0.0) != relevant
            if relevant:
                if lowest < 0 or score < row.scores[lowest]:
                    lowest = block
            elif highest < 0 or score > row.scores[highest]:
                highest = block
        if lowest < 0 or highest < 0:
            return False
        set_two(direction, lowest, highest)
        direction.target = 1.0
        direction.wrong = wrong
        return True

    cdef Py_ssize_t block_of_label(self, Row row, object label) except -1:
        """Return the block of a label. A new label gets the next block, where the score is 0."""
        cdef object known = self.block_of.get(label)
        cdef Py_ssize_t block
        if known is None:
            known = self.new_labels.get(label)
        if known is not None:
            return known
        block = self.blocks + len(self.new_labels)
        row.reserve_scores(block + 1)
        row.scores[block] = 0.0
        self.new_labels[label] = block
        return block

    cdef int accept(self, object y) except -1:
        cdef dict block_of = {**self.block_of, **self.new_labels}
        if len(block_of) > len(self.block_of):
            self.labels.extend(self.new_labels)
            self.block_of = block_of
            self.blocks = len(self.labels)
        return 0

    cdef object predict(self, Row row):
        cdef Py_ssize_t block
        return {self.labels[block]: row.scores[block] > 0.0 for block in range(len(self.labels))}

    cdef dict probabilities(self, Row row):
        cdef Py_ssize_t block
        return {self.labels[block]: bool_probabilities(row.scores[block]) for block in range(len(self.labels))}

    # --------------------------------------------------------------------------------------------------- state

    cdef Task restored(self, state):
        return Multilabel(state["labels"])


cdef bint is_relevant(object label, object relevant) except -1:
    """Return the bool that y holds for a label; raise ValueError if it is anything else."""
    answer = plain(relevant)
    if not isinstance(answer, bool):
        raise ValueError(f"label {label!r} is {relevant!r}, of type {type(relevant).__name__}: True or False is needed")
    return answer


cdef dict bool_probabilities(double score):
    cdef double chance
    if score > 0.0:
        # For a score just above 0 this quotient rounds to one half, and an argmax takes False on a tie.
        chance = max(1.0 / (1.0 + exp(-score)), nextafter(0.5, 1.0))
    else:
        chance = exp(score) / (1.0 + exp(score))
    return {False: 1.0 - chance, True: chance}
