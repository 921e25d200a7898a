"""A real schema registry for the tests: Apicurio, fetched once from Maven Central; its interface is Confluent's."""

import base64
import contextlib
import http.server
import shutil
import ssl
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient

from connectors.kafka.local.jars import _cache, _lock, java
from tests.helpers.deadline import DEADLINE
from tests.helpers.ports import free_port

VERSION = "3.3.3"
URL = (
    "https://repo.maven.apache.org/maven2/io/apicurio/apicurio-registry-app/"
    f"{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz"
)


class NoRegistry(Exception):
    """The registry cannot be fetched."""


def folder() -> Path:
    """Return the folder with the registry; the first call downloads it (159 MB)."""
    found = _cache() / f"apicurio-{VERSION}"
    if not found.is_dir():
        with _lock(found.with_name(f"{found.name}.lock")):
            if not found.is_dir():
                _fetch(found)
    return found


def _fetch(found: Path) -> None:
    partial = found.with_name(f"{found.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with urllib.request.urlopen(URL, timeout=60) as answer, tarfile.open(fileobj=answer, mode="r|gz") as archive:
            archive.extractall(partial, filter="data")
    except (OSError, tarfile.TarError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise NoRegistry(f"Apicurio {VERSION} could not be fetched from {URL}: {error}") from error
    partial.rename(found)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run a registry on loopback, and yield its URL."""
    process, url = _started()
    try:
        yield url
    finally:
        process.kill()
        process.wait()


def _started() -> tuple[subprocess.Popen[bytes], str]:
    """Start a registry; again if it ends before it answers.

    It has a second port, of its management, which would be a fixed one.
    """
    jar = folder() / "quarkus-run.jar"
    for _ in range(5):
        port = free_port()
        address = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}", "-Dquarkus.management.port=0"]
        command = [java(), "-XX:TieredStopAtLevel=1", "-Xmx512m", *address, "-jar", jar]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        if _answers(f"{url}/subjects", process):
            return process, url
        process.kill()
        process.wait()
    raise AssertionError("the registry does not start")


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + 2 * DEADLINE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    return False


def registry_client(url: str) -> SchemaRegistryClient:
    """Return Confluent's client, which asks again if a registry does not answer; by itself it would wait for ever."""
    return SchemaRegistryClient({"url": url, "timeout": 20})


class _Guard(http.server.BaseHTTPRequestHandler):
    """Passes a request on to the registry if it has the login, as the proxy does that a registry is put behind."""

    server: "Guarded"

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.may_write:
            self._answer(body)
        else:
            self._write(403, b'{"error_code": 40301, "message": "User is denied operation Write"}')

    def _answer(self, body: bytes | None) -> None:
        if body is None and any(f"/schemas/ids/{id}?" in f"{self.path}?" for id in self.server.hidden):
            self._write(404, b'{"error_code": 40403, "message": "Schema not found"}')
            return
        if self.headers["Authorization"] != self.server.login:
            self._write(401, b'{"error_code": 401, "message": "Unauthorized"}')
            return
        url = self.server.registry + self.path
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
                self._write(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self._write(error.code, error.read())

    def _write(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing."""


class Guarded(http.server.ThreadingHTTPServer):
    """A proxy before a registry that asks for a login; with TLS if a context is given."""

    def __init__(
        self,
        registry: str,
        username: str,
        password: str,
        tls: ssl.SSLContext | None,
        port: int,
        may_write: bool,
        hidden: Collection[int],
    ) -> None:
        super().__init__(("127.0.0.1", port), _Guard)
        self.registry, self.may_write = registry, may_write
        self.hidden = hidden
        self.login = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
        self.url = f"{'http' if tls is None else 'https'}://localhost:{self.server_address[1]}"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """Write nothing: clients that do not trust the certificate hang up."""


@contextlib.contextmanager
def guarded(
    registry: str,
    username: str,
    password: str,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
    may_write: bool = True,
    hidden: Collection[int] = (),
) -> Iterator[str]:
    """Run a proxy before a registry that asks for a login, and yield its URL. It knows no schema with a `hidden` id."""
    with Guarded(registry, username, password, tls, port, may_write, hidden) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()
