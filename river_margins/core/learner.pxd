cimport cython

from river_margins.core.batch cimport Batch
from river_margins.core.class_weights cimport ClassWeights
from river_margins.core.estimator cimport Estimator
from river_margins.core.reader cimport Reader, Row
from river_margins.core.round cimport Round
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.linear cimport Linear
from river_margins.tasks.base cimport Task


cdef class Learner(Estimator):
    cdef Rule own_rule
    cdef Reader reader
    cdef Space own_space
    cdef Task task
    cdef ClassWeights class_weights  # or None
    cdef Round spare_round
    cdef bint rule_in_python  # whether `step` is a method of Python
    cdef bint moves_all_classes  # whether the rule is an `AllClassesRule` without a `step` in Python
    cdef bint has_covariance  # whether the space keeps a covariance, which a step of 0 may change, too
    cdef bint takes_rows  # whether a `TransformedRow` may stand for a dict: no method of a subclass in Python reads x
    cdef readonly long long n_seen, n_mistakes, n_updates
    @cython.final
    cdef Round take_round(self)
    @cython.final
    cdef int fill_row(self, Row row, object x) except -1
    @cython.final
    cdef int fill_row_again(self, Row row, object x) except -1
    @cython.final
    cdef int fill_row_of_batch(self, Row row, Batch batch, Py_ssize_t i) except -1
    @cython.final
    cdef Round read_and_score(self, object x)
    @cython.final
    cdef object predict(self, object x)
    @cython.final
    cdef object predict_in(self, Round round, object x)
    @cython.final
    cdef object learn(self, object x, object y, double weight, bint predicting)
    @cython.final
    cdef object learn_read(self, Round round, object y, double weight, bint predicting)
    @cython.final
    cdef object learn_changed(self, Round round, Reader reader, TransformedRow made, object y)
    @cython.final
    cdef object predict_read(self, Row row)
    @cython.final
    cdef int score_row(self, Row row, Py_ssize_t blocks) except -1
    @cython.final
    cdef int score_for_prediction(self, Row row) except -1
    @cython.final
    cdef int refuse_score(self) except -1
    @cython.final
    cdef dict contributions(self, object x, Row row, Py_ssize_t block)
    @cython.final
    cdef object learn_row(self, Row row, Direction direction, Seen seen, Step step, Space space, Task task, object y,
                          double code, double weight, bint predicting)
    @cython.final
    cdef bint may_learn_at_once(self, Batch batch, Task task)
    @cython.final
    cdef Py_ssize_t learn_known_rows(self, Batch batch, Py_ssize_t i, Row row, Direction direction, Seen seen, Step step,
                                     Linear space, const double[::1] codes, const double[:] weights) except -1
    @cython.final
    cdef int learn_at_once(self, Row row, Direction direction, Seen seen, Step step, Linear space, double score, double code,
                           double weight) except -1
    @cython.final
    cdef int solve_all_classes(self, Row row, Direction direction, Seen seen, Step step, Py_ssize_t blocks) except -1
    @cython.final
    cdef int refuse_move(self, Seen seen, Step step) except -1
    @cython.final
    cdef int accept_label(self, Task task, object y) except -1
    @cython.final
    cdef int take_weights(self, given) except -1
    @cython.final
    cdef int open_blocks(self, Task task) except -1
