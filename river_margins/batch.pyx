"""Rows of a data frame or a sparse matrix, checked as a whole and then gathered like dicts."""

import numpy as np

from libc.stdint cimport int32_t

from river_margins.reader cimport Reader, Row


cdef class Batch:
    """Rows with named columns, each row with all of them (`columns` is None) or with some.

    `index_of` remembers which index a column has for the reader; `strange` counts the columns it does not know yet.
    """

    def __init__(self, names, values, columns, starts):
        self.names = names
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.columns = None if columns is None else np.ascontiguousarray(columns, dtype=np.int32)
        self.starts = np.ascontiguousarray(starts, dtype=np.int64)
        self.index_of = np.full(max(len(names), 1), -1, dtype=np.int32)
        self.length = len(starts) - 1
        self.strange = len(names)

    cdef int32_t look_up(self, Reader reader, Py_ssize_t column) except -2:
        cdef int32_t index = reader.vocabulary.find(self.names[column])
        self.index_of[column] = index
        self.strange -= index >= 0
        if self.strange == 0:
            self.in_order = np.array_equal(self.index_of, np.arange(len(self.names)) + reader.intercept)
        return index

    cdef int gather(self, Reader reader, Row row, Py_ssize_t i) except -1:
        cdef Py_ssize_t start = self.starts[i], length = self.starts[i + 1] - start, width = self.index_of.shape[0]
        cdef Py_ssize_t position, column, known
        cdef int32_t index
        cdef bint whole = self.columns is None or length == width
        cdef const double* value = &self.values[start] if length else NULL
        if reader.max_features is not None:
            return reader.gather(row, {
                self.names[position if whole else self.columns[start + position]]: value[position]
                for position in range(length)
            })
        known = reader.begin(row, length)
        if whole and self.strange == 0 and not reader.intercept:
            row.finish(length, &self.index_of[0], value, self.in_order)
            return 0
        for position in range(length):
            column = position if whole else self.columns[start + position]
            index = self.index_of[column]
            if index < 0:
                index = self.look_up(reader, column)
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value[position]
                known += 1
            else:
                row.add_fresh(self.names[column], value[position])
        row.finish(known, row.own_index, row.own_value, whole and self.strange == 0 and self.in_order)
        return 0

def frame_batch(X):
    """A pandas DataFrame: every column is a feature of every row."""
    names = list(X.columns)
    if not X.columns.is_unique:
        raise ValueError(f"columns {sorted(set(X.columns[X.columns.duplicated()]))!r} stand twice: rename or drop one")
    try:
        values = X.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        text = [name for name in names if not np.issubdtype(np.asarray(X[name]).dtype, np.number)]
        raise ValueError(
            f"columns {text!r} are not numbers: encode them first, with river.preprocessing.OneHotEncoder, OrdinalEncoder "
            "or FeatureHasher"
        ) from error
    rows, columns = values.shape
    refuse_non_finite(values, lambda flat: (X.index[flat // columns], names[flat % columns]))
    return Batch(names, values.ravel(), None, np.arange(rows + 1) * columns)


def csr_batch(X):
    """A scipy sparse matrix: what is stored is there, explicit zeros included."""
    matrix = X.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    refuse_non_finite(
        matrix.data, lambda flat: (int(np.searchsorted(matrix.indptr, flat, "right")) - 1, int(matrix.indices[flat]))
    )
    return Batch(range(matrix.shape[1]), matrix.data, matrix.indices, matrix.indptr)


cdef refuse_non_finite(values, place):
    cdef const double[::1] flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    cdef double total = 0.0
    cdef Py_ssize_t i
    # A finite value adds 0, any other turns the sum into NaN: a pass that costs next to nothing.
    for i in range(flat.shape[0]):
        total += flat[i] * 0.0
    if total == 0.0:
        return
    first = int(np.flatnonzero(~np.isfinite(flat))[0])
    row, column = place(first)
    raise ValueError(
        f"row {row!r}, column {column!r} is {flat[first]}: drop it, or fill it with river.preprocessing.StatImputer"
    )
