"""Weights that a move multiplies."""

from libc.math cimport INFINITY, fabs, log, pow

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import above, at_least, not_negative, one_of

cdef double LEAST = 1e-300, MOST = 1e300


cdef class Multiplicative(Linear):
    """Multiplicative(beta=2.0, theta=1.0, form='balanced')\n--\n
    A factor v for each feature, 1 at first: a move by `step` multiplies v_i by beta^(step·d_i).

    The score is ⟨w, x⟩ - theta. The space is for two classes. It does not track |w|²: `seen.size` is 0.

    Parameters
    ----------
    beta
        The factor for a step of 1, > 1; 2 by default.
    theta
        The threshold of the score, >= 0, and at least 1 unless the form is "balanced"; 1 by default.
    form
        "balanced" (default): w_i = v_i - 1/v_i, of any sign, 0 at first. "positive": w_i = v_i, and features must not be
        negative. "erasing": the same, but a negative step sets the weights of all present features to 0.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.Multiplicative(2.0))
    >>> model.learn_one({"a": 1.0, "b": 2.0}, True)
    >>> dict(model.weights)
    {'a': 1.5, 'b': 3.75}

    References
    ----------
    Littlestone, N., 1988. Learning quickly when irrelevant attributes abound. Machine Learning 2.
    """

    _parameter_names = ("beta", "theta", "form")
    offers = frozenset({"plain steps"})

    def __init__(self, beta=2.0, theta=1.0, form="balanced"):
        self.form = one_of("form", form, ("balanced", "positive", "erasing"))
        self.balanced, self.erases = form == "balanced", form == "erasing"
        self.beta = self.base = above("beta", 1, beta)
        self.theta = self.threshold = not_negative("theta", theta) if self.balanced else at_least("theta", 1, theta)
        self.needs_one_vector, self.refuses_negative = True, not self.balanced

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        if step.scale != 1.0 or step.radius != INFINITY:
            raise ValueError(f"`{rule!r}` answers {step!r}, and `{self!r}` can only take steps: answer a number, or Step(step)")
        return Linear.check_python_step(self, rule, step)

    cdef int add_block(self) except -1:
        cdef Py_ssize_t i
        Linear.add_block(self)
        for i in range(self.reader.size()):
            self.weights[i] = 1.0
        return 0

    cdef double read(self, double factor) noexcept:
        return factor - 1.0 / factor if self.balanced else factor

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i
        cdef double total = 0.0, unseen = self.read(1.0)
        cdef const double* fresh = row.own_value + row.capacity
        if self.refuses_negative:
            self.refuse_negative(row)
        row.reserve_scores(1)
        for i in range(row.known):
            total += self.read(self.weights[row.index[i]]) * row.value[i]
        for i in range(row.fresh):
            total += unseen * fresh[i]
        row.scores[0] = total - self.threshold
        return 0

    cdef int refuse_negative(self, Row row) except -1:
        cdef Py_ssize_t i
        for i in range(row.known):
            if row.value[i] < 0.0:
                raise negative(self.reader.vocabulary.keys[row.index[i]], row.value[i])
        for i in range(row.fresh):
            if row.own_value[row.capacity + i] < 0.0:
                raise negative(row.fresh_keys[i], row.own_value[row.capacity + i])
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        """Fill `seen`. The gain is the slope of the margin along the step, log(beta)·Σ v_i·x_i²."""
        cdef Py_ssize_t i
        cdef double factor, total = 0.0
        for i in range(row.known):
            factor = self.weights[row.index[i]]
            total += (factor + 1.0 / factor if self.balanced else factor) * row.value[i] * row.value[i]
        for i in range(row.fresh):
            total += (2.0 if self.balanced else 1.0) * row.own_value[row.capacity + i] ** 2
        seen.margin = direction.terms[0].coefficient * row.scores[0]
        seen.gain = log(self.base) * total
        seen.size = self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        cdef double rise = step.step * direction.terms[0].coefficient
        for i in range(row.known):
            if not self.factor_stays_finite(self.weights[row.index[i]], rise * row.value[i]):
                return False
        for i in range(row.fresh):
            if not self.factor_stays_finite(1.0, rise * row.own_value[row.capacity + i]):
                return False
        return True

    cdef bint factor_stays_finite(self, double factor, double exponent) noexcept:
        cdef double moved = multiplied(factor, self.base, exponent)
        # An erased weight stays 0, also where its factor is infinite.
        return factor == 0.0 or moved <= MOST and (not self.balanced or moved >= LEAST)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, known = self.reader.size()
        cdef double rise = step.step * direction.terms[0].coefficient
        cdef double* weight
        if row.fresh:
            self.reserve(known + row.fresh, self.stride)
            self.reader.add_features(row)
            for i in range(known, self.reader.size()):
                self.weights[i] = 1.0
        for i in range(row.known):
            weight = self.weights + row.index[i]
            if self.erases and rise * row.value[i] < 0.0:
                weight[0] = 0.0
            elif weight[0] != 0.0:
                # An erased weight stays 0. A weight that is only divided never becomes 0.
                weight[0] = max(multiplied(weight[0], self.base, rise * row.value[i]), LEAST)
        return 0

    cdef double weight_of_new(self) noexcept:
        return self.read(1.0)

    cdef double constant_in_score(self) noexcept:
        return -self.threshold

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature; raise KeyError if the feature was never learned."""
        return self.read(Linear.weight(self, key, block))

    def __getstate__(self):
        state = Linear.__getstate__(self)
        return {"features": state["features"], "weights": state["weights"]}

    def __setstate__(self, state):
        cdef Py_ssize_t i
        self.reader.learn_features(state["features"])
        self.take_weights(state["weights"])
        for i in range(self.reader.size()):
            if not (0.0 if self.erases else LEAST) <= self.weights[i] <= MOST:
                raise ValueError(f"a factor must be between {LEAST} and {MOST}, not {self.weights[i]}")


cdef inline double multiplied(double factor, double base, double exponent) noexcept:
    return factor * pow(base, exponent) if exponent >= 0.0 else factor / pow(base, -exponent)


cdef negative(key, double value):
    return ValueError(
        f"feature {key!r} is {value}, and these weights need features that are not negative: use BalancedWinnow, or give "
        "max(x, 0) and max(-x, 0) as two features"
    )
