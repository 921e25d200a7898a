from river_margins.rules.base cimport Rule


cdef class PA(Rule):
    pass


cdef class Bounded(Rule):
    cdef readonly double C


cdef class PA1(Bounded):
    pass


cdef class PA2(Bounded):
    pass
