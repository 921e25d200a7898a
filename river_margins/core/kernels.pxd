from libc.stdint cimport int32_t


cdef extern from "river_margins/core/kernels.h":
    double dot(const double* a, const double* b, Py_ssize_t length) noexcept nogil
    double dot_at(const double* a, const int32_t* index, const double* b, Py_ssize_t length) noexcept nogil
    bint find_dot_and_square(const double* a, const int32_t* index_of, const int32_t* column, int32_t* index, const double* b,
                             Py_ssize_t length, double* sum, double* square) noexcept nogil
    void add_multiple(double* y, const double* x, double factor, Py_ssize_t length) noexcept nogil
    void add_multiple_at(double* y, const int32_t* index, const double* x, double factor, Py_ssize_t length) noexcept nogil
    double variance_along(double* along, double* terms, const double* s, const double* x,
                          Py_ssize_t length) noexcept nogil
    double variance_along_at(double* along, double* terms, const double* s, const int32_t* index, const double* x,
                             Py_ssize_t length) noexcept nogil
    double discounted_variance_along(double* along, double* terms, const double* q, const double* x, double a, double factor,
                                     Py_ssize_t length) noexcept nogil
    double discounted_variance_along_at(double* along, double* terms, const double* q, const int32_t* index, const double* x,
                                        double a, double factor, Py_ssize_t length) noexcept nogil
    void move_and_add(double* a, double* q, const int32_t* index, const double* towards, const double* x, double step,
                      double growth, double k, double most, Py_ssize_t length) noexcept nogil
    double lookahead_dot(const double* a, const double* along, const double* terms, double r, double all,
                     Py_ssize_t length) noexcept nogil
    double lookahead_dot_at(const double* a, const int32_t* index, const double* along, const double* terms, double r,
                        double all, Py_ssize_t length) noexcept nogil
    void move_and_shrink(double* a, double* s, const double* towards, const double* terms, double step, double k,
                         double most, Py_ssize_t length) noexcept nogil
    void move_and_shrink_at(double* a, double* s, const int32_t* index, const double* towards, const double* terms,
                            double step, double k, double most, Py_ssize_t length) noexcept nogil
    ctypedef struct Moments:
        double count, mean, variance, deviation

    double deviation_of(double variance) noexcept nogil
    Moments with_value(Moments moments, double value, double kept) noexcept nogil
    double scaled(double value, const Moments* moments, bint divide, double most) noexcept nogil
    void scale_and_move(double* value, double* later, Moments* moved, const Moments* moments, const int32_t* index,
                        double kept, bint divide, double most, Py_ssize_t length) noexcept nogil
