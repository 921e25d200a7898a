from river_margins.tasks.base cimport Task


cdef class HalfSpace(Task):
    pass
