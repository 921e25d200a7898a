"""TLS and SASL/SCRAM with both clients, and no secret in anything that is said about it."""

import base64
import datetime
import gc
import itertools
import json
import logging
import pathlib
import warnings

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from kafka.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion

from connectors import config
from connectors.errors import AccessError, ConfigError, StartError
from connectors.kafka.local.broker import LocalKafka
from connectors.tools import create_topics, produce, tail
from connectors.topics import check_broker, processor
from tests.helpers import streams
from tests.helpers.ports import free_port
from tests.helpers.streams import BOTH_CLIENTS, Stream, phishing, running, twin

SECRET = "hunter2-swordfish"
WRONG = "correct-horse-battery"
NAMES = {
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_keyfile": "ssl.key.location",
    "ssl_password": "ssl.key.password",
}
pytestmark = [pytest.mark.kafka, BOTH_CLIENTS]


def as_pkcs8(certificate, password=None):
    """The private key as Java reads it."""
    key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    lock = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


class SecureKafka(LocalKafka):
    """A broker with two more listeners: TLS with a password, and TLS with a client's certificate."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.authority, self.folder = trustme.CA(), folder
        self.password_port, self.certificate_port = free_port(), free_port()
        certificate = self.authority.issue_cert("127.0.0.1", "localhost")
        chain = b"".join(pem.bytes() for pem in certificate.cert_chain_pems)
        (folder / "server.pem").write_bytes(as_pkcs8(certificate) + chain)
        self.authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        trustme.CA().cert_pem.write_to_path(str(folder / "stranger.pem"))
        client = self.authority.issue_cert("processor@example.org")
        (folder / "client.key").write_bytes(as_pkcs8(client, SECRET))
        client.cert_chain_pems[0].write_to_path(str(folder / "client.pem"))
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        days = [now + datetime.timedelta(days=days) for days in (-2, -1, 1, 2)]
        others = {
            "expired": self.authority.issue_cert("a@example.org", not_before=days[0], not_after=days[1]),
            "future": self.authority.issue_cert("a@example.org", not_before=days[2], not_after=days[3]),
            "foreign": trustme.CA().issue_cert("a@example.org"),
        }
        for name, certificate in others.items():
            (folder / f"{name}.key").write_bytes(as_pkcs8(certificate))
            certificate.cert_chain_pems[0].write_to_path(str(folder / f"{name}.pem"))

    def _properties(self, node, settings):
        listeners = f"PASSWORD://127.0.0.1:{self.password_port},CERTIFICATE://127.0.0.1:{self.certificate_port}"
        plain = f"PLAINTEXT://{self._address(node)}"
        return super()._properties(node, settings) | {
            "listeners": f"{plain},CONTROLLER://{self._controller(node)},{listeners}",
            "advertised.listeners": f"{plain},{listeners}",
            "listener.security.protocol.map":
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PASSWORD:SASL_SSL,CERTIFICATE:SSL",
            "listener.name.password.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.password.scram-sha-512.sasl.jaas.config":
                "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            "listener.name.certificate.ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.folder / "server.pem",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.folder / "authority.pem",
        }  # fmt: skip


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    with SecureKafka(tmp_path_factory.mktemp("certificates")) as kafka:
        with KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers) as admin:
            admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion("me", ScramMechanism.SCRAM_SHA_512, SECRET)]
            )
        yield kafka


def by_password(kafka, password, authority="authority.pem"):
    return {
        "bootstrap_servers": f"127.0.0.1:{kafka.password_port}",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": password,
        "ssl_cafile": str(kafka.folder / authority),
    }


def by_certificate(kafka):
    return {
        "bootstrap_servers": f"127.0.0.1:{kafka.certificate_port}",
        "security_protocol": "SSL",
        "ssl_cafile": str(kafka.folder / "authority.pem"),
        "ssl_certfile": str(kafka.folder / "client.pem"),
        "ssl_keyfile": str(kafka.folder / "client.key"),
        "ssl_password": SECRET,
    }


@pytest.fixture
def stream(secure, tmp_path, monkeypatch):
    for ours, theirs in NAMES.items():
        monkeypatch.setitem(streams.LIBRDKAFKA, ours, theirs)
    return Stream(secure, tmp_path, partitions=1)


def assert_silent(*said):
    """Neither password is anywhere, nor in the form in which it travels."""
    text = "\n".join(map(str, said))
    for secret in (SECRET, WRONG):
        assert secret not in text and base64.b64encode(secret.encode()).decode() not in text


def forget_sockets():
    """kafka-python leaves the sockets of failed handshakes open, which would be the fault of a later test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def assert_works(stream, file):
    records = phishing(40)
    stream.produce(records)
    with running(file) as process:
        found = [json.loads(message.value) for message in stream.read(stream.output, len(records))]
        process.end()
    assert found == twin(file.build_learner(), records)


@pytest.mark.parametrize("source", ["environment", "file"])
def test_scram_over_tls(stream, secure, monkeypatch, caplog, capfd, source):
    """With all that the clients can be made to log."""
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    (stream.folder / "password").write_text(f"{SECRET}\n")
    where = {"environment": "${KAFKA_PASSWORD}", "file": f"${{file:{stream.folder / 'password'}}}"}[source]
    stream.settings["kafka"] = by_password(secure, where)
    if streams.CLIENT == "confluent":
        stream.settings["kafka"]["debug"] = "all"
    file = stream.config()
    with caplog.at_level(logging.DEBUG):
        assert_works(stream, file)
    assert len(caplog.records) > 100
    logger = "connectors.kafka.librdkafka" if streams.CLIENT == "confluent" else "kafka."
    assert any(record.name.startswith(logger) for record in caplog.records)
    assert_silent(caplog.text, *capfd.readouterr(), repr(file), file, repr(file.kafka.common), file.kafka)


def test_a_clients_certificate(stream, secure, caplog):
    stream.settings["kafka"] = by_certificate(secure)
    file = stream.config()
    with caplog.at_level(logging.DEBUG):
        assert_works(stream, file)
    assert_silent(caplog.text, file)


WRONG_CERTIFICATES = {
    "expired": ({"ssl_certfile": "expired.pem", "ssl_keyfile": "expired.key"}, "expired.pem.*certificate has expired"),
    "not yet valid": (
        {"ssl_certfile": "future.pem", "ssl_keyfile": "future.key"}, "future.pem.*certificate is not yet valid"
    ),
    "of an authority that the broker does not trust": (
        {"ssl_certfile": "foreign.pem", "ssl_keyfile": "foreign.key"}, "refuses the certificate in `.*foreign.pem`"
    ),
    "with the key of another": ({"ssl_keyfile": "expired.key"}, "expired.key` is not that of .*client.pem"),
    "with a wrong password of its key": ({"ssl_password": WRONG}, "client.key` has a password: .*password` is wrong"),
    "without the password of its key": ({"ssl_password": None}, "client.key` has a password: .*password` is missing"),
    "that is none": ({"ssl_certfile": "client.key"}, "client.key` of `ssl.certf?i?.*` holds no certificate"),
    "that is missing": ({"ssl_certfile": "nowhere.pem"}, "nowhere.pem` of `ssl.certf?i?.*` does not exist"),
    "that is not given": ({"ssl_certfile": None, "ssl_keyfile": None}, "wants a certificate of its clients"),
    "of a broker that a stranger vouches for": (
        {"ssl_cafile": "stranger.pem"}, "certificate of the broker at .* cannot be trusted"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_CERTIFICATES)
def test_a_wrong_certificate_is_named(stream, secure, monkeypatch, capfd, case):
    """Nobody is asked for a password at a terminal, either: `lint --check-broker` would wait there."""
    monkeypatch.setattr("connectors.topics.check_broker.BROKER_WAIT", 2.0)
    changes, sentence = WRONG_CERTIFICATES[case]
    files = {
        key: value if key == "ssl_password" else value and str(secure.folder / value) for key, value in changes.items()
    }
    settings = by_certificate(secure) | files
    if "ssl_keyfile" in changes and changes["ssl_keyfile"] is not None:
        settings["ssl_password"] = None  # their keys have none
    stream.settings["kafka"] = {key: value for key, value in settings.items() if value is not None}
    with pytest.raises(StartError, match=sentence) as refused:
        check_broker.check(stream.config())
    assert_silent(refused.value, "".join(said := capfd.readouterr()))
    assert "pass phrase" not in "".join(said)
    forget_sockets()


def test_topics_records_and_output_by_command(stream, secure):
    """The tools that always use kafka-python take the settings of either client."""
    stream.settings["kafka"] = by_password(secure, SECRET)
    file = stream.config(input={"topic": f"{stream.name}-new"}, rejects=None)
    created, existing = create_topics.create(file, partitions=2)
    assert (created.name, created.partitions, existing.replicas) == (f"{stream.name}-new", 2, 0)
    assert produce.produce(file, "phishing", limit=3).sent == 3
    with running(file):
        lines = [json.loads(line) for line in itertools.islice(tail.tail(file, from_beginning=True), 3)]
    assert {line["key"] for line in lines} == {f"phishing-{number}" for number in (1, 2, 3)}


def test_a_wrong_password(stream, secure, monkeypatch, caplog, capfd):
    """The broker says so and closes the connection at once: both may arrive together."""
    monkeypatch.setattr("connectors.topics.startup.BROKER_WAIT", 3.0)
    stream.settings["kafka"] = by_password(secure, WRONG)
    file = stream.config()
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(AccessError, match=r"(?s)uthentication.*correct the user") as refused,
    ):
        processor.run(file)
    assert_silent(refused.getrepr(showlocals=True), caplog.text, *capfd.readouterr())
    monkeypatch.setattr("connectors.topics.check_broker.BROKER_WAIT", 3.0)
    with pytest.raises(AccessError, match="uthentication"):
        check_broker.check(file)
    forget_sockets()


def test_a_broker_that_a_stranger_vouches_for(stream, secure, monkeypatch, caplog):
    monkeypatch.setattr("connectors.topics.startup.BROKER_WAIT", 2.0)
    stream.settings["kafka"] = by_password(secure, SECRET, "stranger.pem")
    with pytest.raises(StartError, match=r"(?i)certificate") as refused:
        processor.run(stream.config())
    assert_silent(refused.value, caplog.text)
    forget_sockets()


def test_lint_keeps_secrets(stream, secure):
    """Whatever is wrong with the line of a secret, or around it."""
    stream.settings["kafka"] = by_password(secure, SECRET) | {"no_such_key": 1}
    with pytest.raises(ConfigError) as refused:
        stream.config(input={"topc": "x"}, checkpoint={"every": SECRET[:0] or "never"})
    assert_silent(refused.value)
    misspelled = {"sasl_plain_pasword": SECRET, "ssl_key_password": [SECRET], "secret": {"a": SECRET}}
    for key, value in misspelled.items():
        stream.settings["kafka"] = {"bootstrap_servers": "localhost:1", key: value}
        with pytest.raises(ConfigError) as refused:
            config.load(stream.file())
        assert_silent(refused.value)
