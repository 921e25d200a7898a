from river_margins.tasks.base cimport Labels


cdef class Multiclass(Labels):
    cdef dict block_of
