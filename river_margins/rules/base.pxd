from libc.math cimport INFINITY

from river_margins.core.recipe cimport Recipe


cdef class Seen:
    cdef public double margin, target, gain, size, weight
    cdef public bint wrong, equality
    cdef public long long t, k


cdef class Step:
    cdef public double step, scale, radius, shrink, inflate
    cdef double size  # |w|² after the step and before the radius, as `Space.stays_finite` has found it
    cdef double threshold  # in sparse spaces: every weight comes nearer to 0 by this much after the step, and stops at 0


cdef class Rule(Recipe):
    cdef int respond(self, Seen seen, Step out) except -1
    cdef double lookahead_r(self, double variance) noexcept


cdef inline void reset(Step step) noexcept:
    step.step, step.scale, step.radius, step.shrink, step.inflate = 0.0, 1.0, INFINITY, 0.0, 1.0
    step.threshold = 0.0


cdef inline bint moves_weights(Step step) noexcept:
    return step.step != 0.0 or step.scale != 1.0 or step.radius != INFINITY or step.threshold != 0.0


cdef inline bint changes_covariance(Step step) noexcept:
    return step.shrink != 0.0 or step.inflate != 1.0


cdef inline bint is_mistake(Seen seen, bint ties) noexcept:
    """Return whether the margin is 0 or less or, without `ties`, whether the predicted label is wrong."""
    return seen.margin <= 0.0 if ties else seen.wrong


cdef inline double hinge(Seen seen) noexcept:
    cdef double loss = seen.target - seen.margin
    return loss if loss > 0.0 else 0.0  # an instruction; processors guess the outcome of a branch, and often wrong
