"""Budgets: the choice of the support to remove when a kernel space is full."""

from libc.stdint cimport uint64_t

from river_margins.core.recipe cimport Recipe
from river_margins.spaces.random_numbers cimport next_number
from river_margins.core.checks import whole


cdef class Budget(Recipe):
    """Budget(size=100)\n--\n
    A limit of `size` supports: a full space removes one support before it adds another."""

    _parameter_names = ("size",)

    def __init__(self, size=100):
        self.size = whole("size", size, 1)

    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept:
        """Return the index of the support to remove. `costs` has the squared length of each support's part of w, by age."""
        return 0

    cdef uint64_t first_state(self) except? 1:
        """Return the first state of the generator of random numbers."""
        return 0


cdef class OldestRemoval(Budget):
    """Keep `size` supports: remove the oldest.

    Parameters
    ----------
    size
        The number of supports, >= 1; 100 by default.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.Kernel(rm.LinearKernel(), rm.OldestRemoval(2)))
    >>> for name in "abc":
    ...     model.learn_one({name: 1.0}, True)
    >>> model.supports
    [({'b': 1.0}, 1.0), ({'c': 1.0}, 1.0)]
    """


cdef class SmallestRemoval(Budget):
    """Keep `size` supports: remove the one whose removal moves w least, or the oldest of several.

    Where steps become smaller and smaller, as with `ALMARule` and with the usual schedule of `GradientDescent`, that is the
    newest one: a full space keeps its first supports for ever, and learns no more. Take another removal for these rules.

    Parameters
    ----------
    size
        The number of supports, >= 1; 100 by default.
    """

    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept:
        return smallest(costs, count)


cdef class RandomRemoval(Budget):
    """RandomRemoval(size=100, seed=0)\n--\n
    Keep `size` supports: remove one at random, each with the same probability.

    Parameters
    ----------
    size
        The number of supports, >= 1; 100 by default.
    seed
        The seed of the generator, a whole number >= 0; 0 by default. The state of the generator is part of a learner's
        state, so a restored learner continues with the next number.
    """

    _parameter_names = ("size", "seed")

    def __init__(self, size=100, seed=0):
        Budget.__init__(self, size)
        self.seed = whole("seed", seed)

    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept:
        return <Py_ssize_t> (next_number(generator) % <uint64_t> count)

    cdef uint64_t first_state(self) except? 1:
        return <uint64_t> (self.seed & 0xFFFFFFFFFFFFFFFF)


cdef Py_ssize_t smallest(const double* costs, Py_ssize_t count) noexcept:
    cdef Py_ssize_t i, found = 0
    for i in range(1, count):
        if costs[i] < costs[found]:
            found = i
    return found
