"""A store for sparse rows."""

import numpy as np

from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memmove

from river_margins.spaces.expansion cimport grown


cdef class RowStore:
    """Rows of (index, value) pairs, one after the other in memory, each with a number `mark`.

    Call `reserve` before `add` and `close`, which check no room.
    """

    def __dealloc__(self):
        free(self.index)
        free(self.value)
        free(self.ends)
        free(self.mark)

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + self.row_room * (sizeof(Py_ssize_t) + sizeof(double))
            + self.entry_room * (sizeof(int32_t) + sizeof(double))
        )

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t entries) except -1:
        """Make room for more rows and entries."""
        cdef Py_ssize_t wanted_rows = self.rows + rows, wanted_entries = self.entries + entries
        if wanted_rows > self.row_room:
            self.ends = <Py_ssize_t*> grown(self.ends, 2 * wanted_rows * sizeof(Py_ssize_t))
            self.mark = <double*> grown(self.mark, 2 * wanted_rows * sizeof(double))
            self.row_room = 2 * wanted_rows
        if wanted_entries > self.entry_room:
            self.index = <int32_t*> grown(self.index, 2 * wanted_entries * sizeof(int32_t))
            self.value = <double*> grown(self.value, 2 * wanted_entries * sizeof(double))
            self.entry_room = 2 * wanted_entries
        return 0

    cdef void add(self, Py_ssize_t index, double value) noexcept:
        self.index[self.entries] = <int32_t> index
        self.value[self.entries] = value
        self.entries += 1

    cdef void close(self, double mark) noexcept:
        """Make a row of the entries that were added since the last one."""
        self.ends[self.rows] = self.entries
        self.mark[self.rows] = mark
        self.rows += 1

    cdef Py_ssize_t start(self, Py_ssize_t row) noexcept:
        return self.ends[row - 1] if row else 0

    cdef double dot(self, Py_ssize_t row, const double* dense) noexcept:
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.start(row), self.ends[row]):
            total += self.value[i] * dense[self.index[i]]
        return total

    cdef void drop(self, Py_ssize_t rows) noexcept:
        """Remove the first `rows` rows."""
        cdef Py_ssize_t row, gone = self.start(rows)
        self.entries -= gone
        self.rows -= rows
        memmove(self.index, self.index + gone, self.entries * sizeof(int32_t))
        memmove(self.value, self.value + gone, self.entries * sizeof(double))
        memmove(self.mark, self.mark + rows, self.rows * sizeof(double))
        for row in range(self.rows):
            self.ends[row] = self.ends[row + rows] - gone

    cdef dict state(self, Py_ssize_t first):
        """Return the rows from `first` on, as arrays."""
        cdef Py_ssize_t i, gone = self.start(first)
        return {
            "indices": np.array([self.index[i] for i in range(gone, self.entries)], dtype=np.int32),
            "values": np.array([self.value[i] for i in range(gone, self.entries)], dtype=np.float64),
            "ends": np.array([self.ends[i] - gone for i in range(first, self.rows)], dtype=np.int64),
            "marks": np.array([self.mark[i] for i in range(first, self.rows)], dtype=np.float64),
        }

    cdef int take(self, state, Py_ssize_t indices) except -1:
        """Restore the rows from `state`; raise ValueError if they do not fit together or an index is not below `indices`."""
        cdef Py_ssize_t i, row
        index, value, ends, mark = (np.asarray(state[name]) for name in ("indices", "values", "ends", "marks"))
        if not (
            len(index) == len(value) == ends.max(initial=0) and len(ends) == len(mark)
            and (np.diff(ends, prepend=0) >= 0).all() and (index >= 0).all() and (index < indices).all()
            and np.isfinite(value).all() and np.isfinite(mark).all()
        ):
            raise ValueError("the rows that are kept do not fit together")
        self.rows = self.entries = 0
        self.reserve(len(ends), len(index))
        for row in range(len(ends)):
            for i in range(self.entries, ends[row]):
                self.add(index[i], value[i])
            self.close(mark[row])
        return 0
