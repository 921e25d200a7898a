cimport cython

from river_margins.core.reader cimport Reader, Row


@cython.final
cdef class TransformedRow:
    cdef Row row
    cdef list names
    cdef bint unread
    cdef int fill_row(self, Reader reader, Row row) except -1
    cdef int fill_row_from_features(self, Reader reader, Row row) except -1
    cdef int fill_row_from_buckets(self, Reader reader, Row row) except -1
    cdef dict as_dict(self)
