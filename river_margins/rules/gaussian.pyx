"""Steps that know how sure each weight is: they look at the variance of an example, and make it smaller."""

from statistics import NormalDist

from libc.math cimport INFINITY, fmin, sqrt

from river_margins.rules.base cimport Rule, Seen, Step, hinge, is_mistake
from river_margins.core.checks import below_one, positive


cdef class AROWRule(Rule):
    """Step loss/(variance + r), and surer by 1/r: regularised least squares on the examples with a loss.

    Parameters
    ----------
    r
        How little a single example is to be believed, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.AROWRule(r=3.0).step(rm.Seen(margin=0.0, gain=1.0)).step
    0.25

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M., 2013. Adaptive regularization of weight vectors. Machine Learning 91.
    """

    _parameter_names = ("r",)
    spaces = ("Diagonal", "Full")
    tasks = ("classification", "regression", "multilabel", "structured")

    cdef readonly double r

    def __init__(self, r=1.0):
        self.r = positive("r", r)

    cdef int respond(self, Seen seen, Step out) except -1:
        if hinge(seen) > 0.0:
            out.step, out.shrink = hinge(seen) / (seen.gain + self.r), 1.0 / self.r
        return 0


cdef class NAROWRule(Rule):
    """AROW with an r for each example, so that the variance of scores adds up slowly: no surer where it is below 1/b.

    Parameters
    ----------
    b
        Examples make surer that have a variance above 1/b, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.NAROWRule(b=2.0).step(rm.Seen(margin=0.0, gain=4.0)).shrink
    1.75

    References
    ----------
    Orabona, F. and Crammer, K., 2010. New adaptive algorithms for online classification. NeurIPS 23.
    """

    _parameter_names = ("b",)
    foresees = True
    spaces = ("Diagonal", "Full")
    tasks = ("classification",)

    cdef readonly double b

    def __init__(self, b=1.0):
        self.b = positive("b", b)

    cdef double foresee(self, double variance) noexcept:
        cdef double surplus = self.b * variance - 1.0
        if surplus <= 0.0:
            return INFINITY
        return variance / surplus if surplus < INFINITY else 1.0 / self.b

    cdef int respond(self, Seen seen, Step out) except -1:
        if hinge(seen) > 0.0:
            out.step, out.shrink = 1.0, 1.0 / self.foresee(seen.gain)
        return 0


cdef class NHERDRule(Rule):
    """Step loss/(variance + 1/C), and surer by 2C + C²·variance: the whole Gaussian is moved as a herd.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.NHERDRule(C=1.0).step(rm.Seen(margin=0.0, gain=1.0)).shrink
    3.0

    References
    ----------
    Crammer, K. and Lee, D., 2010. Learning via Gaussian herding. NeurIPS 23.
    """

    _parameter_names = ("C",)
    weighted = True
    spaces = ("Diagonal", "Full")
    tasks = ("classification",)

    cdef readonly double C

    def __init__(self, C=1.0):
        self.C = positive("C", C)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double C = self.C * seen.weight
        if hinge(seen) > 0.0:
            out.step, out.shrink = C * hinge(seen) / (1.0 + C * seen.gain), C * (2.0 + C * seen.gain)
        return 0


cdef class Confident(Rule):
    """A rule that asks for a margin in standard deviations, or in variances, of the score."""

    _parameter_names = ("eta", "phi")
    spaces = ("Diagonal", "Full")
    tasks = ("classification",)

    cdef readonly double eta
    cdef readonly object phi
    cdef double asked

    def __init__(self, eta=0.7, *, phi=None):
        if not 0.5 < eta < 1.0:
            raise ValueError(f"`eta` must be a number above 0.5 and below 1, not {eta!r}")
        self.eta, self.phi = eta, phi
        self.asked = NormalDist().inv_cdf(eta) if phi is None else positive("phi", phi)

    cdef double shortest(self, Seen seen) noexcept:
        """The step after which the margin is phi standard deviations."""
        # Of the two ways to write the root of a quadratic equation each is exact where the other cancels.
        cdef double phi2 = self.asked * self.asked, margin = seen.margin, gain = seen.gain
        cdef double root = sqrt(margin * margin * phi2 * phi2 / 4.0 + gain * phi2 * (1.0 + phi2))
        cdef double part = margin * (1.0 + phi2 / 2.0)
        if margin > 0.0:
            return (phi2 * gain - margin * margin) / (gain * (part + root))
        return (root - part) / (gain * (1.0 + phi2))

    cdef bint short(self, Seen seen) noexcept:
        """Whether the margin is below phi standard deviations."""
        return seen.gain > 0.0 and seen.margin < self.asked * sqrt(seen.gain)

    cdef void take(self, double step, Seen seen, Step out) noexcept:
        """A step, and as much surer as belongs to it."""
        cdef double both = step * seen.gain * self.asked
        # The standard deviation afterwards is 2v/(both + sqrt(both² + 4v)).
        out.step = step
        out.shrink = step * self.asked * (both + sqrt(both * both + 4.0 * seen.gain)) / (2.0 * seen.gain)


cdef class CWRule(Confident):
    """The Gaussian nearest to the old one with which the margin is phi standard deviations of the score.

    Parameters
    ----------
    eta
        With which probability the example is to be right, above 0.5 and below 1; 0.7 by default.
    phi
        The same as the number of standard deviations, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.CWRule(phi=1.0).step(rm.Seen(margin=0.0, gain=1.0)).step, 6)
    0.707107

    References
    ----------
    Crammer, K., Dredze, M. and Pereira, F., 2012. Confidence-weighted linear classification for text categorization.
    Journal of Machine Learning Research 13.
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        if self.short(seen):
            self.take(self.shortest(seen), seen, out)
        return 0


cdef class CWVarianceRule(Confident):
    """The Gaussian nearest to the old one with which the margin is phi times the variance of the score.

    Parameters
    ----------
    eta
        Above 0.5 and below 1; 0.7 by default. Its normal quantile stands for phi.
    phi
        The margin asked for in variances, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.CWVarianceRule(phi=1.0).step(rm.Seen(margin=0.0, gain=1.0))
    Step(step=0.5, scale=1.0, radius=inf, shrink=1.0, inflate=1.0)

    References
    ----------
    Dredze, M., Crammer, K. and Pereira, F., 2008. Confidence-weighted linear classification. ICML.
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double phi = self.asked, part, missing, root
        if seen.gain <= 0.0 or seen.margin >= phi * seen.gain:
            return 0
        part, missing = 1.0 + 2.0 * phi * seen.margin, 8.0 * phi * (phi * seen.gain - seen.margin)
        root = sqrt(part * part + missing)
        out.step = (missing / (part + root) if part > 0.0 else root - part) / (4.0 * phi * seen.gain)
        out.shrink = 2.0 * out.step * phi
        return 0


cdef class Soft(Confident):
    """A confident rule with a price for what stays short of the margin."""

    _parameter_names = ("C", "eta", "phi")
    weighted = True

    cdef readonly double C

    def __init__(self, C=1.0, *, eta=0.75, phi=None):
        Confident.__init__(self, eta, phi=phi)
        self.C = positive("C", C)


cdef class SCW1Rule(Soft):
    """Step min(C, that of CW): no single example moves the mean by more than C·Σx.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `CWRule`.
    eta
        With which probability the example is to be right, above 0.5 and below 1; 0.75 by default.
    phi
        The same as the number of standard deviations, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.SCW1Rule(C=0.5, phi=1.0).step(rm.Seen(margin=0.0, gain=1.0)).step
    0.5

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S., 2012. Exact soft confidence-weighted learning. ICML.
    """

    cdef int respond(self, Seen seen, Step out) except -1:
        if self.short(seen):
            self.take(fmin(self.C * seen.weight, self.shortest(seen)), seen, out)
        return 0


cdef class SCW2Rule(Soft):
    """CW with a price of C times the square of what stays short of the margin: every step is damped, none is cut.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `CWRule`.
    eta
        With which probability the example is to be right, above 0.5 and below 1; 0.9 by default.
    phi
        The same as the number of standard deviations, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.SCW2Rule(C=0.5, phi=1.0).step(rm.Seen(margin=0.0, gain=1.0)).step, 6)
    0.408248

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S., 2012. Exact soft confidence-weighted learning. ICML.
    """

    def __init__(self, C=1.0, *, eta=0.9, phi=None):
        Soft.__init__(self, C, eta=eta, phi=phi)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double phi2 = self.asked * self.asked, margin = seen.margin, gain = seen.gain, damped, part, root, step
        if seen.weight == 0.0 or not self.short(seen):
            return 0
        damped = gain + 0.5 / (self.C * seen.weight)
        part = margin * (2.0 * damped + phi2 * gain)
        root = self.asked * sqrt(phi2 * margin * margin * gain * gain + 4.0 * damped * gain * (damped + gain * phi2))
        if margin > 0.0:
            step = 2.0 * (phi2 * gain - margin * margin) / (part + root)
        else:
            step = (root - part) / (2.0 * damped * (damped + gain * phi2))
        self.take(step, seen, out)
        return 0


cdef class MistakeDriven(Rule):
    """A rule that moves on mistakes only."""

    spaces = ("Diagonal", "Full")
    tasks = ("classification",)

    cdef readonly bint tie_update


cdef class IELLIPRule(MistakeDriven):
    """An ellipsoid around the weights: on a mistake cut it in half, and put a new one around the half with margin 1.

    Parameters
    ----------
    b
        What c is multiplied by after every round, >= 0 and < 1; 0.3 by default.
    c
        How much the ellipsoid shrinks along the first mistake, >= 0 and < 1; 0.1 by default.
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does, as in LIBOL.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.IELLIPRule(c=0.5).step(rm.Seen(margin=0.0, gain=4.0))
    Step(step=0.25, scale=1.0, radius=inf, shrink=0.25, inflate=2.0)

    References
    ----------
    Yang, L., Jin, R. and Ye, J., 2009. Online learning by ellipsoid method. ICML.
    """

    _parameter_names = ("b", "c", "tie_update")

    cdef readonly double b, c

    def __init__(self, b=0.3, *, c=0.1, tie_update=True):
        self.b, self.c, self.tie_update = below_one("b", b), below_one("c", c), tie_update

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double cut
        if seen.gain > 0.0 and is_mistake(seen, self.tie_update):
            cut = self.c * self.b ** (seen.t - 1.0)
            out.step = (1.0 - seen.margin) / seen.gain
            out.shrink, out.inflate = cut / (1.0 - cut) / seen.gain, 1.0 / (1.0 - cut)
        return 0


cdef class SecondOrderPerceptronRule(MistakeDriven):
    """The perceptron in coordinates in which the mistaken examples are spread evenly.

    Parameters
    ----------
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does, as in SOL.
    every_label
        Whether labels that were predicted right move too, which makes it regularised least squares; False by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.SecondOrderPerceptronRule().step(rm.Seen(margin=-1.0))
    Step(step=1.0, scale=1.0, radius=inf, shrink=1.0, inflate=1.0)

    References
    ----------
    Cesa-Bianchi, N., Conconi, A. and Gentile, C., 2005. A second-order perceptron algorithm. SIAM Journal on Computing 34.
    """

    _parameter_names = ("tie_update", "every_label")
    foresees = True
    spaces = ("Diagonal", "Full", "SecondOrderKernel")

    cdef readonly bint every_label

    def __init__(self, tie_update=True, *, every_label=False):
        self.tie_update, self.every_label = tie_update, every_label

    cdef double foresee(self, double variance) noexcept:
        return 1.0

    cdef int respond(self, Seen seen, Step out) except -1:
        if self.every_label and seen.gain > 0.0 or is_mistake(seen, self.tie_update):
            out.step, out.shrink = 1.0, 1.0
        return 0
