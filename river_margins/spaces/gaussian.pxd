from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space


cdef struct Block:
    double* mean
    double* variance
    double unit


# What a row has room for here: which block was measured last (NaN: none), two numbers for each feature, a variance for each
# block. New features make room for more numbers, where the variances were.

cdef inline double* scratch(Row row) noexcept:
    """Room for two numbers of each feature known, left by the block that was measured last."""
    return row.evaluations + 1


cdef inline double* foreseen_variances(Row row) noexcept:
    """The variance of the row in each block, as the last score has found it, until its new features are admitted."""
    return row.evaluations + 1 + 2 * row.known


cdef class Gaussian(Space):
    cdef readonly double a
    cdef Rule foreseeing
    cdef Block* block
    cdef Py_ssize_t capacity, rooms
    cdef double largest, reach
    cdef int reserve(self, Py_ssize_t features, Py_ssize_t rooms) except -1
    cdef bint furnish(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept
    cdef void discard(self, Block* blocks) noexcept
    cdef Py_ssize_t cells(self, Py_ssize_t capacity) noexcept
    cdef void begin(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept
    cdef double variance(self, const Block* block, Row row) noexcept
    cdef double fresh_variance(self, Row row) noexcept
    cdef double foreseen_score(self, const Block* block, Row row, double variance) noexcept
    cdef void shift(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept
    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept
    cdef object variances(self, const Block* block)
    cdef int take_variances(self, Block* block, object variances) except -1
