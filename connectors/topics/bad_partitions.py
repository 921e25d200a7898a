"""Partitions whose state is bad: they are paused, and the others go on."""

import dataclasses
import logging
import math
import time
from collections.abc import Mapping

from connectors.errors import StateError
from connectors.kafka import Committed

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds until the model is loaded again; the pause doubles each time


class PartitionStateError(StateError):
    """The committed offset of one partition, its snapshot and its records do not fit together.

    `may_heal` is false if only another committed offset can help.
    """

    def __init__(self, partition: int, text: str, may_heal: bool = True) -> None:
        super().__init__(text)
        self.partition, self.may_heal = partition, may_heal


@dataclasses.dataclass(frozen=True)
class BadPartition:
    """A paused partition.

    Attributes
    ----------
    reason
        What is wrong, and what to do.
    committed
        The committed offset for which that is so; None if nothing is committed.
    pause
        Seconds until the next attempt to load its model; infinite if only another committed offset can help.
    due
        When that is, on the clock of `time.monotonic`.
    is_lasting
        Whether its state is bad; false if only the store did not answer.
    """

    reason: str
    committed: Committed | None
    pause: float
    due: float
    is_lasting: bool


class BadPartitions:
    """The paused partitions of an assignment.

    >>> bad = BadPartitions("events")
    >>> bad.add(3, Committed(17, "..."), StateError("the snapshot is missing"), may_heal=False)
    >>> bad.reasons, bad.is_known(3, Committed(17, "...")), bad.is_known(3, Committed(20, "..."))
    ({3: 'the snapshot is missing'}, True, False)
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._found: Mapping[int, BadPartition] = {}  # replaced and never changed, as other threads read it

    @property
    def reasons(self) -> dict[int, str]:
        """What is wrong with each of them."""
        return {number: found.reason for number, found in self._found.items()}

    @property
    def committed(self) -> dict[int, Committed]:
        """Their committed offsets."""
        return {number: found.committed for number, found in self._found.items() if found.committed is not None}

    @property
    def lasting(self) -> set[int]:
        """Those whose state is bad, without those whose store did not answer."""
        return {number for number, found in self._found.items() if found.is_lasting}

    def is_known(self, number: int, committed: Committed | None) -> bool:
        """Return whether a partition is bad with this committed offset."""
        return number in self._found and self._found[number].committed == committed

    def add(self, number: int, committed: Committed | None, error: Exception, may_heal: bool = True) -> None:
        """Pause a partition. If it `may_heal`, its model will be loaded again after a while."""
        before = self._found.get(number)
        pause = min(LONGEST_PAUSE, before.pause * 2) if before else FIRST_PAUSE
        pause = pause if may_heal else math.inf
        if before is None or before.reason != str(error):
            at = {"topic": self._topic, "partition": number}
            log.error("partition %d of `%s` is paused, the others go on: %s", number, self._topic, error, extra=at)
        is_lasting = isinstance(error, StateError)
        found = BadPartition(str(error), committed, pause, time.monotonic() + pause, is_lasting)
        self._found = {**self._found, number: found}

    def keep(self, committed: Mapping[int, Committed | None]) -> None:
        """Forget those that are not assigned any more, or whose committed offset is another one now."""
        again = time.monotonic() + FIRST_PAUSE  # also for those whose models were just being loaded
        self._found = {
            n: dataclasses.replace(bad, due=again) if math.isfinite(bad.pause) else bad
            for n, bad in self._found.items()
            if n in committed and bad.committed == committed[n]
        }

    def remove(self, number: int) -> None:
        """Note that the state of a partition is good."""
        if number in self._found:
            at = {"topic": self._topic, "partition": number}
            log.info("partition %d of `%s` continues", number, self._topic, extra=at)
            self._found = {n: bad for n, bad in self._found.items() if n != number}

    def take_due(self) -> dict[int, Committed]:
        """Return those whose models should be loaded now, with their committed offsets."""
        now = time.monotonic()
        due = {n: bad for n, bad in self._found.items() if bad.due <= now and bad.committed is not None}
        later = {n: dataclasses.replace(bad, due=math.inf) for n, bad in due.items()}
        self._found = {**self._found, **later}
        return {n: bad.committed for n, bad in due.items() if bad.committed is not None}
