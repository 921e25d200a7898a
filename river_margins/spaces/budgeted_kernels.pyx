"""Kernel spaces that find the step and the support to remove together, which no rule and no budget could find alone."""

import numpy as np

from libc.math cimport fabs, isfinite, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from river_margins.core.reader cimport Row
from river_margins.rules.base cimport Seen, Step, hinge
from river_margins.spaces.base cimport Direction
from river_margins.spaces.budgets cimport smallest
from river_margins.spaces.expansion cimport room_for
from river_margins.spaces.kernel cimport Kernel

from river_margins.core.checks import not_negative


cdef class ForgetronKernel(Kernel):
    """A kernel space that shrinks all coefficients before it removes the oldest support (Dekel et al. 2008).

    For steps of 1 on mistakes. `damage` is the Q of the paper, the cost of all removals: at most 15/32 of the mistakes.
    """

    cdef int plan_update(self, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t block
        cdef double length = 0.0, margin = 0.0, coefficient, score, shrink
        Kernel.plan_update(self, direction, seen, step)
        self.next_damage = self.damage
        if self.removed < 0:
            return 0
        self.evaluate_support(self.removed)
        for block in range(self.blocks):
            coefficient = self.coefficient(self.removed, block)
            if coefficient != 0.0:
                score = self.scale * self.expansion.total(self.support_kernels, block)
                score += self.new_coefficients[block] * self.row.evaluations[self.removed]
                length = fabs(coefficient)
                margin += score if coefficient > 0.0 else -score
        shrink = largest_shrinking(length, margin, self.damage - 15.0 / 32.0 * (seen.k + 1))
        self.next_damage += (length * shrink) ** 2 + 2.0 * length * shrink - 2.0 * length * shrink * shrink * margin
        for block in range(self.new_blocks):
            self.new_coefficients[block] *= shrink
        step.step *= shrink
        step.scale = shrink
        return 0

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        if self.adding:
            self.damage = self.next_damage
        return Kernel.move(self, row, direction, seen, step)

    def __getstate__(self):
        return {**Kernel.__getstate__(self), "damage": self.damage}

    def __setstate__(self, state):
        Kernel.__setstate__(self, state)
        if not isfinite(state["damage"]):
            raise ValueError(f"damage must be finite, not {state['damage']}")
        self.damage = state["damage"]


cdef double largest_shrinking(double length, double margin, double spent) noexcept:
    """Return the largest p in (0, 1] with (sp)² + 2sp - 2sp²·margin + spent <= 0, where s is the length and spent < 0."""
    cdef double a = length * length - 2.0 * length * margin, b = 2.0 * length
    if a + b + spent <= 0.0:
        return 1.0
    # The form of this root that is exact also where a is nearly 0.
    return -2.0 * spent / (b + sqrt(max(b * b - 4.0 * a * spent, 0.0)))


cdef class SimpleRemovalKernel(Kernel):
    """A kernel space that projects the removed support onto the new one (Wang & Vucetic 2010, BPA-S).

    The part of c_r φ(v_r) along φ(x) stays. So the score of x is unchanged, and the step of PA-I remains right. The support
    with the least loss is removed: c_r²·(k(v_r, v_r) - k(v_r, x)²/k(x, x)).
    """

    cdef int plan_update(self, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t place, block
        cdef double kernel, square, left_over
        Kernel.plan_update(self, direction, seen, step)
        if self.removed < 0:
            return 0
        for place in range(self.expansion.count):
            kernel, square = self.row.evaluations[place], 0.0
            for block in range(self.blocks):
                square += self.coefficient(place, block) ** 2
            left_over = max(self.expansion.self_kernels[place] - kernel * kernel / self.self_kernel, 0.0)
            self.support_kernels[place] = square * left_over
        self.removed = smallest(self.support_kernels, self.expansion.count)
        for block in range(self.blocks):
            self.new_coefficients[block] += (
                self.coefficient(self.removed, block) * self.row.evaluations[self.removed] / self.self_kernel
            )
        return 0


cdef class ProjectionKernel(Kernel):
    """ProjectionKernel(kernel, eta)\n--\n
    A kernel space that projects an example onto its supports if the distance is small (Orabona et al. 2009).

    For steps of 1. With the Gram matrix LL' of its supports, the space keeps L⁻¹, to which each support adds a row: the
    rounding errors of the inverse of LL' would grow with the square of those of L⁻¹. Memory, and the time of an update, grow
    with the square of the number of supports.

    Parameters
    ----------
    kernel
        As in `Kernel`.
    eta
        The largest length of what a projection may leave out, >= 0.
    """

    _parameter_names = ("kernel", "eta")

    def __init__(self, kernel, eta):
        Kernel.__init__(self, kernel)
        self.eta = not_negative("eta", eta)

    def __dealloc__(self):
        free(self.inverse)
        free(self.projection)

    def __sizeof__(self):
        return Kernel.__sizeof__(self) + (self.stride * self.stride + self.projection_room) * sizeof(double)

    cdef int plan_update(self, Direction direction, Seen seen, Step step) except -1:
        cdef double square = 0.0, rest, within, loss = hinge(seen), tau
        cdef Py_ssize_t i
        Kernel.plan_update(self, direction, seen, step)
        self.project()
        for i in range(direction.length):
            square += direction.terms[i].coefficient * direction.terms[i].coefficient
        rest, within = sqrt(square * self.distance2), square * (self.self_kernel - self.distance2)
        self.projects = seen.margin > 0.0 or rest <= self.eta or self.distance2 < 1e-10 * self.self_kernel
        if seen.margin > 0.0:
            tau = 0.0
            if within > 0.0 and loss * self.eta > rest:
                tau = min(loss / within, 2.0 * (loss - rest / self.eta) / within, 1.0)
            for i in range(self.new_blocks):
                self.new_coefficients[i] *= tau
            step.step = tau
        if self.projects:
            self.self_kernel -= self.distance2  # the length of the projection, which is what the move adds to w
        return 0

    cdef int project(self) except -1:
        """Find the combination of supports that is nearest to the example, and the square of its distance."""
        cdef Py_ssize_t i, j, count = self.expansion.count
        cdef double total
        self.projection = room_for(self.projection, &self.projection_room, count + 1, False)
        self.distance2 = self.self_kernel
        for i in range(count):
            total = self.projection[i] = 0.0
            for j in range(i + 1):
                total += self.inverse[i * self.stride + j] * self.row.evaluations[j]
            for j in range(i + 1):
                self.projection[j] += total * self.inverse[i * self.stride + j]
            self.distance2 -= total * total
        self.distance2 = max(self.distance2, 0.0)
        return 0

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        cdef Py_ssize_t i, count = self.expansion.count
        if not self.adding:
            return Kernel.move(self, row, direction, seen, step)
        if self.projects:
            self.count_roundings(self.size, step.step * step.step * seen.gain, max(step.size, 0.0))
            self.add_projection()
            self.size = max(step.size, 0.0)
            return 0
        self.reserve_inverse(count + 1)
        Kernel.move(self, row, direction, seen, step)
        self.projection[count] = -1.0
        for i in range(count + 1):
            self.inverse[i * self.stride + count] = 0.0
            self.inverse[count * self.stride + i] = -self.projection[i] / sqrt(self.distance2)
        return 0

    cdef void add_projection(self) noexcept:
        """Add the step to the supports, in the proportions of the projection."""
        cdef Py_ssize_t place, block
        for place in range(self.expansion.count):
            for block in range(self.new_blocks):
                self.expansion.coefficients[place * self.expansion.stride + block] += (
                    self.new_coefficients[block] * self.projection[place] / self.scale
                )

    cdef int reserve_inverse(self, Py_ssize_t count) except -1:
        cdef Py_ssize_t stride = self.stride, i
        if count <= stride:
            return 0
        stride = max(2 * stride, count, 4)
        cdef double* inverse = <double*> malloc(stride * stride * sizeof(double))
        if inverse == NULL:
            raise MemoryError()
        for i in range(min(self.expansion.count, self.stride)):
            memcpy(inverse + i * stride, self.inverse + i * self.stride, self.expansion.count * sizeof(double))
        free(self.inverse)
        self.inverse, self.stride = inverse, stride
        return 0

    def __getstate__(self):
        cdef Py_ssize_t i, j, count = self.expansion.count
        inverse = [self.inverse[i * self.stride + j] for i in range(count) for j in range(count)]
        return {**Kernel.__getstate__(self), "inverse_factor": np.array(inverse, dtype=np.float64).reshape(count, count)}

    def __setstate__(self, state):
        cdef Py_ssize_t i, j
        Kernel.__setstate__(self, state)
        if "inverse_factor" in state:
            inverse = np.ascontiguousarray(state["inverse_factor"], dtype=np.float64)
        else:  # of a snapshot with the inverse of LL' itself, which may have no root because of rounding
            inverse = np.empty((self.expansion.count, self.expansion.count))
            for i in range(self.expansion.count):
                self.evaluate_support(i)
                for j in range(self.expansion.count):
                    inverse[i, j] = self.support_kernels[j]
            inverse = np.ascontiguousarray(np.tril(np.linalg.inv(np.linalg.cholesky(inverse))))
        if inverse.shape != (self.expansion.count, self.expansion.count) or not np.isfinite(inverse).all():
            raise ValueError(f"{self.expansion.count} supports, but an inverse of shape {inverse.shape}, or not finite")
        cdef const double[:, ::1] view = inverse
        self.reserve_inverse(self.expansion.count + 1)
        for i in range(self.expansion.count):
            for j in range(self.expansion.count):
                self.inverse[i * self.stride + j] = view[i, j]
