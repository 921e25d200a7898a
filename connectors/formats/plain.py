"""Values of other formats as JSON would give them."""

import datetime
import decimal
import math
import uuid
from typing import Any

import orjson


def plain(value: Any) -> Any:
    """Return a value as one that JSON can express, or raise ValueError.

    >>> plain({"price": decimal.Decimal("1.50"), "at": datetime.date(2024, 5, 1), "name": b"a"})
    {'price': 1.5, 'at': '2024-05-01', 'name': 'a'}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, ValueError):  # of one cell, which a reader leaves to us: we know the names of the fields
        raise value
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(f"JSON has no number {value}")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(key): _named(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return plain(number(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise ValueError(f"JSON has no `{type(value).__name__}`")


def _named(key: Any, value: Any) -> Any:
    try:
        return plain(value)
    except ValueError as error:
        raise ValueError(f"`{key}`: {error}") from None


def number(value: decimal.Decimal) -> int | float:
    """Return a decimal as JSON reads its digits: an integer of 64 bits without decimals, else the nearest double.

    >>> number(decimal.Decimal("0.30")), number(decimal.Decimal(9007199254740993))
    (0.3, 9007199254740993)
    """
    return int(value) if value.as_tuple().exponent == 0 and -(2**63) <= value < 2**64 else float(value)


def plain_id(id: Any) -> Any:
    """Return an id as a value that formats with types can hold exactly: JSON as text if it is not a scalar of theirs.

    >>> plain_id(7), plain_id(2**64 - 1), plain_id({"a": 1})
    (7, '18446744073709551615', '{"a":1}')
    """
    is_exact = -(2**63) <= id < 2**63 if isinstance(id, int) else not isinstance(id, dict | list)
    return id if is_exact else orjson.dumps(id).decode()
