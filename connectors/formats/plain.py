"""Values of other formats as JSON would give them."""

import datetime
import decimal
import math
import uuid
from typing import Any


def plain(value: Any) -> Any:
    """Return a value as one that JSON can express, or raise ValueError.

    >>> plain({"price": decimal.Decimal("1.50"), "at": datetime.date(2024, 5, 1), "name": b"a"})
    {'price': 1.5, 'at': '2024-05-01', 'name': 'a'}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(f"JSON has no number {value}")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise ValueError(f"JSON has no `{type(value).__name__}`")
