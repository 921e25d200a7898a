from cpython cimport array
from libc.stdint cimport int64_t, uint64_t


cdef class Slots:
    cdef readonly list keys
    cdef readonly uint64_t start
    cdef readonly Py_ssize_t count  # of contents that are there
    cdef array.array sequences
    cdef bytearray is_there
    cdef int add(self, bytes key, uint64_t sequence) except -1
    cdef int remove(self, uint64_t sequence) except -1
    cdef bytes first(self)
    cdef Py_ssize_t place(self, uint64_t sequence) except -1
    cdef uint64_t number(self, Py_ssize_t slot) noexcept
    cdef bint can_hold(self, uint64_t sequence) noexcept
    cdef int trim(self) except -1
    cdef int take_in(self, Slots other) except -1


cdef class Pending:
    cdef dict contents
    # Each with a content that is there. No sequence number in a piece is below its start, and all before it are.
    cdef readonly list _pieces
    cdef Py_ssize_t left  # contents taken out since the dict was built
    cdef readonly int64_t within
    cdef public Py_ssize_t most
    cdef public uint64_t next_sequence
    cdef int64_t due_at  # the event time after which something may expire; the largest one if nothing can
    cdef int64_t due_after(self, int64_t time) noexcept
    cdef bint has(self, bytes key) except -1
    cdef bytes content(self, bytes key)
    cdef int put(self, bytes key, uint64_t sequence, int64_t time, bytes packed) except -1
    cpdef int renew(self, bytes key, int64_t time, bytes content) except -1
    cdef bytes take(self, bytes key)
    cdef bytes oldest(self)
    cdef bytes overdue(self, int64_t time)
    cpdef int drop_expired(self, int64_t time) except -1
    cdef Py_ssize_t piece_of(self, uint64_t sequence) except? -2
    cdef int tidy(self, Py_ssize_t number) except -1


cdef void write_number(char* to, uint64_t number) noexcept
cdef uint64_t number_at(const char* packed) noexcept
cdef uint64_t sequence_in(bytes packed) noexcept
cdef int64_t time_in(bytes packed) noexcept
