cimport cython
from cpython.object cimport PyObject

from river_margins.core.reader cimport Reader, Row


@cython.final
cdef class TransformedRow:
    cdef Row row
    cdef list names
    cdef bint unread
    cdef int fill_row(self, Reader reader, Row row) except -1
    cdef bint refill_row(self, Reader reader, Row row) noexcept
    cdef int fill_row_from_features(self, Reader reader, Row row) except -1
    cdef Py_ssize_t fill_guessed(self, Reader reader, Row row, Py_ssize_t position, Py_ssize_t known) noexcept
    cdef int fill_row_from_buckets(self, Reader reader, Row row) except -1
    cdef dict as_dict(self)
    cdef bint copy_values(self, PyObject** expected, Py_ssize_t length, double* value) noexcept


cdef inline int fill_row_from_step(Reader reader, Row row, object x) except -1:
    """Fill a row from a dict, or from the row of the step before."""
    return (<TransformedRow> x).fill_row(reader, row) if type(x) is TransformedRow else reader.fill_row(row, x)


cdef inline int offer_again(object x) noexcept:
    """Let the row of the step before be read once more; a dict may always be read."""
    if type(x) is TransformedRow:
        (<TransformedRow> x).unread = True
    return 0
