cdef extern from "river_margins/spaces/sparse_steps.h":
    ctypedef struct Coordinate:
        double pull, settled, squares, rate

    double soft_threshold(const Coordinate* at, double threshold) noexcept nogil
    bint is_finite(const Coordinate* at) noexcept nogil
    double dual_rate(double root, double lr, double delta) noexcept nogil
    double proximal_rate(double root, double alpha, double beta, double l2) noexcept nogil
    bint average_duals(Coordinate* at, const double* value, double along, Py_ssize_t length, double lr,
                       double delta) noexcept nogil
    bint follow_leader(Coordinate* at, const double* value, double along, Py_ssize_t length, double threshold, double alpha,
                       double beta, double l2) noexcept nogil
