"""What a broker tells, asked with kafka-python."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import DescribeGroupsRequest

from connectors.kafka import ClientError
from connectors.kafka.facts import Facts, TopicFacts
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import COMMON


def find(topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    """Asks a broker. ClientError when none answers within `seconds`."""
    with translated(), _admin(settings, seconds) as admin:
        found = {}
        for topic in admin.describe_topics(topics):
            if topic["error_code"] == 0:
                found[topic["name"]] = TopicFacts(
                    len(topic["partitions"]),
                    min(len(partition["replica_nodes"]) for partition in topic["partitions"]),
                    frozenset(topic["authorized_operations"]),
                    _configs(admin, ConfigResourceType.TOPIC, topic["name"]),
                )
            elif topic["error_code"] == kafka_errors.TopicAuthorizationFailedError.errno:
                found[topic["name"]] = TopicFacts()
        names = admin.list_topics() if set(topics) - set(found) else topics
        node = str(admin.describe_cluster()["brokers"][0]["broker_id"])
        return Facts(found, names, _configs(admin, ConfigResourceType.BROKER, node), _may(admin, group, seconds))


@contextlib.contextmanager
def _admin(settings: Mapping[str, Any], seconds: float) -> Iterator[KafkaAdminClient]:
    known = {key: value for key, value in (COMMON | dict(settings)).items() if key in KafkaAdminClient.DEFAULT_CONFIG}
    admin = KafkaAdminClient(**known | {"bootstrap_timeout_ms": int(seconds * 1000)})
    # from version 6 on, nothing is said of a group that does not exist yet, not even who may join it
    admin._describe_groups_request = lambda groups: DescribeGroupsRequest(
        groups=list(groups), include_authorized_operations=True, max_version=5
    )
    try:
        yield admin
    finally:
        admin.close()


def _configs(admin: KafkaAdminClient, kind: ConfigResourceType, name: str) -> dict[str, str]:
    found = admin.describe_configs([ConfigResource(kind, name)], config_filter="all")
    return {key: entry["value"] for key, entry in found[kind.name.lower()][name].items()}


def _may(admin: KafkaAdminClient, group: str, seconds: float) -> frozenset[str]:
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = admin.describe_groups([group])[group]
            if not found["error"]:
                return frozenset(found["authorized_operations"])
            if "AuthorizationFailed" in found["error"]:
                return frozenset()
            problem: Exception = ClientError(found["error"])
        except kafka_errors.GroupAuthorizationFailedError:
            return frozenset()
        except kafka_errors.CoordinatorNotAvailableError as error:
            problem = error
        if time.monotonic() > deadline:  # a new cluster needs a moment for its first group
            raise problem
        time.sleep(0.1)
