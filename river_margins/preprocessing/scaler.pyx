"""The compiled scaler."""

import numpy as np
from river import base

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, isfinite, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

from river_margins.core.batch cimport Batch
from river_margins.core.dict_walk cimport dict_refilled
from river_margins.core.estimator cimport Undisturbed
from river_margins.core.kernels cimport Moments, deviation_of, scale_and_move, scaled, with_value
from river_margins.core.learner cimport Learner
from river_margins.core.reader cimport Reader, Row
from river_margins.core.round cimport Round
from river_margins.core.transformed_row cimport TransformedRow, fill_row_from_step, offer_again
from river_margins.preprocessing.rows cimport RowMaker, has_text

from river_margins.core.checks import at_least_or_none
from river_margins.core.frames import Numbers, numbers_of
from river_margins.preprocessing.rows import FirstStep


cdef class RunningMoments(RowMaker):
    """The compiled part of `StandardScaler`: count, mean and variance of each feature, by Welford's recurrence."""

    @property
    def _is_made(self):
        return self.reader is not None

    def __dealloc__(self):
        free(self.moments)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.capacity * sizeof(Moments)

    cdef Row take_row(self):
        cdef Row row = self.spare_row
        if row is None:
            return Row()
        self.spare_row = None
        return row

    cdef int reserve(self, Py_ssize_t length) except -1:
        if length <= self.capacity:
            return 0
        cdef Py_ssize_t wanted = length + length // 2
        cdef Moments* larger = <Moments*> realloc(self.moments, wanted * sizeof(Moments))
        if larger == NULL:
            raise MemoryError()
        self.moments = larger
        self.capacity = wanted
        return 0

    cdef int learn_row(self, Row row) except -1:
        # Compute and check all values before the first write.
        cdef Py_ssize_t i, size = self.reader.size(), length = row.known + row.fresh
        cdef Moments moment
        cdef double value, total = 0.0
        self.reserve(size + length)
        cdef Moments* made = self.moments + size
        for i in range(length):
            if i < row.known:
                moment = self.moments[row.index[i]]
                value = row.value[i]
            else:
                moment = Moments(0.0, 0.0, 0.0, 0.0)
                value = row.own_value[row.capacity + i - row.known]
            made[i] = with_value(moment, value, self.kept)
            total += made[i].variance
        self.check_variances(total)
        for i in range(row.known):
            self.moments[row.index[i]] = made[i]
        # The new features get the next indices in this order. Their moments lie `known` places further on.
        for i in range(row.fresh):
            self.moments[size + i] = made[row.known + i]
        self.reader.add_features(row)
        return 0

    cdef int check_variances(self, double total) except -1:
        if not isfinite(total):
            raise OverflowError(f"`{type(self).__name__}`: these values would take a variance beyond floating point")
        return 0

    cdef int scale(self, Row row) except -1:
        """Scale the values of the row."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(row.known):
            row.own_value[i] = scaled(row.value[i], self.moments + row.index[i], self.divide, self.most)
            total += row.own_value[i]
        row.value = row.own_value
        for i in range(row.fresh if self.divide else 0):
            row.own_value[row.capacity + i] = 0.0
        if not isfinite(total):
            self.refuse_scaled()
        return 0

    cdef int refuse_scaled(self) except -1:
        raise OverflowError(f"`{type(self).__name__}`: these values are beyond floating point once scaled")

    cdef TransformedRow make_row(self, object x, bint learning):
        cdef TransformedRow made = self.take_made()
        cdef Row row = made.row
        cdef bint is_new
        if learning:
            self.start_learning()
        try:
            fill_row_from_step(self.reader, row, x)
            if learning:
                is_new = row.fresh > 0
                if is_new:
                    offer_again(x)
                self.learn_row(row)
                if is_new:  # learning has put new features last: read x again, for the next step needs its order
                    fill_row_from_step(self.reader, row, x)
        finally:
            if learning:
                self.end_learning()
        self.scale(row)
        made.names = self.reader.vocabulary.keys
        return made

    cdef object predict_and_learn(self, Learner learner, object x, object y):
        cdef TransformedRow made = self.take_made()
        cdef Round round = learner.take_round()
        cdef Reader reader = learner.reader
        self.spare_made = None  # the learner may run Python code, and no other thread may fill this row then
        self.start_learning()
        try:
            self.reader.fill_row(made.row, x)
            prediction = None if made.row.fresh else self.predict_and_move(learner, round, made)
        finally:
            self.end_learning()
        if made.row.fresh:  # learning changes the order of the row
            prediction = learner.predict(self.make_row(x, False))
            made = self.make_row(x, True)
            learner.learn(made, y, 1.0, False)
        else:
            learner.learn_changed(round, reader, made, y)
        self.spare_made = made
        return prediction

    cdef object predict_and_move(self, Learner learner, Round round, TransformedRow made):
        """Return the prediction for the values as they are scaled before learning; the row then has those after it."""
        cdef Row row = made.row
        self.reserve(self.reader.size() + row.known)
        cdef Py_ssize_t i
        cdef double before = 0.0, after = 0.0, variances = 0.0
        cdef const int32_t* index = row.index
        cdef double* value = row.own_value
        cdef double* later = value + row.capacity  # room for new features, of which there are none
        cdef Moments* moments = self.moments
        cdef Moments* moved = moments + self.reader.size()
        scale_and_move(value, later, moved, moments, index, self.kept, self.divide, self.most, row.known)
        for i in range(row.known):
            before += value[i]
            after += later[i]
            variances += moved[i].variance
        if not isfinite(before):
            self.refuse_scaled()
        made.names = self.reader.vocabulary.keys
        prediction = learner.predict_in(round, made)
        self.check_variances(variances)
        for i in range(row.known):
            moments[index[i]] = moved[i]
        if not isfinite(after):
            self.refuse_scaled()
        row.value = later
        made.unread = True
        return prediction

    def learn_one(self, x):
        """Update the moments of the features in x that are numbers."""
        cdef Row row
        cdef dict features = self.reader.features_of(x)
        if has_text(features):
            features = {key: value for key, value in features.items() if not isinstance(value, str)}
        self.start_learning()
        try:
            row = self.take_row()
            self.reader.fill_row(row, features)
            self.learn_row(row)
            self.spare_row = row
        finally:
            self.end_learning()

    def transform_one(self, x):
        """Scale the features in x. A feature that was never learned, or that never varied, becomes 0; a text stays as it is."""
        cdef dict features = self.reader.features_of(x)
        if has_text(features):
            numbers = self.transform_one({key: value for key, value in features.items() if not isinstance(value, str)})
            return {key: numbers.get(key, value) for key, value in features.items()}
        cdef TransformedRow made = self.make_row(features, False)
        cdef dict scaled = dict_refilled(features, made.row.value) if made.row.in_dict_order else made.as_dict()
        made.unread = False
        return scaled

    def learn_many(self, X):
        """Update the moments with the rows of a data frame, in order.

        All values are checked before the first row is learned. Only learning shows that a variance leaves floating point:
        then the error names the row, and the rows before it are learned.
        """
        self.refuse_frames("learn_one", "learn_many")
        cdef Batch batch = numbers_of(X).batch()
        cdef Row row
        cdef Py_ssize_t i = 0
        self.start_learning()
        try:
            row = self.take_row()
            for i in range(batch.length):
                PyErr_CheckSignals()
                batch.fill_row(self.reader, row, i)
                self.learn_row(row)
            self.spare_row = row
        except OverflowError as error:
            raise OverflowError(f"row {i} of the batch, after {i} that were learned: {error}") from error
        finally:
            self.end_learning()

    def transform_many(self, X):
        """Scale the rows of a data frame, as a frame of the same library and with the same index."""
        self.refuse_frames("transform_one", "transform_many")
        numbers = numbers_of(X)
        cdef list columns = numbers.names
        with Undisturbed(self):
            means = np.array([self.moments_of(column).mean for column in columns])
            variances = np.array([self.moments_of(column).variance for column in columns])
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = numbers.values - means
            if self.divide:
                scaled /= np.sqrt(np.where(variances > 0.0, variances, INFINITY))
                scaled[:, variances <= 0.0] = 0.0  # and not -0.0
                if self.most < INFINITY:
                    np.clip(scaled, -self.most, self.most, out=scaled)
            if not np.isfinite(scaled.sum(axis=1)).all():
                self.refuse_scaled()
        numbers = numbers.with_values(scaled)
        return numbers if isinstance(X, Numbers) else numbers.as_frame()

    cdef Moments moments_of(self, object feature) except *:
        """Return the moments of a feature, zeros if it was never learned."""
        cdef int32_t index = self.reader.vocabulary.find(feature)
        return self.moments[index] if index >= 0 else Moments(0.0, 0.0, 0.0, 0.0)

    @property
    def counts(self):
        """The number of examples with each feature; with a half life, the sum of their weights."""
        number = int if self.kept == 1.0 else float
        return {key: number(self.moments[i].count) for i, key in enumerate(self.reader.vocabulary.keys)}

    @property
    def means(self):
        """The mean of each feature."""
        return {key: self.moments[i].mean for i, key in enumerate(self.reader.vocabulary.keys)}

    @property
    def vars(self):
        """The (population) variance of each feature."""
        return {key: self.moments[i].variance for i, key in enumerate(self.reader.vocabulary.keys)}

    def _open(self, divide, half_life):
        self.reader = Reader()
        self.divide = divide
        self.kept = 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
        # With weights whose sum is W, no value that is learned is further than √(W - 1); W is 1/(1 - kept) at most.
        self.most = sqrt(self.kept / (1.0 - self.kept)) if self.kept < 1.0 else INFINITY
        self.open_rows(RunningMoments)
        self.takes_rows = self.leaves_texts = True

    def __getstate__(self):
        cdef Py_ssize_t i
        cdef double[:, ::1] view
        with Undisturbed(self):
            moments = np.empty((self.reader.size(), 3))
            view = moments
            for i in range(self.reader.size()):
                view[i, 0], view[i, 1], view[i, 2] = self.moments[i].count, self.moments[i].mean, self.moments[i].variance
            return {"features": self.reader.features(), "moments": moments}

    def __setstate__(self, state):
        cdef Py_ssize_t i
        cdef Reader reader = Reader()
        moments = np.ascontiguousarray(state["moments"], dtype=np.float64)
        cdef const double[:, ::1] view = moments
        reader.learn_features(state["features"])
        if moments.shape != (reader.size(), 3):
            raise ValueError(f"{reader.size()} features, but moments of shape {moments.shape}")
        if not np.isfinite(moments).all():
            raise ValueError("moments must be finite")
        self.reserve(reader.size())
        for i in range(reader.size()):
            self.moments[i] = Moments(view[i, 0], view[i, 1], view[i, 2], deviation_of(view[i, 2]))
        self.reader = reader


class StandardScaler(FirstStep, RunningMoments, base.MiniBatchTransformer):
    """Scale features to zero mean and unit variance, as seen so far.

    The results are those of River's scaler to rounding, several times faster. A feature that is not a finite number raises
    a ValueError; with River's scaler it turns all further results into NaN. A text is left to a later step, such as
    `OneHotEncoder`.

    Parameters
    ----------
    with_std
        Whether to divide by the standard deviation (default) or only to subtract the mean.
    half_life
        None (default): all examples count alike, as with River's scaler. Else a number of examples, 1 or more: a value counts
        half after so many further examples with its feature. Then the scaler follows features that change, such as those of
        a sensor that is moved, and forgets a huge value. Choose it longer than a feature stands still: what stands
        still for many half lives hardly varies any more, and its next change is far from the mean. A scaled value is
        1/√(2^(1/half_life) - 1) at most, 38 for a half life of 1000, which no value exceeds once it is learned.

    Raises
    ------
    ValueError
        If a feature is not a finite number; nothing is learned.
    OverflowError
        If a mean or variance would leave floating point; nothing is learned.

    Examples
    --------
    >>> import river_margins as rm
    >>> scaler = rm.StandardScaler()
    >>> scaler.learn_one({"a": 1.0})
    >>> scaler.learn_one({"a": 3.0})
    >>> scaler.transform_one({"a": 4.0, "b": 1.0})
    {'a': 2.0, 'b': 0.0}

    References
    ----------
    Welford, B. P., 1962. Note on a method for calculating corrected sums of squares and products. Technometrics 4.
    """

    round_cost = "The number of features in x."
    guarantee = "Without a half life, the results of River's scaler, to within 1e-9."
    advice = "Put it before any learner whose features differ in scale."

    def __init__(self, with_std=True, *, half_life=None):
        vars(self).update(with_std=with_std, half_life=at_least_or_none("half_life", 1, half_life))
        self._open(with_std, half_life)

    @classmethod
    def _unit_test_params(cls):
        yield {}
        yield {"with_std": False}
        yield {"half_life": 20}
