cimport cython

from river_margins.core.reader cimport Reader, Row


@cython.final
cdef class Passed:
    cdef Row row
    cdef Reader reader
    cdef bint waits
    cdef int gather(self, Reader reader, Row row) except -1
