"""JSON with its schema in a real registry."""

import json
import uuid

import jsonschema
import orjson
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference

from connectors.formats import codecs
from connectors.formats import registry as registries
from connectors.formats.check_codec import OUTPUTS, check_codec
from connectors.formats.json_schema import OUTPUT, JsonSchema
from connectors.formats.registry import Registry, join, split
from connectors.model.rejects import Reject
from tests.helpers.registry import registry_client
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, twin

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"type": "number"}},
}


def test_the_codec_keeps_the_contract_and_registers_what_it_writes(registry):
    client, topic = registry_client(registry), f"t{uuid.uuid4().hex[:12]}"
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


class Writer:
    """A producer of another team: it registers its schemas itself."""

    def __init__(self, url):
        self.client = registry_client(url)

    def register(self, subject, schema, references=()):
        text = json.dumps({"$schema": SCHEMA["$schema"], "type": "object"} | schema)
        return self.client.register_schema(subject, Schema(text, "JSON", list(references)))

    def refer(self, subject):
        """Return a reference to the latest version of a subject."""
        return SchemaReference(f"{subject}.json", subject, self.client.get_latest_version(subject).version)


@BOTH_CLIENTS
def test_json_with_schemas_in_and_out_while_they_change(kafka, registry, tmp_path):
    """A field is added, and dropped again, in mid-stream; both schemas refer to another one. Bad values are rejects."""
    stream, writer, records = Stream(kafka, tmp_path, partitions=1), Writer(registry), phishing(90)
    number = f"{stream.name}-number"
    writer.register(number, {"type": "number"})
    fields = {name: {"$ref": f"{number}.json"} for name in records[0] if name not in ("id", "y")}
    ids = {}
    for added in (False, True):
        properties = fields | ({"added": {"type": "number"}} if added else {})
        schema = {"properties": properties, "additionalProperties": False}
        ids[added] = writer.register(f"{stream.input}-{added}", schema, [writer.refer(number)])
    for n in range(30, 60):
        records[n]["added"] = n / 10
    values = [join(ids["added" in record], orjson.dumps(record)) for record in records]
    bad = [join(99_999, b'{"x": 1}'), join(ids[True], b'{"x": '), join(ids[True], b"[1]"), b'{"x": 1}', b""]
    stream.produce([*values[:45], *bad, *values[45:]])
    settings = stream.settings["record"] | {"format": "json_schema", "registry": registry}
    with running(stream.config(record=settings, output={"topic": stream.output, "format": "json_schema"})) as process:
        messages = stream.read(stream.output, 90)
        rejects = stream.read(stream.rejects, len(bad))
        counts = process.end()
    written = [split(message.value) for message in messages]
    assert [orjson.loads(content) for _, content in written] == twin(stream.config().build_learner(), records)
    (id,) = {id for id, _ in written}
    latest = writer.client.get_latest_version(f"{stream.output}-value")
    assert (latest.schema_id, json.loads(latest.schema.schema_str)) == (id, OUTPUT)
    assert [reject.value for reject in rejects] == bad
    reasons = [dict(reject.headers)["reason"].decode() for reject in rejects]
    words = ["99999", "unexpected end", "not a JSON object", "zero byte", "zero byte"]
    assert all(f"{word}" in reason for word, reason in zip(words, reasons, strict=True)), reasons
    assert counts.rejected == len(bad)


def test_references_are_followed_once_each_and_not_without_end(registry, monkeypatch):
    """Each schema refers to the one before, twice: followed as a tree, that is 2^25 look-ups."""
    monkeypatch.setattr(registries, "MOST_REFERENCES", 24)
    writer, name = Writer(registry), f"s{uuid.uuid4().hex[:12]}"
    ids, references = [], []
    for n in range(26):
        ids.append(writer.register(f"{name}-{n}", {"title": f"{name}-{n}"}, references))
        reference = writer.refer(f"{name}-{n}")
        references = [reference, SchemaReference(f"again-{n}.json", reference.subject, reference.version)]
    found = Registry(registry).schema(ids[12]).references
    assert len(found) == 24 and [json.loads(text)["title"] for _, text in found[:3]] == [f"{name}-0"] * 2 + [
        f"{name}-1"
    ]
    with pytest.raises(ValueError, match="more than 24 others"):
        JsonSchema(Registry(registry), "t").decode(join(ids[-1], b"{}"))
