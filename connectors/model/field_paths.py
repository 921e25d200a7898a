"""Fields of a record by their paths, such as `card.country` or `items[0].price`.

`FieldPath.parse` reads a path, and `Picker` takes id, label, weight and features out of a record. A field whose name
is the whole text of a path comes first, so every name can be reached.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from connectors.model.rejects import Reject

MISSING: Any = object()
FEATURES = str | dict[str, str]  # an item of `record.features`: a path, or `{name: path}`
_PART = re.compile(r'\[(?P<index>[0-9]{1,9})\]|\["(?P<quoted>[^"]+)"\]|(?P<dot>\.?)(?P<name>[^.\[\]]+)')


class FieldPath(NamedTuple):
    """A field of a record.

    Attributes
    ----------
    name
        The text of the path; without brackets and quotes if these hold the whole name.
    keys
        The keys and indices on the way to the field.

    >>> FieldPath.parse("items[0].price")
    FieldPath(name='items[0].price', keys=('items', 0, 'price'))
    >>> FieldPath.parse('["price [EUR]"]')
    FieldPath(name='price [EUR]', keys=('price [EUR]',))
    """

    name: str
    keys: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> "FieldPath":
        """Read a path, or raise ValueError with what is wrong and how to write it."""
        keys: list[str | int] = []
        place = 0
        while place < len(text) or not keys:
            found = _PART.match(text, place)
            if found is None or not _may_follow(found, keys):
                raise ValueError(
                    f"`{text}` is not a path (from character {place + 1} on): write `a.b` for a field within a field "
                    f"and `a[0]` for an item of a list; if it is the name of a field, write `'[\"{text}\"]'`"
                )
            keys.append(int(found["index"]) if found["index"] else found["quoted"] or found["name"])
            place = found.end()
        return cls(str(keys[0]) if len(keys) == 1 else text, tuple(keys))

    @property
    def is_plain(self) -> bool:
        """Whether the path is the name of a field of the record itself."""
        return len(self.keys) == 1

    def find(self, fields: dict[str, Any]) -> Any:
        """Return the value of the field in a record, or MISSING."""
        value = fields.get(self.name, MISSING)
        return _walk(fields, self.keys) if value is MISSING and len(self.keys) > 1 else value

    def top(self, fields: dict[str, Any]) -> str:
        """Return the field of the record itself that holds this one."""
        return self.name if self.name in fields else str(self.keys[0])


def _may_follow(part: re.Match[str], keys: list[str | int]) -> bool:
    """Whether a part of a path may stand after these keys: an index not first, a dot between names only."""
    if part["name"] is None:
        return part["quoted"] is not None or bool(keys)
    return bool(part["dot"]) == bool(keys)


def _walk(fields: Any, keys: tuple[str | int, ...]) -> Any:
    for key in keys:
        if type(key) is int:
            if not isinstance(fields, list) or key >= len(fields):
                return MISSING
        elif not isinstance(fields, dict) or key not in fields:
            return MISSING
        fields = fields[key]
    return fields


def named(features: Sequence[FEATURES]) -> list[tuple[str, FieldPath]]:
    """Return names and paths of `record.features`.

    >>> named(["a", {"b": "c.d"}])
    [('a', FieldPath(name='a', keys=('a',))), ('b', FieldPath(name='c.d', keys=('c', 'd')))]
    """
    found = []
    for feature in features:
        name, text = next(iter(feature.items())) if isinstance(feature, dict) else (None, feature)
        path = FieldPath.parse(text)
        found.append((name or path.name, path))
    return found


class Picker:
    """Takes id, label, weight and features out of the fields of a record.

    Parameters
    ----------
    id, label, weight
        The paths of id, label and sample weight, or None.
    features
        Names and paths of the features; None for all but the fields that hold id, label, weight and time.
    nulls
        What a null feature is: `absent` leaves it out, `reject` rejects the record, None keeps it for the learner.
    time
        The path of the time of the record, or None.

    >>> Picker(None, FieldPath.parse("meta.y"), None, None, "absent")({"a": 1, "b": None, "meta": {"y": True}})
    (None, True, None, {'a': 1})
    """

    def __init__(
        self,
        id: FieldPath | None,
        label: FieldPath | None,
        weight: FieldPath | None,
        features: list[tuple[str, FieldPath]] | None,
        nulls: str | None,
        time: FieldPath | None = None,
    ) -> None:
        self._found, self._features, self._nulls = (id, label, weight), features, nulls
        self._apart = (*self._found, time)

    def __call__(self, fields: dict[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Return id, label, weight and features; the first three are None if missing. Raise Reject for a null."""
        found = [None if path is None else path.find(fields) for path in self._found]
        id, label, weight = (None if value is MISSING else value for value in found)
        features = self._pick(fields)
        if self._nulls is not None and None in features.values():
            features = self._without_nulls(features)
        return id, label, weight, features

    def _pick(self, fields: dict[str, Any]) -> dict[str, Any]:
        if self._features is None:
            taken = {path.top(fields) for path in self._apart if path is not None}
            return {name: value for name, value in fields.items() if name not in taken}
        found = ((name, path.find(fields)) for name, path in self._features)
        return {name: value for name, value in found if value is not MISSING}

    def _without_nulls(self, features: dict[str, Any]) -> dict[str, Any]:
        if self._nulls == "reject":
            name = next(name for name, value in features.items() if value is None)
            raise Reject(f"the feature `{name}` is null", "features")
        return {name: value for name, value in features.items() if value is not None}
