"""Data frames: their numbers as one array, and frames and series like them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river.utils import dataframe

from river_margins.core.batch import Batch, floats_of, refuse_non_finite


class Numbers:
    """The numbers of a data frame, all finite. Between two steps of this package they take the place of the frame.

    `frame` is one of pandas or polars, and `library` this module. Else they are a wrapper of narwhals, and None.
    """

    def __init__(self, frame: Any, names: list[Any], values: NDArray[np.float64], library: Any = None) -> None:
        self.frame, self.names, self.values, self.library = frame, names, values, library
        is_pandas = library is not None and library is sys.modules.get("pandas")
        self.index = {"index": frame.index} if is_pandas else {}  # frames of polars may have a namespace `index`

    def batch(self) -> Batch:
        """Return the rows, of which each has all features."""
        rows, columns = self.values.shape
        return Batch(self.names, self.values.ravel(), None, np.arange(rows + 1) * columns)

    def with_values(self, values: NDArray[np.float64]) -> "Numbers":
        """Return other numbers, also finite, at the places of these."""
        return Numbers(self.frame, self.names, values, self.library)

    def as_frame(self) -> Any:
        """Return a frame of the same library, with the same index and columns."""
        if self.index:
            return self.library.DataFrame(self.values, columns=self.frame.columns, **self.index)
        if self.library:
            return self.library.DataFrame(self.values, schema=self.names, orient="row")
        if all([isinstance(name, str) for name in self.names]):
            return dataframe.to_native_frame(self.values, columns=self.names, like=self.frame)
        return self.frame_of({name: self.values[:, i] for i, name in enumerate(self.names)})  # takes any name

    def frame_of(self, columns: Mapping[Any, NDArray[Any] | Sequence[Any]]) -> Any:
        """Return a frame of the same library, with the same index and other columns."""
        if self.index:
            return self.library.DataFrame(columns, **self.index)
        if self.library:
            return self.library.DataFrame({str(name): values for name, values in columns.items()})
        return dataframe.to_native_frame(columns, like=self.frame)

    def series_of(self, values: NDArray[Any] | Sequence[Any]) -> Any:
        """Return a series of the same library, with the same index."""
        if self.library:
            return self.library.Series(values, **self.index)
        return dataframe.to_native_series(values, name=None, like=self.frame)


def numbers_of(X: Any) -> Numbers:
    """Return the numbers of a data frame, from any library that River takes; raise ValueError for what is no number."""
    if isinstance(X, Numbers):
        return X
    numbers = numbers_of_pandas(X) or numbers_of_polars(X) or numbers_of_any(as_frame(X))
    names = numbers.names
    refuse_non_finite(numbers.values, lambda flat: (row_name(numbers, flat // len(names)), names[flat % len(names)]))
    return numbers


# The next two know their library. Narwhals knows all, and takes longer than learning a hundred rows does.


def numbers_of_pandas(X: Any) -> Numbers | None:
    """Return the numbers of a frame of pandas if all its columns are numbers, else None."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame) or not X.columns.is_unique:
        return None
    if not all([dtype.kind in "biuf" for dtype in X.dtypes]):
        return None
    return Numbers(X, X.columns.tolist(), X.to_numpy(dtype=np.float64, na_value=np.nan), pandas)


def numbers_of_polars(X: Any) -> Numbers | None:
    """Return the numbers of a frame of polars if all its columns are numbers, else None."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(X, polars.DataFrame):
        return None
    if not all([kind.is_numeric() or kind == polars.Boolean for kind in X.dtypes]):
        return None
    # Some types, such as Int128, have no array: they matter if there are rows.
    values = np.asarray(X.to_numpy(), dtype=np.float64) if len(X) else np.empty(X.shape)
    return Numbers(X, X.columns, values, polars)


def numbers_of_any(frame: Any) -> Numbers:
    """Return the numbers by the same rules as for a dict: text is not a number, even if it looks like one."""
    columns, mixed = frame.columns, []
    if not len(frame):
        return Numbers(frame, columns, np.empty((0, len(columns))))
    for name, kind in frame.schema.items():
        if kind == nw.Object:
            mixed.append(name)
        elif not (kind.is_numeric() or kind == nw.Boolean):
            refuse_column(name, kind)
    values = dataframe.to_numpy(frame.drop(mixed) if mixed else frame)
    for position, name in enumerate(columns):
        if name in mixed:
            values = np.insert(values, position, floats_of(name, frame[:, position].to_list()), axis=1)
    return Numbers(frame, columns, values)


def refuse_column(name: Any, kind: Any) -> NoReturn:
    advice = f"encode it first, as with (compose.Select({name!r}) | preprocessing.OneHotEncoder()) + "
    advice += "compose.Select(...) of River"
    if kind.is_temporal():  # each date would be a category of its own
        advice = "replace it by numbers, such as its hour or its weekday"
    raise ValueError(f"column {name!r} has the type {kind}, and numbers are needed: drop it, or {advice}")


def as_frame(X: Any) -> Any:
    """Return a data frame as River's functions take it; raise TypeError, saying what to do, if it is none."""
    try:
        return dataframe.into_frame(X)
    except TypeError:
        made = "pandas.DataFrame(X) makes one of an array, with the column names 0, 1, 2 ..."
        if hasattr(X, "tocsr"):  # of a sparse matrix, it makes one column of matrices
            made = "a learner has learn_csr and predict_csr, or pandas.DataFrame.sparse.from_spmatrix(X) makes one"
        elif hasattr(X, "collect"):
            made = "X.collect() makes one"
        raise TypeError(
            f"a data frame is needed, with a column for each feature, not a {type(X).__name__}: {made}"
        ) from None


def row_name(numbers: Numbers, position: int) -> Any:
    """Return the name of a row in messages: its entry in the index of a pandas frame, else its position."""
    index = numbers.index.get("index") if numbers.library else nw.maybe_get_index(numbers.frame)
    return position if index is None else index[position]
