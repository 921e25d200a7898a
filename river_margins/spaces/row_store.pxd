cimport cython
from libc.stdint cimport int32_t


@cython.final
cdef class RowStore:
    cdef Py_ssize_t rows, entries, row_room, entry_room
    cdef int32_t* index
    cdef double* value
    cdef Py_ssize_t* ends
    cdef double* mark
    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t entries) except -1
    cdef void add(self, Py_ssize_t index, double value) noexcept
    cdef void close(self, double mark) noexcept
    cdef Py_ssize_t start(self, Py_ssize_t row) noexcept
    cdef double dot(self, Py_ssize_t row, const double* dense) noexcept
    cdef void drop(self, Py_ssize_t rows) noexcept
    cdef dict state(self, Py_ssize_t first)
    cdef int take(self, state, Py_ssize_t indices) except -1
