"""The supports of a kernel space and their coefficients, as arrays."""

import numpy as np

from libc.math cimport INFINITY, isfinite
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

from river_margins.core.kernels cimport dot


cdef class Expansion:
    """Supports in the order of their age, with a coefficient for each block.

    A support is a sparse row without zeros. `consecutive` says that its indices are 0, 1, 2 ... The caller of `append` fills
    its `norms` (see `KernelFunction.norm`) and its `self_kernels`, the kernel of the support with itself.
    """

    def __cinit__(self):
        self.reserve(4, 16)
        self.starts[0] = 0

    def __dealloc__(self):
        free(self.starts)
        free(self.index)
        free(self.consecutive)
        free(self.value)
        free(self.norms)
        free(self.self_kernels)
        free(self.coefficients)

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + self.room * (sizeof(Py_ssize_t) + sizeof(bint) + (2 + self.stride) * sizeof(double))
            + self.entry_room * (sizeof(int32_t) + sizeof(double))
        )

    cdef Py_ssize_t length(self, Py_ssize_t place) noexcept:
        return self.starts[place + 1] - self.starts[place]

    cdef int reserve(self, Py_ssize_t count, Py_ssize_t entries) except -1:
        """Make room for `count` supports with `entries` features together."""
        if entries > self.entry_room:
            entries = max(entries, 2 * self.entry_room)
            self.index = <int32_t*> grown(self.index, entries * sizeof(int32_t))
            self.value = <double*> grown(self.value, entries * sizeof(double))
            self.entry_room = entries
        if count > self.room:
            count = max(count, 2 * self.room)
            self.starts = <Py_ssize_t*> grown(self.starts, (count + 1) * sizeof(Py_ssize_t))
            self.consecutive = <bint*> grown(self.consecutive, count * sizeof(bint))
            self.norms = <double*> grown(self.norms, count * sizeof(double))
            self.self_kernels = <double*> grown(self.self_kernels, count * sizeof(double))
            self.coefficients = <double*> grown(self.coefficients, count * max(self.stride, 1) * sizeof(double))
            self.room = count
        return 0

    cdef int widen(self, Py_ssize_t stride) except -1:
        """Make room for `stride` blocks. New coefficients are 0."""
        cdef double* coefficients = <double*> malloc(self.room * stride * sizeof(double))
        cdef Py_ssize_t i
        if coefficients == NULL:
            raise MemoryError()
        memset(coefficients, 0, self.room * stride * sizeof(double))
        for i in range(self.count if self.stride else 0):
            memcpy(coefficients + i * stride, self.coefficients + i * self.stride, self.stride * sizeof(double))
        free(self.coefficients)
        self.coefficients = coefficients
        self.stride = stride
        return 0

    cdef void append(self, const int32_t* index, const double* value, Py_ssize_t length) noexcept:
        """Add a row with coefficients of 0. There must be room for it."""
        cdef Py_ssize_t i, start = self.starts[self.count], end = self.starts[self.count]
        self.consecutive[self.count] = True
        for i in range(length):
            if value[i] != 0.0:
                self.consecutive[self.count] &= index[i] == end - start
                self.index[end] = index[i]
                self.value[end] = value[i]
                end += 1
        memset(self.coefficients + self.count * self.stride, 0, self.stride * sizeof(double))
        self.count += 1
        self.starts[self.count] = end

    cdef Supports supports(self) noexcept:
        """Return where the supports are, as long as none is added or removed."""
        return Supports(self.count, self.starts, self.index, self.consecutive, self.value, self.norms)

    cdef void remove(self, Py_ssize_t place) noexcept:
        cdef Py_ssize_t i, length = self.length(place), end = self.starts[self.count]
        cdef Py_ssize_t after = self.starts[place + 1], behind = self.count - place - 1, stride = self.stride
        memmove(self.index + after - length, self.index + after, (end - after) * sizeof(int32_t))
        memmove(self.value + after - length, self.value + after, (end - after) * sizeof(double))
        memmove(self.consecutive + place, self.consecutive + place + 1, behind * sizeof(bint))
        memmove(self.norms + place, self.norms + place + 1, behind * sizeof(double))
        memmove(self.self_kernels + place, self.self_kernels + place + 1, behind * sizeof(double))
        memmove(
            self.coefficients + place * stride, self.coefficients + (place + 1) * stride, behind * stride * sizeof(double)
        )
        for i in range(place, self.count):
            self.starts[i] = self.starts[i + 1] - length
        self.count -= 1

    cdef void clear(self) noexcept:
        self.count = 0

    cdef double total(self, const double* evaluations, Py_ssize_t block) noexcept:
        """Return the sum over all supports of coefficient times evaluation."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        if self.stride == 1:
            return dot(self.coefficients, evaluations, self.count)
        for i in range(self.count):
            total += self.coefficients[i * self.stride + block] * evaluations[i]
        return total

    cdef dict arrays(self, Py_ssize_t blocks):
        """Return all supports as arrays, for a state."""
        cdef Py_ssize_t i, block, entries = self.starts[self.count]
        return {
            "lengths": np.array([self.length(i) for i in range(self.count)], dtype=np.int64),
            "indices": np.array([self.index[i] for i in range(entries)], dtype=np.int32),
            "values": np.array([self.value[i] for i in range(entries)], dtype=np.float64),
            "coefficients": np.array(
                [self.coefficients[i * self.stride + block] for i in range(self.count) for block in range(blocks)],
                dtype=np.float64,
            ).reshape(self.count, blocks),
        }


def arrays_of(state, features):
    """Return the arrays of a state; raise ValueError if they do not fit together."""
    lengths = np.ascontiguousarray(state["lengths"], dtype=np.int64)
    indices = np.ascontiguousarray(state["indices"], dtype=np.int32)
    values = np.ascontiguousarray(state["values"], dtype=np.float64)
    coefficients = np.ascontiguousarray(state["coefficients"], dtype=np.float64)
    if not (np.isfinite(values).all() and np.isfinite(coefficients).all() and isfinite(state["scale"])):
        raise ValueError("values, coefficients and scale must be finite")
    if not 0 <= state["size"] < INFINITY:
        raise ValueError(f"size must be finite and at least 0, not {state['size']}")
    if lengths.ndim != 1 or indices.ndim != 1 or values.ndim != 1 or coefficients.ndim != 2:
        raise ValueError("supports must be lists of numbers")
    if ((lengths < 0) | (lengths > len(indices))).any() or not lengths.sum() == len(indices) == len(values):
        raise ValueError(f"{len(indices)} features and {len(values)} values do not make supports of {lengths.tolist()}")
    if ((indices < 0) | (indices >= features)).any():
        raise ValueError(f"a support has a feature that is none of {features}")
    if len(coefficients) != len(lengths):
        raise ValueError(f"{len(lengths)} supports, but coefficients for {len(coefficients)}")
    return lengths, indices, values, coefficients


cdef void* grown(void* memory, size_t size) except NULL:
    cdef void* larger = realloc(memory, size)
    if larger == NULL:
        raise MemoryError()
    return larger


cdef double* room_for(double* memory, Py_ssize_t* room, Py_ssize_t wanted, bint zeros) except NULL:
    """Return the memory with room for at least `wanted` numbers. With `zeros`, new ones are 0."""
    if wanted <= room[0] and memory != NULL:
        return memory
    cdef Py_ssize_t larger = max(wanted, 2 * room[0], 4)
    cdef double* numbers = <double*> realloc(memory, larger * sizeof(double))
    if numbers == NULL:
        raise MemoryError()
    if zeros:
        memset(numbers + room[0], 0, (larger - room[0]) * sizeof(double))
    room[0] = larger
    return numbers
