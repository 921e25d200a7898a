"""The base class of spaces with a covariance: a Gaussian for each block, whose mean is the weights."""

import numpy as np

from libc.math cimport INFINITY, NAN, fabs, isfinite, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from river_margins.core.kernels cimport dot, dot_at
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.core.checks import at_least_or_none, positive

cdef double LEAST_DECAY = 1e-30  # below it, the stored numbers are computed anew
cdef double LEAST_VARIANCE = 1.0 / 1024.0  # of that at the start: in ten half lives it grows back to half of it


cdef class Gaussian(Space):
    """Gaussian(a=1.0, *, half_life=None)\n--\n
    Weights with a covariance Σ: the gain is the variance xᵀΣx, and a move goes along Σx and makes Σ smaller.

    A score is ⟨w, x⟩. If the rule sets `looks_ahead`, the space keeps θ = Σ⁻¹w, a move adds a multiple of x to θ, and a score
    has the current example in Σ⁻¹ already: θᵀ(Σ⁻¹ + xxᵀ/r)⁻¹x, with r from `Rule.lookahead_r`.

    Each block has a Σ of its own; the covariance between the weights of two classes is left out.

    With a `half_life`, what an example has added to Σ⁻¹ and θ counts half after so many further rounds. Σ⁻¹ = I/a + Q, where Q
    is the sum of what the examples added, each times 2^(-age/half_life): this is recursive least squares with forgetting, but
    for I/a, which stays. So variances grow back to a where nothing is learned, and no further. A round costs no more for it:
    `decay` of a block is the weight that the stored numbers have by now, and a move adds its numbers divided by it.
    """

    _parameter_names = ("a", "half_life")
    offers = frozenset({"covariance", "look-ahead score"})

    def __init__(self, a=1.0, *, half_life=None):
        self.a = self.largest_variance = positive("a", a)
        self.half_life = at_least_or_none("half_life", 1, half_life)
        self.adds_up = True
        self.kept = self.largest_growth = 1.0
        if half_life is not None:
            self.counts_rounds = True
            self.kept, self.largest_growth = 2.0 ** (-1.0 / half_life), 1.0 / LEAST_DECAY

    def __dealloc__(self):
        self.free_blocks(self.block)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.block_room * sizeof(Block) + (
            self.blocks * (self.capacity + self.covariance_length(self.capacity)) * sizeof(double)
        )

    # ------------------------------------------------------------------------------------------ for subclasses

    cdef Py_ssize_t covariance_length(self, Py_ssize_t capacity) noexcept:
        """Return the number of numbers in the covariance of `capacity` features."""
        return 0

    cdef void start_covariance(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        """Set the covariance of a block: variance a for new features, and that of the old block for the others."""

    cdef double variance(self, const Block* block, Row row) noexcept:
        """Return xᵀΣx over the known features, without the factor `unit` of the block."""
        return 0.0

    cdef double lookahead_score(self, const Block* block, Row row, double variance) noexcept:
        """Return the score with the example in Σ⁻¹ already. Called right after `variance`, for the same block."""
        return 0.0

    cdef void move_block(self, Block* block, Row row, double coefficient, Seen seen, Step step) noexcept:
        """Move one block along coefficient·x, and shrink its covariance along it."""

    cdef void start_features(self, Py_ssize_t count) noexcept:
        """Set the variances of new features; only needed where `decay` is a factor of the stored variances."""

    cdef void fold(self, Block* block) noexcept:
        """Multiply what is stored by `decay`, and set it to 1."""

    cdef double weight_at(self, const Block* block, Py_ssize_t index) noexcept:
        """Return the weight of a feature."""
        return 0.0

    cdef double lookahead_share(self, const Block* block, Row row, Py_ssize_t i, double r, double variance) noexcept:
        """Return the factor for the weight of feature i of the row if the example, of this variance, is in Σ⁻¹ as xxᵀ/r."""
        return 1.0

    cdef object variances(self, const Block* block):
        """Return the covariance of the known features as an array."""
        return None

    cdef int take_variances(self, Block* block, object variances) except -1:
        """Set the covariance from such an array; raise ValueError if it is not a covariance."""
        return 0

    # -------------------------------------------------------------------------------------------------- rounds

    cdef int bind_rule(self, Rule rule) except -1:
        if self.blocks and self.reader.size() and rule.looks_ahead != (self.lookahead_rule is not None):
            raise ValueError(f"`{rule!r}` keeps other sums than the rule it is to replace: give it a learner of its own")
        self.lookahead_rule = rule if rule.looks_ahead else None
        self.weighs_by_example = rule.looks_ahead
        self.least_variance = self.a * LEAST_VARIANCE if self.counts_rounds and rule.shrinks_without_limit else 0.0
        return 0

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        if step.scale != 1.0 or step.radius != INFINITY or not (step.shrink >= 0.0 and step.inflate > 0.0):
            raise ValueError(
                f"`{rule!r}` answers {step!r}, but in `{self!r}` scale stays 1 and radius infinite, shrink is at least 0 "
                "and inflate above 0"
            )
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i
        cdef double fresh = 0.0 if self.lookahead_rule is None else self.fresh_square(row)
        row.reserve_scores(blocks)
        row.reserve_evaluations(1 + 2 * (row.known + row.fresh) + blocks)
        row.evaluations[0] = NAN
        for i in range(blocks):
            if i >= self.blocks:
                row.scores[i] = 0.0
            elif self.lookahead_rule is not None:
                lookahead_variances(row)[i] = self.block[i].unit * (
                    self.variance(self.block + i, row) + self.block[i].start * fresh
                )
                row.scores[i] = self.lookahead_score(self.block + i, row, lookahead_variances(row)[i])
            elif row.consecutive:
                row.scores[i] = dot(self.block[i].mean, row.value, row.known)
            else:
                row.scores[i] = dot_at(self.block[i].mean, row.index, row.value, row.known)
        return 0

    cdef double fresh_square(self, Row row) noexcept:
        cdef const double* fresh = row.own_value + row.capacity
        return dot(fresh, fresh, row.fresh) if row.fresh else 0.0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i, place
        cdef double coefficient, variance, unit, reach
        cdef double fresh = self.fresh_square(row)
        seen.margin, seen.gain, seen.size, self.largest_change = 0.0, 0.0, NAN, 0.0
        for i in range(direction.length):
            place, coefficient = direction.terms[i].block, direction.terms[i].coefficient
            seen.margin += coefficient * row.scores[place]
            if place < self.blocks:
                unit = self.block[place].unit
                if self.lookahead_rule is None:
                    variance = unit * (self.variance(self.block + place, row) + self.block[place].start * fresh)
                else:  # the score has computed it
                    variance = lookahead_variances(row)[place]
                # Wrong labels let confidence-weighted rules square the variance again and again: count tiny ones as 0.
                if variance < 1e-100 * unit * self.a * row.norm2:
                    variance = 0.0
            else:  # a new class, which has no block yet
                unit, variance = 1.0, self.a * row.norm2
            seen.gain += coefficient * coefficient * variance
            # For a covariance Σ, (Σx)ᵢ² <= Σᵢᵢ·x'Σx, and no Σᵢᵢ is larger than at the start, or little.
            reach = coefficient * coefficient * unit * self.largest_variance * variance
            if reach > self.largest_change:
                self.largest_change = reach
        if self.lookahead_rule is None:
            self.largest_change = sqrt(self.largest_change)
        else:
            self.largest_change = sqrt(row.norm2) * self.largest_growth
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        cdef double unit, length
        for i in range(direction.length):
            if direction.terms[i].block < self.blocks:
                unit = self.block[direction.terms[i].block].unit
                if not (0.0 < unit * step.inflate * self.a < INFINITY and isfinite(unit * step.shrink)):
                    return False
                if self.lookahead_rule is None and not isfinite(unit * step.step):
                    return False
        # The square too, as in `Linear`: else one label near the largest float would be learned, and no later one after it.
        length = self.largest_mean + fabs(step.step) * self.largest_change
        return isfinite(length * length) and isfinite(step.shrink * seen.gain)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i
        if seen.gain > 0.0:  # else no variance is left along x
            if row.fresh:
                self.reserve(self.reader.size() + row.fresh, self.block_room)
                self.start_features(row.fresh)
                self.reader.add_features(row)
                row.evaluations[0] = NAN
            for i in range(direction.length):
                self.move_block(self.block + direction.terms[i].block, row, direction.terms[i].coefficient, seen, step)
            self.largest_mean += fabs(step.step) * self.largest_change
        for i in range(direction.length):
            self.block[direction.terms[i].block].unit *= step.inflate
        return 0

    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0:
        cdef double weight = self.weight_at(self.block + block, row.index[i]), variance
        if self.lookahead_rule is None:
            return weight
        variance = lookahead_variances(row)[block]
        return weight * self.lookahead_share(self.block + block, row, i, self.lookahead_rule.lookahead_r(variance), variance)

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        if seen.weight == 0.0:  # a round that teaches nothing makes nothing forgotten
            return 0
        for i in range(self.blocks):
            self.block[i].decay *= self.kept
            if self.block[i].decay < LEAST_DECAY:
                self.fold(self.block + i)
        return 0

    # -------------------------------------------------------------------------------------------------- memory

    cdef int add_block(self) except -1:
        if self.blocks == self.block_room:
            self.reserve(max(self.capacity, self.reader.size()), max(2 * self.block_room, 1))
        if not self.allocate(self.block + self.blocks, NULL, self.capacity):
            raise MemoryError()
        self.blocks += 1
        return 0

    cdef int reserve(self, Py_ssize_t features, Py_ssize_t block_room) except -1:
        """Make room for features and blocks."""
        cdef Py_ssize_t i, capacity = self.capacity
        if features <= capacity and block_room <= self.block_room:
            return 0
        if features > capacity:
            capacity = max(capacity + capacity // 4, features, 4)  # by a quarter only, since a matrix grows by the square
        cdef Block* blocks = <Block*> calloc(block_room, sizeof(Block))
        if blocks == NULL:
            raise MemoryError()
        for i in range(self.blocks):
            if not self.allocate(blocks + i, self.block + i, capacity):
                self.free_blocks(blocks)
                raise MemoryError()
        self.free_blocks(self.block)
        self.block, self.capacity, self.block_room = blocks, capacity, block_room
        return 0

    cdef bint allocate(self, Block* block, const Block* old, Py_ssize_t capacity) noexcept:
        """Allocate the arrays of a block and copy the old block into them; return False if there is no memory."""
        block.mean = <double*> calloc(capacity, sizeof(double))
        block.variance = <double*> calloc(self.covariance_length(capacity), sizeof(double))
        block.unit = 1.0 if old == NULL else old.unit
        block.decay = 1.0 if old == NULL else old.decay
        block.start = self.a if old == NULL else old.start
        if capacity and (block.mean == NULL or block.variance == NULL):
            free(block.mean)
            free(block.variance)
            block.mean = block.variance = NULL
            return False
        if old != NULL and self.capacity:
            memcpy(block.mean, old.mean, self.capacity * sizeof(double))
        self.start_covariance(block, old, capacity)
        return True

    cdef void free_blocks(self, Block* blocks) noexcept:
        cdef Py_ssize_t i
        if blocks == NULL:
            return
        for i in range(self.blocks):
            free(blocks[i].mean)
            free(blocks[i].variance)
        free(blocks)

    # --------------------------------------------------------------------------------------------------- state

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in a block; raise KeyError if the feature was never learned."""
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
        state = {
            "features": self.reader.features(),
            "means": means,
            "variances": np.array([self.variances(self.block + i) for i in range(self.blocks)]),
            "units": [self.block[i].unit for i in range(self.blocks)],
        }
        if self.half_life is not None:
            state["decays"] = [self.block[i].decay for i in range(self.blocks)]
            state["starts"] = [self.block[i].start for i in range(self.blocks)]
        return state

    def __setstate__(self, state):
        cdef Py_ssize_t feature, i
        means = np.ascontiguousarray(state["means"], dtype=np.float64)
        variances = np.ascontiguousarray(state["variances"], dtype=np.float64)
        units = state["units"]
        decays, starts = [1.0] * len(units), [self.a] * len(units)
        if self.half_life is not None:
            decays, starts = state["decays"], state["starts"]
        if not (len(decays) == len(units) and all(LEAST_DECAY <= decay <= 1.0 for decay in decays)):
            raise ValueError(f"a decay from {LEAST_DECAY} to 1 is needed for each of {len(units)} blocks")
        if not (len(starts) == len(units) and all(self.a <= start <= self.largest_variance for start in starts)):
            raise ValueError(f"a variance from {self.a} to {self.largest_variance} is needed for each of {len(units)} blocks")
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
            self.block[i].unit, self.block[i].decay, self.block[i].start = units[i], decays[i], starts[i]
            for feature in range(means.shape[1]):
                self.block[i].mean[feature] = view[i, feature]
        self.largest_mean = np.abs(means).max(initial=0.0)
