"""Rows of CSV: where they end, how their cells are read, and how outputs are written.

The first line names the columns, and shows what separates them. An empty cell is like an absent field of a JSON
object, and like null in the columns that a `StatImputer` fills in. A cell that looks like a number is a number, `true`
and `false` are booleans, and every other cell is text. In the columns of the id and of texts that a step reads, every
cell is text. Spaces around a cell are no part of it, as in the first line; nor are those before a quote, which would
else be a part of the text.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import orjson

from connectors.model.rejects import Reject

DELIMITERS = ",;\t"
COLUMNS = ("id", "prediction", "score", "label")
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][+-]?[0-9]+)?")
# Of a cell. Python's own limit of 131,072 ends a row within a longer text, whose further lines would become records.
csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
# A number with a decimal comma, or with thousands apart: 1,5 and 1.234,5 and 1,234.5 and 1'234 and 1 234.5. Without
# decimals, a blank between the thousands must be one at which no line breaks: 777 123 456 may be a phone number.
FOREIGN_NUMBER = re.compile(
    r"[+-]?([0-9]*|[0-9]{1,3}([.'\u2019 \u00a0\u202f][0-9]{3})+),[0-9]+([eE][+-]?[0-9]+)?"
    r"|[+-]?[0-9]{1,3}([,'\u2019\u00a0\u202f][0-9]{3})+(\.[0-9]+)?"
    r"|[+-]?[0-9]{1,3}( [0-9]{3})+\.[0-9]+"
)
SPACES_AFTER_QUOTE = re.compile(r'(?<!")" +(?=[,;\t\r\n]|\Z)')  # which the module takes for a part of the cell
WORDS = {word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())}


def delimiter_of(header: bytes) -> str:
    """Return what separates the cells: comma, semicolon or tab, whichever gives the most columns.

    >>> delimiter_of(b"a,b;c,d"), delimiter_of(b"a;b"), delimiter_of(b"a")
    (',', ';', ',')
    """

    def columns(delimiter: str) -> int:
        try:
            return len(cells(header, delimiter))
        except Reject:
            return 0

    return max(DELIMITERS, key=columns)


def rows(lines: Iterator[bytes], delimiter: str = ",") -> Iterator[bytes]:
    """Join quoted multi-line cells. The first line of a malformed row passes, and is rejected when it is parsed."""
    again: list[bytes] = []  # lines to read once more, the next one last

    def following() -> bytes | None:
        return again.pop() if again else next(lines, None)

    while (line := following()) is not None:
        if b'"' not in line:
            yield line
            continue
        taken = [line]
        try:
            next(_reader(_taking(taken, following), delimiter))
        except csv.Error:  # such as a quote without its end, which takes no other row along
            again.extend(reversed(taken[1:]))
            del taken[1:]
        yield b"".join(taken)


def _reader(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, strict=True, delimiter=delimiter, skipinitialspace=True)


def _taking(taken: list[bytes], following: Callable[[], bytes | None]) -> Iterator[str]:
    yield taken[0].decode("latin-1")
    while (line := following()) is not None:
        taken.append(line)
        yield line.decode("latin-1")


def _read(text: str, delimiter: str) -> tuple[list[str], bool]:
    reader = _reader(io.StringIO(text, newline=""), delimiter)
    return next(reader, []), any(reader)  # the module takes a carriage return for the end of a row


def cells(row: bytes, delimiter: str = ",") -> list[str]:
    """Return the cells of a row, or raise Reject.

    >>> cells(b'7 , "Bern, CH" , 2')
    ['7 ', 'Bern, CH', '2']
    """
    try:
        text = row.decode()
        try:
            found, goes_on = _read(text, delimiter)
        except csv.Error:
            found, goes_on = _read(SPACES_AFTER_QUOTE.sub('"', text), delimiter)
    except UnicodeDecodeError as error:
        raise Reject(f"not UTF-8: byte {error.start}; save the file in UTF-8") from None
    except csv.Error as error:
        raise Reject(f"not CSV: {error}") from None
    if goes_on:
        raise Reject("not CSV: it goes on after a carriage return: end lines with a line feed")
    return found


def parser(
    columns: Sequence[str], texts: Collection[str], delimiter: str = ",", nulls: Collection[str] = ()
) -> Callable[[bytes], dict[str, Any]]:
    """Return a function that turns a row into fields; the cells of the columns `texts` stay text.

    An empty cell is no field, and None in the columns `nulls`.

    >>> parser(["id", "a", "b", "y"], ["id"])(b"07,1.5,,true")
    {'id': '07', 'a': 1.5, 'y': True}
    >>> parser(["a", "b", "c"], [], nulls=["b"])(b"1.5,,")
    {'a': 1.5, 'b': None}
    >>> parser(["a", "b"], [], ";")(b"1,5;x")
    Traceback (most recent call last):
    connectors.model.rejects.Reject: `a` is the text '1,5': write numbers with a decimal point and no other separators
    """

    def parse(row: bytes) -> dict[str, Any]:
        found = cells(row.removeprefix(codecs.BOM_UTF8), delimiter)  # else a quote after the mark quotes nothing
        if len(found) != len(columns):
            raise Reject(f"the row has {len(found)} cells, and the header {len(columns)}")
        if found[0].strip() == columns[0] and [cell.strip() for cell in found] == list(columns):
            raise Reject("the row is the header once more, as where two files were joined")
        fields = {
            name: cell.strip(" ") if name in texts and cell.strip() else _plain(cell)
            for name, cell in zip(columns, found, strict=True)
            if name in nulls or (cell and not cell.isspace())
        }
        for name, cell in fields.items():  # each such number would be a category
            if type(cell) is str and name not in texts and FOREIGN_NUMBER.fullmatch(cell.strip()):
                raise Reject(
                    f"`{name}` is the text {cell!r}: write numbers with a decimal point and no other separators"
                )
        return fields

    return parse


def _plain(cell: str) -> Any:
    text = cell.strip()
    if not text:
        return None
    if text in WORDS:
        return WORDS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if NUMBER.fullmatch(text) else cell.strip(" ")  # `red` and ` red` are one category


def header() -> bytes:
    """Return the first line of an output."""
    return ",".join(COLUMNS).encode() + b"\n"


def row(value: bytes) -> bytes:
    """Turn an output from JSON into a row: text stays text, and an object is JSON in one cell.

    >>> row(b'{"id":"a","prediction":true,"score":{"x":-0.5}}')
    b'a,true,"{""x"":-0.5}",\\n'
    """
    fields = orjson.loads(value)
    text = io.StringIO(newline="")
    found = (fields.get(name) for name in COLUMNS)
    csv.writer(text).writerow(  # its end of a line decides which cells get quotes: also one with a carriage return
        "" if cell is None else cell if isinstance(cell, str) else orjson.dumps(cell).decode() for cell in found
    )
    return text.getvalue().removesuffix("\r\n").encode() + b"\n"
