from libc.stdint cimport uint64_t


# The number of this hash. It is part of the state of a learner: with another hash, its weights belong to other features.
cdef enum:
    HASH_VERSION = 2


cdef int feature_hash(object key, uint64_t* hashed) except -1
