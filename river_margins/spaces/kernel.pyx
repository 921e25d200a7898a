"""Weights as a sum over examples: w = Σ c_i φ(v_i), used only through the kernel k(v, x) = ⟨φ(v), φ(x)⟩."""

import inspect
import math

import numpy as np

from libc.math cimport INFINITY, ceil, fabs, isfinite, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step, hinge
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.budgets cimport Budget
from river_margins.spaces.expansion cimport Expansion, room_for
from river_margins.spaces.kernel_functions cimport RBF, KernelFunction, LinearKernel
from river_margins.spaces.kernel_values cimport Supports
from river_margins.spaces.expansion import arrays_of


cdef class Kernel(Space):
    """Kernel(kernel=None, budget=None)\n--\n
    Supports instead of weights: a score is Σ c_i k(v_i, x), and a move adds x as a support with the step as coefficient.

    A score evaluates the kernel once for each support; all classes share the supports. Without a budget every update adds a
    support. An example without features is a support, too, since k(0, x) need not be 0.

    Parameters
    ----------
    kernel
        `RBF()` by default; `LinearKernel()`, `Polynomial(...)`, `Laplace(...)`, or any function of two dicts of features
        that is symmetric and positive semi-definite, which is not checked. A function of your own is called once for each
        support, and cannot be part of a snapshot; the instance of a class with `__call__` can, if a package registers it.
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
    offers = frozenset({"plain steps", "radius", "inner product"})

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
        # A class in Python with a `__call__` of its own is another kernel than the compiled one that it is made from.
        self.function = kernel if isinstance(kernel, KernelFunction) and not inspect.isfunction(type(kernel).__call__) else None
        self.generator = 0 if budget is None else self.budget.first_state()

    def __dealloc__(self):
        free(self.scratch)
        free(self.support_kernels)
        free(self.new_coefficients)

    def __sizeof__(self):
        return object.__sizeof__(self) + sizeof(double) * (
            self.scratch_room + self.support_kernel_room + self.new_coefficient_room
        )

    cdef int add_block(self) except -1:
        if self.blocks == self.expansion.stride:
            self.expansion.widen(max(2 * self.blocks, 1))
        self.blocks += 1
        return 0

    # ---------------------------------------------------------------------------------------------- evaluating

    cdef int evaluate(self, const int32_t* index, const double* value, Py_ssize_t length, Py_ssize_t unmatched,
                      double norm, double* out) except -1:
        """Fill `out` with the kernel of a sparse example and each support. No support has its `unmatched` further features."""
        cdef KernelFunction function = self.function
        cdef Supports supports = self.expansion.supports()
        cdef Py_ssize_t i, present = unmatched
        self.scratch = room_for(self.scratch, &self.scratch_room, self.reader.size(), True)
        for i in range(length):
            self.scratch[index[i]] = value[i]
            present += value[i] != 0.0
        function.evaluate(self.scratch, norm, present, &supports, out)
        for i in range(length):
            self.scratch[index[i]] = 0.0
        return 0

    cdef int call_user_kernel(self, dict x, list supports, double* out) except -1:
        """Fill `out` with a user's kernel of x and each support, then of x and itself."""
        cdef Py_ssize_t i = 0
        for z in [*supports, x]:
            out[i] = self.kernel(x, z)
            if not isfinite(out[i]):
                raise ValueError(f"`{self.kernel!r}` answers {out[i]}: a kernel must be finite")
            i += 1
        return 0

    cdef int evaluate_support(self, Py_ssize_t place) except -1:
        """Fill `support_kernels` with the kernel of one support and each support."""
        cdef Expansion expansion = self.expansion
        cdef Py_ssize_t start = expansion.starts[place]
        self.support_kernels = room_for(self.support_kernels, &self.support_kernel_room, expansion.count + 1, False)
        if self.function is None:
            return self.call_user_kernel(self.dicts[place], self.dicts, self.support_kernels)
        return self.evaluate(
            expansion.index + start, expansion.value + start, expansion.length(place), 0, expansion.norms[place],
            self.support_kernels,
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
        return {
            keys[expansion.index[i]]: expansion.value[i]
            for i in range(expansion.starts[place], expansion.starts[place + 1])
        }

    cdef double coefficient(self, Py_ssize_t place, Py_ssize_t block) noexcept:
        return self.scale * self.expansion.coefficients[place * self.expansion.stride + block]

    # -------------------------------------------------------------------------------------------------- rounds

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block, count = self.expansion.count
        cdef double norm
        cdef object supports = None
        cdef KernelFunction function = self.function
        row.reserve_scores(blocks)
        row.size = self.size
        row.reserve_evaluations(count + 1)
        if self.function is None:
            while supports != self.dicts:  # another thread may learn during the call of a user's kernel
                supports = list(self.dicts)
                row.reserve_evaluations(len(supports) + 1)
                self.call_user_kernel(self.features_of_row(row), supports, row.evaluations)
        else:
            # As long as no support has features: the kernel that this example would settle, because spaces keep what they
            # compute from these numbers.
            self.function = function.settled(row.known + row.fresh - self.reader.intercept)
            try:
                norm = self.function.norm(row.value, row.known)
                if row.fresh:
                    norm += self.function.norm(row.own_value + row.capacity, row.fresh)
                self.evaluate(row.index, row.value, row.known, row.fresh, norm, row.evaluations)
                row.evaluations[count] = self.function.of_itself(norm) if isfinite(norm) else INFINITY
            finally:
                self.function = function
        for block in range(blocks):
            row.scores[block] = self.scale * self.expansion.total(row.evaluations, block) if block < self.blocks else 0.0
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        cdef double margin = 0.0, square = 0.0
        self.row, self.self_kernel = row, row.evaluations[self.expansion.count]  # for the move that may follow
        for i in range(direction.length):
            margin += direction.terms[i].coefficient * row.scores[direction.terms[i].block]
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        seen.gain = square * self.self_kernel
        if direction.pull != 0.0:
            seen.gain += direction.pull * (2.0 * margin + direction.pull * self.size)
            margin += direction.pull * self.size
        seen.margin, seen.size = margin, self.size
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, block
        cdef double inner = 0.0, square = 0.0, rise = 0.0, kept
        self.removed = -1
        self.recompute = self.roundings >= 1024 and self.roundings >= self.expansion.count
        self.new_blocks = self.blocks
        for i in range(direction.length):
            self.new_blocks = max(self.new_blocks, direction.terms[i].block + 1)  # a new class may be among them
        self.new_coefficients = room_for(self.new_coefficients, &self.new_coefficient_room, self.new_blocks, False)
        memset(self.new_coefficients, 0, self.new_blocks * sizeof(double))
        # A loss, and a rise of the score, that are both within the rounding error of the margin add no support and remove
        # none. |w| is no measure of this error: one huge support, far from the example, would end all learning, and no budget
        # would remove it.
        for i in range(direction.length):
            rise += fabs(step.step) * direction.terms[i].coefficient ** 2 * self.self_kernel
        self.adding = rise > 0.0 and (
            step.step * step.step * self.self_kernel > 1e-28 * self.size  # larger than the rounding error of w, as nearly always
            or max(rise, hinge(seen)) > self.blur(direction)
        )
        if self.adding:
            self.plan_update(direction, seen, step)
        kept = step.scale + step.step * direction.pull
        self.size_before = self.recomputed_size() if self.recompute else self.size
        if self.removed >= 0:
            self.size_before = self.size_without_removed(self.size_before)
        for block in range(self.new_blocks):
            inner += self.new_coefficients[block] * self.row.scores[block]
            square += self.new_coefficients[block] * (self.new_coefficients[block] * self.self_kernel)
            if self.removed >= 0 and block < self.blocks:
                inner -= self.new_coefficients[block] * (
                    self.coefficient(self.removed, block) * self.row.evaluations[self.removed]
                )
        step.size = kept * kept * self.size_before + 2.0 * kept * inner + square
        return isfinite(step.size)

    cdef double blur(self, Direction direction) noexcept:
        """Return about the rounding error of the margin, which is a sum over the supports."""
        cdef Py_ssize_t i, place, block
        cdef double total = fabs(direction.pull) * self.size
        for i in range(direction.length):
            block = direction.terms[i].block
            for place in range(self.expansion.count if block < self.blocks else 0):
                total += fabs(
                    direction.terms[i].coefficient * self.coefficient(place, block) * self.row.evaluations[place]
                )
        return 1e-14 * total

    cdef int plan_update(self, Direction direction, Seen seen, Step step) except -1:
        """Find the coefficients of the new support and the support to remove. Change nothing that was learned."""
        cdef Py_ssize_t i
        for i in range(direction.length):
            self.new_coefficients[direction.terms[i].block] += step.step * direction.terms[i].coefficient
        if self.budget is not None and self.expansion.count >= self.budget.size:
            self.removed = self.choose()
        return 0

    cdef Py_ssize_t choose(self) except -2:
        cdef Py_ssize_t place, block
        self.support_kernels = room_for(self.support_kernels, &self.support_kernel_room, self.expansion.count, False)
        for place in range(self.expansion.count):
            self.support_kernels[place] = 0.0
            for block in range(self.blocks):
                self.support_kernels[place] += self.coefficient(place, block) ** 2 * self.expansion.self_kernels[place]
        self.next_generator = self.generator
        return self.budget.choose(self.support_kernels, self.expansion.count, &self.next_generator)

    cdef double size_without_removed(self, double size) except? -1.0:
        """Return |w|² without the support to remove."""
        cdef Py_ssize_t block
        cdef double coefficient
        self.evaluate_support(self.removed)
        for block in range(self.blocks):
            coefficient = self.coefficient(self.removed, block)
            size += coefficient * (
                coefficient * self.expansion.self_kernels[self.removed]
                - 2.0 * self.scale * self.expansion.total(self.support_kernels, block)
            )
        return max(size, 0.0)

    cdef double recomputed_size(self) except? -1.0:
        """Return |w|², from all pairs of supports."""
        cdef Py_ssize_t place, block
        cdef double size = 0.0
        for place in range(self.expansion.count):
            self.evaluate_support(place)
            for block in range(self.blocks):
                size += self.coefficient(place, block) * self.expansion.total(self.support_kernels, block)
        return max(size * self.scale, 0.0)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef double size = max(step.size, 0.0), kept = step.scale + step.step * direction.pull
        cdef double shorten = step.radius / sqrt(size) if size > step.radius * step.radius else 1.0
        cdef Py_ssize_t block
        if self.adding:
            self.settle(row)
            self.reader.add_features(row)
            self.expansion.reserve(self.expansion.count + 1, self.expansion.starts[self.expansion.count] + row.known)
        self.count_roundings(kept * kept * max(self.size, self.size_before), seen.gain * step.step * step.step, size)
        if self.removed >= 0:
            self.generator = self.next_generator
            self.expansion.remove(self.removed)
            if self.function is None:
                self.dicts.pop(self.removed)
        self.multiply(kept * shorten)
        if self.adding:
            self.append(row.index, row.value, row.known)
            for block in range(self.new_blocks):
                self.expansion.coefficients[(self.expansion.count - 1) * self.expansion.stride + block] = (
                    self.new_coefficients[block] * shorten / self.scale
                )
        self.size = size * shorten * shorten
        return 0

    cdef void count_roundings(self, double kept, double added, double size) noexcept:
        # As in `Linear.move`: `roundings` counts rounding errors in units of the error of the present size.
        self.roundings = 1 if self.recompute else self.roundings + 1
        if size > 0.0:
            self.roundings = <Py_ssize_t> ceil(min((kept * self.roundings + added) / size, 1e15))
        elif kept > 0.0:  # as in `Linear.move`
            self.roundings = <Py_ssize_t> 1e15

    cdef int settle(self, Row row) except -1:
        """Give the kernel the parameters that it takes from the first example to become a support."""
        if self.function is not None:
            self.function = self.function.settled(row.known + row.fresh - self.reader.intercept)
        return 0

    cdef int append(self, const int32_t* index, const double* value, Py_ssize_t length) except -1:
        """Add an example, whose features are all known, as the youngest support."""
        cdef Expansion expansion = self.expansion
        cdef Py_ssize_t place = expansion.count, start = expansion.starts[expansion.count]
        expansion.append(index, value, length)
        if self.function is None:
            self.dicts.append(self.features_of_support(place))
            expansion.norms[place], expansion.self_kernels[place] = 0.0, self.self_kernel
        else:
            expansion.norms[place] = self.function.norm(expansion.value + start, expansion.length(place))
            expansion.self_kernels[place] = self.function.of_itself(expansion.norms[place])
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
        """The learned features, in order. Only a linear kernel has weights for them."""
        if not isinstance(self.function, LinearKernel):
            raise ValueError(f"a learner with the kernel {self.kernel!r} has no weights by feature: see its `supports`")
        return self.reader.vocabulary.keys

    def weight(self, key, Py_ssize_t block):
        """Return the weight of a feature in a block; raise KeyError if the feature was never learned."""
        if key not in self.features:
            raise KeyError(key)
        return math.fsum([coefficients[block] * x.get(key, 0.0) for x, coefficients in self.supports])

    def __getstate__(self):
        return {
            "features": self.reader.features(),
            **self.expansion.arrays(self.blocks),
            "scale": self.scale,
            "size": self.size,
            "moves": self.roundings,
            "generator": self.generator,
            **({"gamma": (<RBF> self.function).gamma} if self.takes_gamma() else {}),
        }

    cdef bint takes_gamma(self) noexcept:
        """Return whether the first support decides the gamma of the kernel."""
        return isinstance(self.function, RBF) and (<RBF> self.kernel).gamma is None

    def __setstate__(self, state):
        cdef Py_ssize_t place, block, start = 0
        self.reader.learn_features(state["features"])
        if self.takes_gamma():
            self.function = RBF(state["gamma"], c0=(<RBF> self.kernel).c0)
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
                self.expansion.self_kernels[place] = self.kernel(self.dicts[place], self.dicts[place])
            start += length[place]
            for block in range(self.blocks):
                self.expansion.coefficients[place * self.expansion.stride + block] = coefficient[place, block]
        self.scale, self.size, self.roundings = state["scale"], state["size"], state["moves"]
        self.generator = state["generator"]
