# cython: language_level=3
"""The least that reading a dict can cost: each key and each value is touched, and nothing is done with them."""

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject


def touch_twice(dict x):
    """The sum of all values, and of the addresses of all keys, taken twice."""
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t position
    cdef double total = 0.0
    cdef size_t keys = 0
    cdef int turn
    for turn in range(2):
        position = 0
        while PyDict_Next(x, &position, &key, &value):
            keys += <size_t> key
            total += PyFloat_AS_DOUBLE(<object> value)
    return total + keys
