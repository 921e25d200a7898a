from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space


cdef struct Block:
    double* mean
    double* variance
    double unit
    double decay
    double start  # the variance of a feature that no example has had yet


# The layout of `Row.evaluations` in these spaces: the block that was measured last (or NaN), then two numbers for each known
# feature, then a variance for each block. Adding new features moves the variances, so they are invalid after that.

cdef inline double* scratch(Row row) noexcept:
    """Return the two numbers of each known feature, from the block that was measured last."""
    return row.evaluations + 1


cdef inline double* lookahead_variances(Row row) noexcept:
    """Return the variance of the row in each block, from the last score. Invalid after new features are added."""
    return row.evaluations + 1 + 2 * row.known


cdef class Gaussian(Space):
    cdef readonly double a
    cdef readonly object half_life
    cdef double kept  # what a round leaves of the weight of each earlier example
    cdef double largest_variance, largest_growth
    cdef double least_variance  # of a weight, for rules that would take it to 0 in spite of the half life
    cdef Rule lookahead_rule
    cdef Block* block
    cdef Py_ssize_t capacity, block_room
    cdef double largest_mean, largest_change
    cdef int reserve(self, Py_ssize_t features, Py_ssize_t block_room) except -1
    cdef bint allocate(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept
    cdef void free_blocks(self, Block* blocks) noexcept
    cdef Py_ssize_t covariance_length(self, Py_ssize_t capacity) noexcept
    cdef void start_covariance(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept
    cdef double variance(self, const Block* block, Row row) noexcept
    cdef double fresh_square(self, Row row) noexcept
    cdef double lookahead_score(self, const Block* block, Row row, double variance) noexcept
    cdef void move_block(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept
    cdef void start_features(self, Py_ssize_t count) noexcept
    cdef void fold(self, Block* block) noexcept
    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept
    cdef double lookahead_share(self, const Block* block, Row row, Py_ssize_t i, double r, double variance) noexcept
    cdef object variances(self, const Block* block)
    cdef int take_variances(self, Block* block, object variances) except -1
