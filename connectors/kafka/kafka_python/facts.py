"""What a broker tells before a start, asked with kafka-python."""

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResourceType

from connectors.kafka import ClientError
from connectors.kafka.facts import Facts, TopicFacts
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.cluster import opened_admin, read_configs
from connectors.kafka.retry import retry


def read_facts(topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    """Return what a broker tells. ClientError when none answers within `seconds`."""
    return retry(lambda left: _read_facts(topics, group, settings, left), seconds)


def _read_facts(topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    with opened_admin(settings, seconds) as admin:
        internals.describe_groups_with_operations(admin)
        found = {}
        for topic in admin.describe_topics(topics):
            if topic["error_code"] == 0:
                found[topic["name"]] = TopicFacts(
                    len(topic["partitions"]),
                    min(len(partition["replica_nodes"]) for partition in topic["partitions"]),
                    frozenset(topic["authorized_operations"]),
                    read_configs(admin, ConfigResourceType.TOPIC, topic["name"]),
                    min(len(each["isr_nodes"]) * (each["leader_id"] >= 0) for each in topic["partitions"]),
                )
            elif topic["error_code"] == kafka_errors.TopicAuthorizationFailedError.errno:
                found[topic["name"]] = TopicFacts()
        names = admin.list_topics() if set(topics) - set(found) else topics
        # The library also asks for those that are down, or gone for good, which Kafka 4 tells.
        brokers = [each for each in admin.describe_cluster()["brokers"] if not each.get("is_fenced")]
        if not brokers:
            raise ClientError("the cluster has no broker that takes part")
        broker = read_configs(admin, ConfigResourceType.BROKER, str(brokers[0]["broker_id"]))
        return Facts(found, names, broker, _group_operations(admin, group))


def _group_operations(admin: KafkaAdminClient, group: str) -> frozenset[str]:
    """Return what the user may do with the group; ClientError while a new cluster has no coordinator yet."""
    try:
        found = admin.describe_groups([group])[group]
    except kafka_errors.GroupAuthorizationFailedError:
        return frozenset()
    if "AuthorizationFailed" in (found["error"] or ""):
        return frozenset()
    if found["error"]:
        raise ClientError(found["error"])
    return frozenset(found["authorized_operations"])
