cimport cython

from river_margins.core.reader cimport Reader, Row


@cython.final
cdef class ScaledRow:
    cdef Row row
    cdef Reader reader
    cdef bint unread
    cdef int fill_row(self, Reader reader, Row row) except -1
