"""What every estimator here shares: parameters that stay, and a state that is plain data."""


cdef class Estimator:
    """River's clone, copy and pickle, by the parameters and `__getstate__`/`__setstate__` of the subclass.

    A state is a dict of numbers, strings, lists and numpy arrays; it holds all that was learned, and nothing else does.
    """

    def __setattr__(self, name, value):
        if name in vars(self):
            raise AttributeError(f"`{name}` is fixed once the estimator is made: use clone({{{name!r}: {value!r}}})")
        object.__setattr__(self, name, value)

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
