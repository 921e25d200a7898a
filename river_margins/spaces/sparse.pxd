cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Space
from river_margins.spaces.sparse_steps cimport Coordinate


cdef class Sparse(Space):
    cdef Coordinate* coordinates
    cdef Coordinate* planned
    cdef Py_ssize_t capacity, stride, planned_capacity
    cdef double threshold
    cdef double rate_of(self, double squares) noexcept
    cdef void take_step(self, Coordinate* at, double step) noexcept
    cdef bint take_steps(self, Coordinate* at, const double* value, double along, Py_ssize_t length) noexcept
    @cython.final
    cdef int reserve_planned(self, Py_ssize_t count) except -1
    @cython.final
    cdef int reserve(self, Py_ssize_t features, Py_ssize_t stride) except -1


cdef inline Coordinate coordinate(Sparse space, Row row, Py_ssize_t i, Py_ssize_t block) noexcept:
    """Return the coordinate of feature i of the row in a block, or zeros for a new feature or block."""
    if i < row.known and block < space.blocks:
        return space.coordinates[row.index[i] * space.stride + block]
    return Coordinate(0.0, 0.0, 0.0, 0.0)
