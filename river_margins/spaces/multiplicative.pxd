cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class Multiplicative(Linear):
    cdef readonly object beta, theta, form
    cdef double base, threshold
    cdef bint balanced, erases
    cdef double read(self, double factor) noexcept
    cdef int refuse_negative(self, Row row) except -1
    cdef bint factor_stays_finite(self, double factor, double exponent) noexcept
