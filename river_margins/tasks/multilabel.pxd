from river_margins.core.reader cimport Row
from river_margins.tasks.multiclass cimport Multiclass


cdef class Multilabel(Multiclass):
    cdef dict new_labels
    cdef Py_ssize_t block_of_label(self, Row row, object label) except -1
