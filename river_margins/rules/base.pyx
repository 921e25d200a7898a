"""The interface of update rules: `Rule` turns a `Seen` into a `Step`."""

from math import inf
from numbers import Real

cimport cython
from libc.math cimport INFINITY


@cython.auto_pickle(True)
cdef class Seen:
    """Seen(margin=0.0, target=1.0, gain=1.0, *, size=0.0, weight=1.0, wrong=False, t=1, k=0, equality=False)\n--\n
    The numbers that a rule may use: the half-space ⟨w, d⟩ >= target, measured before the move.

    Attributes
    ----------
    margin
        ⟨w, d⟩ before the move; a margin of 0 or less is a mistake in every bound.
    target
        The margin that the task asks for: 1 in classification, ±y - eps in regression.
    gain
        How much the margin rises for each unit of step, >= 0: |x|² for one weight vector, 2|x|² where two classes move.
    size
        |w|², all classes together.
    weight
        The sample weight given to `learn_one`; 1 by default.
    wrong
        Whether the predicted label differs from the true one (a margin of 0 does not say so).
    equality
        Whether the label demands ⟨w, d⟩ = target, and not only >= target: in regression with eps = 0.
    t
        The number of this round, from 1.
    k
        The number of updates before this round.
    """

    def __init__(self, double margin=0.0, double target=1.0, double gain=1.0, *, double size=0.0, double weight=1.0,
                 bint wrong=False, long long t=1, long long k=0, bint equality=False):
        self.margin = margin
        self.target = target
        self.gain = gain
        self.size = size
        self.weight = weight
        self.wrong = wrong
        self.equality = equality
        self.t = t
        self.k = k

    @property
    def loss(self):
        """The hinge loss, [target - margin]+."""
        return hinge(self)


@cython.auto_pickle(True)
cdef class Step:
    """Step(step=0.0, scale=1.0, radius=inf, *, shrink=0.0, inflate=1.0)\n--\n
    The move that a rule asks for: w' = scale·w + step·d, then shortened to the length `radius` if it is longer.

    In a space with a covariance Σ the move goes along Σd instead of d, and Σ⁻¹ grows by shrink·ddᵀ. So the variance v along
    d becomes v/(1 + shrink·v). Then Σ is multiplied by `inflate`. A step of 0 may also shrink and inflate. With many classes
    the covariances of the classes in d change; the others stay.

    Parameters
    ----------
    step
        The distance to move along the direction; 0 (default) does not move.
    scale
        The factor for the old weights, applied first; 1 by default.
    radius
        The largest |w| allowed after the move; infinite by default.
    shrink
        How much the example adds to the precision along its direction, >= 0; 0 by default. For spaces with a covariance.
    inflate
        The factor for the whole covariance, applied last, > 0; 1 by default.
    """

    def __init__(self, double step=0.0, double scale=1.0, double radius=INFINITY, *, double shrink=0.0, double inflate=1.0):
        self.step = step
        self.scale = scale
        self.radius = radius
        self.shrink = shrink
        self.inflate = inflate

    def __repr__(self):
        covariance = f", shrink={self.shrink!r}, inflate={self.inflate!r}" if changes_covariance(self) else ""
        return f"Step(step={self.step!r}, scale={self.scale!r}, radius={self.radius!r}{covariance})"


cdef class Rule(Recipe):
    """An update rule: a pure function from `Seen` to `Step`, which says how far to move in a round.

    To write a rule in Python, give a subclass a method `step(seen)` that returns a `Step`, or a number for a plain step. The
    method may read everything in `seen`. It must not keep `seen` and must not depend on anything else.

    Class attributes describe the rule. A learner refuses a rule that does not suit its space or its task.

    Attributes
    ----------
    weighted
        Whether the rule multiplies something by `seen.weight`. If not (default), the learner refuses sample weights.
    shrinks_without_limit
        Whether a few examples can take a variance to 0; False by default. If so, no step in a space with a `half_life`
        takes a variance (with a matrix, that along the example) below 1/1024 of its start: from 0 it would not grow back.
    needs
        What a space must offer, a set of words; {"inner product"} by default, which plain weights and kernels offer.
        "plain steps": a step along d moves the weights, as a perceptron needs. "radius": `scale` and `radius` work too.
        "inner product": gain is |d|² and size is |w|², so that a step raises the margin by step·gain. "covariance":
        `shrink` and `inflate` work, and gain is the variance. "look-ahead score": the space can score with the current
        example already in its covariance. "soft threshold": every weight comes nearer to 0 in each round. "learning
        rates": each weight has a rate of its own. "bets": each weight is a bet on its next step, which must be at most
        as long as the sample weight.
    spaces
        The names of the spaces that the rule suits, in place of `needs`; None by default.
    tasks
        The kinds of task that the rule suits, a tuple; by default all: "classification", "regression", "multilabel",
        "one-class" and "structured".

    Examples
    --------
    The perceptron with a margin (Krauth & Mézard 1987) in two lines:

    >>> import river_margins as rm
    >>> class FixedStep(rm.Rule):
    ...     def step(self, seen):
    ...         return 1.0 if seen.margin <= 0.5 else 0.0
    >>> model = rm.MarginClassifier(FixedStep(), intercept=False)
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.score_one({"a": 2.0})
    2.0
    """

    weighted = False
    looks_ahead = False
    shrinks_without_limit = False
    needs = frozenset({"inner product"})
    spaces = None
    tasks = ("classification", "regression", "multilabel", "one-class", "structured")

    cdef int respond(self, Seen seen, Step out) except -1:
        # Compiled rules override this method. `out` has the defaults of `Step`, and a rule writes only what differs.
        if type(self).step is Rule.step:
            raise TypeError(f"`{type(self).__name__}` has no method `step(seen)`: write one that returns a number or a Step")
        answer = self.step(seen)
        if isinstance(answer, Step):
            out.step, out.scale, out.radius = answer.step, answer.scale, answer.radius
            out.shrink, out.inflate = answer.shrink, answer.inflate
            out.threshold = (<Step> answer).threshold  # of a compiled rule that the method has asked
        elif isinstance(answer, Real):
            out.step = answer
        else:
            raise TypeError(
                f"`{type(self).__name__}.step` returned {answer!r}: return a number or a Step; 0.0 leaves the weights unchanged"
            )
        return 0

    cdef double lookahead_r(self, double variance) noexcept:
        """Return the r with which a score has the current example, of this variance, in Σ⁻¹ already, as xxᵀ/r.

        For rules that set `looks_ahead`.
        """
        return INFINITY

    def step(self, Seen seen):
        """Return the move for a round that looks like `seen`."""
        cdef Step out = Step()
        self.respond(seen, out)
        return out

