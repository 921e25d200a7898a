cimport cython


cdef class Estimator:
    cdef bint learning
    cdef long learning_thread
    cdef int start_learning(self) except -1
    cdef void end_learning(self) noexcept


@cython.final
cdef class Undisturbed:
    cdef Estimator estimator
    cdef bint outermost
