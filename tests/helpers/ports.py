"""Ports for servers that a test starts, and for those that it wants nobody to answer at."""

from connectors.kafka.local.ports import HeldPort

_held: list[HeldPort] = []


def free_port() -> int:
    """Return a port that no other process of the suite gets before this one ends."""
    _held.append(HeldPort())
    return _held[-1].number
