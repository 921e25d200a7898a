"""Comparing labels."""

import numpy as np


def plain(label: object) -> object:
    """Return a numpy scalar as a Python object, and any other label unchanged.

    >>> import numpy as np
    >>> plain(np.bool_(True)), plain(np.int64(3)), plain("a")
    (True, 3, 'a')
    """
    return label.item() if isinstance(label, np.generic) else label


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
