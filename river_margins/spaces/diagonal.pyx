"""Weights with a variance each."""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy

from river_margins.core.kernels cimport (
    dot, dot_at, lookahead_dot, lookahead_dot_at, move_and_shrink, move_and_shrink_at, variance_along, variance_along_at,
)
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.gaussian cimport Block, Gaussian, scratch


cdef class Diagonal(Gaussian):
    """A weight and a variance for each feature: a covariance that costs little more than plain weights.

    A variance s becomes s/(1 + k·s·x²): the diagonal of Σ⁻¹ grows by the diagonal of k·xx'.

    Parameters
    ----------
    a
        The variance of a weight before its first update, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.AROWRule(), rm.Diagonal(), intercept=False)
    >>> model.learn_one({"a": 1.0}, True)
    >>> dict(model.weights)
    {'a': 0.5}
    """

    cdef Py_ssize_t covariance_length(self, Py_ssize_t capacity) noexcept:
        return capacity

    cdef void start_covariance(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        cdef Py_ssize_t i
        for i in range(capacity):
            block.variance[i] = self.a
        if old != NULL and self.capacity:
            memcpy(block.variance, old.variance, self.capacity * sizeof(double))

    cdef double variance(self, const Block* block, Row row) noexcept:
        cdef double* along = scratch(row)
        cdef double* terms = along + row.known
        row.evaluations[0] = block - self.block
        if row.consecutive:
            return variance_along(along, terms, block.variance, row.value, row.known)
        return variance_along_at(along, terms, block.variance, row.index, row.value, row.known)

    cdef double lookahead_score(self, const Block* block, Row row, double variance) noexcept:
        cdef double r = self.lookahead_rule.lookahead_r(variance), score
        cdef const double* along = scratch(row)  # `variance` has left Σx here, and the terms of x'Σx behind it
        cdef const double* terms = along + row.known
        if block.unit != 1.0:
            r, variance = r / block.unit, variance / block.unit
        if r == INFINITY and row.consecutive:
            score = dot(block.mean, along, row.known)
        elif r == INFINITY:
            score = dot_at(block.mean, row.index, along, row.known)
        elif row.consecutive:
            score = lookahead_dot(block.mean, along, terms, r, variance, row.known)
        else:
            score = lookahead_dot_at(block.mean, row.index, along, terms, r, variance, row.known)
        return block.unit * score

    cdef void move_block(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        cdef double length = step.step * coefficient
        cdef double k = block.unit * step.shrink * coefficient * coefficient, most = step.shrink * seen.gain
        if row.evaluations[0] != block - self.block:  # the last measure was for another block or without the new features
            self.variance(block, row)
        row.evaluations[0] = NAN
        cdef const double* towards = scratch(row)
        cdef const double* terms = towards + row.known
        if self.lookahead_rule is None:
            length *= block.unit
        else:
            towards = row.value
        if row.consecutive:
            move_and_shrink(block.mean, block.variance, towards, terms, length, k, most, row.known)
        else:
            move_and_shrink_at(block.mean, block.variance, row.index, towards, terms, length, k, most, row.known)

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        return block.mean[index] * (1.0 if self.lookahead_rule is None else block.unit * block.variance[index])

    cdef double lookahead_share(self, const Block* block, Row row, Py_ssize_t i, double r, double variance) noexcept:
        return 1.0 / (1.0 + block.unit * block.variance[row.index[i]] * row.value[i] * row.value[i] / r)

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
