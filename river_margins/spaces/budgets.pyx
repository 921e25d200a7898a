"""Which support a kernel space gives up when it may keep no more."""

from libc.stdint cimport uint64_t

from river_margins.core.recipe cimport Recipe
from river_margins.spaces.random_numbers cimport next_number
from river_margins.core.checks import whole


cdef class Budget(Recipe):
    """At most `size` supports: one has to go before another may come. The supports stand in the order of their age."""

    _parameter_names = ("size",)

    def __init__(self, size=100):
        self.size = whole("size", size, 1)

    def __reduce__(self):
        return _rebuild, (type(self), self.parameters)

    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept:
        """The place of the support to remove; `costs` are the squared lengths of what each adds to w."""
        return 0

    cdef uint64_t first_state(self) except? 1:
        """What the generator of random numbers starts from."""
        return 0


cdef class OldestRemoval(Budget):
    """Keep `size` supports: the oldest one goes.

    Parameters
    ----------
    size
        How many, >= 1; 100 by default.

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
    """Keep `size` supports: the one whose removal moves w least goes, of equal ones the oldest.

    Parameters
    ----------
    size
        How many, >= 1; 100 by default.
    """

    cdef Py_ssize_t choose(self, const double* costs, Py_ssize_t count, uint64_t* generator) noexcept:
        return smallest(costs, count)


cdef class RandomRemoval(Budget):
    """Keep `size` supports: any of them goes, each with the same chance.

    Parameters
    ----------
    size
        How many, >= 1; 100 by default.
    seed
        A whole number of at least 0, which is the default. The numbers drawn are part of what a learner has learned, so that one which was saved
        goes on with the next.
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


def _rebuild(kind, parameters):
    return kind(**parameters)
