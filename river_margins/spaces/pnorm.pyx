"""Weights read through the link function of a p-norm."""

from libc.math cimport INFINITY, fabs, frexp, isfinite, ldexp, pow

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import at_least


cdef class PNorm(Linear):
    """Sums θ of examples, read as w_i = θ_i·(|θ_i|/|θ|_p)^(p-2), the slope of |θ|_p²/2.

    Between the perceptron (p = 2, where w is θ) and multiplicative learners: the larger p, the more the largest sums
    count, and the less many irrelevant features do any harm. `gain` is (p - 1)·|d|_p², which the margin rises by at most;
    `size` is |θ|_p², which is |w|² in the dual norm. Both take time O(features of x), for the norm is kept up to date.

    Parameters
    ----------
    p
        The norm in which examples are short, >= 2; 4 by default. 2·ln(number of features) suits sparse targets.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.PNorm(4))
    >>> model.learn_one({"a": 2.0, "b": 1.0}, True)
    >>> {feature: round(weight, 3) for feature, weight in model.weights.items()}
    {'a': 1.94, 'b': 0.243}

    References
    ----------
    Grove, A., Littlestone, N. and Schuurmans, D., 2001. General convergence results for linear discriminant updates.
    Machine Learning 43.
    """

    _parameter_names = ("p",)

    def __init__(self, p=4):
        self.p = self.exponent = at_least("p", 2, p)
        self.whole = <int> p if p == <int> min(p, 64) else -1

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i, block, stride = self.stride
        cdef double value, factor = self.factor()
        cdef const double* weight
        row.reserve_scores(blocks)
        for block in range(blocks):
            row.scores[block] = 0.0
        for i in range(row.known):
            value = row.value[i]
            weight = self.weights + row.index[i] * stride
            for block in range(self.blocks):
                row.scores[block] += value * self.bent(weight[block])
        for block in range(self.blocks):
            row.scores[block] *= factor
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, powers = 0.0, length
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            powers += self.raised(fabs(direction.terms[i].coefficient))
        length = pow(powers, 1.0 / self.exponent) * self.norm_of(row)
        seen.margin = margin
        seen.gain = (self.exponent - 1.0) * length * length
        seen.size = self.size
        return 0

    cdef bint bears(self, Row row, Direction direction, Seen seen, Step step) except -1:
        # |d|_p is not above the root of the gain, and no sum is larger than the norm.
        step.size = fabs(step.scale) * self.size ** 0.5 + fabs(step.step) * seen.gain ** 0.5
        step.size *= step.size
        return isfinite(step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        cdef double norm
        if row.fresh:
            self.reserve(self.reader.size() + row.fresh, self.stride)
            self.reader.admit(row)
        self.multiply(step.scale)
        for i in range(direction.length):
            self.add_to_block(row, direction.terms[i].block, step.step * direction.terms[i].coefficient / self.scale)
        # Where large sums cancel, the rounding of what was subtracted may outweigh what is left.
        if self.blur > 1e6 * self.power:
            self.count_anew()
        norm = fabs(self.scale) * self.norm()
        if norm > step.radius:
            self.multiply(step.radius / norm)
            norm = step.radius
        self.size = norm * norm
        return 0

    cdef void add_to_block(self, Row row, Py_ssize_t block, double factor) noexcept:
        cdef Py_ssize_t i
        cdef double* weights = self.weights + block
        cdef double* weight
        cdef double largest = self.largest, old = 0.0, new = 0.0, ratio, change
        for i in range(row.known):
            largest = max(largest, fabs(weights[row.index[i] * self.stride] + factor * row.value[i]))
        if largest == 0.0:
            return
        # In units above the largest sum so far, so that no power overflows; powers of two, so that dividing rounds nothing.
        if largest > self.largest:
            largest = two_above(largest)
        ratio = pow(self.largest / largest, self.exponent)
        self.power *= ratio
        self.blur *= ratio
        self.largest = largest
        for i in range(row.known):
            weight = weights + row.index[i] * self.stride
            change = factor * row.value[i]
            if change != 0.0:
                old += self.raised(fabs(weight[0]) / largest)
                weight[0] += change
                new += self.raised(fabs(weight[0]) / largest)
        self.blur += self.power + old + new
        self.power += new - old

    cdef void fold(self) noexcept:
        self.largest *= fabs(self.scale)
        if self.largest == 0.0:
            self.power = self.blur = 0.0
        Linear.fold(self)

    cdef double raised(self, double base) noexcept:
        """base^p, by multiplying where p is a whole number: that takes a tenth of the time."""
        return power_of(base, self.whole) if self.whole >= 0 else pow(base, self.exponent)

    cdef double bent(self, double stored) noexcept:
        """What is stored of a sum, as its weight but for a factor that all weights share."""
        if stored == 0.0:
            return 0.0
        cdef double share = fabs(stored) / self.largest
        return stored * (power_of(share, self.whole - 2) if self.whole >= 0 else pow(share, self.exponent - 2.0))

    cdef double factor(self) noexcept:
        cdef double norm = self.norm()
        return self.scale * pow(self.largest / norm, self.exponent - 2.0) if norm > 0.0 else 0.0

    cdef double norm(self) noexcept:
        """|θ|_p, in units of the scale."""
        return self.largest * pow(self.power, 1.0 / self.exponent) if self.power > 0.0 else 0.0

    cdef double norm_of(self, Row row) noexcept:
        """|x|_p."""
        cdef Py_ssize_t i
        cdef double largest = 0.0, power = 0.0
        cdef const double* fresh = row.own_value + row.capacity
        for i in range(row.known):
            largest = max(largest, fabs(row.value[i]))
        for i in range(row.fresh):
            largest = max(largest, fabs(fresh[i]))
        if largest == 0.0:
            return 0.0
        for i in range(row.known):
            power += self.raised(fabs(row.value[i]) / largest)
        for i in range(row.fresh):
            power += self.raised(fabs(fresh[i]) / largest)
        return largest * pow(power, 1.0 / self.exponent)

    cdef void count_anew(self) noexcept:
        cdef Py_ssize_t i, count = self.reader.size() * self.stride
        self.largest = self.power = 0.0
        for i in range(count):
            self.largest = max(self.largest, fabs(self.weights[i]))
        if self.largest > 0.0:
            self.largest = two_above(self.largest)
        for i in range(count if self.largest > 0.0 else 0):
            self.power += self.raised(fabs(self.weights[i]) / self.largest)
        self.blur = self.power

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """The weight of a feature in a block, read from its sum; KeyError if the feature was never learned."""
        cdef double stored = Linear.weight(self, key, block) / self.scale
        return self.factor() * self.bent(stored)

    def __getstate__(self):
        return Linear.__getstate__(self) | {"largest": self.largest, "power": self.power, "blur": self.blur}

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        if not all(0 <= state[name] < INFINITY for name in ("largest", "power", "blur")):
            raise ValueError("the parts of the norm must be finite and not negative")
        self.largest, self.power, self.blur = state["largest"], state["power"], state["blur"]


cdef inline double power_of(double base, int exponent) noexcept:
    cdef double result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


cdef inline double two_above(double value) noexcept:
    """The power of two above a number."""
    cdef int exponent
    frexp(value, &exponent)
    return ldexp(1.0, exponent)
