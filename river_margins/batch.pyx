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

    cdef bint all_known(self, Row row, const int32_t* column, Py_ssize_t length) noexcept:
        """Whether all columns of a row (NULL: every one there is) are known; fills its indices until one is not."""
        cdef const int32_t* index_of = &self.index_of[0]
        cdef int32_t* index = row.own_index
        cdef int32_t found
        cdef Py_ssize_t position
        if column == NULL:
            return self.strange == 0
        for position in range(length):
            found = index_of[column[position]]
            index[position] = found
            if found < 0:
                return False
        return True

    cdef int gather(self, Reader reader, Row row, Py_ssize_t i) except -1:
        cdef Py_ssize_t start = self.starts[i], length = self.starts[i + 1] - start, known, position, place
        cdef bint whole = self.columns is None or length == self.index_of.shape[0]
        cdef const double* value = &self.values[start] if length else NULL
        cdef const int32_t* column = NULL
        cdef const int32_t* index_of = &self.index_of[0]
        cdef int32_t index
        if not whole and length:
            column = &self.columns[start]
        if reader.max_features is not None:
            return reader.gather(row, {
                self.names[position if whole else column[position]]: value[position] for position in range(length)
            })
        known = reader.begin(row, length)
        if not known and self.all_known(row, column, length):
            # Nothing to add: the values, and the indices of a whole row, are used where they lie.
            row.finish(length, index_of if whole else row.own_index, value, whole and self.in_order)
            return 0
        for position in range(length):
            place = position if whole else column[position]
            index = index_of[place]
            if index < 0:
                index = self.look_up(reader, place)
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value[position]
                known += 1
            else:
                row.add_fresh(self.names[place], value[position])
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
    flat = values.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat.sum()):  # which takes a tenth of the time of looking at each
            return
    bad = np.flatnonzero(~np.isfinite(flat))
    if not len(bad):
        return
    first = int(bad[0])
    row, column = place(first)
    raise ValueError(
        f"row {row!r}, column {column!r} is {flat[first]}: drop it, or fill it with river.preprocessing.StatImputer"
    )
