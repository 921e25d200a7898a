cimport cython
from libc.stdint cimport int32_t

from river_margins.spaces.kernel_values cimport Supports


@cython.final
cdef class Expansion:
    cdef Py_ssize_t count, room, entry_room, stride
    cdef Py_ssize_t* starts
    cdef int32_t* index
    cdef bint* consecutive
    cdef double* value
    cdef double* norms
    cdef double* self_kernels
    cdef double* coefficients
    cdef Py_ssize_t length(self, Py_ssize_t place) noexcept
    cdef int reserve(self, Py_ssize_t count, Py_ssize_t entries) except -1
    cdef int widen(self, Py_ssize_t stride) except -1
    cdef void append(self, const int32_t* index, const double* value, Py_ssize_t length) noexcept
    cdef Supports supports(self) noexcept
    cdef void remove(self, Py_ssize_t place) noexcept
    cdef void clear(self) noexcept
    cdef double total(self, const double* evaluations, Py_ssize_t block) noexcept
    cdef dict arrays(self, Py_ssize_t blocks)


cdef void* grown(void* memory, size_t size) except NULL
cdef double* room_for(double* memory, Py_ssize_t* room, Py_ssize_t wanted, bint zeros) except NULL
