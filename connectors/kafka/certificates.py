"""What is wrong with the certificate of a client: brokers only refuse it, libraries name neither file nor reason."""

import re
import ssl
from collections.abc import Mapping
from typing import Any

CERTIFICATE = "ssl_certfile", "ssl.certificate.location"
OTHER_CERTIFICATES = "ssl.certificate.pem", "ssl.keystore.location"  # of librdkafka, which this module cannot read
KEY = "ssl_keyfile", "ssl.key.location"
PASSWORD = "ssl_password", "ssl.key.password"


def what_is_wrong(settings: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the certificate of a client's settings, or with its key; None if nothing is."""
    name, certificate = _first(settings, CERTIFICATE)
    if not certificate or "ssl.key.pem" in settings:
        return None
    place = _first(settings, KEY)[1] or certificate
    password_name, password = _first(settings, PASSWORD)
    client, broker = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    try:
        for context in (client, broker):
            context.load_cert_chain(certificate, place, password or "")  # without one, OpenSSL asks at the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"the key in `{place}` is not that of the certificate in `{certificate}`"
        if not _holds(certificate, b"CERTIFICATE-----"):
            return f"the file `{certificate}` of `{name}` holds no certificate in PEM"
        if error.reason in (None, "PEM_LIB") and _holds(place, b"ENCRYPTED"):  # else the certificate is refused
            return f"the key in `{place}` has a password: `{password_name}` is {'wrong' if password else 'missing'}"
        return f"`{certificate}` and `{place}` cannot be used as a certificate and its key: {error.reason or error}"
    except OSError as error:
        return f"the certificate in `{certificate}` and the key in `{place}` cannot be read: {error.strerror}"
    refusal = _refusal(client, broker, certificate)
    return refusal and f"the certificate in `{certificate}` of `{name}` is not valid: {refusal}"


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


def place_of(settings: Mapping[str, Any]) -> str | None:
    """Return where the certificate of a client's settings is; None if it has none."""
    if file := _first(settings, CERTIFICATE)[1]:
        return f"in `{file}`"
    return next((f"of `{name}`" for name in OTHER_CERTIFICATES if settings.get(name)), None)


def _first(settings: Mapping[str, Any], names: tuple[str, str]) -> tuple[str, Any]:
    """Return name and value of a setting that each client calls otherwise."""
    ours, librdkafkas = names
    name = librdkafkas if any("." in key for key in settings) else ours
    return name, settings.get(name)


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
