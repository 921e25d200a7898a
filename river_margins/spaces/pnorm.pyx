"""Weights that are the gradient of a p-norm."""

from libc.math cimport INFINITY, fabs, frexp, isfinite, ldexp, pow, sqrt

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import at_least


cdef class PNorm(Linear):
    """PNorm(p=4)\n--\n
    A sum θ of examples, with weights w_i = θ_i·(|θ_i|/|θ|_p)^(p-2), the gradient of |θ|_p²/2.

    The space lies between the perceptron (p = 2, where w is θ) and multiplicative learners: the larger p, the more the
    largest sums count, and the less harm irrelevant features do. `gain` is (p - 1)·|d|_p², an upper bound for the rise of the
    margin. `size` is |θ|_p², which is |w|² in the dual norm. A round takes time O(features of x).

    Parameters
    ----------
    p
        The norm, >= 2; 4 by default. If few features are relevant, 2·ln(number of features) is a good value.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.PNorm(4), intercept=False)
    >>> model.learn_one({"a": 2.0, "b": 1.0}, True)
    >>> {feature: round(weight, 3) for feature, weight in model.weights.items()}
    {'a': 1.94, 'b': 0.243}

    References
    ----------
    Grove, A., Littlestone, N. and Schuurmans, D., 2001. General convergence results for linear discriminant updates.
    Machine Learning 43.
    """

    _parameter_names = ("p",)
    offers = frozenset({"plain steps", "radius"})

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
                row.scores[block] += value * self.unscaled_weight(weight[block])
        for block in range(self.blocks):
            row.scores[block] *= factor
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, powers = 0.0, length
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            powers += self.to_the_p(fabs(direction.terms[i].coefficient))
        length = pow(powers, 1.0 / self.exponent) * self.norm_of(row)
        seen.margin = margin
        seen.gain = (self.exponent - 1.0) * length * length
        seen.size = self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        # |d|_p is at most the root of the gain, and no sum is larger than the norm.
        step.size = fabs(step.scale) * sqrt(self.size) + fabs(step.step) * sqrt(seen.gain)
        step.size *= step.size
        return isfinite(step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        cdef double norm
        if row.fresh:
            self.reserve(self.reader.size() + row.fresh, self.stride)
            self.reader.add_features(row)
        self.multiply(step.scale)
        for i in range(direction.length):
            self.add_to_block(row, direction.terms[i].block, step.step * direction.terms[i].coefficient / self.scale)
        # If large sums cancel, the rounding error of the norm may be larger than the norm.
        if self.rounding_error > 1e6 * self.power:
            self.recompute_power()
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
        # The unit is above the largest sum, so no power overflows, and a power of two, so division is exact.
        if largest > self.largest:
            largest = two_above(largest)
        ratio = pow(self.largest / largest, self.exponent)
        self.power *= ratio
        self.rounding_error *= ratio
        self.largest = largest
        for i in range(row.known):
            weight = weights + row.index[i] * self.stride
            change = factor * row.value[i]
            if change != 0.0:
                old += self.to_the_p(fabs(weight[0]) / largest)
                weight[0] += change
                new += self.to_the_p(fabs(weight[0]) / largest)
        self.rounding_error += self.power + old + new
        self.power += new - old

    cdef void fold(self) noexcept:
        self.largest *= fabs(self.scale)
        if self.largest == 0.0:
            self.power = self.rounding_error = 0.0
        Linear.fold(self)

    cdef double to_the_p(self, double base) noexcept:
        """Return base^p. If p is a whole number, multiplication takes a tenth of the time of `pow`."""
        return power_of(base, self.whole) if self.whole >= 0 else pow(base, self.exponent)

    cdef double unscaled_weight(self, double stored) noexcept:
        """Return the weight of a stored sum, without `factor`, which all weights share."""
        if stored == 0.0:
            return 0.0
        cdef double share = fabs(stored) / self.largest
        return stored * (power_of(share, self.whole - 2) if self.whole >= 0 else pow(share, self.exponent - 2.0))

    cdef double factor(self) noexcept:
        cdef double norm = self.norm()
        return self.scale * pow(self.largest / norm, self.exponent - 2.0) if norm > 0.0 else 0.0

    cdef double norm(self) noexcept:
        """Return |θ|_p, without the scale."""
        return self.largest * pow(self.power, 1.0 / self.exponent) if self.power > 0.0 else 0.0

    cdef double norm_of(self, Row row) noexcept:
        """Return |x|_p."""
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
            power += self.to_the_p(fabs(row.value[i]) / largest)
        for i in range(row.fresh):
            power += self.to_the_p(fabs(fresh[i]) / largest)
        return largest * pow(power, 1.0 / self.exponent)

    cdef void recompute_power(self) noexcept:
        cdef Py_ssize_t i, count = self.reader.size() * self.stride
        self.largest = self.power = 0.0
        for i in range(count):
            self.largest = max(self.largest, fabs(self.weights[i]))
        if self.largest > 0.0:
            self.largest = two_above(self.largest)
        for i in range(count if self.largest > 0.0 else 0):
            self.power += self.to_the_p(fabs(self.weights[i]) / self.largest)
        self.rounding_error = self.power

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in a block; raise KeyError if the feature was never learned."""
        cdef double stored = Linear.weight(self, key, block) / self.scale
        return self.factor() * self.unscaled_weight(stored)

    def __getstate__(self):
        return Linear.__getstate__(self) | {"largest": self.largest, "power": self.power, "blur": self.rounding_error}

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        if not all(0 <= state[name] < INFINITY for name in ("largest", "power", "blur")):
            raise ValueError("the parts of the norm must be finite and not negative")
        self.largest, self.power, self.rounding_error = state["largest"], state["power"], state["blur"]


cdef inline double power_of(double base, int exponent) noexcept:
    cdef double result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


cdef inline double two_above(double value) noexcept:
    """Return the least power of two above a number."""
    cdef int exponent
    frexp(value, &exponent)
    return ldexp(1.0, exponent)
