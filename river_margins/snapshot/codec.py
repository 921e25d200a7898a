"""Turns plain values into bytes and back: numbers as safetensors, the rest as JSON, with a checksum over every byte.

The file is an ordinary safetensors file. Its metadata are `format 1, sha256 <hex>`; the digest is that of the whole
file with zeros in place of the 64 digits. The tensor `document` holds a JSON text; long lists of numbers and numpy
arrays are tensors of their own. A value that JSON does not have is an object with one key that starts with `$`.
"""

import hashlib
import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
from safetensors.numpy import load as read_safetensors
from safetensors.numpy import save as write_safetensors

FORMAT = 1
ARRAY_FROM = 32  # shorter lists of numbers are smaller and quicker as JSON
DEEPEST = 64  # lists and dicts within each other; the JSON readers have higher limits

_TITLE = "river-margins snapshot"
_HEADER = re.compile(rb'.{8}\{"__metadata__":\{"' + _TITLE.encode() + rb'":"format (\d{1,9})(, sha256 )?', re.DOTALL)
_NO_DIGEST = "0" * 64
_TEXT = frozenset({str, bool, type(None)})
ARRAY_TAGS = frozenset({"$array", "$list", "$scalars", "$scalar"})  # whose value is the name of an array
_DTYPES = frozenset(map(np.dtype, ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")))

Arrays = dict[str, np.ndarray]


class SnapshotError(ValueError):
    """A model cannot be written to a snapshot, or bytes are not a snapshot that this version can read.

    Attributes
    ----------
    within
        The objects around the one that cannot be written, the outermost first.
    """

    __module__ = "river_margins.snapshot"  # the module that users import it from
    within: tuple[Any, ...] = ()


def write(document: Any, arrays: Arrays) -> bytes:
    """Return the bytes of a file with a JSON-able document and arrays; the same content gives the same bytes."""
    try:
        text = orjson.dumps(document)
    except TypeError:  # orjson refuses strings with one half of a surrogate pair
        # Two escaped halves would be read as one character.
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    tensors = {**arrays, "document": np.frombuffer(text, np.uint8)}
    data = write_safetensors(tensors, {_TITLE: f"format {FORMAT}, sha256 {_NO_DIGEST}"})
    start = data.index(_NO_DIGEST.encode())
    return b"".join((data[:start], hashlib.sha256(data).hexdigest().encode(), data[start + 64 :]))


def begins_snapshot(start: bytes) -> bool:
    """Tell whether a file that starts so is a snapshot, whole or damaged; 100 bytes are enough.

    >>> begins_snapshot(write({}, {})[:100]), begins_snapshot(b"name: phishing")
    (True, False)
    """
    return _HEADER.match(start) is not None


def read(data: bytes) -> tuple[Any, Arrays]:
    """Return the document and the arrays in the bytes of a file; raise SnapshotError for any other bytes."""
    data = data if type(data) is bytes else memoryview(data).tobytes()
    header = _HEADER.match(data)
    if not header:
        raise SnapshotError("these bytes are not a river_margins snapshot, or their beginning is damaged")
    if int(header[1]) > FORMAT:  # checked first: a newer format may use another checksum
        raise SnapshotError(
            f"the snapshot has format {int(header[1])}, this version of river_margins reads format {FORMAT} at most: "
            "use the newer version that wrote it"
        )
    start = header.end()
    view = memoryview(data)
    digest = hashlib.sha256(view[:start])
    digest.update(_NO_DIGEST.encode())
    digest.update(view[start + 64 :])
    if digest.hexdigest().encode() != data[start : start + 64]:
        raise SnapshotError(
            "the snapshot is damaged or cut short: its bytes do not have the sha256 that was written with them"
        )
    try:
        arrays = read_safetensors(data)
        document = json.loads(arrays.pop("document").tobytes())
    except Exception as error:  # the readers may raise anything for such bytes
        raise SnapshotError(f"the snapshot is not well formed: {error}") from error
    return document, arrays


def encode(value: Any, take_apart: Callable[[Any], dict[str, Any]]) -> tuple[Any, Arrays]:
    """Turn a value into a JSON-able document and arrays.

    Parameters
    ----------
    value
        None, bool, int, float, str, list, tuple, dict, set, numpy arrays and numbers, and objects; within each other.
        Types and bits are kept. An object that occurs twice is decoded as two; a `numpy.str_` is decoded as a `str`.
    take_apart
        Called with each object of any other class. Returns a value that describes it, or raises SnapshotError.
    """
    encoder = _Encoder(take_apart)
    try:
        return encoder.value(value, 0), encoder.arrays
    except SnapshotError as error:
        error.within = tuple(encoder.within)
        raise


def decode(document: Any, arrays: Arrays, put_together: Callable[[Any], Any]) -> Any:
    """Turn a document and arrays back into the value; `put_together` is called with the results of `take_apart`."""
    return _Decoder(arrays, put_together).value(document, 0)


class _Encoder:
    def __init__(self, take_apart: Callable[[Any], dict[str, Any]]) -> None:
        self.take_apart = take_apart
        self.arrays: Arrays = {}
        self.within: list[Any] = []
        self.key = "array"

    def value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _TEXT:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": struct.pack(">d", value).hex()}
        if kind is int:
            return value if -(2**63) <= value < 2**63 else {"$int": format(value, "x")}
        if depth > DEEPEST:
            raise SnapshotError(f"is nested more than {DEEPEST} levels deep, or contains itself")
        if kind is list:
            return self.sequence(value, depth)
        if kind is dict:
            return self.mapping(value, depth)
        if kind is tuple:
            return {"$tuple": self.sequence(list(value), depth)}
        if kind is set:
            return {"$set": self.sequence(_ordered(value), depth)}
        if kind is np.ndarray:
            return {"$array": self.array(value)}
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.generic):
            return {"$scalar": self.array(np.asarray(value))}
        self.within.append(value)
        node = self.value(self.take_apart(value), depth + 1)
        self.within.pop()
        return {"$object": node}

    def sequence(self, values: list[Any], depth: int) -> Any:
        kinds = set(map(type, values))
        if kinds <= _TEXT:
            return values
        if len(values) >= ARRAY_FROM and len(kinds) == 1:
            (kind,) = kinds
            if kind is float:
                return {"$list": self.array(np.array(values))}
            if kind is int and all(-(2**63) <= bound < 2**63 for bound in (min(values), max(values))):
                return {"$list": self.array(np.array(values, np.int64))}
            if issubclass(kind, np.number | np.bool_):
                return {"$scalars": self.array(np.array(values, kind))}
        return [self.value(item, depth + 1) for item in values]

    def mapping(self, items: dict[Any, Any], depth: int) -> Any:
        if len(items) < ARRAY_FROM and all(type(key) is str and key[:1] != "$" for key in items):
            return {key: self.entry(key, value, depth) for key, value in items.items()}
        return {"$dict": [self.sequence(list(items), depth + 1), self.sequence(list(items.values()), depth + 1)]}

    def entry(self, key: str, value: Any, depth: int) -> Any:
        if key.isidentifier():
            self.key = key
        return self.value(value, depth + 1)

    def array(self, array: np.ndarray) -> str:
        if array.dtype not in _DTYPES:
            raise SnapshotError(f"holds a numpy array of type {array.dtype}, and only native numbers can be written")
        name = f"{self.key}.{len(self.arrays)}"
        self.arrays[name] = np.asarray(array, order="C")
        return name


class _Decoder:
    def __init__(self, arrays: Arrays, put_together: Callable[[Any], Any]) -> None:
        self.arrays = arrays
        self.put_together = put_together

    def value(self, node: Any, depth: int) -> Any:
        kind = type(node)
        if kind is not list and kind is not dict:
            return node
        if depth > 3 * DEEPEST:
            raise SnapshotError("the snapshot is nested too deeply")
        if kind is list:
            plain = {dict, list}.isdisjoint(map(type, node))
            return node if plain else [self.value(item, depth + 1) for item in node]
        if len(node) == 1:
            ((tag, body),) = node.items()
            if tag[:1] == "$":
                return self.tagged(tag, body, depth)
        return {key: self.value(item, depth + 1) for key, item in node.items()}

    def tagged(self, tag: str, body: Any, depth: int) -> Any:
        match tag:
            case "$array":
                return self.arrays[body]
            case "$list":
                return self.arrays[body].tolist()
            case "$scalars":
                return list(self.arrays[body])
            case "$scalar":
                return self.arrays[body][()]
            case "$float":
                return struct.unpack(">d", bytes.fromhex(body))[0]
            case "$int":
                return int(body, 16)
        inner = self.value(body, depth + 1)
        match tag:
            case "$tuple":
                return tuple(inner)
            case "$set":
                return set(inner)
            case "$dict":
                keys, values = inner
                return dict(zip(keys, values, strict=True))
            case "$object":
                return self.put_together(inner)
        raise SnapshotError(f"the snapshot holds a value of the unknown kind `{tag}`")


def _ordered(items: set[Any]) -> list[Any]:
    # A set has another order in each process. Its order has no meaning, and sorted items give the same bytes.
    if set(map(type, items)) <= {str}:
        return sorted(items)
    return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
