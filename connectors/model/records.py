"""Records in and messages out: JSON objects to examples, predictions and rejects to messages.

A record that cannot be processed is a `Reject` with its reason; nothing here touches a model.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from connectors.kafka import Headers

FIRST_BYTES = 200
LONGEST_KEY = 1000
NESTED = (dict, list)
NUMBERS = orjson.OPT_SERIALIZE_NUMPY  # faster, where no key can be anything but text
CLASSES = NUMBERS | orjson.OPT_NON_STR_KEYS
EXACT = 2**63  # JSON's numbers from here on are read as floats: two of them may look the same


class Reject(Exception):
    """A record that cannot be processed; the text is the reason, `kind` one of a few words for statistics."""

    def __init__(self, reason: str, kind: str = "format") -> None:
        super().__init__(reason)
        self.kind = kind


# What a record says: id, features, and the label, None when it is not known. Plain tuples, as is what goes out: making
# objects with names is a tenth of a record's time.
Example = tuple[Any, dict[str, Any], Any]
Message = tuple[bytes | None, bytes | None, Headers]  # key, value, headers


class Decoder:
    """Reads records by the names of their fields.

    Parameters
    ----------
    id, label
        The fields with the id and the label, or None.
    features
        The fields to learn from; None for all but id and label.
    parse
        Turns the bytes of a record into its fields, or raises Reject; default: a JSON object.

    >>> Decoder(None, "y", None).decode(b'{"a": 1, "b": 2.5, "y": null}', "events-0-7")
    ('events-0-7', {'a': 1, 'b': 2.5}, None)
    """

    def __init__(
        self,
        id: str | None,
        label: str | None,
        features: Sequence[str] | None,
        parse: Callable[[bytes], Any] | None = None,
    ) -> None:
        self._id, self._label, self._features, self._parse = id, label, features, parse or orjson.loads

    def decode(self, value: bytes | None, source: str) -> Example:
        """Returns the example in a record, or raises Reject; `source` is the id of a record without one."""
        if value is None:
            raise Reject("the value is null", "null")
        try:
            fields = self._parse(value)
        except orjson.JSONDecodeError as error:
            raise Reject(f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise Reject(f"not a JSON object but {_kind(fields)}")
        label = fields.pop(self._label, None) if self._label is not None else None
        id = fields.pop(self._id, None) if self._id is not None else None
        if id is None:
            id = source
        elif type(id) is float and abs(id) >= EXACT:
            raise Reject(f"the id is a number beyond 64 bits, read as {id}: write it as text")
        if self._features is not None:
            fields = {name: fields[name] for name in self._features if name in fields}
        if not fields:
            raise Reject("no features", "no_features")
        if isinstance(label, NESTED):
            raise Reject(f"the label is {_kind(label)}", "label")
        return id, fields, label


def _kind(value: Any) -> str:
    kinds = {list: "a list", dict: "an object", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _check_score(score: Any) -> None:
    """Raises Reject for a score that JSON cannot say."""
    numbers = score.values() if isinstance(score, dict) else (score,)
    for number in numbers:
        if number is not None and not math.isfinite(number):
            raise Reject(f"the score would be {number}", "score")


def encode(id: Any, prediction: Any, score: Any, label: Any) -> bytes:
    """Writes an output value, or raises Reject; classes that are not text become text as keys of a score.

    >>> encode("a", False, -0.5, True)
    b'{"id":"a","prediction":false,"score":-0.5,"label":true}'
    >>> encode("a", 1, {0: -0.5, 1: 0.5}, None)
    b'{"id":"a","prediction":1,"score":{"0":-0.5,"1":0.5}}'
    """
    is_number = type(score) is float and math.isfinite(score)
    if not is_number:
        _check_score(score)
    value = {"id": id, "prediction": prediction, "score": score}
    if label is not None:
        value["label"] = label
    try:
        return orjson.dumps(value, option=NUMBERS if is_number and type(id) is str else CLASSES)
    except TypeError as error:
        raise Reject(f"the output cannot be said in JSON: {error}", "output") from None


def rejected(key: bytes | None, value: bytes | None, source: bytes, reason: str) -> Message:
    """Returns the message for a reject: the original bytes, with reason and position in headers.

    A message needs a key or a value: a record with neither keeps its place with an empty value and a header `null`.
    """
    headers = [("reason", reason.encode()), ("source", source)]
    if key is None and value is None:
        return None, b"", [*headers, ("null", b"key and value")]
    return key, value, headers


def shortened(id: Any, message: Message) -> Message:
    """Returns a stand-in for a message that is too large for the broker.

    >>> shortened("a", (b"k", b"xyz" * 1000, []))[1][:46]
    b'{"id":"a","too_large":true,"length":3000,"sha2'
    """
    key, value, headers = message
    value = value or b""
    text = id if isinstance(id, str) else orjson.dumps(id, default=str).decode()
    stand_in = {
        "id": text[:FIRST_BYTES],
        "too_large": True,
        "length": len(value),
        "sha256": hashlib.sha256(value).hexdigest(),
        "first_bytes": value[:FIRST_BYTES].decode("utf-8", "replace"),
    }
    key = key if key is not None and len(key) <= LONGEST_KEY else None
    return key, orjson.dumps(stand_in), [(name, content[:FIRST_BYTES]) for name, content in headers]
