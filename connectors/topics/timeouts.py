"""The time-outs of a processor between topics."""

from typing import NamedTuple

# Seconds of work between two polls. A member that does not poll for long leaves its group.
LONGEST_WORK = 5.0


class Timeouts(NamedTuple):
    """Time-outs, in seconds.

    Attributes
    ----------
    transaction
        How long a transaction may be open.
    committed
        How long to wait for offsets that are pending in a transaction.
    commit
        How long a commit may take.
    """

    transaction: float
    committed: float
    commit: float
