"""The objects that one round writes to."""


cdef class Round:
    """A row, a direction, a `Seen` and a `Step`: the working memory of one call, reused by the next call."""

    def __cinit__(self):
        self.row = Row()
        self.direction = Direction()
        self.seen = Seen()
        self.step = Step()
