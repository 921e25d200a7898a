"""Files in the svmlight format, also called LIBSVM, as sparse matrices for `learn_csr`."""

from codecs import BOM_UTF8
from os import PathLike, fspath

import numpy as np
from scipy import sparse

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memchr, strncmp

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0

cdef enum:
    LARGEST = 2147483646  # an index, so that the number of columns is an int32, too
    EXACT = 15  # an integer of so many decimal digits is a double without rounding, and so is 10^15

cdef double POWERS_OF_10[EXACT + 1]
for _power in range(EXACT + 1):
    POWERS_OF_10[_power] = 10.0**_power

__all__ = ["read"]


def read(source):
    """Return the rows of a svmlight file as a sparse matrix, and their labels as an array.

    A line is `label index:value index:value ... # comment`, with indices that rise. Column 7 of the matrix is the index 7, so a
    learner knows the feature by this number. Empty lines, comments and groups, such as `qid:3`, are left out.

    Parameters
    ----------
    source
        The name of a file, or an open binary file, such as gzip.open("a9a.gz"). All of it must fit in memory.

    Returns
    -------
    `X`, a `scipy.sparse.csr_array` of floats, and `y`: integers if all labels are integers below 2^53, else floats.

    Raises
    ------
    ValueError
        With the line, if it is not svmlight, or holds a number that is not finite.
    TypeError
        If the file is open as text.

    Examples
    --------
    >>> import io
    >>> import river_margins as rm
    >>> X, y = rm.svmlight.read(io.BytesIO(b"+1 1:0.5 3:2  # spam\\n-1 2:1\\n"))
    >>> X.toarray()
    array([[0. , 0.5, 0. , 2. ],
           [0. , 0. , 1. , 0. ]])
    >>> y
    array([ 1, -1])
    >>> model = rm.PAClassifier()
    >>> model.learn_csr(X, y > 0)
    >>> model.predict_csr(X)
    array([ True, False])

    References
    ----------
    Joachims, T., 1999. Making large-scale SVM learning practical. The format is that of SVM-light.
    """
    if isinstance(source, (str, PathLike)):
        with open(source, "rb") as file:
            return parsed(file.read(), fspath(source))
    text = source.read()
    if isinstance(text, str):
        raise TypeError('the file is open as text: open it as binary, as in open("a9a", "rb")')
    return parsed(text, getattr(source, "name", "svmlight"))


cdef tuple parsed(bytes text, name):
    """Return the matrix and the labels of a text; `name` is that of its file in errors."""
    text = text.removeprefix(BOM_UTF8)  # editors on Windows write it
    cdef Py_ssize_t rows = 0, count = 0, line = 1, most_rows = count_of(b"\n", text) + 1, most = count_of(b":", text)
    starts, labels = np.zeros(most_rows + 1, np.int64), np.empty(most_rows)
    columns, values = np.empty(most, np.int32), np.empty(most)
    cdef int64_t[::1] start = starts
    cdef double[::1] label = labels
    cdef int32_t[::1] column = columns
    cdef double[::1] value = values
    cdef double group
    cdef int32_t index, before, largest = -1
    cdef const char* at = PyBytes_AS_STRING(text)  # a byte of 0 ends it, so no loop has to look for the end
    cdef const char* end = at + len(text)
    cdef const char* after
    while True:
        at = after_blanks(at)
        if at[0] == c"#":
            at = after_comment(at, end)
        if at == end:
            break
        if at[0] == c"\n":
            at += 1
            line += 1
            if line & 0xFFFF == 0:
                PyErr_CheckSignals()
            continue
        after = number(at, &label[rows])
        if after == NULL:
            refuse(name, line, f"the label is `{word(at)}`, and not a finite number")
        at, before = after_blanks(after), -1
        while not ends_row(at[0]):
            if at[0] == c"q" and strncmp(at, b"qid:", 4) == 0:
                after = number(at + 4, &group)
            else:
                after = after_index(at, &index)
                if after == NULL:
                    refuse(name, line, f"`{word(at)}` is not `index:value`, with an index from 0 to {LARGEST}")
                if index <= before:
                    refuse(name, line, f"the index {index} comes after {before}: indices must rise")
                before = column[count] = index
                after = number(after, &value[count])
                count += 1
            if after == NULL:
                refuse(name, line, f"the value in `{word(at)}` is not a finite number")
            at = after_blanks(after)
        if at[0] == 0 and at < end:
            refuse(name, line, "a byte is 0")
        largest = max(largest, before)
        rows += 1
        start[rows] = count
    # The matrix takes the wider of two types for both arrays, and many solvers of scikit-learn take no int64.
    places = starts[: rows + 1].astype(np.int32 if count <= LARGEST else np.int64)
    X = sparse.csr_array((values[:count], columns[:count], places), (rows, largest + 1))
    return X, as_integers(labels[:rows])


cdef Py_ssize_t count_of(bytes byte, bytes text) except -1:
    # `bytes.count` takes ten times as long for what is frequent.
    return np.count_nonzero(np.frombuffer(text, np.uint8) == ord(byte))


cdef as_integers(numbers):
    whole = numbers.astype(np.int64) if (np.abs(numbers) < 2.0**53).all() else numbers
    return whole if (whole == numbers).all() else numbers


cdef int refuse(name, Py_ssize_t line, str why) except -1:
    raise ValueError(f"{name}:{line}: not svmlight: {why}")


cdef inline bint is_digit(char byte) noexcept:
    return c"0" <= byte <= c"9"


cdef inline bint is_blank(char byte) noexcept:
    return byte == c" " or byte == c"\t" or byte == c"\r"


cdef inline bint ends_row(char byte) noexcept:
    return byte == c"\n" or byte == c"#" or byte == 0


cdef inline const char* after_blanks(const char* at) noexcept:
    while is_blank(at[0]):
        at += 1
    return at


cdef const char* after_comment(const char* at, const char* end) noexcept:
    at = <const char*> memchr(at, c"\n", end - at)
    return end if at == NULL else at


cdef inline const char* after_index(const char* at, int32_t* index) noexcept:
    """Read an index and its colon; return NULL if there is none."""
    cdef const char* first = at
    cdef int64_t found = 0
    while is_digit(at[0]) and found <= LARGEST:
        found = 10 * found + (at[0] - c"0")
        at += 1
    index[0] = <int32_t> found
    return at + 1 if at != first and at[0] == c":" and found <= LARGEST else NULL


cdef inline const char* number(const char* at, double* value) except? NULL:
    """Read a number that is a word, or ends one; return NULL if it is none, or not finite."""
    cdef const char* here = at
    cdef int digits = 0, decimals = 0
    cdef uint64_t integer = 0
    if is_digit(at[0]) and (is_blank(at[1]) or ends_row(at[1])):  # as most numbers in files of words and categories
        value[0] = at[0] - c"0"
        return at + 1
    if here[0] == c"-" or here[0] == c"+":
        here += 1
    while is_digit(here[0]) and digits <= EXACT:
        integer = 10 * integer + (here[0] - c"0")
        here += 1
        digits += 1
    if here[0] == c".":
        here += 1
        while is_digit(here[0]) and digits <= EXACT:
            integer = 10 * integer + (here[0] - c"0")
            here += 1
            digits += 1
            decimals += 1
    if not (0 < digits <= EXACT and (is_blank(here[0]) or ends_row(here[0]))):
        return other_number(at, value)
    # The quotient of two numbers that are exact is the double that is nearest to the text.
    value[0] = <double> integer / POWERS_OF_10[decimals] if decimals else <double> integer
    if at[0] == c"-":
        value[0] = -value[0]
    return here


cdef const char* other_number(const char* at, double* value) except? NULL:
    """Read a number of any length, as Python does."""
    cdef const char* here = after_sign(at)
    cdef const char* first = here
    cdef const char* point
    cdef char* end
    # `float` also takes 1_5, inf, and digits of other scripts.
    here = point = after_digits(here)
    if here[0] == c".":
        here = after_digits(here + 1)
    if point == first and here - point < 2:  # no digit on either side of the point
        return NULL
    if here[0] == c"e" or here[0] == c"E":
        first = after_sign(here + 1)
        here = after_digits(first)
        if here == first:
            return NULL
    if not (is_blank(here[0]) or ends_row(here[0])):
        return NULL
    value[0] = PyOS_string_to_double(at, &end, NULL)
    return here if isfinite(value[0]) else NULL


cdef inline const char* after_sign(const char* at) noexcept:
    return at + 1 if at[0] == c"-" or at[0] == c"+" else at


cdef inline const char* after_digits(const char* at) noexcept:
    while is_digit(at[0]):
        at += 1
    return at


cdef str word(const char* at):
    """Return the text up to the next blank for an error, a character for each byte, and cut after 80 of them."""
    cdef Py_ssize_t length = 0
    while length < 80 and not (is_blank(at[length]) or ends_row(at[length])):
        length += 1
    text = at[:length].decode("latin-1")
    return text if is_blank(at[length]) or ends_row(at[length]) else text + "..."
