"""An HTTP server for the health of a processor.

`/metrics` is for Prometheus, `/live` and `/ready` for supervisors, and `/` is a page for people.
"""

import contextlib
import errno
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from connectors.config.schema import MetricsAddress
from connectors.errors import StartError
from connectors.runtime import state
from connectors.runtime.health import Health
from connectors.runtime.history import History, following
from connectors.runtime.page import TEXT, Answer, Page

MOST_CONNECTIONS = 50  # at a time; each one has a thread and a file handle, which the processor needs, too


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, address: MetricsAddress) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        super().__init__((address.host, address.port), _Handler)
        self._open: dict[Any, None] = {}  # the oldest first

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread. Beyond the limit, end the oldest one: it is slow, or says nothing."""
        self._open[request] = None
        for oldest in list(self._open)[:-MOST_CONNECTIONS]:
            self._open.pop(oldest, None)
            with contextlib.suppress(OSError):  # it has just ended by itself
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close their connection early."""


class _Handler(WSGIRequestHandler):
    timeout = 10.0  # seconds without a byte, after which a connection releases its thread

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log no requests."""


@contextlib.contextmanager
def serving(health: Health, address: MetricsAddress | None) -> Iterator[None]:
    """Serve the health of a processor at an address, if one is given. Raise StartError if its port is taken."""
    if address is None:
        yield
        return
    where = f"port {address.port} of {address.host}"
    try:
        server = _Server(address)
    except (OSError, ValueError) as error:  # ValueError for what cannot be the name of a host
        advice = "check `metrics.host` and `metrics.port`"
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            advice = (
                "give each process on a host a port of its own, such as `port: ${METRICS_PORT:-9464}` on a line of its "
                "own"
            )
        said = getattr(error, "strerror", None) or error
        raise StartError(f"`metrics`: {where} cannot be opened: {said}; {advice}") from error
    history = History(health.metrics)
    server.set_app(_app(health, Page(address, lambda: state.as_json(health, history))))
    thread = threading.Thread(target=server.serve_forever, args=[0.1], name="metrics", daemon=True)
    thread.start()
    try:
        with following(history):
            yield
    finally:
        server.shutdown()
        with contextlib.suppress(OSError):
            server.socket.shutdown(socket.SHUT_RDWR)  # a process that was forked meanwhile listens on it, too
        server.server_close()
        thread.join()


def _app(health: Health, page: Page) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    metrics = make_wsgi_app(health.metrics.registry)

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path, is_head = environ["PATH_INFO"], environ["REQUEST_METHOD"] == "HEAD"
        if path == "/metrics":
            # The library refuses HEAD, and of our collector it knows no names: `?name[]=` would find nothing of it.
            asked = environ | {"QUERY_STRING": ""} | ({"REQUEST_METHOD": "GET"} if is_head else {})
            status, headers, content = _called(metrics, asked)
        else:
            answer, more = page.answer(environ), page.headers
            if answer is None:
                answer, more = _answer(health, path), []
            status, kind, content = answer
            headers = [("Content-Type", kind), *more]
        start_response(status, [*headers, ("Content-Length", str(len(content)))])
        return [] if is_head else [content]

    return app


def _called(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return status, headers and content of what a WSGI application answers."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    content = b"".join(app(environ, lambda status, headers: begun.append((status, headers))))
    return *begun[0], content


def _answer(health: Health, path: str) -> Answer:
    """Return the answer at a path of supervisors, or that there is no such path."""
    if path == "/live":
        said = "the loop moves" if health.is_live else f"the loop has not moved for {health.silence:.0f} s"
        status = "200 OK" if health.is_live else "503 Service Unavailable"
    elif path == "/ready":
        is_ready = health.is_ready
        said = "partitions are restored" if is_ready else "partitions are not assigned, or their models not restored"
        for number, reason in health.metrics.work.paused.items():
            said += f"\npartition {number} is paused: {reason}"
        status = "200 OK" if is_ready else "503 Service Unavailable"
    else:
        said, status = "there are /, /metrics, /live and /ready", "404 Not Found"
    return status, TEXT, f"{said}\n".encode(errors="replace")
