"""Messages of a processor: a record with its output or its reject becomes key, value and headers."""

import hashlib
from typing import Any

import orjson

from connectors.kafka import Headers
from connectors.model.records import Record

FIRST_BYTES = 200
MAX_SHORT_KEY = 1000

Message = tuple[bytes | None, bytes | None, Headers]  # key, value, headers; a tuple, because it is made per record


def output_message(record: Record, snapshot: str) -> Message:
    """Return the message for an output. Its headers name the input, and the model by snapshot and examples learned."""
    model = f"{snapshot}/{record.examples}"
    return record.key, record.output, [("source", record.source.encode()), ("model", model.encode())]


def reject_message(record: Record) -> Message:
    """Return the message for a rejected record: its bytes as they were read, with reason and source in headers.

    A message needs a key or a value. A record with neither gets an empty value and a header `null`.
    """
    assert record.reason is not None
    headers = [("reason", record.reason.encode()), ("source", record.source.encode())]
    if record.key is None and record.value is None:
        return None, b"", [*headers, ("null", b"key and value")]
    return record.key, record.value, headers


def shortened(id: Any, message: Message) -> Message:
    """Return a short message in place of one that is too large for the broker.

    >>> shortened("a", (b"k", b"xyz" * 1000, []))[1][:46]
    b'{"id":"a","too_large":true,"length":3000,"sha2'
    """
    key, value, headers = message
    value = value or b""
    text = id if isinstance(id, str) else orjson.dumps(id, default=str).decode()
    short = {
        "id": text[:FIRST_BYTES],
        "too_large": True,
        "length": len(value),
        "sha256": hashlib.sha256(value).hexdigest(),
        "first_bytes": value[:FIRST_BYTES].decode("utf-8", "replace"),
    }
    key = key if key is not None and len(key) <= MAX_SHORT_KEY else None
    return key, orjson.dumps(short), [(name, content[:FIRST_BYTES]) for name, content in headers]
