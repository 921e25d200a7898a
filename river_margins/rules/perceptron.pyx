"""Rules that step by a constant, on mistakes."""

from river_margins.rules.base cimport Rule, Seen, Step, is_mistake
from river_margins.core.checks import not_negative, positive


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


cdef class MarginPerceptronRule(Rule):
    """MarginPerceptronRule(margin=1.0, *, lr=1.0)\n--\n
    Step lr on every margin of at most `margin`; no step in other rounds.

    Parameters
    ----------
    margin
        The margin to exceed, >= 0; 1 by default. With 0 it is `PerceptronRule(lr)`.
    lr
        The step, > 0; 1 by default. If the weights start at 0, only margin/lr matters.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.MarginPerceptronRule(margin=0.5).step(rm.Seen(margin=0.5)).step
    1.0

    References
    ----------
    Krauth, W. and Mézard, M., 1987. Learning algorithms with optimal stability in neural networks.
    """

    _parameter_names = ("margin", "lr")
    weighted = True
    tasks = ("classification", "structured")

    cdef readonly double margin
    cdef readonly double lr

    def __init__(self, margin=1.0, *, lr=1.0):
        self.margin = not_negative("margin", margin)
        self.lr = positive("lr", lr)

    cdef int respond(self, Seen seen, Step out) except -1:
        out.step = self.lr * seen.weight if seen.margin <= self.margin else 0.0
        return 0


cdef class ShiftingPerceptronRule(Rule):
    """ShiftingPerceptronRule(lam=2.0, *, tie_update=True)\n--\n
    On update k, counted from 0, multiply w by k/(lam + k) and step lam/(lam + k); no change in other rounds.

    Update j has the weight (j/k)^(lam-1) among k updates: with lam = 1 all count equally, as in `PerceptronRule`.

    Parameters
    ----------
    lam
        How fast old updates lose their weight, > 0; 2 by default. Above 1 late updates count more than early ones.
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.ShiftingPerceptronRule(lam=2.0).step(rm.Seen(margin=-1.0, k=2))
    Step(step=0.5, scale=0.5, radius=inf)

    References
    ----------
    Cavallanti, G., Cesa-Bianchi, N. and Gentile, C., 2007. Tracking the best hyperplane with a simple budget perceptron.
    Machine Learning 69.
    """

    _parameter_names = ("lam", "tie_update")
    needs = frozenset({"radius"})
    tasks = ("classification", "structured")

    cdef readonly double lam
    cdef readonly bint tie_update

    def __init__(self, lam=2.0, *, tie_update=True):
        self.lam = positive("lam", lam)
        self.tie_update = tie_update

    cdef int respond(self, Seen seen, Step out) except -1:
        if is_mistake(seen, self.tie_update):
            out.step = self.lam / (self.lam + seen.k)
            # Before the first update the weights are 0, or those that a user has set: they stay, and fade from then on.
            out.scale = seen.k / (self.lam + seen.k) if seen.k else 1.0
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
