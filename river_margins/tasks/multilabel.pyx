"""Any number of labels, each of which holds or not, one weight vector each."""

from collections.abc import Mapping

from libc.math cimport NAN, exp, nextafter

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, set_two
from river_margins.tasks.multiclass cimport Multiclass
from river_margins.tasks.labels import plain


cdef class Multilabel(Multiclass):
    """⟨w_r, x⟩ - ⟨w_s, x⟩ >= 1 for the lowest relevant label r and the highest irrelevant one s.

    y is a dict from labels to bools; a label that it does not name is neither. Of equal scores the label that stands
    first in y decides. `coming` holds what is new in the label of the round, in order, with the blocks it will have.
    """

    kind = "multilabel"

    def __init__(self, labels=()):
        super().__init__(labels)
        self.coming = {}

    cdef double code(self, object y) except? -1.0:
        if not isinstance(y, Mapping):
            raise ValueError(
                f"label {y!r}, of type {type(y).__name__}, is no dict from labels to bools, such as "
                "{'sport': True, 'music': False}"
            )
        for label, relevant in y.items():
            Multiclass.code(self, label)
            judged(label, relevant)
        return NAN

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        cdef Py_ssize_t block, lowest = -1, highest = -1
        cdef bint relevant, wrong = False
        cdef double score
        self.coming = {}
        for label, answer in y.items():
            label = plain(label)
            relevant = judged(label, answer)
            block = self.find(row, label)
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

    cdef Py_ssize_t find(self, Row row, object label) except -1:
        """The block of a label; one that is new comes after all others, where the score is 0."""
        cdef object known = self.block_of.get(label)
        cdef Py_ssize_t block
        if known is None:
            known = self.coming.get(label)
        if known is not None:
            return known
        block = self.blocks + len(self.coming)
        row.reserve_scores(block + 1)
        row.scores[block] = 0.0
        self.coming[label] = block
        return block

    cdef int accept(self, object y) except -1:
        cdef dict block_of = {**self.block_of, **self.coming}
        if len(block_of) > len(self.block_of):
            self.labels.extend(self.coming)
            self.block_of = block_of
            self.blocks = len(self.labels)
        return 0

    cdef object predict(self, Row row):
        cdef Py_ssize_t block
        return {self.labels[block]: row.scores[block] > 0.0 for block in range(len(self.labels))}

    cdef dict probabilities(self, Row row):
        cdef Py_ssize_t block
        return {self.labels[block]: likely(row.scores[block]) for block in range(len(self.labels))}


cdef bint judged(object label, object relevant) except -1:
    answer = plain(relevant)
    if not isinstance(answer, bool):
        raise ValueError(f"label {label!r} is {relevant!r}, of type {type(relevant).__name__}: True or False is needed")
    return answer


cdef dict likely(double score):
    cdef double chance
    if score > 0.0:
        # A score just above 0 must stay above one half: on a tie the argmax would take False.
        chance = max(1.0 / (1.0 + exp(-score)), nextafter(0.5, 1.0))
    else:
        chance = exp(score) / (1.0 + exp(score))
    return {False: 1.0 - chance, True: chance}
