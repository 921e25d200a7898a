"""Under which leaders records were written: by that a broker can tell whether the records before an offset are lost.

Each leader of a partition has a higher number than the one before, its epoch, and each record carries that of the
leader that took it. If a replica that lacks records comes to lead, new records get the offsets of the lost ones, and
an offset alone does not show that.
"""

from typing import NamedTuple

UNKNOWN = -1  # also what Kafka's protocol writes


class Run(NamedTuple):
    """Offsets of the first and of the last record that is known to have this epoch; those between have it, too."""

    first: int
    last: int
    epoch: int


class LeaderEpochs:
    """The epochs of the records that a consumer has read since the last commit, by number of partition.

    >>> epochs = LeaderEpochs()
    >>> epochs.note(0, 10, 14, 3)
    >>> epochs.note(0, 17, 19, 4)
    >>> [epochs.before(0, offset) for offset in (10, 15, 16, 17, 18)]
    [-1, 3, -1, -1, 4]

    What stands between two runs may be a marker, which may have the epoch of either. So an epoch is told only where
    the record before an offset was read: with a lower epoch, the broker would report a loss that there was not.
    """

    def __init__(self) -> None:
        self._runs: dict[int, list[Run]] = {}

    def note(self, number: int, first: int, last: int, epoch: int) -> None:
        """Note records that were read just now; what was known from the first of them on is replaced."""
        runs = self._runs.setdefault(number, [])
        while runs and runs[-1].last >= first:
            former = runs.pop()
            if former.first < first:
                runs.append(former._replace(last=first - 1))
        if runs and runs[-1].epoch == epoch:
            first = runs.pop().first
        runs.append(Run(first, last, epoch))

    def note_committed(self, number: int, offset: int, epoch: int) -> None:
        """Note the epoch that is committed with an offset, UNKNOWN for none, and forget what is before it."""
        known = [run._replace(first=max(run.first, offset)) for run in self._runs.get(number, []) if run.last >= offset]
        committed = [] if epoch == UNKNOWN else [Run(offset - 1, offset - 1, epoch)]
        self._runs[number] = committed + known

    def before(self, number: int, offset: int) -> int:
        """Return the epoch of the record before an offset; UNKNOWN if it was not read."""
        found = (run.epoch for run in self._runs.get(number, []) if run.first < offset <= run.last + 1)
        return next(found, UNKNOWN)
