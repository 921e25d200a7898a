"""JSON in the wire format of Confluent: a zero byte, the id of a JSON Schema in a registry, the JSON object."""

import json
from typing import Any

import orjson

from connectors.formats.registry import Registry, join, split

SCALAR = {"type": ["null", "boolean", "number", "string"]}
NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
SCORE = {"anyOf": [{"type": ["null", "number"]}, NUMBERS]}
OF_CHALLENGER = {"type": ["null", "object"], "properties": {"prediction": SCALAR, "score": SCORE}}
# An output. `river-margins schema FILE output` says more about the outputs of one processor.
OUTPUT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Output",
    "type": "object",
    "properties": {
        "id": {},
        "prediction": SCALAR,
        "score": SCORE,
        "explanation": NUMBERS,
        "challengers": {"type": "object", "additionalProperties": OF_CHALLENGER},
        "label": SCALAR,
    },
    "required": ["id", "prediction", "score"],
}
OUTPUT_TEXT = json.dumps(OUTPUT)


class JsonSchema:
    """A codec for JSON whose schema is in a registry. A value is not compared with its schema, which must exist.

    Parameters
    ----------
    registry
        The registry.
    topic
        The topic. Outputs have the subject `TOPIC-value`.
    """

    def __init__(self, registry: Registry, topic: str) -> None:
        self._registry, self._subject = registry, f"{topic}-value"

    def decode(self, value: bytes) -> dict[str, Any]:
        """Return the fields of a value."""
        id, content = split(value)
        schema = self._registry.schema(id)
        try:
            fields = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            if reason := schema.why_not("JSON"):
                raise ValueError(f"the schema {id} cannot be used: {reason}") from error
            raise ValueError(f"the value with schema {id} is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise ValueError("the value is not a JSON object")
        return fields

    def encode(self, fields: dict[str, Any]) -> bytes:
        """Return the value for an output; its schema is registered with the first one."""
        return join(self._registry.register(self._subject, OUTPUT_TEXT, "JSON"), orjson.dumps(fields))
