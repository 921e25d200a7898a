"""What the spaces with a covariance share: a Gaussian for each block, whose mean is the weights."""

import numpy as np

from libc.math cimport INFINITY, NAN, fabs, isfinite, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from river_margins.core.kernels cimport dot, dot_at
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.core.checks import positive


cdef class Gaussian(Space):
    """Weights with a covariance Σ: the gain is the variance x'Σx, and a move goes along Σx and makes Σ smaller.

    A score is ⟨w, x⟩. Where the rule `foresees`, what is kept is θ = Σ⁻¹w, to which moves add x itself, and a score has the
    example in Σ⁻¹ already: θ'(Σ⁻¹ + xx'/r)⁻¹x, with the r that the rule foresees.

    With several blocks each has a Σ of its own: what one class would say of the weights of another is dropped.
    """

    _parameter_names = ("a",)

    def __init__(self, a=1.0):
        self.a = positive("a", a)

    def __dealloc__(self):
        self.discard(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.rooms * sizeof(Block) + (
            self.blocks * (self.capacity + self.cells(self.capacity)) * sizeof(double)
        )

    # ------------------------------------------------------------------------------------ what the two differ in

    cdef Py_ssize_t cells(self, Py_ssize_t capacity) noexcept:
        """How many numbers the covariance of so many features takes."""
        return 0

    cdef void begin(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        """Set the covariance of a block: variance a for features that are new, the old block's for the others."""

    cdef double variance(self, const Block* block, Row row) noexcept:
        """x'Σx of the known features, in units of the block."""
        return 0.0

    cdef double foreseen_score(self, const Block* block, Row row, double variance) noexcept:
        """The score with the example in Σ⁻¹ already, asked for when its variance was just found."""
        return 0.0

    cdef void shift(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        """Move one block along coefficient·x, and shrink its covariance there."""

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        """The weight of a feature."""
        return 0.0

    cdef object variances(self, const Block* block):
        """The covariance of the known features as an array."""
        return None

    cdef int take_variances(self, Block* block, object variances) except -1:
        """Take over such an array, or refuse it."""
        return 0

    # -------------------------------------------------------------------------------------------------- rounds

    cdef int serve(self, Rule rule) except -1:
        if self.blocks and self.reader.size() and rule.foresees != (self.foreseeing is not None):
            raise ValueError(f"`{rule!r}` keeps other sums than the rule it is to replace: give it a learner of its own")
        self.foreseeing = rule if rule.foresees else None
        return 0

    cdef int heed(self, Rule rule, Step step) except -1:
        if step.scale != 1.0 or step.radius != INFINITY or not (step.shrink >= 0.0 and step.inflate > 0.0):
            raise ValueError(
                f"`{rule!r}` answers {step!r}, but in `{self!r}` scale stays 1 and radius infinite, shrink is at least 0 "
                "and inflate above 0"
            )
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i
        cdef double fresh = 0.0 if self.foreseeing is None else self.fresh_variance(row)
        row.reserve_scores(blocks)
        row.reserve_evaluations(1 + 2 * (row.known + row.fresh) + blocks)
        row.evaluations[0] = NAN
        for i in range(blocks):
            if i >= self.blocks:
                row.scores[i] = 0.0
            elif self.foreseeing is not None:
                foreseen_variances(row)[i] = self.block[i].unit * (self.variance(self.block + i, row) + fresh)
                row.scores[i] = self.foreseen_score(self.block + i, row, foreseen_variances(row)[i])
            elif row.consecutive:
                row.scores[i] = dot(self.block[i].mean, row.value, row.known)
            else:
                row.scores[i] = dot_at(self.block[i].mean, row.index, row.value, row.known)
        return 0

    cdef double fresh_variance(self, Row row) noexcept:
        cdef const double* fresh = row.own_value + row.capacity
        return self.a * dot(fresh, fresh, row.fresh) if row.fresh else 0.0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i, place
        cdef double coefficient, variance, unit, reach
        cdef double fresh = self.fresh_variance(row)
        seen.margin, seen.gain, seen.size, self.reach = 0.0, 0.0, NAN, 0.0
        for i in range(direction.length):
            place, coefficient = direction.terms[i].block, direction.terms[i].coefficient
            seen.margin += coefficient * row.scores[place]
            if place < self.blocks:
                unit = self.block[place].unit
                if self.foreseeing is None:
                    variance = unit * (self.variance(self.block + place, row) + fresh)
                else:  # the score needed it
                    variance = foreseen_variances(row)[place]
                # Confidence-weighted rules square what is left with every wrong label: it ends before their steps do.
                if variance < 1e-100 * unit * self.a * row.norm2:
                    variance = 0.0
            else:  # a class that is about to get a block
                unit, variance = 1.0, self.a * row.norm2
            seen.gain += coefficient * coefficient * variance
            # Of a covariance Σ, (Σx)ᵢ² <= Σᵢᵢ·x'Σx, and no Σᵢᵢ is above what it was at first.
            reach = coefficient * coefficient * unit * self.a * variance
            if reach > self.reach:
                self.reach = reach
        self.reach = sqrt(self.reach if self.foreseeing is None else row.norm2)
        return 0

    cdef bint bears(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        cdef double unit
        for i in range(direction.length):
            if direction.terms[i].block < self.blocks:
                unit = self.block[direction.terms[i].block].unit
                if not (isfinite(unit * step.inflate * self.a) and isfinite(unit * step.shrink)):
                    return False
                if self.foreseeing is None and not isfinite(unit * step.step):
                    return False
        return isfinite(self.largest + fabs(step.step) * self.reach) and isfinite(step.shrink * seen.gain)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        if seen.gain <= 0.0:
            return 0  # nothing here is left to learn
        if row.fresh:
            self.reserve(self.reader.size() + row.fresh, self.rooms)
            self.reader.admit(row)
            row.evaluations[0] = NAN
        for i in range(direction.length):
            self.shift(self.block + direction.terms[i].block, row, direction.terms[i].coefficient, seen, step)
            self.block[direction.terms[i].block].unit *= step.inflate
        self.largest += fabs(step.step) * self.reach
        return 0

    # -------------------------------------------------------------------------------------------------- memory

    cdef int add_block(self) except -1:
        if self.blocks == self.rooms:
            self.reserve(max(self.capacity, self.reader.size()), max(2 * self.rooms, 1))
        if not self.furnish(self.block + self.blocks, NULL, self.capacity):
            raise MemoryError()
        self.blocks += 1
        return 0

    cdef int reserve(self, Py_ssize_t features, Py_ssize_t rooms) except -1:
        """Make room for so many features and blocks."""
        cdef Py_ssize_t i, capacity = self.capacity
        if features <= capacity and rooms <= self.rooms:
            return 0
        if features > capacity:
            capacity = max(capacity + capacity // 4, features, 4)  # a quarter: a matrix grows by its square
        cdef Block* blocks = <Block*> calloc(rooms, sizeof(Block))
        if blocks == NULL:
            raise MemoryError()
        for i in range(self.blocks):
            if not self.furnish(blocks + i, self.block + i, capacity):
                self.discard(blocks)
                raise MemoryError()
        self.discard(self.block)
        self.block, self.capacity, self.rooms = blocks, capacity, rooms
        return 0

    cdef bint furnish(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        """Give a block its arrays, with what the old one holds; False where there is no memory."""
        block.mean = <double*> calloc(capacity, sizeof(double))
        block.variance = <double*> calloc(self.cells(capacity), sizeof(double))
        block.unit = 1.0 if old == NULL else old.unit
        if capacity and (block.mean == NULL or block.variance == NULL):
            free(block.mean)
            free(block.variance)
            block.mean = block.variance = NULL
            return False
        if old != NULL and self.capacity:
            memcpy(block.mean, old.mean, self.capacity * sizeof(double))
        self.begin(block, old, capacity)
        return True

    cdef void discard(self, Block* blocks) noexcept:
        cdef Py_ssize_t i
        if blocks == NULL:
            return
        for i in range(self.blocks):
            free(blocks[i].mean)
            free(blocks[i].variance)
        free(blocks)

    # --------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """The weight of a feature in a block; KeyError if the feature was never learned."""
        cdef Py_ssize_t index = self.reader.vocabulary.find(key)
        if index < 0:
            raise KeyError(key)
        return self.weight_at(self.block + block, index)

    @property
    def features(self):
        """The learned features, in order."""
        return self.reader.vocabulary.keys

    def __getstate__(self):
        cdef Py_ssize_t feature, i, count = self.reader.size()
        means = np.zeros((self.blocks, count))
        cdef double[:, ::1] view = means
        for i in range(self.blocks):
            for feature in range(count):
                view[i, feature] = self.block[i].mean[feature]
        return {
            "features": self.reader.features(),
            "means": means,
            "variances": np.array([self.variances(self.block + i) for i in range(self.blocks)]),
            "units": [self.block[i].unit for i in range(self.blocks)],
        }

    def __setstate__(self, state):
        cdef Py_ssize_t feature, i
        means = np.ascontiguousarray(state["means"], dtype=np.float64)
        variances = np.ascontiguousarray(state["variances"], dtype=np.float64)
        units = state["units"]
        if not (np.isfinite(means).all() and np.isfinite(variances).all() and all(0 < unit < INFINITY for unit in units)):
            raise ValueError("means, variances and units must be finite")
        cdef const double[:, ::1] view = means
        self.reader.learn_features(state["features"])
        if means.shape != (len(units), self.reader.size()) or len(variances) != len(units):
            raise ValueError(f"{self.reader.size()} features and {len(units)} blocks, but means of shape {means.shape}")
        self.reserve(self.reader.size(), len(units))
        for i in range(len(units)):
            self.add_block()
            self.take_variances(self.block + i, variances[i])
            self.block[i].unit = units[i]
            for feature in range(means.shape[1]):
                self.block[i].mean[feature] = view[i, feature]
        self.largest = np.abs(means).max(initial=0.0)
