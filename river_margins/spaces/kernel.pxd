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
    cdef double scale, size, before, own
    cdef double* scratch
    cdef double* against
    cdef double* fresh
    cdef Py_ssize_t moves, counted, scratch_room, against_room, fresh_room, fresh_blocks, victim
    cdef bint adding
    cdef uint64_t generator, next_generator
    cdef int evaluate(self, const int32_t* index, const double* value, Py_ssize_t length, Py_ssize_t unmatched,
                      double measure, double* out) except -1
    cdef int ask(self, dict x, list supports, double* out) except -1
    cdef int evaluate_support(self, Py_ssize_t place) except -1
    cdef dict features_of_row(self, Row row)
    cdef dict features_of_support(self, Py_ssize_t place)
    cdef double coefficient(self, Py_ssize_t place, Py_ssize_t block) noexcept
    cdef int plan(self, Direction direction, Seen seen, Step step) except -1
    cdef Py_ssize_t choose(self) except -2
    cdef double without_victim(self, double size) except? -1.0
    cdef double counted_anew(self) except? -1.0
    cdef void count_move(self, double kept, double added, double size) noexcept
    cdef int append(self, const int32_t* index, const double* value, Py_ssize_t length) except -1
    cdef int multiply(self, double factor) except -1
