from libc.stdint cimport uint64_t

from river_margins.core.recipe cimport Recipe


cdef class Budget(Recipe):
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept
    cdef uint64_t first_state(self) except? 1


cdef class OldestRemoval(Budget):
    pass


cdef class SmallestRemoval(Budget):
    pass


cdef class RandomRemoval(Budget):
    cdef readonly object seed


cdef Py_ssize_t smallest(const double* costs, Py_ssize_t count) noexcept
