"""A variance for each weight."""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy

from river_margins.core.kernels cimport (
    dot, dot_at, dot_surer, dot_surer_at, move_surer, move_surer_at, variance_along, variance_along_at,
)
from river_margins.core.reader cimport Row
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
        cdef double* terms = along + row.known
        row.evaluations[0] = block - self.block
        if row.consecutive:
            return variance_along(along, terms, block.variance, row.value, row.known)
        return variance_along_at(along, terms, block.variance, row.index, row.value, row.known)

    cdef double foreseen_score(self, const Block* block, Row row, double variance) noexcept:
        cdef double r = self.foreseeing.foresee(variance), score
        cdef const double* along = scratch(row)  # where `variance` has left Σx, and the terms of x'Σx
        cdef const double* terms = along + row.known
        if block.unit != 1.0:
            r, variance = r / block.unit, variance / block.unit
        if r == INFINITY and row.consecutive:
            score = dot(block.mean, along, row.known)
        elif r == INFINITY:
            score = dot_at(block.mean, row.index, along, row.known)
        elif row.consecutive:
            score = dot_surer(block.mean, along, terms, r, variance, row.known)
        else:
            score = dot_surer_at(block.mean, row.index, along, terms, r, variance, row.known)
        return block.unit * score

    cdef void shift(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        cdef double length = step.step * coefficient
        cdef double k = block.unit * step.shrink * coefficient * coefficient, most = step.shrink * seen.gain
        if row.evaluations[0] != block - self.block:  # another block was measured last, or new features came in since
            self.variance(block, row)
        row.evaluations[0] = NAN
        cdef const double* towards = scratch(row)
        cdef const double* terms = towards + row.known
        if self.foreseeing is None:
            length *= block.unit
        else:
            towards = row.value
        if row.consecutive:
            move_surer(block.mean, block.variance, towards, terms, length, k, most, row.known)
        else:
            move_surer_at(block.mean, block.variance, row.index, towards, terms, length, k, most, row.known)

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
