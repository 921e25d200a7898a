cdef class Recipe:
    pass
