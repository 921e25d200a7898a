"""Comparing labels."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from river_margins.core.checks import abridged


def plain(label: object) -> object:
    """Return a numpy scalar as a Python object, and any other label unchanged.

    >>> import numpy as np
    >>> plain(np.bool_(True)), plain(np.int64(3)), plain("a")
    (True, 3, 'a')
    >>> plain(np.timedelta64(5000, "ns"))
    datetime.timedelta(microseconds=5)
    """
    if not isinstance(label, np.generic):
        return label
    found = label.item()
    if isinstance(found, int) and isinstance(label, (np.datetime64, np.timedelta64)):
        # Of nanoseconds Python makes a whole number. They stay one if microseconds would make one class of two.
        rounded = label.astype(f"{label.dtype.kind}8[us]")
        found = rounded.item() if rounded.astype(label.dtype) == label else found
    return found


def label_list(name: str, labels: Any) -> Any:
    """Return a parameter with labels as a list, if it is neither a list nor a tuple, text or None.

    Then copies and snapshots hold it. Raise TypeError if the order of the labels is not fixed, as in a set. Warn of a
    text of several letters, each of which is a label.

    >>> import numpy as np
    >>> label_list("classes", np.array([0, 1])), label_list("classes", ("ham", "spam"))
    ([0, 1], ('ham', 'spam'))
    >>> label_list("classes", {"spam"})
    Traceback (most recent call last):
    TypeError: `classes` must be a list of labels, whose order counts, not {'spam'}
    """
    if isinstance(labels, str):
        warnings.warn(
            f"`{name}` is the text {abridged(labels)}, so each letter is a label: write a list of labels", stacklevel=3
        )
    if labels is None or isinstance(labels, list | tuple | str):
        return [] if labels == () else labels  # River's clone looks at the first entry of a tuple
    if not hasattr(labels, "__getitem__"):
        raise TypeError(f"`{name}` must be a list of labels, whose order counts, not {labels!r}")
    return [plain(label) for label in labels]


def same_kind(label: object, other: object) -> bool:
    """Return whether two labels may be compared. A bool is not compared with a number, although `True == 1` in Python.

    >>> same_kind(True, False), same_kind(True, 1)
    (True, False)
    """
    return isinstance(label, bool) == isinstance(other, bool)


def is_missing(label: object) -> bool:
    """Return whether a label stands for "no label": None, NaN, or pandas' NA, which refuses to be compared.

    >>> is_missing(None), is_missing(float("nan")), is_missing("a")
    (True, True, False)
    """
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def check_text(label: object, known: Iterable[object]) -> None:
    """Raise ValueError if a label has the text of a known one of another type: the keys of a JSON object are texts.

    >>> check_text("1", ["a", 2])
    >>> check_text("1", ["a", 1])
    Traceback (most recent call last):
    ValueError: label '1' and the label 1 of this learner have the same text: give one type to both
    """
    for other in known:
        if isinstance(other, str) != isinstance(label, str) and str(other) == str(label):
            raise ValueError(
                f"label {abridged(label)} and the label {other!r} of this learner have the same text: give one type to "
                "both"
            )


def check_together(labels: Iterable[tuple[int, object]]) -> None:
    """Raise ValueError if two labels of a batch, given with their rows, do not go together by `check_text`.

    >>> check_together([(0, "1"), (1, "2"), (2, 1)])
    Traceback (most recent call last):
    ValueError: row 2 of the batch: label 1 and the label '1' of this learner have the same text: give one type to both
    """
    first_of_text: dict[str, object] = {}
    for row, label in labels:
        try:
            check_text(label, [first_of_text.setdefault(str(label), label)])
        except ValueError as error:
            raise ValueError(f"row {row} of the batch: {error}") from error
