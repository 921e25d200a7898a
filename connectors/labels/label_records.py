"""Records of labels: a JSON object with the id of a record and its label."""

from collections.abc import Callable
from typing import Any

import orjson

from connectors.model.field_paths import MISSING, FieldPath
from connectors.model.records import EXACT_INTEGERS, JSON_CONTAINERS, Record, id_text, is_infinite
from connectors.model.rejects import Reject


class LabelDecoder:
    """Decoder of the records of labels by the names of their fields.

    Parameters
    ----------
    id
        The field with the id of the record that the label is for; None: the key. It may be a path.
    label
        The field with the label. It may be a path.
    parse
        Turns the bytes of a record into its fields, or raises Reject; default: a JSON object.

    >>> record = Record("chargebacks-0-3", None, b'{"payment": 7, "fraud": true}')
    >>> LabelDecoder("payment", "fraud").decode(record)
    >>> record.id, record.label
    ('7', True)
    """

    def __init__(self, id: str | None, label: str, parse: Callable[[bytes], Any] | None = None) -> None:
        self._id = None if id is None else FieldPath.parse(id)
        self._label = FieldPath.parse(label)
        self._parse = parse or orjson.loads

    @property
    def plain_fields(self) -> tuple[str | None, str] | None:
        """The names of id and label, if labels are JSON objects and neither is a path; else None."""
        is_plain = self._label.is_plain and (self._id is None or self._id.is_plain)
        if not is_plain or self._parse is not orjson.loads:
            return None
        return self._id and self._id.name, self._label.name

    def decode(self, record: Record) -> None:
        """Fill in the label, and as text the id of the record that it is for, or raise Reject."""
        if record.value is None:
            raise Reject("the value is null, and a label is needed", "null")
        try:
            fields = self._parse(record.value)
        except orjson.JSONDecodeError as error:
            raise Reject(f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise Reject("not a JSON object, as a label is")
        record.id = self._id_of(record, fields)
        label = fields.get(self._label.name, MISSING)
        if label is MISSING:
            label = self._label.find(fields)
        if label is MISSING or label is None:
            raise Reject(f"there is no label: `{self._label.name}` is missing or null", "label")
        if isinstance(label, JSON_CONTAINERS):
            raise Reject(f"`{self._label.name}` is a list or an object, and not a label", "label")
        if is_infinite(label):
            raise Reject(f"`{self._label.name}` is the number {label}, and not a label", "label")
        record.label = label

    def _id_of(self, record: Record, fields: dict[str, Any]) -> str:
        if self._id is None:
            if record.key is None:
                raise Reject("the label has no key, which would name its record", "id")
            try:
                return record.key.decode()
            except UnicodeDecodeError:
                raise Reject("the key of the label is not UTF-8", "id") from None
        id = fields.get(self._id.name, MISSING)
        if type(id) is str:
            return id
        if id is MISSING:
            id = self._id.find(fields)
        if id is MISSING or id is None:
            raise Reject(f"the label names no record: `{self._id.name}` is missing or null", "id")
        if type(id) is float and abs(id) >= EXACT_INTEGERS:
            raise Reject(f"`{self._id.name}` is a number beyond 64 bits, read as {id}: write it as text", "id")
        try:
            return id_text(id)
        except TypeError as error:
            raise Reject(f"`{self._id.name}` cannot be expressed in JSON: {error}", "id") from None
