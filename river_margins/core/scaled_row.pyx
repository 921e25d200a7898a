"""Features on their way from one compiled step to the next, without a dict between them."""

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t

from river_margins.core.dict_walk cimport same_key
from river_margins.core.reader cimport Reader, Row


cdef class Passed:
    """A row, and the reader that has the names in it. It `waits` until it was read, once, and is not filled again before."""

    def __cinit__(self):
        self.row = Row()

    cdef int gather(self, Reader reader, Row row) except -1:
        """Fill a row of another reader, as `Reader.gather_dict` does: what is here are numbers already."""
        if not self.waits:
            raise TypeError("a dict of features is needed, not a Passed, which is for the step that it was made for")
        cdef Row given = self.row
        cdef list names = self.reader.vocabulary.keys
        cdef Py_ssize_t length = given.known + given.fresh, position, known = reader.begin(row, length)
        cdef PyObject* name  # the other reader, or its row, holds on to it
        cdef int32_t index
        cdef double value
        cdef bint straight = True
        reader.expect(length)
        for position in range(length):
            if position < given.known:
                name = PyList_GET_ITEM(names, given.index[position])
                value = given.value[position]
            else:
                name = PyList_GET_ITEM(given.fresh_keys, position - given.known)
                value = given.own_value[given.capacity + position - given.known]
            if position < reader.guess_count and same_key(name, reader.expected[position]):
                index = reader.guesses[position]
            else:
                straight = False
                index = reader.look_up(<object> name, position)
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value
                known += 1
            else:
                row.add_fresh(<object> name, reader.vocabulary.sought, value)
        row.finish(known, row.own_index, row.own_value, straight and length <= reader.in_order)
        self.waits = False
        if not isfinite(row.norm2):
            reader.refuse_non_finite(row)
        return 0
