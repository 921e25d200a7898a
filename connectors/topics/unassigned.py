"""New partitions that no member of a group of instances was given, and how the group comes to assign them.

Kafka assigns the partitions of a group when a member joins or leaves, or when the leader of the group asks for it
because the topic has got more. An instance that is started again keeps its partitions without a new assignment, and no
longer knows that it is the leader. So partitions that are added then would be nobody's, for as long as all instances
come back in time.
"""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator

from connectors.kafka import ClientError, Consumer

log = logging.getLogger(__name__)

MIN_EVERY = 5.0  # seconds between two looks, at least
GUEST_TIMEOUT = 60.0  # seconds; all members must have joined again within the longest time between two polls


@contextlib.contextmanager
def finding_unassigned(
    make_consumer: Callable[[], Consumer], count_partitions: Callable[[], int], wait: float, every: float
) -> Iterator[None]:
    """Look for partitions without an owner while the block runs, and make the group assign them.

    An owner commits an offset of a new partition at once. So a partition is without an owner if the group has none for
    it, twice in a row. A further member then joins for a moment, which makes the group assign all partitions anew.

    Parameters
    ----------
    make_consumer
        Makes a member of the group that is not an instance.
    count_partitions
        Returns how many partitions the topic has.
    wait
        Seconds to wait for offsets that are pending in a transaction.
    every
        Seconds between two looks. Fewer than 5 are 5.
    """
    ended = threading.Event()
    arguments = [make_consumer, count_partitions, wait, max(every, MIN_EVERY), ended]
    thread = threading.Thread(target=_look, args=arguments, name="unassigned", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(MIN_EVERY)


def _look(
    make_consumer: Callable[[], Consumer],
    count_partitions: Callable[[], int],
    wait: float,
    every: float,
    ended: threading.Event,
) -> None:
    before, asked = set[int](), set[int]()
    while not ended.wait(every * random.uniform(0.5, 1.0)):  # so that one instance acts, and the others see it done
        try:
            with _opened(make_consumer) as reader:
                found = reader.committed(range(count_partitions()), wait)
            without = {number for number, committed in found.items() if committed is None}
            if unassigned := (before & without) - asked:
                _join_for_a_moment(make_consumer, sorted(unassigned), ended)
                asked |= unassigned  # once: the owner of a partition that cannot begin may wait for a person
        except Exception as error:  # also of the system, which may have no memory or no thread left for a moment
            level = logging.DEBUG if isinstance(error, ClientError) else logging.WARNING  # the loop logs the client's
            log.log(level, "partitions without an owner could not be looked for: %r", error)
            without = set()
        before = without


def _join_for_a_moment(make_consumer: Callable[[], Consumer], partitions: list[int], ended: threading.Event) -> None:
    log.warning("no process of the group owns the new partitions %s: asking for a new assignment", partitions)
    with _opened(make_consumer) as guest:
        guest.join()
        deadline = time.monotonic() + GUEST_TIMEOUT
        while guest.ownership is None and time.monotonic() < deadline and not ended.is_set():
            guest.poll(0.1)


@contextlib.contextmanager
def _opened(make_consumer: Callable[[], Consumer]) -> Iterator[Consumer]:
    consumer = make_consumer()
    try:
        yield consumer
    finally:
        consumer.close(5.0)
