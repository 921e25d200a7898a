"""The base class of all estimators: fixed parameters, and a state of plain data."""

import time
from functools import cache
from inspect import Parameter, signature

from river import base

from cpython.object cimport PyObject_GenericSetAttr
from cpython.pythread cimport PyThread_get_thread_ident

from river_margins.core.recipe cimport Recipe


cdef class Estimator:
    """Implements clone, copy and pickle, with the parameters and `__getstate__`/`__setstate__` of the subclass.

    A state is a dict of numbers, strings, lists and numpy arrays. It has everything that was learned.
    """

    def __setattr__(self, name, value):
        if hasattr(getattr(type(self), name, None), "__set__"):  # a property
            PyObject_GenericSetAttr(self, name, value)
        elif name not in vars(self):
            parameters, _ = _constructor(type(self))
            if name not in parameters:  # nothing would read it, and no copy would have it
                raise AttributeError(
                    f"`{type(self).__name__}` has no parameter `{name}`; its parameters are {', '.join(parameters) or 'none'}",
                    name=name, obj=self,
                )
            vars(self)[name] = value  # by the constructor of a subclass
        elif name in self._mutable_attributes and name in self._get_params():
            self._change(name, value)
        else:
            raise AttributeError(f"`{name}` is fixed once the estimator is made: use clone({{{name!r}: {value!r}}})")

    cdef int start_learning(self) except -1:
        """Wait until no other thread learns with this estimator.

        Without this, two rounds could mix: a feature or a rule written in Python may let other threads run during a round.
        """
        cdef long thread = PyThread_get_thread_ident()
        while self.learning:
            if self.learning_thread == thread:
                raise RuntimeError(f"`{type(self).__name__}` cannot learn while it learns: a feature or a rule calls it")
            time.sleep(0.0001)
        self.learning = True
        self.learning_thread = thread
        return 0

    cdef void end_learning(self) noexcept:
        self.learning = False

    def __reduce__(self):
        return _construct, (type(self), self._recipe()), self.__getstate__()

    def __repr__(self):
        try:
            shown = super().__repr__()
        except AttributeError:
            self._check_parameters()
            raise
        for name in _constructor(type(self))[0]:
            part = getattr(self, name, None)
            if isinstance(part, base.Base):  # of which River shows the parameters only if it is one of its own
                within = repr(part).replace("\n", "\n  ")
                shown = shown.replace(f"\n  {name}={part}\n", f"\n  {name}={within}\n", 1)
        return shown

    def _get_params(self):
        self._check_parameters()
        return super()._get_params()

    def _check_parameters(self):
        """Raise TypeError for a parameter of the constructor that is not kept."""
        for name in _constructor(type(self))[0]:
            if not hasattr(self, name):  # River leaves out what * or ** takes, and a copy would have other parameters
                raise TypeError(
                    f"`{type(self).__name__}` does not keep its parameter `{name}`: write self.{name} = {name} in `__init__`"
                )

    def _recipe(self):
        """Return the parameters that make an estimator which has learned nothing. `__getstate__` has the rest."""
        names, is_open = _constructor(type(self))
        if is_open:
            names = self._get_params()
        try:
            return {name: getattr(self, name) for name in names}
        except AttributeError:
            self._check_parameters()
            raise

    def clone(self, new_params=None, include_attributes=False):
        """Return an estimator with the same parameters; with `include_attributes`, it has learned the same, too.

        `new_params` replaces some. A dict for a rule, a space, a kernel or a model within this one changes parameters of it:
        {"rule": {"C": 0.5}}.
        """
        given = (new_params or {}).items()
        fresh = super().clone({name: changed(getattr(self, name, None), value) for name, value in given})
        if include_attributes:
            fresh.__setstate__(self.__getstate__())
        return fresh


cdef class Undisturbed:
    """A block in which no other thread learns with an estimator.

    To read what was learned takes more than one step, and numpy, sorting or a name in Python let other threads run between two
    steps. In a round of its own, a thread may read at once.
    """

    def __cinit__(self, Estimator estimator):
        self.estimator = estimator

    def __enter__(self):
        cdef Estimator estimator = self.estimator
        self.outermost = not (estimator.learning and estimator.learning_thread == PyThread_get_thread_ident())
        if self.outermost:
            estimator.start_learning()

    def __exit__(self, *_):
        if self.outermost:
            self.estimator.end_learning()


@cache
def _constructor(kind):
    """Return the names of the parameters of a class, and whether it takes others by * or **."""
    _, *parameters = signature(kind.__init__).parameters.values()
    is_open = any([each.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for each in parameters])
    return [each.name for each in parameters], is_open


cdef object changed(object part, object value):
    """Return a recipe or a fresh estimator with the parameters in a dict changed, or any other value as it is."""
    if isinstance(part, base.Base) and isinstance(value, dict):
        return part.clone(value)
    if not (isinstance(part, Recipe) and isinstance(value, dict)):
        return value
    parameters = part.parameters
    for name in value:
        if name not in parameters:
            known = ", ".join(f"`{each}`" for each in parameters) or "none"
            raise ValueError(f"`{type(part).__name__}` has no parameter `{name}`; its parameters are {known}")
    return type(part)(**parameters | {name: changed(parameters[name], inner) for name, inner in value.items()})


def _construct(kind, parameters):
    return kind(**parameters)
