cimport cython

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction
from river_margins.spaces.row_store cimport RowStore
from river_margins.spaces.linear cimport Linear


@cython.final
cdef class VotedLinear(Linear):
    cdef RowStore examples, steps
    cdef double count
    cdef int record_move(self, Row row, Direction direction, double step) except -1
    cdef void cast_vote(self, double* votes, const double* scores, Py_ssize_t blocks, double weight) noexcept
