"""Experts with weights, which fall with their losses: exponential weights with a fixed share."""

cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN, exp, fabs, isfinite
from libc.stdlib cimport calloc, free, malloc

from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Reader
from river_margins.core.round cimport Round


@cython.final
cdef class Reading:
    """An example in the row of a round, and the reader that has filled it; None if each expert must read by itself."""

    cdef Round round
    cdef Reader reader
    cdef object said  # what an expert in Python has predicted before it refused to learn

    def __cinit__(self):
        self.round = Round()


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
    cdef double eta, share
    cdef double* weight
    cdef list learners  # the members that can be called without the overhead of Python; None for each of the others
    cdef Learner first  # of these learners, the one that reads for all which know the same features; or None
    cdef Reading spare_reading

    def __cinit__(self, list members, double eta, double share):
        cdef Py_ssize_t i
        self.members, self.eta, self.share = members, eta, share
        self.learners = [each if isinstance(each, Learner) and (<Learner> each).takes_rows else None for each in members]
        self.first = next((each for each in self.learners if each is not None), None)
        self.weight = <double*> malloc(len(members) * sizeof(double))
        if self.weight == NULL:
            raise MemoryError()
        for i in range(len(members)):
            self.weight[i] = 1.0 / len(members)

    def __dealloc__(self):
        free(self.weight)

    @property
    def weights(self):
        """The weights, which add up to 1."""
        cdef Py_ssize_t i
        return [self.weight[i] for i in range(len(self.members))]

    @weights.setter
    def weights(self, values):
        cdef Py_ssize_t i
        if len(values) != len(self.members) or not all(0.0 <= value <= 1.0 for value in values):
            raise ValueError(f"{len(self.members)} weights from 0 to 1 are needed, one for each expert, not {values!r}")
        for i in range(len(self.members)):
            self.weight[i] = values[i]

    cdef Reading read(self, x):
        """Return x as the first learner reads it. The caller returns it to `spare_reading` at its end."""
        cdef Reading reading = self.spare_reading
        self.spare_reading = None
        if reading is None:
            reading = Reading()
        reading.reader = None
        if self.first is not None:
            reader = self.first.reader
            try:
                reader.fill_row(reading.round.row, x)
            except Exception:  # each expert shall refuse x by itself
                return reading
            # New features enter a vocabulary when its learner moves, and only a learner that reads by itself may add them.
            if not reading.round.row.fresh:
                reading.reader = reader
        return reading

    cdef object predict(self, Py_ssize_t i, x, Reading reading):
        cdef Learner learner = <Learner> self.learners[i]
        if learner is None:
            return self.members[i].predict_one(x)
        if reading.reader is not None and read_alike(learner.reader, reading.reader):
            return learner.predict_read(reading.round.row)
        return learner.predict(x)

    cdef object predict_learn(self, Py_ssize_t i, x, y, double w, Reading reading):
        cdef Learner learner = <Learner> self.learners[i]
        if learner is not None:
            if reading.reader is not None and read_alike(learner.reader, reading.reader):
                return learner.learn_read(reading.round, y, w, True)
            return learner.learn(x, y, w, True)
        member = self.members[i]
        predicted = reading.said = member.predict_one(x)
        if w == 1.0:
            member.learn_one(x, y)
        else:
            member.learn_one(x, y, w=w)
        return predicted

    cpdef list predictions(self, x):
        """Return the predictions of all experts."""
        cdef Py_ssize_t i
        cdef Reading reading = self.read(x)
        cdef list predictions = [self.predict(i, x, reading) for i in range(len(self.members))]
        self.spare_reading = reading
        return predictions

    def mean(self, list predictions):
        """Return the weighted mean of the predictions that are finite numbers; 0 if there is none."""
        cdef Py_ssize_t i
        cdef double total = 0.0, weight = 0.0
        for i in range(len(self.members)):
            if predictions[i] is not None and isfinite(<double> predictions[i]):
                total += self.weight[i] * <double> predictions[i]
                weight += self.weight[i]
        return total / weight if weight > 0.0 else 0.0

    def votes(self, x, list labels):
        """Return the share of each label in the weight of the experts that predict one; {} if none does."""
        cdef list predictions = self.predictions(x), known = list(labels)
        cdef double* votes = new_numbers(len(known) + len(predictions))
        cdef double total
        cdef Py_ssize_t place
        try:
            total = self.count_votes(predictions, known, votes)
            return {label: votes[place] / total for place, label in enumerate(known)} if total > 0.0 else {}
        finally:
            free(votes)

    def leader(self, x, list labels):
        """Return the label with the most votes, the first of equals; None if there is none."""
        return self.first_of(self.predictions(x), labels)

    cdef object first_of(self, list predictions, list labels):
        cdef list known = list(labels)
        cdef double* votes = new_numbers(len(known) + len(predictions))
        cdef double total, most = -1.0
        cdef Py_ssize_t place, first = 0
        try:
            total = self.count_votes(predictions, known, votes)
            for place in range(len(known) if total > 0.0 else 0):
                if votes[place] / total > most:
                    first, most = place, votes[place] / total
            return known[first] if total > 0.0 else None
        finally:
            free(votes)

    cdef double count_votes(self, list predictions, list known, double* votes) except -1.0:
        """Add the weight of each expert to the votes for its label; return the sum. Labels that are not known are appended."""
        cdef Py_ssize_t i, place = -1
        cdef double total = 0.0
        cdef dict places = None
        cdef object last = None
        for i in range(len(predictions)):
            predicted = predictions[i]
            if predicted is None:
                continue
            if predicted is not last:
                place, last = place_of(predicted, known), predicted
                if place < 0:  # no label is the same object, but one may be equal
                    if places is None:
                        places = {label: number for number, label in enumerate(known)}
                    place = places.setdefault(predicted, len(known))
                    if place == len(known):
                        known.append(predicted)
            votes[place] += self.weight[i]
            total += self.weight[i]
        return total

    def learn_label(self, x, y, double w=1.0, list labels=None):
        """Let each expert predict, then learn; a prediction other than the label is a loss of w, the sample weight.

        Return the label with the most votes before this round, if `labels` are given.
        """
        cdef list said = None if labels is None else []
        cdef list predictions = self.predict_and_learn(x, y, w, said)
        cdef object found = None if labels is None else self.first_of(said, labels)
        cdef double* losses = new_numbers(len(predictions))
        cdef Py_ssize_t i
        try:
            for i in range(len(predictions)):
                losses[i] = 0.0 if is_label(predictions[i], y) else w
            self.lower_weights(losses)
        finally:
            free(losses)
        return found

    cpdef list predict_and_learn(self, x, y, double w=1.0, list said=None):
        """Let each expert predict, then learn; return the predictions, None of an expert that refuses the example.

        If all refuse it, raise the error of the last one: then nothing has changed. `said` gets the predictions of all, also
        of those that then refuse to learn; None of one that cannot predict.
        """
        cdef Py_ssize_t i, refused = 0
        cdef list predictions = []
        cdef Reading reading = self.read(x)
        refusal = None
        for i in range(len(self.members)):
            reading.said = None
            try:
                predicted = self.predict_learn(i, x, y, w, reading)
            except (ValueError, OverflowError) as error:
                predicted, refusal, refused = None, error, refused + 1
                if said is not None:
                    said.append(reading.said if self.learners[i] is None else self.predict_or_none(i, x, reading))
            else:
                if said is not None:
                    said.append(predicted)
            predictions.append(predicted)
        self.spare_reading = reading
        if refusal is not None and refused == len(self.members):
            raise refusal
        return predictions

    cdef object predict_or_none(self, Py_ssize_t i, x, Reading reading):
        """Return what a learner predicts that has refused to learn, and so is unchanged."""
        try:
            return self.predict(i, x, reading)
        except (ValueError, OverflowError):
            return None

    def reweigh(self, list losses):
        """Change the weights after losses, one for each expert: from 0 to 1, times the sample weight."""
        cdef double* numbers = new_numbers(len(losses))
        cdef Py_ssize_t i
        try:
            for i in range(len(losses)):
                numbers[i] = losses[i]
            self.lower_weights(numbers)
        finally:
            free(numbers)

    cdef void lower_weights(self, const double* losses) noexcept:
        cdef Py_ssize_t i, count = len(self.members)
        cdef double total = 0.0, least = INFINITY, last = NAN, factor = 1.0, kept
        # Less the least loss of those with a weight, so that not all weights become 0, however large eta is.
        for i in range(count):
            if self.weight[i] > 0.0:
                least = min(least, losses[i])
        for i in range(count):
            if losses[i] > least:
                if losses[i] != last:
                    last, factor = losses[i], exp(-self.eta * (losses[i] - least))
                self.weight[i] *= factor
            total += self.weight[i]
        kept = (1.0 - self.share) / total
        for i in range(count):
            self.weight[i] = kept * self.weight[i] + self.share / count

    def reweigh_errors(self, list predictions, double label, double mean, double unit, double scale, double w):
        """Change the weights after predictions of (label - mean)/unit: the losses are w times the errors/scale, at most w."""
        cdef Py_ssize_t i
        cdef double error
        cdef double* losses = new_numbers(len(predictions))
        try:
            for i in range(len(predictions)):
                error = INFINITY if predictions[i] is None else fabs(mean + unit * <double> predictions[i] - label)
                losses[i] = w * error / scale if error < scale else w
            self.lower_weights(losses)
        finally:
            free(losses)


cdef double* new_numbers(Py_ssize_t count) except NULL:
    """Return so many zeros, which the caller frees."""
    cdef double* numbers = <double*> calloc(max(count, 1), sizeof(double))
    if numbers == NULL:
        raise MemoryError()
    return numbers


cdef inline bint read_alike(Reader reader, Reader other) except -1:
    # Once two readers have compared all their features, no call is needed.
    return (reader.compared is other and reader.agreed >= other.size()) or reader.reads_as(other)


cdef inline bint is_label(predicted, y) except -1:
    if predicted is y:
        return True
    return not (type(predicted) is bool and type(y) is bool) and predicted == y


cdef Py_ssize_t place_of(label, list labels) noexcept:
    """Return the place of the same object in a list; -1 if it is not there."""
    cdef Py_ssize_t place
    for place in range(len(labels)):
        if <PyObject*> label == PyList_GET_ITEM(labels, place):
            return place
    return -1
