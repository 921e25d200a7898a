"""Ports for servers that a test starts, and for those that it wants nobody to answer at."""

import atexit

from connectors.kafka.local.ports import HeldPort

_held: list[HeldPort] = []


def free_port() -> int:
    """Return a port that no other process of the suite gets before this one ends."""
    _held.append(HeldPort())
    return _held[-1].number


@atexit.register
def release() -> None:
    """Release all ports, so that Python does not warn of open sockets after the summary of the tests."""
    for port in _held:
        port.release()
