from libc.stdint cimport int32_t, uint64_t

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.budgets cimport Budget
from river_margins.spaces.expansion cimport Expansion
from river_margins.spaces.kernel_functions cimport KernelFunction


cdef class Kernel(Space):
    cdef readonly object kernel
    cdef readonly Budget budget
    cdef KernelFunction function
    cdef Expansion expansion
    cdef list dicts
    cdef Row row
    cdef double scale, size, size_before, self_kernel
    cdef double* scratch
    cdef double* support_kernels
    cdef double* new_coefficients
    cdef Py_ssize_t roundings, recompute, scratch_room, support_kernel_room, new_coefficient_room, new_blocks, removed
    cdef bint adding
    cdef uint64_t generator, next_generator
    cdef int evaluate(self, const int32_t* index, const double* value, Py_ssize_t length, Py_ssize_t unmatched,
                      double norm, double* out) except -1
    cdef int call_user_kernel(self, dict x, list supports, double* out) except -1
    cdef int evaluate_support(self, Py_ssize_t place) except -1
    cdef dict features_of_row(self, Row row)
    cdef dict features_of_support(self, Py_ssize_t place)
    cdef double coefficient(self, Py_ssize_t place, Py_ssize_t block) noexcept
    cdef double blur(self, Direction direction) noexcept
    cdef int plan_update(self, Direction direction, Seen seen, Step step) except -1
    cdef Py_ssize_t choose(self) except -2
    cdef double size_without_removed(self, double size) except? -1.0
    cdef double recomputed_size(self) except? -1.0
    cdef void count_roundings(self, double kept, double added, double size) noexcept
    cdef int settle(self, Row row) except -1
    cdef bint takes_gamma(self) noexcept
    cdef int append(self, const int32_t* index, const double* value, Py_ssize_t length) except -1
    cdef int multiply(self, double factor) except -1
