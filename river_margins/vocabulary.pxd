from cpython.object cimport PyObject
from libc.stdint cimport int32_t


cdef class Vocabulary:
    cdef list keys
    cdef Py_hash_t* hashes
    cdef int32_t* slots
    cdef Py_ssize_t capacity
    cdef size_t mask
    cdef PyObject** key_pointers(self) noexcept
    cdef int32_t find(self, object key) except -2
    cdef int32_t add(self, object key) except -2
    cdef int enlarge(self) except -1
