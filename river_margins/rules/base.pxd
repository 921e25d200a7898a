from river_margins.recipe cimport Recipe


cdef class Seen:
    cdef public double margin, target, gain, size, weight
    cdef public bint wrong
    cdef public long long t, k


cdef class Step:
    cdef public double step, scale, radius
    cdef void rest(self) noexcept
    cdef bint moves(self) noexcept


cdef class Rule(Recipe):
    cdef int respond(self, Seen seen, Step out) except -1


cdef inline double hinge(Seen seen) noexcept:
    return seen.target - seen.margin if seen.margin < seen.target else 0.0
