"""What a processor asks of the cluster before it starts, with confluent-kafka."""

import base64
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from connectors.kafka import Cluster, Topic
from connectors.kafka.confluent import internals
from connectors.kafka.confluent.errors import ErrorTranslator
from connectors.kafka.confluent.settings import admin_settings
from connectors.kafka.errors import DESCRIBE, no_topic_id
from connectors.kafka.retry import retry


class Admin:
    """A client for administration, with the translator of its errors."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.errors = ErrorTranslator()
        with self.errors.translated():
            self.client = AdminClient(admin_settings(settings) | self.errors.callbacks)
        internals.destroy_apart(self, self.client)

    def receive_failures(self) -> None:
        """Let `errors` know why no broker answered."""
        self.client.poll(0)

    def read_configs(self, kind: ResourceType, name: str, seconds: float) -> dict[str, str]:
        """Return the configuration of a topic or a broker; KafkaException if the user may not read it."""
        resource = ConfigResource(kind, name)
        (future,) = self.client.describe_configs([resource], request_timeout=seconds).values()
        return {key: entry.value for key, entry in future.result().items()}


def describe(topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    """Return the id of the cluster and these topics. ClientError when no broker answers within `seconds`."""
    names, admin = list(topics), Admin(settings)
    return retry(lambda left: _describe(admin, names, left), seconds)


def _describe(admin: Admin, topics: list[str], seconds: float) -> Cluster:
    found = {}
    for name, future in admin.client.describe_topics(TopicCollection(topics), request_timeout=seconds).items():
        try:
            topic = future.result()
        except KafkaException as error:
            admin.receive_failures()
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise admin.errors.translate(error.args[0], f"topic `{name}`", {"topic": DESCRIBE}) from error
        else:
            # the same text as of other clients, because committed metadata hold it
            id = uuid.UUID(bytes=base64.urlsafe_b64decode(f"{topic.topic_id}=="))
            if not id.int:
                raise no_topic_id(name)
            found[name] = Topic(str(id), len(topic.partitions))
    with admin.errors.translated():
        names = admin.client.list_topics(timeout=seconds).topics if set(topics) - set(found) else found
        cluster = admin.client.describe_cluster(request_timeout=seconds).result()
    return Cluster(cluster.cluster_id, found, sorted(names))


def is_compacted(topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
    """Tell whether the broker may remove single records of a topic."""
    admin = Admin(settings)
    return retry(lambda left: _is_compacted(admin, topic, left), seconds)


def _is_compacted(admin: Admin, topic: str, seconds: float) -> bool:
    try:
        return "compact" in admin.read_configs(ResourceType.TOPIC, topic, seconds)["cleanup.policy"]
    except KafkaException as error:
        permissions = {"topic": f"`DescribeConfigs` on topic `{topic}`"}
        raise admin.errors.translate(error.args[0], f"topic `{topic}`", permissions) from error
