"""Weights as a sum over examples: w = Σ c_i φ(v_i), met only through the kernel k(v, x) = ⟨φ(v), φ(x)⟩."""

import numpy as np

from libc.math cimport INFINITY, ceil, fabs, isfinite, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.budgets cimport Budget
from river_margins.spaces.expansion cimport Expansion, room_for
from river_margins.spaces.kernel_functions cimport RBF, KernelFunction, LinearKernel
from river_margins.spaces.expansion import arrays_of


cdef class Kernel(Space):
    """Supports in place of weights: a score is Σ c_i k(v_i, x), a move appends x with the step as its coefficient.

    All classes share the supports and so the kernel evaluations, of which a score takes one for each support. Without a
    budget every update adds a support, for ever. The zero example is an example like any other: k(0, x) need not be 0.

    Parameters
    ----------
    kernel
        `RBF()` by default; `LinearKernel()`, `Polynomial(...)`, `Laplace(...)`, or any function of two dicts of features
        that is symmetric and positive semi-definite, which nobody checks. A function of your own is called once for each
        support, and cannot be part of a snapshot.
    budget
        `RandomRemoval(...)`, `OldestRemoval(...)` or `SmallestRemoval(...)`; None (default) keeps all supports.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PA1(C=0.1), rm.Kernel(rm.RBF(gamma=0.5), rm.RandomRemoval(100)))
    >>> model.learn_one({"a": 1.0}, True)
    >>> model.supports
    [({'a': 1.0}, 0.1)]
    """

    _parameter_names = ("kernel", "budget")
    suits_as = "Kernel"  # those derived from it, too

    def __cinit__(self):
        self.scale = 1.0
        self.expansion = Expansion()
        self.dicts = []

    def __init__(self, kernel=None, budget=None):
        kernel = RBF() if kernel is None else kernel
        if isinstance(kernel, type) or not callable(kernel):
            raise TypeError(f"`kernel` must be a kernel, such as RBF(0.5), or a function of two dicts, not {kernel!r}")
        if not (budget is None or isinstance(budget, Budget)):
            raise TypeError(f"`budget` must be None or a budget, such as RandomRemoval(100), not {budget!r}")
        self.kernel, self.budget = kernel, budget
        self.function = kernel if isinstance(kernel, KernelFunction) else None
        self.generator = 0 if budget is None else self.budget.first_state()

    def __dealloc__(self):
        free(self.scratch)
        free(self.against)
        free(self.fresh)

    def __sizeof__(self):
        return object.__sizeof__(self) + (self.scratch_room + self.against_room + self.fresh_room) * sizeof(double)

    cdef int add_block(self) except -1:
        if self.blocks == self.expansion.stride:
            self.expansion.widen(max(2 * self.blocks, 1))
        self.blocks += 1
        return 0

    # ---------------------------------------------------------------------------------------------- evaluating

    cdef int evaluate(self, const int32_t* index, const double* value, Py_ssize_t length, Py_ssize_t unmatched,
                      double measure, double* out) except -1:
        """The kernel of a sparse example with each support, which have none of its `unmatched` further features."""
        cdef Expansion expansion = self.expansion
        cdef KernelFunction function = self.function
        cdef Py_ssize_t i, start, present = unmatched
        self.scratch = room_for(self.scratch, &self.scratch_room, self.reader.size(), True)
        for i in range(length):
            self.scratch[index[i]] = value[i]
            present += value[i] != 0.0
        for i in range(expansion.count):
            start = expansion.starts[i]
            out[i] = function.of(
                self.scratch, measure, present, NULL if expansion.straight[i] else expansion.index + start,
                expansion.value + start, expansion.length(i), expansion.measure[i],
            )
        for i in range(length):
            self.scratch[index[i]] = 0.0
        return 0

    cdef int ask(self, dict x, list supports, double* out) except -1:
        """The kernel of a user, with each support and then with x itself."""
        cdef Py_ssize_t i = 0
        for z in [*supports, x]:
            out[i] = self.kernel(x, z)
            if not isfinite(out[i]):
                raise ValueError(f"`{self.kernel!r}` answers {out[i]}: a kernel must be finite")
            i += 1
        return 0

    cdef int evaluate_support(self, Py_ssize_t place) except -1:
        """Fill `against` with the kernel of one support and each."""
        cdef Expansion expansion = self.expansion
        cdef Py_ssize_t start = expansion.starts[place]
        self.against = room_for(self.against, &self.against_room, expansion.count + 1, False)
        if self.function is None:
            return self.ask(self.dicts[place], self.dicts, self.against)
        return self.evaluate(
            expansion.index + start, expansion.value + start, expansion.length(place), 0, expansion.measure[place],
            self.against,
        )

    cdef dict features_of_row(self, Row row):
        cdef Py_ssize_t i
        cdef dict x = {self.reader.vocabulary.keys[row.index[i]]: row.value[i] for i in range(row.known) if row.value[i]}
        for i in range(row.fresh):
            if row.own_value[row.capacity + i]:
                x[row.fresh_keys[i]] = row.own_value[row.capacity + i]
        return x

    cdef dict features_of_support(self, Py_ssize_t place):
        cdef Expansion expansion = self.expansion
        cdef list keys = self.reader.vocabulary.keys
        cdef Py_ssize_t i
        return {keys[expansion.index[i]]: expansion.value[i] for i in range(expansion.starts[place], expansion.starts[place + 1])}

    cdef double coefficient(self, Py_ssize_t place, Py_ssize_t block) noexcept:
        return self.scale * self.expansion.coefficients[place * self.expansion.stride + block]

    # -------------------------------------------------------------------------------------------------- rounds

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block, count = self.expansion.count
        cdef double measure
        cdef object supports = None
        row.reserve_scores(blocks)
        row.size = self.size
        row.reserve_evaluations(count + 1)
        if self.function is None:
            while supports != self.dicts:  # another thread may learn while we ask
                supports = list(self.dicts)
                row.reserve_evaluations(len(supports) + 1)
                self.ask(self.features_of_row(row), supports, row.evaluations)
        else:
            measure = self.function.measure(row.value, row.known)
            if row.fresh:
                measure += self.function.measure(row.own_value + row.capacity, row.fresh)
            self.evaluate(row.index, row.value, row.known, row.fresh, measure, row.evaluations)
            row.evaluations[count] = self.function.of_itself(measure) if isfinite(measure) else INFINITY
        for block in range(blocks):
            row.scores[block] = self.scale * self.expansion.total(row.evaluations, block) if block < self.blocks else 0.0
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0
        self.row, self.own = row, row.evaluations[self.expansion.count]  # for the move that may follow
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        seen.gain = square * self.own
        if direction.pull != 0.0:
            seen.gain += direction.pull * (2.0 * margin + direction.pull * self.size)
            margin += direction.pull * self.size
        seen.margin, seen.size = margin, self.size
        return 0

    cdef bint bears(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, block
        cdef double inner = 0.0, square = 0.0, kept
        self.victim = -1
        self.counted = self.moves >= 1024 and self.moves >= self.expansion.count
        self.fresh_blocks = self.blocks
        for i in range(direction.length):
            self.fresh_blocks = max(self.fresh_blocks, direction.terms[i].block + 1)  # one that is new may be among them
        self.fresh = room_for(self.fresh, &self.fresh_room, self.fresh_blocks, False)
        memset(self.fresh, 0, self.fresh_blocks * sizeof(double))
        # What would move w by less than its own rounding is worth no support, and nothing has to go for it.
        self.adding = step.step * step.step * self.own > 1e-28 * self.size
        if self.adding:
            self.plan(direction, seen, step)
        kept = step.scale + step.step * direction.pull
        self.before = self.counted_anew() if self.counted else self.size
        if self.victim >= 0:
            self.before = self.without_victim(self.before)
        for block in range(self.fresh_blocks):
            inner += self.fresh[block] * self.row.scores[block]
            square += self.fresh[block] * (self.fresh[block] * self.own)
            if self.victim >= 0 and block < self.blocks:
                inner -= self.fresh[block] * (self.coefficient(self.victim, block) * self.row.evaluations[self.victim])
        step.size = kept * kept * self.before + 2.0 * kept * inner + square
        return isfinite(step.size)

    cdef int plan(self, Direction direction, Seen seen, Step step) except -1:
        """Say what is to come, and write nothing: the coefficients of the new support, and the one that has to go."""
        cdef Py_ssize_t i
        for i in range(direction.length):
            self.fresh[direction.terms[i].block] += step.step * direction.terms[i].coefficient
        if self.budget is not None and self.expansion.count >= self.budget.size:
            self.victim = self.choose()
        return 0

    cdef Py_ssize_t choose(self) except -2:
        cdef Py_ssize_t place, block
        self.against = room_for(self.against, &self.against_room, self.expansion.count, False)
        for place in range(self.expansion.count):
            self.against[place] = 0.0
            for block in range(self.blocks):
                self.against[place] += self.coefficient(place, block) ** 2 * self.expansion.own[place]
        self.next_generator = self.generator
        return self.budget.choose(self.against, self.expansion.count, &self.next_generator)

    cdef double without_victim(self, double size) except? -1.0:
        """|w|² when the victim is gone."""
        cdef Py_ssize_t block
        cdef double coefficient
        self.evaluate_support(self.victim)
        for block in range(self.blocks):
            coefficient = self.coefficient(self.victim, block)
            size += coefficient * (
                coefficient * self.expansion.own[self.victim] - 2.0 * self.scale * self.expansion.total(self.against, block)
            )
        return max(size, 0.0)

    cdef double counted_anew(self) except? -1.0:
        """|w|² from all pairs of supports."""
        cdef Py_ssize_t place, block
        cdef double size = 0.0
        for place in range(self.expansion.count):
            self.evaluate_support(place)
            for block in range(self.blocks):
                size += self.coefficient(place, block) * self.expansion.total(self.against, block)
        return max(size * self.scale, 0.0)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef double size = max(step.size, 0.0), kept = step.scale + step.step * direction.pull
        cdef double shorten = step.radius / sqrt(size) if size > step.radius * step.radius else 1.0
        cdef Py_ssize_t block
        if self.adding:
            self.reader.admit(row)
            self.expansion.reserve(self.expansion.count + 1, self.expansion.starts[self.expansion.count] + row.known)
        self.count_move(kept * kept * max(self.size, self.before), seen.gain * step.step * step.step, size)
        if self.victim >= 0:
            self.generator = self.next_generator
            self.expansion.remove(self.victim)
            if self.function is None:
                self.dicts.pop(self.victim)
        self.multiply(kept * shorten)
        if self.adding:
            self.append(row.index, row.value, row.known)
            for block in range(self.fresh_blocks):
                self.expansion.coefficients[(self.expansion.count - 1) * self.expansion.stride + block] = (
                    self.fresh[block] * shorten / self.scale
                )
        self.size = size * shorten * shorten
        return 0

    cdef void count_move(self, double kept, double added, double size) noexcept:
        # As in a linear space: rounding adds up, and `moves` counts it in roundings of the present size.
        self.moves = 1 if self.counted else self.moves + 1
        if size > 0.0:
            self.moves = <Py_ssize_t> ceil(min((kept * self.moves + added) / size, 1e15))

    cdef int append(self, const int32_t* index, const double* value, Py_ssize_t length) except -1:
        """Make an example, whose features are all known, the youngest support."""
        cdef Expansion expansion = self.expansion
        cdef Py_ssize_t place = expansion.count, start = expansion.starts[expansion.count]
        expansion.append(index, value, length)
        if self.function is None:
            self.dicts.append(self.features_of_support(place))
            expansion.measure[place], expansion.own[place] = 0.0, self.own
        else:
            expansion.measure[place] = self.function.measure(expansion.value + start, expansion.length(place))
            expansion.own[place] = self.function.of_itself(expansion.measure[place])
        return 0

    cdef int multiply(self, double factor) except -1:
        cdef double scale = self.scale * factor
        cdef Py_ssize_t i
        if factor == 0.0:
            self.expansion.clear()
            self.dicts.clear()
            scale = 1.0
        elif not 1e-100 < fabs(scale) < 1e100:
            for i in range(self.expansion.count * self.expansion.stride):
                self.expansion.coefficients[i] *= scale
            scale = 1.0
        self.scale = scale
        return 0

    # --------------------------------------------------------------------------------------------------- state

    @property
    def supports(self):
        """The supports, the oldest first: pairs of an example and its coefficients, one for each block."""
        return [
            (self.features_of_support(place), [self.coefficient(place, block) for block in range(self.blocks)])
            for place in range(self.expansion.count)
        ]

    @property
    def features(self):
        """The learned features, in order; only a linear kernel has weights for them."""
        if not isinstance(self.kernel, LinearKernel):
            raise ValueError(f"a learner with the kernel {self.kernel!r} has no weights by feature: see its `supports`")
        return self.reader.vocabulary.keys

    def weight(self, key, Py_ssize_t block):
        """The weight of a feature in a block; KeyError if the feature was never learned."""
        if key not in self.features:
            raise KeyError(key)
        return sum([coefficients[block] * x.get(key, 0.0) for x, coefficients in self.supports])

    def __getstate__(self):
        return {
            "features": self.reader.features(),
            **self.expansion.arrays(self.blocks),
            "scale": self.scale,
            "size": self.size,
            "moves": self.moves,
            "generator": self.generator,
        }

    def __setstate__(self, state):
        cdef Py_ssize_t place, block, start = 0
        self.reader.learn_features(state["features"])
        lengths, indices, values, coefficients = arrays_of(state, self.reader.size())
        cdef const long long[::1] length = lengths
        cdef const int32_t[::1] index = np.append(indices, np.int32(0))
        cdef const double[::1] value = np.append(values, 0.0)
        cdef const double[:, ::1] coefficient = coefficients
        if self.budget is not None and len(lengths) > self.budget.size:
            raise ValueError(f"{len(lengths)} supports are more than {self.budget!r} allows")
        for block in range(coefficients.shape[1]):
            self.add_block()
        self.expansion.reserve(len(lengths), len(values))
        for place in range(len(lengths)):
            self.append(&index[start], &value[start], length[place])
            if self.function is None:
                self.expansion.own[place] = self.kernel(self.dicts[place], self.dicts[place])
            start += length[place]
            for block in range(self.blocks):
                self.expansion.coefficients[place * self.expansion.stride + block] = coefficient[place, block]
        self.scale, self.size, self.moves = state["scale"], state["size"], state["moves"]
        self.generator = state["generator"]
