from river_margins.core.transformed_row cimport TransformedRow


cdef struct Field:
    const char* name
    Py_ssize_t length
    Py_ssize_t place  # of a feature in the row; negative for others


cdef class JsonRows:
    cdef readonly object id, label
    cdef readonly TransformedRow row
    cdef object id_name, label_name
    cdef list wanted  # names of features; None for all
    cdef list names  # of the fields of the object that was shown last
    cdef list encoded_names
    cdef Field* fields
    cdef Py_ssize_t count  # of fields; 0 as long as no object can be read
    cdef Py_ssize_t rest, resting  # how many objects are left untried after the last failure, and how many of them still are
    cpdef bint read(self, bytes value, Py_ssize_t start=*) except -1
    cdef bint fill(self, bytes value, Py_ssize_t start) except -1
    cpdef void show(self, dict fields) except *
