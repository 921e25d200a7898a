"""The hash of feature names for `max_features`: the same in every process and version, and equal for equal names."""

from numbers import Number

import numpy as np

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from libc.stdint cimport uint64_t

cdef uint64_t OF_TEXTS = 0xCBF29CE484222325  # the offset basis of FNV-1a
cdef uint64_t OF_OTHERS = 0x9AE16A3B2F90404F  # so that 1 and the text that stands for it differ


cdef int feature_hash(object key, uint64_t* hashed) except -1:
    """Set the hash of a feature name.

    A text is hashed by FNV-1a with 64 bits over its code points, mixed by the last step of MurmurHash3. Any other name is
    hashed in the same way, from another start, as a text that equal names share.
    """
    if isinstance(key, str):
        hashed[0] = hash_of(key if type(key) is str else str.__str__(key), OF_TEXTS)
    else:
        hashed[0] = hash_of(text_of(key), OF_OTHERS)
    return 0


cdef uint64_t hash_of(str text, uint64_t start) noexcept:
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t i
    cdef uint64_t mixed = start
    for i in range(PyUnicode_GET_LENGTH(text)):
        mixed = (mixed ^ <uint64_t> PyUnicode_READ(kind, data, i)) * <uint64_t> 0x100000001B3
    mixed = (mixed ^ (mixed >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    mixed = (mixed ^ (mixed >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return mixed ^ (mixed >> 33)


cdef str text_of(object key):
    """Return a text that is the same for equal names, such as 1, 1.0, True and Fraction(1)."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, Number | np.number):
        return number_text(key)
    if isinstance(key, tuple):
        return f"({','.join([part_of(part) for part in key])})"
    if isinstance(key, frozenset):
        return f"{{{','.join(sorted([part_of(part) for part in key]))}}}"
    if type(key).__repr__ is object.__repr__:
        raise TypeError(
            f"feature name {key!r} cannot be hashed, because its repr differs between processes: use a text, a number or "
            "a tuple of these"
        )
    return repr(key)


cdef str part_of(object key):
    cdef uint64_t hashed
    feature_hash(key, &hashed)
    return f"{hashed:x}"


cdef str number_text(object number):
    if isinstance(number, complex):
        if number.imag:
            return f"{number_text(number.real)} {number_text(number.imag)}j"
        number = number.real
    try:
        numerator, denominator = number.as_integer_ratio()
    except (OverflowError, ValueError):  # infinite, or not a number
        return str(float(number))
    return f"{numerator:x}/{denominator:x}"


def stable_name(key):
    """Return a name whose repr is the same in every process, and for equal names: without sets and types of numpy.

    A snapshot reads `numpy.str_` back as `str`. Raise TypeError if there is none.
    """
    if isinstance(key, np.generic):
        return key.item()
    if type(key) is tuple:
        return tuple(map(stable_name, key))
    return text_of(key) if isinstance(key, frozenset) or type(key).__repr__ is object.__repr__ else key
