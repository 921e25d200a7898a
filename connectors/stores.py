"""Where snapshots lie: a folder that all hosts of the group share."""

import errno
import os
import pathlib

from river_margins import snapshot

SUFFIX = ".snapshot"


class FolderStore:
    """Snapshots of one topic as files `<folder>/<partition>/<id>.snapshot`.

    A snapshot is written once and never changed; it is on the disk when `write` returns. Nothing is found by listing
    but the fact that something is there.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = FolderStore(pathlib.Path(folder) / "phishing")
    ...     store.write(0, "17-abc", b"data")
    ...     store.read(0, "17-abc"), store.names(0), store.names(1)
    (b'data', ['17-abc'], [])
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def path(self, partition: int, name: str) -> pathlib.Path:
        return self.folder / str(partition) / f"{name}{SUFFIX}"

    def write(self, partition: int, name: str, data: bytes) -> None:
        """Puts a snapshot on the disk, folders and all; OSError when the disk refuses."""
        path = self.path(partition, name)
        make_folder(path.parent)
        snapshot.write_file(path, data)

    def read(self, partition: int, name: str) -> bytes:
        """Returns a snapshot; FileNotFoundError when it is not there."""
        return self.path(partition, name).read_bytes()

    def names(self, partition: int) -> list[str]:
        """Returns the snapshots of a partition in the order of their names; half-written ones are not seen."""
        return sorted(path.name.removesuffix(SUFFIX) for path in (self.folder / str(partition)).glob(f"[!.]*{SUFFIX}"))

    def delete(self, partition: int, name: str) -> None:
        self.path(partition, name).unlink(missing_ok=True)


def make_folder(folder: pathlib.Path) -> None:
    """Makes a folder whose name survives a crash of the machine: each new entry is synced in the folder above."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():  # or another process was quicker
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)
