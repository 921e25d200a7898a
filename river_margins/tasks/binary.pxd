from river_margins.tasks.base cimport Labels


cdef class Binary(Labels):
    cdef object negative, positive
