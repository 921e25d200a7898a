from river_margins.rules.base cimport Seen
from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction


cdef class Task:
    cdef Py_ssize_t blocks
    cdef bint undecided
    cdef bint by_sign  # whether a label asks only for code·score >= 1, with one weight vector and the codes -1 and 1
    cdef double code(self, object y) except? -1.0
    cdef object codes(self, object labels)
    cdef Py_ssize_t place(self, double code) noexcept
    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1
    cdef bint mistaken(self, Seen seen) noexcept
    cdef int accept(self, object y) except -1
    cdef object predict(self, Row row)
    cdef object score(self, Row row)
    cdef dict probabilities(self, Row row)
    cdef object present(self, list values)
    cdef Task named_by(self, weights)
    cdef list separate(self, weights)
    cdef Task decided_by(self, object y)
    cdef Task with_one_vector(self, str learner)
    cdef Task updated(self, Task fresh)
    cdef dict state(self)
    cdef Task restored(self, state)


cdef class Labels(Task):
    cdef readonly list labels
