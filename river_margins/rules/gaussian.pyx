"""Rules for spaces with a covariance: the step depends on the variance of the example, and makes it smaller."""

from statistics import NormalDist

from libc.math cimport INFINITY, fmin, pow, sqrt

from river_margins.rules.base cimport Rule, Seen, Step, hinge, is_mistake
from river_margins.core.checks import below_one, positive


cdef class AROWRule(Rule):
    """AROWRule(r=1.0)\n--\n
    Step loss/(variance + r), with shrink 1/r: regularised least squares on the examples with a loss.

    In regression with eps = 0, where every example demands equality, each of them shrinks the covariance, with a loss or not.

    Parameters
    ----------
    r
        How little one example changes the weights, > 0; 1 by default. For an example with the sample weight w it is r/w:
        the loss and the variance cost w times as much.

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
    weighted = True
    needs = frozenset({"covariance"})
    tasks = ("classification", "regression", "multilabel", "structured")

    cdef readonly double r

    def __init__(self, r=1.0):
        self.r = positive("r", r)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double r
        if seen.weight > 0.0 and (hinge(seen) > 0.0 or seen.equality):
            r = self.r / seen.weight
            out.step, out.shrink = hinge(seen) / (seen.gain + r), 1.0 / r
        return 0


cdef class NAROWRule(Rule):
    """NAROWRule(b=1.0)\n--\n
    AROW with an r for each example, such that the sum of variances grows slowly; no shrink if the variance is below 1/b.

    A sample weight w multiplies the step and the shrink, as r/w does in AROW.

    Parameters
    ----------
    b
        Only an example with a variance above 1/b shrinks the covariance, > 0; 1 by default.

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
    weighted = True
    looks_ahead = True
    needs = frozenset({"covariance", "look-ahead score"})
    tasks = ("classification",)

    cdef readonly double b

    def __init__(self, b=1.0):
        self.b = positive("b", b)

    cdef double lookahead_r(self, double variance) noexcept:
        cdef double surplus = self.b * variance - 1.0
        if surplus <= 0.0:
            return INFINITY
        return variance / surplus if surplus < INFINITY else 1.0 / self.b

    cdef int respond(self, Seen seen, Step out) except -1:
        if hinge(seen) > 0.0:
            out.step, out.shrink = seen.weight, seen.weight / self.lookahead_r(seen.gain)
        return 0


cdef class NHERDRule(Rule):
    """NHERDRule(C=1.0)\n--\n
    Step loss/(variance + 1/C), with shrink 2C + C²·variance: one linear map moves the whole Gaussian.

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
    needs = frozenset({"covariance"})
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
    """Confident(eta=0.7, *, phi=None)\n--\n
    A rule that asks for a margin of phi standard deviations, or phi variances, of the score."""

    _parameter_names = ("eta", "phi")
    needs = frozenset({"covariance"})
    tasks = ("classification",)

    cdef readonly double eta
    cdef readonly object phi
    cdef double asked_phi

    def __init__(self, eta=0.7, *, phi=None):
        if not 0.5 < eta < 1.0:
            raise ValueError(f"`eta` must be a number above 0.5 and below 1, not {eta!r}")
        self.eta, self.phi = eta, phi
        self.asked_phi = NormalDist().inv_cdf(eta) if phi is None else positive("phi", phi)

    cdef double needed_step(self, Seen seen) noexcept:
        """Return the step after which the margin is phi standard deviations."""
        # The root of a quadratic equation has two forms; each is exact where terms of the other cancel.
        cdef double phi2 = self.asked_phi * self.asked_phi, margin = seen.margin, gain = seen.gain
        cdef double root = sqrt(margin * margin * phi2 * phi2 / 4.0 + gain * phi2 * (1.0 + phi2))
        cdef double part = margin * (1.0 + phi2 / 2.0)
        if margin > 0.0:
            return (phi2 * gain - margin * margin) / (gain * (part + root))
        return (root - part) / (gain * (1.0 + phi2))

    cdef bint is_short(self, Seen seen) noexcept:
        """Return whether the margin is below phi standard deviations."""
        return seen.gain > 0.0 and seen.margin < self.asked_phi * sqrt(seen.gain)

    cdef void set_step(self, double step, Seen seen, Step out) noexcept:
        """Set a step, and the shrink that belongs to it."""
        cdef double both = step * seen.gain * self.asked_phi
        # After the move the standard deviation is 2v/(both + sqrt(both² + 4v)), with the variance v.
        out.step = step
        out.shrink = step * self.asked_phi * (both + sqrt(both * both + 4.0 * seen.gain)) / (2.0 * seen.gain)


cdef class CWRule(Confident):
    """The nearest Gaussian to the old one with a margin of phi standard deviations of the score.

    The margin has no price, so there is nothing that a sample weight could multiply: it is refused. `SCW1Rule` takes one.

    Parameters
    ----------
    eta
        The probability with which the example shall be right, above 0.5 and below 1; 0.7 by default.
    phi
        The margin to reach, in standard deviations, > 0; None (default) takes the normal quantile of `eta`.

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

    shrinks_without_limit = True

    cdef int respond(self, Seen seen, Step out) except -1:
        if self.is_short(seen):
            self.set_step(self.needed_step(seen), seen, out)
        return 0


cdef class CWVarianceRule(Confident):
    """The nearest Gaussian to the old one with a margin of phi times the variance of the score.

    Sample weights are refused, as by `CWRule`.

    Parameters
    ----------
    eta
        Above 0.5 and below 1; 0.7 by default. Its normal quantile is phi.
    phi
        The margin to reach, in variances, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.CWVarianceRule(phi=1.0).step(rm.Seen(margin=0.0, gain=1.0))
    Step(step=0.5, scale=1.0, radius=inf, shrink=1.0, inflate=1.0)

    References
    ----------
    Dredze, M., Crammer, K. and Pereira, F., 2008. Confidence-weighted linear classification. ICML.
    """

    # A mistake multiplies the precision by 1 + 2·phi·|margin|.
    shrinks_without_limit = True

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double phi = self.asked_phi, part, missing, root
        if seen.gain <= 0.0 or seen.margin >= phi * seen.gain:
            return 0
        part, missing = 1.0 + 2.0 * phi * seen.margin, 8.0 * phi * (phi * seen.gain - seen.margin)
        root = sqrt(part * part + missing)
        out.step = (missing / (part + root) if part > 0.0 else root - part) / (4.0 * phi * seen.gain)
        out.shrink = 2.0 * out.step * phi
        return 0


cdef class Soft(Confident):
    """Soft(C=1.0, *, eta=0.75, phi=None)\n--\n
    A `Confident` rule that pays for the missing margin with a price of C."""

    _parameter_names = ("C", "eta", "phi")
    weighted = True

    cdef readonly double C

    def __init__(self, C=1.0, *, eta=0.75, phi=None):
        Confident.__init__(self, eta, phi=phi)
        self.C = positive("C", C)


cdef class SCW1Rule(Soft):
    """Step min(C, the step of CW): one example moves the mean by at most C·Σx.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `CWRule`.
    eta
        The probability with which the example shall be right, above 0.5 and below 1; 0.75 by default.
    phi
        The margin to reach, in standard deviations, > 0; None (default) takes the normal quantile of `eta`.

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
        if self.is_short(seen):
            self.set_step(fmin(self.C * seen.weight, self.needed_step(seen)), seen, out)
        return 0


cdef class SCW2Rule(Soft):
    """SCW2Rule(C=1.0, *, eta=0.9, phi=None)\n--\n
    CW that pays for the missing margin with C times its square: every step is damped, and no step is cut.

    Parameters
    ----------
    C
        Aggressiveness, > 0; 1 by default. Towards infinity this is `CWRule`.
    eta
        The probability with which the example shall be right, above 0.5 and below 1; 0.9 by default.
    phi
        The margin to reach, in standard deviations, > 0; None (default) takes the normal quantile of `eta`.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.SCW2Rule(C=0.5, phi=1.0).step(rm.Seen(margin=0.0, gain=1.0)).step, 6)
    0.408248

    References
    ----------
    Wang, J., Zhao, P. and Hoi, S., 2012. Exact soft confidence-weighted learning. ICML.
    """

    # The shrink grows with the margin that is missed, which C does not limit as it does in SCW-I.
    shrinks_without_limit = True

    def __init__(self, C=1.0, *, eta=0.9, phi=None):
        Soft.__init__(self, C, eta=eta, phi=phi)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double phi2 = self.asked_phi * self.asked_phi, margin = seen.margin, gain = seen.gain
        cdef double damping, damped, part, root, step
        if seen.weight == 0.0 or not self.is_short(seen):
            return 0
        damping = 0.5 / (self.C * seen.weight)
        if damping > 1e150:  # its square is beyond floating point, and the step next to 0
            return 0
        damped = gain + damping
        part = margin * (2.0 * damped + phi2 * gain)
        root = self.asked_phi * sqrt(phi2 * margin * margin * gain * gain + 4.0 * damped * gain * (damped + gain * phi2))
        if margin > 0.0:
            step = 2.0 * (phi2 * gain - margin * margin) / (part + root)
        else:
            step = (root - part) / (2.0 * damped * (damped + gain * phi2))
        self.set_step(step, seen, out)
        return 0


cdef class MistakeDriven(Rule):
    """A rule that moves on mistakes only."""

    needs = frozenset({"covariance"})
    tasks = ("classification",)

    cdef readonly bint tie_update


cdef class IELLIPRule(MistakeDriven):
    """IELLIPRule(b=0.3, *, c=0.1, tie_update=True)\n--\n
    An ellipsoid around the weights: a mistake cuts it in half, and a new ellipsoid encloses the half with a margin of 1.

    A cut has no price, so sample weights are refused.

    Parameters
    ----------
    b
        The factor for c after every round, >= 0 and < 1; 0.3 by default.
    c
        How much the ellipsoid shrinks along the direction of the first mistake, >= 0 and < 1; 0.1 by default.
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
            cut = self.c * pow(self.b, seen.t - 1.0)
            out.step = (1.0 - seen.margin) / seen.gain
            out.shrink, out.inflate = cut / (1.0 - cut) / seen.gain, 1.0 / (1.0 - cut)
        return 0


cdef class SecondOrderPerceptronRule(MistakeDriven):
    """SecondOrderPerceptronRule(tie_update=True, *, every_label=False)\n--\n
    The perceptron in coordinates in which the examples with a mistake have the same variance in every direction.

    An example with the sample weight w moves the sums as w copies of it do.

    Parameters
    ----------
    tie_update
        Whether a margin of exactly 0 moves too (default). With False only a wrong predicted label does, as in SOL.
    every_label
        Whether rounds without a mistake move too; False by default. With True the rule is regularised least squares.

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
    weighted = True
    looks_ahead = True
    needs = frozenset({"look-ahead score"})

    cdef readonly bint every_label

    def __init__(self, tie_update=True, *, every_label=False):
        self.tie_update, self.every_label = tie_update, every_label

    cdef double lookahead_r(self, double variance) noexcept:
        return 1.0

    cdef int respond(self, Seen seen, Step out) except -1:
        if self.every_label and seen.gain > 0.0 or is_mistake(seen, self.tie_update):
            out.step, out.shrink = seen.weight, seen.weight
        return 0
