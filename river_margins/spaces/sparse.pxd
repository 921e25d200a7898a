cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Space


cdef struct Coordinate:
    double pull     # the sum of the steps, without the thresholds subtracted so far
    double settled  # the sum of thresholds that `pull` takes into account; in `CoinBetting` the largest |value| so far
    double squares  # the sum of the squares of the steps
    double rate     # the weight is the soft-thresholded `pull` times the rate; in `CoinBetting` the wealth


cdef class Sparse(Space):
    cdef Coordinate* coordinates
    cdef Coordinate* planned
    cdef Py_ssize_t capacity, stride, planned_capacity
    cdef double threshold
    cdef double rate_of(self, double squares) noexcept
    cdef void take_step(self, Coordinate* at, double step) noexcept
    @cython.final
    cdef int reserve_planned(self, Py_ssize_t count) except -1
    @cython.final
    cdef int reserve(self, Py_ssize_t features, Py_ssize_t stride) except -1


cdef inline Coordinate coordinate(Sparse space, Row row, Py_ssize_t i, Py_ssize_t block) noexcept:
    """Return the coordinate of feature i of the row in a block, or zeros for a new feature or block."""
    if i < row.known and block < space.blocks:
        return space.coordinates[row.index[i] * space.stride + block]
    return Coordinate(0.0, 0.0, 0.0, 0.0)
