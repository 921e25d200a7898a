"""The client settings of a processor's file, for tools that always use kafka-python."""

from collections.abc import Mapping
from typing import Any

from connectors.config.topics_schema import Kafka
from connectors.errors import ConfigError

OTHER_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}
SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.")


def for_kafka_python(kafka: Kafka, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings under kafka-python's names, with the address of the brokers.

    Parameters
    ----------
    kafka
        The section `kafka` of the file.
    given
        Settings from that section, by the names of its client.
    known
        The settings that the kafka-python class accepts. Others are left out, unless they are about security.

    Raises
    ------
    ConfigError
        A security setting of librdkafka has no counterpart in kafka-python.
    """
    renamed = {OTHER_NAMES.get(name, name): value for name, value in given.items()}
    lost = [name for name in renamed if name not in known and name.startswith(SECURITY)]
    if lost:
        raise ConfigError(
            f"this command uses kafka-python, which has no setting for `{lost[0]}`; use Kafka's own command-line tools"
        )
    return {name: value for name, value in renamed.items() if name in known} | {
        "bootstrap_servers": kafka.bootstrap_servers
    }
