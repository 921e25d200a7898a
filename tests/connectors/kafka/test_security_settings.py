"""What is wrong with the security settings of a client is found without a broker."""

import datetime

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from connectors.kafka.security import is_distrust, is_refusal, what_is_wrong

NAMES = {
    "kafka-python": ("ssl_certfile", "ssl_keyfile", "ssl_password"),
    "confluent": ("ssl.certificate.location", "ssl.key.location", "ssl.key.password"),
}


def locked(certificate, password):
    key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    lock = serialization.BestAvailableEncryption(password)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, authority = tmp_path_factory.mktemp("certificates"), trustme.CA()
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    hour = datetime.timedelta(hours=1)
    made = {
        "good": authority.issue_cert("a@example.org"),
        "expired": authority.issue_cert("a@example.org", not_before=now - 2 * hour, not_after=now - hour),
        "early": authority.issue_cert("a@example.org", not_before=now + hour, not_after=now + 2 * hour),
    }
    for name, certificate in made.items():
        (folder / f"{name}.key").write_bytes(certificate.private_key_pem.bytes())
        (folder / f"{name}.locked").write_bytes(locked(certificate, b"swordfish"))
        (folder / f"{name}.pem").write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
        (folder / f"{name}.both").write_bytes(
            (folder / f"{name}.key").read_bytes() + (folder / f"{name}.pem").read_bytes()
        )
    (folder / "text").write_text("no PEM\n")
    return folder


@pytest.mark.parametrize("client", NAMES)
@pytest.mark.parametrize(
    ("certificate", "key", "password", "said"),
    [
        ("good.pem", "good.key", None, None),
        ("good.pem", "good.locked", "swordfish", None),
        ("good.both", None, None, None),
        ("good.pem", "good.locked", "wrong", "has a password: `{}` is wrong, or the key is encrypted in an old way"),
        ("good.pem", "good.locked", None, "has a password: `{}` is missing"),
        ("expired.pem", "expired.key", None, "certificate has expired"),
        ("early.pem", "early.key", None, "certificate is not yet valid"),
        ("good.pem", "early.key", None, "is not that of the certificate in"),
        ("text", "good.key", None, "holds no certificate in PEM"),
        ("good.key", "good.locked", "swordfish", "holds no certificate in PEM"),
        ("good.pem", "text", None, "cannot be used as a certificate and its key"),
        ("nowhere", "good.key", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_certificate(folder, client, certificate, key, password, said):
    names = NAMES[client]
    values = (str(folder / certificate), key and str(folder / key), password)
    found = what_is_wrong(client, {name: value for name, value in zip(names, values, strict=True) if value is not None})
    assert found is None if said is None else said.format(names[2]) in found
    assert "swordfish" not in str(found)


def test_no_certificate():
    assert what_is_wrong("confluent", {"bootstrap_servers": "localhost:9092"}) is None


@pytest.mark.parametrize(
    ("text", "refusal", "distrust"),
    [
        ("[SSL: SSLV3_ALERT_CERTIFICATE_UNKNOWN] sslv3 alert certificate unknown (_ssl.c:2580)", True, False),
        ("ssl/tls alert bad certificate: SSL alert number 42", True, False),
        ("tlsv13 alert certificate required: SSL alert number 116", True, False),
        ("tlsv1 alert unknown ca", True, False),
        ("certificate verify failed: unable to get local issuer certificate", False, True),
        ("Connection refused", False, False),
    ],
)
def test_whose_certificate_it_is(text, refusal, distrust):
    assert (is_refusal(text), is_distrust(text)) == (refusal, distrust)
