from river_margins.rules.base cimport Rule, Seen


cdef class JointRule(Rule):
    cdef int solve(self, const double* scores, Py_ssize_t blocks, Py_ssize_t true, Seen seen, double* steps) except -1


cdef class SupportClassPA(JointRule):
    cdef readonly double C
    cdef readonly int mode
    cdef Rule alone
    cdef double threshold(self, double total, Py_ssize_t count, double square, double C) noexcept


cdef class MIRARule(JointRule):
    cdef readonly double C
    cdef readonly object best
    cdef Rule alone


cdef class OriginalMIRARule(JointRule):
    pass
