cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class PNorm(Linear):
    cdef readonly object p
    cdef double exponent, largest, power, blur
    cdef int whole
    cdef double raised(self, double base) noexcept
    cdef double bent(self, double stored) noexcept
    cdef double factor(self) noexcept
    cdef double norm(self) noexcept
    cdef double norm_of(self, Row row) noexcept
    cdef void count_anew(self) noexcept
