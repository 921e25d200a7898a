"""Numbers as labels."""

import numpy as np

from libc.math cimport isfinite

from river_margins.rules.base cimport Seen
from river_margins.core.reader cimport Row
from river_margins.spaces.base cimport Direction, set_one
from river_margins.tasks.base cimport Task

from river_margins.core.checks import abridged


cdef class Regression(Task):
    """Ask for |⟨w, x⟩ - y| <= eps: ⟨w, ±x⟩ >= ±y - eps, with the sign of y - ⟨w, x⟩. A mistake is a larger error than eps.

    With a quantile q, both sides are multiplied by q if y is above ⟨w, x⟩, and by 1 - q if it is below: the hinge loss of
    this half-space is the pinball loss.
    """

    kind = "regression"

    def __init__(self, double eps, quantile=None):
        self.eps = eps
        self.up, self.down = (1.0, 1.0) if quantile is None else (quantile, 1.0 - quantile)
        self.blocks = 1

    cdef double code(self, object y) except? -1.0:
        return real(y)

    cdef object codes(self, object labels):
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "fiu" and np.isfinite(labels).all():
            return labels.astype(np.float64)
        return Task.codes(self, labels)

    cdef bint constraint(self, Row row, object y, double code, Direction direction) except -1:
        cdef double sign = 1.0 if code >= row.scores[0] else -1.0
        cdef double price = self.up if sign > 0.0 else self.down
        set_one(direction, 0, sign * price)
        direction.target = price * (sign * code - self.eps)
        if self.eps > 0.0:  # rules that also correct margins above the target have nothing to correct within eps
            direction.target = max(direction.target, sign * price * row.scores[0])
        direction.wrong = sign * (code - row.scores[0]) > self.eps
        direction.equality = self.eps == 0.0
        return True

    cdef bint mistaken(self, Seen seen) noexcept:
        return seen.margin < seen.target

    cdef object predict(self, Row row):
        return row.scores[0]

    cdef object score(self, Row row):
        return row.scores[0]


cdef double real(object y) except? -1.0:
    cdef double value
    if isinstance(y, (str, bytes)) or y is None:
        raise ValueError(f"label {abridged(y)} is not a number, and a regressor needs one")
    if isinstance(y, (np.datetime64, np.timedelta64)):  # in nanoseconds, the unit of many frames, float() takes it
        raise ValueError(
            f"label {abridged(y)}, of type {type(y).__name__}, is not a number, and a regressor needs one: for durations, "
            "pass seconds, as in y.dt.total_seconds()"
        )
    try:
        value = float(y)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"label {abridged(y)}, of type {type(y).__name__}, is not a number, and a regressor needs one") from error
    if not isfinite(value):
        raise ValueError(f"label {abridged(y)} is not finite, and a regressor needs a finite number")
    return value
