cdef class Estimator:
    pass
