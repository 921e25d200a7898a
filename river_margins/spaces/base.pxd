from river_margins.core.reader cimport Reader, Row
from river_margins.core.recipe cimport Recipe
from river_margins.rules.base cimport Rule, Seen, Step


cdef struct Term:
    Py_ssize_t block
    double coefficient


cdef class Direction:
    cdef Py_ssize_t length, capacity
    cdef Term* terms
    cdef double pull, target
    cdef bint wrong, equality
    cdef int reserve(self, Py_ssize_t length) except -1


cdef inline void set_one(Direction direction, Py_ssize_t block, double coefficient) noexcept:
    direction.length = 1
    direction.terms[0] = Term(block, coefficient)
    direction.pull = 0.0


cdef inline void set_two(Direction direction, Py_ssize_t up, Py_ssize_t down) noexcept:
    direction.length = 2
    direction.terms[0] = Term(up, 1.0)
    direction.terms[1] = Term(down, -1.0)
    direction.pull = 0.0


cdef class Space(Recipe):
    cdef Reader reader
    cdef Py_ssize_t blocks
    cdef bint predicts_apart, counts_rounds, needs_one_vector, refuses_negative, adds_up, weighs_by_example
    cdef Space open(self, Reader reader)
    cdef int bind_rule(self, Rule rule) except -1
    cdef int check_python_step(self, Rule rule, Step step) except -1
    cdef int add_block(self) except -1
    cdef int score(self, Row row, Py_ssize_t blocks) except -1
    cdef int measure(self, Row row, Direction direction, Seen seen) except -1
    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1
    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1
    cdef int score_for_prediction(self, Row row, Py_ssize_t blocks) except -1
    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1
    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0
    cdef double weight_of_new(self) noexcept
    cdef double constant_in_score(self) noexcept
