"""Rules and spaces as values: what a constructor was told, and nothing that was learned."""


cdef class Recipe:
    """A part of a learner as it was asked for: compared, shown and rebuilt by its parameters.

    A subclass names its constructor parameters, in order, in `_parameter_names` and keeps each as an attribute of
    that name.
    """

    _parameter_names = ()

    @property
    def parameters(self):
        """The constructor's parameters, so that `type(part)(**part.parameters)` is an equal part."""
        return {name: getattr(self, name) for name in self._parameter_names}

    def __eq__(self, other):
        return type(self) is type(other) and self.parameters == other.parameters

    def __hash__(self):
        return hash((type(self), tuple(self.parameters.items())))

    def __repr__(self):
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({arguments})"
