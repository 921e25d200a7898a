"""The indices of features: consecutive numbers, in the order in which the features were learned."""

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject, PyObject_Hash, PyObject_RichCompareBool, Py_EQ
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset


cdef class Vocabulary:
    """A hash table from keys to indices. Unlike a Python dict it needs no int object for an index, and shows its entries.

    `keys` is a list, `hashes` an array beside it, and `slots` an open-addressing table of indices into both. A feature
    takes 16 bytes, a slot 4.
    """

    def __cinit__(self):
        self.keys = []
        self.capacity = 4
        self.mask = 7
        self.hashes = <Py_hash_t*> malloc(self.capacity * sizeof(Py_hash_t))
        self.slots = <int32_t*> malloc((self.mask + 1) * sizeof(int32_t))
        if self.hashes == NULL or self.slots == NULL:
            raise MemoryError()
        memset(self.slots, -1, (self.mask + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self.hashes)
        free(self.slots)

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + self.capacity * sizeof(Py_hash_t)
            + (self.mask + 1) * sizeof(int32_t)
        )

    cdef int32_t find(self, object key) except -2:
        """Return the index of `key`, or -1. In that case `missing_hash` is its hash."""
        cdef Py_hash_t hashed = PyObject_Hash(key)
        cdef size_t slot = <size_t> hashed & self.mask
        cdef size_t perturb = <size_t> hashed
        cdef int32_t index = self.slots[slot]
        cdef PyObject* known
        while index >= 0:
            if self.hashes[index] == hashed:
                known = <PyObject*> PyList_GET_ITEM(self.keys, index)
                if known == <PyObject*> key or PyObject_RichCompareBool(<object> known, key, Py_EQ):
                    return index
            perturb >>= 5
            slot = (slot * 5 + perturb + 1) & self.mask
            index = self.slots[slot]
        self.missing_hash = hashed
        return -1

    cdef int32_t add(self, object key, Py_hash_t hashed) except -2:
        """Add a key that is not there yet; return its index."""
        cdef Py_ssize_t index = len(self.keys)
        if index == self.capacity:
            self.enlarge()
        self.keys.append(key)
        self.hashes[index] = hashed
        place(self.slots, self.mask, hashed, <int32_t> index)
        return <int32_t> index

    cdef int enlarge(self) except -1:
        cdef Py_ssize_t capacity = 2 * self.capacity
        if capacity > 1 << 30:
            raise MemoryError("more than 2^30 features: bound them with `max_features`")
        cdef Py_hash_t* hashes = <Py_hash_t*> realloc(self.hashes, capacity * sizeof(Py_hash_t))
        if hashes == NULL:
            raise MemoryError()
        self.hashes = hashes
        cdef int32_t* slots = <int32_t*> malloc(2 * capacity * sizeof(int32_t))
        if slots == NULL:
            raise MemoryError()
        memset(slots, -1, 2 * capacity * sizeof(int32_t))
        free(self.slots)
        self.slots = slots
        self.capacity = capacity
        self.mask = 2 * capacity - 1
        cdef Py_ssize_t index
        for index in range(len(self.keys)):
            place(self.slots, self.mask, self.hashes[index], <int32_t> index)
        return 0


cdef inline void place(int32_t* slots, size_t mask, Py_hash_t hashed, int32_t index) noexcept:
    cdef size_t slot = <size_t> hashed & mask
    cdef size_t perturb = <size_t> hashed
    while slots[slot] >= 0:
        perturb >>= 5
        slot = (slot * 5 + perturb + 1) & mask
    slots[slot] = index
