"""Health of a processor: whether its loop moves, whether it has its models, and its metrics."""

import time
from typing import TYPE_CHECKING

from connectors.runtime.metrics import Metrics

if TYPE_CHECKING:
    from connectors.config import Config, FileConfig

LIVENESS_LIMIT = 60.0  # seconds that the loop may take for one turn, apart from waiting for a silent broker


class Health:
    """The state of a running processor: filled by its loop, read by other threads.

    Parameters
    ----------
    config
        The processor's file.

    Attributes
    ----------
    metrics
        The metrics of the processor.
    needs_lag
        Whether anybody reads the lag, so that it is worth asking the brokers.
    """

    def __init__(self, config: "Config | FileConfig") -> None:
        self.metrics = Metrics(config)
        self.needs_lag = config.metrics is not None
        self._limit = LIVENESS_LIMIT
        self._last_beat = time.monotonic()

    def request_lag(self) -> None:
        """Ask the processor to measure its lag although no address for metrics is given."""
        self.needs_lag = True

    def extend_limit(self, seconds: float) -> None:
        """Extend the liveness limit by the time that the loop may wait for silent brokers, or infinitely."""
        self._limit = LIVENESS_LIMIT + seconds

    def beat(self) -> None:
        """Note that the loop has begun another turn."""
        self._last_beat = time.monotonic()

    @property
    def silence(self) -> float:
        """Seconds since the last beat."""
        return time.monotonic() - self._last_beat

    @property
    def is_live(self) -> bool:
        """Whether the last beat is younger than the liveness limit."""
        return self.silence < self._limit

    @property
    def is_ready(self) -> bool:
        """Whether all assigned partitions have the model of their committed position; there may be none assigned."""
        return self.metrics.work.is_ready
