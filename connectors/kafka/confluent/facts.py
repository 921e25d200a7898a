"""What a broker tells, asked with confluent-kafka."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from connectors.kafka.confluent.errors import Watch
from connectors.kafka.confluent.settings import COMMON, consumer_only, merged
from connectors.kafka.facts import Facts, TopicFacts

REFUSED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


def find(topics: list[str], group: str, settings: Mapping[str, Any], seconds: float) -> Facts:
    """Asks a broker. ClientError when none answers within `seconds`."""
    watch = Watch({})
    known = {key: value for key, value in settings.items() if key not in consumer_only()}
    with watch.translated():
        admin = AdminClient(merged(COMMON, known) | watch.callbacks)
        asked = admin.describe_topics(
            TopicCollection(topics), include_authorized_operations=True, request_timeout=seconds
        )
        found = {name: topic for name, future in asked.items() if (topic := _topic(admin, name, future, seconds))}
        names = admin.list_topics(timeout=seconds).topics if set(topics) - set(found) else topics
        node = admin.describe_cluster(request_timeout=seconds).result().nodes[0].id_string
        broker = _configs(admin, ResourceType.BROKER, node, seconds)
        groups = admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=seconds)
        try:
            may_group = _names(groups[group].result().authorized_operations)
        except KafkaException as error:
            if error.args[0].code() not in REFUSED:
                raise
            may_group = frozenset()
        return Facts(found, names, broker, may_group)


def _topic(admin: AdminClient, name: str, future: Any, seconds: float) -> TopicFacts | None:
    try:
        topic = future.result()
    except KafkaException as error:
        if error.args[0].code() in REFUSED:
            return TopicFacts()
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        admin.poll(0)  # hands over why no broker answered
        raise
    replicas = min(len(partition.replicas) for partition in topic.partitions)
    configs = _configs(admin, ResourceType.TOPIC, name, seconds)
    return TopicFacts(len(topic.partitions), replicas, _names(topic.authorized_operations), configs)


def _configs(admin: AdminClient, kind: Any, name: str, seconds: float) -> dict[str, str]:
    (future,) = admin.describe_configs([ConfigResource(kind, name)], request_timeout=seconds).values()
    try:
        return {key: entry.value for key, entry in future.result().items()}
    except KafkaException as error:
        if error.args[0].code() not in REFUSED:
            raise
        return {}


def _names(operations: Any) -> frozenset[str]:
    return frozenset(operation.name for operation in operations or ())
