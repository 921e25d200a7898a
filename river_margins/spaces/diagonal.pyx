"""Weights with a variance each."""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.string cimport memcpy

from river_margins.core.kernels cimport (
    discounted_variance_along, discounted_variance_along_at, dot, dot_at, lookahead_dot, lookahead_dot_at, move_and_add,
    move_and_shrink, move_and_shrink_at, variance_along, variance_along_at,
)
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.gaussian cimport Block, Gaussian, scratch

cdef double MOST = 1e300  # the largest sum that is kept


cdef class Diagonal(Gaussian):
    """A weight and a variance for each feature: a covariance that costs little more than plain weights.

    A variance s becomes s/(1 + k·s·x²): the diagonal of Σ⁻¹ grows by the diagonal of k·xxᵀ.

    Parameters
    ----------
    a
        The variance of a weight before its first update, > 0; 1 by default.
    half_life
        The number of rounds after which an example counts half, >= 1; None (default) forgets nothing. With it a variance is
        1/(1/a + q), and q, the sum of k·x², is multiplied by 2^(-1/half_life) in every round. So the variance of a feature
        that does not occur grows back to a, and a round still costs the features of its example.

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
            block.variance[i] = 0.0 if self.counts_rounds else self.a  # with a half life, the sum q
        if old != NULL and self.capacity:
            memcpy(block.variance, old.variance, self.capacity * sizeof(double))

    cdef double variance(self, const Block* block, Row row) noexcept:
        cdef double* along = scratch(row)
        cdef double* terms = along + row.known
        row.evaluations[0] = block - self.block
        if self.counts_rounds:
            return self.discounted_variance(block, row, along, terms)
        if row.consecutive:
            return variance_along(along, terms, block.variance, row.value, row.known)
        return variance_along_at(along, terms, block.variance, row.index, row.value, row.known)

    cdef double discounted_variance(self, const Block* block, Row row, double* along, double* terms) noexcept:
        cdef double factor = self.a * block.decay
        if row.consecutive:
            return discounted_variance_along(along, terms, block.variance, row.value, self.a, factor, row.known)
        return discounted_variance_along_at(
            along, terms, block.variance, row.index, row.value, self.a, factor, row.known
        )

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
        return block.unit * block.decay * score

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
        if self.counts_rounds:
            move_and_add(
                block.mean, block.variance, row.index, towards, row.value, length,
                1.0 if self.lookahead_rule is None else 1.0 / block.decay, min(k / block.decay, MOST),
                self.largest_sum(block), row.known,
            )
        elif row.consecutive:
            move_and_shrink(block.mean, block.variance, towards, terms, length, k, most, row.known)
        else:
            move_and_shrink_at(block.mean, block.variance, row.index, towards, terms, length, k, most, row.known)

    cdef double largest_sum(self, const Block* block) noexcept:
        """Return what the stored sum q of a feature may be at most."""
        if self.least_variance == 0.0:
            return MOST
        return min((1.0 / self.least_variance - 1.0 / self.a) / block.decay, MOST)

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        if self.lookahead_rule is None:
            return block.mean[index]
        return block.mean[index] * (block.unit * self.variance_at(block, index)) * block.decay

    cdef double variance_at(self, const Block* block, Py_ssize_t index) noexcept:
        """Return the variance of a feature, without the factor `unit` of the block."""
        if self.counts_rounds:
            return self.a / (1.0 + self.a * block.decay * block.variance[index])
        return block.variance[index]

    cdef void fold(self, Block* block) noexcept:
        cdef Py_ssize_t i
        for i in range(self.reader.size()):
            block.variance[i] *= block.decay
            if self.lookahead_rule is not None:
                block.mean[i] *= block.decay
        block.decay = 1.0

    cdef double lookahead_share(self, const Block* block, Row row, Py_ssize_t i, double r, double variance) noexcept:
        return 1.0 / (1.0 + block.unit * self.variance_at(block, row.index[i]) * row.value[i] * row.value[i] / r)

    cdef object variances(self, const Block* block):
        variances = np.empty(self.reader.size())
        cdef double[::1] view = variances
        cdef Py_ssize_t i
        for i in range(variances.shape[0]):
            view[i] = block.variance[i]
        return variances

    cdef int take_variances(self, Block* block, object variances) except -1:
        cdef Py_ssize_t i
        most = MOST if self.counts_rounds else self.a
        if variances.shape != (self.reader.size(),) or not (0 <= variances).all() or not (variances <= most).all():
            raise ValueError(f"a number from 0 to {most} is needed for each of {self.reader.size()} features")
        cdef const double[::1] view = variances
        for i in range(view.shape[0]):
            block.variance[i] = view[i]
        return 0
