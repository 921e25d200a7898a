"""Gradient steps: the step depends on the loss, not on the length of the example."""

from libc.math cimport INFINITY, exp, sqrt

from river_margins.rules.base cimport Rule, Seen, Step, hinge
from river_margins.core.checks import not_negative, one_of, positive

LOSSES = ("hinge", "squared hinge", "logistic", "squared")
SLOPES_UP_TO_1 = ("logistic", "hinge")
SCHEDULES = ("constant", "1/sqrt(t)", "1/t")

cdef enum:
    HINGE, SQUARED_HINGE, LOGISTIC, SQUARED

cdef enum:
    CONSTANT, ROOT, INVERSE


cdef inline double slope(int loss, Seen seen) noexcept:
    """Return -loss', the rate at which the loss falls when the margin rises."""
    if loss == HINGE:
        return 1.0 if hinge(seen) > 0.0 else 0.0
    if loss == SQUARED_HINGE:
        return hinge(seen)
    if loss == LOGISTIC:
        return 1.0 / (1.0 + exp(min(seen.margin, 700.0)))  # the exponential of more overflows
    return seen.target - seen.margin


cdef inline double rate_in_round(int schedule, double lr, long long t) noexcept:
    """Return the learning rate of round t."""
    return lr / sqrt(<double> t) if schedule == ROOT else lr / t if schedule == INVERSE else lr


cdef class GradientDescent(Rule):
    """GradientDescent(lr=1.0, *, loss='hinge', schedule='1/sqrt(t)', radius=None, capped=False)\n--\n
    Step rate·(-loss'), then projection onto the ball |w| <= radius.

    Parameters
    ----------
    lr
        The learning rate, > 0; 1 by default.
    loss
        "hinge" (default): [target - margin]+. "squared hinge": half the square of it. "logistic": ln(1 + e^-margin).
        "squared": half the square of target - margin.
    schedule
        The rate of round t: "constant" is lr, "1/sqrt(t)" (default) is lr/sqrt(t), "1/t" is lr/t.
    radius
        The largest |w|, > 0; None (default) does not limit it.
    capped
        Whether a step ends where the margin reaches the target; False by default. Squared losses then stay finite
        whatever the length of an example.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.GradientDescent(lr=0.5).step(rm.Seen(margin=0.2, t=4))
    Step(step=0.25, scale=1.0, radius=inf)

    References
    ----------
    Zinkevich, M., 2003. Online convex programming and generalized infinitesimal gradient ascent, section 2. ICML.
    """

    _parameter_names = ("lr", "loss", "schedule", "radius", "capped")
    weighted = True

    cdef readonly double lr
    cdef readonly str loss, schedule
    cdef readonly object radius
    cdef readonly bint capped
    cdef int loss_kind, schedule_kind
    cdef double largest_norm

    def __init__(self, lr=1.0, *, loss="hinge", schedule="1/sqrt(t)", radius=None, capped=False):
        self.lr, self.capped = positive("lr", lr), capped
        self.loss = one_of("loss", loss, LOSSES)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        self.radius = radius
        self.loss_kind, self.schedule_kind = LOSSES.index(loss), SCHEDULES.index(schedule)
        self.largest_norm = INFINITY if radius is None else positive("radius", radius)

    cdef int respond(self, Seen seen, Step out) except -1:
        if seen.weight == 0.0:  # no projection either
            return 0
        out.step = rate_in_round(self.schedule_kind, self.lr * seen.weight, seen.t) * slope(self.loss_kind, seen)
        if self.capped and out.step * seen.gain > seen.target - seen.margin > 0.0:
            out.step = (seen.target - seen.margin) / seen.gain
        out.radius = self.largest_norm
        return 0


cdef class FOBOSRule(Rule):
    """FOBOSRule(lr=1.0, lam=0.001, *, loss='hinge', schedule='1/sqrt(t)')\n--\n
    Step rate·(-loss'), then every weight comes nearer to 0 by rate·lam, and stops at 0.

    Parameters
    ----------
    lr
        The learning rate, > 0; 1 by default.
    lam
        Weight of the regularisation lam·|w|_1, >= 0; 0.001 by default.
    loss, schedule
        As in `GradientDescent`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.FOBOSRule(lr=0.5, lam=0.5, schedule="constant"), rm.SoftThreshold(), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 0.25}, True)
    >>> dict(model.weights)
    {'a': 0.25, 'b': 0.0}

    References
    ----------
    Duchi, J. and Singer, Y., 2009. Efficient online and batch learning using forward backward splitting, section 2.
    JMLR 10.
    """

    _parameter_names = ("lr", "lam", "loss", "schedule")
    weighted = True
    needs = frozenset({"soft threshold"})

    cdef readonly double lr, lam
    cdef readonly str loss, schedule
    cdef int loss_kind, schedule_kind

    def __init__(self, lr=1.0, lam=0.001, *, loss="hinge", schedule="1/sqrt(t)"):
        self.lr, self.lam = positive("lr", lr), not_negative("lam", lam)
        self.loss = one_of("loss", loss, LOSSES)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        self.loss_kind, self.schedule_kind = LOSSES.index(loss), SCHEDULES.index(schedule)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double rate = rate_in_round(self.schedule_kind, self.lr * seen.weight, seen.t)
        out.step = rate * slope(self.loss_kind, seen)
        out.threshold = rate * self.lam
        return 0


cdef class Subgradient(Rule):
    """Subgradient(lam=0.0, *, loss='hinge')\n--\n
    Step -loss', for spaces with a learning rate for each weight. Every weight comes nearer to 0 by lam times its rate.

    A sample weight multiplies the step and lam.

    Parameters
    ----------
    lam
        Weight of the regularisation lam·|w|_1, >= 0; 0 by default.
    loss
        As in `GradientDescent`.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.Subgradient(lam=0.5), rm.DualAveraging(lr=1.0, delta=1.0), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 0.5}, True)
    >>> dict(model.weights)
    {'a': 0.25, 'b': 0.0}

    References
    ----------
    Duchi, J., Hazan, E. and Singer, Y., 2011. Adaptive subgradient methods for online learning and stochastic
    optimization, section 5. JMLR 12.
    """

    _parameter_names = ("lam", "loss")
    weighted = True
    needs = frozenset({"learning rates"})

    cdef readonly double lam
    cdef readonly str loss
    cdef int loss_kind

    def __init__(self, lam=0.0, *, loss="hinge"):
        self.lam = not_negative("lam", lam)
        self.loss = one_of("loss", loss, LOSSES)
        self.loss_kind = LOSSES.index(loss)

    cdef int respond(self, Seen seen, Step out) except -1:
        # The gradient of an example without features is 0, which is not a step.
        out.step = seen.weight * slope(self.loss_kind, seen) if seen.gain > 0.0 else 0.0
        out.threshold = seen.weight * self.lam
        return 0


cdef class CoinBettingRule(Rule):
    """CoinBettingRule(loss='logistic')\n--\n
    Step -loss' of a loss whose slope is at most 1, for spaces where each weight bets on its next step.

    A sample weight multiplies the step.

    Parameters
    ----------
    loss
        "logistic" (default) or "hinge", as in `GradientDescent`. In regression "hinge" is the absolute error beyond eps.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.CoinBettingRule().step(rm.Seen(margin=0.0)).step
    0.5

    References
    ----------
    Kempka, M., Kotłowski, W. and Warmuth, M., 2019. Adaptive scale-invariant online algorithms for learning linear models,
    algorithm 2. ICML.
    """

    _parameter_names = ("loss",)
    weighted = True
    needs = frozenset({"bets"})

    cdef readonly str loss
    cdef int loss_kind

    def __init__(self, loss="logistic"):
        self.loss = one_of("loss", loss, SLOPES_UP_TO_1)
        self.loss_kind = LOSSES.index(loss)

    cdef int respond(self, Seen seen, Step out) except -1:
        # The gradient of an example without features is 0, which is not a step.
        out.step = seen.weight * slope(self.loss_kind, seen) if seen.gain > 0.0 else 0.0
        return 0


cdef class LeastMeanSquares(Rule):
    """LeastMeanSquares(lr=0.01, *, normalised=False)\n--\n
    Step lr·(target - margin) in every round; `normalised` divides it by the squared length of the example.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.01 by default. Learning is stable if lr·|x|² < 2, or lr < 2 if normalised.
    normalised
        Whether to divide the step by 1e-8 + |x|²; False by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.LeastMeanSquares(lr=0.5).step(rm.Seen(margin=1.0, target=3.0)).step
    1.0

    References
    ----------
    Widrow, B. and Hoff, M., 1960. Adaptive switching circuits. IRE WESCON Convention Record.
    """

    _parameter_names = ("lr", "normalised")
    weighted = True

    cdef readonly double lr
    cdef readonly bint normalised

    def __init__(self, lr=0.01, *, normalised=False):
        self.lr = positive("lr", lr)
        self.normalised = normalised

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double rate = self.lr * seen.weight
        if self.normalised:
            rate = min(rate, max(self.lr, 1.0)) / (1e-8 + seen.gain)
        out.step = rate * (seen.target - seen.margin)
        return 0


cdef class PegasosRule(Rule):
    """PegasosRule(lam=1e-4, *, project=True)\n--\n
    Multiply w by 1 - 1/t in every round, step 1/(lam·t) if there is a hinge loss, then projection onto |w| <= 1/sqrt(lam).

    A sample weight multiplies loss and regularisation of its round: 1/t becomes weight/t, and at most 1.

    Parameters
    ----------
    lam
        Weight of the regularisation lam·|w|²/2, > 0; 1e-4 by default.
    project
        Whether to shorten w to the length 1/sqrt(lam) (default), as the bound requires.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.PegasosRule(lam=0.5).step(rm.Seen(margin=0.0, t=4)).scale
    0.75

    References
    ----------
    Shalev-Shwartz, S., Singer, Y., Srebro, N. and Cotter, A., 2011. Pegasos: primal estimated sub-gradient solver for SVM,
    section 2. Mathematical Programming 127.
    """

    _parameter_names = ("lam", "project")
    weighted = True

    cdef readonly double lam
    cdef readonly bint project

    def __init__(self, lam=1e-4, *, project=True):
        self.lam = positive("lam", lam)
        self.project = project

    cdef int respond(self, Seen seen, Step out) except -1:
        if seen.weight == 0.0:
            return 0
        out.scale = max(1.0 - seen.weight / seen.t, 0.0)
        # Rounding may leave a margin of 1 - 1e-16 that is 1 in real numbers: this is not a loss.
        out.step = min(seen.weight, <double> seen.t) / (self.lam * seen.t) if hinge(seen) > 1e-12 else 0.0
        if self.project:
            out.radius = 1.0 / sqrt(self.lam)
        return 0


cdef class NORMARule(Rule):
    """NORMARule(lr=0.5, *, lam=0.001)\n--\n
    Multiply w by 1 - lr·lam in every round, and step lr if there is a hinge loss.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.5 by default.
    lam
        Weight of the regularisation lam·|w|²/2, >= 0; 0.001 by default. If lr·lam is above 1, w is multiplied by 0.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.NORMARule(lr=0.5, lam=0.5).step(rm.Seen(margin=0.0))
    Step(step=0.5, scale=0.75, radius=inf)

    References
    ----------
    Kivinen, J., Smola, A. and Williamson, R., 2004. Online learning with kernels. IEEE Transactions on Signal Processing 52.
    """

    _parameter_names = ("lr", "lam")
    weighted = True

    cdef readonly double lr, lam

    def __init__(self, lr=0.5, *, lam=0.001):
        self.lr, self.lam = positive("lr", lr), not_negative("lam", lam)

    cdef int respond(self, Seen seen, Step out) except -1:
        cdef double rate = self.lr * seen.weight
        out.scale = max(1.0 - rate * self.lam, 0.0)
        out.step = rate if hinge(seen) > 0.0 else 0.0
        return 0
