"""The interface of spaces: how weights are kept, scored, measured and moved."""

from libc.stdlib cimport free, realloc

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Rule, Seen, Step, changes_covariance
from river_margins.core.recipe import _rebuild


cdef class Direction:
    """The half-space ⟨w, d⟩ >= target of a round.

    d is the sum of `coefficient` times the row in `block`, over all terms, plus `pull` times w. `wrong` says whether the
    predicted label differs from the true one, `equality` whether the label demands ⟨w, d⟩ = target.
    """

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
    """The place of the weights: one weight vector for each block. A block is a class, a label or the only vector.

    A user's space is a recipe without weights. Each learner calls `open` for a space of its own. In each round it calls
    `score`, `measure`, `stays_finite` and `move`, in this order.

    A subclass sets `offers`, the set of words that a rule may name in `needs` (see `Rule`). In its constructor it may set
    `predicts_apart` if it predicts with other weights than it learns with: then it implements `score_for_prediction`, too.
    `counts_rounds` says that every round changes it, also one without a move: then it implements `end_round`.
    `needs_one_vector` says that it has room for one block only, `refuses_negative` that it takes no negative features,
    `adds_up` that a score is a sum over features, so that `weight_in_score` is implemented, and `weighs_by_example` that the
    weights in this sum depend on the example.
    """

    offers = frozenset()

    def __cinit__(self):
        self.reader = Reader()  # None would end the process where a user reads `features` of a recipe

    def __reduce__(self):
        # Not as a state: `__setstate__` takes what was learned.
        return _rebuild, (type(self), self.parameters, getattr(self, "__dict__", None))

    cdef Space open(self, Reader reader):
        """Return a new space with the same parameters, for the features of `reader`."""
        cdef Space space = type(self)(**self.parameters)
        space.reader = reader
        return space

    cdef int bind_rule(self, Rule rule) except -1:
        """Bind the rule that this space will serve."""
        return 0

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        """Raise ValueError if a rule written in Python asks for a step that this space cannot take."""
        if changes_covariance(step):
            raise ValueError(
                f"`{rule!r}` answers {step!r}, and `{self!r}` has no covariance to shrink or inflate: say "
                'spaces = ("Diagonal", "Full") in its class, and give the learner one of these'
            )
        if not step.radius >= 0.0:
            raise ValueError(f"`{rule!r}` answers {step!r}: `radius` is a length, at least 0")
        return 0

    cdef int add_block(self) except -1:
        """Add a weight vector, at zero."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `add_block`")

    cdef int score(self, Row row, Py_ssize_t blocks) except -1:
        """Fill the first `blocks` scores of the row, with 0 for a block that does not exist yet, and its `size`."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `score`")

    cdef int measure(self, Row row, Direction direction, Seen seen) except -1:
        """Fill the margin, gain and size of `seen`."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `measure`")

    cdef bint stays_finite(self, Row row, Direction direction, Seen seen, Step step) except -1:
        """Return whether every number stays finite if the step is taken. Change nothing that was learned."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `stays_finite`")

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        """Take a step that `stays_finite` has allowed. It must not fail."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `move`")

    cdef int score_for_prediction(self, Row row, Py_ssize_t blocks) except -1:
        """Fill the scores to predict from. Called only if `predicts_apart` is set."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `score_for_prediction`")

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        """Finish a round; `direction` is None if the label imposed no constraint. Called only if `counts_rounds` is set."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `end_round`")

    # If `adds_up` is set, a score for predicting is the sum of these weights times the values of the row, plus the constant.

    cdef double weight_in_score(self, Row row, Py_ssize_t i, Py_ssize_t block) except? -1.0:
        """Return the weight of known feature i of the row in the score of a block, which was just computed."""
        raise NotImplementedError(f"`{type(self).__name__}` must implement `weight_in_score`, since it sets `adds_up`")

    cdef double weight_of_new(self) noexcept:
        """Return the weight of a feature that was never learned."""
        return 0.0

    cdef double constant_in_score(self) noexcept:
        """Return the part of a score that comes from no feature."""
        return 0.0
