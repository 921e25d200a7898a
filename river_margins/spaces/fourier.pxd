from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, Space


cdef class RandomFourier(Space):
    cdef readonly object gamma
    cdef readonly Py_ssize_t components
    cdef readonly object seed
    cdef double* frequencies
    cdef double* weights
    cdef Py_ssize_t drawn, frequency_room, weight_room, roundings
    cdef double scale, size, rate
    cdef Row row
    cdef double rate_of(self, Row row) noexcept
    cdef int draw_known(self, Row row) except -1
    cdef int draw(self, object key, double* frequencies) except -1
    cdef int transform(self, Row row) except -1
    cdef void multiply(self, double factor) noexcept
