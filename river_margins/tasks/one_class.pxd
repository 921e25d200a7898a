from river_margins.core.reader cimport Row
from river_margins.tasks.base cimport Task


cdef class OneClass(Task):
    cdef double eps
    cdef double square(self, Row row) noexcept
    cdef bint outside(self, Row row) noexcept
