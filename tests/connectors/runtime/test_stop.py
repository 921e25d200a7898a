"""The request to end a processor."""

import signal

from connectors.runtime.stop import Stop


def test_a_later_sigterm_does_not_take_back_that_it_leaves():
    stop = Stop()
    stop._handle(signal.SIGINT, None)
    stop._handle(signal.SIGTERM, None)
    assert stop.requested and stop.leaves


def test_a_handler_that_is_not_pythons_does_not_fail_the_end(monkeypatch):
    given = []

    def set_one(number, handler):
        if handler is None:
            raise TypeError
        given.append(number)

    monkeypatch.setattr(signal, "signal", set_one)
    with Stop().on_signals():
        pass
    assert given == [signal.SIGTERM, signal.SIGINT]
