"""JSON objects read into rows of numbers, without a dict: those with the fields of the object before, in the same order.

All others are left to orjson, and what is read here means the same to orjson.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp

from river_margins.core.reader cimport Row
from river_margins.core.transformed_row cimport TransformedRow


cdef extern from *:
    """
    /* Only the reader is needed, for standard JSON. What is nested deeper is left to orjson. */
    #define YYJSON_DISABLE_WRITER 1
    #define YYJSON_DISABLE_INCR_READER 1
    #define YYJSON_DISABLE_FILE 1
    #define YYJSON_DISABLE_UTILS 1
    #define YYJSON_DISABLE_NON_STANDARD 1
    #define YYJSON_READER_DEPTH_LIMIT 100
    """

cdef extern from "connectors/model/yyjson/yyjson.c":
    ctypedef struct yyjson_alc:
        pass
    ctypedef struct yyjson_doc:
        pass
    ctypedef union yyjson_val_uni:
        uint64_t u64
        int64_t i64
        double f64
        const char* str
    ctypedef struct yyjson_val:
        uint64_t tag
        yyjson_val_uni uni
    uint8_t YYJSON_TYPE_NULL, YYJSON_TYPE_BOOL, YYJSON_TYPE_NUM, YYJSON_TYPE_STR, YYJSON_TYPE_ARR, YYJSON_TYPE_OBJ
    uint8_t YYJSON_SUBTYPE_TRUE, YYJSON_SUBTYPE_UINT, YYJSON_SUBTYPE_SINT, YYJSON_SUBTYPE_REAL
    bint yyjson_alc_pool_init(yyjson_alc* allocator, void* memory, size_t size) nogil
    size_t yyjson_read_max_memory_usage(size_t length, uint64_t flags) nogil
    yyjson_doc* yyjson_read_opts(char* text, size_t length, uint64_t flags, const yyjson_alc* allocator, void* error) nogil
    yyjson_val* yyjson_doc_get_root(yyjson_doc* document) nogil
    uint8_t unsafe_yyjson_get_tag(void* value) nogil
    uint8_t unsafe_yyjson_get_type(void* value) nogil
    size_t unsafe_yyjson_get_len(void* value) nogil
    yyjson_val* unsafe_yyjson_get_first(yyjson_val* container) nogil
    yyjson_val* unsafe_yyjson_get_next(yyjson_val* value) nogil

cdef extern from *:
    """
    /* Cython defines these, too. */
    #undef likely
    #undef unlikely
    """


cdef enum:
    LABEL = -1
    ID = -2
    IGNORED = -3

cdef Py_ssize_t LONGEST = 65_536  # bytes of an object: reading takes 13 times as much memory
cdef Py_ssize_t LONGEST_REST = 1_023  # objects

# The memory in which all rows parse: `fill` keeps the GIL, runs no Python code, and copies what it hands over.
cdef char* memory = NULL
cdef size_t reserved = 0  # bytes


cdef class JsonRows:
    """Reads objects that have the same fields as the one that was shown last, in the same order, and numbers as features.

    After an object that it cannot read it leaves some untried, more of them each time: a vain attempt takes a third of the
    time of orjson.

    Parameters
    ----------
    id, label
        The names of these fields, or None. An id is a text or an integer, and a label neither a list nor an object.
    features
        The names of the features, or None for all other fields. They are numbers, or true and false.

    Attributes
    ----------
    id, label
        Those of the object that was read last, or None.
    row
        Its features, for a model that reads rows.

    >>> rows = JsonRows("id", "label", None)
    >>> rows.read(b'{"id": "r0", "a": 1, "b": 0.5, "label": true}')
    False
    >>> rows.show({"id": "r0", "a": 1, "b": 0.5, "label": True})
    >>> rows.read(b'{"id": "r1", "a": 2, "b": 1.5, "label": true}')  # left untried
    False
    >>> rows.read(b'{"id": "r2", "a": 3, "b": 2.5, "label": false}')
    True
    >>> rows.id, rows.label, rows.features
    ('r2', False, {'a': 3.0, 'b': 2.5})
    """

    def __init__(self, id, label, features):
        self.id_name, self.label_name = id, label
        self.wanted = None if features is None else list(dict.fromkeys(features))
        self.row = TransformedRow()

    def __dealloc__(self):
        free(self.fields)

    @property
    def features(self):
        """The features of the object that was read last."""
        return self.row.as_dict()

    cpdef bint read(self, bytes value, Py_ssize_t start=0) except -1:
        """Read the object that begins at `start`; return False if orjson must read it. Then its fields are to be shown."""
        if self.resting:
            self.resting -= 1
            return False
        if self.count and self.fill(value, start):
            self.rest = 0
            return True
        self.rest = min(2 * self.rest + 1, LONGEST_REST)
        self.resting = self.rest
        return False

    cdef bint fill(self, bytes value, Py_ssize_t start) except -1:
        """Fill the row, id and label from an object; return False if it is another one than was expected."""
        cdef Py_ssize_t i, length = PyBytes_GET_SIZE(value) - start
        cdef yyjson_alc allocator
        cdef yyjson_doc* document
        cdef yyjson_val* name
        cdef yyjson_val* found
        cdef Field* field
        cdef uint8_t kind
        if length > LONGEST:
            return False
        reserve(length)
        yyjson_alc_pool_init(&allocator, memory, reserved)  # nothing has to be freed in it
        document = yyjson_read_opts(PyBytes_AS_STRING(value) + start, length, 0, &allocator, NULL)
        if document == NULL:
            return False
        found = yyjson_doc_get_root(document)
        if unsafe_yyjson_get_type(found) != YYJSON_TYPE_OBJ or <Py_ssize_t> unsafe_yyjson_get_len(found) != self.count:
            return False
        self.id = self.label = None
        name = unsafe_yyjson_get_first(found)
        for i in range(self.count):
            field, found = self.fields + i, name + 1
            if <Py_ssize_t> unsafe_yyjson_get_len(name) != field.length or memcmp(name.uni.str, field.name, field.length):
                return False
            kind = unsafe_yyjson_get_type(found)
            if field.place >= 0:
                if kind != YYJSON_TYPE_NUM and kind != YYJSON_TYPE_BOOL:
                    return False
                self.row.row.own_value[field.place] = number(found)
            elif field.place == LABEL:
                if kind == YYJSON_TYPE_OBJ or kind == YYJSON_TYPE_ARR:
                    return False
                self.label = scalar(found, kind)
            elif field.place == ID:
                if kind != YYJSON_TYPE_STR and kind != YYJSON_TYPE_NULL and not is_integer(found):
                    return False
                self.id = scalar(found, kind)
            name = unsafe_yyjson_get_next(found)
        self.row.unread = True
        return True

    cpdef void show(self, dict fields) except *:
        """Show the object that could not be read right now; the next ones may have the same fields."""
        cdef list names = list(fields), features
        cdef Py_ssize_t i
        if self.resting < self.rest or names == self.names:
            return
        self.count, self.names = 0, names
        features = [name for name in self.wanted or names if name in fields and name not in (self.id_name, self.label_name)]
        if not features:
            return
        self.encoded_names = [name.encode() for name in names]
        cdef Field* room = <Field*> realloc(self.fields, len(names) * sizeof(Field))
        if room == NULL:
            raise MemoryError()
        self.fields = room
        cdef dict places = {name: i for i, name in enumerate(features)}
        places.update({self.id_name: ID, self.label_name: LABEL})
        for i, name in enumerate(self.encoded_names):
            room[i] = Field(PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), places.get(names[i], IGNORED))
        cdef Row row = self.row.row
        row.reserve(len(features))
        for i in range(len(features)):
            row.own_index[i] = i
        row.known, row.index, row.value, self.row.names = len(features), row.own_index, row.own_value, features
        self.count = len(names)


cdef int reserve(size_t length) except -1:
    """Make room to read so many bytes."""
    global memory, reserved
    cdef size_t needed = yyjson_read_max_memory_usage(length, 0)
    if needed > reserved:
        free(memory)
        reserved = 0
        memory = <char*> malloc(needed + needed // 2)
        if memory == NULL:
            raise MemoryError()
        reserved = needed + needed // 2
    return 0


cdef inline bint is_integer(yyjson_val* value) noexcept:
    """Tell whether a value is an integer of 64 bits; a longer one is read as a float."""
    cdef uint8_t tag = unsafe_yyjson_get_tag(value)
    return tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT) or tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT)


cdef inline double number(yyjson_val* value) noexcept:
    """Return a number, or 0 or 1 for false and true, as Python's `float` does for what orjson reads."""
    cdef uint8_t tag = unsafe_yyjson_get_tag(value)
    if tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL):
        return value.uni.f64
    if tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT):
        return <double> value.uni.i64
    if tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT):
        return <double> value.uni.u64
    return tag == (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE)


cdef object scalar(yyjson_val* value, uint8_t kind):
    """Return what is neither a list nor an object, as orjson does."""
    cdef uint8_t tag = unsafe_yyjson_get_tag(value)
    if kind == YYJSON_TYPE_STR:
        return PyUnicode_DecodeUTF8(value.uni.str, unsafe_yyjson_get_len(value), NULL)
    if kind == YYJSON_TYPE_BOOL:
        return tag == (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE)
    if kind == YYJSON_TYPE_NULL:
        return None
    if tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL):
        return value.uni.f64
    return value.uni.i64 if tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT) else value.uni.u64
