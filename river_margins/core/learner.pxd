cimport cython

from river_margins.core.estimator cimport Estimator
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.core.reader cimport Reader, Row
from river_margins.spaces.base cimport Direction, Space
from river_margins.tasks.base cimport Task


@cython.final
cdef class Round:
    cdef Row row
    cdef Direction direction
    cdef Seen seen
    cdef Step step


cdef class Learner(Estimator):
    cdef Rule live_rule
    cdef Reader reader
    cdef Space live_space
    cdef Task task
    cdef Round spare
    cdef bint in_python, joint
    cdef bint plain  # whether features are read by nobody but the reader, and by their own names
    cdef object rivals
    cdef readonly long long n_seen, n_mistakes, n_updates
    @cython.final
    cdef Round take_round(self)
    @cython.final
    cdef int gather(self, Row row, object x) except -1
    @cython.final
    cdef Round read(self, object x)
    @cython.final
    cdef int score_row(self, Row row, Py_ssize_t blocks) except -1
    @cython.final
    cdef int answer_row(self, Row row) except -1
    @cython.final
    cdef int refuse_score(self) except -1
    @cython.final
    cdef object learn(self, object x, object y, double weight, bint predicting)
    @cython.final
    cdef object learn_row(self, Row row, Direction direction, Seen seen, Step step, Space space, Task task, object y,
                          double code, double weight, bint predicting)
    @cython.final
    cdef int solve(self, Row row, Direction direction, Seen seen, Step step, Py_ssize_t blocks) except -1
    @cython.final
    cdef int refuse(self, Seen seen, Step step) except -1
    @cython.final
    cdef Task task_for(self, object y)
    @cython.final
    cdef int adopt(self, Task task, object y) except -1
    @cython.final
    cdef int open_blocks(self, Task task) except -1
