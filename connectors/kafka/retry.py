"""Repeated attempts: what a broker does not answer now it may answer in a second."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from connectors.kafka.errors import ClientError, NotAccepted, NotPermitted

FIRST_ATTEMPT = 2.0  # seconds
SHORTEST_ATTEMPT = 0.5  # seconds; a last attempt that is shorter would not even find out why it fails
PAUSE = 0.2  # seconds between two attempts
Answer = TypeVar("Answer")


def retry(attempt: Callable[[float], Answer], seconds: float) -> Answer:
    """Repeat an attempt until it succeeds, and return its result.

    `attempt` is given the seconds that it may take: 2 at first, then twice as many each time, and never more than are
    left. A new attempt succeeds where a longer wait would not: one broker of several may be down, and a broker that was
    frozen tells for a moment that there are no brokers, after which librdkafka does not ask again for half a minute.

    Raises
    ------
    ClientError
        The one of the last attempt, after `seconds`; at once if it is `NotPermitted` or `NotAccepted`.
    """
    end, longest = time.monotonic() + seconds, FIRST_ATTEMPT
    while True:
        try:
            return attempt(min(longest, max(SHORTEST_ATTEMPT, end - time.monotonic())))
        except (NotPermitted, NotAccepted):
            raise
        except ClientError:
            if time.monotonic() + PAUSE + SHORTEST_ATTEMPT > end:
                raise
        longest *= 2
        time.sleep(PAUSE)


class _Reader(Protocol):
    position: int

    def close(self) -> None: ...


@contextlib.contextmanager
def going_back(reader: _Reader) -> Iterator[None]:
    """Let a reader that fails within the block begin again where it was: else the records read before would be lost."""
    begin = reader.position
    try:
        yield
    except ClientError:
        reader.close()
        reader.position = begin
        raise
