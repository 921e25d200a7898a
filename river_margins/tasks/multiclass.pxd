from river_margins.tasks.base cimport Labels


cdef class Multiclass(Labels):
    cdef dict block_of
    cdef Py_ssize_t block(self, object y) except -2
