from river_margins.core.reader cimport Row
from river_margins.tasks.multiclass cimport Multiclass


cdef class Multilabel(Multiclass):
    cdef dict coming
    cdef Py_ssize_t find(self, Row row, object label) except -1
