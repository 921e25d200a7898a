"""Files as streams of bytes: plain, gzip or zstd by suffix; also standard input and output.

At each checkpoint, compressed output ends with a complete gzip member or zstd frame. The file can thus be cut back to
any checkpoint.
"""

import contextlib
import errno
import fcntl
import io
import os
import pathlib
import select
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TextIO

import zstandard

from connectors.config.files_schema import STANDARD

CHUNK = 1 << 16
IN_UTF_8 = "save it in UTF-8, as a spreadsheet does with `CSV UTF-8`"
UTF_16 = f"it is text in UTF-16: {IN_UTF_8}"
PACKED = {".gz": 1 << 15, ".zst": 1 << 10}  # bytes that are decompressed at once, which become at most 32 MB
# How a file begins that is not the text its name promises, and what to do.
OTHERS = {
    b"\x1f\x8b": "it is compressed by gzip: let its name end with `.gz`",
    b"\x28\xb5\x2f\xfd": "it is compressed by zstd: let its name end with `.zst`",
    b"PK\x03\x04": "it is a zip archive, or a workbook of a spreadsheet: unpack it, or save it as CSV in UTF-8",
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
}
MAX_WAIT = 0.5  # seconds for content of standard input
DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
COMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.compressobj(wbits=31),
    ".zst": lambda: zstandard.ZstdCompressor().compressobj(),
}


class Unfit(Exception):
    """A file does not have the expected content. The text says why."""


def read_chunks(path: str) -> Iterator[bytes]:
    """Return the content of a file in pieces, decompressed. A piece is empty if standard input has none yet."""
    if path == STANDARD:
        return _standard_input(descriptor(sys.stdin))
    if not os.path.isfile(path):
        raise Unfit("it is not a file" if os.path.exists(path) else "it does not exist")
    if _suffix(path) not in DECOMPRESSORS:
        with open(path, "rb") as file:
            start = file.read(4)
        for sign, advice in OTHERS.items():
            if start.startswith(sign):
                raise Unfit(advice)
    return _content(path)


def _suffix(path: str) -> str:
    return pathlib.Path(path).suffix.lower()


def _content(path: str) -> Iterator[bytes]:
    suffix = _suffix(path)
    make, size = DECOMPRESSORS.get(suffix), PACKED.get(suffix, CHUNK)
    with open(path, "rb") as file:
        pieces = iter(lambda: file.read(size), b"")
        # Tapes and copies of blocks fill up with zeros; `gunzip` passes over them, and `zstd` refuses them.
        filling = b"\0" if suffix == ".gz" else b""
        yield from pieces if make is None else _decompressed(pieces, make, filling)
        if (size := os.fstat(file.fileno()).st_size) < (read := file.tell()):
            raise Unfit(f"it has {size} bytes now, and {read} were read from it")


def descriptor(stream: TextIO | None) -> int:
    """Return the descriptor of a standard stream. Raise OSError if a shell has closed it, or a program replaced it."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed")
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        said = "it is not the stream of this process, as in a notebook or under pytest: name a file"
        raise OSError(errno.EBADF, said) from None


def _standard_input(source: int) -> Iterator[bytes]:
    while True:
        ready, _, _ = select.select([source], [], [], MAX_WAIT)
        piece = os.read(source, CHUNK) if ready else b""
        if ready and not piece:
            return
        yield piece


def _decompressed(pieces: Iterator[bytes], make: Callable[[], Any], filling: bytes) -> Iterator[bytes]:
    decompressor, is_behind_one = None, False
    for piece in pieces:
        if is_behind_one and decompressor is None:
            piece = piece.lstrip(filling)
        while piece:
            decompressor = decompressor or make()
            try:
                content = decompressor.decompress(piece)
            except (zlib.error, zstandard.ZstdError) as error:
                raise Unfit(f"it is damaged, or not compressed as its name says: {error}") from None
            piece = decompressor.unused_data.lstrip(filling) if decompressor.eof else b""
            if decompressor.eof:
                decompressor, is_behind_one = None, True
            if content:
                yield content
    if decompressor is not None:
        raise Unfit("it is cut off: its last part has no end")


class Sink:
    """An open output file, compressed by its suffix; `note` is called with all bytes that are added to the file."""

    def __init__(self, path: str, file: BinaryIO, note: Callable[[bytes], None]) -> None:
        self._path, self._file, self._note = path, file, note
        self._make = COMPRESSORS.get(_suffix(path))
        self._compressor: Any = None
        self._is_on_disk = path != STANDARD

    def write(self, content: bytes) -> None:
        """Add content at the end."""
        if self._make is None:
            return self._add(content)
        self._compressor = self._compressor or self._make()
        self._add(self._compressor.compress(content))

    def sync(self) -> None:
        """End the compressed part, and wait until all content is on the disk."""
        if self._compressor is not None:
            self._add(self._compressor.flush())
            self._compressor = None
        try:
            self._file.flush()
            if self._is_on_disk:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise with_name(error, self._path) from error

    def _add(self, content: bytes) -> None:
        try:
            self._file.write(content)
        except OSError as error:
            raise with_name(error, self._path) from error
        self._note(content)


def with_name(error: OSError, path: str) -> OSError:
    """Return the error with the name of its file, which an error of an open file does not have."""
    return error if path == STANDARD else OSError(error.errno, error.strerror, path)


@contextlib.contextmanager
def appending(path: str, length: int, note: Callable[[bytes], None]) -> Iterator[Sink]:
    """Open a file to write after `length` bytes; the rest is cut off. Raise OSError if another process writes to it."""
    if path == STANDARD:
        with open(descriptor(sys.stdout), "wb", closefd=False) as file:
            yield Sink(path, file, note)
        return
    with open(path, "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(errno.EWOULDBLOCK, "another process writes to it") from None
        try:
            file = open(lock.fileno(), "ab", closefd=False)  # noqa: SIM115  # its end may fail, and must name the file
            try:
                file.truncate(length)
                sync_folder(pathlib.Path(path).parent)
                yield Sink(path, file, note)
            finally:
                try:
                    file.close()  # what a full disk has refused is tried again
                except OSError as error:
                    raise with_name(error, path) from error
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open, too


def sync_folder(folder: pathlib.Path) -> None:
    """Wait until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
