"""Kernels: symmetric functions of two examples that are inner products in some space."""

import numpy as np

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t

from river_margins.core.kernels cimport dot, dot_at
from river_margins.core.recipe cimport Recipe
from river_margins.core.checks import not_negative, positive, whole


cdef class KernelFunction(Recipe):
    """A kernel of the library: called with two dicts of features, it says what they are to each other.

    Each keeps one number of every example, its `measure`, which saves looking at all of it again.
    """

    def __reduce__(self):
        return _rebuild, (type(self), self.parameters)

    def __call__(self, x, z):
        """The kernel of two dicts of features; what is missing in one counts as 0."""
        names = list(x | z)
        cdef const double[::1] first = np.array([*(x.get(name, 0.0) for name in names), 0.0])
        cdef const double[::1] second = np.array([*(z.get(name, 0.0) for name in names), 0.0])
        cdef const int32_t[::1] index = np.arange(len(names) + 1, dtype=np.int32)
        cdef Py_ssize_t length = len(names)
        return self.of(
            &first[0], self.measure(&first[0], length), np.count_nonzero(first), &index[0], &second[0], length,
            self.measure(&second[0], length),
        )

    cdef double measure(self, const double* value, Py_ssize_t length) noexcept:
        """|x|² unless a kernel needs another length; that of two halves of an example is the sum of theirs."""
        return dot(value, value, length)

    cdef double of(self, const double* x, double x_measure, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double measure) noexcept:
        """The kernel of x, dense, with this measure and so many features that are not 0, and a sparse example.

        Where `index` is NULL the indices are 0, 1, 2 ...
        """
        return 0.0

    cdef double of_itself(self, double measure) noexcept:
        """The kernel of an example of this measure with itself."""
        return 1.0


cdef class LinearKernel(KernelFunction):
    """⟨x, z⟩: the scores of the linear space, at the cost of keeping examples.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.LinearKernel()({"a": 1.0, "b": 2.0}, {"b": 3.0})
    6.0
    """

    cdef double of(self, const double* x, double x_measure, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double measure) noexcept:
        return product(x, index, value, length)

    cdef double of_itself(self, double measure) noexcept:
        return measure


cdef class Polynomial(KernelFunction):
    """(gamma·⟨x, z⟩ + c0)^degree: all products of up to `degree` features.

    Parameters
    ----------
    degree
        A whole number of at least 1; 2 by default.
    gamma
        > 0; 1 by default.
    c0
        Weight of the shorter products, >= 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> rm.Polynomial(degree=2)({"a": 1.0, "b": 1.0}, {"a": 1.0})
    4.0
    """

    _parameter_names = ("degree", "gamma", "c0")

    def __init__(self, degree=2, *, gamma=1.0, c0=1.0):
        self.degree, self.gamma, self.c0 = whole("degree", degree, 1), positive("gamma", gamma), not_negative("c0", c0)

    cdef double of(self, const double* x, double x_measure, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double measure) noexcept:
        return self.power(product(x, index, value, length))

    cdef double of_itself(self, double measure) noexcept:
        return self.power(measure)

    cdef double power(self, double product) noexcept:
        cdef double base = self.gamma * product + self.c0, result = base
        cdef int i
        for i in range(1, self.degree):
            result *= base
        return result


cdef class RBF(KernelFunction):
    """exp(-gamma·|x - z|²), the radial basis function: 1 for equal examples, and 0 for those far apart.

    Parameters
    ----------
    gamma
        One over the squared distance that still counts as near, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.RBF(gamma=0.5)({"a": 1.0}, {"b": 1.0}), 6)
    0.367879
    """

    _parameter_names = ("gamma",)

    def __init__(self, gamma=1.0):
        self.gamma = positive("gamma", gamma)

    cdef double of(self, const double* x, double x_measure, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double measure) noexcept:
        cdef double distance = x_measure + measure
        # What cancels in this difference is lost: of examples far from the origin it would be the whole distance.
        if self.gamma * distance < 1e3:
            distance -= 2.0 * product(x, index, value, length)
        else:
            distance = far_distance(x, x_measure, x_length, index, value, length)
        return exp(-self.gamma * distance) if distance > 0.0 else (1.0 if distance <= 0.0 else distance)


cdef class Laplace(KernelFunction):
    """exp(-gamma·Σ|x_i - z_i|): like `RBF`, with a peak instead of a dome, and less moved by a single far feature.

    Parameters
    ----------
    gamma
        One over the distance that still counts as near, > 0; 1 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> round(rm.Laplace(gamma=0.5)({"a": 1.0}, {"b": 1.0}), 6)
    0.367879
    """

    _parameter_names = ("gamma",)

    def __init__(self, gamma=1.0):
        self.gamma = positive("gamma", gamma)

    cdef double measure(self, const double* value, Py_ssize_t length) noexcept:
        cdef double total = 0.0
        cdef Py_ssize_t i
        for i in range(length):
            total += fabs(value[i])
        return total

    cdef double of(self, const double* x, double x_measure, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double measure) noexcept:
        cdef double distance = x_measure, at
        cdef Py_ssize_t i
        for i in range(length):
            at = x[i] if index == NULL else x[index[i]]
            distance += fabs(at - value[i]) - fabs(at)
        return exp(-self.gamma * distance) if distance > 0.0 else (1.0 if distance <= 0.0 else distance)


cdef inline double product(const double* x, const int32_t* index, const double* value, Py_ssize_t length) noexcept:
    return dot(x, value, length) if index == NULL else dot_at(x, index, value, length)


cdef double far_distance(const double* x, double x_square, Py_ssize_t x_length, const int32_t* index,
                         const double* value, Py_ssize_t length) noexcept:
    """|x - z|² feature by feature; exact where z has all the features of x."""
    cdef double distance = 0.0, common = 0.0, at
    cdef Py_ssize_t i, both = 0
    for i in range(length):
        at = x[i] if index == NULL else x[index[i]]
        distance += (at - value[i]) * (at - value[i])
        common += at * at
        both += at != 0.0
    return distance if both == x_length else distance + max(x_square - common, 0.0)


def _rebuild(kind, parameters):
    return kind(**parameters)
