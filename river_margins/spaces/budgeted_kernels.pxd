from river_margins.rules.base cimport Seen, Step
from river_margins.spaces.base cimport Direction
from river_margins.spaces.kernel cimport Kernel


cdef class ForgetronKernel(Kernel):
    cdef double damage, next_damage


cdef class SimpleRemovalKernel(Kernel):
    pass


cdef class ProjectionKernel(Kernel):
    cdef readonly double eta
    cdef double* inverse
    cdef double* projection
    cdef Py_ssize_t stride, projection_room
    cdef double distance2
    cdef bint projects
    cdef int project(self) except -1
    cdef int reserve_inverse(self, Py_ssize_t count) except -1
    cdef void add_projection(self) noexcept
