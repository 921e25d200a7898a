cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.gaussian cimport Block, Gaussian


@cython.final
cdef class Full(Gaussian):
    cdef readonly Py_ssize_t max_dimension
    cdef void restore_start(self, Block* block) noexcept
    cdef void subtract_square(self, Block* block, Py_ssize_t count) noexcept
    cdef bint is_covariance(self, const Block* block, Row row, const double* along, double variance) noexcept
