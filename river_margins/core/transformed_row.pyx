"""A row that one compiled step of a pipeline hands to the next, without a dict."""

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from river_margins.core.dict_walk cimport same_key
from river_margins.core.reader cimport Reader, Row


cdef class TransformedRow:
    """A row handed to the next step, with the names that its indices stand for.

    `unread` is true until that step has read the row. The row is read once, and filled again only after that.
    """

    def __cinit__(self):
        self.row = Row()

    cdef int fill_row(self, Reader reader, Row row) except -1:
        """Fill a row of another reader, as `Reader.fill_row` does, from values that are already floats."""
        if not self.unread:
            raise TypeError(
                "a dict of features is needed, not a TransformedRow: that is only for the next step of its pipeline, which "
                "reads it once"
            )
        if reader.buckets:
            self.fill_row_from_buckets(reader, row)
        else:
            self.fill_row_from_features(reader, row)
        self.unread = False
        if not isfinite(row.norm2):
            reader.refuse_non_finite(row)
        return 0

    cdef bint refill_row(self, Reader reader, Row row) noexcept:
        """Put new values in a row that `fill_row` has filled; return False if the values alone do not make the row."""
        if row.fresh or reader.buckets:
            return False
        memcpy(row.own_value + row.known - self.row.known, self.row.value, self.row.known * sizeof(double))
        row.finish(row.known, row.own_index, row.own_value, row.consecutive)
        self.unread = False
        return True

    cdef int fill_row_from_features(self, Reader reader, Row row) except -1:
        cdef Row given = self.row
        cdef Py_ssize_t length = given.known + given.fresh, known = reader.start_row(row, length), position = 0
        cdef PyObject* name  # a borrowed reference, which the step before or its row keeps alive
        cdef Py_ssize_t guessed = 0, run
        cdef int32_t index
        cdef double value
        reader.reserve_guesses(length)
        while position < length:
            run = self.fill_guessed(reader, row, position, known)
            guessed += run
            position += run
            known += run
            if position == length:
                break
            if position < given.known:
                name = PyList_GET_ITEM(self.names, given.index[position])
                value = given.value[position]
            else:
                name = PyList_GET_ITEM(given.fresh_keys, position - given.known)
                value = given.own_value[given.capacity + position - given.known]
            index = reader.look_up(<object> name, position)
            position += 1
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value
                known += 1
            else:
                row.add_fresh(<object> name, reader.vocabulary.missing_hash, value)
        row.finish(known, row.own_index, row.own_value, guessed == length and length <= reader.guessed_in_order)
        return 0

    cdef Py_ssize_t fill_guessed(self, Reader reader, Row row, Py_ssize_t position, Py_ssize_t known) noexcept:
        """Fill the row from `position` on while the guesses are right; return for how many features they were."""
        cdef Py_ssize_t limit = min(self.row.known, reader.guess_count) - position, run = 0
        cdef const int32_t* index = self.row.index + position
        cdef const double* value = self.row.value + position
        cdef const int32_t* guesses = reader.guesses + position
        cdef PyObject** expected = reader.expected + position
        while run < limit and same_key(PyList_GET_ITEM(self.names, index[run]), expected[run]):
            run += 1
        if run > 0:
            memcpy(row.own_index + known, guesses, run * sizeof(int32_t))
            memcpy(row.own_value + known, value, run * sizeof(double))
        return run

    cdef int fill_row_from_buckets(self, Reader reader, Row row) except -1:
        cdef Row given = self.row
        cdef Py_ssize_t length = given.known + given.fresh, position, known = reader.start_row(row, length)
        cdef dict fresh = {}
        cdef bint consecutive
        reader.reserve_guesses(length)
        for position in range(given.known):
            name = self.names[given.index[position]]
            reader.add_hashed(row, &known, name, given.value[position], position, fresh)
        for position in range(given.fresh):
            name = given.fresh_keys[position]
            reader.add_hashed(row, &known, name, given.own_value[given.capacity + position], given.known + position, fresh)
        known = reader.merge(row, known, &consecutive)
        row.finish(known, row.own_index, row.own_value, consecutive)
        return 0

    cdef dict as_dict(self):
        cdef Py_ssize_t i
        cdef Row row = self.row
        cdef dict features = {}
        for i in range(row.known):
            features[self.names[row.index[i]]] = row.value[i]
        for i in range(row.fresh):
            features[row.fresh_keys[i]] = row.own_value[row.capacity + i]
        return features

    cdef bint copy_values(self, PyObject** expected, Py_ssize_t length, double* value) noexcept:
        """Copy the values if the names are the expected ones, in this order; else return False."""
        cdef Py_ssize_t i
        cdef Row row = self.row
        if row.fresh or row.known != length:
            return False
        for i in range(length):
            if not same_key(PyList_GET_ITEM(self.names, row.index[i]), expected[i]):
                return False
            value[i] = row.value[i]
        return True
