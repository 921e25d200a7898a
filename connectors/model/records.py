"""Records: read from JSON objects before the model, written as JSON objects after it. Nothing here touches a model."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from connectors.model.field_paths import FEATURES, FieldPath, Picker, named
from connectors.model.rejects import Reject, Unjoinable, Unlearnable
from river_margins.core.checks import LARGEST_WEIGHT

JSON_CONTAINERS = (dict, list)
TEXT_KEYS = orjson.OPT_SERIALIZE_NUMPY  # faster than ANY_KEYS, but refuses keys that are not text
ANY_KEYS = TEXT_KEYS | orjson.OPT_NON_STR_KEYS
EXACT_INTEGERS = 2**63  # JSON integers from here on are read as floats, so that two of them may look the same


class Record:
    """One record, from the bytes that were read to the bytes that are written.

    A record begins with its source, key and value. Each step of its route fills in what it finds out.

    Parameters
    ----------
    source
        The place of the record, such as `events-0-7`; also its id if it has none of its own.
    key, value
        The bytes as they were read.
    headers, timestamp
        Those of a record of a topic: pairs of name and content, or nothing; milliseconds since 1970, or 0 if the record
        has no timestamp.
    known
        Why the record is known to be rejected; None for a record that was not tried yet.
    reason
        Why the record was rejected, as in `Attributes`.

    Attributes
    ----------
    id, features, label, weight
        Filled by `Decoder.decode`. `label` is None if it is not known; `weight` is the sample weight of learning.
    prediction, score, explanation
        Filled by `PartitionModel.predict`; no explanation is None.
    answers, challengers
        With several models: prediction and score of each one by name, the champion's first, or None for one that
        refused the features; and what the output tells of the challengers.
    examples
        How many examples the model had learned when it predicted.
    output
        The output value, a JSON object; None if the record could not be predicted.
    reason
        Why the record was rejected; None if it was not. A record with a reason and an output was predicted and could
        not be learned.
    """

    __slots__ = (
        "answers",
        "challengers",
        "examples",
        "explanation",
        "features",
        "headers",
        "id",
        "key",
        "known",
        "label",
        "output",
        "prediction",
        "reason",
        "score",
        "source",
        "timestamp",
        "value",
        "weight"
    )  # fmt: skip
    id: Any
    features: dict[str, Any]
    label: Any
    weight: float
    prediction: Any
    score: Any
    examples: int
    output: bytes | None
    explanation: dict[str, float] | None
    answers: dict[str, Any] | None
    challengers: dict[str, Any] | None

    def __init__(
        self,
        source: str,
        key: bytes | None,
        value: bytes | None,
        reason: str | None = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        timestamp: int = 0,
        known: Reject | None = None,
    ) -> None:
        self.source, self.key, self.value, self.reason = source, key, value, reason
        self.headers, self.timestamp, self.known = headers, timestamp, known
        self.output = self.explanation = self.answers = self.challengers = self.prediction = None
        self.weight = 1.0

    @classmethod
    def of_example(cls, features: dict[str, Any], label: Any = None, w: float = 1.0, source: str = "") -> "Record":
        """Return the record of an example that was not read from bytes."""
        record = cls(source, None, None)
        record.features, record.label, record.weight = features, label, w
        return record

    def weigh(self, weight: Any) -> None:
        """Take a sample weight. With one that no learner takes, the label becomes None, and `known` says why."""
        if type(weight) not in (int, float):
            reason = f"the weight is {_kind(weight)}: a number is needed"
        elif not 0.0 <= weight <= LARGEST_WEIGHT:
            reason = f"the weight is {weight}: a number from 0 to {LARGEST_WEIGHT:g} is needed"
        else:
            self.weight = weight
            return
        self.known, self.label = self.known or Unlearnable(reason, "weight"), None


def is_infinite(label: Any) -> bool:
    """Tell whether a label is an infinite number, of CSV or svmlight: JSON has none, so outputs could not name it."""
    return type(label) is float and math.isinf(label)


class Decoder:
    """Decoder of records by the names of their fields.

    Parameters
    ----------
    id, label
        The fields with the id and the label, or None. They may be paths.
    features
        The fields to learn from, each a path or `{name: path}`; None for all but id, label, weight and time.
    nulls
        What a null feature is: `absent`, `reject`, or None to leave it to the learner.
    parse
        Turns the bytes of a record into its fields, or raises Reject; default: a JSON object.
    weight
        The field with the sample weight, or None. It may be a path.
    time
        The field with the time of a record, which is not a feature, or None. It may be a path.
    is_joined
        Whether labels come later. Then a record needs an id by which they find it; without a field `id`, it is the
        key.

    >>> record = Record("events-0-7", None, b'{"a": 1, "b": 2.5, "y": null}')
    >>> Decoder(None, "y", None).decode(record)
    >>> record.id, record.features, record.label
    ('events-0-7', {'a': 1, 'b': 2.5}, None)
    """

    def __init__(
        self,
        id: str | None,
        label: str | None,
        features: Sequence[FEATURES] | None,
        parse: Callable[[bytes], Any] | None = None,
        nulls: str | None = None,
        weight: str | None = None,
        time: str | None = None,
        is_joined: bool = False,
    ) -> None:
        self._parse, self._is_joined = parse or orjson.loads, is_joined
        apart = [None if text is None else FieldPath.parse(text) for text in (id, label, weight, time)]
        id_path, label_path, weight_path, time_path = apart
        pairs = None if features is None else named(features)
        paths = [path for path in (*apart, *(path for _, path in pairs or ())) if path is not None]
        is_plain = all(path.is_plain for path in paths) and all(name == path.name for name, path in pairs or ())
        # Most files have plain names only, and pay nothing for paths.
        self._pick = (
            None if is_plain and nulls is None else Picker(id_path, label_path, weight_path, pairs, nulls, time_path)
        )
        self._id, self._label, self._weight, self._time = (path and path.name for path in apart)
        self._features = None if pairs is None else [name for name, _ in pairs]

    @property
    def plain_fields(self) -> tuple[str | None, str | None, list[str] | None] | None:
        """The names of id, label and features, if records are JSON objects and nothing else is taken from them."""
        is_plain = self._pick is None and self._weight is None and self._time is None
        return (self._id, self._label, self._features) if is_plain and self._parse is orjson.loads else None

    def decode(self, record: Record, later: Any = None) -> None:
        """Fill in id, features, label and weight of a record from its value, or raise Reject.

        A label that no learner takes, or with a weight that none takes, becomes None, and `known` says why. A label
        that came `later` takes the place of one in the record.
        """
        record.id = record.source
        value = record.value
        if value is None:
            raise Reject("the value is null", "null")
        try:
            fields = self._parse(value)
        except orjson.JSONDecodeError as error:
            is_part = value.lstrip()[:1] in (b"[", b"{") and "unexpected end" in error.msg
            hint = ": a record is a whole JSON object, in a file on a line of its own" if is_part else ""
            raise Reject(f"not JSON: {error}{hint}") from None
        if not isinstance(fields, dict):
            raise Reject(f"not a JSON object but {_kind(fields)}")
        if self._pick is None:
            label = fields.pop(self._label, None) if self._label is not None else None
            id = fields.pop(self._id, None) if self._id is not None else None
            weight = fields.pop(self._weight, None) if self._weight is not None else None
            if self._time is not None:
                fields.pop(self._time, None)
            if self._features is not None:
                fields = {name: fields[name] for name in self._features if name in fields}
        else:
            id, label, weight, fields = self._pick(fields)
        if type(id) is float and abs(id) >= EXACT_INTEGERS:
            raise Reject(f"the id is a number beyond 64 bits, read as {id}: write it as text")
        if not fields:
            listed = "" if self._features is None else ": the record has none of `record.features`"
            raise Reject(f"no features{listed}", "no_features")
        if later is not None:
            label = later
        if isinstance(label, JSON_CONTAINERS):
            record.known = record.known or Unlearnable(f"the label is {_kind(label)}", "label")
            label = None
        elif is_infinite(label):
            record.known = record.known or Unlearnable(f"the label is the number {label}", "label")
            label = None
        record.features, record.label = fields, label
        if weight is not None and label is not None:
            record.weigh(weight)
        if id is not None:
            record.id = id
        elif self._is_joined:
            self._take_key(record)

    def _take_key(self, record: Record) -> None:
        """Take the key as the id of a record, if no field is the id. Without an id it cannot wait for its label."""
        if self._id is not None:
            reason = f"the record has no `{self._id}`, so no label can find it"
        elif record.key is None:
            reason = "the record has no key, so no label can find it: give it one, or set `record.id`"
        else:
            try:
                record.id = record.key.decode()
                return
            except UnicodeDecodeError:
                reason = "the key of the record is not UTF-8, so no label can find it: set `record.id`"
        if record.label is None:
            record.known = record.known or Unjoinable(reason, "id")


def _kind(value: Any) -> str:
    kinds = {list: "a list", dict: "an object", str: "text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def id_text(id: Any) -> str:
    """Return an id as the text by which labels find a record: 7 and "7" are the same id.

    >>> id_text("a"), id_text(7), id_text(True)
    ('a', '7', 'true')
    """
    return id if type(id) is str else orjson.dumps(id).decode()


def check_score(score: Any) -> None:
    """Raise Reject for a score that JSON cannot express."""
    numbers = score.values() if isinstance(score, dict) else (score,)
    for number in numbers:
        if number is not None and not math.isfinite(number):
            raise Reject(f"the score would be {number}", "score")


def encode(
    id: Any,
    prediction: Any,
    score: Any,
    label: Any,
    explanation: dict[str, float] | None = None,
    challengers: dict[str, Any] | None = None,
) -> bytes:
    """Return an output value, or raise Reject; the classes in a score become text.

    >>> encode("a", False, -0.5, True)
    b'{"id":"a","prediction":false,"score":-0.5,"label":true}'
    >>> encode("a", 1, {0: -0.5, 1: 0.5}, None)
    b'{"id":"a","prediction":1,"score":{"0":-0.5,"1":0.5}}'
    >>> encode("a", True, 0.5, None, {"length": 0.5})
    b'{"id":"a","prediction":true,"score":0.5,"explanation":{"length":0.5}}'
    """
    is_number = type(score) is float and math.isfinite(score)
    if not is_number:
        check_score(score)
    value = {"id": id, "prediction": prediction, "score": score}
    if explanation is not None:
        value["explanation"] = explanation
    if challengers is not None:
        value["challengers"] = challengers
        is_number = False  # their scores may have classes
    if label is not None:
        value["label"] = label
    try:
        return orjson.dumps(value, option=TEXT_KEYS if is_number and type(id) is str else ANY_KEYS)
    except TypeError as error:
        raise Reject(f"the output cannot be expressed in JSON: {error}", "output") from None
