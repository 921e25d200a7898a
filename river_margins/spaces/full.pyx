"""Weights with a covariance matrix."""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

from river_margins.core.kernels cimport add_multiple, dot, dot_at
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.gaussian cimport Block, Gaussian
from river_margins.core.checks import whole


cdef class Full(Gaussian):
    """Full(a=1.0, *, max_dimension=5000, half_life=None)\n--\n
    Weights with their whole covariance matrix: learning one feature changes the weights of correlated features, too.

    Memory and time of an update grow with the square of the number of features seen. The matrix stays symmetric bit for bit.
    If rounding has made the variance along a direction meaningless, it counts as 0, and nothing more is learned along it, also
    with a half life. That takes features of about 1e8 and more, with NHERD of about 3e4 and more: scale them.

    Parameters
    ----------
    a
        The variance of a weight before its first update, > 0; 1 by default.
    max_dimension
        The most features, the constant one included, that the matrix may have, >= 1; 5000 (200 MB) by default. A move
        that would need more raises a ValueError and changes nothing.
    half_life
        The number of rounds after which an example counts half, >= 1; None (default) forgets nothing. With it Σ is divided
        by 2^(-1/half_life) in every round. This alone would let Σ grow without bound along directions that no example has.
        So 1/a is restored in Σ⁻¹ twice in each half life, which takes the cube of the features seen. No variance exceeds
        sqrt(2)·a.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.AROWRule(), rm.Full(), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 1.0}, True)
    >>> model.learn_one({"a": 1.0}, True)
    >>> {feature: round(weight, 3) for feature, weight in model.weights.items()}
    {'a': 0.6, 'b': 0.2}
    """

    _parameter_names = ("a", "max_dimension", "half_life")

    def __init__(self, a=1.0, *, max_dimension=5000, half_life=None):
        Gaussian.__init__(self, a, half_life=half_life)
        self.max_dimension = whole("max_dimension", max_dimension, 1)
        if half_life is not None:
            self.largest_variance = sqrt(2.0) * self.a

    cdef Py_ssize_t covariance_length(self, Py_ssize_t capacity) noexcept:
        return capacity * (capacity + 1)  # and one row as working memory

    cdef void start_covariance(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        cdef Py_ssize_t i
        for i in range(capacity):
            if old != NULL and i < self.capacity:
                memcpy(block.variance + i * capacity, old.variance + i * self.capacity, self.capacity * sizeof(double))
            else:
                block.variance[i * capacity + i] = self.a

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t features = self.reader.size() + row.fresh
        if features > self.max_dimension:
            raise ValueError(
                f"with this example there are {features} features, more than `max_dimension` = {self.max_dimension}: use a "
                "diagonal covariance (`Diagonal()`), hash the features with `max_features`, or raise `max_dimension`"
            )
        return Gaussian.stays_finite(self, row, direction, seen, step)

    cdef double variance(self, const Block* block, Row row) noexcept:
        cdef double value = 0.0
        cdef const double* across
        cdef Py_ssize_t i
        for i in range(row.known):
            if row.value[i] != 0.0:
                across = block.variance + row.index[i] * self.capacity
                value += row.value[i] * (
                    dot(across, row.value, row.known) if row.consecutive
                    else dot_at(across, row.index, row.value, row.known)
                )
        return max(value, 0.0) / block.decay

    cdef double lookahead_score(self, const Block* block, Row row, double variance) noexcept:
        cdef double score = 0.0
        cdef Py_ssize_t i, count = self.reader.size()
        for i in range(row.known):
            score += row.value[i] * dot(block.variance + row.index[i] * self.capacity, block.mean, count)
        return block.unit * score / (1.0 + variance / self.lookahead_rule.lookahead_r(variance))

    cdef double lookahead_share(self, const Block* block, Row row, Py_ssize_t i, double r, double variance) noexcept:
        return 1.0 / (1.0 + variance / r)

    cdef void move_block(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        cdef Py_ssize_t i, count = self.reader.size()
        cdef double* along = block.variance + self.capacity * self.capacity
        cdef double variance = 0.0, shrink = step.shrink * coefficient * coefficient / block.decay, square, root
        memset(along, 0, count * sizeof(double))
        for i in range(row.known):
            add_multiple(along, block.variance + row.index[i] * self.capacity, row.value[i], count)
        for i in range(row.known):
            variance += row.value[i] * along[row.index[i]]
        if variance < 0.0 or not self.is_covariance(block, row, along, variance):
            return
        if self.lookahead_rule is None:
            add_multiple(block.mean, along, step.step * coefficient * block.unit / block.decay, count)
            square = block.unit * shrink / (1.0 + step.shrink * seen.gain)
            if self.least_variance > 0.0:  # the variance becomes (1 - square·variance)·variance
                square = min(square, (1.0 - self.least_variance * block.decay * row.norm2 / variance) / variance)
        else:
            for i in range(row.known):
                block.mean[row.index[i]] += step.step * coefficient * row.value[i] / block.decay
            square = block.unit * shrink / (1.0 + shrink * block.unit * variance)
        if square <= 0.0:
            return
        root = sqrt(square)
        for i in range(count):
            along[i] *= root
        self.subtract_square(block, count)

    cdef void subtract_square(self, Block* block, Py_ssize_t count) noexcept:
        """Subtract the product of the working memory with itself, which is symmetric to the last bit."""
        cdef const double* along = block.variance + self.capacity * self.capacity
        cdef Py_ssize_t i, j
        for i in range(count):
            if along[i] != 0.0:
                add_multiple(block.variance + i * self.capacity, along, -along[i], count)
        for i in range(count):
            # What is left of this variance is a rounding error, and so are its covariances, which may be larger.
            if along[i] != 0.0 and block.variance[i * (self.capacity + 1)] <= 1e-15 * along[i] * along[i]:
                for j in range(count):
                    block.variance[i * self.capacity + j] = block.variance[j * self.capacity + i] = 0.0

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        Gaussian.end_round(self, row, direction, seen)
        if seen.weight == 0.0:
            return 0
        for i in range(self.blocks):
            self.block[i].start /= self.kept
            if self.block[i].start >= sqrt(2.0) * self.a:
                self.restore_start(self.block + i)
        return 0

    cdef void restore_start(self, Block* block) noexcept:
        """Add to the precision of each feature what 1/a has lost, one feature after the other."""
        cdef double* along = block.variance + self.capacity * self.capacity
        cdef double more = (1.0 / self.a - 1.0 / block.start) / block.decay, root
        cdef Py_ssize_t i, feature, count = self.reader.size()
        for feature in range(count):
            root = sqrt(more / (1.0 + more * block.variance[feature * (self.capacity + 1)]))
            for i in range(count):
                along[i] = block.variance[feature * self.capacity + i] * root
            self.subtract_square(block, count)
        block.start = self.a

    cdef void start_features(self, Py_ssize_t count) noexcept:
        cdef Py_ssize_t i, feature
        for i in range(self.blocks):
            for feature in range(self.reader.size(), self.reader.size() + count):
                self.block[i].variance[feature * (self.capacity + 1)] = (
                    self.block[i].start * self.block[i].decay
                )

    cdef void fold(self, Block* block) noexcept:
        cdef Py_ssize_t i, j, count = self.reader.size()
        for i in range(count):
            for j in range(count):
                block.variance[i * self.capacity + j] /= block.decay
            if self.lookahead_rule is not None:
                block.mean[i] *= block.decay
        block.decay = 1.0

    cdef bint is_covariance(self, const Block* block, Row row, const double* along, double variance) noexcept:
        """Return whether (Σx)ᵢ² <= Σᵢᵢ·xᵀΣx. If rounding has broken this, the matrix is meaningless along x."""
        cdef Py_ssize_t i
        cdef double blur = 0.0, surely
        for i in range(row.known):
            blur += 1e-13 * self.a * block.decay * fabs(row.value[i])
        for i in range(self.reader.size()):
            surely = fabs(along[i]) - blur
            if surely > 0.0 and surely * surely > 2.0 * block.variance[i * (self.capacity + 1)] * variance:
                return False
        return True

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        if self.lookahead_rule is None:
            return block.mean[index]
        return block.unit * dot(block.variance + index * self.capacity, block.mean, self.reader.size())

    cdef object variances(self, const Block* block):
        cdef Py_ssize_t i, j, count = self.reader.size()
        variances = np.empty((count, count))
        cdef double[:, ::1] view = variances
        for i in range(count):
            for j in range(count):
                view[i, j] = block.variance[i * self.capacity + j]
        return variances

    cdef int take_variances(self, Block* block, object variances) except -1:
        cdef Py_ssize_t i, j, count = self.reader.size()
        if variances.shape != (count, count) or not (variances == variances.T).all():
            raise ValueError(f"a symmetric matrix of {count} times {count} numbers is needed")
        cdef const double[:, ::1] view = variances
        for i in range(count):
            for j in range(count):
                block.variance[i * self.capacity + j] = view[i, j]
        return 0
