cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class PNorm(Linear):
    cdef readonly object p
    cdef double exponent, largest, power, rounding_error
    cdef int whole
    cdef double to_the_p(self, double base) noexcept
    cdef double unscaled_weight(self, double stored) noexcept
    cdef double factor(self) noexcept
    cdef double norm(self) noexcept
    cdef double norm_of(self, Row row) noexcept
    cdef void recompute_power(self) noexcept
