from libc.stdint cimport int32_t

from river_margins.core.reader cimport Reader, Row


cdef class Batch:
    cdef readonly Py_ssize_t length
    cdef object names
    cdef const double[::1] values
    cdef const int32_t[::1] columns
    cdef const long long[::1] starts
    cdef int32_t[::1] index_of
    cdef Py_ssize_t unknown_columns
    cdef bint in_order
    cdef int32_t look_up(self, Reader reader, Py_ssize_t column) except -2
    cdef bint all_known(self, int32_t* index, const int32_t* column, Py_ssize_t length) noexcept
    cdef bint fill_known_row(self, Reader reader, Row row, Py_ssize_t i) except -1
    cdef int fill_row(self, Reader reader, Row row, Py_ssize_t i) except -1
