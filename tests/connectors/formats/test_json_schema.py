"""JSON with its schema in a real registry."""

import json
import uuid

import jsonschema
import orjson
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from connectors.formats import codecs
from connectors.formats.check_codec import OUTPUTS, check_codec
from connectors.formats.json_schema import OUTPUT, JsonSchema
from connectors.formats.registry import Registry, join, split
from connectors.model.rejects import Reject

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"type": "number"}},
}


def test_the_codec_keeps_the_contract_and_registers_what_it_writes(registry):
    client, topic = SchemaRegistryClient({"url": registry}), f"t{uuid.uuid4().hex[:12]}"
    id = client.register_schema(f"{topic}-in", Schema(json.dumps(SCHEMA), "JSON"))
    codec = JsonSchema(Registry(registry), topic)
    check_codec(codec, [(join(id, b'{"a": 0.5, "b": [null, {"c": "d"}]}'), {"a": 0.5, "b": [None, {"c": "d"}]})])
    for output in OUTPUTS:
        written, content = split(codec.encode(output))
        schema = json.loads(client.get_schema(written).schema_str)
        assert schema == OUTPUT and orjson.loads(content) == output
        jsonschema.Draft7Validator(schema).validate(output)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft7Validator(schema).validate(output | {"score": "high"})
    parse = codecs.parser("json_schema", codec)
    for damaged, reason in {
        b'{"a": 1}': "zero byte",
        join(99_999, b'{"a": 1}'): "99999",
        join(id, b"[]"): "object",
    }.items():
        with pytest.raises(Reject, match=f"not json_schema: .*{reason}"):
            parse(damaged)
