"""Stores of snapshots: a folder that all hosts of the group share, or a URL for fsspec.

In every store a snapshot is written once and never changed. It is durable when `write` returns, and no reader sees an
incomplete one under its name. A failure is a StoreError that names the path and what to do.
"""

import contextlib
import errno
import os
import pathlib
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from connectors.errors import StartError
from river_margins import snapshot

SUFFIX = ".snapshot"
THREADS = 12  # that use a store side by side: most of their time they wait for it
STORE_TIMEOUT = 10.0  # seconds for an answer, by default
UNFINISHED = 3600.0  # seconds after which nobody finishes a file any more
CHECKED = 16 * 1024  # bytes that a check writes
READING_FACTOR = 6  # reading a snapshot may take this much longer: with asynchronous packages, other partitions go on
FILE_NAME = re.compile(
    r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
)  # of a snapshot: without a separator it leads to no other folder
# Object-store uploads become visible atomically; elsewhere write a temporary name, then rename.
ATOMIC_UPLOADS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"}
# Held for each call of a package that is not asynchronous: fsspec gives all stores of a thread the same connection. On
# one of SFTP, a thread drops the answer that another one waits for, without end.
_ONE_AT_A_TIME = threading.Lock()
ROOM = "make room, between topics for instance with `river-margins snapshots prune FILE`"
ADVICE = {
    errno.ENOSPC: f"it is full: {ROOM}",
    errno.EDQUOT: f"the quota is used up: {ROOM}",
    errno.EFBIG: "the file would be larger than the limit: raise the limit on file sizes (`ulimit -f`)",
    errno.EROFS: "it is read-only: mount it writable, or give another folder",
    errno.EACCES: "access is denied: allow this user to list, read, write and delete there",
    errno.EPERM: "access is denied: allow this user to list, read, write and delete there",
}


# What a cloud answers without a text to a question about a file, which s3fs asks before it reads one.
BAD_REQUEST = "Bad Request"


class StoreError(OSError):
    """A store refuses. The text, `strerror`, names the path, the reason and what to do."""

    def __str__(self) -> str:
        return str(self.strerror)


class Store(Protocol):
    """A store of the snapshots of one topic or file: `<folder>/<partition>/<name>.snapshot`.

    A store never leaves its folder: a name with a separator, and a link that leads elsewhere, are StoreErrors.
    """

    @property
    def folder(self) -> str:
        """The path or URL of the store."""

    def check(self) -> None:
        """Raise StoreError if nothing can be written."""

    def check_partition(self, partition: int) -> None:
        """Raise StoreError if nothing can be written to the folder of a partition, which may belong to another user."""

    def beside(self) -> "Sequence[Store]":
        """Return the stores in the other folders beside this one."""

    def path(self, partition: int, name: str) -> str:
        """Return the path or URL of a snapshot."""

    def write(self, partition: int, name: str, data: bytes) -> None:
        """Write a snapshot, and return once it is durable."""

    def read(self, partition: int, name: str) -> bytes:
        """Return a snapshot. Raise FileNotFoundError if there is none of this name."""

    def sizes(self, partition: int) -> dict[str, int]:
        """Return the sizes of the snapshots of a partition, in the order of their names."""

    def delete(self, partition: int, name: str) -> None:
        """Delete a snapshot, if there is one of this name."""

    def delete_unfinished(self, partition: int) -> None:
        """Delete what processes have left that were killed while they wrote a snapshot, an hour ago or more."""


def open_store(location: str, *below: str, seconds: float = STORE_TIMEOUT) -> Store:
    """Return the store at a path or a URL, in the folder `below` it; `seconds` are those of `UrlStore`.

    Raise StartError if the package that a URL needs is not installed.
    """
    if location.startswith(("file://", "local://")):
        location = location.partition("://")[2]
    if "://" in location:
        return UrlStore("/".join([location.rstrip("/"), *below]), seconds)
    return FolderStore(pathlib.Path(location, *below))


class FolderStore:
    """A store in a folder. Each file and each new folder is synced to the disk.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = FolderStore(pathlib.Path(folder) / "phishing")
    ...     store.write(0, "17-abc", b"data")
    ...     store.read(0, "17-abc"), store.sizes(0), store.sizes(1)
    (b'data', {'17-abc': 4}, {})
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    @property
    def folder(self) -> str:
        return str(self._folder)

    def check(self) -> None:
        with _refusals("written", self.folder):
            make_folder(self._folder)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                file.write(bytes(CHECKED))  # an empty file has room on a disk that is full

    def check_partition(self, partition: int) -> None:
        folder = self._folder / str(partition)
        with _refusals("written", str(folder)):
            if folder.is_dir():
                with tempfile.TemporaryFile(dir=folder):
                    pass

    def beside(self) -> "list[FolderStore]":
        above = self._folder.parent
        with _refusals("listed", str(above)):
            return [FolderStore(path) for path in sorted(above.glob("*/")) if path != self._folder]

    def path(self, partition: int, name: str) -> str:
        return str(self._folder / str(partition) / f"{name}{SUFFIX}")

    def write(self, partition: int, name: str, data: bytes) -> None:
        with _refusals("written", self.path(partition, name)):
            make_folder(self._folder / str(partition))
            snapshot.write_file(self._place(partition, name), data)

    def read(self, partition: int, name: str) -> bytes:
        with _refusals("read", self.path(partition, name)):
            return self._place(partition, name).read_bytes()

    def sizes(self, partition: int) -> dict[str, int]:
        with _refusals("listed", str(self._folder / str(partition))):
            found = {}
            for path in sorted(self._folder_of(partition).glob(f"[!.]*{SUFFIX}")):
                with contextlib.suppress(FileNotFoundError):  # another process may have just deleted it
                    found[path.name.removesuffix(SUFFIX)] = path.stat().st_size
            return found

    def delete_unfinished(self, partition: int) -> None:
        with _refusals("deleted", str(self._folder / str(partition))):
            for path in self._folder_of(partition).glob(f".*{SUFFIX}.*.new"):
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_mtime < time.time() - UNFINISHED:
                        path.unlink()

    def delete(self, partition: int, name: str) -> None:
        with _refusals("deleted", self.path(partition, name)):
            self._place(partition, name).unlink(missing_ok=True)

    def _place(self, partition: int, name: str) -> pathlib.Path:
        path = self._folder_of(partition) / f"{_checked(name)}{SUFFIX}"
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"it is a link to `{os.readlink(path)}`: only files in this folder are used")
        return path

    def _folder_of(self, partition: int) -> pathlib.Path:
        folder = self._folder.resolve() / str(partition)
        if folder.resolve() != folder:
            raise OSError(errno.ELOOP, f"`{folder}` is a link to `{folder.resolve()}`: only folders in here are used")
        return folder


class UrlStore:
    """A store at a URL, through fsspec. Credentials come from the environment, as the protocol's package documents.

    Each answer has a time limit of `seconds`, or READING_FACTOR times as long if it holds a snapshot, since the
    packages themselves retry for minutes. The limit applies to asynchronous packages only; those for clouds are. The
    others have no limit and are called by one thread at a time, so a server that is silent stops all partitions.
    """

    def __init__(self, url: str, seconds: float = STORE_TIMEOUT) -> None:
        self.folder, self._seconds, self._is_lost = url, seconds, False
        protocol = url.partition("://")[0]
        # Without a cache, files of other processes are seen at once. SFTP has none, and hands options to `connect`.
        self._options = {} if protocol in ("sftp", "ssh") else {"use_listings_cache": False}
        try:
            import fsspec

            self._files, self._root = fsspec.url_to_fs(url, **self._options)
        except (ImportError, ValueError) as error:
            raise StartError(
                f"the snapshots at `{url}` need the extra `stores` (`pip install 'river-margins[stores]'`) and "
                f"fsspec's package for `{protocol}`, such as s3fs for `s3`: {error}"
            ) from error
        except Exception as error:  # of a package that connects at once, such as those for SFTP and HDFS
            number = getattr(error, "errno", None) or errno.EIO
            raise StoreError(number, f"`{url}` cannot be opened: {_reason(error)}") from error
        self._uploads_atomically = protocol in ATOMIC_UPLOADS

    def check(self) -> None:
        probe = f"{self._root}/.probe-{secrets.token_hex(4)}"
        with _refusals("written", self.folder):
            try:
                self._put(probe, b"")
                self._ask("rm_file", probe)
            except FileNotFoundError as error:
                raise OSError("it does not exist: create the bucket or folder") from error

    def check_partition(self, partition: int) -> None:
        """Do nothing: who may write below a URL, which `check` has done, may write there."""

    def beside(self) -> "list[UrlStore]":
        above, _, own = self.folder.rpartition("/")
        found: list[str] = []
        with _refusals("listed", above), contextlib.suppress(FileNotFoundError):
            entries = self._ask("ls", self._root.rpartition("/")[0], detail=True)
            found = [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries if entry["type"] == "directory"]
        return [UrlStore(f"{above}/{name}", self._seconds) for name in sorted(found) if name != own]

    def _ask(self, what: str, *arguments: Any, factor: float = 1.0, **options: Any) -> Any:
        """Call a method of the package. Raise OSError if the answer takes too long."""
        from fsspec import asyn, exceptions

        if not self._files.async_impl:
            return self._call(what, *arguments, **options)
        seconds, method = self._seconds * factor, getattr(self._files, f"_{what}")
        try:
            return asyn.sync(self._files.loop, method, *arguments, timeout=seconds, **options)
        except exceptions.FSTimeoutError as error:
            raise OSError(f"no answer within {seconds:g} s; is the store running, and the network up?") from error

    def _call(self, what: str, *arguments: Any, **options: Any) -> Any:
        """Call a method without a time limit. After a failure, connect anew: SFTP keeps a connection that is lost."""
        import fsspec

        with _ONE_AT_A_TIME:
            if self._is_lost:
                self._files, _ = fsspec.url_to_fs(self.folder, **self._options)
                self._is_lost = False
            try:
                return getattr(self._files, what)(*arguments, **options)
            except Exception as error:
                if not isinstance(error, FileNotFoundError):
                    type(self._files).clear_instance_cache()  # else fsspec hands the same one on to later stores
                    self._is_lost = True
                raise

    def path(self, partition: int, name: str) -> str:
        return f"{self.folder}/{partition}/{name}{SUFFIX}"

    def write(self, partition: int, name: str, data: bytes) -> None:
        with _refusals("written", self.path(partition, name)):
            self._put(self._place(partition, name), data)

    def _put(self, path: str, data: bytes) -> None:
        if self._uploads_atomically:
            self._ask("pipe_file", path, data)
            return
        folder, _, name = path.rpartition("/")
        new = f"{folder}/.{name}.{secrets.token_hex(4)}.new"
        self._ask("makedirs", folder, exist_ok=True)
        try:
            self._ask("pipe_file", new, data)
            self._call("mv", new, path)
        except BaseException:  # each attempt has another name: on a full disk, they would take all room that is made
            with contextlib.suppress(Exception):
                self._ask("rm_file", new)
            raise

    def _place(self, partition: int, name: str) -> str:
        return f"{self._root}/{partition}/{_checked(name)}{SUFFIX}"

    def read(self, partition: int, name: str) -> bytes:
        with _refusals("read", self.path(partition, name)):
            data: bytes = self._ask("cat_file", self._place(partition, name), factor=READING_FACTOR)
            return data

    def sizes(self, partition: int) -> dict[str, int]:
        found: dict[str, int] = {}
        with _refusals("listed", f"{self.folder}/{partition}"), contextlib.suppress(FileNotFoundError):
            for entry in self._ask("ls", f"{self._root}/{partition}", detail=True):
                name = entry["name"].rpartition("/")[2]
                if name.endswith(SUFFIX) and not name.startswith("."):
                    found[name.removesuffix(SUFFIX)] = entry["size"]
        return dict(sorted(found.items()))

    def delete_unfinished(self, partition: int) -> None:
        """Do nothing: where uploads are atomic, one that does not end leaves nothing."""

    def delete(self, partition: int, name: str) -> None:
        with _refusals("deleted", self.path(partition, name)), contextlib.suppress(FileNotFoundError):
            self._ask("rm_file", self._place(partition, name))


def _checked(name: str) -> str:
    if not FILE_NAME.fullmatch(name):
        raise OSError(errno.EINVAL, "a snapshot has no such name")
    return name


@contextlib.contextmanager
def _refusals(done: str, path: str) -> Iterator[None]:
    """Turn every exception of the store's own library into a StoreError, but that a file to be read does not exist."""
    try:
        yield
    except Exception as error:
        if done == "read" and isinstance(error, FileNotFoundError):
            raise
        number = getattr(error, "errno", None) or errno.EIO
        raise StoreError(number, f"`{path}` cannot be {done}: {_reason(error)}") from error


def _reason(error: Any) -> str:
    number = getattr(error, "errno", None)
    if number in ADVICE:
        return ADVICE[number]
    if number is None and isinstance(error, PermissionError):
        return f"{ADVICE[errno.EACCES]} ({error})"
    if isinstance(error, OSError) and error.strerror == BAD_REQUEST:
        return f"{BAD_REQUEST}; have the credentials expired? Renew them, and start the process again"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = re.sub(r"\s+", " ", str(error)) or type(error).__name__
    return said if isinstance(error, OSError) else f"{said}; is the store running, and are address and network right?"


def make_folder(folder: pathlib.Path) -> None:
    """Make a folder that survives a crash of the machine: each new entry is synced in the folder above."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():  # if it is one, another process has just made it
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)
