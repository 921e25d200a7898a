"""Kernels: functions of two examples that are inner products in some space."""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t

from river_margins.core.kernels cimport dot
from river_margins.core.recipe cimport Recipe
from river_margins.spaces.expansion cimport Expansion
from river_margins.spaces.kernel_values cimport NEAR, Supports, gaussians, kernel_at, laplacians, products
from river_margins.core.checks import not_negative, positive, whole


cdef class KernelFunction(Recipe):
    """A kernel of the library: a function of two dicts of features.

    A kernel needs one number of each example, its `norm`, which is computed once and stored with a support.
    """

    def __call__(self, x, z):
        """Return the kernel of two dicts of features. A missing feature counts as 0."""
        names = list(x | z)
        cdef const double[::1] first = np.array([*(x.get(name, 0.0) for name in names), 0.0])
        cdef const double[::1] second = np.array([*(z.get(name, 0.0) for name in names), 0.0])
        cdef const int32_t[::1] index = np.arange(len(names) + 1, dtype=np.int32)
        cdef Py_ssize_t length = len(names)
        cdef Expansion expansion = Expansion()
        cdef Supports supports
        cdef double value
        expansion.reserve(1, length)
        expansion.append(&index[0], &second[0], length)
        expansion.norms[0] = self.norm(&second[0], length)
        supports = expansion.supports()
        self.evaluate(&first[0], self.norm(&first[0], length), np.count_nonzero(first), &supports, &value)
        return value

    cdef double norm(self, const double* value, Py_ssize_t length) noexcept:
        """Return |x|² or, in a subclass, another norm. The norm of an example is the sum over its features."""
        return dot(value, value, length)

    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept:
        """Fill `out` with the kernel of a dense example x, with `present` features that are not 0, and each support."""
        cdef Py_ssize_t i
        for i in range(supports.count):  # a class in Python cannot override this
            out[i] = 0.0

    cdef double of_itself(self, double norm) noexcept:
        """Return the kernel of an example with itself, from its norm."""
        return 1.0

    cdef KernelFunction settled(self, Py_ssize_t features):
        """Return the kernel with the parameters that it takes from the number of features of an example."""
        return self


cdef class LinearKernel(KernelFunction):
    """⟨x, z⟩: the same scores as in the space `Linear`, for a test or to get the supports.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.LinearKernel()({"a": 1.0, "b": 2.0}, {"b": 3.0})
    6.0
    """

    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept:
        products(x, supports, out)

    cdef double of_itself(self, double norm) noexcept:
        return norm


cdef class Polynomial(KernelFunction):
    """Polynomial(degree=2, *, gamma=1.0, c0=1.0)\n--\n
    (gamma·⟨x, z⟩ + c0)^degree: all products of up to `degree` features.

    Parameters
    ----------
    degree
        The largest number of factors of a product, a whole number >= 1; 2 by default.
    gamma
        The factor of ⟨x, z⟩, > 0; 1 by default.
    c0
        Weight of products of fewer features, >= 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.Polynomial(degree=2)({"a": 1.0, "b": 1.0}, {"a": 1.0})
    4.0
    """

    _parameter_names = ("degree", "gamma", "c0")

    def __init__(self, degree=2, *, gamma=1.0, c0=1.0):
        self.degree, self.gamma, self.c0 = whole("degree", degree, 1), positive("gamma", gamma), not_negative("c0", c0)

    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept:
        cdef Py_ssize_t i
        products(x, supports, out)
        for i in range(supports.count):
            out[i] = self.power(out[i])

    cdef double of_itself(self, double norm) noexcept:
        return self.power(norm)

    cdef double power(self, double product) noexcept:
        cdef double base = self.gamma * product + self.c0, result = base
        cdef int i
        for i in range(1, self.degree):
            result *= base
        return result


cdef class RBF(KernelFunction):
    """RBF(gamma=None, *, c0=0.0)\n--\n
    exp(-gamma·|x - z|²) + c0, the radial basis function: 1 for equal examples, near 0 for distant ones.

    Parameters
    ----------
    gamma
        The inverse of the squared distance at which the kernel is 1/e, > 0. None (default) is 1 over the number of
        features, which suits features of variance 1. A learner takes the number from the first example that it keeps as a
        support, zeros included, and holds on to it; a call takes it from both examples together.
    c0
        A constant for all pairs, >= 0; 0 by default. With a c0 above 0, a learner has an intercept.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.RBF(gamma=0.5)({"a": 1.0}, {"b": 1.0}), 6)
    0.367879
    """

    _parameter_names = ("gamma", "c0")

    def __init__(self, gamma=None, *, c0=0.0):
        self.gamma, self.rate = gamma, 1.0 if gamma is None else positive("gamma", gamma)
        self.c0 = not_negative("c0", c0)

    def __call__(self, x, z):
        if self.gamma is None:
            return self.settled(max(len(x | z), 1))(x, z)
        return KernelFunction.__call__(self, x, z)

    cdef KernelFunction settled(self, Py_ssize_t features):
        cdef RBF made
        if self.gamma is not None or not features:
            return self
        # Without `__init__`, which runs code of Python: another thread could learn in the middle of a score then.
        made = RBF.__new__(RBF)
        made.gamma = made.rate = 1.0 / features
        made.c0 = self.c0
        return made

    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept:
        cdef Py_ssize_t i
        products(x, supports, out)
        if gaussians(norm, supports, self.rate, self.c0, out):
            for i in range(supports.count):
                if not self.rate * (norm + supports.norms[i]) < NEAR:
                    out[i] = self.c0 + kernel_at(far_distance(x, norm, present, supports, i), self.rate)

    cdef double of_itself(self, double norm) noexcept:
        return 1.0 + self.c0


cdef class Laplace(KernelFunction):
    """Laplace(gamma=1.0)\n--\n
    exp(-gamma·Σ|x_i - z_i|): like `RBF`, but less sensitive to a large difference in one feature.

    Parameters
    ----------
    gamma
        The inverse of the distance at which the kernel is 1/e, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.Laplace(gamma=0.5)({"a": 1.0}, {"b": 1.0}), 6)
    0.367879
    """

    _parameter_names = ("gamma",)

    def __init__(self, gamma=1.0):
        self.gamma = positive("gamma", gamma)

    cdef double norm(self, const double* value, Py_ssize_t length) noexcept:
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(length):
            total += fabs(value[i])
        return total

    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept:
        laplacians(x, norm, supports, self.gamma, out)


cdef double far_distance(const double* x, double square, Py_ssize_t present, const Supports* supports, Py_ssize_t i) noexcept:
    """Return |x - z|² for a support z, summed over features; exact if z has all features of x."""
    cdef double distance = 0.0, common = 0.0, at
    cdef Py_ssize_t j, both = 0
    for j in range(supports.starts[i], supports.starts[i + 1]):
        at = x[supports.index[j]]
        distance += (at - supports.value[j]) * (at - supports.value[j])
        common += at * at
        both += at != 0.0
    return distance if both == present else distance + max(square - common, 0.0)
