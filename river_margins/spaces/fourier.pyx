"""A linear space over random features that approximate the RBF kernel."""

import hashlib
import numbers

import numpy as np

from libc.math cimport INFINITY, M_PI, ceil, cos, fabs, isfinite, log, sin, sqrt
from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from river_margins.core.kernels cimport dot
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.expansion cimport room_for
from river_margins.spaces.random_numbers cimport next_number
from river_margins.core.checks import positive, whole
from river_margins.core.feature_hash import stable_name


cdef class RandomFourier(Space):
    """RandomFourier(gamma=None, components=100, seed=0)\n--\n
    ⟨w, z(x)⟩ with z(x) = [cos⟨ω_i, x⟩, sin⟨ω_i, x⟩]/√D, so that ⟨z(x), z(x')⟩ is about exp(-gamma·|x - x'|²).

    The D frequencies of a feature depend on its name and the seed only, so they are the same in every process.

    Parameters
    ----------
    gamma
        As in `RBF`, > 0. None (default) is 1 over the number of features in the first example that moves the weights.
    components
        The number D of random vectors ω_i, >= 1; 100 by default. The error of the kernel is about 1/√D.
    seed
        The seed of the random vectors, a whole number >= 0; 0 by default.
    """

    _parameter_names = ("gamma", "components", "seed")
    offers = frozenset({"plain steps", "radius", "inner product"})

    def __cinit__(self):
        self.scale = 1.0

    def __init__(self, gamma=None, components=100, seed=0):
        self.gamma, self.rate = gamma, 0.0 if gamma is None else positive("gamma", gamma)
        self.components = whole("components", components, 1)
        self.seed = whole("seed", seed)

    def __dealloc__(self):
        free(self.frequencies)
        free(self.weights)

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.frequency_room + self.weight_room) * sizeof(double)

    cdef int add_block(self) except -1:
        self.weights = room_for(self.weights, &self.weight_room, (self.blocks + 1) * 2 * self.components, True)
        self.blocks += 1
        return 0

    cdef int draw_known(self, Row row) except -1:
        """Store the frequencies of all learned features. They are not part of the state: the names give them again."""
        cdef Py_ssize_t D = self.components, feature
        row.reserve_evaluations(D)
        while self.drawn < self.reader.size():
            feature = self.drawn
            # Hashing a name lets other threads run: draw into the row, which belongs to this call only.
            self.draw(self.reader.vocabulary.keys[feature], row.evaluations)
            if self.drawn == feature:  # else another thread has drawn it meanwhile
                self.frequencies = room_for(self.frequencies, &self.frequency_room, self.reader.size() * D, False)
                memcpy(self.frequencies + feature * D, row.evaluations, D * sizeof(double))
                self.drawn += 1
        return 0

    cdef int draw(self, object key, double* frequencies) except -1:
        """Fill `frequencies` with normal numbers (Box & Muller), from a generator that starts at a hash of seed and name."""
        cdef bytes name = f"{self.seed}:{name_of(key)}".encode("utf-8", "surrogatepass")
        cdef uint64_t state = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")
        cdef double radius, angle
        cdef Py_ssize_t i
        for i in range(self.components):
            radius = sqrt(-2.0 * log(((next_number(&state) >> 11) + 1) * 2.0**-53))
            angle = 2.0 * M_PI * ((next_number(&state) >> 11) * 2.0**-53)
            frequencies[i] = radius * cos(angle)
        return 0

    cdef double rate_of(self, Row row) noexcept:
        """Return gamma; while it is not settled, the gamma that this example would settle."""
        if self.rate > 0.0:
            return self.rate
        return 1.0 / max(row.known + row.fresh - self.reader.intercept, 1)

    cdef int transform(self, Row row) except -1:
        """Leave z(x) in the row's evaluations."""
        cdef Py_ssize_t D = self.components, i, feature
        cdef double phase, share = 1.0 / sqrt(<double> D), width = sqrt(2.0 * self.rate_of(row))
        cdef double* z
        cdef const double* frequency
        row.reserve_evaluations(3 * D)
        z = row.evaluations
        for i in range(D):
            z[i] = 0.0
        for feature in range(row.known):
            frequency = self.frequencies + row.index[feature] * D
            for i in range(D):
                z[i] += frequency[i] * row.value[feature]
        for feature in range(row.fresh):
            self.draw(row.fresh_keys[feature], z + 2 * D)
            for i in range(D):
                z[i] += z[2 * D + i] * row.own_value[row.capacity + feature]
        for i in range(D):
            phase = width * z[i]
            z[i], z[D + i] = cos(phase) * share, sin(phase) * share
        return 0

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block, length = 2 * self.components
        row.reserve_scores(blocks)
        row.size = self.size
        self.draw_known(row)
        self.transform(row)
        for block in range(blocks):
            row.scores[block] = (
                self.scale * dot(self.weights + block * length, row.evaluations, length) if block < self.blocks else 0.0
            )
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        seen.gain = square if isfinite(row.norm2) else INFINITY  # |z| is 1; for a huge example the phases are rounding errors
        if direction.pull != 0.0:
            seen.gain += direction.pull * (2.0 * margin + direction.pull * self.size)
            margin += direction.pull * self.size
        seen.margin, seen.size = margin, self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        step.size = (
            step.scale * step.scale * self.size
            + 2.0 * step.scale * step.step * seen.margin
            + step.step * (step.step * seen.gain)
        )
        return isfinite(step.size)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef double size = max(step.size, 0.0), kept = step.scale * step.scale * self.size, factor
        cdef double shorten = step.radius / sqrt(size) if size > step.radius * step.radius else 1.0
        cdef Py_ssize_t i, j, block, length = 2 * self.components
        if step.step != 0.0 and row.known + row.fresh > self.reader.intercept:
            self.rate = self.rate_of(row)
        self.reader.add_features(row)
        self.multiply((step.scale + step.step * direction.pull) * shorten)
        for i in range(direction.length):
            block = direction.terms[i].block
            factor = step.step * shorten * direction.terms[i].coefficient / self.scale
            for j in range(length):
                self.weights[block * length + j] += factor * row.evaluations[j]
        self.size = size * shorten * shorten
        self.roundings += 1
        if size > 0.0:
            self.roundings = <Py_ssize_t> ceil(min((kept * self.roundings + step.step * step.step * seen.gain) / size, 1e15))
        elif kept > 0.0:  # as in `Linear.move`
            self.roundings = <Py_ssize_t> 1e15
        if self.roundings >= 1024:
            self.size = dot(self.weights, self.weights, self.blocks * length) * self.scale * self.scale
            self.roundings = 0
        return 0

    cdef void multiply(self, double factor) noexcept:
        cdef double scale = self.scale * factor
        cdef Py_ssize_t i
        if not 1e-100 < fabs(scale) < 1e100:
            for i in range(self.blocks * 2 * self.components):
                self.weights[i] *= scale
            scale = 1.0
        self.scale = scale

    # --------------------------------------------------------------------------------------------------- state

    @property
    def features(self):
        """Raise ValueError: the weights do not belong to features."""
        raise ValueError("a learner on random features has no weights by feature")

    @property
    def supports(self):
        """Raise AttributeError: the space has no supports."""
        raise AttributeError("a learner on random features has weights for them, and no supports")

    def __getstate__(self):
        cdef Py_ssize_t i
        weights = np.array([self.weights[i] for i in range(self.blocks * 2 * self.components)], dtype=np.float64)
        return {
            "features": self.reader.features(),
            "weights": weights.reshape(self.blocks, 2 * self.components),
            "scale": self.scale,
            "size": self.size,
            "moves": self.roundings,
            **({"rate": self.rate} if self.gamma is None else {}),
        }

    def __setstate__(self, state):
        cdef Py_ssize_t i, block
        weights = np.ascontiguousarray(state["weights"], dtype=np.float64)
        if weights.ndim != 2 or weights.shape[1] != 2 * self.components:
            raise ValueError(f"weights of shape {weights.shape} do not belong to {self.components} components")
        if not (np.isfinite(weights).all() and isfinite(state["scale"]) and 0 <= state["size"] < INFINITY):
            raise ValueError("weights, scale and size must be finite")
        if self.gamma is None:
            if not 0 <= state["rate"] < INFINITY:
                raise ValueError(f"rate must be finite and at least 0, not {state['rate']}")
            self.rate = state["rate"]
        cdef const double[::1] view = np.append(weights.ravel(), 0.0)
        self.reader.learn_features(state["features"])
        for block in range(weights.shape[0]):
            self.add_block()
        for i in range(weights.size):
            self.weights[i] = view[i]
        self.scale, self.size, self.roundings = state["scale"], state["size"], state["moves"]


def name_of(key):
    """Return the text of a feature for hashing. Equal names of different types have the same text, those of numpy too."""
    key = stable_name(key)
    if isinstance(key, numbers.Real) and key == key // 1:
        return repr(int(key))
    return key if type(key) is str else repr(key)
