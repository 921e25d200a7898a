"""The request to end a running processor."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Stop:
    """A request to end. It is a plain flag and not an Event, because a signal handler must not take a lock."""

    requested = False
    leaves = False
    """Whether the processor will not be started again soon, so that others may take its place at once."""

    def request(self) -> None:
        """Ask the processor to end: it finishes what it has begun, and commits."""
        self.requested = True

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Request the end on SIGTERM, and also that others take over on Ctrl-C; a second one ends the process at once.

        A supervisor restarts with SIGTERM. An `instance` then finds its partitions again; others leave at any end. The
        end of a terminal (SIGHUP) is as SIGTERM, unless it is ignored, as `nohup` has it.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGTERM, signal.SIGINT]
        if (hangup := getattr(signal, "SIGHUP", None)) and signal.getsignal(hangup) == signal.SIG_DFL:  # not on Windows
            numbers.append(hangup)
        before = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                if handler is not None:  # one of a program in C around this Python, which cannot be set from here
                    signal.signal(number, handler)

    def _handle(self, number: int, frame: Any) -> None:
        if self.requested and number == signal.SIGINT:
            os._exit(130)
        self.leaves = self.leaves or number == signal.SIGINT  # a supervisor may send SIGTERM after a Ctrl-C
        self.request()
