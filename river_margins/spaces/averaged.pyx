"""Linear weights that predict with their mean over all rounds."""

from libc.math cimport INFINITY, fabs, isfinite

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import at_least_or_none, whole


cdef class AveragedLinear(Linear):
    """AveragedLinear(burn_in=0, *, half_life=None)\n--\n
    Plain weights for learning, and their mean over all rounds for predicting.

    The sum of the weights after each round is `mass` times the present stored weights, minus `correction`: a move adds to w
    what the earlier rounds did not have. So the cost of a round depends on the features of its example only. A round counts
    in the mean with its sample weight.

    Parameters
    ----------
    burn_in
        The number of first rounds that the mean leaves out, >= 0; 0 by default. During these rounds w itself predicts.
    half_life
        The number of rounds after which the weights of a round count half in the mean, >= 1; None (default) counts all rounds
        equally. The sum is multiplied by 2^(-1/half_life) in every round: the mass, the correction and the number of rounds.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PA1(C=0.5), rm.AveragedLinear(), intercept=False)
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.learn_one({"a": 1.0}, True)
    >>> dict(model.weights)  # the mean of 0.5 and 1
    {'a': 0.75}

    References
    ----------
    Polyak, B. and Juditsky, A., 1992. Acceleration of stochastic approximation by averaging.
    """

    _parameter_names = ("burn_in", "half_life")

    def __init__(self, burn_in=0, *, half_life=None):
        self.half_life = at_least_or_none("half_life", 1, half_life)
        self.kept = 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
        self.burn_in = self.skipped_rounds = whole("burn_in", burn_in)
        self.predicts_apart = self.counts_rounds = True

    cdef Space open(self, Reader reader):
        cdef AveragedLinear space = Linear.open(self, reader)
        space.correction = Linear().open(reader)
        return space

    cdef int add_block(self) except -1:
        Linear.add_block(self)
        return self.correction.add_block()

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        return Linear.stays_finite(self, row, direction, seen, step) and isfinite(self.mass / self.scale * step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        if row.fresh:
            self.correction.reserve(self.reader.size() + row.fresh, self.stride)
        return Linear.move(self, row, direction, seen, step)

    cdef void add_to_block(self, Row row, Py_ssize_t block, double factor) noexcept:
        self.settle_if_shrunk()
        Linear.add_to_block(self, row, block, factor)
        if self.mass != 0.0:
            self.correction.add_to_block(row, block, self.mass * factor / self.correction.scale)

    cdef void fold(self) noexcept:
        self.settle()
        Linear.fold(self)

    cdef void settle(self) noexcept:
        """Move the whole sum into the correction, and set the mass to 0; for a change of scale, on which the mass depends."""
        cdef Py_ssize_t i
        for i in range(self.reader.size() * self.stride):
            self.correction.weights[i] -= self.mass * self.weights[i] / self.correction.scale
        self.mass = 0.0

    cdef void settle_if_shrunk(self) noexcept:
        # If earlier rounds had a much larger scale, the sum would be a difference of two huge numbers.
        if fabs(self.mass) > 100.0 * fabs(self.scale) * self.count:
            self.settle()

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        if seen.weight == 0.0:
            return 0
        self.rounds += 1
        if self.rounds <= self.skipped_rounds:
            return 0
        self.count = self.count * self.kept + seen.weight
        self.mass = self.mass * self.kept + seen.weight * self.scale
        self.correction.multiply(self.kept)
        self.settle_if_shrunk()
        return 0

    cdef int score_for_prediction(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block
        if self.count == 0.0:
            return self.score(row, blocks)
        row.reserve_scores(2 * blocks)
        self.correction.score(row, blocks)
        for block in range(blocks):
            row.scores[blocks + block] = row.scores[block]
        self.score(row, blocks)
        for block in range(blocks):
            row.scores[block] = (row.scores[block] * (self.mass / self.scale) - row.scores[blocks + block]) / self.count
        return 0

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the mean weight of a feature in a block; raise KeyError if the feature was never learned."""
        cdef double weight = Linear.weight(self, key, block)
        if self.count == 0.0:
            return weight
        return (weight * (self.mass / self.scale) - self.correction.weight(key, block)) / self.count

    def __getstate__(self):
        return Linear.__getstate__(self) | {
            "behind": self.correction.__getstate__()["weights"],
            "scale_behind": self.correction.scale,
            "rounds": self.rounds,
            "count": self.count,
            "mass": self.mass,
        }

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        self.correction.take_weights(state["behind"])
        if self.correction.blocks != self.blocks:
            raise ValueError(f"{self.blocks} weight vectors, but {self.correction.blocks} behind")
        self.correction.scale = state["scale_behind"]
        if not (1e-100 < self.correction.scale <= 1.0):
            raise ValueError(f"the scale behind must be above 1e-100 and at most 1, not {self.correction.scale}")
        if not (isfinite(state["mass"]) and 0 <= state["count"] < INFINITY and state["rounds"] >= 0):
            raise ValueError("the mass and the numbers of rounds must be finite")
        self.rounds, self.count, self.mass = state["rounds"], state["count"], state["mass"]
