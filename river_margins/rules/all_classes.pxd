from river_margins.rules.base cimport Rule, Seen


cdef class AllClassesRule(Rule):
    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1


cdef class SupportClassPA(AllClassesRule):
    cdef readonly double C
    cdef readonly int mode
    cdef Rule two_class_rule
    cdef double threshold(self, double total, Py_ssize_t count, double square, double C) noexcept


cdef class MIRARule(AllClassesRule):
    cdef readonly double C
    cdef readonly object best
    cdef Rule two_class_rule


cdef class OriginalMIRARule(AllClassesRule):
    pass
