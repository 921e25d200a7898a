import socket
import sys

import pytest

from connectors.kafka.local.ports import FREE_PORTS, HeldPort
from tests.helpers.deadline import DEADLINE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a bound socket keeps servers out, too")


@pytest.fixture
def held():
    port = HeldPort()
    yield port
    port.release()


def bound(number, reuse):
    other = socket.socket()
    try:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        other.bind(("127.0.0.1", number))
    except OSError:
        other.close()
        raise
    return other


def test_a_server_can_come_and_go_and_nobody_else_gets_the_port(held):
    assert held.number in FREE_PORTS
    for _ in range(2):
        with pytest.raises(OSError, match="in use"):
            bound(held.number, reuse=False)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", held.number), timeout=DEADLINE)
        with bound(held.number, reuse=True) as server:
            server.listen()
            socket.create_connection(("127.0.0.1", held.number), timeout=DEADLINE).close()
            server.accept()[0].close()
            with pytest.raises(OSError, match="in use"):
                HeldPort(held.number)


def test_two_ports_that_are_held_differ(held, monkeypatch):
    monkeypatch.setattr("connectors.kafka.local.ports.FREE_PORTS", range(held.number, held.number + 1))
    with pytest.raises(OSError, match=f"no port of 127.0.0.1 is free from {held.number} to {held.number}"):
        HeldPort()
    held.release()
    again = HeldPort()
    assert again.number == held.number
    again.release()
