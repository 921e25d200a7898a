"""Half-spaces given by the caller: the row is the direction, the label the target."""

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen
from river_margins.spaces.base cimport Direction, set_one
from river_margins.tasks.base cimport Task
from river_margins.tasks.regression cimport real


cdef class HalfSpace(Task):
    """Ask for ⟨w, x⟩ >= y. A round with y > 0 is a mistake if ⟨w, x⟩ <= 0."""

    kind = "structured"

    def __cinit__(self):
        self.blocks = 1

    cdef double code(self, object y) except? -1.0:
        return real(y)

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        set_one(direction, 0, 1.0)
        direction.target = code
        direction.wrong = code > 0.0 and row.scores[0] <= 0.0
        return True

    cdef bint mistaken(self, Seen seen) noexcept:
        return seen.target > 0.0 and seen.margin <= 0.0

    cdef object predict(self, Row row):
        return row.scores[0]

    cdef object score(self, Row row):
        return row.scores[0]
