"""A variance for each weight."""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from river_margins.kernels cimport (
    add_multiple, dot, dot_at, dot_surer, dot_surer_at, multiply, multiply_at, shrink_diagonal, shrink_diagonal_at,
    variance_along, variance_along_at,
)
from river_margins.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.gaussian cimport Block, Gaussian, scratch


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
        cdef double* along = scratch(row)
        if row.consecutive:
            return variance_along(along, block.variance, row.value, row.known)
        return variance_along_at(along, block.variance, row.index, row.value, row.known)

    cdef double foreseen_score(self, const Block* block, Row row, double variance) noexcept:
        cdef double k = self.foreseeing.foresee(variance), score
        cdef double* along = scratch(row)  # where `variance` has left Σx
        cdef double* left = along + row.known
        if k == 0.0 and row.consecutive:
            score = dot(block.mean, along, row.known)
        elif k == 0.0:
            score = dot_at(block.mean, row.index, along, row.known)
        elif row.consecutive:
            score = dot_surer(left, block.mean, row.value, block.unit * k, k * variance, along, row.known)
        else:
            score = dot_surer_at(left, block.mean, row.index, row.value, block.unit * k, k * variance, along, row.known)
        if k > 0.0 and self.blocks == 1 and block.unit == 1.0 and not row.fresh:
            row.evaluations[0] = k
        return block.unit * score

    cdef void shift(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        cdef double along = step.step * coefficient, shrink = step.shrink * coefficient * coefficient
        cdef double unit = block.unit
        cdef double* mean = block.mean
        cdef const double* variance = block.variance
        cdef const double* value = row.value
        cdef const int32_t* index = row.index
        cdef Py_ssize_t i
        if self.foreseeing is not None and row.consecutive:
            add_multiple(mean, value, along, row.known)
        elif self.foreseeing is not None:
            for i in range(row.known):
                mean[index[i]] += along * value[i]
        elif row.consecutive:
            for i in range(row.known):
                mean[i] += along * (unit * variance[i] * value[i])
        else:
            for i in range(row.known):
                mean[index[i]] += along * (unit * variance[index[i]] * value[i])
        if shrink == row.evaluations[0] and row.consecutive:  # the score has made these divisions
            multiply(block.variance, scratch(row) + row.known, row.known)
        elif shrink == row.evaluations[0]:
            multiply_at(block.variance, index, scratch(row) + row.known, row.known)
        elif row.consecutive:
            shrink_diagonal(block.variance, value, unit, shrink, row.known)
        else:
            shrink_diagonal_at(block.variance, index, value, unit, shrink, row.known)

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
