"""Weights that learn as in the linear space, and answer with their mean over the rounds."""

from libc.math cimport INFINITY, fabs, isfinite

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import whole


cdef class AveragedLinear(Linear):
    """Plain weights to learn with, and the mean of all weights there have been to predict with.

    The sum of the weights after each round is `mass` times those of today, less what lies `behind`: what a move adds to w
    is missing from the rounds before it. So a round costs no more than its features, however many weights there are. A
    sample weight is also how often a round counts in the mean.

    Parameters
    ----------
    burn_in
        The rounds that are left out of the mean, >= 0; 0 by default. Until they are over, w itself predicts.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PA1(C=0.5), rm.AveragedLinear())
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.learn_one({"a": 1.0}, True)
    >>> dict(model.weights)  # the mean of 0.5 and 1
    {'a': 0.75}

    References
    ----------
    Polyak, B. and Juditsky, A., 1992. Acceleration of stochastic approximation by averaging.
    """

    _parameter_names = ("burn_in",)

    def __init__(self, burn_in=0):
        self.burn_in = self.silent = whole("burn_in", burn_in)
        self.apart = True

    cdef Space open(self, Reader reader):
        cdef AveragedLinear space = Linear.open(self, reader)
        space.behind = Linear().open(reader)
        return space

    cdef int add_block(self) except -1:
        Linear.add_block(self)
        return self.behind.add_block()

    cdef bint bears(self, Row row, Direction direction, Seen seen, Step step) except -1:
        return Linear.bears(self, row, direction, seen, step) and isfinite(self.mass / self.scale * step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        if row.fresh:
            self.behind.reserve(self.reader.size() + row.fresh, self.stride)
        return Linear.move(self, row, direction, seen, step)

    cdef void add_to_block(self, Row row, Py_ssize_t block, double factor) noexcept:
        self.settle_if_shrunk()
        Linear.add_to_block(self, row, block, factor)
        if self.mass != 0.0:
            self.behind.add_to_block(row, block, self.mass * factor)

    cdef void fold(self) noexcept:
        self.settle()
        Linear.fold(self)

    cdef void settle(self) noexcept:
        """The whole sum goes behind: the mass is in units of a scale that ends here."""
        cdef Py_ssize_t i
        for i in range(self.reader.size() * self.stride):
            self.behind.weights[i] -= self.mass * self.weights[i]
        self.mass = 0.0

    cdef void settle_if_shrunk(self) noexcept:
        # The mass of rounds with a far larger scale would leave of their sum the difference of two huge numbers.
        if fabs(self.mass) > 100.0 * fabs(self.scale) * self.count:
            self.settle()

    cdef int follow(self, Row row, Direction direction, Seen seen) except -1:
        if seen.weight == 0.0:
            return 0
        self.rounds += 1
        if self.rounds <= self.silent:
            return 0
        self.count += seen.weight
        self.mass += seen.weight * self.scale
        self.settle_if_shrunk()
        return 0

    cdef int answer(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block
        if self.count == 0.0:
            return self.score(row, blocks)
        row.reserve_scores(2 * blocks)
        self.behind.score(row, blocks)
        for block in range(blocks):
            row.scores[blocks + block] = row.scores[block]
        self.score(row, blocks)
        for block in range(blocks):
            row.scores[block] = (row.scores[block] * (self.mass / self.scale) - row.scores[blocks + block]) / self.count
        return 0

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """The mean weight of a feature in a block; KeyError if the feature was never learned."""
        cdef double weight = Linear.weight(self, key, block)
        if self.count == 0.0:
            return weight
        return (weight * (self.mass / self.scale) - self.behind.weight(key, block)) / self.count

    def __getstate__(self):
        return Linear.__getstate__(self) | {
            "behind": self.behind.__getstate__()["weights"],
            "rounds": self.rounds,
            "count": self.count,
            "mass": self.mass,
        }

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        self.behind.take_weights(state["behind"])
        if not (isfinite(state["mass"]) and 0 <= state["count"] < INFINITY and state["rounds"] >= 0):
            raise ValueError("the mass and the numbers of rounds must be finite")
        self.rounds, self.count, self.mass = state["rounds"], state["count"], state["mass"]
