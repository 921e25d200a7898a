"""What a rule sees, what it answers, and the one method it has."""

from libc.math cimport INFINITY


cdef class Seen:
    """What a round looks like to a rule: the half-space ⟨w, d⟩ >= target, measured before the move.

    Attributes
    ----------
    margin
        ⟨w, d⟩ before the move; a margin of 0 or less is a mistake in every bound.
    target
        What the task asks of the margin: 1 in classification, ±y - eps in regression.
    gain
        How much the margin rises for each unit of step, >= 0: |x|² for one weight vector, 2|x|² where two classes move.
    size
        |w|², all classes together.
    weight
        The sample weight given to `learn_one`, 1 unless said otherwise.
    wrong
        Whether the predicted label differs from the true one (a margin of 0 does not say so).
    t
        The number of this round, from 1.
    k
        The number of updates before this round.
    """

    def __init__(self, double margin=0.0, double target=1.0, double gain=1.0, *, double size=0.0, double weight=1.0,
                 bint wrong=False, long long t=1, long long k=0):
        self.margin = margin
        self.target = target
        self.gain = gain
        self.size = size
        self.weight = weight
        self.wrong = wrong
        self.t = t
        self.k = k

    @property
    def loss(self):
        """How much the margin falls short of the target: [target - margin]+."""
        return hinge(self)


cdef class Step:
    """A rule's answer: w' = scale·w + step·d, then shortened to `radius` where it is longer.

    Where the space keeps a covariance Σ, d is Σd, and Σ⁻¹ grows by shrink·dd': along d, the variance v becomes
    v/(1 + shrink·v). Then Σ is multiplied by `inflate`.

    Parameters
    ----------
    step
        How far to move along the direction; 0 (default) does not move.
    scale
        What the old weights are multiplied by first; 1 by default.
    radius
        The largest |w| allowed after the move; infinite by default.
    shrink
        How much surer the example makes of its direction, >= 0; 0 by default. For spaces with a covariance.
    inflate
        What the whole covariance is multiplied by afterwards, > 0; 1 by default.
    """

    def __init__(self, double step=0.0, double scale=1.0, double radius=INFINITY, *, double shrink=0.0, double inflate=1.0):
        self.step = step
        self.scale = scale
        self.radius = radius
        self.shrink = shrink
        self.inflate = inflate

    def __repr__(self):
        covariance = f", shrink={self.shrink!r}, inflate={self.inflate!r}" if self.of_covariance() else ""
        return f"Step(step={self.step!r}, scale={self.scale!r}, radius={self.radius!r}{covariance})"

    cdef bint of_covariance(self) noexcept:
        return self.shrink != 0.0 or self.inflate != 1.0


cdef class Rule(Recipe):
    """How far to move in a round: a pure function from `Seen` to `Step`.

    Write your own in Python by giving a subclass a method `step(seen)` that returns a `Step` or just the number of its
    `step`. It may look at everything in `seen`, must not keep it, and must not depend on anything else. Set `weighted`
    if it multiplies something by `seen.weight`; otherwise sample weights are refused. Set `spaces` if it suits others than
    plain weights and kernels, and `tasks` if it does not suit all: a learner refuses a rule that it would only seem to obey.

    Examples
    --------
    The perceptron with a margin (Krauth & Mézard 1987) in two lines:

    >>> import river_margins as rm
    >>> class MarginPerceptron(rm.Rule):
    ...     def step(self, seen):
    ...         return 1.0 if seen.margin <= 0.5 else 0.0
    >>> model = rm.MarginClassifier(MarginPerceptron())
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.score_one({"a": 2.0})
    2.0
    """

    weighted = False
    foresees = False
    spaces = ("Linear", "AveragedLinear", "Kernel", "RandomFourier")
    tasks = ("classification", "regression", "multilabel", "one-class", "structured")

    cdef int respond(self, Seen seen, Step out) except -1:
        # `out` comes at rest: a rule writes only what it wants otherwise. Compiled rules override this method.
        if type(self).step is Rule.step:
            raise TypeError(f"`{type(self).__name__}` has no method `step(seen)`: write one that returns a number or a Step")
        answer = self.step(seen)
        if isinstance(answer, Step):
            out.step, out.scale, out.radius = answer.step, answer.scale, answer.radius
            out.shrink, out.inflate = answer.shrink, answer.inflate
        else:
            out.step = answer
        return 0

    cdef double foresee(self, double variance) noexcept:
        """The r with which a score has an example of this variance in Σ⁻¹ already, as xx'/r, if the rule `foresees`."""
        return INFINITY

    def step(self, Seen seen):
        """Say how to move in a round that looks like `seen`."""
        cdef Step out = Step()
        self.respond(seen, out)
        return out

