"""Weights as a sum over examples, with a covariance."""

import numpy as np

from libc.math cimport INFINITY, NAN, isfinite, sqrt
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from river_margins.core.kernels cimport dot
from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.expansion cimport room_for
from river_margins.spaces.kernel cimport Kernel
from river_margins.core.checks import positive, whole


cdef class SecondOrderKernel(Kernel):
    """SecondOrderKernel(kernel=None, a=1.0, *, max_supports=5000)\n--\n
    The space `Full` with a kernel, for rules that look ahead and shrink Σ with each step.

    Σ⁻¹ is I/a plus s·φφᵀ for each support, where s is its shrink. K has the kernels of all pairs of supports, and the diagonal
    matrix D has 1/(a·s). LLᵀ = K + D gets a new row with each support; the other rows do not change. With k, the kernels of x
    and the supports, and z = L⁻¹k, the variance of x is a·(k(x, x) - |z|²). Its score is ⟨z, u⟩, and u gets a new number with
    each support. Each block has its own L and u.

    Parameters
    ----------
    kernel
        As in `Kernel`.
    a
        The variance of a weight before its first update, > 0; 1 by default.
    max_supports
        The largest number of supports, >= 1; 5000 (200 MB for two classes) by default. A move beyond it raises a ValueError
        and changes nothing.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.SecondOrderPerceptronRule(), rm.SecondOrderKernel(rm.LinearKernel()))
    >>> model.learn_one({"a": 1.0}, True)
    >>> round(model.score_one({"a": 1.0}), 3)
    0.333
    """

    _parameter_names = ("kernel", "a", "max_supports")
    offers = frozenset({"look-ahead score"})

    def __init__(self, kernel=None, a=1.0, *, max_supports=5000):
        Kernel.__init__(self, kernel)
        self.a, self.max_supports = positive("a", a), whole("max_supports", max_supports, 1)

    def __dealloc__(self):
        free(self.factors)

    def __sizeof__(self):
        return Kernel.__sizeof__(self) + self.block_room * self.stride * self.stride * sizeof(double)

    cdef int bind_rule(self, Rule rule) except -1:
        self.rule = rule
        return 0

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        cdef bint shrinks = step.shrink > 0.0 or step.step == step.shrink == 0.0
        if step.scale != 1.0 or step.radius != INFINITY or step.inflate != 1.0 or not shrinks:
            raise ValueError(
                f"`{rule!r}` answers {step!r}, but in `{self!r}` scale and inflate stay 1, radius infinite, and a step needs a shrink above 0"
            )
        return 0

    cdef int add_block(self) except -1:
        Kernel.add_block(self)
        return self.reserve_factors(self.expansion.count)

    # -------------------------------------------------------------------------------------------------- rounds

    cdef double* solved(self, Row row, Py_ssize_t block) noexcept:
        """Return the place in `row.evaluations` of the variance of the row in a block, with z behind it.

        The kernels with all supports, and the kernel of the row with itself, come before all blocks.
        """
        return row.evaluations + (1 + block) * (self.expansion.count + 1)

    cdef double solve(self, Row row, Py_ssize_t block) noexcept:
        """Return ⟨z, u⟩; leave z and the variance in `solved`."""
        cdef Py_ssize_t i, count = self.expansion.count
        cdef double* z = self.solved(row, block) + 1
        cdef double left = row.evaluations[count], score = 0.0
        cdef const double* factor
        for i in range(count):
            z[i] = 0.0
            if block < self.blocks:
                factor = self.factors + (block * self.stride + i) * self.stride
                z[i] = (row.evaluations[i] - dot(factor, z, i)) * factor[i]
                left -= z[i] * z[i]
                score += z[i] * self.expansion.coefficients[i * self.expansion.stride + block]
        self.solved(row, block)[0] = self.a * max(left, 0.0)
        return score

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        cdef Py_ssize_t block
        cdef double variance, score
        Kernel.score(self, row, blocks)
        row.reserve_evaluations((1 + blocks) * (self.expansion.count + 1))
        for block in range(blocks):
            score = self.solve(row, block)
            variance = self.solved(row, block)[0]
            row.scores[block] = score / (1.0 + variance / self.rule.lookahead_r(variance))
        return 0

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        cdef Py_ssize_t i
        Kernel.measure(self, row, direction, seen)
        seen.gain, seen.size = 0.0, NAN
        for i in range(direction.length):
            seen.gain += direction.terms[i].coefficient ** 2 * self.solved(row, direction.terms[i].block)[0]
        return 0

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        # `new_coefficients` gets, for each term, the reciprocal of the new diagonal entry of L, and the new entry of u.
        cdef Py_ssize_t i, count = self.expansion.count
        cdef double coefficient, variance, shrink, score
        self.adding = seen.gain > 0.0
        if not self.adding:
            return True
        if count >= self.max_supports:
            raise ValueError(
                f"with this example there are {count + 1} supports, more than `max_supports` = {self.max_supports}: use a "
                "kernel learner with a budget, such as `BPAClassifier`, or raise `max_supports`"
            )
        self.new_coefficients = room_for(self.new_coefficients, &self.new_coefficient_room, 2 * direction.length, False)
        for i in range(direction.length):
            coefficient = direction.terms[i].coefficient
            variance, shrink = self.solved(row, direction.terms[i].block)[0], step.shrink * coefficient * coefficient
            score = row.scores[direction.terms[i].block] * (1.0 + variance / self.rule.lookahead_r(variance))
            self.new_coefficients[2 * i] = sqrt(self.a * shrink / (1.0 + shrink * variance))
            self.new_coefficients[2 * i + 1] = (step.step * coefficient / shrink - score) * self.new_coefficients[2 * i]
            if not isfinite(self.new_coefficients[2 * i + 1] + row.evaluations[count]):
                return False
        return True

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, block, count = self.expansion.count
        cdef double* factor
        if not self.adding:
            return 0  # no variance is left along x
        self.settle(row)
        self.reader.add_features(row)
        self.reserve_factors(count + 1)
        self.expansion.reserve(count + 1, self.expansion.starts[count] + row.known)
        for i in range(direction.length):
            block = direction.terms[i].block
            factor = self.factors + (block * self.stride + count) * self.stride
            memcpy(factor, self.solved(row, block) + 1, count * sizeof(double))
            factor[count] = self.new_coefficients[2 * i]
        self.append(row.index, row.value, row.known)
        for i in range(direction.length):
            block = direction.terms[i].block
            self.expansion.coefficients[count * self.expansion.stride + block] = self.new_coefficients[2 * i + 1]
        return 0

    # ------------------------------------------------------------------------------------------ memory and state

    cdef int reserve_factors(self, Py_ssize_t count) except -1:
        """Make room for `count` rows of each L. New numbers are 0, as is 1/l for a support that has no part in a block."""
        cdef Py_ssize_t stride = self.stride, block_room = max(self.block_room, self.blocks), block, i
        if count <= stride and block_room == self.block_room:
            return 0
        if count > stride:
            stride = max(min(stride + stride // 4, self.max_supports), count, 4)
        cdef double* factors = <double*> calloc(block_room * stride * stride, sizeof(double))
        if factors == NULL:
            raise MemoryError()
        for block in range(self.block_room):
            for i in range(min(self.expansion.count, self.stride)):
                memcpy(
                    factors + (block * stride + i) * stride, self.factors + (block * self.stride + i) * self.stride,
                    (i + 1) * sizeof(double),
                )
        free(self.factors)
        self.factors, self.stride, self.block_room = factors, stride, block_room
        return 0

    cdef object factor_arrays(self):
        cdef Py_ssize_t block, i, j, count = self.expansion.count
        factors = np.zeros((self.blocks, count, count))
        cdef double[:, :, ::1] view = factors
        for block in range(self.blocks):
            for i in range(count):
                for j in range(i + 1):
                    view[block, i, j] = self.factors[(block * self.stride + i) * self.stride + j]
        return factors

    @property
    def supports(self):
        """The supports, the oldest first: pairs of an example and its coefficients in w, one for each block."""
        cdef Py_ssize_t i, count = self.expansion.count
        factors, coefficients = self.factor_arrays(), np.zeros((count, self.blocks))
        left = self.expansion.arrays(self.blocks)["coefficients"]
        for i in range(count - 1, -1, -1):
            coefficients[i] = left[i] * factors[:, i, i]
            left -= factors[:, i, :].T * coefficients[i]
        return [(self.features_of_support(i), coefficients[i].tolist()) for i in range(count)]

    def __getstate__(self):
        state = Kernel.__getstate__(self)
        return {"factors": self.factor_arrays(), **{name: state[name] for name in state if name not in UNUSED}}

    def __setstate__(self, state):
        cdef Py_ssize_t block, i, j
        factors = np.ascontiguousarray(state["factors"], dtype=np.float64)
        Kernel.__setstate__(self, UNUSED | state)
        if factors.shape != (self.blocks, self.expansion.count, self.expansion.count):
            raise ValueError(f"{self.blocks} blocks and {self.expansion.count} supports, but factors of shape {factors.shape}")
        if not (np.isfinite(factors).all() and (np.diagonal(factors, axis1=1, axis2=2) >= 0.0).all()):
            raise ValueError("factors must be finite, and at least 0 on their diagonals")
        if self.expansion.count > self.max_supports:
            raise ValueError(f"{self.expansion.count} supports are more than {self!r} allows")
        cdef const double[:, :, ::1] view = factors
        self.reserve_factors(self.expansion.count)
        for block in range(self.blocks):
            for i in range(self.expansion.count):
                for j in range(i + 1):
                    self.factors[(block * self.stride + i) * self.stride + j] = view[block, i, j]


# The part of a `Kernel`'s state that this space does not use.
cdef dict UNUSED = {"scale": 1.0, "size": 0.0, "moves": 0, "generator": 0}
