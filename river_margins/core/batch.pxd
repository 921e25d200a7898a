from libc.stdint cimport int32_t
from libc.string cimport memcpy

from river_margins.core.kernels cimport find_dot_and_square
from river_margins.core.reader cimport Reader, Row


cdef class Batch:
    cdef readonly Py_ssize_t length
    cdef object names
    cdef const double[::1] values
    cdef const int32_t[::1] columns
    cdef const long long[::1] starts
    cdef int32_t[::1] index_of
    cdef Reader read_by  # the reader of these indices
    cdef Py_ssize_t width, unknown_columns
    cdef bint in_order
    cdef int32_t look_up(self, Reader reader, Py_ssize_t column) except -2
    cdef bint is_in_order(self, Py_ssize_t first) noexcept
    cdef bint all_known(self, int32_t* index, const int32_t* column, Py_ssize_t length) noexcept
    cdef bint is_full(self)
    cdef int fill_row(self, Reader reader, Row row, Py_ssize_t i) except -1


cdef inline bint read_at_once(Batch batch, Reader reader, Row row, Py_ssize_t i, const double* weights, double* score) except -1:
    """Fill a row of a sparse matrix and find its product with the weights, in one pass; return False if a column is unknown."""
    cdef Py_ssize_t start = batch.starts[i], length = batch.starts[i + 1] - start
    cdef const int32_t* column = &batch.columns[0] + start
    cdef const double* value = &batch.values[0] + start
    if length >= row.capacity:
        row.reserve(length + 1)
    if reader.intercept:
        row.own_index[0], row.own_value[0] = batch.width, reader.constant
        memcpy(row.own_index + 1, column, length * sizeof(int32_t))
        memcpy(row.own_value + 1, value, length * sizeof(double))
        column, value, length = row.own_index, row.own_value, length + 1
    row.index, row.value, row.known = row.own_index, value, length
    return find_dot_and_square(weights, &batch.index_of[0], column, row.own_index, value, length, score, &row.norm2)
