"""Rows of data frames and sparse matrices: all values are checked at once, then each row is read like a dict."""

import numpy as np

from libc.math cimport NAN, isfinite
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from river_margins.core.kernels cimport dot
from river_margins.core.reader cimport Reader, Row, as_float

cdef class Batch:
    """Rows with named columns. If `columns` is None, each row has all columns.

    `index_of` has the reader's index of each column, or -1, and at its end that of the constant feature. `unknown_columns` is
    the number of columns with -1, and `width` the number of all.
    """

    def __init__(self, names, values, columns, starts):
        self.names = names
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.columns = None if columns is None else np.ascontiguousarray(columns, dtype=np.int32)
        self.starts = np.ascontiguousarray(starts, dtype=np.int64)
        self.width = len(names)
        self.index_of = np.full(self.width + 1, -1, dtype=np.int32)
        self.index_of[self.width] = 0
        self.length = len(starts) - 1
        self.unknown_columns = len(names)

    cdef int32_t look_up(self, Reader reader, Py_ssize_t column) except -2:
        cdef int32_t index = reader.vocabulary.find(self.names[column])
        self.index_of[column] = index
        self.unknown_columns -= index >= 0
        if self.unknown_columns == 0:
            self.in_order = self.is_in_order(reader.intercept)
        return index

    cdef bint is_in_order(self, Py_ssize_t first) noexcept:
        """Return whether the reader has the columns side by side, from index `first` on."""
        cdef Py_ssize_t column
        for column in range(self.width):
            if self.index_of[column] != first + column:
                return False
        return True

    cdef bint all_known(self, int32_t* index, const int32_t* column, Py_ssize_t length) noexcept:
        """Return whether all columns of a row are known, and fill its indices. `column` is NULL for a row with all columns."""
        cdef const int32_t* index_of = &self.index_of[0]
        cdef int32_t found
        cdef Py_ssize_t position
        if column == NULL:
            return self.unknown_columns == 0
        for position in range(length):
            found = index_of[column[position]]
            index[position] = found
            if found < 0:
                return False
        return True

    def record(self, Py_ssize_t i):
        """Return row i as a dict."""
        cdef Py_ssize_t start = self.starts[i], position
        cdef bint complete = self.columns is None or self.starts[i + 1] - start == self.width
        return {
            self.names[position - start if complete else self.columns[position]]: self.values[position]
            for position in range(start, self.starts[i + 1])
        }

    cdef int fill_row(self, Reader reader, Row row, Py_ssize_t i) except -1:
        cdef Py_ssize_t start = self.starts[i], length = self.starts[i + 1] - start, known, position, place
        cdef bint complete = self.columns is None or length == self.width
        cdef const double* value = &self.values[start] if length else NULL
        cdef const int32_t* column = NULL
        cdef const int32_t* index_of = &self.index_of[0]
        cdef int32_t index
        if reader is not self.read_by:
            self.read_by, self.unknown_columns = reader, self.width
            self.index_of[:self.width] = -1
        if not complete and length:
            column = &self.columns[start]
        if reader.max_features is not None:
            return reader.fill_row(row, self.record(i))
        known = reader.start_row(row, length)
        if not known and self.all_known(row.own_index, column, length):
            # Nothing to add, so the row points to the values of the batch, and a complete row to its indices.
            row.finish(length, index_of if complete else row.own_index, value, complete and self.in_order)
            return 0
        # behind the constant feature, which the row has by now; without features there is nothing to copy
        if known and length and complete and self.unknown_columns == 0:
            memcpy(row.own_index + known, index_of, length * sizeof(int32_t))
            memcpy(row.own_value + known, value, length * sizeof(double))
            row.finish(known + length, row.own_index, row.own_value, self.in_order)
            return 0
        for position in range(length):
            place = position if complete else column[position]
            index = index_of[place]
            if index < 0:
                index = self.look_up(reader, place)
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value[position]
                known += 1
            else:
                row.add_fresh(self.names[place], reader.vocabulary.missing_hash, value[position])
        row.finish(known, row.own_index, row.own_value, complete and self.unknown_columns == 0 and self.in_order)
        return 0

    cdef bint is_full(self):
        """Return whether each row has all columns."""
        return self.columns is None or len(self.values) == self.length * self.width

    def refuse_negative(self):
        """Raise ValueError if a value is negative; for spaces that take no negative features."""
        cdef Py_ssize_t row, place, first
        negative = np.flatnonzero(np.asarray(self.values) < 0.0)
        if len(negative):
            first = negative[0]
            row = np.searchsorted(np.asarray(self.starts), first, "right") - 1
            place = first - self.starts[row] if self.columns is None else self.columns[first]
            raise ValueError(
                f"row {row}, column {self.names[place]!r} is {self.values[first]}, and these weights need features that are "
                "not negative: use BalancedWinnow, or give max(x, 0) and max(-x, 0) as two features"
            )


def floats_of(name, values):
    """Return the values of a column as floats, NaN for None; raise ValueError, saying what to do, if one is not a number."""
    return [NAN if value is None else as_float(name, value) for value in values]


def csr_batch(X):
    """Return the batch of a scipy sparse matrix. The features of a row are its stored entries, in the order of the columns."""
    if not hasattr(X, "tocsr"):
        raise TypeError(f"a scipy sparse matrix is needed, not a {type(X).__name__}: see scipy.sparse.csr_array")
    if len(X.shape) != 2:
        raise ValueError(f"a matrix with a row for each example is needed, not an array of shape {X.shape}: see `reshape`")
    if X.dtype.kind not in "buif":
        raise ValueError(f"the matrix holds {X.dtype}, and a learner needs numbers")
    matrix = X.tocsr().astype(np.float64, copy=False)
    check_columns(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    names, columns = range(matrix.shape[1]), matrix.indices
    if len(columns) < matrix.shape[1]:
        # A hashed matrix has millions of columns, and a batch uses few of them: only those get names.
        used, columns = np.unique(columns, return_inverse=True)
        names = used.tolist()
    refuse_non_finite(
        matrix.data, lambda flat: (int(np.searchsorted(matrix.indptr, flat, "right")) - 1, names[columns[flat]])
    )
    return Batch(names, matrix.data, columns, matrix.indptr)


cdef check_columns(matrix):
    """Raise ValueError for an entry outside of the matrix: scipy does not look when one is made, and no loop here does."""
    width, columns = matrix.shape[1], matrix.indices
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        first = int(np.flatnonzero((columns < 0) | (columns >= width))[0])
        row = int(np.searchsorted(matrix.indptr, first, "right")) - 1
        raise ValueError(f"row {row}, column {columns[first]} is outside of the {width} columns of the matrix, which count from 0")


def refuse_non_finite(values, place):
    """Raise ValueError for the first value that is not finite; `place` gives the row and the column of a flat index."""
    # A sum takes a tenth of the time of checking each value.
    cdef const double[::1] flat_values
    if values.dtype == np.float64 and values.flags.forc:
        flat_values = values.ravel("K")
        if isfinite(dot(&flat_values[0], &flat_values[0], len(flat_values))):
            return
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
    flat = values.ravel()
    bad = np.flatnonzero(~np.isfinite(flat))
    if not len(bad):
        return
    first = int(bad[0])
    row, column = place(first)
    raise ValueError(
        f"row {row!r}, column {column!r} is {flat[first]}: replace it before, such as by the mean of the column"
    )
