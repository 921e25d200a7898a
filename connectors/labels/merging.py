"""The order in which the records and the labels of a partition are taken."""

import enum
import math

NO_TIME = -math.inf  # the time of a record whose time cannot be read: it comes before all that have one


class Side(enum.Enum):
    """One of the two sources."""

    RECORDS = "records"
    LABELS = "labels"

    __hash__ = object.__hash__  # that of the name, the usual one, is Python code, and is called several times a record


def choose(
    record: float | None, label: float | None, *, are_records_awaited: bool = False, are_labels_awaited: bool = False
) -> Side | None:
    """Return which source to take from: the one with the smaller timestamp, labels if both are equal.

    Within a source the order never changes.

    Parameters
    ----------
    record, label
        The timestamp of the next record of either source, or `NO_TIME`; None if the source has nothing to take.
    are_records_awaited, are_labels_awaited
        Whether a source that has nothing may still get a record that comes first, so that the other one must wait.

    Returns
    -------
    The source to take from; None if there is nothing to take yet.

    >>> choose(5, 5), choose(4, 5), choose(NO_TIME, 3)
    (<Side.LABELS: 'labels'>, <Side.RECORDS: 'records'>, <Side.RECORDS: 'records'>)
    >>> print(choose(5, None), choose(5, None, are_labels_awaited=True))
    Side.RECORDS None
    """
    if record is not None and label is not None:
        return Side.LABELS if label <= record else Side.RECORDS
    if record is not None:
        return None if are_labels_awaited else Side.RECORDS
    return None if label is None or are_records_awaited else Side.LABELS
