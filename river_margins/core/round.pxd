cimport cython

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction


@cython.final
cdef class Round:
    cdef Row row
    cdef Direction direction
    cdef Seen seen
    cdef Step step
