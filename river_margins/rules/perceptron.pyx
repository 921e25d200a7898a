"""Rules that step by a constant, on mistakes."""

from river_margins.rules.base cimport Rule, Seen, Step, is_mistake
from river_margins.core.checks import positive


cdef class PerceptronRule(Rule):
    """PerceptronRule(lr=1.0, *, tie_update=True)\n--\n
    Step lr on every mistake; no step in other rounds.

    Parameters
    ----------
    lr
        The step, > 0; 1 by default. If the weights start at 0, it only scales them, but for rounding.
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does, as in LIBOL.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.PerceptronRule(lr=0.5).step(rm.Seen(margin=-1.0)).step
    0.5

    References
    ----------
    Rosenblatt, F., 1958. The perceptron: a probabilistic model for information storage and organization in the brain.
    """

    _parameter_names = ("lr", "tie_update")
    weighted = True
    needs = frozenset({"plain steps"})
    tasks = ("classification", "structured")

    cdef readonly double lr
    cdef readonly bint tie_update

    def __init__(self, lr=1.0, *, tie_update=True):
        self.lr = positive("lr", lr)
        self.tie_update = tie_update

    cdef int respond(self, Seen seen, Step out) except -1:
        out.step = self.lr * seen.weight if is_mistake(seen, self.tie_update) else 0.0
        return 0


cdef class UnitRule(Rule):
    """UnitRule(aggressive=False)\n--\n
    Step 1 on every mistake, or on every margin below 1. The space may change the step: see `budgeted_kernels`.

    Parameters
    ----------
    aggressive
        Whether margins between 0 and 1 move too; False by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> from river_margins.rules.perceptron import UnitRule
    >>> UnitRule().step(rm.Seen(margin=-1.0)).step
    1.0
    """

    _parameter_names = ("aggressive",)
    tasks = ("classification",)

    cdef readonly bint aggressive

    def __init__(self, aggressive=False):
        self.aggressive = aggressive

    cdef int respond(self, Seen seen, Step out) except -1:
        out.step = 1.0 if seen.margin <= 0.0 or (self.aggressive and seen.margin < 1.0) else 0.0
        return 0
