"""The suite that each codec passes, also one of another package."""

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from connectors.formats.codecs import Codec

OUTPUTS: tuple[dict[str, Any], ...] = (
    {"id": "events-0-7", "prediction": True, "score": 0.5, "label": False},
    {"id": 7, "prediction": None, "score": None},  # before the first label
    {"id": 7, "prediction": None, "score": 0.0, "label": True},
    {"id": "ä", "prediction": "spam", "score": {"ham": -0.5, "spam": 0.5}, "label": "spam"},
    {"id": "a", "prediction": 2.5, "score": 2.5, "label": 3},
    {"id": "a", "prediction": 1, "score": {}, "explanation": {"length": 0.5}},
    {"id": "a", "prediction": True, "score": 0.5, "challengers": {"b": {"prediction": None, "score": None}, "c": None}},
)
NOISE = (b"", b"\0", b"\xff" * 20, bytes(range(256)))


def check_codec(codec: Codec, values: Sequence[tuple[bytes, dict[str, Any]]]) -> None:
    """Raise AssertionError if a codec does not keep the contract of `Codec`.

    Parameters
    ----------
    codec
        The codec.
    values
        At least one value, each with the fields that it holds.
    """
    assert values, "name at least one value with its fields"
    for value, fields in values:
        check_decode(codec, value, fields)
        check_damaged(codec, _damaged(value))
    check_damaged(codec, NOISE)
    for output in OUTPUTS:
        check_encode(codec, copy.deepcopy(output))  # a codec that changes it fails, and others after it do not


def check_decode(codec: Codec, value: bytes, fields: dict[str, Any]) -> None:
    """Check that a value has these fields, always, and that they are what JSON can express."""
    found = codec.decode(value)
    assert type(found) is dict, f"`decode` returns {type(found).__name__}, and not a dict"
    assert _is_same(found, fields), f"`decode` returns {found}, and not {fields}"
    _check_plain(found, "")
    first = next(iter(found), None)
    found.clear()  # the caller owns it
    again = codec.decode(value)
    assert _is_same(again, fields), f"`decode` returns something else for the same bytes again (field `{first}`)"


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in JSON: in Python, true, 1 and 1.0 are equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)


def _check_plain(value: Any, path: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            assert type(key) is str, f"the key {key!r} in `{path}` is not text"
            _check_plain(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for item in value:
            _check_plain(item, f"{path}[]")
    else:
        assert value is None or type(value) in (bool, int, float, str), f"`{path}` is {value!r}: no value of JSON"
        assert type(value) is not float or math.isfinite(value), f"`{path}` is {value}: no number of JSON"


def check_damaged(codec: Codec, values: Iterable[bytes]) -> None:
    """Check that bytes which cannot be read raise ValueError, and nothing else."""
    for value in values:
        try:
            fields = codec.decode(value)
        except ValueError:
            continue
        except Exception as error:
            raise AssertionError(f"`decode` raises {error!r} for {value[:50]!r}, and not ValueError") from error
        assert type(fields) is dict, f"`decode` returns {fields!r} for {value[:50]!r}"
        _check_plain(fields, "")


def _damaged(value: bytes) -> Iterable[bytes]:
    for end in range(0, len(value), max(1, len(value) // 20)):
        yield value[:end]
        yield value[:end] + bytes([value[end] ^ 0xFF]) + value[end + 1 :]


def check_encode(codec: Codec, output: dict[str, Any]) -> None:
    """Check that an output becomes bytes, the same ones each time, and is not changed by it."""
    before = orjson.dumps(output)
    value = codec.encode(output)
    assert type(value) is bytes, f"`encode` returns {type(value).__name__}, and not bytes"
    assert codec.encode(orjson.loads(before)) == value, "`encode` returns other bytes for the same output"
    assert orjson.dumps(output) == before, "`encode` changes the output"
