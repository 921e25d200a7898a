from river_margins.core.kernels cimport Moments
from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Reader, Row
from river_margins.core.round cimport Round
from river_margins.core.transformed_row cimport TransformedRow
from river_margins.preprocessing.rows cimport RowMaker


cdef class RunningMoments(RowMaker):
    cdef Reader reader
    cdef Row spare_row
    cdef Moments* moments  # known features first, then room in which a row's new values are made
    cdef Py_ssize_t capacity
    cdef bint divide
    cdef double kept, most  # what is left of the weights after an example, and the largest scaled value
    cdef Row take_row(self)
    cdef int reserve(self, Py_ssize_t length) except -1
    cdef int learn_row(self, Row row) except -1
    cdef int check_variances(self, double total) except -1
    cdef int scale(self, Row row) except -1
    cdef object predict_and_move(self, Learner learner, Round round, TransformedRow made)
    cdef int refuse_scaled(self) except -1
    cdef Moments moments_of(self, object feature) except *
