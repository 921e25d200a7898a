"""Messages of a processor: a record with its output or its reject becomes key, value and headers."""

import hashlib

import orjson

from connectors.kafka import Headers
from connectors.labels.asking import Query
from connectors.labels.late_learning import Outcome
from connectors.model.records import Record

FIRST_BYTES = 200
MAX_SHORT_KEY = MAX_SHORT_HEADERS = 1000
SHORT_FIELDS = {"id", "too_large", "length", "sha256", "first_bytes"}

Message = tuple[bytes | None, bytes | None, Headers]  # key, value, headers; a tuple, because it is made per record


def output_message(record: Record, snapshot: str) -> Message:
    """Return the message for an output: its headers are those of the input, then two of ours.

    `source` names the input, and `model` the model by snapshot and examples learned.
    """
    model = f"{snapshot}/{record.examples}"
    headers: Headers = [("source", record.source.encode()), ("model", model.encode())]
    return record.key, record.output, [*record.headers, *headers] if record.headers else headers


def query_message(query: Query) -> Message:
    """Return the message that asks for a label: its key and headers are those of the output of the record."""
    key, _, headers = output_message(query.record, query.snapshot)
    return key, query.value, headers


def outcome_message(outcome: Outcome) -> Message:
    """Return the message for an outcome: its key and headers are those of the label, then two headers of ours.

    `source` names the record, as in its output, and `label` the label.
    """
    label = outcome.message
    headers: Headers = [("source", outcome.record.encode()), ("label", label.source.encode())]
    return label.key, outcome.value, [*label.headers, *headers] if label.headers else headers


def reject_message(record: Record) -> Message:
    """Return the message for a rejected record: its bytes and headers as they were read, then headers of ours.

    These are `reason` and `source`.

    A message needs a key or a value. A record with neither gets an empty value and a header `null`.
    """
    assert record.reason is not None
    headers: Headers = [*(record.headers or ()), ("reason", record.reason.encode()), ("source", record.source.encode())]
    if record.key is None and record.value is None:
        return None, b"", [*headers, ("null", b"key and value")]
    return record.key, record.value, headers


def shortened(record: Record, message: Message) -> Message:
    """Return a short message in place of one that is too large for the broker.

    Of the headers of the input it has those that fit into 1000 bytes.

    >>> record = Record("events-0-7", b"k", None)
    >>> record.id = "a"
    >>> shortened(record, (b"k", b"xyz" * 1000, []))[1][:46]
    b'{"id":"a","too_large":true,"length":3000,"sha2'
    """
    key, value, headers = message
    value = value or b""
    id = getattr(record, "id", record.source)  # a label that was not decoded has none
    try:
        text = id if isinstance(id, str) else orjson.dumps(id, default=str).decode()
    except TypeError:  # it is nested too deeply
        text = record.source
    short = {
        "id": text[:FIRST_BYTES],
        "too_large": True,
        "length": len(value),
        "sha256": hashlib.sha256(value).hexdigest(),
        "first_bytes": value[:FIRST_BYTES].decode("utf-8", "replace"),
    }
    key = key if key is not None and len(key) <= MAX_SHORT_KEY else None
    count = len(record.headers or ())
    ours: Headers = [(name, content and content[:FIRST_BYTES]) for name, content in headers[count:]]
    return key, orjson.dumps(short), [*_short(headers[:count]), *ours]


def _short(headers: Headers) -> Headers:
    kept, room = [], MAX_SHORT_HEADERS
    for name, content in headers:
        size = len(name.encode()) + len(content or b"")
        if size <= room:
            kept.append((name, content))
            room -= size
    return kept
