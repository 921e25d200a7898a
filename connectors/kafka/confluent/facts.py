"""What a broker tells before a start, asked with confluent-kafka."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ResourceType

from connectors.kafka import ClientError
from connectors.kafka.confluent.cluster import Admin
from connectors.kafka.facts import Facts, TopicFacts
from connectors.kafka.retry import retry

NOT_PERMITTED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


def read_facts(topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    """Return what a broker tells. ClientError when none answers within `seconds`."""
    admin = Admin(settings)
    return retry(lambda left: _read_facts(admin, topics, group, left), seconds)


def _read_facts(admin: Admin, topics: list[str], group: str, seconds: float) -> Facts:
    client = admin.client
    with admin.errors.translated():
        asked = client.describe_topics(
            TopicCollection(topics), include_authorized_operations=True, request_timeout=seconds
        )
        found = {name: topic for name, future in asked.items() if (topic := _topic(admin, name, future, seconds))}
        names = client.list_topics(timeout=seconds).topics if set(topics) - set(found) else topics
        nodes = client.describe_cluster(request_timeout=seconds).result().nodes
        if not nodes:
            raise ClientError("the cluster has no broker that takes part")
        broker = _configs(admin, ResourceType.BROKER, nodes[0].id_string, seconds)
        return Facts(found, names, broker, _group_operations(admin, group, seconds))


def _topic(admin: Admin, name: str, future: Any, seconds: float) -> TopicFacts | None:
    try:
        topic = future.result()
    except KafkaException as error:
        if error.args[0].code() in NOT_PERMITTED:
            return TopicFacts()
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        admin.receive_failures()
        raise
    replicas = min(len(partition.replicas) for partition in topic.partitions)
    configs = _configs(admin, ResourceType.TOPIC, name, seconds)
    in_sync = min(len(each.isr) if each.leader is not None else 0 for each in topic.partitions)
    return TopicFacts(len(topic.partitions), replicas, _names(topic.authorized_operations), configs, in_sync)


def _configs(admin: Admin, kind: ResourceType, name: str, seconds: float) -> dict[str, str]:
    """Return the configuration of a topic or a broker; empty if the user may not read it."""
    try:
        return admin.read_configs(kind, name, seconds)
    except KafkaException as error:
        if error.args[0].code() not in NOT_PERMITTED:
            raise
        return {}


def _group_operations(admin: Admin, group: str, seconds: float) -> frozenset[str]:
    asked = admin.client.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=seconds)
    try:
        return _names(asked[group].result().authorized_operations)
    except KafkaException as error:
        if error.args[0].code() not in NOT_PERMITTED:
            raise
        return frozenset()


def _names(operations: Any) -> frozenset[str]:
    return frozenset(operation.name for operation in operations or ())
