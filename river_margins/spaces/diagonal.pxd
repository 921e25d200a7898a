cimport cython

from river_margins.spaces.gaussian cimport Gaussian


@cython.final
cdef class Diagonal(Gaussian):
    pass
