"""Names of snapshots. A name tells the offset, the examples learned, the time, and whether any record was read."""

import calendar
import functools
import re
import secrets
import time
from typing import NamedTuple

PATTERN = re.compile(r"(\d{20})-(\d+)-(\d{8}T\d{6}Z)-([0-9a-f]{8})(-empty)?")
TIME_FORMAT = "%Y%m%dT%H%M%SZ"


class SnapshotName(NamedTuple):
    """The parts of a snapshot's name.

    Attributes
    ----------
    offset
        The offset (in a file: the lines read) up to which the model has learned.
    examples
        How many examples the model has learned.
    time
        When the snapshot was written, in seconds since 1970.
    suffix
        Eight random hexadecimal digits, which make the name unique.
    is_empty
        Whether the model had read no record.

    >>> SnapshotName.parse("00000000000000000017-12-20261121T102500Z-0badcafe")
    SnapshotName(offset=17, examples=12, time=1795256700, suffix='0badcafe', is_empty=False)
    >>> SnapshotName.parse("mine")
    """

    offset: int
    examples: int
    time: int
    suffix: str
    is_empty: bool

    @property
    def order(self) -> tuple[int, int, int]:
        """What sorts snapshots of a partition into the order in which they were written."""
        return self.time, self.offset, self.examples

    @classmethod
    def new(cls, offset: int, examples: int, is_empty: bool) -> str:
        """Return the text of a unique name for a snapshot written now."""
        now = time.strftime(TIME_FORMAT, time.gmtime())
        return f"{offset:020d}-{examples}-{now}-{secrets.token_hex(4)}{'-empty' if is_empty else ''}"

    @classmethod
    def parse(cls, text: str) -> "SnapshotName | None":
        """Return the parts of a name, or None if the text is not such a name."""
        found = PATTERN.fullmatch(text)
        if found is None:
            return None
        offset, examples, moment, suffix, empty = found.groups()
        try:
            return cls(int(offset), int(examples), seconds_since_1970(moment), suffix, empty is not None)
        except ValueError:  # no calendar has that day
            return None


@functools.lru_cache(maxsize=4096)  # each commit looks at the names of the last minute, of all partitions
def seconds_since_1970(moment: str) -> int:
    """Convert the time in a name to seconds since 1970.

    >>> seconds_since_1970("19700102T000001Z")
    86401
    """
    return calendar.timegm(time.strptime(moment, TIME_FORMAT))
