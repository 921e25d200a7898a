"""A registry behind a login and TLS, and one that is away, as a running processor meets them."""

import json
import logging
import re
import ssl
import urllib.request
import uuid

import pytest
import trustme
from confluent_kafka.schema_registry import Schema

from connectors.errors import AccessError, StalledError, StartError
from connectors.formats import codecs
from connectors.formats import registry as formats_registry
from connectors.formats.json_schema import OUTPUT
from connectors.formats.registry import Registry, join
from connectors.model.rejects import Reject
from connectors.tools import explain
from connectors.topics import assignment, check_broker, processor
from connectors.topics.partition import Partition
from tests.helpers.ports import free_port
from tests.helpers.registry import guarded, registry_client
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, start, twin, wait_for

USER, PASSWORD = "payments", "geheim:1"
PATH = "/apis/ccompat/v7"  # of the interface of Confluent
LOGIN = {"username": USER, "password": PASSWORD}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A context of a server with a certificate of its own authority, and the file of that authority."""
    authority, path = trustme.CA(), tmp_path_factory.mktemp("authority") / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context, path


def register(url):
    """Return the id of a schema that nobody has asked for."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": uuid.uuid4().hex, "type": "object"}
    return registry_client(url).register_schema(f"s{schema['title']}", Schema(json.dumps(schema), "JSON"))


def values_of(id, records):
    return [join(id, json.dumps(record).encode()) for record in records]


def test_a_processor_with_a_login_and_an_authority_of_its_own_shows_no_password(
    kafka, registry, authority, tmp_path, caplog
):
    caplog.set_level(logging.DEBUG)
    stream, records, port = Stream(kafka, tmp_path, partitions=1), phishing(20), free_port()
    stream.produce(values_of(register(registry), records))
    context, trusted = authority
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, context) as url:
        address = LOGIN | {"url": url + PATH, "ssl_cafile": str(trusted)}
        config = stream.config(
            record=stream.settings["record"] | {"format": "json_schema", "registry": address},
            output={"topic": stream.output, "format": "json_schema"},
            metrics={"port": port},
        )
        with running(config) as process:
            messages = stream.read(stream.output, 20)
            pages = [
                urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").read()
                for path in ("/metrics", "/", "/state.json")
            ]
            process.end()
    assert [json.loads(message.value[5:]) for message in messages] == twin(stream.config().build_learner(), records)
    latest = registry_client(registry).get_latest_version(f"{stream.output}-value")
    assert json.loads(latest.schema.schema_str) == OUTPUT
    shown = [caplog.text, explain.explain(config), repr(config), config.model_dump(), *pages]
    assert all(PASSWORD not in str(text) for text in shown)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"password": "wrong"}, AccessError, r"the login \(401\): check `record\.registry\.username` and"),
        ({"username": None, "password": None}, AccessError, "`record.registry.username`"),
        ({"ssl_cafile": None}, StartError, r"not trusted .*`record\.registry\.ssl_cafile`"),
        ({"ssl_cafile": "nowhere.pem"}, StartError, "`record.registry.ssl_cafile`: `.*/nowhere.pem` cannot be read"),
        ({"ssl_cafile": __file__}, StartError, "`record.registry.ssl_cafile`: `.*test_registry.py` cannot be read"),
        ({"path": "/nothing"}, StartError, r"answers 404 .*`record\.registry\.url`"),
        ({"path": "/ui"}, StartError, r"`record\.registry\.url`"),
    ],
)  # fmt: skip
def test_what_a_registry_refuses_ends_the_start(kafka, registry, authority, tmp_path, changes, error, sentence):
    stream = Stream(kafka, tmp_path, partitions=1)
    context, trusted = authority
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, context) as url:
        settings = LOGIN | {"ssl_cafile": str(trusted), "path": PATH} | changes
        address = {"url": url + settings.pop("path")} | {key: value for key, value in settings.items() if value}
        config = stream.config(record=stream.settings["record"] | {"format": "json_schema", "registry": address})
        with pytest.raises(error, match=sentence) as caught, running(config) as process:
            process.wait()
        found = [each for each in check_broker.check(config) if each.kind is error]
        assert any(re.search(sentence, each.sentence) for each in found)
    assert PASSWORD not in str(caught.value)
    assert stream.committed(0) is None


def test_a_user_who_may_not_register_the_schema_of_the_outputs(kafka, registry, tmp_path):
    stream = Stream(kafka, tmp_path, partitions=1)
    stream.produce(phishing(3))
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, may_write=False) as url:
        record = stream.settings["record"] | {"registry": LOGIN | {"url": url + PATH}}
        config = stream.config(record=record, output={"topic": stream.output, "format": "json_schema"})
        sentence = (
            rf"refuses `{stream.output}-value` \(403\): grant it to the user `record\.registry\.username`: User is den"
        )
        with pytest.raises(AccessError, match=sentence), running(config) as process:
            process.wait()
    assert stream.committed(0).offset == 0


SCHEMAS = {
    "avro": ("AVRO", '{"type": "record", "name": "Event", "fields": [{"name": "id", "type": "string"}]}', b"\x02a"),
    "protobuf": ("PROTOBUF", 'syntax = "proto3"; message Event { string id = 1; }', b"\0\x0a\x01a"),
    "json_schema": ("JSON", '{"type": "object", "properties": {"id": {"type": "string"}}}', b'{"id": "a"}'),
}


@pytest.mark.parametrize("wanted", SCHEMAS)
def test_a_reject_of_a_value_of_another_format_names_both_formats(registry, wanted):
    """A team that changes its producers to another format, or a file that names the wrong one, sees what is wrong."""
    parse = codecs.parser(wanted, codecs.make_codec(wanted, Registry(registry), "t"))
    for format, (kind, text, content) in SCHEMAS.items():
        id = registry_client(registry).register_schema(uuid.uuid4().hex, Schema(text, kind))
        if format == wanted:
            assert parse(join(id, content)) == {"id": "a"}
            continue
        sentence = (
            f"^not {wanted}: the schema {id} cannot be used: it is of the format `{format}`, and not `{wanted}`: "
        )
        with pytest.raises(Reject, match=sentence):
            parse(join(id, content))


@pytest.mark.parametrize(
    ("format", "content", "sentence"),
    [
        (
            "protobuf",
            b"\x02\x06",
            r"the value does not fit schema {}: the schema has no message type number 3 at \[3\]",
        ),
        ("json_schema", b'{"x": NaN}', "the value with schema {} is not JSON: "),
    ],
)
def test_a_reject_names_the_schema(registry, format, content, sentence):
    kind, text, _ = SCHEMAS[format]
    id = registry_client(registry).register_schema(uuid.uuid4().hex, Schema(text, kind))
    parse = codecs.parser(format, codecs.make_codec(format, Registry(registry), "t"))
    with pytest.raises(Reject, match=sentence.format(id)):
        parse(join(id, content))


def test_https_for_a_registry_without_tls(registry):
    with pytest.raises(StartError, match=r"does not speak TLS: write `http://` as `record\.registry\.url`"):
        Registry(registry.replace("http:", "https:")).check()


def test_a_registry_that_is_away_ends_the_processor_and_costs_no_record(kafka, registry, tmp_path, monkeypatch):
    """The schema of the first records is known. That of the others cannot be looked up until the registry is back."""
    monkeypatch.setattr(processor, "MAX_RESETS", 3)
    stream, records, port = Stream(kafka, tmp_path, partitions=1), phishing(60), free_port()
    server, url = registry.removesuffix(PATH), f"http://localhost:{port}{PATH}"
    address = LOGIN | {"url": url}
    config = stream.config(record=stream.settings["record"] | {"format": "json_schema", "registry": address})
    with running(config) as process:
        with guarded(server, USER, PASSWORD, port=port):
            stream.produce(values_of(register(registry), records[:20]))
            wait_for(lambda: (found := stream.committed(0)) and found.offset == 20, "a commit")
        stream.produce(values_of(register(registry), records[20:]))
        with pytest.raises(StalledError, match=f"{url} does not answer") as caught:
            process.wait()
    assert caught.value.exit_code == 7
    assert stream.committed(0).offset == 20
    assert stream.read(stream.rejects, 0) == []
    with guarded(server, USER, PASSWORD, port=port), running(config) as process:
        stream.assert_exact(records)
        assert process.end().rejected == 0
    assert stream.read(stream.rejects, 0) == []


@pytest.mark.parametrize("every", ["1h", None])
def test_a_schema_that_the_registry_shows_later_changes_nothing_that_was_learned(kafka, registry, tmp_path, every):
    """A replica of the registry is behind, and the process is killed before the next snapshot is due."""
    stream, records = Stream(kafka, tmp_path, partitions=1), phishing(60, unlabelled=100)
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots")} | ({"every": every} if every else {})
    stream.forget_the_dead_soon()
    known, late, hidden = register(registry), register(registry), set()
    hidden.add(late)
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, hidden=hidden) as url:
        record = stream.settings["record"] | {"format": "json_schema", "registry": LOGIN | {"url": url + PATH}}
        stream.settings["record"] = record
        stream.produce(
            [*values_of(known, records[:20]), *values_of(late, records[20:21]), *values_of(known, records[21:40])]
        )
        process = start(stream.file())
        wait_for(lambda: (found := stream.committed(0)) and found.offset == 40, "a commit")
        process.kill()
        process.communicate()
        hidden.clear()
        stream.produce(values_of(late, records[40:]))
        with running(stream.config()) as process:
            stream.assert_exact(records[:20] + records[21:])
            process.end()
    (reject,) = stream.read(stream.rejects, 1)
    assert b"Schema not found" in dict(reject.headers)["reason"]


@BOTH_CLIENTS
def test_a_replay_waits_for_a_schema_that_was_known_and_other_partitions_go_on(
    kafka, registry, tmp_path, monkeypatch, caplog
):
    """The schema was deleted for a while, and the process was killed before the next snapshot was due."""
    monkeypatch.setattr(assignment, "HELD", 0.2)
    stream, records, hidden = Stream(kafka, tmp_path), phishing(80), set()
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "every": "1h"}
    stream.forget_the_dead_soon()
    ids = register(registry), register(registry)
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, hidden=hidden) as url:
        record = stream.settings["record"] | {"format": "json_schema", "registry": LOGIN | {"url": url + PATH}}
        stream.settings["record"] = record
        for number, id in enumerate(ids):
            stream.produce(values_of(id, records[number:40:2]), partition=number)
        process = start(stream.file())
        wait_for(lambda: all((at := stream.committed(n)) and at.offset == 20 for n in range(2)), "a commit")
        process.kill()
        process.communicate()
        hidden.add(ids[0])
        for number, id in enumerate(ids):
            stream.produce(values_of(id, records[40 + number :: 2]), partition=number)
        with running(stream.config()) as process:
            wait_for(lambda: stream.committed(1).offset == 40, "the other partition")
            said = rf"partition 0 of .* wait at offset 0 .*the schema {ids[0]}: Schema not found; if .*rewind FILE --to"
            wait_for(lambda: len(re.findall(said, caplog.text)) > 1, "a second attempt")
            assert stream.committed(0).offset == 20
            hidden.clear()
            stream.assert_exact(records)
            assert process.end().rejected == 0
    assert stream.read(stream.rejects, 0) == []


OVERFLOWS = {"id": "bad", "https": 1.2e154, "popup_window": 1.2e154, "y": True}


def test_a_record_that_was_rejected_is_rejected_again_when_its_partition_is_replayed_before_the_commit(
    kafka, registry, tmp_path, monkeypatch
):
    """A record behind it cannot be learned, so its model is built again; by then the registry shows the schema."""
    stream, records = Stream(kafka, tmp_path, partitions=1), phishing(41, unlabelled=100)
    stream.settings["snapshots"] = {"folder": str(tmp_path / "snapshots"), "every": "1h"}
    stream.settings["learner"] = [{"StandardScaler": {"with_std": False}}, {"PAClassifier": {"C": 0.01, "mode": 1}}]
    stream.settings["checkpoint"] = {"every": "1s"}
    known, late, hidden, original = register(registry), register(registry), set(), Partition.replay_and_reject
    hidden.add(late)

    def replay_and_reject(self, reject):
        hidden.clear()
        original(self, reject)

    monkeypatch.setattr(formats_registry, "UNKNOWN_SECONDS", 0)
    monkeypatch.setattr(Partition, "replay_and_reject", replay_and_reject)
    with guarded(registry.removesuffix(PATH), USER, PASSWORD, hidden=hidden) as url:
        record = stream.settings["record"] | {"format": "json_schema", "registry": LOGIN | {"url": url + PATH}}
        stream.settings["record"] = record
        learned = values_of(known, records[:20] + records[21:])
        stream.produce([*learned[:20], *values_of(late, records[20:21]), *values_of(known, [OVERFLOWS]), *learned[20:]])
        with running(stream.config()):
            stream.assert_exact(records[:20] + records[21:])
    assert len(stream.read(stream.rejects, 2)) == 2
