"""Experts with weights, which fall with their losses: exponential weights with a fixed share."""

cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.math cimport INFINITY, NAN, exp, fabs, isfinite, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from river_margins.core.kernels cimport dot, dot_at
from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Reader, Row
from river_margins.core.round cimport Round
from river_margins.rules.base cimport Seen, Step, changes_covariance, moves_weights, reset
from river_margins.spaces.averaged cimport AveragedLinear
from river_margins.spaces.base cimport Direction, set_one
from river_margins.spaces.gaussian cimport Gaussian
from river_margins.spaces.linear cimport Linear
from river_margins.spaces.sparse cimport Sparse
from river_margins.tasks.binary cimport Binary
from river_margins.tasks.regression cimport Regression, real

from river_margins.tasks.labels import plain

cdef double LARGEST_ERROR = 1e300  # that counts in the mean error, which stays finite
cdef double FAR = 100.0  # standard deviations of the labels from their mean: the prediction of an expert that diverges
cdef double ERROR_MEMORY = 0.001  # the least weight of a new error in the mean error, so that the mean follows a drift
# River's learners refuse a text by a TypeError, and a step such as FuncTransformer a missing feature by a KeyError.
cdef tuple REFUSALS = (TypeError, ValueError, ArithmeticError, LookupError)
cdef double LEAST_WEIGHT = 1e-300  # of an expert without a share, which could not come back from a weight of 0


@cython.final
cdef class Reading:
    """The working memory of one call: an example in the row of a round, and what each expert says of it."""

    cdef Round round
    cdef Reader reader  # that has filled the row; None if each expert must read by itself
    cdef list said  # the predictions; None of an expert that cannot predict
    cdef bint* refused  # whether it has refused to learn
    cdef double* numbers  # the predictions of regressors; NaN for None
    cdef double* losses
    cdef double* votes
    cdef Py_ssize_t vote_room

    def __cinit__(self, Py_ssize_t count):
        self.round, self.said = Round(), [None] * count
        self.refused = <bint*> malloc(count * sizeof(bint))
        self.numbers = <double*> malloc(count * sizeof(double))
        self.losses = <double*> malloc(count * sizeof(double))
        if self.refused == NULL or self.numbers == NULL or self.losses == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.refused)
        free(self.numbers)
        free(self.losses)
        free(self.votes)

    cdef int start_votes(self, Py_ssize_t count) except -1:
        """Set so many votes to 0."""
        if count > self.vote_room:
            free(self.votes)
            self.vote_room = 0
            self.votes = <double*> malloc(count * sizeof(double))
            if self.votes == NULL:
                raise MemoryError()
            self.vote_room = count
        memset(self.votes, 0, count * sizeof(double))
        return 0


cdef class Experts:
    """Estimators that predict and learn side by side, and the weight of each.

    Parameters
    ----------
    members
        The estimators. They are not copied.
    eta
        A loss l, from 0 to 1, multiplies a weight by exp(-eta·l).
    share
        The part of all weights that is then shared equally.
    """

    cdef readonly list members
    cdef Py_ssize_t count
    cdef double eta, share
    cdef double* weight
    cdef double fall, factor  # how far the last loss was above the least one, and exp(-eta·fall)
    cdef list learners  # the members that can be called without the overhead of Python; None for each of the others
    cdef bint* in_c  # whether the space of this learner has no parts in Python
    cdef Learner first  # of these learners, the one that reads for all which know the same features; or None
    cdef Reading spare_reading

    def __cinit__(self, list members, double eta, double share):
        cdef Py_ssize_t i
        self.members, self.count, self.eta, self.share, self.factor = members, len(members), eta, share, 1.0
        self.learners = [each if isinstance(each, Learner) and (<Learner> each).takes_rows else None for each in members]
        self.first = next((each for each in self.learners if each is not None), None)
        self.weight = <double*> malloc(self.count * sizeof(double))
        self.in_c = <bint*> malloc(self.count * sizeof(bint))
        if self.weight == NULL or self.in_c == NULL:
            raise MemoryError()
        for i in range(self.count):
            self.weight[i] = 1.0 / self.count
            self.in_c[i] = self.learners[i] is not None and isinstance(
                (<Learner> self.learners[i]).own_space, (Linear, Gaussian, Sparse)
            )

    def __dealloc__(self):
        free(self.weight)
        free(self.in_c)

    @property
    def weights(self):
        """The weights, which add up to 1."""
        cdef Py_ssize_t i
        return [self.weight[i] for i in range(self.count)]

    @weights.setter
    def weights(self, values):
        cdef Py_ssize_t i
        if len(values) != self.count or not all(0.0 <= value <= 1.0 for value in values):
            raise ValueError(f"{self.count} weights from 0 to 1 are needed, one for each expert, not {values!r}")
        for i in range(self.count):
            self.weight[i] = values[i]

    # ------------------------------------------------------------------------------------------------ rounds

    cdef Reading read(self, x):
        """Return x as the first learner reads it. The caller returns it to `spare_reading` at its end."""
        cdef Reading reading = self.spare_reading
        cdef Row row
        self.spare_reading = None
        if reading is None:
            reading = Reading(self.count)
        reading.reader = None
        if self.first is not None:
            reader, row = self.first.reader, reading.round.row
            try:
                reader.fill_row(row, x)
            except Exception:  # each expert shall refuse x by itself
                return reading
            # New features enter a vocabulary when its learner moves, and only a learner that reads by itself may add them.
            if not row.fresh:
                row.reserve_scores(1)
                reading.reader = reader
        return reading

    cdef Reading ask(self, x):
        """Return what each expert predicts."""
        cdef Py_ssize_t i
        cdef Reading reading = self.read(x)
        for i in range(self.count):
            reading.said[i] = self.predict(i, x, reading)
        return reading

    cdef object predict(self, Py_ssize_t i, x, Reading reading):
        cdef Learner learner = <Learner> self.learners[i]
        if learner is None:
            return self.members[i].predict_one(x)
        if reading.reader is not None and read_alike(learner.reader, reading.reader):
            if self.in_c[i] and has_one_vector(learner):
                return predict_in_c(learner, reading.round.row, False)
            return learner.predict_read(reading.round.row)
        return learner.predict(x)

    cdef object predict_learn(self, Py_ssize_t i, x, y, double w, Reading reading):
        cdef Learner learner = <Learner> self.learners[i]
        if learner is not None:
            if reading.reader is not None and read_alike(learner.reader, reading.reader):
                return learner.learn_read(reading.round, y, w, True)
            return learner.learn(x, y, w, True)
        member = self.members[i]
        reading.said[i] = member.predict_one(x)
        if w == 1.0:
            member.learn_one(x, y)
        else:
            member.learn_one(x, y, w=w)
        return reading.said[i]

    cdef int learn_all(self, x, y, double w, bint predicting, Reading reading) except -1:
        """Let each expert predict, then learn; fill `said` and `refused`.

        If all refuse the example, raise the error of the last one: then nothing has changed. With `predicting`, a learner that
        has refused to learn is asked again what it predicts.
        """
        cdef Py_ssize_t i = 0, refusals = 0
        cdef bint busy = False
        cdef double code
        cdef Learner learner = None
        cdef list said = reading.said
        cdef Round round = reading.round
        # Local variables, so that references are not counted for each expert.
        cdef list learners = self.learners
        cdef Reader reader = reading.reader
        cdef Py_ssize_t size = 0 if reader is None else reader.size()
        cdef Row row = round.row
        cdef Direction direction = round.direction
        cdef Seen seen = round.seen
        cdef Step step = round.step
        cdef long thread = PyThread_get_thread_ident()
        refusal = None
        memset(reading.refused, 0, self.count * sizeof(bint))
        try:
            while i < self.count:
                try:
                    while i < self.count:  # inside of `try`, so that not each expert enters one
                        learner = <Learner> learners[i]
                        if self.in_c[i] and learns_in_c(learner, reader, size):
                            learner.learning, learner.learning_thread, busy = True, thread, True
                            code = code_of(learner, y)
                            said[i] = predict_in_c(learner, row, True)
                            learn_in_c(learner, row, direction, seen, step, code, w)
                            learner.learning = busy = False
                        else:
                            said[i] = None
                            said[i] = self.predict_learn(i, x, y, w, reading)
                        i += 1
                except REFUSALS as error:
                    if busy:
                        learner.learning = busy = False
                    reading.refused[i], refusals, refusal = True, refusals + 1, error
                    if learner is not None:
                        said[i] = self.predict_or_none(i, x, reading) if predicting else None
                    i += 1
        finally:
            if busy:
                learner.learning = False
        if refusals and refusals == self.count:
            raise refusal
        return 0

    cdef object predict_or_none(self, Py_ssize_t i, x, Reading reading):
        """Return what a learner predicts that has refused to learn, and so is unchanged."""
        try:
            return self.predict(i, x, reading)
        except REFUSALS:
            return None

    def predict_and_learn(self, x, y, double w=1.0):
        """Let each expert predict, then learn; return the predictions, None of an expert that refuses the example.

        If all refuse it, raise the error of the last one: then nothing has changed.
        """
        cdef Py_ssize_t i
        cdef Reading reading = self.read(x)
        self.learn_all(x, y, w, False, reading)
        cdef list predictions = [None if reading.refused[i] else reading.said[i] for i in range(self.count)]
        self.spare_reading = reading
        return predictions

    # ----------------------------------------------------------------------------------------------- classes

    def votes(self, x, list labels):
        """Return the share of each label in the weight of the experts that predict one; {} if none does."""
        cdef Py_ssize_t place
        cdef double total = 0.0
        cdef Reading reading = self.ask(x)
        cdef list known = self.count_votes(reading, labels, &total)
        cdef dict votes = {}
        if total > 0.0:
            for place in range(len(known)):
                votes[known[place]] = reading.votes[place] / total
        self.spare_reading = reading
        return votes

    def leader(self, x, list labels):
        """Return the label with the most votes, the first of equals; None if there is none."""
        cdef Reading reading = self.ask(x)
        found = self.first_of(reading, labels)
        self.spare_reading = reading
        return found

    cdef object first_of(self, Reading reading, list labels):
        cdef double total = 0.0, most = -1.0
        cdef Py_ssize_t place, first = 0
        cdef list known = self.count_votes(reading, labels, &total)
        if not total > 0.0:
            return None
        for place in range(len(known)):
            if reading.votes[place] / total > most:
                first, most = place, reading.votes[place] / total
        return known[first]

    cdef list count_votes(self, Reading reading, list labels, double* total):
        """Add the weight of each expert to the votes for its label, and to `total`; return the labels, with new ones at the end."""
        cdef Py_ssize_t i, place = -1, count = len(labels)
        # Local variables, because a sum in memory waits for the last one to be written there.
        cdef double all_votes = 0.0, votes = 0.0  # of the last label
        cdef list known = labels, said = reading.said
        cdef dict places = None
        cdef PyObject* predicted
        cdef PyObject* last = NULL
        reading.start_votes(count + self.count)
        for i in range(self.count):
            predicted = PyList_GET_ITEM(said, i)
            if predicted == <PyObject*> None:
                continue
            if predicted != last:
                if place >= 0:
                    reading.votes[place] = votes
                place, last = place_of(predicted, known, count), predicted
                if place < 0:  # no label is the same object, but one may be equal
                    if places is None:
                        known = labels[:count]
                        places = {label: number for number, label in enumerate(known)}
                    place = places.setdefault(<object> predicted, count)
                    if place == count:
                        known.append(<object> predicted)
                        count += 1
                votes = reading.votes[place]
            votes += self.weight[i]
            all_votes += self.weight[i]
        if place >= 0:
            reading.votes[place] = votes
        total[0] = all_votes
        return known

    def learn_label(self, x, y, list labels, double w=1.0, bint predicting=False):
        """Let each expert predict, then learn; a prediction other than the label is a loss of w, the sample weight.

        A new label is appended to `labels`. With `predicting`, return the label with the most votes before this round.
        """
        cdef Py_ssize_t i
        cdef object found = None
        cdef Reading reading = self.read(x)
        cdef list said = reading.said
        y = y if type(y) is bool else plain(y)
        self.learn_all(x, y, w, predicting, reading)
        if predicting:
            found = self.first_of(reading, labels)
        for i in range(self.count):
            reading.losses[i] = 0.0 if not reading.refused[i] and is_label(PyList_GET_ITEM(said, i), y) else w
        if w != 0.0:  # a round that counts for nothing shares nothing, either
            self.lower_weights(reading.losses)
        if place_of(<PyObject*> y, labels, len(labels)) < 0 and y not in labels:
            labels.append(y)
        self.spare_reading = reading
        return found

    # ----------------------------------------------------------------------------------------------- weights

    def reweigh(self, list losses):
        """Change the weights after losses, one for each expert: from 0 to 1, times the sample weight."""
        cdef Py_ssize_t i
        cdef Reading reading = Reading(self.count)
        for i in range(self.count):
            reading.losses[i] = losses[i]
        self.lower_weights(reading.losses)

    cdef void lower_weights(self, const double* losses) noexcept:
        cdef Py_ssize_t i
        cdef double total = 0.0, least = INFINITY, kept, part = self.share / self.count
        # Less the least loss, so that the best expert keeps its weight, however large eta is.
        for i in range(self.count):
            least = min(least, losses[i])
        for i in range(self.count):
            self.weight[i] = max(self.weight[i], LEAST_WEIGHT)  # older snapshots may have 0
            if losses[i] > least:
                if losses[i] - least != self.fall:
                    self.fall = losses[i] - least
                    self.factor = exp(-self.eta * self.fall)
                self.weight[i] = max(self.weight[i] * self.factor, LEAST_WEIGHT)
            total += self.weight[i]
        kept = (1.0 - self.share) / total
        for i in range(self.count):
            self.weight[i] = kept * self.weight[i] + part


@cython.final
cdef class NumberExperts(Experts):
    """Regressors side by side. They learn labels of mean 0 and variance 1, by the mean and the variance of all labels so far.

    The loss of an expert is its error in units of twice the mean error of the weighted mean since the first label, at most 1.
    """

    cdef double label_weight, label_mean, squares, mean_error
    cdef double lowest, highest  # of all labels so far

    @property
    def moments(self):
        """The weights of all labels in sum, their mean, their squared distances from it in sum, the mean error, and their ends."""
        return self.label_weight, self.label_mean, self.squares, self.mean_error, self.lowest, self.highest

    @moments.setter
    def moments(self, numbers):
        self.label_weight, self.label_mean, self.squares, self.mean_error, self.lowest, self.highest = numbers

    @property
    def unit(self):
        """The standard deviation of the labels; 1 if there is none."""
        return deviation(self.squares, self.label_weight)

    cdef double mean(self, Reading reading, bint of_all) noexcept:
        """Return the weighted mean of the predictions that are finite; 0 if there is none. Not `of_all`: of those that learned."""
        cdef Py_ssize_t i
        cdef double total = 0.0, weight = 0.0
        for i in range(self.count):
            if isfinite(reading.numbers[i]) and (of_all or not reading.refused[i]):
                total += self.weight[i] * reading.numbers[i]
                weight += self.weight[i]
        return total / weight if weight > 0.0 else 0.0

    cdef int take_numbers(self, Reading reading, double unit) except -1:
        cdef Py_ssize_t i, near = 0
        cdef double number
        # A rare huge feature takes linear experts far beyond all labels, and a loss of at most 1 does not tell how far.
        cdef double spread = self.highest - self.lowest
        cdef double least = (self.lowest - spread - self.label_mean) / unit
        cdef double most = (self.highest + spread - self.label_mean) / unit
        for i in range(self.count):
            near += reading.said[i] is not None and fabs(reading.said[i]) <= FAR
        for i in range(self.count):
            number = NAN if reading.said[i] is None else reading.said[i]
            # Even the least weight, share/N, of an expert that diverges would be the whole mean.
            if fabs(number) > FAR and near > 0 and self.weight[i] * self.count <= 1.0 + 1e-9:
                number = NAN
            elif self.label_weight > 0.0 and isfinite(number):
                number = min(max(number, least), most)
            reading.numbers[i] = number if isfinite(self.label_mean + unit * number) else NAN
        return 0

    def predict_number(self, x):
        """Return the weighted mean of the experts; 0 before the first label."""
        cdef Reading reading = self.ask(x)
        cdef double unit = deviation(self.squares, self.label_weight)
        self.take_numbers(reading, unit)
        cdef double mean = self.mean(reading, True)
        self.spare_reading = reading
        return self.label_mean + unit * mean

    def learn_number(self, x, y, double w=1.0, bint predicting=False):
        """Let each expert predict, then learn; return the weighted mean before this round, and without `predicting` any number."""
        cdef Py_ssize_t i
        cdef double label = real(y), count = self.label_weight + w, old_mean = self.label_mean
        cdef double old_unit = deviation(self.squares, self.label_weight), part = w / count if w != 0.0 else 0.0
        cdef double mean = old_mean + (label - old_mean) * part, combined, predicted, error
        cdef double squares = self.squares + w * (label - old_mean) * (label - mean)
        cdef Reading reading
        if not (isfinite(squares + label * label) and isfinite(count)):  # all labels after a huge first one would be refused
            raise OverflowError(
                f"`AutoRegressor`: the label {y!r} takes the variance of the labels beyond floating point: scale the labels"
            )
        reading = self.read(x)
        self.learn_all(x, (label - mean) / deviation(squares, count), w, predicting, reading)
        self.take_numbers(reading, old_unit)
        combined = self.mean(reading, False)
        predicted = old_mean + old_unit * self.mean(reading, True)
        if self.mean_error > 0.0 and w != 0.0:
            for i in range(self.count):
                error = fabs(old_mean + old_unit * reading.numbers[i] - label)
                reading.losses[i] = w * error / (2.0 * self.mean_error) if error < 2.0 * self.mean_error else w
                if reading.refused[i]:
                    reading.losses[i] = w
            self.lower_weights(reading.losses)
        if w != 0.0:
            self.lowest = min(self.lowest, label) if self.label_weight > 0.0 else label
            self.highest = max(self.highest, label) if self.label_weight > 0.0 else label
        if self.label_weight > 0.0:  # the first error is the label itself, which says nothing about the experts
            error = min(fabs(old_mean + old_unit * combined - label), LARGEST_ERROR)
            self.mean_error += (error - self.mean_error) * min(max(part, w * ERROR_MEMORY), 1.0)
        self.label_weight, self.label_mean, self.squares = count, mean, squares
        self.spare_reading = reading
        return predicted


cdef inline double deviation(double squares, double weight) noexcept:
    """Return the standard deviation of labels with this sum of squares; 1 if there is none, or none that is above 0."""
    cdef double found = sqrt(squares / weight) if squares > 0.0 else 0.0
    return found if found > 0.0 else 1.0


cdef inline bint read_alike(Reader reader, Reader other) except -1:
    # Once two readers have compared all their features, no call is needed.
    return (reader.compared is other and reader.agreed >= other.size()) or reader.reads_as(other)


cdef inline bint is_label(PyObject* predicted, y) except -1:
    if predicted == <PyObject*> y:
        return True
    return not (type(<object> predicted) is bool and type(y) is bool) and <object> predicted == y


cdef inline Py_ssize_t place_of(PyObject* label, list labels, Py_ssize_t count) noexcept:
    """Return the place of the same object among the first labels of a list; -1 if it is not there."""
    cdef Py_ssize_t place
    for place in range(count):
        if label == PyList_GET_ITEM(labels, place):
            return place
    return -1


# ------------------------------------------------- the round of `Learner.learn_row`, with fewer calls, for most experts

cdef inline bint has_one_vector(Learner learner) noexcept:
    return learner.task.by_sign or type(learner.task) is Regression


cdef inline bint learns_in_c(Learner learner, Reader reader, Py_ssize_t size) except -1:
    """Return whether `learn_in_c` can learn a row, if the space of the learner has no parts in Python.

    `reader` has filled the row when it knew `size` features.
    """
    return (
        reader is not None and has_one_vector(learner) and not learner.learning and not learner.rule_in_python
        and learner.class_weights is None
        # Once two readers have compared all their features, no call is needed.
        and (learner.reader.compared is reader and learner.reader.agreed >= size or learner.reader.reads_as(reader))
    )


cdef inline double code_of(Learner learner, y) except? -2.0:
    if learner.task.by_sign:
        if y is (<Binary> learner.task).positive:
            return 1.0
        if y is (<Binary> learner.task).negative:
            return -1.0
    return learner.task.code(y)


cdef inline object prediction_of(Learner learner, double score):
    if learner.task.by_sign:
        return (<Binary> learner.task).positive if score >= 0.0 else (<Binary> learner.task).negative
    return score


cdef inline double dot_with(const double* weights, Row row) noexcept:
    return dot(weights, row.value, row.known) if row.consecutive else dot_at(weights, row.index, row.value, row.known)


cdef inline object predict_in_c(Learner learner, Row row, bint learning):
    """Return the prediction. With `learning`, leave the score to learn from in the row."""
    cdef Linear space
    cdef AveragedLinear averaged
    cdef double mean
    if type(learner.own_space) is Linear:
        space = <Linear> learner.own_space
        row.scores[0] = mean = space.scale * dot_with(space.weights, row)
    elif type(learner.own_space) is AveragedLinear:
        averaged = <AveragedLinear> learner.own_space
        row.scores[0] = mean = averaged.scale * dot_with(averaged.weights, row)
        if averaged.count != 0.0:
            mean *= averaged.mass / averaged.scale
            mean -= averaged.correction.scale * dot_with(averaged.correction.weights, row)
            mean /= averaged.count
    elif learner.own_space.predicts_apart:
        learner.score_for_prediction(row)
        mean = row.scores[0]
        if learning:
            learner.score_row(row, 1)
    else:
        learner.own_space.score(row, 1)
        mean = row.scores[0]
    if not isfinite(mean):  # as it is not, either, if the score to learn from is not
        learner.refuse_score()
    return prediction_of(learner, mean)


cdef inline int learn_in_c(Learner learner, Row row, Direction direction, Seen seen, Step step, double code,
                           double weight) except -1:
    """Learn from a row with the score that `predict_in_c` has left there."""
    cdef bint moving
    cdef double coefficient
    if learner.task.by_sign:
        set_one(direction, 0, code)
        seen.target, seen.wrong, seen.equality = 1.0, (row.scores[0] >= 0.0) != (code > 0.0), False
    else:
        learner.task.constraint(row, None, code, direction)
        seen.target, seen.wrong, seen.equality = direction.target, direction.wrong, direction.equality
    seen.weight, seen.t, seen.k = weight, learner.n_seen + 1, learner.n_updates
    if type(learner.own_space) is Linear or type(learner.own_space) is AveragedLinear:
        coefficient = direction.terms[0].coefficient
        seen.margin, seen.gain = 0.0 + coefficient * row.scores[0], coefficient * coefficient * row.norm2
        seen.size = (<Linear> learner.own_space).size
    else:
        learner.own_space.measure(row, direction, seen)
    reset(step)
    learner.own_rule.respond(seen, step)
    moving = moves_weights(step) or learner.has_covariance and changes_covariance(step)
    if not (isfinite(seen.gain) and (not moving or learner.own_space.stays_finite(row, direction, seen, step))):
        learner.refuse_move(seen, step)
    # Nothing below may fail.
    learner.n_seen += 1
    learner.n_mistakes += seen.margin <= 0.0 if learner.task.by_sign else learner.task.mistaken(seen)
    if moving:
        learner.own_space.move(row, direction, seen, step)
        learner.n_updates += step.step != 0.0
    if learner.own_space.counts_rounds:
        learner.own_space.end_round(row, direction, seen)
    return 0
