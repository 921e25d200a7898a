"""Rules that approximate the separator with the largest margin, without a quadratic program."""

from libc.math cimport fmin, sqrt

from river_margins.rules.base cimport Rule, Seen, Step, is_mistake
from river_margins.core.checks import positive, share

# On noisy streams ROMMA's w grows without limit. Beyond this score the 1 of a half-space is far below the rounding errors of
# scores, so only the direction of w matters, and a shorter w in this direction learns the same.
cdef double LARGEST_SCORE = 1e75
cdef double LARGEST_LENGTH = 1e100  # of w, after short examples: the next step has the third power of it


cdef class ROMMARule(Rule):
    """ROMMARule(aggressive=False, *, tie_update=True)\n--\n
    The shortest w that meets this half-space and ⟨w, w_t⟩ >= |w_t|², which stands for all earlier ones.

    The half-space has no price, so sample weights are refused.

    On noisy streams w becomes longer and longer. It is shortened where |w||x| is beyond 1e75, or |w| beyond 1e100.

    Parameters
    ----------
    aggressive
        Whether to move on every margin below 1 instead of on mistakes only; False by default.
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does, as in LIBOL.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.ROMMARule().step(rm.Seen(margin=0.0, gain=4.0, size=0.0)).step
    0.25

    References
    ----------
    Li, Y. and Long, P., 2002. The relaxed online maximum margin algorithm. Machine Learning 46.
    """

    _parameter_names = ("aggressive", "tie_update")
    tasks = ("classification",)

    cdef readonly bint aggressive, tie_update

    def __init__(self, aggressive=False, *, tie_update=True):
        self.aggressive = aggressive
        self.tie_update = tie_update

    cdef bint acts(self, Seen seen) noexcept:
        return seen.margin < 1.0 if self.aggressive else is_mistake(seen, self.tie_update)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double product = seen.gain * seen.size, determinant = product - seen.margin * seen.margin
        if seen.gain == 0.0 or not self.acts(seen):
            return 0
        if seen.size == 0.0:
            out.step = 1.0 / seen.gain
        elif product <= seen.margin:  # only if aggressive: the old half-space is not a restriction
            out.step, out.scale = 1.0 / seen.gain, 0.0
        elif determinant > 1e-12 * product:
            out.step = seen.size * (1.0 - seen.margin) / determinant
            out.scale = (product - seen.margin) / determinant
        elif seen.margin > 0.0:
            out.scale = 1.0 / seen.margin
        else:
            return 0
        out.radius = fmin(LARGEST_SCORE / sqrt(seen.gain), LARGEST_LENGTH)
        return 0


cdef class ALMARule(Rule):
    """ALMARule(alpha=0.9, *, B=None, C=1.4142135623730951)\n--\n
    A step that becomes shorter with each update, on examples of length 1, with |w| <= 1.

    Parameters
    ----------
    alpha
        The part of the best margin that may be missed, in (0, 1]; 0.9 by default.
    B
        The margin to reach at first, in units of 1 - alpha, > 0; None (default) is sqrt(8)/alpha, as the theorem requires.
        Other libraries take 1/alpha.
    C
        The first step, > 0; sqrt(2) by default. A sample weight multiplies the step.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.ALMARule(C=1.0).step(rm.Seen(margin=0.0, gain=4.0))
    Step(step=0.5, scale=1.0, radius=1.0)

    References
    ----------
    Gentile, C., 2001. A new approximate maximal margin classification algorithm. Journal of Machine Learning Research 2.
    """

    _parameter_names = ("alpha", "B", "C")
    weighted = True
    needs = frozenset({"radius"})
    tasks = ("classification",)

    cdef readonly double alpha, C
    cdef readonly object B
    cdef double first

    def __init__(self, alpha=0.9, *, B=None, C=2**0.5):
        self.alpha, self.B, self.C = share("alpha", alpha), B, positive("C", C)
        self.first = sqrt(8.0) / alpha if B is None else positive("B", B)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double length = sqrt(seen.gain), root = sqrt(seen.k + 1.0)
        if length > 0.0 and seen.weight > 0.0 and seen.margin / length <= (1.0 - self.alpha) * self.first / root:
            out.step, out.radius = self.C * seen.weight / root / length, 1.0
        return 0
