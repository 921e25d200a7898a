cimport cython

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Space


cdef class Linear(Space):
    cdef double* weights
    cdef Py_ssize_t capacity, stride
    cdef double scale, size
    cdef Py_ssize_t roundings
    @cython.final
    cdef int reserve(self, Py_ssize_t features, Py_ssize_t stride) except -1
    cdef void add_to_block(self, Row row, Py_ssize_t block, double factor) noexcept
    @cython.final
    cdef void multiply(self, double factor) noexcept
    cdef void fold(self) noexcept
    @cython.final
    cdef int take_weights(self, stored) except -1
    cdef void measure_size(self) noexcept
