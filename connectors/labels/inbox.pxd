cdef class Arrived:
    cdef readonly object time, record
    cdef readonly double arrived
    cdef readonly long long offset
    cdef readonly Py_ssize_t size


cdef class Queue:
    cdef list items  # those before `first` were taken
    cdef Py_ssize_t first, size
    cdef bint is_full
    cdef double empty_at, asked_at
    cdef bint is_empty(self) except -1
    cdef int put(self, Arrived arrived) except -1
    cdef Arrived head(self)
    cdef int drop_head(self) except -1
    cdef int clear(self) except -1


cdef class Inbox:
    cdef double wait
    cdef Queue records, labels, pinned
    cdef Queue queue(self, object side)
    cdef Queue following(self)


cdef Arrived arrival(object time, double arrived, long long offset, object record, Py_ssize_t size)
cdef Py_ssize_t size_of(object key, object value, object headers) except -1
