"""Avro through a real schema registry."""

import contextlib
import datetime
import decimal
import io
import json
import math
import socket
import socketserver
import struct
import threading
import types
import urllib.parse
import uuid

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference

from connectors.errors import AccessError, StartError
from connectors.formats import codecs
from connectors.formats import registry as registries
from connectors.formats.avro import OUTPUT, Avro
from connectors.formats.check_codec import check_codec
from connectors.formats.registry import Registry, RegistryUnavailable, join, split
from connectors.model.rejects import Reject
from tests.helpers.registry import registry_client
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, twin, wait_for

AT = datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC)
TYPES = {
    "price": ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, decimal.Decimal("12.50"), 12.5),
    "day": ({"type": "int", "logicalType": "date"}, AT.date(), "2024-05-01"),
    "at": ({"type": "long", "logicalType": "timestamp-millis"}, AT, "2024-05-01T12:30:00+00:00"),
    "time": ({"type": "int", "logicalType": "time-millis"}, AT.time(), "12:30:00"),
    "uuid": ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=7), str(uuid.UUID(int=7))),
    "bytes_of_uuid": (  # since Avro 1.12
        {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"},
        uuid.UUID(int=7).bytes,
        str(uuid.UUID(int=7)),
    ),
    "raw": ("bytes", b"abc", "abc"),
    "nothing": (["null", "string"], None, None),
    "not_a_number": ("double", float("nan"), None),
    "kind": ({"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "B", "B"),
    "items": ({"type": "array", "items": {"type": "map", "values": "long"}}, [{"a": 1}], [{"a": 1}]),
}


def schema_of(fields, name="Event"):
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


class Writer:
    """A producer of another team: it registers its schemas itself."""

    def __init__(self, url):
        self.client = registry_client(url)

    def register(self, subject, schema, references=()):
        return self.client.register_schema(subject, Schema(json.dumps(schema), "AVRO", list(references)))

    def value(self, subject, schema, fields):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), fields)
        return join(self.register(subject, schema), stream.getvalue())


@pytest.fixture
def writer(registry):
    return Writer(registry)


def subject():
    return f"s{uuid.uuid4().hex[:12]}"


def test_the_codec_keeps_the_contract(registry, writer):
    """Logical types, nulls, enums and nested values become what JSON would give; what is damaged raises ValueError."""
    value = writer.value(subject(), schema_of({k: v[0] for k, v in TYPES.items()}), {k: v[1] for k, v in TYPES.items()})
    check_codec(Avro(Registry(registry), subject()), [(value, {k: v[2] for k, v in TYPES.items()})])


def test_a_schema_that_refers_to_another_one(registry, writer):
    names = [subject(), subject()]
    writer.register(names[0], schema_of({"country": "string"}, "Card"))
    reference = SchemaReference("Card", names[0], 1)
    id = writer.register(names[1], schema_of({"card": "Card", "amount": "double"}), [reference])
    stream = io.BytesIO()
    whole = schema_of({"card": schema_of({"country": "string"}, "Card"), "amount": "double"})
    fastavro.schemaless_writer(stream, fastavro.parse_schema(whole), {"card": {"country": "CH"}, "amount": 1.5})
    found = Avro(Registry(registry), "t").decode(join(id, stream.getvalue()))
    assert found == {"card": {"country": "CH"}, "amount": 1.5}


def test_what_is_a_reject(registry, writer):
    parse = codecs.parser("avro", Avro(Registry(registry), "t"))
    value = writer.value(subject(), schema_of({"a": "double"}), {"a": 0.5})
    infinite = join(split(value)[0], b"\0\0\0\0\0\0\xf0\x7f")
    reasons = {
        b"": "does not begin with a zero byte",
        b'{"a": 0.5}': "does not begin with a zero byte",
        join(99_999, b"\0"): "99999 not found|Schema 99999",
        value[:-1]: "ends too early|bytes",
        value + b"\0": "1 bytes follow the value",
        infinite: "JSON has no number inf",
    }
    for damaged, reason in reasons.items():
        with pytest.raises(Reject, match=f"not avro: .*({reason})"):
            parse(damaged)


def test_a_registry_that_does_not_answer_is_no_reject(registry):
    parse = codecs.parser("avro", Avro(Registry("http://127.0.0.1:1"), "t"))
    with pytest.raises(RegistryUnavailable, match=r"http://127\.0\.0\.1:1 does not answer"):
        parse(join(1, b"\0"))
    with pytest.raises(StartError, match=r"check the path of `record\.registry\.url`"):
        Registry(f"{registry}/nothing").schema(1)


@BOTH_CLIENTS
def test_avro_in_and_out_with_a_kill_and_a_changing_schema(kafka, registry, writer, tmp_path):
    """A field is added and dropped in mid-stream. After kill -9, each output is there once, with its exact bits."""
    stream = Stream(kafka, tmp_path, partitions=2, checkpoint={"every": "50ms"})
    stream.forget_the_dead_soon()
    records = [record | {"y": record.get("y")} for record in phishing(400)]
    for n, record in enumerate(records):
        if 100 <= n < 250:
            record["added"] = n / 100
    values = [writer.value(f"{stream.input}-value", _schema_of_record(record), record) for record in records]
    file = stream.file(
        record=stream.settings["record"] | {"format": "avro", "registry": registry},
        output={"topic": stream.output, "format": "avro"},
    )
    stream.produce(values[:200])
    process = start(file)
    try:
        wait_for(lambda: stream.committed(0) is not None and stream.committed(0).offset > 30, "a commit")
    finally:
        process.kill()
        process.communicate()
    bad = join(99_999, b"\0")
    process = start(file)
    try:
        stream.produce([*values[200:], bad, bad])
        messages = stream.read(stream.output, 400)
        rejects = stream.read(stream.rejects, 2)
    finally:
        process.kill()
        process.communicate()
    found = {0: [], 1: []}
    for message in messages:
        id, content = split(message.value)
        found[message.partition].append(fastavro.schemaless_reader(io.BytesIO(content), OUTPUT, None))
    assert json.loads(writer.client.get_schema(id).schema_str) == OUTPUT
    assert writer.client.get_latest_version(f"{stream.output}-value").schema_id == id
    nothing = {"label": None, "explanation": None, "challengers": None}
    for n in (0, 1):
        assert found[n] == [nothing | output for output in twin(stream.config().build_learner(), records[n::2])]
    assert [reject.value for reject in rejects] == [bad, bad]


class Forwarder(socketserver.BaseRequestHandler):
    """Passes the bytes of a connection on to the registry."""

    def handle(self):
        with socket.create_connection(self.server.target) as other:
            back = threading.Thread(target=self._copy, args=(other, self.request))
            back.start()
            self._copy(self.request, other)
            back.join()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


def test_a_processor_waits_for_its_registry(kafka, registry, writer, tmp_path, caplog):
    stream = Stream(kafka, tmp_path, partitions=1)
    records = [record | {"y": record.get("y")} for record in phishing(20)]
    stream.produce([writer.value(f"{stream.input}-value", _schema_of_record(record), record) for record in records])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = urllib.parse.urlsplit(registry)
    url = f"http://127.0.0.1:{port}{address.path}"
    with running(stream.config(record=stream.settings["record"] | {"format": "avro", "registry": url})) as process:
        wait_for(lambda: f"{url} does not answer" in caplog.text, "a warning about the registry")
        with socketserver.ThreadingTCPServer(("127.0.0.1", port), Forwarder) as server:
            server.daemon_threads, server.target = True, (address.hostname, address.port)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            outputs = stream.outputs(20)
            counts = process.end()
            server.shutdown()
    assert outputs[0] == twin(stream.config().build_learner(), records)
    assert counts.rejected == 0


def _schema_of_record(record):
    kinds = {"id": "string", "y": ["null", "boolean"]}
    return schema_of({name: kinds.get(name, "double") for name in record})


NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
NOTHING = {"type": "record", "name": "Nothing", "fields": [{"name": "a", "type": "null"}]}


def doubled(depth):
    """Returns a record of two records of two records, and so on."""
    inner: object = "null"
    for level in range(depth):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}" if level else "null"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return inner


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        (NODE, b"\x02" * 20000 + b"\0", "`Node` refers to itself"),
        ({"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]},
         b"\x80\x80\x80\x80\x80\x80\x01\0", "items that take no bytes"),
        ({"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "array", "items": NOTHING}}]},
         b"\x80\x80\x80\x80\x80\x80\x01\0", "items that take no bytes"),
        (doubled(40), b"", "more than 100,000 parts"),
    ],
)  # fmt: skip
def test_a_schema_with_which_a_few_bytes_end_or_occupy_the_process_is_refused(schema, value, sentence):
    codec = Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t")
    with pytest.raises(ValueError, match=sentence):
        codec.decode(join(7, value))


def test_types_that_are_used_twice_are_no_types_that_refer_to_themselves():
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "double"}]}
    fields = [{"name": "a", "type": point}, {"name": "b", "type": "Point"},
              {"name": "c", "type": {"type": "array", "items": "Point"}}]  # fmt: skip
    schema = {"type": "record", "name": "Pair", "fields": fields}
    stream, value = io.BytesIO(), {"a": {"x": 1.0}, "b": {"x": 2.0}, "c": [{"x": 3.0}]}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    assert Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t").decode(join(7, stream.getvalue())) == value


class Memory:
    """A registry with schemas by id."""

    def __init__(self, schemas):
        self.schemas = schemas

    def schema(self, id):
        return self.schemas[id]

    def register(self, subject, text, kind):
        return 1


@pytest.mark.parametrize("error", [AccessError("401"), StartError("404"), RegistryUnavailable("away")])
def test_an_error_of_the_registry_is_no_reject(error):
    def refuse(value):
        raise error

    codec = Avro(Memory({}), "t")
    codec.decode = refuse
    with pytest.raises(type(error)):
        codecs.parser("avro", codec)(b"x")


def test_an_unknown_schema_is_asked_for_once_a_minute(monkeypatch):
    registry, asked = Registry("http://127.0.0.1:1"), []

    def refuse(what, ask):
        asked.append(what)
        raise ValueError(what)

    monkeypatch.setattr(registry, "_ask", refuse)
    for _ in range(3):
        with pytest.raises(ValueError, match="schema 7"):
            registry.schema(7)
    assert len(asked) == 1
    monkeypatch.setattr(registry, "_unknown", {7: (0.0, ValueError, "")})
    with pytest.raises(ValueError, match="schema 7"):
        registry.schema(7)
    assert len(asked) == 2


def test_an_id_of_64_bits_without_a_sign_stays_exact():
    """A `long` has a sign: as a number, ids beyond it would be rounded, and one would be that of others."""
    codec = Avro(Memory({1: registries.Schema(json.dumps(OUTPUT))}), "t")
    for id, expected in ((2**63 - 1, 2**63 - 1), (2**63 + 1, str(2**63 + 1)), (2**64 - 1, str(2**64 - 1))):
        output = {"id": id, "prediction": True, "score": 0.5}
        assert codec.decode(codec.encode(output))["id"] == expected and output["id"] == id


def test_a_decimal_beyond_floating_point_is_no_number():
    price = {"type": "bytes", "logicalType": "decimal", "precision": 400, "scale": 0}
    schema, stream = schema_of({"price": price}), io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), {"price": decimal.Decimal(10**399)})
    with pytest.raises(ValueError, match="JSON has no number inf"):
        Avro(Memory({1: registries.Schema(json.dumps(schema))}), "t").decode(join(1, stream.getvalue()))


def test_a_union_of_schemas_that_it_refers_to():
    """Several types of events in one topic: the schema is a list of names."""
    kinds = [schema_of({name: "double"}, f"shop.{name.title()}") for name in ("payment", "refund")]
    references = tuple((kind["name"], json.dumps(kind)) for kind in kinds)
    codec = Avro(Memory({7: registries.Schema('["shop.Payment", "shop.Refund"]', references)}), "t")
    for fields in ({"payment": 0.5}, {"refund": 1.5}):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(kinds), fields)
        assert codec.decode(join(7, stream.getvalue())) == fields


@pytest.mark.parametrize("field", [{"type": {"type": "double"}, "default": 0}, {"type": "double", "default": None}])
def test_a_default_that_nobody_reads_need_not_be_right(field):
    schema = {"type": "record", "name": "A", "fields": [{"name": "a", **field}]}
    codec = Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t")
    assert codec.decode(join(7, b"\0\0\0\0\0\0\xf8\x3f")) == {"a": 1.5}


def test_references_that_were_deleted_softly_are_read(monkeypatch):
    registry, asked = registries.Registry("http://127.0.0.1:1"), []
    payment = Schema('"Card"', "AVRO", [SchemaReference("Card", "cards-value", 1)])

    def get_version(subject, version, deleted=False):
        asked.append((subject, version, deleted))
        return types.SimpleNamespace(schema=Schema('{"type": "record", "name": "Card", "fields": []}', "AVRO"))

    monkeypatch.setattr(registry._client, "get_schema", lambda id: payment)
    monkeypatch.setattr(registry._client, "get_version", get_version)
    assert len(registry.schema(7).references) == 1 and asked == [("cards-value", 1, True)]


def test_small_items_that_become_many_parts_are_refused():
    inner: object = "null"
    for level in range(4):
        kinds = [inner, *[f"R{level - 1}" if level else "null"] * 9]
        fields = [{"name": f"f{n}", "type": kind} for n, kind in enumerate(kinds)]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    schema = {"type": "array", "items": schema_of({"ok": "boolean", "r": inner}, "Item")}
    codec = Avro(Memory({7: registries.Schema(json.dumps(schema_of({"items": schema})))}), "t")
    with pytest.raises(ValueError, match="may take too much memory"):
        codec.decode(join(7, b"\1" * 100_000))
    assert codec.decode(join(7, b"\0")) == {"items": []}


def test_large_arrays_of_records_that_may_be_null_are_read():
    """The branch of a union with the most parts is not the one that takes a single byte."""
    item = schema_of({f"f{n}": ["null", "double"] for n in range(100)}, "Item")
    schema = schema_of({"items": {"type": "array", "items": ["null", item]}})
    fields = {"items": [None, *[{f"f{n}": 1.5 for n in range(100)}] * 600]}
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), fields)
    codec = Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t")
    assert len(stream.getvalue()) > 500_000 and codec.decode(join(7, stream.getvalue())) == fields


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("9007199254740993", 9007199254740993),
        ("-7", -7),
        (str(2**64 - 1), 2**64 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**64), 2.0**64),
        ("0.30", 0.3),
        ("7.00", 7.0),
    ],
)
def test_a_decimal_is_the_number_that_json_reads_from_its_digits(digits, expected):
    """Oracle's ids are decimals without decimals: they stay apart, and are those of labels in JSON."""
    value = decimal.Decimal(digits)
    scale = -value.as_tuple().exponent
    schema = schema_of({"a": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": scale}})
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), {"a": value})
    found = Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t").decode(join(7, stream.getvalue()))["a"]
    assert (found, type(found)) == (expected, type(expected))


def test_an_id_beyond_31_bits_is_not_asked_for(monkeypatch):
    """Confluent's registry would answer 404 without a reason, as for a wrong path, which ends the processor."""
    registry = Registry("http://127.0.0.1:1")
    monkeypatch.setattr(registry, "_ask", lambda what, ask: pytest.fail("it is asked"))
    for id in (2**31, 0xDEADBEEF):
        with pytest.raises(ValueError, match=f"no schema has the id {id}"):
            Avro(registry, "t").decode(join(id, b"x"))


@pytest.mark.parametrize("value", [b"\x02\xff", b"\x02a" + struct.pack("<d", math.inf)])
def test_a_reject_names_the_field(value):
    schema = schema_of({"raw": "bytes", "card": schema_of({"limit": "double"}, "Card")})
    value = value.ljust(10, b"\0")
    with pytest.raises(ValueError, match=r"`raw`: 'utf-8' codec|`card`: `limit`: JSON has no number inf"):
        Avro(Memory({7: registries.Schema(json.dumps(schema))}), "t").decode(join(7, value))


@pytest.mark.parametrize(
    ("kind", "logical", "content", "shown"),
    [
        ("int", "date", 2**31 - 1, 2**31 - 1),
        ("int", "time-millis", 2**30, 2**30),  # a day has 86,400,000 ms
        ("long", "time-micros", -(2**62), -(2**62)),
        ("long", "timestamp-millis", 1_700_000_000_000_000, 1_700_000_000_000_000),  # written in microseconds
        ("long", "timestamp-micros", 2**62, 2**62),
        ("long", "local-timestamp-millis", 2**62, 2**62),
        ("long", "local-timestamp-micros", -(2**62), -(2**62)),
        ("string", "uuid", "", "''"),
        ("string", "uuid", "7", "'7'"),
    ],
)
def test_a_reject_names_the_field_the_value_and_its_logical_type(kind, logical, content, shown):
    """A value that a logical type cannot have may be in one field of many, in a record in a list of them."""

    def schema(of):
        return schema_of({"card": {"type": "array", "items": schema_of({"made": ["null", of]}, "Card")}})

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema(kind)), {"card": [{"made": content}]})
    text = json.dumps(schema({"type": kind, "logicalType": logical}))
    sentence = f"the value does not fit schema 7: `card`: `made`: {shown} is no `{logical}`: "
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Avro(Memory({7: registries.Schema(text)}), "t").decode(join(7, stream.getvalue()))


def test_a_decimal_has_all_of_its_digits_and_not_too_many():
    """The precision of a schema is the writer's affair. To read a decimal takes the square of its length."""
    price = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
    codec = Avro(Memory({7: registries.Schema(json.dumps(schema_of({"a": price})))}), "t")

    def value(content):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(schema_of({"a": "bytes"})), {"a": content})
        return join(7, stream.getvalue())

    assert codec.decode(value((123456789).to_bytes(4, "big"))) == {"a": 1234567.89}
    with pytest.raises(ValueError, match="a decimal has 1,001 bytes"):
        codec.decode(value(b"\x7f" * 1_001))
