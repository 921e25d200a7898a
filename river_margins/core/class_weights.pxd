from river_margins.tasks.base cimport Task


cdef class ClassWeights:
    cdef readonly object parameter
    cdef readonly bint balanced
    cdef bint checked
    cdef list counts  # with "balanced": the examples of each label, in the order of the task's labels
    cdef long long examples, kinds
    cdef int check_labels(self, Task task) except -1
    cdef double weight(self, Task task, object y, Py_ssize_t place) except -1.0
    cdef int count(self, Py_ssize_t place) except -1
    cdef dict state(self)
    cdef int restore(self, dict state) except -1
