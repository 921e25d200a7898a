"""The request to end a processor."""

import signal

from connectors.runtime.stop import Stop


def test_a_later_sigterm_does_not_take_back_that_it_leaves():
    stop = Stop()
    stop._handle(signal.SIGINT, None)
    stop._handle(signal.SIGTERM, None)
    assert stop.requested and stop.leaves
