cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.gaussian cimport Block, Gaussian


@cython.final
cdef class Diagonal(Gaussian):
    cdef double largest_sum(self, const Block* block) noexcept
    cdef double discounted_variance(self, const Block* block, Row row, double* along, double* terms) noexcept
    cdef double variance_at(self, const Block* block, Py_ssize_t index) noexcept
