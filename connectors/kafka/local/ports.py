"""Ports of this machine that no other program gets while nobody listens on them."""

import random
import socket
import sys

# Below the ports that the system gives to outgoing connections: any client could take one of those, even by connecting
# to itself while it looks for a server that is down.
FREE_PORTS = range(15_000, 32_000)


class HeldPort:
    """A port of 127.0.0.1, reserved until `release` or the end of this process.

    A bound socket that does not listen keeps other programs out, and lets a server listen there that sets
    SO_REUSEADDR, as those of Java and Python do. That is so on Linux; elsewhere the port is only found free.

    Parameters
    ----------
    number
        The port; 0, the default, takes any free one that no other process holds.

    Raises
    ------
    OSError
        A program listens on the port.
    """

    def __init__(self, number: int = 0) -> None:
        self._socket = _bound(number, shared=True) if number else _bound_to_a_free_port()
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self.release()

    def release(self) -> None:
        """Let other programs have the port."""
        self._socket.close()


def _bound(number: int, shared: bool) -> socket.socket:
    """Bind a socket to a port, which a server may share afterwards; `shared` if others may hold the port already."""
    holder = socket.socket()
    try:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shared)
        holder.bind(("127.0.0.1", number))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
    except BaseException:
        holder.close()
        raise
    return holder


def _bound_to_a_free_port() -> socket.socket:
    start = random.SystemRandom().randrange(len(FREE_PORTS))
    for number in (*FREE_PORTS[start:], *FREE_PORTS[:start]):
        try:
            return _bound(number, shared=False)
        except OSError:
            continue
    raise OSError(f"no port of 127.0.0.1 is free from {FREE_PORTS.start} to {FREE_PORTS.stop - 1}")
