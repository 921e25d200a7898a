from libc.stdint cimport int32_t


cdef extern from "kernels.h":
    double dot(const double* a, const double* b, Py_ssize_t length) noexcept nogil
    double dot_at(const double* a, const int32_t* index, const double* b, Py_ssize_t length) noexcept nogil
    void add_multiple(double* y, const double* x, double factor, Py_ssize_t length) noexcept nogil
    double variance_along(double* along, const double* s, const double* b, Py_ssize_t length) noexcept nogil
    double variance_along_at(double* along, const double* s, const int32_t* index, const double* b,
                             Py_ssize_t length) noexcept nogil
    double dot_surer(double* left, const double* a, const double* x, double k, double most, const double* b,
                     Py_ssize_t length) noexcept nogil
    double dot_surer_at(double* left, const double* a, const int32_t* index, const double* x, double k, double most,
                        const double* b, Py_ssize_t length) noexcept nogil
    void multiply(double* y, const double* x, Py_ssize_t length) noexcept nogil
    void multiply_at(double* y, const int32_t* index, const double* x, Py_ssize_t length) noexcept nogil
    void shrink_diagonal(double* s, const double* x, double unit, double k, Py_ssize_t length) noexcept nogil
    void shrink_diagonal_at(double* s, const int32_t* index, const double* x, double unit, double k,
                            Py_ssize_t length) noexcept nogil
