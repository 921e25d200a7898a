"""Parts of a learner as plain values: rules, spaces, kernels and budgets."""


cdef class Recipe:
    """Recipe()\n--\n
    A part of a learner as its constructor describes it, without anything learned.

    Recipes are compared, shown and rebuilt by their parameters. A subclass names the parameters of its constructor, in
    order, in `_parameter_names`, and keeps each as an attribute of that name. The docstring of a compiled subclass starts
    with its signature and the line "--", from which Python makes the signature that `help` shows.
    """

    _parameter_names = ()

    def __init__(self):
        pass

    @property
    def parameters(self):
        """The parameters of the constructor: `type(part)(**part.parameters)` is an equal part."""
        return {name: getattr(self, name) for name in self._parameter_names}

    def __reduce__(self):
        # The attributes that a class in Python has given are the state, because they may refer to the recipe.
        return _rebuild, (type(self), self.parameters), getattr(self, "__dict__", None) or None

    def __eq__(self, other):
        return type(self) is type(other) and self.parameters == other.parameters

    def __hash__(self):
        return hash((type(self), tuple(self.parameters.items())))

    def __repr__(self):
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({arguments})"


def _rebuild(kind, parameters, attributes=None):
    """Return a recipe with these parameters and, for a space, with the attributes that a class in Python has given."""
    made = kind(**parameters)
    if attributes:
        vars(made).update(attributes)
    return made
