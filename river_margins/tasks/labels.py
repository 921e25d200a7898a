"""What counts as the same label."""

import numpy as np


def plain(label: object) -> object:
    """A numpy scalar as the Python object it stands for; anything else as it is.

    >>> import numpy as np
    >>> plain(np.bool_(True)), plain(np.int64(3)), plain("a")
    (True, 3, 'a')
    """
    return label.item() if isinstance(label, np.generic) else label


def same_kind(label: object, other: object) -> bool:
    """Whether two labels may be compared: a bool is no number here, although Python says `True == 1`.

    >>> same_kind(True, False), same_kind(True, 1)
    (True, False)
    """
    return isinstance(label, bool) == isinstance(other, bool)


def is_missing(label: object) -> bool:
    """Whether a label stands for no label: None, a NaN, or pandas' NA, which compares to nothing.

    >>> is_missing(None), is_missing(float("nan")), is_missing("a")
    (True, True, False)
    """
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True
