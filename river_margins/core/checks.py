"""Checks of parameters. Each returns the value, or raises ValueError with the name of the parameter and its value."""

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

LARGEST_WEIGHT = 1e100


def positive(name: str, value: float) -> float:
    """Return `value` if it is a finite number above 0.

    >>> positive("C", 0.1)
    0.1
    >>> positive("C", -1.0)
    Traceback (most recent call last):
    ValueError: `C` must be a finite number above 0, not -1.0
    """
    return above(name, 0, value)


def not_negative(name: str, value: float) -> float:
    """Return `value` if it is a finite number of at least 0.

    >>> not_negative("eps", 0)
    0
    """
    return at_least(name, 0, value)


def sample_weight(w: float) -> float:
    """Return `w`, as a float, if it is a weight of an example: at most `LARGEST_WEIGHT`, so that sums stay finite.

    >>> sample_weight(1e101)
    Traceback (most recent call last):
    ValueError: `w` must be a finite number of at least 0 and at most 1e+100, not 1e+101
    """
    # A number of numpy would make others as short as it is, and float32 has no `LARGEST_WEIGHT`.
    if not (_is_finite(w) and 0 <= (found := float(w)) <= LARGEST_WEIGHT):
        raise ValueError(f"`w` must be a finite number of at least 0 and at most {LARGEST_WEIGHT:g}, not {w!r}")
    return found


def at_least(name: str, least: float, value: float) -> float:
    """Return `value` if it is a finite number of at least `least`.

    >>> at_least("p", 2, 1.5)
    Traceback (most recent call last):
    ValueError: `p` must be a finite number of at least 2, not 1.5
    """
    if not (_is_finite(value) and value >= least):
        raise ValueError(f"`{name}` must be a finite number of at least {least}, not {value!r}")
    return value


def above(name: str, bound: float, value: float) -> float:
    """Return `value` if it is a finite number above `bound`.

    >>> above("beta", 1, 1)
    Traceback (most recent call last):
    ValueError: `beta` must be a finite number above 1, not 1
    """
    if not (_is_finite(value) and value > bound):
        raise ValueError(f"`{name}` must be a finite number above {bound}, not {value!r}")
    return value


def at_least_or_none(name: str, least: float, value: float | None) -> float | None:
    """Return `value` if it is None or a finite number of at least `least`.

    >>> at_least_or_none("half_life", 1, 0.5)
    Traceback (most recent call last):
    ValueError: `half_life` must be a finite number of at least 1 or None, not 0.5
    """
    if not (value is None or (_is_finite(value) and value >= least)):
        raise ValueError(f"`{name}` must be a finite number of at least {least} or None, not {value!r}")
    return value


def share(name: str, value: float) -> float:
    """Return `value` if it is a number above 0 and at most 1.

    >>> share("alpha", 1.0)
    1.0
    """
    if not (_is_finite(value) and 0 < value <= 1):
        raise ValueError(f"`{name}` must be a number above 0 and at most 1, not {value!r}")
    return value


def whole(name: str, value: int, least: int = 0) -> int:
    """Return `value` if it is a whole number of at least `least`.

    >>> whole("burn_in", 2.5)
    Traceback (most recent call last):
    ValueError: `burn_in` must be a whole number of at least 0, not 2.5
    """
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is not int or value < least:
        raise ValueError(f"`{name}` must be a whole number of at least {least}, not {value!r}")
    return value


def inside_unit(name: str, value: float) -> float:
    """Return `value` if it is a number above 0 and below 1.

    >>> inside_unit("quantile", 0.9)
    0.9
    """
    if not (_is_finite(value) and 0 < value < 1):
        raise ValueError(f"`{name}` must be a number above 0 and below 1, not {value!r}")
    return value


def below_one(name: str, value: float) -> float:
    """Return `value` if it is a number of at least 0 and below 1.

    >>> below_one("c", 0.1)
    0.1
    """
    if not (_is_finite(value) and 0 <= value < 1):
        raise ValueError(f"`{name}` must be a number of at least 0 and below 1, not {value!r}")
    return value


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of the words to choose from.

    >>> one_of("loss", "hing", ("hinge", "squared"))
    Traceback (most recent call last):
    ValueError: `loss` must be 'hinge' or 'squared', not 'hing'
    """
    if value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"`{name}` must be {', '.join(others)} or {last}, not {value!r}")
    return value


def label_column(y: Any) -> Any:
    """Return the labels of the rows of a batch as an array or a list; raise ValueError if a row has several.

    >>> label_column(label for label in "ab")
    ['a', 'b']
    """
    if hasattr(y, "to_pylist"):  # of pyarrow, which makes an array neither of bools nor of what has nulls
        return y.to_pylist()
    if not hasattr(y, "__iter__"):
        raise TypeError(f"one label for each row is needed, not {abridged(y)}")
    if hasattr(y, "columns"):
        raise ValueError(
            'one label for each row is needed, not a frame: name its column, as in y["label"]; for several labels at '
            'once, pass a dict for each row, as in y.to_dict("records")'
        )
    labels: Any = y.to_numpy() if hasattr(y, "to_numpy") else y if hasattr(y, "__getitem__") else list(y)
    if getattr(labels, "ndim", 1) != 1:
        raise ValueError(f"one label for each row is needed, not an array of shape {labels.shape}: see `ravel`")
    if isinstance(labels, np.ma.MaskedArray):
        return labels.tolist()  # None for what is masked, as for the nulls of pyarrow
    # The texts of numpy, which it makes anew each time, take ten times as long as those of Python.
    return labels.tolist() if getattr(getattr(labels, "dtype", None), "kind", None) == "U" else labels


def weight_column(w: Any, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sample weights of the rows of a batch, and which different ones there are.

    >>> weight_column(2, 3)[0].tolist(), weight_column([1.0, 0.5, 1.0], 3)[1].tolist()
    ([2.0, 2.0, 2.0], [0.5, 1.0])
    """
    if isinstance(w, Real):
        different = np.array([w], dtype=np.float64)
        weights = np.ndarray(rows, np.float64, different, strides=(0,))  # the same number for all rows
    else:
        try:
            weights = np.ma.filled(np.ma.array(w, dtype=np.float64, copy=True), np.nan)
        except (TypeError, ValueError) as error:
            raise TypeError(f"`w` must be a number, or one for each row: {error}") from error
        different = np.unique(weights)
    if weights.shape != (rows,):
        raise ValueError(f"{rows} rows, but sample weights of shape {weights.shape}")
    return weights, different


def refused_row(i: int, error: Exception) -> Exception:
    """Return the error for row i of a batch, which is refused after all rows before it were learned."""
    kind = OverflowError if isinstance(error, OverflowError) else ValueError
    return kind(f"row {i} of the batch, after {i} that were learned: {error}")


def are_numbers(labels: Any) -> bool:
    """Return whether labels are an array of numbers that Python has, too: few different ones, if they are classes.

    >>> import numpy as np
    >>> are_numbers(np.array([1, -1])), are_numbers(np.array([True])), are_numbers([1, -1])
    (True, False, False)
    """
    return isinstance(labels, np.ndarray) and labels.dtype.kind in "iuf" and labels.itemsize <= 8


def is_bare(value: object, kind: Any) -> bool:
    """Return whether a value is an instance of a class, and not a pipeline that ends with one, as River's `isinstance`.

    >>> from river import base, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> isinstance(model, base.Classifier), is_bare(model, base.Classifier)
    (True, False)
    """
    return issubclass(type(value), kind)


def short(value: object) -> str:
    """Return what an error says a value is: only the class of a River estimator, whose repr has many lines.

    >>> from river import linear_model
    >>> short(linear_model.LogisticRegression()), short("PA")
    ('a LogisticRegression', "'PA'")
    """
    return f"a {type(value).__name__}" if isinstance(value, base.Base) else repr(value)


def abridged(value: object) -> str:
    """Return the repr of a value for an error: on one line, and cut after 80 characters.

    >>> abridged("a long text " * 20)
    "'a long text a long text a long text a long text a long text a long text a lo..."
    """
    try:
        text = " ".join(repr(_without_depth(value, 80)).split())  # what is deeper than that is cut off anyway
    except ValueError:  # Python writes no number of more than 4300 digits
        text = "a number that is too long to write"
    return text if len(text) <= 80 else text[:77] + "..."


def _without_depth(value: object, levels: int) -> object:
    """Return a value without what is nested deeper: how deep `repr` gets depends on who calls it."""
    if type(value) is dict:
        return {key: _without_depth(each, levels - 1) for key, each in value.items()} if levels else ...
    if type(value) is list:
        return [_without_depth(each, levels - 1) for each in value] if levels else ...
    return value


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def signs(y: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return labels as an array; raise ValueError for others than +1 and -1.

    >>> signs([1, -1]).tolist()
    [1.0, -1.0]
    """
    labels = np.asarray(y, dtype=float)
    if not np.isin(labels, (-1.0, 1.0)).all():
        found = sorted(set(labels.tolist()) - {1.0, -1.0})[0]
        raise ValueError(f"`y` must have the labels +1 and -1 only, not {found}: write 2·y - 1 for False and True")
    return labels


def rows_with(X: Any, y: Any) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return examples, as rows, and a number for each; raise ValueError for other shapes and for infinite numbers."""
    rows, numbers = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if rows.ndim != 2 or numbers.shape != rows.shape[:1]:
        raise ValueError(f"a row and a number for each example are needed, not shapes {rows.shape} and {numbers.shape}")
    if not (np.isfinite(rows).all() and np.isfinite(numbers).all()):
        raise ValueError("the examples and their numbers must be finite")
    return rows, numbers
