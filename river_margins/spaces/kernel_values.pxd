from libc.stdint cimport int32_t


cdef extern from "river_margins/spaces/kernel_values.h":
    ctypedef struct Supports:
        Py_ssize_t count
        const Py_ssize_t* starts
        const int32_t* index
        const bint* consecutive
        const double* value
        const double* norms

    const double NEAR
    void products(const double* x, const Supports* supports, double* out) noexcept nogil
    bint gaussians(double square, const Supports* supports, double rate, double c0, double* out) noexcept nogil
    void laplacians(const double* x, double norm, const Supports* supports, double rate, double* out) noexcept nogil
    double kernel_at(double distance, double rate) noexcept nogil
