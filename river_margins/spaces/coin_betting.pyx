"""Weights that bet a part of what they have won: no learning rate is needed."""

import numpy as np

from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memset

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.sparse cimport Coordinate, Sparse, coordinate

from river_margins.core.checks import positive


cdef inline double bet(Coordinate* at, double largest) noexcept:
    """Return the weight for values of at most `largest`."""
    cdef double variance = at.squares + largest * largest
    if not variance > 0.0:  # nothing was learned, or the square of all values is 0 in floating point
        return 0.0
    return at.rate * at.pull / (2.0 * (variance if at.pull * at.pull <= variance else fabs(at.pull) * sqrt(variance)))


cdef class CoinBetting(Sparse):
    """CoinBetting(wealth=1.0)\n--\n
    Weights that bet: each bets part of its wealth on the sign of its next step, and wins or loses the step times the bet.

    With s, the sum of the steps along a feature, S, the sum of their squares, M, the largest |value| of the feature, the
    present one included, and r = √(S + M²): w = wealth·s/(2·r·max(r, |s|)). A step z then adds z·w to the wealth.

    Parameters
    ----------
    wealth
        The wealth of each weight before its first step, > 0; 1 by default. None: the difference between target and margin
        in the example of that step, which suits labels of any scale.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.CoinBettingRule(loss="hinge"), rm.CoinBetting(), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 2.0}, True)
    >>> dict(model.weights)
    {'a': 0.25, 'b': 0.125}
    """

    _parameter_names = ("wealth",)
    offers = frozenset({"bets"})

    cdef readonly object wealth
    cdef double first_wealth

    def __init__(self, wealth=1.0):
        self.wealth = wealth
        self.first_wealth = 0.0 if wealth is None else positive("wealth", wealth)
        self.weighs_by_example = True

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i, block, present = self.blocks
        cdef Coordinate* at
        row.reserve_scores(blocks)
        cdef double* scores = row.scores
        cdef double value
        memset(scores, 0, blocks * sizeof(double))
        for i in range(row.known if present else 0):
            at = self.coordinates + row.index[i] * self.stride
            value = row.value[i]
            for block in range(present):
                scores[block] += bet(at + block, max(at[block].settled, fabs(value))) * value
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, term, length = row.known + row.fresh, place = 0
        cdef double along, value, here, wealth = self.first_wealth if self.first_wealth > 0.0 else seen.target - seen.margin
        cdef Coordinate* at
        if step.step == 0.0:
            return True
        self.reserve_planned(direction.length * length)
        for term in range(direction.length):
            along = step.step * direction.terms[term].coefficient
            for i in range(length):
                at = self.planned + place
                place += 1
                at[0] = coordinate(self, row, i, direction.terms[term].block)
                value = row.value[i] if i < row.known else row.own_value[row.capacity + i - row.known]
                here = along * value
                if here == 0.0:
                    continue
                if at.settled == 0.0:
                    at.rate = fabs(wealth)
                # A step longer than |value| comes from a sample weight above 1. Such a bet is made for that length, so that it
                # loses at most half of the wealth.
                at.settled = max(at.settled, fabs(value), fabs(here))
                at.rate += here * bet(at, at.settled)
                at.pull += here
                at.squares += here * here
                if not (isfinite(at.squares) and isfinite(bet(at, at.settled))):
                    return False
        return True

    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0:
        cdef Coordinate* at = self.coordinates + row.index[i] * self.stride + block
        return bet(at, max(at.settled, fabs(row.value[i])))

    # ------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in a block for values no larger than those learned; raise KeyError if unknown."""
        cdef Py_ssize_t index = self.reader.vocabulary.find(key)
        if index < 0:
            raise KeyError(key)
        cdef Coordinate* at = self.coordinates + index * self.stride + block
        return bet(at, at.settled)

    def __getstate__(self):
        cdef Py_ssize_t feature, block, count = self.reader.size()
        cdef Coordinate* at
        coordinates = np.zeros((count, self.blocks, 4))
        cdef double[:, :, ::1] view = coordinates
        for feature in range(count):
            for block in range(self.blocks):
                at = self.coordinates + feature * self.stride + block
                view[feature, block, 0], view[feature, block, 1] = at.pull, at.settled
                view[feature, block, 2], view[feature, block, 3] = at.squares, at.rate
        return {"features": self.reader.features(), "coordinates": coordinates}

    def __setstate__(self, state):
        cdef Py_ssize_t feature, block
        coordinates = np.ascontiguousarray(state["coordinates"], dtype=np.float64)
        if not (np.isfinite(coordinates).all() and (coordinates[..., 1:] >= 0).all()):
            raise ValueError("coordinates must be finite, and squares, largest values and wealth not negative")
        cdef const double[:, :, ::1] view = coordinates
        self.reader.learn_features(state["features"])
        if coordinates.shape != (self.reader.size(), coordinates.shape[1], 4):
            raise ValueError(f"{self.reader.size()} features, but coordinates of shape {coordinates.shape}")
        for block in range(coordinates.shape[1]):
            self.add_block()
        self.reserve(coordinates.shape[0], self.stride)
        for feature in range(coordinates.shape[0]):
            for block in range(coordinates.shape[1]):
                self.coordinates[feature * self.stride + block] = Coordinate(
                    view[feature, block, 0], view[feature, block, 1], view[feature, block, 2], view[feature, block, 3]
                )
