"""The lag of a processor: the ends of its partitions, read by a client of its own so that the loop never waits."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

from connectors.kafka import ClientError, Consumer
from connectors.runtime.metrics import Metrics

log = logging.getLogger(__name__)

LAG_EVERY = 5.0  # seconds between two questions for the ends of the partitions
FIRST_ENDS_EVERY = 0.5  # seconds, as long as no end is known


@contextlib.contextmanager
def following_lag(metrics: Metrics, make_consumer: Callable[[], Consumer]) -> Iterator[None]:
    """Keep the ends of the partitions in the metrics up to date while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=[metrics, make_consumer, ended], name="lag", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(LAG_EVERY)


def _follow(metrics: Metrics, make_consumer: Callable[[], Consumer], ended: threading.Event) -> None:
    consumer, ends, logged = None, dict[int, int](), ""
    while not ended.wait(LAG_EVERY if ends else FIRST_ENDS_EVERY):
        try:
            consumer = consumer or make_consumer()
            ends = {place: consumer.offset_range(place)[1] for place in sorted(metrics.work.committed_offsets)}
            logged = ""
        except Exception as error:  # also of the system, which may have no memory or no thread left for a moment
            if not isinstance(error, ClientError) and repr(error) != logged:  # the loop logs those of the client
                logged = repr(error)
                log.warning("the lag is not known: %s", logged)
            ends = {}
            _close(consumer)  # after an outage a client may never recover: the next attempt makes another
            consumer = None
        metrics.note_ends(ends)
    _close(consumer)


def _close(consumer: Consumer | None) -> None:
    with contextlib.suppress(Exception):
        if consumer is not None:
            consumer.close(1.0)
