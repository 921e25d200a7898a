"""How many messages may be under way while a quota of the brokers holds a producer back.

The clients take any number of messages, or very many. Where a quota lets the brokers take few, a commit that waits for
all of them would time out, and so would the next one with the same messages: `send` waits then.
"""

import logging
import math
import time

from connectors.kafka import Headers

log = logging.getLogger(__name__)

# While a quota holds the producer back: how many bytes may be under way in any case, and messages for how long at the
# rate at which the brokers took them in the last seconds. After a burst they take nothing for seconds, up to the
# time-out.
LEAST_UNDER_WAY, SECONDS_UNDER_WAY = 20_000, 0.3
MESSAGE = 100  # bytes of a message beside its key, value and headers, with its share of the request
SECONDS_OF_RATE, SECONDS_HELD_BACK = 10.0, 300.0  # by default, brokers measure for 11 s
LONGEST_STOP = 0.5  # seconds that `send` waits, for a commit that is due


class Quota:
    """What the brokers let a producer send."""

    held_back_until = -math.inf  # of all producers of the process: the next one does not begin with a burst again

    def __init__(self) -> None:
        self._taken, self._counted_at, self._rate = 0, time.monotonic(), 0.0  # by the brokers; messages per second

    @staticmethod
    def note(broker: object) -> None:
        """Note that a broker holds the producers of this process back."""
        now = time.monotonic()
        if now > Quota.held_back_until:
            log.warning("a quota of broker %s holds this producer back: records are taken more slowly", broker)
        Quota.held_back_until = now + SECONDS_HELD_BACK

    def room(self, sent: int, under_way: int, size: int) -> float:
        """Return how many messages more may be sent now; without a quota as many as one likes.

        Parameters
        ----------
        sent
            How many messages this producer has sent so far.
        under_way
            How many of them have no outcome yet.
        size
            The bytes of one of them, for which the others are taken, too.
        """
        now = time.monotonic()
        if now > self.held_back_until:
            return math.inf
        seconds = now - self._counted_at
        if seconds > SECONDS_OF_RATE:
            taken = sent - under_way
            self._rate, self._taken, self._counted_at = (taken - self._taken) / seconds, taken, now
        least = max(1, LEAST_UNDER_WAY // (size + MESSAGE))
        return max(least, int(SECONDS_UNDER_WAY * self._rate)) - under_way


def size_of(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the bytes of key, value and headers.

    >>> size_of(b"k", None, [("source", b"a-0-7"), ("b", None)])
    13
    """
    return len(key or b"") + len(value or b"") + sum(len(name) + len(content or b"") for name, content in headers)
