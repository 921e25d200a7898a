"""Sparse weights: a soft threshold keeps a weight at exactly 0 until the steps along its feature agree."""

import numpy as np

from libc.math cimport INFINITY, isfinite, sqrt
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Rule, Seen, Step, changes_covariance
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.sparse_steps cimport (
    average_duals, dual_rate, follow_leader, is_finite, proximal_rate, soft_threshold,
)

from river_margins.core.checks import not_negative, positive


cdef class Sparse(Space):
    """The base class of spaces with soft-thresholded weights, w = soft_threshold(pull)·rate.

    `threshold` is the sum of the thresholds of all rounds. A weight subtracts what is due when it is read, so a round takes
    time in proportion to the features of its example only. `planned` has the result of a step before it is taken.
    """

    def __cinit__(self):
        self.adds_up = True

    def __dealloc__(self):
        free(self.coordinates)
        free(self.planned)

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.capacity * self.stride + self.planned_capacity) * sizeof(Coordinate)

    cdef double rate_of(self, double squares) noexcept:
        """Return the rate of a weight from the sum of its squared steps."""
        return 1.0

    cdef void take_step(self, Coordinate* at, double step) noexcept:
        """Take a step along one coordinate, before the threshold of this round, and set its rate."""
        pass

    cdef bint take_steps(self, Coordinate* at, const double* value, double along, Py_ssize_t length) noexcept:
        """Take a step along·value[i] along each coordinate; return whether every number is finite."""
        cdef Py_ssize_t i
        for i in range(length):
            if along * value[i] == 0.0:
                continue  # an explicit zero: do not recompute the sums, which would round them
            self.take_step(at + i, along * value[i])
            if not is_finite(at + i):
                return False
        return True

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        if changes_covariance(step) or step.scale != 1.0 or step.radius != INFINITY:
            raise ValueError(f"`{rule!r}` answers {step!r}, and `{self!r}` can only take steps: answer a number, or Step(step)")
        return 0

    cdef int add_block(self) except -1:
        if self.blocks == self.stride:
            self.reserve(max(self.capacity, self.reader.size()), max(2 * self.stride, 1))
        self.blocks += 1
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i, block, present = self.blocks
        cdef Coordinate* at
        row.reserve_scores(blocks)
        cdef double* scores = row.scores
        cdef double score = 0.0
        if self.stride == 1 and blocks == 1:
            for i in range(row.known):
                at = self.coordinates + row.index[i]
                score += soft_threshold(at, self.threshold) * at.rate * row.value[i]
            scores[0] = score
            return 0
        memset(scores, 0, blocks * sizeof(double))
        for i in range(row.known if present else 0):
            at = self.coordinates + row.index[i] * self.stride
            for block in range(present):
                scores[block] += soft_threshold(at + block, self.threshold) * at[block].rate * row.value[i]
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        seen.margin, seen.gain, seen.size = margin, square * row.norm2, 0.0  # no rule for these spaces needs a size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, term, block, length = row.known + row.fresh
        cdef double along
        cdef Coordinate* planned
        if not isfinite(self.threshold + step.threshold):
            return False
        if step.step == 0.0:
            return True
        self.reserve_planned(direction.length * length)
        for term in range(direction.length):
            planned, block = self.planned + term * length, direction.terms[term].block
            along = step.step * direction.terms[term].coefficient
            if row.consecutive and self.stride == 1 and block == 0:
                memcpy(planned, self.coordinates, length * sizeof(Coordinate))
            else:
                for i in range(length):
                    planned[i] = coordinate(self, row, i, block)
            if not (
                self.take_steps(planned, row.value, along, row.known)
                and self.take_steps(planned + row.known, row.own_value + row.capacity, along, row.fresh)
            ):
                return False
        return True

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, term, place = 0
        if step.step != 0.0:
            if row.fresh:
                self.reserve(self.reader.size() + row.fresh, self.stride)
                self.reader.add_features(row)
            if row.consecutive and self.stride == 1:
                memcpy(self.coordinates, self.planned, row.known * sizeof(Coordinate))
            else:
                for term in range(direction.length):
                    for i in range(row.known):
                        self.coordinates[row.index[i] * self.stride + direction.terms[term].block] = self.planned[place]
                        place += 1
        self.threshold += step.threshold
        return 0

    cdef int reserve_planned(self, Py_ssize_t count) except -1:
        if count <= self.planned_capacity:
            return 0
        cdef Coordinate* planned = <Coordinate*> realloc(self.planned, count * sizeof(Coordinate))
        if planned == NULL:
            raise MemoryError()
        self.planned = planned
        self.planned_capacity = count
        return 0

    cdef int reserve(self, Py_ssize_t features, Py_ssize_t stride) except -1:
        """Make room for features and blocks. New coordinates are 0."""
        if features <= self.capacity and stride <= self.stride:
            return 0
        cdef Py_ssize_t capacity = self.capacity, feature
        if features > capacity:
            capacity = max(2 * capacity, features, 4)
        cdef Coordinate* coordinates = <Coordinate*> calloc(capacity * stride, sizeof(Coordinate))
        if coordinates == NULL:
            raise MemoryError()
        for feature in range(min(self.capacity, self.reader.size()) if self.stride else 0):
            memcpy(
                coordinates + feature * stride,
                self.coordinates + feature * self.stride,
                self.stride * sizeof(Coordinate),
            )
        free(self.coordinates)
        self.coordinates = coordinates
        self.capacity = capacity
        self.stride = stride
        return 0

    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0:
        return self.weight(self.reader.vocabulary.keys[row.index[i]], block)

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in a block; raise KeyError if the feature was never learned."""
        cdef Py_ssize_t index = self.reader.vocabulary.find(key)
        if index < 0:
            raise KeyError(key)
        cdef Coordinate* at = self.coordinates + index * self.stride + block
        return soft_threshold(at, self.threshold) * at.rate

    @property
    def features(self):
        """The learned features, in order."""
        return self.reader.vocabulary.keys

    def __getstate__(self):
        cdef Py_ssize_t feature, block, count = self.reader.size()
        cdef Coordinate* at
        coordinates = np.zeros((count, self.blocks, 3))
        cdef double[:, :, ::1] view = coordinates
        for feature in range(count):
            for block in range(self.blocks):
                at = self.coordinates + feature * self.stride + block
                view[feature, block, 0], view[feature, block, 1], view[feature, block, 2] = at.pull, at.settled, at.squares
        return {"features": self.reader.features(), "coordinates": coordinates, "threshold": self.threshold}

    def __setstate__(self, state):
        cdef Py_ssize_t feature, block
        cdef Coordinate* at
        coordinates = np.ascontiguousarray(state["coordinates"], dtype=np.float64)
        if not (np.isfinite(coordinates).all() and isfinite(state["threshold"]) and (coordinates[:, :, 2] >= 0).all()):
            raise ValueError("coordinates and threshold must be finite, and squares not negative")
        cdef const double[:, :, ::1] view = coordinates
        self.reader.learn_features(state["features"])
        if coordinates.shape != (self.reader.size(), coordinates.shape[1], 3):
            raise ValueError(f"{self.reader.size()} features, but coordinates of shape {coordinates.shape}")
        for block in range(coordinates.shape[1]):
            self.add_block()
        self.reserve(coordinates.shape[0], self.stride)
        for feature in range(coordinates.shape[0]):
            for block in range(coordinates.shape[1]):
                at = self.coordinates + feature * self.stride + block
                at.pull, at.settled, at.squares = view[feature, block, 0], view[feature, block, 1], view[feature, block, 2]
                at.rate = self.rate_of(at.squares)
        self.threshold = state["threshold"]


cdef class SoftThreshold(Sparse):
    """Weights that come nearer to 0 in every round, by the threshold of the rule: the space of FOBOS.

    A round is w' = soft(w + step·d, threshold). soft(w, c) reduces the absolute value of each weight by c, down to 0.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.MarginClassifier(rm.FOBOSRule(lam=0.1), rm.SoftThreshold()).space
    SoftThreshold()
    """

    offers = frozenset({"soft threshold"})

    cdef void take_step(self, Coordinate* at, double step) noexcept:
        at.pull = soft_threshold(at, self.threshold) + step
        at.settled, at.rate = self.threshold, 1.0


cdef class AdaptiveThreshold(Sparse):
    """AdaptiveThreshold(lr=0.1, delta=1.0)\n--\n
    Weights with a learning rate each, lr/(delta + √(sum of its squared steps)): the space of FOBOS with AdaGrad.

    A round is w' = soft(w + rate·step·d, rate·threshold), with the rates after this step.

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.1 by default.
    delta
        The number added to the root, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.Subgradient(), rm.AdaptiveThreshold(lr=1.0, delta=1.0), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 3.0}, True)
    >>> dict(model.weights)
    {'a': 0.5, 'b': 0.75}
    """

    _parameter_names = ("lr", "delta")
    offers = frozenset({"learning rates"})

    cdef readonly double lr, delta

    def __init__(self, lr=0.1, delta=1.0):
        self.lr, self.delta = positive("lr", lr), positive("delta", delta)

    cdef double rate_of(self, double squares) noexcept:
        return self.lr / (self.delta + sqrt(squares))

    cdef void take_step(self, Coordinate* at, double step) noexcept:
        cdef double kept = soft_threshold(at, self.threshold) * at.rate  # the weight
        at.squares += step * step
        at.rate = self.lr / (self.delta + sqrt(at.squares))
        at.pull = kept / at.rate + step
        at.settled = self.threshold


cdef class DualAveraging(Sparse):
    """DualAveraging(lr=0.1, delta=1.0)\n--\n
    Weights computed from the sum of all steps: the space of regularised dual averaging with AdaGrad.

    w = rate·soft(s, c), where s is the sum of the steps along a feature, c the sum of the thresholds of all rounds, and
    rate = lr/(delta + √(sum of its squared steps)).

    Parameters
    ----------
    lr
        The learning rate, > 0; 0.1 by default.
    delta
        The number added to the root, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.Subgradient(lam=0.5), rm.DualAveraging(lr=1.0, delta=1.0), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 3.0}, True)
    >>> dict(model.weights)
    {'a': 0.25, 'b': 0.625}
    """

    _parameter_names = ("lr", "delta")
    offers = frozenset({"learning rates"})

    cdef readonly double lr, delta

    def __init__(self, lr=0.1, delta=1.0):
        self.lr, self.delta = positive("lr", lr), positive("delta", delta)

    cdef double rate_of(self, double squares) noexcept:
        return dual_rate(sqrt(squares), self.lr, self.delta)

    cdef bint take_steps(self, Coordinate* at, const double* value, double along, Py_ssize_t length) noexcept:
        return average_duals(at, value, along, length, self.lr, self.delta)


cdef class ProximalLeader(Sparse):
    """ProximalLeader(alpha=0.1, beta=1.0, l1=0.0, l2=0.0)\n--\n
    Weights that minimise the loss of all rounds plus a cost for their distance from the weights of each round.

    This is the space of FTRL-proximal: w = rate·soft(s, l1), where 1/rate = (beta + √(sum of the squared steps))/alpha + l2.
    s is the sum over all rounds of the step along a feature plus the weight times the increase of 1/rate.

    Parameters
    ----------
    alpha
        The learning rate, > 0; 0.1 by default.
    beta
        The number added to the root, >= 0; 1 by default.
    l1, l2
        Weights of the regularisation l1·|w|_1 + l2·|w|²/2, >= 0; 0 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.Subgradient(), rm.ProximalLeader(alpha=1.0, l1=0.5), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 0.5}, True)
    >>> dict(model.weights)
    {'a': 0.25, 'b': 0.0}
    """

    _parameter_names = ("alpha", "beta", "l1", "l2")
    offers = frozenset({"learning rates"})

    cdef readonly double alpha, beta, l1, l2

    def __init__(self, alpha=0.1, beta=1.0, l1=0.0, l2=0.0):
        self.alpha, self.beta = positive("alpha", alpha), not_negative("beta", beta)
        self.l1, self.l2 = not_negative("l1", l1), not_negative("l2", l2)
        self.threshold = self.l1

    cdef double rate_of(self, double squares) noexcept:
        return proximal_rate(sqrt(squares), self.alpha, self.beta, self.l2)

    cdef bint take_steps(self, Coordinate* at, const double* value, double along, Py_ssize_t length) noexcept:
        return follow_leader(at, value, along, length, self.threshold, self.alpha, self.beta, self.l2)
