from cpython.object cimport PyObject
from libc.stdint cimport int32_t


cdef extern from "dict_walk.h":
    ctypedef struct DictWalk:
        PyObject* key
        PyObject* value

    bint dict_walk_suits(object x) noexcept
    DictWalk dict_walk(object x) noexcept
    bint dict_walk_next(DictWalk* walk) noexcept
    Py_ssize_t dict_walk_known(DictWalk* walk, PyObject** keys, const int32_t* guesses, Py_ssize_t limit,
                               int32_t* index, double* value) noexcept
    dict dict_refilled(dict x, const double* value)
