"""Looking at a processor from outside: `/metrics` for Prometheus, `/live` and `/ready` for supervisors, and its lag."""

import contextlib
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from connectors.config import Config, FileConfig
from connectors.config.schema import MetricsAddress
from connectors.errors import StartError
from connectors.kafka import ClientError, Consumer
from connectors.runtime.metrics import Metrics
from connectors.topics.checkpoint import Timeouts

LAG_EVERY = 5.0  # seconds between two questions for the ends of the partitions
PATIENCE = 60.0  # seconds that the loop may stand still beside what it waits for a silent broker


class Watch:
    """What is known of a running processor; filled by its loop, read by other threads.

    Parameters
    ----------
    config
        The processor's file.

    Attributes
    ----------
    metrics
        What is counted.
    is_wanted
        Whether anybody looks, so that asking for the lag is worth it.
    """

    def __init__(self, config: Config | FileConfig) -> None:
        self.metrics = Metrics(config)
        self.is_wanted = config.metrics is not None
        self.patience = PATIENCE
        self._last_beat = time.monotonic()

    def wait_for_brokers(self, timeouts: Timeouts) -> None:
        """Counts the times within which a loop moves on when the brokers are silent as no standstill."""
        self.patience = PATIENCE + timeouts.transaction + timeouts.committed + timeouts.commit

    def beat(self) -> None:
        """Says that the loop moves."""
        self._last_beat = time.monotonic()

    @property
    def silence(self) -> float:
        """Seconds since the last beat."""
        return time.monotonic() - self._last_beat

    @property
    def is_live(self) -> bool:
        return self.silence < self.patience

    @property
    def is_ready(self) -> bool:
        """Whether partitions are assigned, if only none of them, and their models are where they were committed."""
        owned, there = self.metrics.work.ownership, self.metrics.work.partitions
        return owned is not None and all(n in there and there[n].goal is None for n in owned.partitions)

    @contextlib.contextmanager
    def following(self, make_consumer: Callable[[], Consumer]) -> Iterator[None]:
        """Asks for the ends of the partitions, with a client of its own, so that the loop never waits for that."""
        if not self.is_wanted:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._follow, args=[make_consumer, ended], name="lag", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(LAG_EVERY)

    def _follow(self, make_consumer: Callable[[], Consumer], ended: threading.Event) -> None:
        consumer = None
        while not ended.wait(LAG_EVERY if self.metrics.ends else 0.5):
            try:
                consumer = consumer or make_consumer()
                numbers = sorted(self.metrics.work.partitions)
                self.metrics.ends = {number: consumer.offset_range(number)[1] for number in numbers}
            except ClientError:  # which the loop meets as well, and tells
                self.metrics.ends = {}
                if consumer is not None:  # a client that has lived through an outage may never find its way back
                    consumer.close(1.0)
                    consumer = None
        if consumer is not None:
            consumer.close(1.0)


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to tell of."""


class _Handler(WSGIRequestHandler):
    timeout = 10.0  # seconds for a request, so that an open connection holds no thread for ever

    def log_message(self, format: str, *arguments: Any) -> None:
        """A request is nothing to tell of."""


@contextlib.contextmanager
def serving(watch: Watch, address: MetricsAddress | None) -> Iterator[None]:
    """Answers at the address, if there is one; StartError when its port cannot be had."""
    if address is None:
        yield
        return
    where = f"port {address.port} of {address.host}"
    try:
        server = _Server((address.host, address.port), _Handler)
    except OSError as error:
        raise StartError(
            f"`metrics`: {where} cannot be had: {error.strerror or error}; give each process on a host a port of its "
            f'own, such as `port: "${{METRICS_PORT:-9464}}"`'
        ) from error
    server.set_app(_app(watch))
    thread = threading.Thread(target=server.serve_forever, args=[0.1], name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _app(watch: Watch) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    metrics = make_wsgi_app(watch.metrics.registry)

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            found: Iterable[bytes] = metrics(environ, start_response)
            return found
        if path == "/live":
            said = "the loop moves" if watch.is_live else f"the loop has stood still for {watch.silence:.0f} s"
            status = "200 OK" if watch.is_live else "503 Service Unavailable"
        elif path == "/ready":
            is_ready = watch.is_ready
            said = (
                "partitions are restored" if is_ready else "partitions are not assigned, or their models not restored"
            )
            status = "200 OK" if is_ready else "503 Service Unavailable"
        else:
            said, status = "there are /metrics, /live and /ready", "404 Not Found"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{said}\n".encode()]

    return app
