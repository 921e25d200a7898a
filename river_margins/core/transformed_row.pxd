cimport cython

from river_margins.core.reader cimport Reader, Row


@cython.final
cdef class TransformedRow:
    cdef Row row
    cdef list names
    cdef bint unread
    cdef int fill_row(self, Reader reader, Row row) except -1
    cdef int fill_row_from_features(self, Reader reader, Row row) except -1
    cdef Py_ssize_t fill_guessed(self, Reader reader, Row row, Py_ssize_t position, Py_ssize_t known) noexcept
    cdef int fill_row_from_buckets(self, Reader reader, Row row) except -1
    cdef dict as_dict(self)
