from cpython.object cimport PyObject


cdef extern from "river_margins/core/dict_walk.h":
    PyObject* no_key() noexcept
    bint same_key(PyObject* key, PyObject* expected) noexcept
    ctypedef struct DictWalk:
        PyObject* key
        PyObject* value

    bint dict_walk_suits(object x) noexcept
    DictWalk dict_walk(object x) noexcept
    bint dict_walk_next(DictWalk* walk) noexcept
    Py_ssize_t dict_walk_known(DictWalk* walk, PyObject** expected, Py_ssize_t limit, double* value) noexcept
    dict dict_refilled(dict x, const double* value)
