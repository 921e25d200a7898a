from river_margins.tasks.base cimport Task


cdef class FirstLabel(Task):
    cdef object rivals
