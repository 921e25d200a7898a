"""Data frames for estimators whose rounds need one example at a time."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike

from river_margins.core.checks import label_column, refused_row, weight_column
from river_margins.core.frames import Numbers, numbers_of
from river_margins.tasks.labels import plain


class ByRow:
    """Learn and predict the rows of a frame by `learn_one` and `predict_one`, in order."""

    def learn_many(self, X: Any, y: Any, w: float | ArrayLike = 1.0) -> None:
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
        ValueError, OverflowError
            If a row is refused. The message names it, and the rows before it are learned. If a value of the frame is
            not a finite number, no row is learned.
        """
        numbers, labels = numbers_of(X), label_column(y)
        weights, _ = weight_column(w, len(numbers.values))
        if len(labels) != len(weights):
            raise ValueError(f"{len(weights)} rows, but {len(labels)} labels")
        for i, (x, weight) in enumerate(zip(_records(numbers), weights.tolist(), strict=True)):
            try:
                self.learn_one(x, plain(labels[i]), **({} if weight == 1.0 else {"w": weight}))  # type: ignore[attr-defined]
            except (OverflowError, ValueError) as error:
                raise refused_row(i, error) from error

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a data frame, as a series of the same library and with the same index."""
        numbers = numbers_of(X)
        return numbers.series_of([self.predict_one(x) for x in _records(numbers)])  # type: ignore[attr-defined]


class ClassifierByRow(ByRow):
    """The same for classifiers."""

    def predict_proba_many(self, X: Any) -> Any:
        """Return `predict_proba_one` for the rows of a data frame, as a frame with one column for each class."""
        numbers = numbers_of(X)
        rows = [self.predict_proba_one(x) for x in _records(numbers)]  # type: ignore[attr-defined]
        labels = dict.fromkeys(label for row in rows or [self.predict_proba_one({})] for label in row)  # type: ignore[attr-defined]
        return numbers.frame_of({label: [row.get(label, 0.0) for row in rows] for label in labels})


def _records(numbers: Numbers) -> Iterator[dict[Any, float]]:
    return (dict(zip(numbers.names, row, strict=True)) for row in numbers.values.tolist())
