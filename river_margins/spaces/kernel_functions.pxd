from libc.stdint cimport int32_t

from river_margins.core.recipe cimport Recipe


cdef class KernelFunction(Recipe):
    cdef double norm(self, const double* value, Py_ssize_t length) noexcept
    cdef double of(self, const double* x, double x_norm, Py_ssize_t x_length, const int32_t* index,
                   const double* value, Py_ssize_t length, double norm) noexcept
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
