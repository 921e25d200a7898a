cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, uint64_t

from river_margins.core.vocabulary cimport Vocabulary


@cython.final
cdef class Row:
    cdef Py_ssize_t known, fresh, capacity, blocks
    cdef const int32_t* index
    cdef const double* value
    cdef int32_t* own_index
    cdef double* own_value
    cdef Py_hash_t* fresh_hash
    cdef double* scores
    cdef double* evaluations
    cdef Py_ssize_t evaluation_room
    cdef double norm2, size
    cdef bint in_dict_order, consecutive
    cdef list fresh_keys
    cdef int reserve(self, Py_ssize_t length) except -1
    cdef int add_fresh(self, object key, Py_hash_t hashed, double value) except -1
    cdef int forget_fresh(self) except -1
    cdef int reserve_scores(self, Py_ssize_t blocks) except -1
    cdef int reserve_evaluations(self, Py_ssize_t count) except -1
    cdef void finish(self, Py_ssize_t known, const int32_t* index, const double* value, bint consecutive) noexcept


cdef struct Bucket:
    int32_t index
    double sign


cdef struct Place:
    long long row
    Py_ssize_t position


@cython.final
cdef class Reader:
    cdef Vocabulary vocabulary
    cdef bint intercept
    cdef double constant
    cdef object max_features
    cdef bint signed
    cdef uint64_t buckets
    # If features are hashed, the vocabulary has only buckets, and these have some of the features:
    cdef list guessed_keys  # the guessed ones
    cdef double* signs  # of the guessed ones
    cdef list cached_keys  # those that were hashed last, each at a place of its Python hash
    cdef Bucket* cached
    cdef Place* places  # of the buckets in the row that was read last
    cdef Py_ssize_t place_room
    cdef long long rows_read
    cdef int32_t* guesses
    cdef PyObject** expected
    cdef Py_ssize_t guess_count, guessed_in_order
    cdef Reader compared  # the reader of `reads_as`, and how many of its features have the same index here
    cdef Py_ssize_t agreed
    cdef Py_ssize_t size(self) noexcept
    cdef list features(self)
    cdef bint reads_as(self, Reader other) except -1
    cdef int learn_features(self, features) except -1
    cdef int fill_row(self, Row row, object x) except -1
    cdef dict features_of(self, object x)
    cdef int fill_row_from_dict(self, Row row, dict x) except -1
    cdef int fill_row_from_buckets(self, Row row, dict x) except -1
    cdef int add_hashed(self, Row row, Py_ssize_t* known, object key, double value, Py_ssize_t position, dict fresh) except -1
    cdef Py_ssize_t merge(self, Row row, Py_ssize_t known, bint* consecutive) except -1
    cdef object hash_state(self)
    cdef int check_hash_state(self, state) except -1
    cdef int reserve_signs(self, Py_ssize_t count) except -1
    cdef int reserve_cache(self) except -1
    cdef int reserve_guesses(self, Py_ssize_t length) except -1
    cdef int32_t look_up(self, object key, Py_ssize_t position) except -2
    cdef Py_ssize_t start_row(self, Row row, Py_ssize_t length) except -1
    cdef int refuse_non_finite(self, Row row) except -1
    cdef int add_features(self, Row row) except -1


cdef double as_float(object key, object value) except? -1.0
