"""What a space can do with an example that was read."""

from libc.stdlib cimport free, realloc

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Rule, Seen, Step


cdef class Direction:
    """The half-space ⟨w, d⟩ >= target of a round: d is the row in some blocks, and possibly a pull towards w itself."""

    def __cinit__(self):
        self.reserve(2)

    def __dealloc__(self):
        free(self.terms)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.capacity * sizeof(Term)

    cdef int reserve(self, Py_ssize_t length) except -1:
        if length <= self.capacity:
            return 0
        cdef Term* terms = <Term*> realloc(self.terms, length * sizeof(Term))
        if terms == NULL:
            raise MemoryError()
        self.terms = terms
        self.capacity = length
        return 0


cdef class Space(Recipe):
    """Where weights live. What a constructor is given is a recipe; a learner opens a space of its own from it.

    A space that predicts with other weights than it learns with sets `apart`: it is then asked to `answer`, and told of
    every round. One that has room for a single weight vector sets `single`, and one that takes no negative features
    `positive`.
    """

    def __reduce__(self):
        return _rebuild, (type(self), self.parameters)

    cdef Space open(self, Reader reader):
        """A fresh space of the same recipe, for the features of `reader`."""
        cdef Space space = type(self)(**self.parameters)
        space.reader = reader
        return space

    cdef int serve(self, Rule rule) except -1:
        """Get to know the rule that is going to ask."""
        return 0

    cdef int heed(self, Rule rule, Step step) except -1:
        """Refuse what a rule written in Python asks for and this space cannot do."""
        if step.of_covariance():
            raise ValueError(
                f"`{rule!r}` answers {step!r}, and `{self!r}` has no covariance to shrink or inflate: say "
                'spaces = ("Diagonal", "Full") in its class, and give the learner one of these'
            )
        return 0

    cdef int add_block(self) except -1:
        """Make room for one more weight vector, at zero."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it adds a block")

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        """Fill the row's first `blocks` scores, 0 for a block that does not exist yet, and its `size`."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it scores")

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        """Fill margin, gain and size of what the rule sees."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it measures")

    cdef bint bears(self, Row row, Direction direction, Seen seen, Step step) except -1:
        """Whether every number stays finite if the step is taken."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say what it bears")

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        """Take a step that `bears` has allowed."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it moves")

    cdef int answer(self, Row row, Py_ssize_t blocks) except -1:
        """Fill the scores that a prediction is made from."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it answers")

    cdef int follow(self, Row row, Direction direction, Seen seen) except -1:
        """A round is over; there is no direction where the label demanded nothing."""
        raise NotImplementedError(f"`{type(self).__name__}` does not say how it follows the rounds")


def _rebuild(kind, parameters):
    return kind(**parameters)
