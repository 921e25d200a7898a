"""Passive-aggressive rules: move no further than the target.

Source: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006, section 3. The step depends on the loss and the gain only, so
the rules serve classification, regression, and every space with inner products.
"""

from river_margins.rules.base cimport Rule, Seen, Step, hinge
from river_margins.core.checks import positive


cdef class PA(Rule):
    """Step loss/gain: the margin reaches the target exactly, whatever the length of the step.

    The target is reached at any price, so there is nothing that a sample weight could multiply: it is refused. `PA1` takes
    one.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.PA().step(rm.Seen(margin=0.0, target=1.0, gain=4.0)).step
    0.25
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        out.step = hinge(seen) / seen.gain if seen.gain > 0.0 else 0.0
        return 0


cdef class Bounded(Rule):
    """Bounded(C=1.0)\n--\n
    A rule whose steps are limited by an aggressiveness C."""

    _parameter_names = ("C",)
    weighted = True

    def __init__(self, C=1.0):
        self.C = positive("C", C)


cdef class PA1(Bounded):
    """Step min(C, loss/gain): one example moves the weights by at most C·|x|.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `PA`.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.PA1(C=0.1).step(rm.Seen(margin=0.0, target=1.0, gain=4.0)).step
    0.1
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        out.step = min(self.C * seen.weight, hinge(seen) / seen.gain) if seen.gain > 0.0 else 0.0
        return 0


cdef class PA2(Bounded):
    """Step loss/(gain + 1/(2C)): every step is damped, and no step is cut.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `PA`.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.PA2(C=0.5).step(rm.Seen(margin=0.0, target=1.0, gain=4.0)).step
    0.2
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double C = self.C * seen.weight
        out.step = hinge(seen) / (seen.gain + 0.5 / C) if seen.gain > 0.0 and C > 0.0 else 0.0
        return 0
