from river_margins.core.estimator cimport Estimator
from river_margins.core.learner cimport Learner
from river_margins.core.transformed_row cimport TransformedRow


cdef class RowMaker(Estimator):
    cdef type compiled
    cdef TransformedRow spare_made
    cdef bint makes_rows  # whether the next step may get a row: no subclass in Python changes what it holds
    cdef bint takes_rows  # whether `make_row` takes a `TransformedRow` of the step before
    cdef bint learns_by_one  # whether `learn_many` calls `learn_one`, also that of a subclass
    cdef bint leaves_texts  # whether a text stays for the next step: a row has no place for it
    cdef TransformedRow take_made(self)
    cdef int open_rows(self, type compiled) except -1
    cdef int refuse_frames(self, str one, str many) except -1
    cdef TransformedRow make_row(self, object x, bint learning)
    cdef object predict_and_learn(self, Learner learner, object x, object y)


cdef dict numbers_of(object x)
cdef str text_of(object value)
cdef bint has_text(dict x) except -1
