"""A real schema registry for the tests: Apicurio, fetched once from Maven Central; its interface is Confluent's."""

import contextlib
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from connectors.kafka.local.jars import _cache, _lock, java
from tests.helpers.deadline import DEADLINE

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
    """Start a registry; again if it ends, as it does when something else takes its port first.

    It has a second port, of its management, which would be a fixed one.
    """
    jar = folder() / "quarkus-run.jar"
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
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
