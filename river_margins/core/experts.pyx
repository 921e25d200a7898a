"""Experts with weights, which fall with their losses: exponential weights with a fixed share."""

from libc.math cimport INFINITY, exp, isfinite
from libc.stdlib cimport free, malloc

from river_margins.core.learner cimport Learner


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

    def __cinit__(self, list members, double eta, double share):
        cdef Py_ssize_t i
        self.members, self.eta, self.share = members, eta, share
        self.learners = [each if isinstance(each, Learner) and (<Learner> each).takes_rows else None for each in members]
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

    cdef object predict(self, Py_ssize_t i, x):
        cdef Learner learner = self.learners[i]
        return self.members[i].predict_one(x) if learner is None else learner.predict(x)

    cdef object predict_learn(self, Py_ssize_t i, x, y, double w):
        cdef Learner learner = self.learners[i]
        if learner is not None:
            return learner.learn(x, y, w, True)
        member = self.members[i]
        predicted = member.predict_one(x)
        if w == 1.0:
            member.learn_one(x, y)
        else:
            member.learn_one(x, y, w=w)
        return predicted

    def predictions(self, x):
        """Return the predictions of all experts."""
        cdef Py_ssize_t i
        return [self.predict(i, x) for i in range(len(self.members))]

    def mean(self, list predictions):
        """Return the weighted mean of the predictions that are finite numbers; 0 if there is none."""
        cdef Py_ssize_t i
        cdef double total = 0.0, weight = 0.0
        for i in range(len(self.members)):
            if predictions[i] is not None and isfinite(<double> predictions[i]):
                total += self.weight[i] * <double> predictions[i]
                weight += self.weight[i]
        return total / weight if weight > 0.0 else 0.0

    def votes(self, x, labels):
        """Return the share of each label in the weight of the experts that predict one; {} if none does."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        cdef dict votes = dict.fromkeys(labels, 0.0)
        for i in range(len(self.members)):
            predicted = self.predict(i, x)
            if predicted is not None:
                votes[predicted] = <double> votes.get(predicted, 0.0) + self.weight[i]
                total += self.weight[i]
        return {label: <double> vote / total for label, vote in votes.items()} if total > 0.0 else {}

    def learn_label(self, x, y, double w=1.0):
        """Let each expert predict, then learn; a prediction other than the label is a loss of w, the sample weight."""
        self.reweigh([0.0 if predicted == y else w for predicted in self.predict_and_learn(x, y, w)])

    def predict_and_learn(self, x, y, double w=1.0):
        """Let each expert predict, then learn; return the predictions, None of an expert that refuses the example.

        If all refuse it, raise the error of the last one: then nothing has changed.
        """
        cdef Py_ssize_t i, refused = 0
        cdef list predictions = []
        refusal = None
        for i in range(len(self.members)):
            try:
                predicted = self.predict_learn(i, x, y, w)
            except (ValueError, OverflowError) as error:
                predicted, refusal, refused = None, error, refused + 1
            predictions.append(predicted)
        if refusal is not None and refused == len(self.members):
            raise refusal
        return predictions

    def reweigh(self, list losses):
        """Change the weights after losses, one for each expert: from 0 to 1, times the sample weight."""
        cdef Py_ssize_t i, count = len(self.members)
        cdef double total = 0.0, least = INFINITY
        # Less the least loss of those with a weight, so that not all weights become 0, however large eta is.
        for i in range(count):
            if self.weight[i] > 0.0:
                least = min(least, <double> losses[i])
        for i in range(count):
            self.weight[i] *= exp(-self.eta * max(<double> losses[i] - least, 0.0))
            total += self.weight[i]
        for i in range(count):
            self.weight[i] = (1.0 - self.share) / total * self.weight[i] + self.share / count
