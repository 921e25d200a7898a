"""One weight vector for each block, as arrays over the learned features."""

import numpy as np

from libc.math cimport INFINITY, ceil, fabs, isfinite, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from river_margins.core.kernels cimport add_multiple, add_multiple_at, dot, dot_at
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space


cdef class Linear(Space):
    """Plain weights: a score is ⟨w, x⟩, and a move adds a multiple of x.

    The weights of a feature for all blocks lie side by side, so one pass over x scores all classes. A weight is `scale`
    times the stored number, so one multiplication shrinks all of w.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PA1(C=0.5), rm.Linear(), intercept=False)
    >>> model.learn_one({"a": 1.0, "b": 2.0}, True)
    >>> dict(model.weights)
    {'a': 0.2, 'b': 0.4}
    """

    offers = frozenset({"plain steps", "radius", "inner product"})

    def __cinit__(self):
        self.scale, self.adds_up = 1.0, True

    def __dealloc__(self):
        free(self.weights)

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.capacity * self.stride) * sizeof(double)

    cdef int add_block(self) except -1:
        if self.blocks == self.stride:
            self.reserve(max(self.capacity, self.reader.size()), max(2 * self.stride, 1))
        self.blocks += 1
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t i, block, known = row.known, stride = self.stride, present = self.blocks
        cdef double value
        cdef const double* weight
        row.reserve_scores(blocks)
        row.size = self.size
        cdef double* scores = row.scores
        if stride == 1:
            scores[0] = self.scale * (
                dot(self.weights, row.value, known) if row.consecutive
                else dot_at(self.weights, row.index, row.value, known)
            )
        else:
            memset(scores, 0, blocks * sizeof(double))
            for i in range(known):
                weight = self.weights + row.index[i] * stride
                value = row.value[i]
                for block in range(present):
                    scores[block] += weight[block] * value
            for block in range(present):
                scores[block] *= self.scale
        for block in range(present, blocks):
            scores[block] = 0.0
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        seen.gain = square * row.norm2
        if direction.pull != 0.0:
            seen.gain += direction.pull * (2.0 * margin + direction.pull * self.size)
            margin += direction.pull * self.size
        seen.margin = margin
        seen.size = self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        # No weight is larger than |w|, so one check covers all of them.
        step.size = (
            step.scale * step.scale * self.size
            + 2.0 * step.scale * step.step * seen.margin
            + step.step * (step.step * seen.gain)
        )
        return isfinite(step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef double size = max(step.size, 0.0), step_size = step.step
        cdef double scale = step.scale + step_size * direction.pull
        cdef double shorten = step.radius / sqrt(size) if size > step.radius * step.radius else 1.0
        cdef double kept = step.scale * step.scale * self.size
        cdef Py_ssize_t i
        if row.fresh:
            self.reserve(self.reader.size() + row.fresh, self.stride)
            self.reader.add_features(row)
        self.multiply(scale * shorten)
        for i in range(direction.length):
            self.add_to_block(
                row, direction.terms[i].block, step_size * shorten * direction.terms[i].coefficient / self.scale
            )
        self.size = size * shorten * shorten
        # Rounding errors of |w|² add up from move to move, and weigh more when large terms cancel, as in ROMMA. `roundings`
        # counts them in units of the rounding error of the present size. At this interval a new sum costs O(1) for each move.
        self.roundings += 1
        if size > 0.0:
            self.roundings = <Py_ssize_t> ceil(min((kept * self.roundings + step_size * step_size * seen.gain) / size, 1e15))
        elif kept > 0.0:  # everything has cancelled, and what is left of w may be all rounding error
            self.roundings = <Py_ssize_t> 1e15
        if self.roundings >= 1024 and self.roundings >= self.reader.size() * self.stride:
            self.measure_size()
        return 0

    cdef void add_to_block(self, Row row, Py_ssize_t block, double factor) noexcept:
        cdef Py_ssize_t i, stride = self.stride
        cdef double* weights = self.weights + block
        cdef const int32_t* index = row.index
        cdef const double* value = row.value
        if stride == 1 and row.consecutive:
            add_multiple(weights, value, factor, row.known)
        elif stride == 1:
            add_multiple_at(weights, index, value, factor, row.known)
        else:
            for i in range(row.known):
                weights[index[i] * stride] += factor * value[i]

    cdef void multiply(self, double factor) noexcept:
        if factor == 1.0:
            return
        self.scale *= factor
        if not 1e-100 < fabs(self.scale) < 1e100:
            self.fold()

    cdef void fold(self) noexcept:
        """Multiply the stored numbers by the scale, and set the scale to 1."""
        cdef Py_ssize_t i
        for i in range(self.reader.size() * self.stride):
            self.weights[i] *= self.scale
        self.scale = 1.0

    cdef void measure_size(self) noexcept:
        cdef double square = dot(self.weights, self.weights, self.reader.size() * self.stride)
        if not isfinite(square):  # of the stored numbers, which a small scale may leave large
            self.fold()
            square = dot(self.weights, self.weights, self.reader.size() * self.stride)
        self.size = square * self.scale * self.scale
        self.roundings = 0

    cdef int reserve(self, Py_ssize_t features, Py_ssize_t stride) except -1:
        """Make room for features and blocks. New weights are 0."""
        if features <= self.capacity and stride <= self.stride:
            return 0
        cdef Py_ssize_t capacity = self.capacity, feature
        if features > capacity:
            capacity = max(2 * capacity, features, 4)
        cdef double* weights = <double*> malloc(capacity * stride * sizeof(double))
        if weights == NULL:
            raise MemoryError()
        memset(weights, 0, capacity * stride * sizeof(double))
        for feature in range(min(self.capacity, self.reader.size()) if self.stride else 0):
            memcpy(weights + feature * stride, self.weights + feature * self.stride, self.stride * sizeof(double))
        free(self.weights)
        self.weights = weights
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
        return self.weights[index * self.stride + block] * self.scale

    @property
    def features(self):
        """The learned features, in order."""
        return self.reader.vocabulary.keys

    def __getstate__(self):
        cdef Py_ssize_t feature, block, count = self.reader.size()
        weights = np.zeros((count, self.blocks))
        cdef double[:, ::1] view = weights
        for feature in range(count):
            for block in range(self.blocks):
                view[feature, block] = self.weights[feature * self.stride + block]
        return {
            "features": self.reader.features(),
            "weights": weights,
            "scale": self.scale,
            "size": self.size,
            "moves": self.roundings,
        }

    def __setstate__(self, state):
        self.reader.learn_features(state["features"])
        self.take_weights(state["weights"])
        if not (isfinite(state["scale"]) and 0 <= state["size"] < INFINITY):
            raise ValueError("scale and size must be finite")
        self.scale, self.size, self.roundings = state["scale"], state["size"], state["moves"]

    cdef int take_weights(self, stored) except -1:
        """Set the weights of all features and blocks; add blocks if some are missing."""
        cdef Py_ssize_t feature, block
        weights = np.ascontiguousarray(stored, dtype=np.float64)
        cdef const double[:, ::1] view = weights
        if not np.isfinite(weights).all():
            raise ValueError("weights must be finite")
        if self.reader.size() != weights.shape[0]:
            raise ValueError(f"{self.reader.size()} features, but weights for {weights.shape[0]}")
        while self.blocks < weights.shape[1]:
            self.add_block()
        if self.blocks != weights.shape[1]:
            raise ValueError(f"{self.blocks} weight vectors, but weights for {weights.shape[1]}")
        self.reserve(weights.shape[0], self.stride)
        for feature in range(weights.shape[0]):
            for block in range(weights.shape[1]):
                self.weights[feature * self.stride + block] = view[feature, block]
        return 0

