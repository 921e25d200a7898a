"""Linear weights that predict with the best weights so far, the pocket."""

import numpy as np

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.row_store cimport RowStore
from river_margins.spaces.linear cimport Linear

from river_margins.core.checks import whole


cdef class PocketLinear(Linear):
    """PocketLinear(ratchet=False, window=200)\n--\n
    Plain weights for learning, and for predicting the pocket: the weights with the longest run of right predictions.

    Parameters
    ----------
    ratchet
        Whether weights with a longer run replace the pocket only if they are also right on more of the latest examples than
        the pocket; False by default.
    window
        The number of latest examples that the ratchet tests, >= 1; 200 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.PocketLinear(), intercept=False)
    >>> for label in (True, True, True, False, False):
    ...     model.learn_one({"a": 1.0}, label)
    >>> dict(model.weights)  # right twice in a row; -1 has yet to be right as often
    {'a': 1.0}

    References
    ----------
    Gallant, S., 1990. Perceptron-based learning algorithms. IEEE Transactions on Neural Networks 1.
    """

    _parameter_names = ("ratchet", "window")
    offers = frozenset({"plain steps"})

    def __init__(self, ratchet=False, window=200):
        self.ratchet = self.tests = bool(ratchet)
        self.window = self.longest = whole("window", window, 1)
        self.predicts_apart = self.counts_rounds = True

    cdef Space open(self, Reader reader):
        cdef PocketLinear space = Linear.open(self, reader)
        space.pocket = Linear().open(reader)
        space.recent = RowStore()
        return space

    cdef int add_block(self) except -1:
        Linear.add_block(self)
        return self.pocket.add_block()

    cdef int score_for_prediction(self, Row row, Py_ssize_t blocks) except -1:
        return self.pocket.score(row, blocks)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        if row.fresh:
            self.pocket.reserve(self.reader.size() + row.fresh, self.stride)
        self.moved = True
        return Linear.move(self, row, direction, seen, step)

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        if direction is None or seen.weight == 0.0:
            return 0
        if self.tests:
            self.remember(row, direction)
        if seen.margin <= 0.0:
            self.run = 0
            return 0
        self.run += 1
        if self.run <= self.record:
            return 0
        # If nothing has moved since, these weights are in the pocket already.
        if not self.tests:
            self.record = self.run
            return self.fill_pocket() if self.moved else 0
        if self.moved and self.count_right(self) > self.count_right(self.pocket):
            self.record = self.run
            return self.fill_pocket()
        return 0

    cdef int remember(self, Row row, Direction direction) except -1:
        """Keep an example and its class, which is ±1 if there is one weight vector."""
        cdef Py_ssize_t i
        if row.fresh:  # later weights may have these features when the ratchet tests the example again
            self.reserve(self.reader.size() + row.fresh, self.stride)
            self.pocket.reserve(self.reader.size() + row.fresh, self.stride)
            self.reader.add_features(row)
        if self.recent.rows - self.longest >= self.longest:  # no product, which a huge window would take beyond an int
            self.recent.drop(self.recent.rows - self.longest)
        self.recent.reserve(1, row.known)
        for i in range(row.known):
            if row.value[i] != 0.0:
                self.recent.add(row.index[i], row.value[i])
        self.recent.close(direction.terms[0].coefficient if self.blocks == 1 else direction.terms[0].block)
        return 0

    cdef Py_ssize_t count_right(self, Linear weights) except -1:
        """Return the number of latest examples on which the weights are right. A tie is wrong."""
        cdef Py_ssize_t row, i, block, count = 0, blocks = self.blocks, true
        cdef double* scores = <double*> calloc(blocks, sizeof(double))
        cdef const double* weight
        cdef bint wins
        if scores == NULL:
            raise MemoryError()
        for row in range(max(0, self.recent.rows - self.longest), self.recent.rows):
            for block in range(blocks):
                scores[block] = 0.0
            for i in range(self.recent.start(row), self.recent.ends[row]):
                weight = weights.weights + self.recent.index[i] * weights.stride
                for block in range(blocks):
                    scores[block] += self.recent.value[i] * weight[block] * weights.scale
            if blocks == 1:
                count += scores[0] * self.recent.mark[row] > 0.0
                continue
            true, wins = <Py_ssize_t> self.recent.mark[row], True
            for block in range(blocks):
                wins = wins and (block == true or scores[block] < scores[true])
            count += wins
        free(scores)
        return count

    cdef int fill_pocket(self) except -1:
        """Copy the present weights to the pocket."""
        self.pocket.reserve(self.capacity, self.stride)
        memcpy(self.pocket.weights, self.weights, self.reader.size() * self.stride * sizeof(double))
        self.pocket.scale = self.scale
        self.moved = False
        return 0

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in the pocket; raise KeyError if the feature was never learned."""
        return self.pocket.weight(key, block)

    def __getstate__(self):
        pocket = self.pocket.__getstate__()
        return Linear.__getstate__(self) | {
            "pocket": pocket["weights"],
            "pocket_scale": pocket["scale"],
            "moved": self.moved,
            "recent": self.recent.state(max(0, self.recent.rows - self.longest)),
            "run": self.run,
            "record": self.record,
        }

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        self.pocket.take_weights(state["pocket"])
        if self.pocket.blocks != self.blocks:
            raise ValueError(f"{self.blocks} weight vectors, but {self.pocket.blocks} in the pocket")
        self.recent.take(state["recent"], self.reader.size())
        if self.blocks > 1 and not np.isin(state["recent"]["marks"], np.arange(self.blocks)).all():
            raise ValueError(f"an example that is kept has none of {self.blocks} classes")
        self.pocket.scale, self.moved = state["pocket_scale"], state["moved"]
        self.run, self.record = state["run"], state["record"]
