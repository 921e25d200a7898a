cimport cython

from river_margins.spaces.linear cimport Linear


@cython.final
cdef class AveragedLinear(Linear):
    cdef readonly object burn_in, half_life
    cdef Linear correction
    cdef long long rounds, skipped_rounds
    cdef double count, mass, kept
    cdef void settle(self) noexcept
    cdef void settle_if_shrunk(self) noexcept
