"""A warning that a record or a label has a time in the future, after which nothing that waits for its label leaves."""

import logging
import time
from collections.abc import Mapping

from connectors.config import Config
from connectors.topics.advice import REWIND
from connectors.topics.partition import Partition

log = logging.getLogger(__name__)

LEAST = 60_000  # milliseconds; clocks of hosts differ by less
UNITS = (86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")


def ahead(config: Config, partition: int, event_time: int) -> str | None:
    """Say how far the event time of a partition is ahead of the clock, what follows, and what to do; None if it is not.

    Parameters
    ----------
    config
        The processor's file.
    partition
        The number of the partition.
    event_time
        The largest time of its records and labels so far, in milliseconds since 1970.
    """
    by = event_time - time.time() * 1000
    if by < LEAST:
        return None
    length, unit = next(pair for pair in UNITS if by >= pair[0])
    return (
        f"the event time of partition {partition} of `{config.input.topic}` is {by / length:.1f} {unit} ahead of the "
        f"clock, because a record or a label has that time: what came more than `labels.within` before it has expired, "
        f"and nothing else expires until then; correct what writes the time; to go back to the present time at once, "
        f"save the model with `river-margins snapshots export`, name it as `start_from`, and give `{REWIND} --empty "
        f"--partition {partition}`, which drops what waits"
    )


class EventTimes:
    """Warns of each partition whose event time comes to be ahead of the clock, once."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._told: set[int] = set()

    def look(self, partitions: Mapping[int, Partition]) -> None:
        """Look at the event times of these partitions."""
        for number, partition in partitions.items():
            event_time = partition.labels.waiting.time if partition.labels is not None else 0
            if event_time - time.time() * 1000 < LEAST / 2:  # not already below LEAST, around which it may swing
                self._told.discard(number)
            elif number not in self._told and (said := ahead(self._config, number, event_time)):
                self._told.add(number)
                log.warning("%s", said)
