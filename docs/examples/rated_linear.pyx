"""Plain weights with two learning rates: some features move more slowly than the others."""

import numpy as np

from libc.math cimport isfinite, sqrt

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space


cdef class RatedLinear(Space):
    """RatedLinear(slow=(), rate=0.1)\n--\n
    A score is ⟨w, x⟩; a move adds a multiple of Rx, where R is `rate` for the features in `slow` and 1 for others."""

    _parameter_names = ("slow", "rate")
    offers = frozenset({"plain steps", "radius", "inner product"})  # what rules may ask of it

    cdef readonly object slow
    cdef readonly double rate
    cdef double[:, ::1] weights  # a row for each feature, a column for each block
    cdef double[::1] rates  # the diagonal of R
    cdef double size  # Σ w²/R, the squared length of w in the inner product in which Rx is the gradient

    def __init__(self, slow=(), rate=0.1):
        if not 0 < rate <= 1:
            raise ValueError(f"`rate` must be above 0 and at most 1, not {rate!r}")
        self.slow, self.rate = tuple(slow), rate
        self.adds_up = True  # a score is a sum over features, whose weights `weight_in_score` has
        self.weights, self.rates = np.zeros((0, 0)), np.zeros(0)

    cdef double rate_of(self, object key) except -1:
        return self.rate if key in self.slow else 1.0

    cdef int add_block(self) except -1:
        self.reserve(max(self.weights.shape[0], self.reader.size()), self.blocks + 1)
        self.blocks += 1
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i, block
        row.reserve_scores(blocks)
        row.size = self.size
        for block in range(blocks):
            row.scores[block] = 0.0
            for i in range(row.known if block < self.blocks else 0):
                row.scores[block] += self.weights[row.index[i], block] * row.value[i]
        return 0

    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0:
        return self.weights[row.index[i], block]

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0, length = 0.0, value
        self.reserve(self.reader.size(), self.blocks)  # an intercept is known before anything is learned
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        for i in range(row.known):
            length += self.rates[row.index[i]] * row.value[i] * row.value[i]
        for i in range(row.fresh):  # features that were never learned; they stand behind the room for known ones
            value = row.own_value[row.capacity + i]
            length += self.rate_of(row.fresh_keys[i]) * value * value
        seen.margin, seen.gain, seen.size = margin, square * length, self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        step.size = (
            step.scale * step.scale * self.size
            + 2.0 * step.scale * step.step * seen.margin
            + step.step * step.step * seen.gain
        )
        return isfinite(step.size)  # no rate is above 1, so no weight is larger than the root of this

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, term, first = self.reader.size()
        cdef double shorten = step.radius / sqrt(step.size) if step.size > step.radius * step.radius else 1.0
        cdef double factor
        if row.fresh:
            self.reserve(first + row.fresh, self.blocks)
            self.reader.add_features(row)  # from here on they count among the known ones
            self.set_rates(first)
        if step.scale * shorten != 1.0:
            self.multiply(step.scale * shorten)
        for term in range(direction.length):
            factor = step.step * shorten * direction.terms[term].coefficient
            for i in range(row.known):
                self.weights[row.index[i], direction.terms[term].block] += (
                    factor * self.rates[row.index[i]] * row.value[i]
                )
        self.size = max(step.size, 0.0) * shorten * shorten
        return 0

    cdef void multiply(self, double factor) noexcept:
        cdef Py_ssize_t feature, block
        for feature in range(self.reader.size()):
            for block in range(self.blocks):
                self.weights[feature, block] *= factor

    cdef int reserve(self, Py_ssize_t features, Py_ssize_t blocks) except -1:
        """Make room for features and blocks; new weights are 0."""
        cdef Py_ssize_t old_features = self.weights.shape[0], old_blocks = self.weights.shape[1]
        if features <= old_features and blocks <= old_blocks:
            return 0
        if features > old_features:
            features = max(features, 2 * old_features)
        weights, rates = np.zeros((features, blocks)), np.ones(features)
        weights[:old_features, :old_blocks], rates[:old_features] = self.weights, self.rates
        self.weights, self.rates = weights, rates
        return 0

    cdef int set_rates(self, Py_ssize_t first) except -1:
        cdef Py_ssize_t i
        for i in range(first, self.reader.size()):
            self.rates[i] = self.rate_of(self.reader.vocabulary.keys[i])
        return 0

    # `model.weights` and `model.clone(include_attributes=True)`, copy and pickle use what follows.

    @property
    def features(self):
        return self.reader.vocabulary.keys

    def weight(self, key, Py_ssize_t block):
        cdef Py_ssize_t index = self.reader.vocabulary.find(key)
        if index < 0:
            raise KeyError(key)
        return self.weights[index, block]

    def __getstate__(self):
        learned = np.array(self.weights)[: self.reader.size(), : self.blocks]
        return {"features": self.reader.features(), "weights": learned, "size": self.size}

    def __setstate__(self, state):
        self.reader.learn_features(state["features"])
        weights = np.array(state["weights"], dtype=np.float64)
        while self.blocks < weights.shape[1]:
            self.add_block()
        self.reserve(self.reader.size(), self.blocks)
        np.asarray(self.weights)[: weights.shape[0], : weights.shape[1]] = weights
        self.set_rates(0)
        self.size = state["size"]
