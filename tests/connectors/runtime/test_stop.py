"""The request to end a processor."""

import signal
import subprocess
import sys
import textwrap

import pytest

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
    assert given == [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.mark.parametrize("is_ignored", [False, True])
def test_the_end_of_a_terminal_is_as_sigterm_unless_it_is_ignored(is_ignored):
    """`nohup` starts a program with SIGHUP ignored."""
    code = """
        import os, signal
        from connectors.runtime.stop import Stop
        stop = Stop()
        with stop.on_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        print(stop.requested, stop.leaves, signal.getsignal(signal.SIGHUP).name)
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        found = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert found.stdout.split() == (["False", "False", "SIG_IGN"] if is_ignored else ["True", "False", "SIG_DFL"])
