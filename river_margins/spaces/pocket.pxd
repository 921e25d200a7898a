cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction
from river_margins.spaces.row_store cimport RowStore
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class PocketLinear(Linear):
    cdef readonly object ratchet, window
    cdef bint tests, moved
    cdef Py_ssize_t longest
    cdef Linear pocket
    cdef RowStore recent
    cdef long long run, record
    cdef int remember(self, Row row, Direction direction) except -1
    cdef Py_ssize_t count_right(self, Linear weights) except -1
    cdef int fill_pocket(self) except -1
