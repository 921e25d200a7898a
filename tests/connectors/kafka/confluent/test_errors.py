"""What an error of librdkafka that has no call means."""

import pytest
from confluent_kafka import KafkaError

from connectors.kafka import ClientError, NotPermitted
from connectors.kafka.confluent.errors import ErrorTranslator

HANDSHAKE = "b:9093/1: SASL PLAIN mechanism handshake failed: "


def told(text: str) -> ErrorTranslator:
    errors = ErrorTranslator()
    errors.callbacks["error_cb"](KafkaError(KafkaError._AUTHENTICATION, text))
    return errors


@pytest.mark.parametrize(
    "text",
    [
        f"{HANDSHAKE}Local: Broker transport failure: broker's supported mechanisms: (n/a)",
        "Failed to acquire SASL OAUTHBEARER token: HTTP 503",
    ],
)
def test_what_may_pass_is_not_a_refusal(text):
    errors = told(text)
    errors.check_authentication()
    found = errors.translate(KafkaError(KafkaError._TIMED_OUT))
    assert type(found) is ClientError and text in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "b:9093/1: SASL authentication error: Authentication failed: Invalid username or password",
        f"{HANDSHAKE}Broker: Unsupported SASL mechanism: broker's supported mechanisms: GSSAPI",
    ],
)
def test_a_refusal(text):
    with pytest.raises(NotPermitted):
        told(text).check_authentication()
