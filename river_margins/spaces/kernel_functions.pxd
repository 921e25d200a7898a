from river_margins.core.recipe cimport Recipe
from river_margins.spaces.kernel_values cimport Supports


cdef class KernelFunction(Recipe):
    cdef double norm(self, const double* value, Py_ssize_t length) noexcept
    cdef void evaluate(self, const double* x, double norm, Py_ssize_t present, const Supports* supports, double* out) noexcept
    cdef double of_itself(self, double norm) noexcept
    cdef KernelFunction settled(self, Py_ssize_t features)


cdef class LinearKernel(KernelFunction):
    pass


cdef class Polynomial(KernelFunction):
    cdef readonly int degree
    cdef readonly double gamma, c0
    cdef double power(self, double product) noexcept


cdef class RBF(KernelFunction):
    cdef readonly object gamma
    cdef readonly double c0
    cdef double rate


cdef class Laplace(KernelFunction):
    cdef readonly double gamma
