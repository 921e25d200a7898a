"""The lag of a processor: the ends of its partitions, read by a client of its own so that the loop never waits."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from connectors.kafka import ClientError, Consumer
from connectors.runtime.metrics import Metrics

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
    consumer, ends = None, dict[int, int]()
    while not ended.wait(LAG_EVERY if ends else FIRST_ENDS_EVERY):
        try:
            consumer = consumer or make_consumer()
            ends = {place: consumer.offset_range(place)[1] for place in sorted(metrics.work.committed_offsets)}
        except ClientError:  # the loop meets the same error, and logs it
            ends = {}
            if consumer is not None:  # after an outage a client may never recover: the next attempt makes another
                consumer.close(1.0)
                consumer = None
        metrics.note_ends(ends)
    if consumer is not None:
        consumer.close(1.0)
