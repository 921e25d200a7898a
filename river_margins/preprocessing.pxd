from river_margins.core.estimator cimport Estimator
from river_margins.core.scaled_row cimport Passed
from river_margins.core.reader cimport Reader, Row


cdef struct Moments:
    double count, mean, variance


cdef class RunningMoments(Estimator):
    cdef Reader reader
    cdef Row spare
    cdef Passed passed
    cdef Moments* moments  # known features first, then room in which a row's new values are made
    cdef Py_ssize_t capacity
    cdef bint divide
    cdef Row take_row(self)
    cdef int reserve(self, Py_ssize_t length) except -1
    cdef int learn_row(self, Row row) except -1
    cdef int scale(self, Row row) except -1
    cdef dict as_dict(self, Row row)
    cdef object pass_on(self, object x, bint learning)
