"""Linear weights that predict with a vote of all earlier weights."""

from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free

from river_margins.core.reader cimport Reader, Row
from river_margins.rules.base cimport Rule, Seen, Step
from river_margins.spaces.base cimport Direction, Space
from river_margins.spaces.row_store cimport RowStore
from river_margins.spaces.linear cimport Linear


cdef class VotedLinear(Linear):
    """Plain weights for learning, and a vote of all earlier weights for predicting.

    A weight vector has one vote for each round that it lasted. A vector whose scores tie abstains. The score is the share of
    votes for True minus the share for False or, with many classes, each class's share of votes. The space keeps the moves
    instead of the vectors: memory and the time of a prediction grow with the number of updates. `weights` has the last ones.

    Examples
    --------
    >>> import river_margins as rm
    >>> model = rm.MarginClassifier(rm.PerceptronRule(), rm.VotedLinear(), intercept=False)
    >>> for label in (True, True, True, False):
    ...     model.learn_one({"a": 1.0}, label)
    >>> model.score_one({"a": 2.0})  # three rounds with a weight of 1, one with a weight of 0
    0.75

    References
    ----------
    Freund, Y. and Schapire, R., 1999. Large margin classification using the perceptron algorithm. Machine Learning 37.
    """

    offers = frozenset({"plain steps"})

    def __cinit__(self):
        self.predicts_apart = self.counts_rounds = True
        self.adds_up = False

    cdef Space open(self, Reader reader):
        cdef VotedLinear space = Linear.open(self, reader)
        space.examples = RowStore()
        space.steps = RowStore()
        return space

    cdef int check_python_step(self, Rule rule, Step step) except -1:
        if step.scale != 1.0 or step.radius != INFINITY:
            raise ValueError(f"`{rule!r}` answers {step!r}, and `{self!r}` can add to weights, but not shrink them")
        return Linear.check_python_step(self, rule, step)

    cdef int move(self, Row row, Direction direction, Seen seen, Step step) except -1:
        self.examples.reserve(1, row.known + row.fresh)
        self.steps.reserve(1, direction.length)
        Linear.move(self, row, direction, seen, step)
        return self.record_move(row, direction, step.step)

    cdef int record_move(self, Row row, Direction direction, double step) except -1:
        cdef Py_ssize_t i, before = self.examples.entries
        for i in range(row.known):
            if row.value[i] != 0.0:
                self.examples.add(row.index[i], row.value[i])
        if self.examples.entries == before:
            return 0  # the weights are unchanged
        self.examples.close(0.0)
        for i in range(direction.length):
            self.steps.add(direction.terms[i].block, step * direction.terms[i].coefficient)
        self.steps.close(0.0)
        return 0

    cdef int end_round(self, Row row, Direction direction, Seen seen) except -1:
        self.count += seen.weight
        if self.steps.rows:
            self.steps.mark[self.steps.rows - 1] += seen.weight
        return 0

    cdef int score_for_prediction(self, Row row, Py_ssize_t blocks) except -1:
        """Repeat all moves as far as they change the scores of x, and collect the vote of each vector."""
        cdef Py_ssize_t i, step, features = self.reader.size()
        cdef double product
        row.reserve_scores(blocks)
        # x by feature, the scores of the vector in force, and the votes.
        cdef double* dense = <double*> calloc(features + 2 * blocks, sizeof(double))
        if dense == NULL:
            raise MemoryError()
        cdef double* scores = dense + features
        cdef double* votes = scores + blocks
        for i in range(row.known):
            dense[row.index[i]] += row.value[i]
        for step in range(self.steps.rows):
            product = self.examples.dot(step, dense)
            for i in range(self.steps.start(step), self.steps.ends[step]):
                scores[self.steps.index[i]] += self.steps.value[i] * product
            self.cast_vote(votes, scores, blocks, self.steps.mark[step])
        for i in range(blocks):
            row.scores[i] = votes[i] / self.count if self.count > 0.0 else 0.0
        free(dense)
        return 0

    cdef void cast_vote(self, double* votes, const double* scores, Py_ssize_t blocks, double weight) noexcept:
        cdef Py_ssize_t block, best = 0
        cdef bint tied = False
        if blocks == 1:
            votes[0] += weight * ((scores[0] > 0.0) - (scores[0] < 0.0))
            return
        for block in range(1, blocks):
            if scores[block] > scores[best]:
                best, tied = block, False
            elif scores[block] == scores[best]:
                tied = True
        if not tied:
            votes[best] += weight

    # ------------------------------------------------------------------------------------------------- state

    def __getstate__(self):
        return Linear.__getstate__(self) | {
            "examples": self.examples.state(0), "steps": self.steps.state(0), "count": self.count
        }

    def __setstate__(self, state):
        Linear.__setstate__(self, state)
        self.examples.take(state["examples"], self.reader.size())
        self.steps.take(state["steps"], self.blocks)
        if self.examples.rows != self.steps.rows or not 0 <= state["count"] < INFINITY:
            raise ValueError("each example that moved needs a step, and the rounds a number")
        self.count = state["count"]
