"""The driver that joins rule, space and task, with the methods that River calls."""

import copy
from numbers import Real

import numpy as np
from river.utils import dataframe

from libc.math cimport isfinite, isnan
from libc.stdlib cimport calloc, free

from river_margins.core.batch cimport Batch
from river_margins.core.estimator cimport Estimator
from river_margins.rules.base cimport Rule, Seen, Step, moves, rest
from river_margins.rules.all_classes cimport JointRule
from river_margins.core.scaled_row cimport Passed
from river_margins.core.reader cimport Reader, Row
from river_margins.spaces.base cimport Direction, Space, Term
from river_margins.tasks.base cimport Labels, Task
from river_margins.tasks.binary cimport Binary
from river_margins.tasks.multiclass cimport Multiclass
from river_margins.tasks.multilabel cimport Multilabel

from river_margins.core.batch import csr_batch, frame_batch
from river_margins.core.checks import check_pair, not_negative
from river_margins.spaces.linear import Linear
from river_margins.tasks.classes import task_with
from river_margins.tasks.labels import plain
from river_margins.core.weights import Weights


_TAKING = ("learn_one", "predict_one", "score_one", "predict_score_one")  # what takes an example


cdef class Round:
    """The scratch paper of one call."""

    def __cinit__(self):
        self.row = Row()
        self.direction = Direction()
        self.seen = Seen()
        self.step = Step()


cdef class Learner(Estimator):
    """One round after the other: gather, score, state the constraint, measure, ask the rule, move.

    Everything that can refuse an example comes before anything is written, so a round that raises leaves the learner
    as it was. What a call needs while it runs is its own (`Round`): two threads never share it.
    """

    # ------------------------------------------------------------------------------------------------ rounds

    cdef Round take_round(self):
        cdef Round round = self.spare
        if round is None:
            return Round()
        self.spare = None
        return round

    cdef int gather(self, Row row, object x) except -1:
        return (<Passed> x).gather(self.reader, row) if type(x) is Passed else self.reader.gather(row, x)

    cdef Round read(self, object x):
        """A round with x gathered and, where there is a task, scored."""
        cdef Round round = self.take_round()
        self.gather(round.row, x)
        if self.task is not None:
            self.answer_row(round.row)
        return round

    cdef int score_row(self, Row row, Py_ssize_t blocks) except -1:
        self.live_space.score(row, blocks)
        if not all_finite(row.scores, blocks):
            self.refuse_score()
        return 0

    cdef int answer_row(self, Row row) except -1:
        """The scores to predict from."""
        cdef Py_ssize_t blocks = self.task.blocks
        if not blocks:  # no label has been met yet
            return 0
        if not self.live_space.apart:
            return self.score_row(row, blocks)
        self.live_space.answer(row, blocks)
        if not all_finite(row.scores, blocks):
            self.refuse_score()
        return 0

    cdef int refuse_score(self) except -1:
        raise OverflowError(
            f"`{type(self).__name__}`: the score of this example is beyond floating point: scale its features"
        )

    cdef object learn(self, object x, object y, double weight, bint predicting):
        cdef Task task
        cdef Round round
        self.begin()
        try:
            task = self.task_for(y) if self.task is None else self.task
            round = self.take_round()
            self.gather(round.row, x)
            prediction = self.learn_row(
                round.row, round.direction, round.seen, round.step, self.live_space,
                task, y, task.code(y), weight, predicting,
            )
            self.spare = round
            return prediction
        finally:
            self.end()

    cdef object learn_row(self, Row row, Direction direction, Seen seen, Step step, Space space, Task task, object y,
                          double code, double weight, bint predicting):
        cdef object prediction = None
        cdef bint demanded, mistaken = False, moving = False
        if predicting and self.task is not None and space.apart:
            self.answer_row(row)
            prediction = task.predict(row)
            predicting = False
        self.score_row(row, task.blocks + isnan(code))  # a new class has a score before it has weights: 0
        if predicting and self.task is not None:
            prediction = task.predict(row)
        demanded = task.constraint(row, y, code, direction)
        seen.weight = weight
        if demanded:
            seen.target = direction.target
            seen.wrong = direction.wrong
            seen.t = self.n_seen + 1
            seen.k = self.n_updates
            space.measure(row, direction, seen)
            mistaken = task.mistaken(seen)
            rest(step)
            if self.joint and direction.length > 1:
                self.solve(row, direction, seen, step, task.blocks + isnan(code))
            elif self.in_python:
                Rule.respond(self.live_rule, seen, step)
                space.heed(self.live_rule, step)
            else:
                self.live_rule.respond(seen, step)
            moving = moves(step)
            if not (isfinite(seen.gain) and (not moving or space.bears(row, direction, seen, step))):
                self.refuse(seen, step)
        if isnan(code) or self.task is None:
            self.adopt(task, y)
        # Nothing refuses the example from here on.
        self.n_seen += 1
        self.n_mistakes += mistaken
        if moving:
            space.move(row, direction, seen, step)
            # Shrinking w alone, as some rules do in every round, is no update in the sense of any bound.
            self.n_updates += step.step != 0.0
        if space.apart:
            space.follow(row, direction if demanded else None, seen)
        return prediction

    cdef int solve(self, Row row, Direction direction, Seen seen, Step step, Py_ssize_t blocks) except -1:
        """Let a rule that moves all classes together say how; its whole move becomes the direction, with step 1."""
        cdef Py_ssize_t block, true = direction.terms[0].block
        cdef double* steps = <double*> calloc(blocks, sizeof(double))
        if steps == NULL:
            raise MemoryError()
        try:
            (<JointRule> self.live_rule).solve(row.scores, blocks, true, seen, steps)
            direction.reserve(blocks)
            direction.length = 0
            for block in range(blocks):
                if steps[block] != 0.0:
                    direction.terms[direction.length] = Term(block, steps[block])
                    direction.length += 1
        finally:
            free(steps)
        if direction.length:
            step.step = 1.0
            self.live_space.measure(row, direction, seen)
        return 0

    cdef int refuse(self, Seen seen, Step step) except -1:
        raise OverflowError(
            f"`{type(self).__name__}`: learning this example would take the weights beyond floating point (margin "
            f"{seen.margin}, squared length {seen.gain}, step {step.step}): scale the features, or use a rule with "
            "bounded steps"
        )

    cdef int adopt(self, Task task, object y) except -1:
        """Make the task ours, with a label that is new to it."""
        task.accept(y)
        self.task = task
        self.open_blocks(task)
        return 0

    cdef Task task_for(self, object y):
        """The task that the first label decides on."""
        return Binary(False, True) if isinstance(plain(y), bool) else Multiclass((), self.rivals)

    cdef int open_blocks(self, Task task) except -1:
        while self.live_space.blocks < task.blocks:
            self.live_space.add_block()
        return 0

    # ----------------------------------------------------------------------------------------- River's methods

    def learn_one(self, x, y, double w=1.0):
        """Learn from one example.

        Parameters
        ----------
        x
            Features: a dict from any hashable names to finite numbers. Names that are missing count as 0.
        y
            The label.
        w
            Sample weight, >= 0, multiplying the rule's C or lr.

        Raises
        ------
        ValueError
            If a feature is not a finite number or the label cannot be taken; the learner stays as it was.
        OverflowError
            If the move would take the weights beyond floating point; the learner stays as it was.
        """
        if w != 1.0:
            self._check_weight(w)
        self.learn(x, y, w, False)

    def predict_learn_one(self, x, y, double w=1.0):
        """Predict, then learn, reading x once: what `predict_one` would have said, and the state `learn_one` leaves."""
        if w != 1.0:
            self._check_weight(w)
        return self.learn(x, y, w, True)

    def check_label(self, y):
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        (self.task_for(y) if self.task is None else self.task).code(y)

    def predict_one(self, x):
        """Predict the label of x; None before a classifier has met a label."""
        cdef Round round = self.read(x)
        prediction = None if self.task is None else self.task.predict(round.row)
        self.spare = round
        return prediction

    def score_one(self, x):
        """The signed score ⟨w, x⟩, or a dict of scores by class; {} before a classifier has met a label."""
        cdef Round round = self.read(x)
        score = {} if self.task is None else self.task.score(round.row)
        self.spare = round
        return score

    def predict_score_one(self, x):
        """The prediction and the score of x: what `predict_one` and `score_one` would say, reading x once."""
        cdef Round round
        if not self.plain:
            return self.predict_one(x), self.score_one(x)
        round = self.read(x)
        prediction, score = None, {}
        if self.task is not None:
            prediction, score = self.task.predict(round.row), self.task.score(round.row)
        self.spare = round
        return prediction, score

    def _probabilities(self, x):
        cdef Round round = self.read(x)
        probabilities = {} if self.task is None else (<Labels> self.task).probabilities(round.row)
        self.spare = round
        return probabilities

    def _check_weight(self, w):
        not_negative("w", w)
        if not self.live_rule.weighted:
            raise ValueError(f"`{self.live_rule!r}` has neither C nor lr, so a sample weight of {w} has nothing to multiply")

    # ------------------------------------------------------------------------------------------------ batches

    def learn_many(self, X, y, w=1.0):
        """Learn from the rows of a data frame, in order: the same state as `learn_one` row by row.

        Parameters
        ----------
        X
            A frame of pandas, polars or any other kind that River takes; its columns are the features.
        y
            The labels: a series, an array or a list.
        w
            One sample weight for all rows, or one for each.

        Raises
        ------
        ValueError
            If any value, label or weight cannot be taken; row and column are named, and no row is learned.
        OverflowError
            If a row would take the weights beyond floating point. Only learning tells, so the rows before it are learned,
            as they would be one by one; the row is named.
        """
        self._learn_batch(frame_batch(X), y, w)

    def learn_csr(self, X, y, w=1.0):
        """Learn from the rows of a scipy sparse matrix, in order, as `learn_many` does; the features are the column numbers.

        What the matrix stores is there, explicit zeros included; entries stored twice are added up.
        """
        self._learn_batch(csr_batch(X), y, w)

    def predict_many(self, X):
        """Predict the rows of a data frame: a series of the same library, with its index."""
        frame = dataframe.into_frame(X)
        return dataframe.to_native_series(self._predict_batch(frame_batch(frame)), name=None, like=frame)

    def predict_csr(self, X):
        """Predict the rows of a scipy sparse matrix: an array with one entry a row."""
        return np.array(self._predict_batch(csr_batch(X)))

    def _learn_batch(self, Batch batch, y, w):
        cdef object labels = y.to_numpy() if hasattr(y, "to_numpy") else y if hasattr(y, "__getitem__") else list(y)
        cdef const double[::1] weights = self._batch_weights(w, batch.length)
        if self.live_space.positive:
            batch.refuse_negative()
        if len(labels) != batch.length:
            raise ValueError(f"{batch.length} rows, but {len(labels)} labels")
        if not batch.length:
            return
        self.begin()
        try:
            self._learn_rows(batch, labels, weights)
        finally:
            self.end()

    def _learn_rows(self, Batch batch, labels, const double[::1] weights):
        cdef Task task = self.task_for(labels[0]) if self.task is None else self.task
        cdef const double[::1] codes = task.codes(labels)
        cdef Round round = self.take_round()
        # Held for all rows: counting references to these is a tenth of a short row's time.
        cdef Row row = round.row
        cdef Direction direction = round.direction
        cdef Seen seen = round.seen
        cdef Step step = round.step
        cdef Space space = self.live_space
        cdef double code
        cdef Py_ssize_t i
        try:
            for i in range(batch.length):
                batch.gather(self.reader, row, i)
                code, label = codes[i], None
                if isnan(code) or self.task is None:
                    # A class that was new when the batch was checked may have come in since.
                    label = labels[i]
                    code = task.code(label)
                self.learn_row(row, direction, seen, step, space, task, label, code, weights[i], False)
        except (OverflowError, ValueError) as error:
            kind = OverflowError if isinstance(error, OverflowError) else ValueError
            raise kind(f"row {i} of the batch, after {i} that were learned: {error}") from error
        self.spare = round

    def _batch_weights(self, w, rows):
        weights = np.full(rows, w, dtype=np.float64) if isinstance(w, Real) else np.array(w, dtype=np.float64)
        if weights.shape != (rows,):
            raise ValueError(f"{rows} rows, but sample weights of shape {weights.shape}")
        for weight in np.unique(weights[weights != 1.0]):
            self._check_weight(float(weight))
        return weights

    def _predict_batch(self, Batch batch, *, bint probabilities=False):
        cdef Py_ssize_t i
        cdef Round round = self.take_round()
        cdef list predictions = []
        for i in range(batch.length):
            if self.task is None:
                predictions.append({} if probabilities else None)
                continue
            batch.gather(self.reader, round.row, i)
            self.answer_row(round.row)
            predictions.append(
                (<Labels> self.task).probabilities(round.row) if probabilities else self.task.predict(round.row)
            )
        self.spare = round
        return predictions

    # -------------------------------------------------------------------------------------------------- state

    @property
    def weights(self):
        """The weights, read live: {feature: weight}, or {class: {feature: weight}}; {} before the first label."""
        if self.task is None:
            return {}
        if isinstance(self.task, Multiclass):
            return {label: Weights(self.live_space, block) for block, label in enumerate((<Labels> self.task).labels)}
        return Weights(self.live_space, 0)

    @property
    def supports(self):
        """What a learner in a kernel space keeps, the oldest first: pairs of an example and its coefficient, which is
        {class: coefficient} where there are many; [] before the first label.
        """
        supports = self.live_space.supports
        if isinstance(self.task, Multiclass):
            labels = (<Labels> self.task).labels
            return [(x, dict(zip(labels, coefficients, strict=True))) for x, coefficients in supports]
        return [(x, coefficients[0]) for x, coefficients in supports]

    def _open(self, rule, space, Task task, intercept, max_features, rivals="max", constant=1.0):
        """Take the parts, as recipes, into use."""
        if not isinstance(rule, Rule) or type(rule) is Rule:
            raise TypeError(f"`rule` must be a rule, such as PA1(C=0.1), not {rule!r}")
        if not (space is None or isinstance(space, Space)):
            raise TypeError(f"`space` must be a space, such as Linear(), not {space!r}")
        if max_features is not None and (type(max_features) is not int or max_features < 1):
            raise ValueError(f"`max_features` must be None or a whole number of at least 1, not {max_features!r}")
        space = Linear() if space is None else space
        check_pair(rule, space, "classification" if task is None else task.kind, type(self).__name__)
        self.live_rule = copy.deepcopy(rule)
        self.in_python = type(rule).step is not Rule.step
        self.plain = max_features is None and all(getattr(type(self), name) is getattr(Learner, name) for name in _TAKING)
        self.joint = isinstance(rule, JointRule)
        self.reader = Reader(intercept, max_features, constant)
        self.live_space = (<Space> space).open(self.reader)
        self.live_space.serve(self.live_rule)
        self.rivals = rivals
        if self.live_space.single:
            if isinstance(task, Multiclass):
                raise ValueError(f"`{type(self).__name__}` is for two classes, and `classes` names {len((<Labels> task).labels)}")
            task = Binary(False, True) if task is None else task
        self.task = task
        if task is not None:
            self.open_blocks(task)

    def _change(self, name, value):
        """Give a parameter that says how to learn, and not what was learned, a new value."""
        cdef Learner fresh = self.clone({name: value})
        self.live_space.serve(fresh.live_rule)
        vars(self).update(vars(fresh))
        self.live_rule = fresh.live_rule
        self.in_python, self.joint = fresh.in_python, fresh.joint
        if not isinstance(self.task, Labels):
            self.task = fresh.task

    def __getstate__(self):
        return {
            "labels": list((<Labels> self.task).labels) if isinstance(self.task, Labels) else None,
            "one_vector": isinstance(self.task, Binary),
            "space": self.live_space.__getstate__(),
            "n_seen": self.n_seen,
            "n_mistakes": self.n_mistakes,
            "n_updates": self.n_updates,
        }

    def __setstate__(self, state):
        if isinstance(self.task, Multilabel):
            self.task = Multilabel(state["labels"])
        elif state["labels"] is not None:
            self.task = task_with(state["labels"], state["one_vector"], self.rivals)
        self.reader = Reader(self.reader.intercept, self.reader.max_features, self.reader.constant)
        self.live_space = self.live_space.open(self.reader)
        self.live_space.serve(self.live_rule)
        self.live_space.__setstate__(state["space"])
        self.n_seen, self.n_mistakes, self.n_updates = state["n_seen"], state["n_mistakes"], state["n_updates"]


cdef inline bint all_finite(const double* values, Py_ssize_t length) noexcept:
    cdef Py_ssize_t i
    for i in range(length):
        if not isfinite(values[i]):
            return False
    return True
