"""Processes that need not import what a processor needs: half a second of processor time less for each."""

import atexit
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import TextIO

from tests.helpers.paths import ROOT

_number = itertools.count()


@cache
def _server(hash_seed: int) -> socket.socket:
    """Start a fork server; it ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.fork_server", str(its.fileno())],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        stdin=subprocess.DEVNULL,
        pass_fds=[its.fileno()],
    )
    its.close()
    atexit.register(server.wait)
    atexit.register(ours.close)  # this first, which ends it
    return ours


class Fork:
    """A process that runs a program, with the interface of `subprocess.Popen` as far as tests need it.

    Two servers are asked in turn, which hash texts differently: a processor that is started again hashes otherwise
    than the one before it.

    Parameters
    ----------
    code
        The program; it finds its arguments in `sys.argv`.
    arguments
        The arguments.
    """

    def __init__(self, code: str, arguments: Sequence[str]) -> None:
        its_stdin, stdin = os.pipe()
        stderr, its_stderr = os.pipe()
        status, its_status = os.pipe()
        request = {"code": code, "arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        files = [its_stdin, 1, its_stderr, its_status]
        socket.send_fds(_server(next(_number) % 2 + 1), [json.dumps(request).encode()], files)
        for file in (its_stdin, its_stderr, its_status):
            os.close(file)
        self.stdin: TextIO | None = os.fdopen(stdin, "w")
        self.stderr: TextIO = os.fdopen(stderr)
        self._status = os.fdopen(status)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None
        self._said: list[str] = []
        self._reader: threading.Thread | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, timeout: float | None = None) -> tuple[None, str]:
        if self.stdin is not None:
            self.stdin.close()
        if self._reader is None:
            self._reader = threading.Thread(target=lambda: self._said.append(self.stderr.read()), daemon=True)
            self._reader.start()
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        self.wait()
        self.stderr.close()
        return None, self._said[0]

    def close_streams(self) -> None:
        """Give it nothing to read, and read nothing that it says: for one that writes to files of its own."""
        assert self.stdin is not None
        self.stdin.close()
        self.stderr.close()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and whoever watches it has not said so yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)
