/* PyDict_Next, inlined.

   The call of PyDict_Next takes five to eight times as long as the reading itself. Here one step takes a few instructions,
   over the entries as a header of the interpreter declares them. Versions of Python on which this has not been tried,
   free-threaded builds and RIVER_MARGINS_PORTABLE_DICT_WALK (for benchmarks) call PyDict_Next.

   A dict may change during the walk, as with PyDict_Next: the walk ends if the table was replaced, and it skips entries
   that were removed. */

#ifndef RIVER_MARGINS_DICT_WALK_H
#define RIVER_MARGINS_DICT_WALK_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The expected key where there is no guess. No key of a dict is equal to it. */
static inline PyObject *no_key(void)
{
    static PyObject nothing;
    return &nothing;
}

/* Equal keys are mostly the same object, but a parser may make new strings for each record, and a loop new integers. Strings
   in a dict have their hash, so it is compared first. */
static inline int same_key(PyObject *key, PyObject *expected)
{
    if (key == expected)
        return 1;
    if (key == NULL)
        return 0;
    if (PyLong_CheckExact(key) && PyLong_CheckExact(expected))
        return PyObject_RichCompareBool(key, expected, Py_EQ); /* of integers: it runs no code of the user, and cannot fail */
    if (!PyUnicode_CheckExact(key) || !PyUnicode_CheckExact(expected))
        return 0;
    return ((PyASCIIObject *)key)->hash == ((PyASCIIObject *)expected)->hash
        && PyUnicode_GET_LENGTH(key) == PyUnicode_GET_LENGTH(expected)
        && PyUnicode_KIND(key) == PyUnicode_KIND(expected)
        && memcmp(PyUnicode_DATA(key), PyUnicode_DATA(expected), PyUnicode_GET_LENGTH(key) * PyUnicode_KIND(key)) == 0;
}

static inline int plain_number(PyObject *item, double *value)
{
    if (PyFloat_CheckExact(item)) {
        *value = PyFloat_AS_DOUBLE(item);
        return 1;
    }
    if (PyLong_CheckExact(item) || PyBool_Check(item)) {
        *value = PyLong_AsDouble(item);
        if (*value != -1.0 || !PyErr_Occurred())
            return 1;
        PyErr_Clear(); /* too large for a double: `as_float` raises the error */
    } else if (PyFloat_Check(item)) { /* of a subclass, such as np.float64 */
        *value = PyFloat_AS_DOUBLE(item);
        return 1;
    }
    return 0;
}

#if !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION) && PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 \
    && !defined(RIVER_MARGINS_PORTABLE_DICT_WALK)

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* 3.12 declares it twice: as a macro out here, as a function in there */
#include "internal/pycore_dict.h"
#undef Py_BUILD_CORE
#endif

typedef struct {
    PyObject *key, *value;
    PyDictObject *dict;
    PyDictKeysObject *table;
    char *entry, *end;
    Py_ssize_t stride, to_key;
} DictWalk;

/* Dicts that share their keys (those of instances) have their values elsewhere: copy these first. */
static inline int dict_walk_suits(PyObject *x)
{
    return ((PyDictObject *)x)->ma_values == NULL;
}

static inline DictWalk dict_walk(PyObject *x)
{
    DictWalk walk;
    walk.key = walk.value = NULL;
    walk.dict = (PyDictObject *)x;
    walk.table = walk.dict->ma_keys;
    if (DK_IS_UNICODE(walk.table)) {
        walk.entry = (char *)DK_UNICODE_ENTRIES(walk.table);
        walk.stride = sizeof(PyDictUnicodeEntry);
        walk.to_key = offsetof(PyDictUnicodeEntry, me_key);
    } else {
        walk.entry = (char *)DK_ENTRIES(walk.table);
        walk.stride = sizeof(PyDictKeyEntry);
        walk.to_key = offsetof(PyDictKeyEntry, me_key);
    }
    walk.end = walk.entry + walk.table->dk_nentries * walk.stride;
    return walk;
}

static inline int dict_walk_next(DictWalk *walk)
{
    /* In both kinds of entry the value follows the key. */
    while (walk->entry != walk->end && walk->dict->ma_keys == walk->table) {
        PyObject **pair = (PyObject **)(walk->entry + walk->to_key);
        walk->entry += walk->stride;
        if (pair[1] != NULL) {
            walk->key = pair[0];
            walk->value = pair[1];
            return 1;
        }
    }
    return 0;
}

/* The fast part of the walk: while the keys are the expected ones and the items are plain numbers, fill `value`. Stop before
   the first other entry. No code of the user runs here. A removed entry, such as a label taken out of the record, has no
   key: skip it. */
static inline Py_ssize_t dict_walk_known(DictWalk *walk, PyObject *const *expected, Py_ssize_t limit, double *value)
{
    const char *entry = walk->entry + walk->to_key;
    const Py_ssize_t stride = walk->stride;
    Py_ssize_t known = 0, left = (walk->end - walk->entry) / stride;

    if (walk->dict->ma_keys != walk->table)
        return 0;
    if (limit > left)
        limit = left;
    for (; known < limit; entry += stride) {
        PyObject *const *pair = (PyObject *const *)entry;
        if (same_key(pair[0], expected[known]) && plain_number(pair[1], &value[known])) {
            known++;
        } else if (pair[1] == NULL) {
            if (limit > --left)
                limit = left;
        } else {
            break;
        }
    }
    walk->entry = (char *)entry - walk->to_key;
    return known;
}

/* A dict with the keys of x, in their order, and new values. Copying x and filling it again takes no look-ups. */
static inline PyObject *dict_refilled(PyObject *x, const double *value)
{
    PyObject *copy = PyDict_Copy(x);
    DictWalk walk;

    if (copy == NULL)
        return NULL;
    walk = dict_walk(copy);
    while (dict_walk_next(&walk)) {
        PyObject **slot = (PyObject **)(walk.entry - walk.stride + walk.to_key) + 1;
        PyObject *fresh = PyFloat_FromDouble(*value++);
        if (fresh == NULL) {
            Py_DECREF(copy);
            return NULL;
        }
        Py_SETREF(*slot, fresh);
    }
    return copy;
}

#else

typedef struct {
    PyObject *key, *value, *dict;
    Py_ssize_t position;
} DictWalk;

static inline int dict_walk_suits(PyObject *x)
{
    return 1;
}

static inline DictWalk dict_walk(PyObject *x)
{
    DictWalk walk = {NULL, NULL, x, 0};
    return walk;
}

static inline int dict_walk_next(DictWalk *walk)
{
    return PyDict_Next(walk->dict, &walk->position, &walk->key, &walk->value);
}

static inline Py_ssize_t dict_walk_known(DictWalk *walk, PyObject *const *expected, Py_ssize_t limit, double *value)
{
    Py_ssize_t known, ahead = walk->position;
    PyObject *key, *item;

    for (known = 0; known < limit && PyDict_Next(walk->dict, &ahead, &key, &item); known++) {
        if (!same_key(key, expected[known]) || !plain_number(item, &value[known]))
            break;
        walk->position = ahead;
    }
    return known;
}

static inline PyObject *dict_refilled(PyObject *x, const double *value)
{
    PyObject *filled = PyDict_New(), *key, *old;
    Py_ssize_t position = 0;

    while (filled != NULL && PyDict_Next(x, &position, &key, &old)) {
        PyObject *fresh = PyFloat_FromDouble(*value++);
        if (fresh == NULL || PyDict_SetItem(filled, key, fresh) < 0)
            Py_CLEAR(filled);
        Py_XDECREF(fresh);
    }
    return filled;
}

#endif
#endif
