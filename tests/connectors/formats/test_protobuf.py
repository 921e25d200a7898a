"""Protobuf through a real schema registry, written by Confluent's own serializer."""

import itertools
import math
import subprocess
import sys
import uuid

import pytest
from confluent_kafka.schema_registry import Schema as Registered
from confluent_kafka.schema_registry import SchemaReference

from connectors.formats import codecs, protobuf_schemas
from connectors.formats.check_codec import OUTPUTS, check_codec
from connectors.formats.protobuf import OUTPUT, Protobuf
from connectors.formats.protobuf_schemas import compiled
from connectors.formats.registry import Registry, Schema, join, split
from connectors.model.rejects import Reject
from tests.helpers.deadline import DEADLINE
from tests.helpers.registry import registry_client
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, twin

EVENT = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

message Unused { string text = 1; }

message Event {
  enum Kind { UNKNOWN = 0; CARD = 1; }
  message Item { string name = 1; repeated double prices = 2; }
  message Deep { message Deeper { int64 number = 1; } }
  string id = 1;
  optional bool label = 2;
  double amount = 3;
  int64 count = 4;
  bytes raw = 5;
  Kind kind = 6;
  google.protobuf.Timestamp at = 7;
  google.protobuf.DoubleValue limit = 8;
  repeated Item items = 9;
  map<int32, bool> flags = 10;
  oneof way { string mail = 11; string phone = 12; }
  float ratio = 13;
  Item missing = 14;
}
"""
NOTHING = {"id": "", "amount": 0.0, "count": 0, "raw": "", "kind": "UNKNOWN", "items": [], "flags": {}, "ratio": 0.0}


class Memory:
    """A registry with schemas by id."""

    def __init__(self, schemas):
        self.schemas = schemas

    def schema(self, id):
        return self.schemas[id]

    def register(self, subject, text, kind):
        return 1


class Writer:
    """A producer of another team, which registers its schemas itself."""

    def __init__(self, url):
        self.client = registry_client(url)

    def register(self, text, references=()):
        return self.client.register_schema(f"s{uuid.uuid4().hex[:12]}", Registered(text, "PROTOBUF", list(references)))


@pytest.fixture
def writer(registry):
    return Writer(registry)


def message_of(text, path=(0,), /, **fields):
    return compiled(Schema(text)).message(path).make(**fields)


def event(**fields):
    return message_of(EVENT, (1,), **fields)


AT_EVENT = b"\x02\x02"  # the path [1]: its length, and its number, in zigzag form
FULL = {
    "id": "a", "label": False, "amount": 1.5, "count": -(2**60), "raw": b"abc", "kind": 1,
    "at": {"seconds": 1_714_566_600, "nanos": 500_000_000}, "limit": {"value": 0.0},
    "items": [{"name": "x", "prices": [1.0, math.nan]}, {}], "flags": {-3: True}, "phone": "1",
}  # fmt: skip
READ = FULL | {
    "raw": "abc", "kind": "CARD", "at": "2024-05-01T12:30:00.500000+00:00", "limit": 0.0, "ratio": 0.0,
    "items": [{"name": "x", "prices": [1.0, None]}, {"name": "", "prices": []}], "flags": {"-3": True},
}  # fmt: skip


def test_the_codec_keeps_the_contract_and_registers_what_it_writes(registry, writer):
    """What the schema says becomes what JSON would give: an output is read back as it was, without its nulls."""
    id, topic = writer.register(EVENT), f"t{uuid.uuid4().hex[:12]}"
    codec = Protobuf(Registry(registry), topic)
    values = [
        (join(id, AT_EVENT + event(**FULL).SerializeToString()), READ),
        (join(id, AT_EVENT), NOTHING),
        (join(id, b"\0" + message_of(EVENT, text="b").SerializeToString()), {"text": "b"}),
        (join(id, b"\x06\x02\x02\x00\x08\x05"), {"number": 5}),  # the type [1, 1, 0] with its field 1
    ]
    check_codec(codec, values)
    assert codec.decode(codec.encode(OUTPUTS[3])) == {
        "id": {"text": "ä"}, "prediction": {"text": "spam"}, "scores": {"ham": -0.5, "spam": 0.5},
        "label": {"text": "spam"}, "explanation": {}, "challengers": {},
    }  # fmt: skip
    turned = OUTPUTS[3] | {"score": {str(n): float(n) for n in range(100)}}
    assert codec.encode(turned) == codec.encode(turned | {"score": dict(reversed(turned["score"].items()))})
    said = {"arow": {"prediction": 2**70, "score": 0.5}, "other": None}
    found = codec.decode(codec.encode({"id": [1], "prediction": None, "score": None, "challengers": said}))
    assert found["id"] == {"text": "[1]"} and "prediction" not in found and "score" not in found
    arow = {"prediction": {"number": 2.0**70}, "score": 0.5, "scores": {}}
    assert found["challengers"] == {"arow": arow, "other": {"scores": {}}}
    latest = writer.client.get_latest_version(f"{topic}-value")
    assert (latest.schema.schema_type, latest.schema.schema_str) == ("PROTOBUF", OUTPUT)
    assert split(codec.encode(OUTPUTS[0]))[0] == latest.schema_id


def test_confluents_serializer_and_ours_understand_each_other(registry, writer):
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    topic = f"t{uuid.uuid4().hex[:12]}"
    context = SerializationContext(topic, MessageField.VALUE)
    message = event(**FULL)
    serialize = ProtobufSerializer(type(message), writer.client, {"use.deprecated.format": False})
    assert Protobuf(Registry(registry), topic).decode(serialize(message, context)) == READ
    value = Protobuf(Registry(registry), f"{topic}-out").encode(OUTPUTS[0])
    kind = compiled(Schema(OUTPUT)).message((0,)).make
    read = ProtobufDeserializer(kind, {"use.deprecated.format": False})(value, context)
    assert (read.id.text, read.prediction.boolean, read.score) == ("events-0-7", True, 0.5)


def test_a_schema_that_imports_another_one(registry, writer):
    subject = f"s{uuid.uuid4().hex[:12]}"
    card = 'syntax = "proto3"; package cards; message Card { string country = 1; }'
    writer.client.register_schema(subject, Registered(card, "PROTOBUF"))
    text = 'syntax = "proto3"; import "cards/card.proto"; message Event { cards.Card card = 1; double amount = 2; }'
    id = writer.register(text, [SchemaReference("cards/card.proto", subject, 1)])
    found = Protobuf(Registry(registry), "t").decode(join(id, b"\0\x0a\x04\x0a\x02CH\x11" + b"\0" * 6 + b"\xf8\x3f"))
    assert found == {"card": {"country": "CH"}, "amount": 1.5}


def test_what_is_a_reject(registry, writer):
    parse = codecs.parser("protobuf", Protobuf(Registry(registry), "t"))
    id = writer.register(EVENT)
    reasons = {
        b"": "does not begin with a zero byte",
        join(99_999, b"\0"): "99999",
        join(id, b""): "ends in the path",
        join(id, b"\x04\x02"): "ends in the path",
        join(id, b"\x02\x06"): r"no message type number 3 at \[3\]",
        join(id, b"\x02\x01"): r"no message type number -1",
        join(id, b"\x01"): "path of the message type has -1 numbers",
        join(id, b"\xff" * 12): "more than 64 bits",
        join(id, AT_EVENT + b"\x0a\x05ab"): "does not fit schema",
        join(id, AT_EVENT + b"\x0a\x01\xff"): "does not fit schema",
        join(id, AT_EVENT + event(amount=math.inf).SerializeToString()): "JSON has no number inf",
        join(id, AT_EVENT + event(at={"seconds": 2**62}).SerializeToString()): "does not fit schema",
        join(id, AT_EVENT + event(raw=b"\xff").SerializeToString()): "does not fit schema",
    }
    for damaged, reason in reasons.items():
        with pytest.raises(Reject, match=f"not protobuf: .*{reason}"):
            parse(damaged)


SELF = 'syntax = "proto3"; message Node { Node a = 1; Node b = 2; repeated Node c = 3; }'
WIDE = "\n".join(f"int64 f{n} = {n};" for n in range(1, 2001))
MANY = f'syntax = "proto3"; message A {{ message B {{ {WIDE} }} repeated B b = 1; }}'
TWICE = 'syntax = "proto3";' + "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(60))


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        (Schema(SELF), b"\x0a" * 100_000, "does not fit"),
        (Schema(MANY), b"\x0a\x00" * 400, "more than 100,800 parts"),
        (Schema(MANY), b"\x0a\x00" * 200_000, "a type with 2,000 fields"),
        (Schema(TWICE + "message M60 {}"), b"\x0a\x02\x0a\x00" * 1000, None),
        (Schema('syntax = "proto3"; message A {' * 5000), b"", "cannot be used: line 1:38: Expected"),
        (Schema("message {"), b"", "cannot be used: line 1:9: Expected message name"),
        (Schema("message"), b"", "cannot be used"),
        (Schema("CgFhEgEKAAAA"), b"", "cannot be used"),
        (Schema("CgFhGgFi", (("b", "message B {}"),)), b"", "`b`, which it imports, is text"),
        (Schema('syntax = "proto3"; import "/etc/passwd"; message A {}'), b"", "cannot be used: .*/etc/passwd"),
        (Schema(EVENT, (("../evil.proto", ""),)), b"", "cannot be the name of a file"),
        (Schema(EVENT, (("/tmp/evil.proto", ""),)), b"", "cannot be the name of a file"),
        (Schema(EVENT, (("grpc_tools.py", ""),)), b"", "cannot be the name of a file"),
        (Schema(EVENT, (("a.proto", ""), ("a.proto/b.proto", ""))), b"", "`a.proto/b.proto` cannot be the name"),
        (Schema(EVENT, (("a.proto", ""), ("schema_of_the_record.proto/a.proto", ""))), b"", "`schema_of_the_record"),
        (Schema(f'syntax = "proto3"; message A {{ {"x" * 20_000_000} }}'), b"", "cannot be used"),
    ],
    ids=itertools.count(),  # pytest before 9.2 puts an id into the environment, which has no room for 100 KB
)  # fmt: skip
def test_a_schema_with_which_a_few_bytes_end_or_occupy_the_process_is_refused(schema, value, sentence):
    codec = Protobuf(Memory({7: schema}), "t")
    if sentence is None:
        assert codec.decode(join(7, b"\0" + value)) == {"a": {"a": {}}}
        return
    for _ in range(2):
        with pytest.raises(ValueError, match=sentence):
            codec.decode(join(7, b"\0" + value))


@pytest.mark.parametrize(
    ("limit", "sentence"), [("CPU", "ended by signal"), ("FSIZE", "cannot be used"), ("AS", "cannot be used|signal")]
)
def test_a_compiler_that_takes_too_much_is_ended(monkeypatch, limit, sentence):
    """The limits hold for the compiler, and a schema that exceeds them is not compiled again."""
    small = {
        "CPU": "RLIMIT_CPU, (0, 0))\nwhile True: pass",
        "FSIZE": "RLIMIT_FSIZE, (1, 1))",
        "AS": "RLIMIT_AS, (2**23, 2**23))",
    }
    line = f"resource.setrlimit(resource.{small[limit]}"
    first = f"resource.RLIMIT_{limit}, "
    lines = [line if first in each else each for each in protobuf_schemas.COMPILE.splitlines()]
    assert line in lines
    monkeypatch.setattr(protobuf_schemas, "COMPILE", "\n".join(lines))
    codec = Protobuf(Memory({7: Schema(EVENT + f"// {limit}")}), "t")
    with pytest.raises(ValueError, match=sentence):
        codec.decode(join(7, b"\0"))
    monkeypatch.setattr(protobuf_schemas, "_compile", None)
    with pytest.raises(ValueError, match=sentence):
        codec.decode(join(7, b"\0"))


def test_a_compiler_that_has_no_time_is_tried_again(monkeypatch):
    codec = Protobuf(Memory({7: Schema(EVENT + "// slow")}), "t")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="did not end within"):
        patch.setattr(protobuf_schemas, "WAIT", 0.0)
        codec.decode(join(7, AT_EVENT))
    assert codec.decode(join(7, AT_EVENT)) == NOTHING


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_compiler_that_is_ended_from_outside_is_tried_again(monkeypatch, name):
    """As by systemd, which stops all processes of a service: the batch that is finished then has no rejects of it."""
    codec = Protobuf(Memory({7: Schema(EVENT + f"// {name}")}), "t")
    end = f"import os, signal; signal.signal(signal.{name}, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    with monkeypatch.context() as patch, pytest.raises(OSError, match="was ended from outside"):
        patch.setattr(protobuf_schemas, "COMPILE", end)
        codec.decode(join(7, AT_EVENT))
    assert codec.decode(join(7, AT_EVENT)) == NOTHING


def test_a_ctrl_c_does_not_reach_the_compiler(monkeypatch):
    """A terminal sends it to all processes of its foreground group."""
    code = "import os, sys; sys.exit(f'a.proto:{os.getsid(0) == os.getpid()}')"
    monkeypatch.setattr(protobuf_schemas, "COMPILE", code)
    with pytest.raises(ValueError, match=r"a\.proto:True"):
        compiled(Schema(EVENT + "// in a session of its own"))


def test_the_compiler_takes_lower_limits_of_its_environment():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)); "
        "from connectors.formats.protobuf_schemas import compiled; from connectors.formats.registry import Schema; "
        """compiled(Schema('syntax = "proto3"; message A { string a = 1; }')).message((0,))"""
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=DEADLINE)


def _schema_of(record, added):
    kinds = {"id": "string", "y": "optional bool"}
    fields = [f"{kinds.get(name, 'double')} {name} = {n};" for n, name in enumerate(record, 1)]
    more = "double added = 99;" if added else ""
    return f'syntax = "proto3"; message Event {{ {" ".join(fields)} {more} }}'


@BOTH_CLIENTS
def test_protobuf_in_and_out_while_the_schema_changes(kafka, registry, writer, tmp_path):
    """A field is added, and dropped again, in mid-stream. Bad values are rejects with their bytes."""
    stream, records = Stream(kafka, tmp_path, partitions=1), phishing(90)
    texts = {added: _schema_of(records[1], added) for added in (False, True)}
    ids = {added: writer.register(text) for added, text in texts.items()}
    values = []
    for n, record in enumerate(records):
        if 30 <= n < 60:
            record["added"] = n / 10
        given = {name: value for name, value in record.items() if value is not None}
        content = message_of(texts["added" in record], **given).SerializeToString()
        values.append(join(ids["added" in record], b"\0" + content))
        record.setdefault("y", None)
    bad = [join(99_999, b"\0"), join(ids[True], b"\0\xff"), join(ids[True], b"\x02\x08"), b'{"x": 1}', b""]
    stream.produce([*values[:45], *bad, *values[45:]])
    settings = stream.settings["record"] | {"format": "protobuf", "registry": registry}
    with running(stream.config(record=settings, output={"topic": stream.output, "format": "protobuf"})) as process:
        messages = stream.read(stream.output, 90)
        rejects = stream.read(stream.rejects, len(bad))
        counts = process.end()
    codec = Protobuf(Registry(registry), "t")
    found = [_plain_output(codec.decode(message.value)) for message in messages]
    assert found == twin(stream.config().build_learner(), records)
    assert [reject.value for reject in rejects] == bad
    assert counts.rejected == len(bad)


def _plain_output(output):
    """Return an output as JSON has it."""
    scalars = {name: next(iter(output[name].values())) for name in ("id", "prediction", "label") if name in output}
    return {"prediction": None} | scalars | {"score": output.get("score")}


def test_an_id_of_64_bits_without_a_sign_stays_exact():
    codec = Protobuf(Memory({1: Schema(OUTPUT)}), "t")
    for id, expected in ((2**63 - 1, {"integer": 2**63 - 1}), (2**63 + 1, {"text": str(2**63 + 1)})):
        assert codec.decode(codec.encode({"id": id, "prediction": True, "score": 0.5}))["id"] == expected


def test_macos_has_no_limit_of_memory(monkeypatch):
    refused = (
        "resource.setrlimit = lambda which, _: which == resource.RLIMIT_AS and sys.exit(1)\nsys.platform = 'darwin'"
    )
    code = protobuf_schemas.COMPILE.replace("import resource, sys", f"import resource, sys\n{refused}", 1)
    monkeypatch.setattr(protobuf_schemas, "COMPILE", code)
    codec = Protobuf(Memory({7: Schema(EVENT + "// macOS")}), "t")
    assert codec.decode(join(7, AT_EVENT)) == NOTHING


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"raw": b"\xff"}, "`raw`: 'utf-8' codec"),
        ({"items": [{"prices": [math.inf]}]}, "`items`: `prices`: JSON has no number inf"),
        ({"at": {"seconds": 10**12}}, "`at`: date value out of range"),
    ],
)
def test_a_reject_names_the_field(fields, sentence):
    value = join(1, AT_EVENT + event(**fields).SerializeToString())
    with pytest.raises(ValueError, match=sentence):
        Protobuf(Memory({1: Schema(EVENT)}), "t").decode(value)
