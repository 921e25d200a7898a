"""A variance for each weight."""

import numpy as np

from libc.string cimport memcpy

from river_margins.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.gaussian cimport Block, Gaussian


cdef class Diagonal(Gaussian):
    """A weight and a variance for each feature: confidence at the price of plain weights.

    A variance shrinks to s/(1 + k·s·x²): the diagonal of Σ⁻¹ grows by that of k·xx'.

    Parameters
    ----------
    a
        The variance of a weight before anything is learned of it, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.AROWRule(), rm.Diagonal())
    >>> model.learn_one({"a": 1.0}, True)
    >>> dict(model.weights)
    {'a': 0.5}
    """

    cdef Py_ssize_t cells(self, Py_ssize_t capacity) noexcept:
        return capacity

    cdef void begin(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        cdef Py_ssize_t i
        for i in range(capacity):
            block.variance[i] = self.a
        if old != NULL and self.capacity:
            memcpy(block.variance, old.variance, self.capacity * sizeof(double))

    cdef double variance(self, const Block* block, Row row) noexcept:
        cdef double even = 0.0, odd = 0.0
        cdef const double* variance = block.variance
        cdef Py_ssize_t i
        # Two sums, because one would wait for its own last addition.
        for i in range(0, row.known - 1, 2):
            even += variance[row.index[i]] * row.value[i] * row.value[i]
            odd += variance[row.index[i + 1]] * row.value[i + 1] * row.value[i + 1]
        if row.known & 1:
            i = row.known - 1
            even += variance[row.index[i]] * row.value[i] * row.value[i]
        return even + odd

    cdef double foreseen_score(self, const Block* block, Row row) noexcept:
        cdef double x, s, score = 0.0
        cdef double k = self.foreseeing.foresee(block.unit * (self.variance(block, row) + self.fresh_variance(row)))
        cdef Py_ssize_t i
        for i in range(row.known):
            x, s = row.value[i], block.unit * block.variance[row.index[i]]
            score += s * block.mean[row.index[i]] * x / (1.0 + k * s * x * x)
        return score

    cdef void shift(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        cdef double x, s
        cdef double along = step.step * coefficient, shrink = step.shrink * coefficient * coefficient
        cdef double unit = block.unit
        cdef bint natural = self.foreseeing is not None
        cdef Py_ssize_t i
        for i in range(row.known):
            x, s = row.value[i], block.variance[row.index[i]]
            block.mean[row.index[i]] += along * (x if natural else unit * s * x)
            block.variance[row.index[i]] = s / (1.0 + shrink * (unit * s * x) * x)

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        return block.mean[index] * (1.0 if self.foreseeing is None else block.unit * block.variance[index])

    cdef object variances(self, const Block* block):
        variances = np.empty(self.reader.size())
        cdef double[::1] view = variances
        cdef Py_ssize_t i
        for i in range(variances.shape[0]):
            view[i] = block.variance[i]
        return variances

    cdef int take_variances(self, Block* block, object variances) except -1:
        cdef Py_ssize_t i
        if variances.shape != (self.reader.size(),) or not (0 <= variances).all() or not (variances <= self.a).all():
            raise ValueError(f"a variance from 0 to {self.a} is needed for each of {self.reader.size()} features")
        cdef const double[::1] view = variances
        for i in range(view.shape[0]):
            block.variance[i] = view[i]
        return 0
