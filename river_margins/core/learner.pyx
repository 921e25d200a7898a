"""The learner: it joins a rule, a space and a task, and has the methods that River calls."""

import copy
from collections.abc import Mapping
from functools import cache

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite, isnan
from libc.stdlib cimport calloc, free

from river_margins.core.batch cimport Batch, read_at_once
from river_margins.core.class_weights cimport ClassWeights
from river_margins.core.estimator cimport Estimator, Undisturbed
from river_margins.core.reader cimport Reader, Row, as_float
from river_margins.core.round cimport Round
from river_margins.core.transformed_row cimport TransformedRow, fill_row_from_step, offer_again
from river_margins.rules.all_classes cimport AllClassesRule
from river_margins.rules.base cimport Rule, Seen, Step, changes_covariance, moves_weights, reset
from river_margins.spaces.base cimport Direction, Space, Term, set_one
from river_margins.spaces.linear cimport Linear
from river_margins.tasks.base cimport Task

from river_margins.core.batch import csr_batch
from river_margins.core.checks import LARGEST_WEIGHT as _LARGEST_WEIGHT, are_numbers, label_column, refused_row
from river_margins.core.checks import sample_weight, short, weight_column, whole
from river_margins.core.explain import contribution_table, largest_first
from river_margins.core.frames import numbers_of
from river_margins.core.pairs import check_pair, check_rule, no_price
from river_margins.core.reader import INTERCEPT
from river_margins.core.weights import WeightMatrix, Weights, weight_table

cdef double largest_weight = _LARGEST_WEIGHT


_COVARIANCES = frozenset({"covariance", "look-ahead score"})  # the offers of spaces that keep one
_READERS_OF_X = ("learn_one", "predict_one", "score_one", "predict_score_one")


@cache
def _goes_by_row(kind, one, many):
    """Tell whether a class overrides the method `one`, and not `many`, which must then call it for each row."""
    first = next(each for each in kind.__mro__ if not {one, many}.isdisjoint(vars(each)))
    return many not in vars(first)


cdef class Learner(Estimator):
    """Run one round for each example: read the features, score, state the constraint, measure, apply the rule, move.

    Every check comes before the first write, so a round that raises an exception leaves the learner unchanged. Each call
    has its own working memory (`Round`), so threads may predict at the same time.
    """

    _no_class_weight = None  # why the constructor has no parameter `class_weight`, where users would look for one

    def __cinit__(self, *_, class_weight=None, **__):
        if class_weight is not None and self._no_class_weight is not None:
            raise ValueError(f"`{type(self).__name__}` {self._no_class_weight}")

    @property
    def _is_made(self):
        return self.own_space is not None

    # ------------------------------------------------------------------------------------------------ rounds

    cdef Round take_round(self):
        """Return working memory for one call. The call returns it to `spare_round` at its end."""
        cdef Round round = self.spare_round
        if round is None:
            return Round()
        self.spare_round = None
        return round

    cdef int fill_row(self, Row row, object x) except -1:
        cdef Reader reader = self.reader
        fill_row_from_step(reader, row, x)
        return 0 if self.reader is reader else self.fill_row_again(row, x)

    cdef int fill_row_again(self, Row row, object x) except -1:
        """Fill a row during whose reading another thread has set weights, with a new reader and a new space."""
        offer_again(x)
        return self.fill_row(row, x)

    cdef int fill_row_of_batch(self, Row row, Batch batch, Py_ssize_t i) except -1:
        cdef Reader reader = self.reader
        batch.fill_row(reader, row, i)
        while self.reader is not reader:  # as in `fill_row`
            reader = self.reader
            batch.fill_row(reader, row, i)
        return 0

    cdef Round read_and_score(self, object x):
        """Return a round whose row has the features of x and the scores to predict from."""
        cdef Round round = self.take_round()
        self.fill_row(round.row, x)
        self.score_for_prediction(round.row)
        return round

    cdef object predict(self, object x):
        cdef Round round = self.take_round()
        prediction = self.predict_in(round, x)
        self.spare_round = round
        return prediction

    cdef object predict_in(self, Round round, object x):
        self.fill_row(round.row, x)
        return self.predict_read(round.row)

    cdef int score_row(self, Row row, Py_ssize_t blocks) except -1:
        self.own_space.score(row, blocks)
        if not all_finite(row.scores, blocks):
            self.refuse_score()
        return 0

    cdef int score_for_prediction(self, Row row) except -1:
        """Fill the scores to predict from."""
        cdef Py_ssize_t blocks = -1
        while blocks != self.task.blocks:  # a space may run Python code, and another thread learn a new label then
            blocks = self.task.blocks
            if not blocks:  # there has been no label
                return 0
            if not self.own_space.predicts_apart:
                self.score_row(row, blocks)
                continue
            self.own_space.score_for_prediction(row, blocks)
            if not all_finite(row.scores, blocks):
                self.refuse_score()
        return 0

    cdef dict contributions(self, object x, Row row, Py_ssize_t block):
        """Return the contributions to the score of a block, which the row has; the largest first."""
        cdef Py_ssize_t i
        cdef Row one
        cdef double weight, total = self.own_space.constant_in_score()
        cdef dict found = {}, weights = {}
        for i in range(row.known):
            weight = self.own_space.weight_in_score(row, i, block)
            weights[self.reader.vocabulary.keys[row.index[i]]] = weight
            found[self.reader.vocabulary.keys[row.index[i]]] = weight * row.value[i]
        for i in range(row.fresh):
            found[row.fresh_keys[i]] = self.own_space.weight_of_new() * row.own_value[row.capacity + i]
        total += found.pop(INTERCEPT, 0.0)
        if self.reader.buckets:
            found, one = {}, Row()
            for key, value in self.reader.features_of(x).items():
                self.reader.fill_row(one, {key: value})  # the bucket and the sign of this feature
                i = one.known - 1
                if i >= self.reader.intercept:
                    found[key] = weights[self.reader.vocabulary.keys[one.index[i]]] * one.value[i]
                else:
                    found[key] = self.own_space.weight_of_new() * as_float(key, value)
        if total != 0.0 or self.reader.intercept:
            found[INTERCEPT] = total
        return largest_first(found)

    cdef int refuse_score(self) except -1:
        raise OverflowError(
            f"`{type(self).__name__}`: the score of this example is beyond floating point: scale its features"
        )

    cdef object learn(self, object x, object y, double weight, bint predicting):
        cdef Task task
        cdef Round round
        self.start_learning()
        try:
            task = self.task.decided_by(y) if self.task.undecided else self.task
            round = self.take_round()
            self.fill_row(round.row, x)
            prediction = self.learn_row(
                round.row, round.direction, round.seen, round.step, self.own_space,
                task, y, task.code(y), weight, predicting,
            )
            self.spare_round = round
            return prediction
        finally:
            self.end_learning()

    cdef object learn_read(self, Round round, object y, double weight, bint predicting):
        """Learn from the example in the row of a round. It must have no new features."""
        cdef Task task
        self.start_learning()
        try:
            task = self.task.decided_by(y) if self.task.undecided else self.task
            return self.learn_row(
                round.row, round.direction, round.seen, round.step, self.own_space,
                task, y, task.code(y), weight, predicting,
            )
        finally:
            self.end_learning()

    cdef object learn_changed(self, Round round, Reader reader, TransformedRow made, object y):
        """Learn from a row of which only the values have changed since `reader` read it into the row of a round."""
        cdef Task task
        self.start_learning()
        try:
            task = self.task.decided_by(y) if self.task.undecided else self.task
            # Another thread may have restored a state in between, with a new reader.
            if self.reader is not reader or not made.refill_row(reader, round.row):
                self.fill_row(round.row, made)
            self.learn_row(
                round.row, round.direction, round.seen, round.step, self.own_space,
                task, y, task.code(y), 1.0, False,
            )
            self.spare_round = round
        finally:
            self.end_learning()

    cdef object predict_read(self, Row row):
        self.score_for_prediction(row)
        return self.task.predict(row)

    cdef object learn_row(self, Row row, Direction direction, Seen seen, Step step, Space space, Task task, object y,
                          double code, double weight, bint predicting):
        cdef object prediction = None
        cdef bint demanded, mistaken = False, moving = False
        cdef Py_ssize_t place = -1
        if predicting and space.predicts_apart:
            self.score_for_prediction(row)
            prediction = self.task.predict(row)
            predicting = False
        self.score_row(row, task.blocks + isnan(code))  # a new class scores 0 before it has weights
        if predicting:
            prediction = self.task.predict(row)
        demanded = task.constraint(row, y, code, direction)
        seen.weight = weight
        if self.class_weights is not None:
            place = task.place(code)
            seen.weight *= self.class_weights.weight(task, y, place)
            if not seen.weight <= largest_weight:
                raise OverflowError(
                    f"`{type(self).__name__}`: the sample weight {weight} times that of its class is beyond {largest_weight:g}"
                )
        if demanded:
            seen.target = direction.target
            seen.wrong, seen.equality = direction.wrong, direction.equality
            seen.t = self.n_seen + 1
            seen.k = self.n_updates
            space.measure(row, direction, seen)
            mistaken = task.mistaken(seen)
            reset(step)
            if self.moves_all_classes and direction.length > 1:
                self.solve_all_classes(row, direction, seen, step, task.blocks + isnan(code))
            elif self.rule_in_python:
                Rule.respond(self.own_rule, seen, step)
                space.check_python_step(self.own_rule, step)
            else:
                self.own_rule.respond(seen, step)
            moving = moves_weights(step) or self.has_covariance and changes_covariance(step)
            if not (isfinite(seen.gain) and (not moving or space.stays_finite(row, direction, seen, step))):
                self.refuse_move(seen, step)
        if isnan(code) or self.task is not task:
            self.accept_label(task, y)
        # Nothing below may fail.
        self.n_seen += 1
        self.n_mistakes += mistaken
        if place >= 0:
            self.class_weights.count(place)
        if moving:
            space.move(row, direction, seen, step)
            # Some rules shrink w in every round. In the mistake bounds only a step is an update.
            self.n_updates += step.step != 0.0
        if space.counts_rounds:
            space.end_round(row, direction if demanded else None, seen)
        return prediction

    cdef bint may_learn_at_once(self, Batch batch, Task task):
        """Return whether `learn_known_rows` can learn the rows of a batch whose features are all known."""
        return (
            type(self.own_space) is Linear and task.by_sign and self.class_weights is None and not self.rule_in_python
            and not self.moves_all_classes and not batch.is_full() and self.reader.max_features is None
        )

    cdef Py_ssize_t learn_known_rows(self, Batch batch, Py_ssize_t i, Row row, Direction direction, Seen seen, Step step,
                                     Linear space, const double[::1] codes, const double[:] weights) except -1:
        """Learn rows from row i on, until one has a feature that is not known; return the place of this row."""
        cdef Reader reader = self.reader
        cdef double score
        row.forget_fresh()
        row.consecutive = False
        seen.target, seen.equality = 1.0, False
        while i < batch.length and read_at_once(batch, reader, row, i, space.weights, &score):
            self.learn_at_once(row, direction, seen, step, space, space.scale * score, codes[i], weights[i])
            i += 1
            if i & 1023 == 0:
                PyErr_CheckSignals()
        return i

    cdef int learn_at_once(self, Row row, Direction direction, Seen seen, Step step, Linear space, double score, double code,
                           double weight) except -1:
        """Do what `learn_row` does with one weight vector for two labels, plain weights and a row without new features."""
        cdef bint moving
        if not isfinite(score):
            self.refuse_score()
        seen.margin = 0.0 + code * score  # the sum that `Linear.measure` makes: 0 has no sign
        seen.gain, seen.size, seen.weight = row.norm2, space.size, weight
        seen.wrong = (score >= 0.0) != (code > 0.0)
        seen.t, seen.k = self.n_seen + 1, self.n_updates
        reset(step)
        self.own_rule.respond(seen, step)
        moving = moves_weights(step)
        if moving:
            set_one(direction, 0, code)
        if not (isfinite(seen.gain) and (not moving or space.stays_finite(row, direction, seen, step))):
            self.refuse_move(seen, step)
        # Nothing below may fail.
        self.n_seen += 1
        self.n_mistakes += seen.margin <= 0.0
        if moving:
            space.move(row, direction, seen, step)
            self.n_updates += step.step != 0.0
        return 0

    cdef int solve_all_classes(self, Row row, Direction direction, Seen seen, Step step, Py_ssize_t blocks) except -1:
        """Ask an `AllClassesRule` for the step of each class; the steps become the direction, and the step becomes 1."""
        cdef Py_ssize_t block, true = direction.terms[0].block
        cdef double* steps = <double*> calloc(blocks, sizeof(double))
        if steps == NULL:
            raise MemoryError()
        try:
            (<AllClassesRule> self.own_rule).solve(row.scores, blocks, true, seen, steps)
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
            self.own_space.measure(row, direction, seen)
        return 0

    cdef int refuse_move(self, Seen seen, Step step) except -1:
        raise OverflowError(
            f"`{type(self).__name__}`: learning this example would take the weights beyond floating point (margin "
            f"{seen.margin}, squared length {seen.gain}, step {step.step}): scale the features, or use a rule with "
            "bounded steps"
        )

    cdef int accept_label(self, Task task, object y) except -1:
        """Take over the task, with a new label, and add the weight vectors that it needs."""
        task.accept(y)
        self.task = task
        self.open_blocks(task)
        return 0

    cdef int open_blocks(self, Task task) except -1:
        while self.own_space.blocks < task.blocks:
            self.own_space.add_block()
        return 0

    # ----------------------------------------------------------------------------------------- River's methods

    def learn_one(self, x, y, w=1.0):
        """Learn from one example.

        Parameters
        ----------
        x
            Features: a dict from hashable names to finite numbers. A feature that is missing counts as 0.
        y
            The label. For a classifier, a bool or any hashable value; for a regressor, a finite number.
        w
            Sample weight, from 0 to 1e100; 1 by default: how much a loss on this example costs. It multiplies the
            C or lr of the rule and divides its r. The docstring of the rule says what it does if there is none of these. 0
            changes nothing but the counts.

        Raises
        ------
        ValueError
            If a feature is not a finite number, or the learner cannot take the label or the weight. The learner is unchanged.
        TypeError
            If the weight is not a number. The learner is unchanged.
        OverflowError
            If the move would take the weights beyond floating point. The learner is unchanged.
        """
        cdef double weight = as_weight(w)
        if weight != 1.0:
            self._check_weight(weight)
        self.learn(x, y, weight, False)

    def predict_learn_one(self, x, y, w=1.0):
        """Predict, then learn, and read x once: the result of `predict_one`, followed by `learn_one`."""
        cdef double weight = as_weight(w)
        if not self.takes_rows:  # a subclass in Python predicts or learns in a way of its own
            prediction = self.predict_one(x)
            if weight == 1.0:
                self.learn_one(x, y)
            else:
                self.learn_one(x, y, w=weight)
            return prediction
        if weight != 1.0:
            self._check_weight(weight)
        return self.learn(x, y, weight, True)

    def check_label(self, y):
        """Raise the ValueError that `learn_one` would raise for the label y, without learning anything."""
        cdef Task task = self.task.decided_by(y)
        task.code(y)
        if self.class_weights is not None:
            self.class_weights.check_labels(task)

    def predict_one(self, x):
        """Predict the label of x. A classifier predicts None before its first label."""
        return self.predict(x)

    def score_one(self, x):
        """Return the signed score ⟨w, x⟩, or a dict of scores by class. A classifier returns {} before its first label."""
        cdef Round round = self.read_and_score(x)
        score = self.task.score(round.row)
        self.spare_round = round
        return score

    def predict_score_one(self, x):
        """Return the results of `predict_one` and `score_one` for x, and read x once."""
        cdef Round round
        cdef Task task
        cdef Py_ssize_t blocks
        if not self.takes_rows:
            return self.predict_one(x), self.score_one(x)
        round = self.read_and_score(x)
        task, blocks = self.task, self.task.blocks
        prediction = task.predict(round.row)
        if task.blocks != blocks:  # a label had its hash in Python, and another thread has learned one: it has no score here
            offer_again(x)
            return self.predict_score_one(x)
        score = task.score(round.row)
        self.spare_round = round
        return prediction, score

    def explain_one(self, x):
        """Return what each feature of x contributes to the score, its weight times its value, the largest first.

        Parameters
        ----------
        x
            Features, as for `score_one`.

        Returns
        -------
        {feature: contribution}, where the contributions add up to `score_one(x)`. If the score is a dict by class, so is the
        result: {class: {feature: contribution}}. The constant feature is `INTERCEPT`; a feature that was never learned has 0.

        Raises
        ------
        TypeError
            If the score is not a sum over features, as with a kernel.
        """
        if not self.own_space.adds_up:
            raise TypeError(
                f"a score of `{type(self).__name__}`, in the space `{self.own_space!r}`, is not a sum over features: use a learner "
                "with plain weights or variances, such as PAClassifier or AROWClassifier, to see what each contributes"
            )
        cdef Round round
        with Undisturbed(self):
            round = self.read_and_score(x)
            explained = self.task.present([self.contributions(x, round.row, block) for block in range(self.task.blocks)])
            self.spare_round = round
        return explained

    def debug_one(self, x, int decimals=5):
        """Return a table of the features of x with value, weight and contribution, which River's pipelines show.

        If each class has a score, the table is for the predicted class. Where `explain_one` has no answer, it says why.
        """
        try:
            with Undisturbed(self):  # else another thread may learn a class between the two
                explained, score = self.explain_one(x), self.score_one(x)
        except TypeError as error:
            return str(error)
        if score and isinstance(score, dict):
            explained = explained[max(score, key=score.__getitem__)]
        return contribution_table(explained, self.reader.features_of(x), decimals)

    def _probabilities(self, x):
        cdef Round round = self.read_and_score(x)
        probabilities = self.task.probabilities(round.row)
        self.spare_round = round
        return probabilities

    def _check_weight(self, w):
        self._check_priced(f"a sample weight of {sample_weight(w)}")

    def _weigh_classes(self, class_weight):
        """Multiply sample weights by those of classes, if any. Return the parameter, checked, as a value of its own."""
        if class_weight is None:
            return None
        self.class_weights = ClassWeights(class_weight)
        self.class_weights.check_labels(self.task)
        self._check_priced(f"class_weight={class_weight!r}")
        return self.class_weights.parameter

    def _check_priced(self, what):
        """Raise ValueError if the rule ignores weights."""
        if not self.own_rule.weighted:
            author = "; if its `step` multiplies by seen.weight, write weighted = True in its class"
            raise ValueError(f"`{self.own_rule!r}` {no_price(what, self.task.kind)}{author if self.rule_in_python else ''}")

    # ------------------------------------------------------------------------------------------------ batches

    def learn_many(self, X, y, w=1.0):
        """Learn from the rows of a data frame, in order. The state is that of `learn_one` called for each row.

        Parameters
        ----------
        X
            A frame of pandas, polars or any other library that River takes. Its columns are the features.
        y
            The labels: a series, an array or a list.
        w
            One sample weight for all rows, or one for each.

        Raises
        ------
        ValueError
            If the learner cannot take a value, a label or a weight. The message names row and column, and no row is learned.
        OverflowError
            If a row would take the weights beyond floating point. The message names the row. The rows before it are
            learned, because only learning shows this.

        A subclass that overrides `learn_one` learns each row by it, and so all rows before one that it refuses. If its
        `learn_one` calls this method, it must override this one, too.
        """
        self._learn_batch(numbers_of(X).batch(), y, w)

    def learn_csr(self, X, y, w=1.0):
        """Learn from the rows of a scipy sparse matrix, in order, as `learn_many` does.

        The features are the column numbers, such as 7, which is another feature than "7". An explicit zero is a feature of its
        row. Entries that are stored twice are added up.
        """
        self._learn_batch(csr_batch(X), y, w)

    def predict_many(self, X):
        """Predict the rows of a data frame, as a series of the same library and with the same index."""
        numbers = numbers_of(X)
        return numbers.series_of(self._predict_batch(numbers.batch()) or self._no_predictions())

    def predict_csr(self, X):
        """Predict the rows of a scipy sparse matrix, as an array."""
        predictions = self._predict_batch(csr_batch(X))
        return array_of(predictions) if predictions else np.asarray(self._no_predictions())

    def _no_predictions(self):
        """Return no predictions, with the type of those for rows, so that batches with and without rows can be joined."""
        usual = self.predict_one({})
        return [] if usual is None else array_of([usual])[:0]

    def _learn_batch(self, Batch batch, y, w):
        cdef object labels = label_column(y)
        cdef const double[:] weights = self._batch_weights(w, batch.length)
        if self.own_space.refuses_negative:
            batch.refuse_negative()
        if len(labels) != batch.length:
            raise ValueError(f"{batch.length} rows, but {len(labels)} labels")
        if not batch.length:
            return
        if _goes_by_row(type(self), "learn_one", "learn_many"):
            for i in range(batch.length):
                try:
                    self.learn_one(batch.record(i), labels[i], **({} if weights[i] == 1.0 else {"w": weights[i]}))
                except (OverflowError, ValueError) as error:
                    raise refused_row(i, error) from error
            return
        self.start_learning()
        try:
            self._learn_rows(batch, labels, weights)
        finally:
            self.end_learning()

    def _learn_rows(self, Batch batch, labels, const double[:] weights):
        cdef Task task = self.task.decided_by(labels[0]) if self.task.undecided else self.task
        cdef object code_array = task.codes(labels)
        cdef const double[::1] codes = code_array
        cdef bint numbers = are_numbers(labels)
        cdef Round round = self.take_round()
        # Local variables, because counting references for each row takes a tenth of the time of a short row.
        cdef Row row = round.row
        cdef Direction direction = round.direction
        cdef Seen seen = round.seen
        cdef Step step = round.step
        cdef Space space = self.own_space
        cdef bint at_once = self.may_learn_at_once(batch, task)
        cdef long long seen_before = self.n_seen
        cdef double code
        cdef Py_ssize_t i = 0
        try:
            while i < batch.length:
                PyErr_CheckSignals()  # no bytecode runs here, so Ctrl-C would wait for the end of the batch
                if at_once and self.task is task:
                    i = self.learn_known_rows(batch, i, row, direction, seen, step, <Linear> space, codes, weights)
                    if i == batch.length:
                        break
                batch.fill_row(self.reader, row, i)
                code, label = codes[i], None
                if isnan(code) or self.task is not task:
                    # An earlier row may have added a class that was new when the batch was checked.
                    label = labels[i]
                    code = task.code(label)
                self.learn_row(row, direction, seen, step, space, task, label, code, weights[i], False)
                if isnan(code) and numbers:  # a new class: the other rows of it need no look-up
                    code_array[labels == label] = task.code(label)
                i += 1
        except (OverflowError, ValueError) as error:
            raise refused_row(self.n_seen - seen_before, error) from error
        self.spare_round = round

    def _batch_weights(self, w, rows):
        weights, different = weight_column(w, rows)
        for weight in different[different != 1.0]:
            self._check_weight(float(weight))
        return weights

    def _predict_batch(self, Batch batch, *, bint probabilities=False):
        cdef Py_ssize_t i
        cdef Round round
        cdef list predictions = []
        one, many = ("predict_proba_one", "predict_proba_many") if probabilities else ("predict_one", "predict_many")
        if _goes_by_row(type(self), one, many):
            return [getattr(self, one)(batch.record(i)) for i in range(batch.length)]
        round = self.take_round()
        for i in range(batch.length):
            PyErr_CheckSignals()
            self.fill_row_of_batch(round.row, batch, i)
            self.score_for_prediction(round.row)
            predictions.append(self.task.probabilities(round.row) if probabilities else self.task.predict(round.row))
        self.spare_round = round
        return predictions

    # -------------------------------------------------------------------------------------------------- state

    @property
    def weights(self):
        """The present weights: {feature: weight}, or {class: {feature: weight}}; {} before the first label.

        A learner with plain weights also takes weights: `model.weights = {"age": 0.5, INTERCEPT: -1.0}`. They replace all
        weights; a feature or a class that they do not name has the weight 0. Before the first label, {feature: weight} are
        weights for True against False, and {class: {feature: weight}} also name the classes. `n_seen` and `n_updates` stay.
        Rules that count rounds or updates go on from there: Pegasos, which shrinks all weights to 0 in its first step, loses
        weights that are set before it.
        """
        with Undisturbed(self):
            return self.task.present([Weights(self.own_space, block) for block in range(self.task.blocks)])

    @weights.setter
    def weights(self, given):
        if type(self.own_space) is not Linear:
            raise TypeError(
                f"the weights of `{type(self).__name__}`, in the space `{self.own_space!r}`, are not all that it has learned, so they "
                "cannot be set: restore a snapshot, or set the weights of a learner with plain weights, such as PAClassifier, "
                "OGDClassifier or PARegressor"
            )
        if not isinstance(given, Mapping):
            raise TypeError(f"`weights` must be a mapping from features to weights, not {given!r}")
        self.start_learning()
        try:
            self.take_weights(given)
        finally:
            self.end_learning()

    cdef int take_weights(self, given) except -1:
        cdef Task task = self.task.named_by(given)
        features, table = weight_table(task.separate(given), self.reader.intercept, self.reader.buckets)
        size = float(np.vdot(table, table))
        if not isfinite(size):
            raise OverflowError(f"`{type(self).__name__}`: the squares of these weights are beyond floating point")
        learned = features[1:] if self.reader.intercept else features  # every reader knows the constant feature
        space = {"features": learned, "weights": table, "scale": 1.0, "size": size, "moves": 0}
        self.__setstate__(self.__getstate__() | task.state() | {"space": space})
        return 0

    def weight_matrix(self):
        """Return the present weights as an array with names, such that `values @ x` is the score of each label.

        Returns
        -------
        (values, labels, features): `values` is a float64 array with a row for each label and a column for each feature. x is
        the vector of the values of these features; that of `INTERCEPT` is 1. Two labels that share a weight vector have one
        row, that of the positive label; that of a regressor has the label None. Before the first label there is no row. With
        `max_features` the features are numbers of buckets.

        Raises
        ------
        TypeError
            If a score is not the product of such an array with the features, as with a kernel.
        """
        with Undisturbed(self):
            return self._weight_matrix()

    def _weight_matrix(self):
        cdef Space space = self.own_space
        if not space.adds_up or space.weighs_by_example or space.constant_in_score() != 0.0 or space.weight_of_new() != 0.0:
            read = ", or read `weights`" if space.adds_up else ""  # a kernel has none by feature
            raise TypeError(
                f"a score of `{type(self).__name__}`, in the space `{space!r}`, is not a product of weights with features: use a "
                f"learner with plain weights or variances, such as PAClassifier or AROWClassifier{read}"
            )
        features, blocks = list(space.features), range(self.task.blocks)
        values = np.array([[space.weight(feature, block) for feature in features] for block in blocks], dtype=np.float64)
        labels = self.task.state()["labels"]
        labels = [None] * len(blocks) if labels is None else labels[len(labels) - len(blocks):]
        return WeightMatrix(values.reshape(len(blocks), len(features)), labels, features)

    @property
    def supports(self):
        """The supports of a learner in a kernel space, the oldest first: pairs of an example and its coefficient.

        With a weight vector for each class, the coefficient is {class: coefficient}. Before the first label there are none.
        """
        return [(x, self.task.present(coefficients)) for x, coefficients in self.own_space.supports]

    def _open(self, rule, space, Task task, intercept, max_features, constant=1.0):
        """Set up the learner from its parts. They are recipes: the learner works with copies of its own."""
        if not isinstance(rule, Rule) or type(rule) is Rule:
            raise TypeError(f"`rule` must be a rule, such as PA1(C=0.1), not {rule!r}")
        if not (space is None or isinstance(space, Space)):
            raise TypeError(f"`space` must be a space, such as Linear(), not {space!r}")
        if max_features is not None:
            max_features = whole("max_features", max_features, 1)
        space = Linear() if space is None else space
        check_rule(rule)
        check_pair(rule, space, task.kind, type(self).__name__)
        self.own_rule = copy.deepcopy(rule)
        self.rule_in_python = type(rule).step is not Rule.step
        if self.rule_in_python and "rule" in vars(self):
            vars(self)["rule"] = self.own_rule  # it can be written to, and must be what is shown, saved and copied
        self.takes_rows = all(getattr(type(self), name) is getattr(Learner, name) for name in _READERS_OF_X)
        # A method in Python is asked about the wrong class with the best score, as that of any other rule.
        self.moves_all_classes = isinstance(rule, AllClassesRule) and not self.rule_in_python
        self.has_covariance = not _COVARIANCES.isdisjoint(space.offers)
        self.reader = Reader(intercept, max_features, constant, not (<Space> space).refuses_negative)
        self.own_space = (<Space> space).open(self.reader)
        self.own_space.bind_rule(self.own_rule)
        self.task = task.with_one_vector(type(self).__name__) if self.own_space.needs_one_vector else task
        self.open_blocks(self.task)

    def _change(self, name, value):
        """Give a parameter a new value and keep everything that was learned."""
        cdef Learner fresh
        self.start_learning()  # a round of another thread keeps the task with which it began
        try:
            fresh = self.clone({name: value})  # now: another thread may have changed another parameter
            if fresh.class_weights is not None:
                fresh.class_weights.check_labels(self.task)  # now: else each further round would be refused
            self.own_space.bind_rule(fresh.own_rule)
            # What differs between two that have learned nothing follows from the parameter. What else a subclass keeps
            # there, it has learned.
            before = vars(self.clone())
            vars(self).update({key: now for key, now in vars(fresh).items() if key not in before or differs(before[key], now)})
            self.own_rule = fresh.own_rule
            self.rule_in_python, self.moves_all_classes = fresh.rule_in_python, fresh.moves_all_classes
            if not is_balanced(self.class_weights) or not is_balanced(fresh.class_weights):  # else the counts are kept
                self.class_weights = fresh.class_weights
            self.task = self.task.updated(fresh.task)
        finally:
            self.end_learning()

    def __getstate__(self):
        with Undisturbed(self):
            return {
                **self.task.state(),
                **self.reader.hash_state(),
                "space": self.own_space.__getstate__(),
                "n_seen": self.n_seen,
                "n_mistakes": self.n_mistakes,
                "n_updates": self.n_updates,
                **({} if self.class_weights is None else self.class_weights.state()),
            }

    def __setstate__(self, state):
        cdef Task task = self.task.restored(state)
        cdef Reader reader = Reader(self.reader.intercept, self.reader.max_features, self.reader.constant, self.reader.signed)
        cdef Space space = self.own_space.open(reader)
        self.reader.check_hash_state(state)
        space.bind_rule(self.own_rule)
        space.__setstate__(state["space"])
        while space.blocks < task.blocks and not state["labels"]:  # no label was learned, and this learner names classes
            space.add_block()
        # All loops over blocks rely on this. One may be left over: the mean of models without labels has one, of zeros.
        if not task.blocks <= space.blocks <= max(task.blocks, 1):
            raise ValueError(f"{task.blocks} weight vectors are needed, and the state has {space.blocks}")
        self.task, self.reader, self.own_space = task, reader, space  # at once: another thread may read meanwhile
        self.n_seen, self.n_mistakes, self.n_updates = state["n_seen"], state["n_mistakes"], state["n_updates"]
        if self.class_weights is not None:
            self.class_weights.restore(state)


cdef bint differs(object before, object now) except -1:
    try:
        return bool(before != now)
    except ValueError:  # of arrays
        return not np.array_equal(before, now)


cdef object array_of(list labels):
    """Return an array with the labels as they are: of mixed ones numpy would make texts, and of tuples rows."""
    cdef set kinds = {type(label) for label in labels}
    if len(kinds) <= 1 and tuple not in kinds:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        array[i] = label
    return array


cdef inline double as_weight(object w) except? -1.0:
    """Return a sample weight as a number."""
    if type(w) is float:
        return <double> w
    try:
        return w
    except TypeError:
        raise TypeError(f"`w` must be a number, the sample weight, not {short(w)}") from None


cdef inline bint is_balanced(ClassWeights weights) noexcept:
    return weights is not None and weights.balanced


cdef inline bint all_finite(const double* values, Py_ssize_t length) noexcept:
    cdef Py_ssize_t i
    for i in range(length):
        if not isfinite(values[i]):
            return False
    return True
