cimport cython
from libc.stdint cimport int32_t


@cython.final
cdef class Vocabulary:
    cdef list keys
    cdef Py_hash_t* hashes
    cdef int32_t* slots
    cdef Py_ssize_t capacity
    cdef size_t mask
    cdef int32_t find(self, object key) except -2
    cdef Py_hash_t missing_hash
    cdef int32_t add(self, object key, Py_hash_t hashed) except -2
    cdef int enlarge(self) except -1
