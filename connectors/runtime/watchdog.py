"""A watchdog for steps that nothing can interrupt."""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from connectors.errors import CommitTimeoutError

log = logging.getLogger(__name__)


@contextlib.contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """End the process with the exit code of a CommitTimeoutError if the block takes longer than this."""
    timer = threading.Timer(seconds, _give_up, [seconds])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(seconds: float) -> None:
    log.critical(
        "a commit did not end within %g s, the broker is silent: this process ends, and the next start finds out "
        "whether the commit succeeded",
        seconds,
    )
    logging.shutdown()
    os._exit(CommitTimeoutError.exit_code)
