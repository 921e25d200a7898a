cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction
from river_margins.spaces.row_store cimport KeptRows
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class PocketLinear(Linear):
    cdef readonly object ratchet, window
    cdef bint tests, moved
    cdef Py_ssize_t longest
    cdef Linear pocket
    cdef KeptRows recent
    cdef long long run, record
    cdef int remember(self, Row row, Direction direction) except -1
    cdef Py_ssize_t right(self, Linear weights) except -1
    cdef int put(self) except -1
