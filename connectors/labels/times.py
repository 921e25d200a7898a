"""The time of a record, by which records and labels are put into one order."""

import datetime
import math
from collections.abc import Callable
from typing import Any

import orjson

from connectors.labels.merging import NO_TIME
from connectors.model.field_paths import MISSING, FieldPath
from connectors.model.records import Record
from connectors.model.rejects import Reject

FARTHEST = 2**53  # milliseconds before and after 1970
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Clock:
    """Reads the time of records.

    Parameters
    ----------
    field
        The field with the time, or None for the timestamp of the record. It may be a path.
    parse
        Turns the bytes of a record into its fields, or raises Reject; default: a JSON object.

    >>> Clock("at").time_of(Record("a:1", None, b'{"at": "1970-01-01T00:01Z"}'))
    60000
    """

    def __init__(self, field: str | None, parse: Callable[[bytes], Any] | None = None) -> None:
        self._field = None if field is None else FieldPath.parse(field)
        self._parse = parse or orjson.loads

    def time_of(self, record: Record) -> float:
        """Return the time of a record in milliseconds since 1970.

        Return `NO_TIME` if it cannot be read. If only its field is to blame, the record is known to be rejected then.
        """
        if self._field is None:
            return record.timestamp or NO_TIME
        if record.value is None:
            return NO_TIME
        try:
            fields = self._parse(record.value)
        except (orjson.JSONDecodeError, Reject):  # the route of the record says what is wrong
            return NO_TIME
        value = self._field.find(fields) if isinstance(fields, dict) else MISSING
        try:
            return milliseconds(value)
        except ValueError as error:
            if isinstance(fields, dict):
                record.known = Reject(f"the time `{self._field.name}` {error}", "time")
            return NO_TIME


def milliseconds(value: Any) -> int:
    """Read a time: milliseconds since 1970, or text in the form of ISO 8601, in UTC if it names no zone.

    >>> milliseconds(1500), milliseconds("1970-01-01T00:00:01.5"), milliseconds("1970-01-01T01:00:01.5+01:00")
    (1500, 1500, 1500)
    """
    if type(value) in (int, float) and abs(value) <= FARTHEST:
        return math.floor(value)
    if type(value) is str:
        text = value.strip()
        if text.isdecimal() and len(text) != len("20240501"):  # Python reads 1722053050328 as a day of 1722, at 03:28
            raise ValueError(f"is the text `{value[:100]}`: write milliseconds as a number, without quotes")
        try:
            time = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"is `{value[:100]}`, and neither milliseconds nor ISO 8601") from None
        time = time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
        return (time - EPOCH) // datetime.timedelta(milliseconds=1)
    if value is MISSING or value is None:
        raise ValueError("is missing")
    raise ValueError("is neither a number of milliseconds since 1970 nor text")
