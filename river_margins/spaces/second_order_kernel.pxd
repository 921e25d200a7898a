cimport cython

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule
from river_margins.spaces.kernel cimport Kernel


@cython.final
cdef class SecondOrderKernel(Kernel):
    cdef readonly double a
    cdef readonly Py_ssize_t max_supports
    cdef Rule rule
    cdef double* factors
    cdef Py_ssize_t stride, block_room
    cdef double* solved(self, Row row, Py_ssize_t block) noexcept
    cdef double solve(self, Row row, Py_ssize_t block) noexcept
    cdef int reserve_factors(self, Py_ssize_t count) except -1
    cdef object factor_arrays(self)
