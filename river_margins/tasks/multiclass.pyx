"""Any number of classes, each with a weight vector."""

import warnings
from collections.abc import Mapping

import numpy as np

from libc.math cimport NAN, exp, isfinite, isnan

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, Term, set_two
from river_margins.tasks.base cimport Labels, Task
from river_margins.core.checks import abridged, are_numbers
from river_margins.tasks.labels import check_text, check_together, is_missing, plain


cdef double BELOW_1 = 1.0 - 2.0**-51  # by so much that it stays below when both are divided by the same number


cdef int MANY_FRACTIONS = 50  # different labels; ratings such as 3.5 are fewer


cdef inline bint has_fraction(label):
    return type(label) is float and isfinite(<double> label) and not label.is_integer()


cdef class Multiclass(Labels):
    """Ask for ⟨w_y, x⟩ - ⟨w_s, x⟩ >= 1, where s is the best-scoring wrong class. Of equal scores the earlier class is taken.

    Parameters
    ----------
    labels
        The classes that are known beforehand, in order.
    rivals
        "max" (default): s alone moves down. "uniform": all classes that score at least as high as y move down, in equal
        shares. "proportional": the same, in shares proportional to their lead over y.
    """

    def __init__(self, labels=(), rivals="max"):
        self.rivals = rivals
        self.all_rivals, self.in_proportion = rivals != "max", rivals == "proportional"
        self.labels = []
        self.block_of = {}
        for label in labels:
            if isnan(Multiclass.code(self, label)):
                Multiclass.accept(self, label)
        if len(self.labels) != len(labels):
            raise ValueError(f"`classes` must all be different, not {labels!r}")

    cdef double code(self, object y) except? -1.0:
        label = y if type(y) is str or type(y) is int else plain(y)
        if isinstance(label, bool):
            others = f", but the labels of this learner are {self.labels!r}" if self.labels else (
                "; write another, such as 1 in place of True"
            )
            raise ValueError(
                f"label {abridged(label)} is a bool{others}: bools and other labels do not mix in one learner, and its first "
                "label decides"
            )
        try:
            block = self.block_of.get(label)
        except TypeError as error:
            raise ValueError(f"label {abridged(label)}, of type {type(y).__name__}, cannot be a class: it is not hashable") from error
        if block is not None:
            return block
        if is_missing(label):
            raise ValueError(f"label {abridged(label)} is not a class: it stands for a missing label")
        check_text(label, self.labels)
        if len(self.labels) == MANY_FRACTIONS and all([has_fraction(each) for each in [label, *self.labels]]):
            warnings.warn(
                f"{MANY_FRACTIONS} classes so far, all numbers with a fraction, and each new one costs more: to predict numbers, "
                "take a regressor, such as AutoRegressor or PARegressor",
                stacklevel=1,
            )
        return NAN

    cdef object codes(self, object labels):
        if are_numbers(labels):
            known = np.unique(labels)
            try:
                return np.array([self.code(label) for label in known.tolist()])[np.searchsorted(known, labels)]
            except ValueError:
                pass  # what follows raises it again, and names the row
        codes = Labels.codes(self, labels)
        # New labels must go together with each other, too. Else the first would be learned before the second is refused.
        rows = {}
        for i in np.flatnonzero(np.isnan(codes)).tolist():
            rows.setdefault(plain(labels[i]), i)
        check_together([(i, label) for label, i in rows.items()])
        return codes

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        # A new label gets the block after the last one, where the score is 0.
        cdef Py_ssize_t block, true = self.blocks if isnan(code) else <Py_ssize_t> code, rival = -1, best = -1
        for block in range(max(self.blocks, true + 1)):
            if best < 0 or row.scores[block] > row.scores[best]:
                best = block
            if block != true and (rival < 0 or row.scores[block] > row.scores[rival]):
                rival = block
        if rival < 0:
            return False
        if not (self.all_rivals and self.share_among_rivals(row, true, max(self.blocks, true + 1), direction)):
            set_two(direction, true, rival)
        direction.target = 1.0
        direction.wrong = best != true or true == self.blocks
        return True

    cdef bint share_among_rivals(self, Row row, Py_ssize_t true, Py_ssize_t known, Direction direction) except -1:
        """Move the true class up, and down those that score as high or higher, with shares that add up to 1.

        Return False if no class scores as high.
        """
        cdef Py_ssize_t block, i, count = 1
        cdef double lead, total = 0.0
        direction.reserve(known)
        for block in range(known):
            lead = row.scores[block] - row.scores[true]
            if block != true and lead >= 0.0:
                direction.terms[count] = Term(block, -lead)
                total += lead
                count += 1
        for i in range(1, count):
            if self.in_proportion and total > 0.0:
                direction.terms[i].coefficient /= total
            else:
                direction.terms[i].coefficient = -1.0 / (count - 1)
        direction.terms[0] = Term(true, 1.0)
        direction.length = count
        direction.pull = 0.0
        return count > 1

    cdef int accept(self, object y) except -1:
        label = plain(y)
        if label not in self.block_of:
            self.block_of[label] = len(self.labels)
            self.labels.append(label)
        self.blocks = len(self.labels)
        return 0

    cdef object predict(self, Row row):
        cdef Py_ssize_t block, best = 0
        if not self.labels:
            return None
        for block in range(1, len(self.labels)):
            if row.scores[block] > row.scores[best]:
                best = block
        return self.labels[best]

    cdef object score(self, Row row):
        cdef Py_ssize_t block
        return {self.labels[block]: row.scores[block] for block in range(len(self.labels))}

    cdef dict probabilities(self, Row row):
        cdef Py_ssize_t block
        cdef double highest, total = 0.0
        cdef list shares = []
        if not self.labels:
            return {}
        highest = max([row.scores[block] for block in range(len(self.labels))])
        for block in range(len(self.labels)):
            # Just below the highest score the exponential rounds to 1, and an argmax would take that for a tie.
            shares.append(1.0 if row.scores[block] == highest else min(exp(row.scores[block] - highest), BELOW_1))
            total += <double> shares[block]
        return {self.labels[block]: <double> shares[block] / total for block in range(len(self.labels))}

    cdef object present(self, list values):
        return dict(zip(self.labels, values, strict=True))

    cdef Task named_by(self, weights):
        if not all(isinstance(vector, Mapping) for vector in weights.values()):
            raise ValueError("each label has a weight vector here: give the weights as {label: {feature: weight}}")
        new = [plain(label) for label in weights if plain(label) not in self.block_of]
        return self.restored({"labels": [*self.labels, *new], "one_vector": False})

    cdef list separate(self, weights):
        return [weights.get(label, {}) for label in self.labels]

    # --------------------------------------------------------------------------------------------------- state

    cdef Task with_one_vector(self, str learner):
        raise ValueError(f"`{learner}` is for two classes, and `classes` names {len(self.labels)}")

    cdef Task restored(self, state):
        if state["one_vector"]:
            raise ValueError(f"the state has one weight vector for {state['labels']!r}, but here each label has its own")
        return self if state["labels"] is None else Multiclass(state["labels"], self.rivals)
