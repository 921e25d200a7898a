from river_margins.tasks.base cimport Task


cdef class Regression(Task):
    cdef double eps, up, down


cdef double real(object y) except? -1.0
