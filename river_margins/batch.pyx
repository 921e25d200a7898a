"""Rows of a data frame or a sparse matrix, checked as a whole and then gathered like dicts."""

import numpy as np

from libc.stdint cimport int32_t

from river_margins.reader cimport Reader, Row


cdef class Batch:
    """Rows with named columns. `index_of` remembers which index a column has in the space that reads them."""

    def __init__(self, names, values, columns, starts):
        self.names = names
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.columns = np.ascontiguousarray(columns, dtype=np.int32)
        self.starts = np.ascontiguousarray(starts, dtype=np.int64)
        self.index_of = np.full(max(len(names), 1), -1, dtype=np.int32)
        self.length = len(starts) - 1

    cdef int gather(self, Reader reader, Row row, Py_ssize_t i) except -1:
        cdef Py_ssize_t start = self.starts[i], length = self.starts[i + 1] - start
        if reader.max_features is not None:
            return reader.gather(row, {self.names[self.columns[j]]: self.values[j] for j in range(start, start + length)})
        return reader.gather_array(
            row,
            &self.values[start] if length else NULL,
            &self.columns[start] if length else NULL,
            length,
            &self.index_of[0],
            self.names,
        )


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
    return Batch(names, values.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns)


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
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row, column = place(int(bad[0]))
        raise ValueError(
            f"row {row!r}, column {column!r} is {values.ravel()[bad[0]]}: drop it, or fill it with "
            "river.preprocessing.StatImputer"
        )
