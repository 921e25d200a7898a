"""A process that has imported all that a processor needs, and forks one whenever it is asked to.

`tests.helpers.forks` starts it, with the number of a socket as its argument, and asks it.
"""

import json
import os
import signal
import socket
import sys

import connectors.cli.main
import connectors.kafka.confluent
import connectors.kafka.kafka_python
import connectors.topics.processor  # noqa: F401

LONGEST = 1 << 20  # bytes of a request


def requested(requests: socket.socket) -> dict[str, object]:
    """Wait for requests. Return each of them in a process of its own, whose streams are those that came with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
    while True:
        text, files, _, _ = socket.recv_fds(requests, LONGEST, 4)
        if not text:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            *streams, status = files
            become_watched(status, streams)
            take_streams(streams)
            return json.loads(text)
        for file in files:
            os.close(file)


def become_watched(status: int, streams: list[int]) -> None:
    """Fork once more: the parent writes to `status` which process the child is, and then how it has ended."""
    child = os.fork()
    if child == 0:
        os.close(status)
        return
    for file in (0, 1, 2, *streams):  # who reads them must see the end when the child has closed them
        os.close(file)
    os.write(status, f"{child}\n".encode())
    _, code = os.waitpid(child, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(code)}\n".encode())
    os._exit(0)


def take_streams(files: list[int]) -> None:
    """Make these files standard input, output and error."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


if __name__ == "__main__":
    request = requested(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
