"""Files of records: read from the start, written at the end, with a checksum of each part read or written."""

import contextlib
import hashlib
import itertools
import os
import pathlib
import re
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from connectors.config.files_schema import STANDARD, is_csv, is_svmlight
from connectors.files import csv_rows, svmlight
from connectors.files.byte_streams import CHUNK, IN_UTF_8, Unfit, appending, descriptor, read_chunks
from connectors.model.records import Record
from connectors.model.rejects import Reject

BOM = b"\xef\xbb\xbf"


class Mark(NamedTuple):
    """The length of the part of a file that was read or written, and its SHA-256."""

    length: int = 0
    sha256: str = hashlib.sha256().hexdigest()


class Meter:
    """Length and hash of the content read or written so far."""

    def __init__(self) -> None:
        self.length, self._hash = 0, hashlib.sha256()

    def note(self, content: bytes) -> None:
        """Add content."""
        self.length += len(content)
        self._hash.update(content)

    def mark(self) -> Mark:
        """Return length and hash."""
        return Mark(self.length, self._hash.hexdigest())


class Reader:
    """Reader of the records of a file. The source of a record is `name:line`, with the line in which it begins.

    Parameters
    ----------
    path
        The file, or `-` for standard input.

    Attributes
    ----------
    path
        The file.
    columns
        The column names of a CSV file; None for other formats, whose records may have any fields.
    lines
        How many lines were read.
    total
        The length of the file, if it is known beforehand.

    Raises
    ------
    Unfit
        There is no such file, it is not compressed as its name says, or a CSV file has no header.
    """

    def __init__(self, path: str) -> None:
        self.path, self.lines = path, 0
        self._name = pathlib.Path(path).name
        self._meter, self._is_whole, self._is_svmlight = Meter(), True, is_svmlight(path)
        self._chunks, self._rest = read_chunks(path), b""
        self._delimiter = ","
        self.columns = self._header() if is_csv(path) else None
        is_packed = path == STANDARD or path.lower().endswith((".gz", ".zst"))
        self.total = None if is_packed else os.path.getsize(path)

    def parser(self, *texts: str | None, nulls: Collection[str] = ()) -> Callable[[bytes], Any] | None:
        """Return what turns a value into fields; None for JSON.

        In CSV, the cells of the columns `texts` stay text, and the empty ones of the columns `nulls` are null.
        """
        if self.columns is not None:
            names = {name for name in texts if name is not None}
            return csv_rows.parser(self.columns, names, self._delimiter, nulls)
        return svmlight.parse if self._is_svmlight else None

    @property
    def length(self) -> int:
        """How many bytes were taken, decompressed."""
        return self._meter.length

    def mark(self) -> Mark:
        """Return the mark after the records taken so far. It is of the decompressed content."""
        return self._meter.mark()

    def skip(self, mark: Mark, lines: int) -> None:
        """Skip to a mark made earlier, before any record is taken. Raise Unfit if the content up to it has changed."""
        while (missing := mark.length - self._meter.length) > 0:
            if not self._rest and not self._fill():
                raise Unfit(f"it has {self._meter.length} bytes now, and {mark.length} were read from it")
            piece, self._rest = self._rest[:missing], self._rest[missing:]
            self._take(piece)
        if self.mark() != mark:
            raise Unfit(f"its first {mark.length} bytes are not those that were read from it")
        self.lines = lines

    def __iter__(self) -> Iterator[Record | None]:
        """Yield the records, and None while standard input has none."""
        for content in csv_rows.rows(self._raw_lines(), self._delimiter) if self.columns else self._raw_lines():
            if not content:
                yield None
            elif self._is_svmlight and self._is_whole and svmlight.is_comment(content.removeprefix(BOM)):
                self._take(content)
                self.lines += 1
            elif self._is_whole:
                first, is_at_start = self.lines + 1, not self._meter.length  # a pipe begins anew, and its lines go on
                self._take(content)
                self.lines += content.count(b"\n") + (not self._is_whole)
                value = (content.removeprefix(BOM) if is_at_start else content).removesuffix(b"\n")
                yield Record(f"{self._name}:{first}", None, value)
            elif content in (b"\n", b"\r\n"):  # the end of the last line, which was written since the last start
                self._take(content)
            else:
                raise Unfit(
                    f"line {self.lines} had no end when it was read, and now goes on: put a line feed after byte "
                    f"{self.length}, where it ended, and the rest becomes a line of its own"
                )

    def _raw_lines(self) -> Iterator[bytes]:
        pieces: list[bytes] = []  # of a line whose end was not read yet
        for chunk in itertools.chain([self._rest] if self._rest else [], self._chunks):
            if not chunk:
                yield b""
                continue
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join([*pieces, whole[0]])
                pieces = []
            for line in whole:
                yield line + b"\n"
            if rest:
                pieces.append(rest)
        if pieces:
            yield b"".join(pieces)

    def _header(self) -> list[str]:
        while b"\n" not in self._rest and self._fill():
            pass
        end = self._rest.find(b"\n") + 1 or len(self._rest)
        line, self._rest = self._rest[:end], self._rest[end:]
        # Its end is taken like that of any last line: it may be written after the next start.
        end_of_line = next((each for each in (b"\r\n", b"\n") if line.endswith(each)), b"")
        self._rest = end_of_line + self._rest
        self._take(line.removesuffix(end_of_line))
        self.lines = 1
        header = line.removeprefix(BOM)
        if re.fullmatch(rb'"?sep=."?', header.removesuffix(end_of_line)):
            raise Unfit("its first line is for Excel only: delete it, so that the names of the columns come first")
        try:
            header.decode()
        except UnicodeDecodeError as error:  # such as a name with an umlaut in Windows-1252
            raise Unfit(f"it is not text in UTF-8 (byte {error.start} of its first line): {IN_UTF_8}") from None
        try:
            self._delimiter = csv_rows.delimiter_of(header)
            columns = [name.strip() for name in csv_rows.cells(header, self._delimiter)]
        except Reject as reject:
            raise Unfit(f"its first line names no columns: {reject}; the file must be CSV in UTF-8") from None
        if not any(columns):
            raise Unfit("its first line must name all columns")
        if "" in columns:
            place = columns.index("") + 1
            advice = "; pandas writes its index there, unless told `to_csv(..., index=False)`" if place == 1 else ""
            raise Unfit(f"its first line must name all columns: column {place} of {len(columns)} has no name{advice}")
        if len(set(columns)) < len(columns):
            double = next(name for name in columns if columns.count(name) > 1)
            raise Unfit(f"its first line names the column `{double}` twice")
        return columns

    def _fill(self) -> bool:
        chunk = next(self._chunks, None)
        self._rest += chunk or b""
        return chunk is not None

    def _take(self, content: bytes) -> None:
        self._meter.note(content)
        self._is_whole = content.endswith(b"\n")


class Writer:
    """Writer of values at the end of a file.

    Parameters
    ----------
    path
        The file, or `-` for standard output.
    mark
        The mark of the last checkpoint; None if there is none for this file.
    has_ended
        Whether the process that made the mark has ended in order. Then nothing may follow the mark.

    Raises
    ------
    Unfit
        The content of the file is not the one of that mark. Nothing was changed.
    """

    def __init__(self, path: str, mark: Mark | None, has_ended: bool = False) -> None:
        self._path, self._is_csv, self._meter = path, is_csv(path), Meter()
        if path == STANDARD:
            descriptor(sys.stdout)
            return
        if os.path.exists(path) and not os.path.isfile(path):
            raise Unfit("it is not a file")
        if not (folder := pathlib.Path(path).parent).is_dir():
            raise Unfit(f"there is no folder `{folder}`: create it")
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if mark is None and size:
            raise Unfit("it exists already, and is not empty: move it away, or name another file")
        if mark is not None and has_ended and size > mark.length:
            raise Unfit(f"it has {size} bytes now, and only {mark.length} were written to it")
        if mark is not None and mark.length:
            self._verify(mark, size)

    def _verify(self, mark: Mark, size: int) -> None:
        if size < mark.length:
            raise Unfit(f"it has {size} bytes now, and {mark.length} were written to it")
        with open(self._path, "rb") as file:
            while piece := file.read(min(CHUNK, mark.length - self._meter.length)):
                self._meter.note(piece)
        if self._meter.mark() != mark:
            raise Unfit(f"its first {mark.length} bytes are not those that were written to it")

    def mark(self) -> Mark | None:
        """Return the mark of the file at the last `sync`, compressed; None for standard output."""
        return None if self._path == STANDARD else self._meter.mark()

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file, and cut off the content after the mark."""
        with appending(self._path, self._meter.length, self._meter.note) as self._sink:
            if self._is_csv and not self._meter.length:
                self._sink.write(csv_rows.header())
            yield
            if not self._meter.length:
                self._sink.write(b"")  # a compressed file is not a valid one as long as it has 0 bytes
            self._sink.sync()  # also if nothing was read, and so nothing committed

    def write(self, value: bytes) -> None:
        """Write one JSON object, as a line of JSON or a row of CSV."""
        self._sink.write(csv_rows.row(value) if self._is_csv else value + b"\n")

    def sync(self) -> None:
        """Wait until all content is on the disk."""
        self._sink.sync()

    def check(self) -> None:
        """Raise Unfit if the file is not as long as what was written to it, after a `sync`: others have changed it."""
        if self._path == STANDARD:
            return
        size = os.path.getsize(self._path) if os.path.exists(self._path) else 0
        if size != self._meter.length:
            raise Unfit(f"it has {size} bytes now, and {self._meter.length} were written to it")
