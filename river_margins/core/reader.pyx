"""Reading examples: the features of a dict, checked, as indices and values."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_Check
from cpython.object cimport PyObject, PyObject_Hash, PyObject_RichCompareBool, Py_EQ
from libc.math cimport isfinite
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from river_margins.core.dict_walk cimport (
    DictWalk, dict_walk, dict_walk_known, dict_walk_next, dict_walk_suits, no_key, same_key,
)
from river_margins.core.feature_hash cimport HASH_VERSION, feature_hash
from river_margins.core.kernels cimport dot
from river_margins.core.vocabulary cimport Vocabulary

import numpy as np

from river_margins.core.checks import abridged


cdef Py_ssize_t MOST_GUESSES = 4096
cdef Py_ssize_t CACHED = 4096  # a power of 2
cdef object NO_FEATURE = object()
# Of these, numpy makes a number that is none: the nanoseconds of a time, and a complex number without its imaginary part.
cdef tuple NO_NUMBERS = (np.datetime64, np.timedelta64, np.complexfloating)


class _Intercept:
    """The name of the constant feature. No feature of a record is equal to it. It sorts before all other names."""

    def __repr__(self):
        return "INTERCEPT"

    def __reduce__(self):
        return "INTERCEPT"

    def __lt__(self, other):  # else weights could not be sorted by name, nor pairs such as (0.5, "age") with equal numbers
        return other is not self

    def __gt__(self, other):
        return False


INTERCEPT = _Intercept()


cdef class Row:
    """One example: its known features by index, its new ("fresh") features by name, and the score of each block.

    New features enter the vocabulary only when the learner moves, so reading an example changes nothing. `index` and
    `value` point to the row's own arrays or to those of a batch. `in_dict_order` says that the values have the order of the
    dict they come from, `consecutive` that the indices are 0, 1, 2 ... `norm2` is |x|², and `size` the |w|² of the space
    that scored the row.
    """

    def __cinit__(self):
        self.fresh_keys = []

    def __dealloc__(self):
        free(self.own_index)
        free(self.own_value)
        free(self.fresh_hash)
        free(self.scores)
        free(self.evaluations)

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + self.capacity * (sizeof(int32_t) + 2 * sizeof(double) + sizeof(Py_hash_t))
            + (self.blocks + self.evaluation_room) * sizeof(double)
        )

    cdef int reserve(self, Py_ssize_t length) except -1:
        if length <= self.capacity:
            return 0
        # The first half of `own_value` is for known features, the second half for new ones.
        free(self.own_index)
        free(self.own_value)
        free(self.fresh_hash)
        self.own_index = NULL
        self.own_value = NULL
        self.fresh_hash = NULL
        self.capacity = 0
        self.own_index = <int32_t*> malloc(length * sizeof(int32_t))
        self.own_value = <double*> malloc(2 * length * sizeof(double))
        self.fresh_hash = <Py_hash_t*> malloc(length * sizeof(Py_hash_t))
        if self.own_index == NULL or self.own_value == NULL or self.fresh_hash == NULL:
            raise MemoryError()
        self.capacity = length
        return 0

    cdef int add_fresh(self, object key, Py_hash_t hashed, double value) except -1:
        # Keep the hash: computing it may run code of the user, and `add_features` must not fail.
        self.fresh_keys.append(key)
        self.fresh_hash[self.fresh] = hashed
        self.own_value[self.capacity + self.fresh] = value
        self.fresh += 1
        return 0

    cdef int forget_fresh(self) except -1:
        if self.fresh:
            self.fresh = 0
            self.fresh_keys.clear()
        return 0

    cdef int reserve_scores(self, Py_ssize_t blocks) except -1:
        if blocks <= self.blocks:
            return 0
        cdef double* scores = <double*> realloc(self.scores, 2 * blocks * sizeof(double))
        if scores == NULL:
            raise MemoryError()
        self.scores = scores
        self.blocks = 2 * blocks
        return 0

    cdef int reserve_evaluations(self, Py_ssize_t count) except -1:
        """Make room for the numbers that a space computes from the row, such as its kernel with each support."""
        if count <= self.evaluation_room:
            return 0
        cdef double* evaluations = <double*> realloc(self.evaluations, 2 * count * sizeof(double))
        if evaluations == NULL:
            raise MemoryError()
        self.evaluations = evaluations
        self.evaluation_room = 2 * count
        return 0

    cdef void finish(self, Py_ssize_t known, const int32_t* index, const double* value, bint consecutive) noexcept:
        """Set the known features of the row; its new features are already set."""
        self.known = known
        self.index = index
        self.value = value
        self.consecutive = consecutive and not self.fresh
        self.norm2 = dot(value, value, known)
        if self.fresh:
            self.norm2 += dot(self.own_value + self.capacity, self.own_value + self.capacity, self.fresh)


cdef class Reader:
    """Turn examples into rows. Feature names become indices, in the order in which they were learned.

    Parameters
    ----------
    intercept
        Whether every row has a constant feature, with index 0.
    max_features
        The number of buckets to hash features into, or None. The vocabulary then has the numbers of the buckets.
    constant
        The value of the constant feature.
    signed
        Whether half of the hashed features change their sign, so that collisions cancel on average instead of adding up.
    """

    def __init__(self, bint intercept=False, max_features=None, double constant=1.0, bint signed=True):
        self.vocabulary = Vocabulary()
        self.intercept = intercept
        self.max_features = max_features
        self.constant = constant
        self.signed = signed
        self.buckets = 0 if max_features is None else min(max_features, 1 << 63)
        self.guessed_keys, self.cached_keys = [], []
        if intercept:
            self.vocabulary.add(INTERCEPT, hash(INTERCEPT))

    def __dealloc__(self):
        free(self.guesses)
        free(self.expected)
        free(self.signs)
        free(self.cached)
        free(self.places)

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + self.guess_count * (sizeof(int32_t) + sizeof(PyObject*))
            + len(self.guessed_keys) * sizeof(double)
            + len(self.cached_keys) * sizeof(Bucket)
            + self.place_room * sizeof(Place)
        )

    cdef Py_ssize_t size(self) noexcept:
        """Return the number of known features, with the constant one."""
        return PyList_GET_SIZE(self.vocabulary.keys)

    cdef list features(self):
        """Return the known features, without the constant one."""
        return self.vocabulary.keys[1 if self.intercept else 0:]

    cdef bint reads_as(self, Reader other) except -1:
        """Return whether a row without new features that `other` has filled is the one that this reader would fill."""
        cdef Py_ssize_t agreed, size = other.size()
        if self is other:
            return True
        if self.compared is not other:
            if self.intercept != other.intercept or self.constant != other.constant or self.buckets != other.buckets \
                    or self.signed != other.signed:
                return False
            self.compared, self.agreed = other, 0
        agreed = self.agreed
        if agreed < size:
            # Features are only ever added, so each pair is compared once.
            while agreed < min(size, self.size()) and PyObject_RichCompareBool(
                self.vocabulary.keys[agreed], other.vocabulary.keys[agreed], Py_EQ
            ):
                agreed += 1
            if self.compared is other:  # comparing may run code of the user, and other threads
                self.agreed = agreed
        return agreed >= size

    cdef int learn_features(self, features) except -1:
        """Add the features of a saved reader, in order."""
        for key in features:
            if self.vocabulary.find(key) >= 0:
                raise ValueError(f"feature {key!r} is there twice")
            self.vocabulary.add(key, self.vocabulary.missing_hash)
        return 0

    cdef int fill_row(self, Row row, object x) except -1:
        if self.buckets:
            return self.fill_row_from_buckets(row, self.features_of(x))
        return self.fill_row_from_dict(row, self.features_of(x))

    cdef dict features_of(self, object x):
        """Return x as a dict that `DictWalk` can read."""
        if type(x) is dict and dict_walk_suits(x):
            return x
        if hasattr(x, "keys"):
            return {key: x[key] for key in x.keys()}
        raise TypeError(f"a dict of features is needed, not a {type(x).__name__}")

    cdef Py_ssize_t start_row(self, Row row, Py_ssize_t length) except -1:
        """Clear the row and make room for `length` features. Return 1 if the constant feature was added, else 0."""
        row.reserve(length + 1)
        row.forget_fresh()
        row.in_dict_order = False
        if not self.intercept:
            return 0
        row.own_index[0] = 0
        row.own_value[0] = self.constant
        return 1

    cdef int fill_row_from_dict(self, Row row, dict x) except -1:
        # Most streams repeat their keys in the same order. So the reader guesses which key comes at each position, and
        # comparing is cheaper than a look-up. Where a guess is wrong, one entry is looked up, and the walk goes on. The
        # vocabulary keeps the expected keys alive.
        cdef Py_ssize_t length = len(x), position = 0, known = self.start_row(row, length), run
        cdef int32_t index
        cdef double value
        self.reserve_guesses(length)
        cdef DictWalk walk = dict_walk(x)
        while position < length:
            run = dict_walk_known(
                &walk, self.expected + position, min(length, self.guess_count) - position, row.own_value + known
            )
            memcpy(row.own_index + known, self.guesses + position, run * sizeof(int32_t))
            position += run
            known += run
            row.in_dict_order = run == length
            if position == length or not dict_walk_next(&walk):
                break
            # The calls below may run code of the user, which may remove this entry from the dict: keep references.
            key, item = <object> walk.key, <object> walk.value
            value = as_float(key, item)
            index = self.look_up(key, position)
            position += 1
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value
                known += 1
            else:
                row.add_fresh(key, self.vocabulary.missing_hash, value)
        row.finish(known, row.own_index, row.own_value, row.in_dict_order and length <= self.guessed_in_order)
        if not isfinite(row.norm2):
            self.refuse_non_finite(row)
        return 0

    cdef int fill_row_from_buckets(self, Row row, dict x) except -1:
        """Fill the row as `fill_row_from_dict` does, with buckets in place of features, each of them once."""
        # All code of the user runs before `merge`, so that no other thread reads a row in between.
        cdef Py_ssize_t length = len(x), position = 0, known = self.start_row(row, length), run, i
        cdef dict fresh = {}
        cdef bint consecutive
        self.reserve_guesses(length)
        cdef DictWalk walk = dict_walk(x)
        while position < length:
            run = dict_walk_known(
                &walk, self.expected + position, min(length, self.guess_count) - position, row.own_value + known
            )
            memcpy(row.own_index + known, self.guesses + position, run * sizeof(int32_t))
            for i in range(run):
                row.own_value[known + i] *= self.signs[position + i]
            position += run
            known += run
            if position == length or not dict_walk_next(&walk):
                break
            key, item = <object> walk.key, <object> walk.value
            self.add_hashed(row, &known, key, as_float(key, item), position, fresh)
            position += 1
        known = self.merge(row, known, &consecutive)
        row.finish(known, row.own_index, row.own_value, consecutive)
        if not isfinite(row.norm2):
            for key, item in x.items():
                if not isfinite(as_float(key, item)):
                    refuse(key, as_float(key, item))
            self.refuse_non_finite(row)  # values that are finite, but not their sum
        return 0

    cdef int add_hashed(self, Row row, Py_ssize_t* known, object key, double value, Py_ssize_t position, dict fresh) except -1:
        """Hash a feature and add it to the row; guess it at this position of the next row. `fresh` has the new buckets."""
        cdef Py_ssize_t place = PyObject_Hash(key) & (CACHED - 1)
        cdef uint64_t hashed
        cdef Bucket bucket = self.cached[place]
        if not same_key(<PyObject*> key, PyList_GET_ITEM(self.cached_keys, place)):
            feature_hash(key, &hashed)
            number = (hashed >> 1) % self.buckets
            bucket = Bucket(self.vocabulary.find(number), -1.0 if self.signed and hashed & 1 else 1.0)
            if bucket.index < 0:
                if number not in fresh:
                    fresh[number] = row.fresh
                    row.add_fresh(number, self.vocabulary.missing_hash, 0.0)
                row.own_value[row.capacity + <Py_ssize_t> fresh[number]] += bucket.sign * value
                return 0
            self.cached[place] = bucket
            self.cached_keys[place] = key
        if position < self.guess_count:
            self.guesses[position], self.signs[position] = bucket.index, bucket.sign
            self.expected[position] = <PyObject*> key
            self.guessed_keys[position] = key
        row.own_index[known[0]] = bucket.index
        row.own_value[known[0]] = bucket.sign * value
        known[0] += 1
        return 0

    cdef Py_ssize_t merge(self, Row row, Py_ssize_t known, bint* consecutive) except -1:
        """Add up the known features of one bucket; return how many buckets are left, and set whether they are 0, 1, 2 ..."""
        cdef Py_ssize_t i, kept = 0, room = self.size()
        cdef Place* place
        if room > self.place_room:
            place = <Place*> realloc(self.places, 2 * room * sizeof(Place))
            if place == NULL:
                raise MemoryError()
            self.places = place
            for i in range(self.place_room, 2 * room):
                place[i] = Place(0, 0)
            self.place_room = 2 * room
        self.rows_read += 1
        consecutive[0] = True
        for i in range(known):
            place = self.places + row.own_index[i]
            if place.row == self.rows_read:
                row.own_value[place.position] += row.own_value[i]
                continue
            place[0] = Place(self.rows_read, kept)
            row.own_index[kept], row.own_value[kept] = row.own_index[i], row.own_value[i]
            consecutive[0] = consecutive[0] and row.own_index[kept] == kept
            kept += 1
        return kept

    cdef object hash_state(self):
        """Return the part of a learner's state that says how its features are hashed."""
        return {"feature_hash": HASH_VERSION} if self.buckets else {}

    cdef int check_hash_state(self, state) except -1:
        if self.buckets and state.get("feature_hash") != HASH_VERSION:
            raise ValueError(
                f"its features were hashed by version {state.get('feature_hash', 1)} of the hash, and `max_features` uses version "
                f"{HASH_VERSION} now: its weights would belong to other features, so train it anew"
            )
        return 0

    cdef int reserve_guesses(self, Py_ssize_t length) except -1:
        cdef Py_ssize_t position, count = min(length, MOST_GUESSES)
        if count <= self.guess_count:
            return 0
        cdef int32_t* guesses = <int32_t*> realloc(self.guesses, count * sizeof(int32_t))
        if guesses == NULL:
            raise MemoryError()
        self.guesses = guesses
        cdef PyObject** expected = <PyObject**> realloc(self.expected, count * sizeof(PyObject*))
        if expected == NULL:
            raise MemoryError()
        self.expected = expected
        if self.buckets:
            self.reserve_signs(count)
        for position in range(self.guess_count, count):
            guesses[position] = -1
            expected[position] = no_key()
        self.guess_count = count
        return 0

    cdef int reserve_signs(self, Py_ssize_t count) except -1:
        cdef double* signs = <double*> realloc(self.signs, count * sizeof(double))
        if signs == NULL:
            raise MemoryError()
        self.signs = signs
        if self.cached == NULL:
            self.reserve_cache()
        self.guessed_keys.extend([None] * (count - len(self.guessed_keys)))
        return 0

    cdef int reserve_cache(self) except -1:
        self.cached = <Bucket*> malloc(CACHED * sizeof(Bucket))
        if self.cached == NULL:
            raise MemoryError()
        self.cached_keys = [NO_FEATURE] * CACHED
        return 0

    cdef int32_t look_up(self, object key, Py_ssize_t position) except -2:
        cdef int32_t index = self.vocabulary.find(key)
        # A right guess stays, as of a new object for an equal tuple. To count again behind it would take the square of the
        # number of features.
        if index >= 0 and position < self.guess_count and self.guesses[position] != index:
            self.guesses[position] = index
            self.expected[position] = <PyObject*> PyList_GET_ITEM(self.vocabulary.keys, index)
            self.guessed_in_order = min(self.guessed_in_order, position)
            while (
                self.guessed_in_order < self.guess_count
                and self.guesses[self.guessed_in_order] == self.guessed_in_order + self.intercept
            ):
                self.guessed_in_order += 1
        return index

    cdef int refuse_non_finite(self, Row row) except -1:
        # If only the squares of finite values overflow, scoring is still possible, and a move is refused later.
        cdef Py_ssize_t i
        for i in range(row.known):
            if not isfinite(row.value[i]):
                refuse(self.vocabulary.keys[row.index[i]], row.value[i])
        for i in range(row.fresh):
            if not isfinite(row.own_value[row.capacity + i]):
                refuse(row.fresh_keys[i], row.own_value[row.capacity + i])
        return 0

    cdef int add_features(self, Row row) except -1:
        """Add the new features of the row to the vocabulary, and to the known features of the row."""
        cdef Py_ssize_t i
        for i in range(row.fresh):
            row.own_index[row.known] = self.vocabulary.add(row.fresh_keys[i], row.fresh_hash[i])
            row.own_value[row.known] = row.own_value[row.capacity + i]
            row.known += 1
        row.forget_fresh()
        return 0


cdef double as_float(object key, object value) except? -1.0:
    """Return the value of a feature as a float; raise ValueError, saying what to do, if it is not a number."""
    if PyFloat_Check(value):  # also one of numpy
        return PyFloat_AS_DOUBLE(value)
    if isinstance(value, (str, bytes)):
        raise ValueError(f"feature {key!r} is the text {abridged(value)}: {advice_for_text(value)}")
    if not PyLong_Check(value) and isinstance(value, NO_NUMBERS):
        raise ValueError(no_number(key, value))
    try:
        return PyFloat_AsDouble(value)
    except OverflowError as error:
        raise ValueError(f"feature {key!r} is {abridged(value)}, which is too large for a float: divide it first") from error
    except (TypeError, ValueError) as error:
        raise ValueError(no_number(key, value)) from error


cdef object number_of = float  # a call of `float` itself would leave an unused number in C, and a warning


cdef str advice_for_text(object text):
    """Return what to do with a text in the place of a number."""
    if isinstance(text, bytes):
        return "decode it first, as with decode(), which makes a str of it, or leave it out"
    try:
        number = number_of(text.replace(",", ".", 1))
    except ValueError:
        return "encode it in a step before, such as OneHotEncoder() or FeatureHasher() of river_margins, or leave it out"
    if number != number:
        return "leave it out, or fill it in: it stands for a missing value"
    if not isfinite(<double> number):  # what float() makes of it would be refused, too
        return "leave it out: a finite number is needed"
    if "," in text:
        return "convert it to a number first, with a decimal point in place of the comma"
    return "convert it to a number first, as with float(), or encode it as a category with river_margins.OneHotEncoder()"


cdef str no_number(object key, object value):
    if value is None:
        return f"feature {key!r} is None, and a number is needed: leave it out, or fill it with {imputer_of(key)}"
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas, which need not be there
        return f"feature {key!r} is {value}: leave it out, or write None and fill that with {imputer_of(key)}"
    hint = ", such as its hour or its weekday" if hasattr(value, "isoformat") else ""
    return f"feature {key!r} is {abridged(value)}, of type {type(value).__name__}: a number is needed{hint}"


cdef str imputer_of(object key):
    """Return the step that fills in a feature. It does so for None only, and without such a pair for no feature at all."""
    return f"river.preprocessing.StatImputer(({key!r}, stats.Mean())), or ({key!r}, 'missing') if it is a text"


cdef Reader ANY_READER = Reader()  # whose state plays no part in making a dict of an example


def read_features(x):
    """Return the features of an example as finite floats, for learners in Python; raise the errors of all learners.

    >>> read_features({"a": 1, "b": True})
    {'a': 1.0, 'b': 1.0}
    >>> read_features({"a": float("inf")})
    Traceback (most recent call last):
    ValueError: feature 'a' is inf: leave it out, or write None and fill that with river.preprocessing.StatImputer(('a', stats.Mean())), or ('a', 'missing') if it is a text
    """
    cdef dict found = {}
    cdef double number
    for key, value in ANY_READER.features_of(x).items():
        number = as_float(key, value)
        if not isfinite(number):
            refuse(key, number)
        found[key] = number
    return found


cdef int refuse(object key, double value) except -1:
    raise ValueError(f"feature {key!r} is {value}: leave it out, or write None and fill that with {imputer_of(key)}")
