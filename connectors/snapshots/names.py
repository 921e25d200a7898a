"""What the metadata of a committed offset says, and what the name of a snapshot says."""

import calendar
import hashlib
import re
import secrets
import time
from typing import Any, NamedTuple

import orjson

NAME = re.compile(r"(\d{20})-(\d+)-(\d{8}T\d{6}Z)-([0-9a-f]{8})(-empty)?")
TIME = "%Y%m%dT%H%M%SZ"


class Name(NamedTuple):
    """The name of a snapshot says what it is; a processor believes it when a committed offset names it.

    >>> Name.parse("00000000000000000017-12-20261121T102500Z-0badcafe")
    Name(offset=17, examples=12, time=1795256700, mark='0badcafe', is_anchor=False)
    >>> Name.parse("mine")
    """

    offset: int
    examples: int
    time: int
    mark: str
    is_anchor: bool

    @classmethod
    def new(cls, offset: int, examples: int, is_anchor: bool) -> str:
        """Returns a name that nothing has yet; `-empty` says that no record was read."""
        now = time.strftime(TIME, time.gmtime())
        return f"{offset:020d}-{examples}-{now}-{secrets.token_hex(4)}{'-empty' if is_anchor else ''}"

    @classmethod
    def parse(cls, text: str) -> "Name | None":
        """Reads a name; None for what is not ours."""
        found = NAME.fullmatch(text)
        if found is None:
            return None
        offset, examples, moment, mark, anchor = found.groups()
        return cls(int(offset), int(examples), seconds(moment), mark, anchor is not None)


def seconds(moment: str) -> int:
    """Returns the seconds since 1970 of a time as names have it.

    >>> seconds("19700102T000001Z")
    86401
    """
    return calendar.timegm(time.strptime(moment, TIME))


class Pointer(NamedTuple):
    """Names a snapshot, and what must still be true to go on from it.

    `offset` is the committed one; `inputs` and `crc` are number and CRC-32C of the inputs between the snapshot and it.
    """

    snapshot: str
    sha256: str
    topic_id: str
    partitions: int
    host: str
    offset: int
    examples: int
    inputs: int = 0
    crc: int = 0

    @classmethod
    def to(cls, data: bytes, offset: int, examples: int, is_anchor: bool, **world: Any) -> "Pointer":
        """Points to a new snapshot."""
        name = Name.new(offset, examples, is_anchor)
        return cls(name, hashlib.sha256(data).hexdigest(), offset=offset, examples=examples, **world)

    @property
    def snapshot_offset(self) -> int:
        """The offset that the snapshot belongs to."""
        return int(self.snapshot.partition("-")[0])

    def to_text(self) -> str:
        return orjson.dumps({"river_margins": 1} | self._asdict()).decode()

    @classmethod
    def from_text(cls, text: str) -> "Pointer | None":
        """Reads the metadata of an offset; None when something else wrote it.

        >>> pointer = Pointer("17-abc", "0f", "id", 4, "host", 17, 12)
        >>> Pointer.from_text(pointer.to_text()) == pointer, Pointer.from_text(""), Pointer.from_text("{}")
        (True, None, None)
        """
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(found, dict) or found.pop("river_margins", None) != 1 or set(found) != set(cls._fields):
            return None
        return cls(**found)
