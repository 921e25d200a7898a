"""What every estimator here shares: parameters that stay, and a state that is plain data."""

import time

from cpython.pythread cimport PyThread_get_thread_ident


cdef class Estimator:
    """River's clone, copy and pickle, by the parameters and `__getstate__`/`__setstate__` of the subclass.

    A state is a dict of numbers, strings, lists and numpy arrays; it holds all that was learned, and nothing else does.
    """

    def __setattr__(self, name, value):
        if name not in vars(self):
            object.__setattr__(self, name, value)
        elif name in self._mutable_attributes and name in self._get_params():
            self._change(name, value)
        else:
            raise AttributeError(f"`{name}` is fixed once the estimator is made: use clone({{{name!r}: {value!r}}})")

    cdef int begin(self) except -1:
        """One thread learns at a time: a number, a name or a rule written in Python may let others run in mid-round."""
        cdef long thread = PyThread_get_thread_ident()
        while self.learning:
            if self.learning_thread == thread:
                raise RuntimeError(f"`{type(self).__name__}` is asked to learn by what it calls while it learns")
            time.sleep(0.0001)
        self.learning = True
        self.learning_thread = thread
        return 0

    cdef void end(self) noexcept:
        self.learning = False

    def __reduce__(self):
        return _construct, (type(self), {name: getattr(self, name) for name in self._get_params()}), self.__getstate__()

    def clone(self, new_params=None, include_attributes=False):
        """A fresh estimator with the same parameters, or with `include_attributes` also with all it has learned."""
        fresh = super().clone(new_params)
        if include_attributes:
            fresh.__setstate__(self.__getstate__())
        return fresh


def _construct(kind, parameters):
    return kind(**parameters)
