from libc.stdint cimport int32_t


cdef extern from "kernels.h":
    double dot(const double* a, const double* b, Py_ssize_t length) noexcept nogil
    double dot_at(const double* a, const int32_t* index, const double* b, Py_ssize_t length) noexcept nogil
    void add_multiple(double* y, const double* x, double factor, Py_ssize_t length) noexcept nogil
