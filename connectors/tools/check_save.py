"""Whether a snapshot can be written to a path: asked before the work that ends with it."""

import errno
import os
import pathlib
import tempfile

from connectors.errors import StartError
from river_margins.snapshot.codec import begins_snapshot


def check_save(path: pathlib.Path) -> None:
    """Raise StartError if a snapshot cannot be written to a path, or would replace a file that is no snapshot."""
    start = b""
    if str(path) == "-":  # standard output elsewhere; here it would be a file that is hard to name
        raise StartError("`-` is no file: name one")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(100)
        if path.is_file() or not path.exists():  # a device or a pipe is written to as it is
            with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass
    except OSError as error:
        raise StartError(f"`{path}` cannot be written: {error.strerror}") from error
    if start and not begins_snapshot(start):
        raise StartError(f"`{path}` exists already, and is no snapshot: name another file")
