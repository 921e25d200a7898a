from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction
from river_margins.tasks.base cimport Labels


cdef class Multiclass(Labels):
    cdef dict block_of
    cdef object rivals
    cdef bint all_rivals, in_proportion
    cdef bint share_among_rivals(self, Row row, Py_ssize_t true, Py_ssize_t known, Direction direction) except -1
