# cython: language_level=3
"""A task outside the package, compiled by test_outside_task.py: two labels, with a margin and a state of its own."""

from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, set_one
from river_margins.tasks.base cimport Task


cdef class UpOrDown(Task):
    """Ask for ⟨w, x⟩ >= margin if the label is "up", else for ⟨w, -x⟩ >= margin."""

    cdef double margin

    def __init__(self, double margin):
        self.margin = margin
        self.blocks = 1

    cdef double code(self, object y) except? -1.0:
        if y not in ("up", "down"):
            raise ValueError(f"label {y!r} is neither 'up' nor 'down'")
        return 1.0 if y == "up" else -1.0

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        set_one(direction, 0, code)
        direction.target = self.margin
        direction.wrong = (row.scores[0] >= 0.0) != (code > 0.0)
        return True

    cdef object predict(self, Row row):
        return "up" if row.scores[0] >= 0.0 else "down"

    cdef object score(self, Row row):
        return row.scores[0]

    cdef dict state(self):
        return {"margin": self.margin}

    cdef Task restored(self, state):
        return UpOrDown(state["margin"])
