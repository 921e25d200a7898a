from river_margins.reader cimport Reader, Row
from river_margins.recipe cimport Recipe
from river_margins.rules.base cimport Seen, Step


cdef struct Term:
    Py_ssize_t block
    double coefficient


cdef class Direction:
    cdef Py_ssize_t length, capacity
    cdef Term* terms
    cdef double pull, target
    cdef bint wrong
    cdef int reserve(self, Py_ssize_t length) except -1
    cdef void set_one(self, Py_ssize_t block, double coefficient) noexcept
    cdef void set_two(self, Py_ssize_t up, Py_ssize_t down) noexcept


cdef class Space(Recipe):
    cdef Reader reader
    cdef Py_ssize_t blocks
    cdef Space open(self, Reader reader)
    cdef int add_block(self) except -1
    cdef int score(self, Row row, Py_ssize_t blocks) except -1
    cdef int measure(self, Row row, Direction direction, Seen seen) except -1
    cdef bint bears(self, Direction direction, Seen seen, Step step) except -1
    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1
