from libc.math cimport INFINITY

from river_margins.core.recipe cimport Recipe


cdef class Seen:
    cdef public double margin, target, gain, size, weight
    cdef public bint wrong
    cdef public long long t, k


cdef class Step:
    cdef public double step, scale, radius, shrink, inflate
    cdef bint of_covariance(self) noexcept
    cdef double size  # what |w|² becomes before it is cut to the radius, as the space that bears the step found it
    cdef double threshold  # by how much every weight comes nearer to 0 after the step, down to 0 itself, in sparse spaces


cdef class Rule(Recipe):
    cdef int respond(self, Seen seen, Step out) except -1
    cdef double foresee(self, double variance) noexcept


cdef inline void rest(Step step) noexcept:
    step.step, step.scale, step.radius, step.shrink, step.inflate = 0.0, 1.0, INFINITY, 0.0, 1.0
    step.threshold = 0.0


cdef inline bint moves(Step step) noexcept:
    return step.step != 0.0 or step.scale != 1.0 or step.radius != INFINITY or step.threshold != 0.0


cdef inline bint is_mistake(Seen seen, bint ties) noexcept:
    """Whether the margin is 0 or less; without `ties`, whether the predicted label is wrong."""
    return seen.margin <= 0.0 if ties else seen.wrong


cdef inline double hinge(Seen seen) noexcept:
    return seen.target - seen.margin if seen.margin < seen.target else 0.0
