"""The settings of either client, as kafka-python takes them."""

import subprocess
import sys

import pytest

from connectors.config.topics_schema import Kafka
from connectors.errors import ConfigError
from connectors.kafka.kafka_python.settings import check_settings, from_any_client


def settings(**given):
    kafka = Kafka(bootstrap_servers="localhost:9092")
    return from_any_client(kafka.consumer_settings | {name.replace("__", "."): value for name, value in given.items()})


def test_names_of_librdkafka():
    found = settings(security__protocol="SASL_SSL", sasl__mechanism="PLAIN", sasl__username="me", sasl__password="x")
    assert found == {
        "bootstrap_servers": "localhost:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "x",
    }


def test_names_of_kafka_python_and_settings_of_the_other_side():
    found = settings(session_timeout_ms=3000, fetch__wait__max__ms=5, transaction_timeout_ms=1)
    assert found == {"bootstrap_servers": "localhost:9092", "session_timeout_ms": 3000}


def test_a_security_setting_without_a_counterpart_is_refused():
    with pytest.raises(ConfigError, match=r"no setting for `ssl\.ca\.pem`"):
        settings(ssl__ca__pem="...")


def test_a_protocol_in_small_letters_as_librdkafka_names_it():
    assert settings(security__protocol="sasl_ssl")["security_protocol"] == "SASL_SSL"


def test_without_assertions_kafka_python_is_refused():
    code = "from connectors.kafka import client; client('kafka-python').describe"
    said = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False).stderr
    assert "StartError: kafka-python cannot read what brokers answer without assertions" in said


def test_a_setting_that_is_a_tuple_is_refused():
    assert check_settings({"api_version": [2, 5, 0]}, {})[0][2].startswith("`api_version` cannot be set: ")
