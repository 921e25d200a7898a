"""Points without labels, and a centre that is near to all of them."""

from libc.math cimport isfinite, sqrt

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen
from river_margins.spaces.base cimport Direction, set_one
from river_margins.tasks.base cimport Task

from river_margins.core.checks import abridged


cdef class OneClass(Task):
    """Ask for |x - w| <= eps: ⟨w, d⟩ >= ⟨x, d⟩ - eps with d = (x - w)/|x - w|. A mistake is a point that is further away."""

    kind = "one-class"

    def __init__(self, double eps):
        self.eps = eps
        self.blocks = 1

    cdef double code(self, object y) except? -1.0:
        if y is not None:
            raise ValueError(f"label {abridged(y)} must be None: a one-class learner takes no labels")
        return 0.0

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        cdef double distance = sqrt(self.square(row))
        if not self.outside(row):
            return False
        set_one(direction, 0, 1.0 / distance)
        direction.pull = -1.0 / distance
        direction.target = (row.norm2 - row.scores[0]) / distance - self.eps
        direction.wrong = True
        return True

    cdef bint mistaken(self, Seen seen) noexcept:
        return True

    cdef double square(self, Row row) noexcept:
        """Return |x - w|², from products that take time in proportion to the features of x only."""
        return max(row.norm2 - 2.0 * row.scores[0] + row.size, 0.0)

    cdef bint outside(self, Row row) noexcept:
        # After a PA step the point lies on the border. Rounding alone must not count it as outside.
        cdef double square = self.square(row)
        return square > self.eps * self.eps + 2e-15 * (row.norm2 + row.size) or not isfinite(square)

    cdef object predict(self, Row row):
        return self.outside(row)

    cdef object score(self, Row row):
        cdef double distance = sqrt(self.square(row))
        if not isfinite(distance):
            raise OverflowError("the distance of this example is beyond floating point: scale its features")
        return distance
