"""How an example is read: where features are taken from a dict, checked and refused."""

from zlib import crc32

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_CheckExact
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from river_margins.core.dict_walk cimport DictWalk, dict_walk, dict_walk_known, dict_walk_next, dict_walk_suits, no_key
from river_margins.core.kernels cimport dot
from river_margins.core.vocabulary cimport Vocabulary


cdef Py_ssize_t MOST_GUESSES = 4096


class _Intercept:
    """The name of the constant feature: equal to nothing a record can hold."""

    def __repr__(self):
        return "INTERCEPT"

    def __reduce__(self):
        return "INTERCEPT"


INTERCEPT = _Intercept()


cdef class Row:
    """One example, gathered: known features by index, new ones by name, and the score of each block.

    New features enter the vocabulary only when the learner really moves, so that reading an example changes nothing.
    `index` and `value` are the row's own arrays, or those of the batch it is in. `straight` says that a dict was read in
    one stretch: its values lie here in its order. `consecutive` says that the indices are 0, 1, 2 ... `norm2` is |x|², and
    `size` the |w|² of the space that scored it.
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
        # `own_value` holds known features from its start and new ones from its middle.
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
        # With its hash, for hashing may run anybody's code, and a new feature is admitted when nothing may fail any more.
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
        """Make room for what a space computes of the row beside its scores, such as its kernel with each support."""
        if count <= self.evaluation_room:
            return 0
        cdef double* evaluations = <double*> realloc(self.evaluations, 2 * count * sizeof(double))
        if evaluations == NULL:
            raise MemoryError()
        self.evaluations = evaluations
        self.evaluation_room = 2 * count
        return 0

    cdef void finish(self, Py_ssize_t known, const int32_t* index, const double* value, bint consecutive) noexcept:
        """The row is these known features and the fresh ones it has."""
        self.known = known
        self.index = index
        self.value = value
        self.consecutive = consecutive and not self.fresh
        self.norm2 = dot(value, value, known)
        if self.fresh:
            self.norm2 += dot(self.own_value + self.capacity, self.own_value + self.capacity, self.fresh)


cdef class Reader:
    """Turns examples into rows: feature names become indices, in the order in which they were learned.

    Parameters
    ----------
    intercept
        Whether every row has a constant feature, under index 0.
    max_features
        Hash the features into so many buckets, or None.
    constant
        The value of the constant feature.
    """

    def __init__(self, bint intercept=False, max_features=None, double constant=1.0):
        self.vocabulary = Vocabulary()
        self.intercept = intercept
        self.max_features = max_features
        self.constant = constant
        if intercept:
            self.vocabulary.add(INTERCEPT, hash(INTERCEPT))

    def __dealloc__(self):
        free(self.guesses)
        free(self.expected)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.guess_count * (sizeof(int32_t) + sizeof(PyObject*))

    cdef Py_ssize_t size(self) noexcept:
        """The number of features known, the constant one included."""
        return PyList_GET_SIZE(self.vocabulary.keys)

    cdef list features(self):
        """The features known, without the constant one."""
        return self.vocabulary.keys[1 if self.intercept else 0:]

    cdef int learn_features(self, features) except -1:
        """Take over the features of a saved reader."""
        for key in features:
            if self.vocabulary.find(key) >= 0:
                raise ValueError(f"feature {key!r} stands twice")
            self.vocabulary.add(key, self.vocabulary.sought)
        return 0

    cdef int gather(self, Row row, object x) except -1:
        return self.gather_dict(row, self.features_of(x))

    cdef dict features_of(self, object x):
        """The mapping x as a dict that can be walked, hashed into buckets where they are wanted."""
        cdef dict features
        if type(x) is dict and dict_walk_suits(x):
            features = x
        elif hasattr(x, "keys"):
            features = {key: x[key] for key in x.keys()}
        else:
            raise TypeError(f"a dict of features is needed, not a {type(x).__name__}")
        return features if self.max_features is None else buckets(features, self.max_features)

    cdef Py_ssize_t begin(self, Row row, Py_ssize_t length) except -1:
        """Make the row ready for so many features; the constant one, if there is one, is its first."""
        row.reserve(length + 1)
        row.forget_fresh()
        row.straight = False
        if not self.intercept:
            return 0
        row.own_index[0] = 0
        row.own_value[0] = self.constant
        return 1

    cdef int gather_dict(self, Row row, dict x) except -1:
        # Streams mostly repeat their keys in the same order: the guess for a position is usually right, and a comparison
        # is all the look-up it takes. One entry at a time is looked at more closely where it is not. The keys expected
        # are the vocabulary's, which keeps them alive.
        cdef Py_ssize_t length = len(x), position = 0, known = self.begin(row, length), run
        cdef int32_t index
        cdef double value
        self.expect(length)
        cdef DictWalk walk = dict_walk(x)
        while position < length:
            run = dict_walk_known(
                &walk, self.expected + position, min(length, self.guess_count) - position, row.own_value + known
            )
            memcpy(row.own_index + known, self.guesses + position, run * sizeof(int32_t))
            position += run
            known += run
            row.straight = run == length
            if position == length or not dict_walk_next(&walk):
                break
            # From here on anybody's code may run, and take the entry out of the dict: hold on to it.
            key, item = <object> walk.key, <object> walk.value
            value = number(key, item)
            index = self.look_up(key, position)
            position += 1
            if index >= 0:
                row.own_index[known] = index
                row.own_value[known] = value
                known += 1
            else:
                row.add_fresh(key, self.vocabulary.sought, value)
        row.finish(known, row.own_index, row.own_value, row.straight and length <= self.in_order)
        if not isfinite(row.norm2):
            self.refuse_non_finite(row)
        return 0

    cdef int expect(self, Py_ssize_t length) except -1:
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
        for position in range(self.guess_count, count):
            guesses[position] = -1
            expected[position] = no_key()
        self.guess_count = count
        return 0

    cdef int32_t look_up(self, object key, Py_ssize_t position) except -2:
        cdef int32_t index = self.vocabulary.find(key)
        if index >= 0 and position < self.guess_count:
            self.guesses[position] = index
            self.expected[position] = <PyObject*> PyList_GET_ITEM(self.vocabulary.keys, index)
            self.in_order = min(self.in_order, position)
            while self.in_order < self.guess_count and self.guesses[self.in_order] == self.in_order + self.intercept:
                self.in_order += 1
        return index

    cdef int refuse_non_finite(self, Row row) except -1:
        # Finite values whose squares overflow are no fault of the record: scoring may go on, a move is refused later.
        cdef Py_ssize_t i
        for i in range(row.known):
            if not isfinite(row.value[i]):
                refuse(self.vocabulary.keys[row.index[i]], row.value[i])
        for i in range(row.fresh):
            if not isfinite(row.own_value[row.capacity + i]):
                refuse(row.fresh_keys[i], row.own_value[row.capacity + i])
        return 0

    cdef int admit(self, Row row) except -1:
        """Give the row's new features an index each."""
        cdef Py_ssize_t i
        for i in range(row.fresh):
            row.own_index[row.known] = self.vocabulary.add(row.fresh_keys[i], row.fresh_hash[i])
            row.own_value[row.known] = row.own_value[row.capacity + i]
            row.known += 1
        row.forget_fresh()
        return 0


cdef double number(object key, object value) except? -1.0:
    """The value of a feature, or the error a user can act on."""
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if isinstance(value, (str, bytes)):
        raise ValueError(
            f"feature {key!r} is the text {value!r}: encode it first, with river.preprocessing.OneHotEncoder, "
            "OrdinalEncoder or FeatureHasher"
        )
    try:
        return PyFloat_AsDouble(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"feature {key!r} is {value!r}, of type {type(value).__name__}: a number is needed") from error


cdef int refuse(object key, double value) except -1:
    raise ValueError(f"feature {key!r} is {value}: drop it, or fill it with river.preprocessing.StatImputer")


cdef dict buckets(dict x, Py_ssize_t count):
    """Hash the features into `count` buckets, by a hash that is the same in every process; what collides adds up."""
    cdef dict sums = {}
    for key, value in x.items():
        name = key if type(key) is str else repr(key)
        bucket = crc32(name.encode("utf-8", "surrogatepass")) % count
        sums[bucket] = sums.get(bucket, 0.0) + finite(key, value)
    return sums


cdef double finite(object key, object value) except? -1.0:
    cdef double result = number(key, value)
    if not isfinite(result):
        refuse(key, result)
    return result
