"""What is wrong with the security settings of a client: a broker only refuses them, and libraries name no reason."""

import re
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

OTHER_CERTIFICATES = "ssl.certificate.pem", "ssl.keystore.location"  # of librdkafka, which this module cannot read


class Names(NamedTuple):
    """How a client calls its settings."""

    protocol: str
    mechanism: str
    user: str
    password: str
    certificate: str
    key: str
    key_password: str


NAMES = {
    "kafka-python": Names(
        "security_protocol", "sasl_mechanism", "sasl_plain_username", "sasl_plain_password",
        "ssl_certfile", "ssl_keyfile", "ssl_password",
    ),
    "confluent": Names(
        "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password",
        "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
    ),
}  # fmt: skip


def what_is_wrong(client: str, settings: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the certificate of a client, its key, or its password; None if nothing is."""
    names = NAMES[client]
    return _wrong_with_certificate(settings, names) or _missing_for_a_password(settings, names)


def _wrong_with_certificate(settings: Mapping[str, Any], names: Names) -> str | None:
    certificate = settings.get(names.certificate)
    if not certificate or "ssl.key.pem" in settings:
        return None
    place, password = settings.get(names.key) or certificate, settings.get(names.key_password)
    client, broker = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    try:
        for context in (client, broker):
            context.load_cert_chain(certificate, place, password or "")  # without one, OpenSSL asks at the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"the key in `{place}` is not that of the certificate in `{certificate}`"
        if not _holds(certificate, b"CERTIFICATE-----"):
            return f"the file `{certificate}` of `{names.certificate}` holds no certificate in PEM"
        if error.reason in (None, "PEM_LIB") and _holds(place, b"ENCRYPTED"):  # else the certificate is refused
            if not password:
                return f"the key in `{place}` has a password: `{names.key_password}` is missing"
            return (
                f"the key in `{place}` has a password: `{names.key_password}` is wrong, or the key is encrypted in an "
                "old way that OpenSSL no longer reads (`openssl pkcs8 -topk8 -provider legacy -provider default` "
                "encrypts it anew)"
            )
        return f"`{certificate}` and `{place}` cannot be used as a certificate and its key: {error.reason or error}"
    except OSError as error:
        return f"the certificate in `{certificate}` and the key in `{place}` cannot be read: {error.strerror}"
    refusal = _refusal(client, broker, certificate)
    return refusal and f"the certificate in `{certificate}` of `{names.certificate}` is not valid: {refusal}"


def _missing_for_a_password(settings: Mapping[str, Any], names: Names) -> str | None:
    """Return what a user has left out who gave a password or wanted to; the libraries then connect without one."""
    login = (names.user, names.password)
    protocol = str(settings.get(names.protocol) or "").upper()
    mechanism = str(settings.get(names.mechanism) or settings.get("sasl.mechanisms") or "").upper()
    if protocol == "PLAINTEXT":  # who writes it wants no password there, such as at a broker of their own
        return None
    if not protocol.startswith("SASL"):
        given = next((name for name in (names.mechanism, *login) if settings.get(name)), None)
        return given and f"`{given}` has no effect without `{names.protocol}: SASL_SSL`, or `SASL_PLAINTEXT`"
    if not mechanism and any(name.startswith("sasl.kerberos.") for name in settings):
        return None  # the default mechanism of librdkafka is GSSAPI
    if not mechanism:
        return f"`{names.mechanism}` is missing, such as `PLAIN` or `SCRAM-SHA-512`"
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
        lacking = next((name for name in login if not settings.get(name)), None)
        return lacking and f"`{lacking}` is missing"
    return None


def is_refusal(text: str) -> bool:
    """Tell whether a broker has ended a handshake because of the client's certificate, or for lack of one.

    >>> is_refusal("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required (_ssl.c:2580)")
    True
    """
    return bool(re.search(r"alert (bad certificate|unsupported certificate|certificate \w+|unknown ca)", text))


def is_distrust(text: str) -> bool:
    """Tell whether a client has ended a handshake because of the broker's certificate.

    >>> is_distrust("SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate")
    True
    """
    return "certificate verify failed" in text


def place_of_certificate(client: str, settings: Mapping[str, Any]) -> str | None:
    """Return where the certificate of a client is; None if it has none."""
    if file := settings.get(NAMES[client].certificate):
        return f"in `{file}`"
    return next((f"of `{name}`" for name in OTHER_CERTIFICATES if settings.get(name)), None)


def _holds(path: str, mark: bytes) -> bool:
    with open(path, "rb") as file:
        return mark in file.read()


def _refusal(client: ssl.SSLContext, broker: ssl.SSLContext, certificate: str) -> str | None:
    """Return why a broker that trusts whoever gave the certificate refuses it, such as `certificate has expired`.

    The handshake is one in memory: the standard library has no other way to ask for the dates of a certificate.
    """
    broker.verify_mode = ssl.CERT_REQUIRED
    broker.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    broker.load_verify_locations(certificate)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [broker.wrap_bio(there, back, server_side=True), client.wrap_bio(back, there)]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
            except ssl.SSLError as error:
                return error.reason
    return None
