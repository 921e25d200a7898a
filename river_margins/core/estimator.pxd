cdef class Estimator:
    cdef bint learning
    cdef long learning_thread
    cdef int begin(self) except -1
    cdef void end(self) noexcept
