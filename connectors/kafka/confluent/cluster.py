"""A look at the cluster with confluent-kafka."""

import base64
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource

from connectors.kafka import Cluster, Topic
from connectors.kafka.confluent.errors import Watch
from connectors.kafka.confluent.settings import COMMON, consumer_only, merged


def describe(topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    """Looks at the cluster: its id and these topics. ClientError when no broker answers within `seconds`."""
    topics = list(topics)
    watch, admin = _admin(settings)
    found = {}
    for name, future in admin.describe_topics(TopicCollection(topics), request_timeout=seconds).items():
        try:
            topic = future.result()
        except KafkaException as error:
            admin.poll(0)  # hands over why no broker answered
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise watch.translate(error.args[0], f"topic `{name}`", {"topic": "`Describe` on it"}) from error
        else:
            # the same text as of other clients: committed metadata holds it
            id = uuid.UUID(bytes=base64.urlsafe_b64decode(f"{topic.topic_id}=="))
            found[name] = Topic(str(id), len(topic.partitions))
    with watch.translated():
        names = admin.list_topics(timeout=seconds).topics if set(topics) - set(found) else found
        return Cluster(admin.describe_cluster(request_timeout=seconds).result().cluster_id, found, sorted(names))


def is_compacted(topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
    """Tells whether the broker may remove single records of a topic."""
    watch, admin = _admin(settings)
    (future,) = admin.describe_configs(
        [ConfigResource(ConfigResource.Type.TOPIC, topic)], request_timeout=seconds
    ).values()
    try:
        return "compact" in future.result()["cleanup.policy"].value
    except KafkaException as error:
        needed = {"topic": f"`DescribeConfigs` on topic `{topic}`"}
        raise watch.translate(error.args[0], f"topic `{topic}`", needed) from error


def _admin(settings: Mapping[str, Any]) -> tuple[Watch, AdminClient]:
    watch = Watch({})
    known = {key: value for key, value in settings.items() if key not in consumer_only()}
    with watch.translated():
        return watch, AdminClient(merged(COMMON, known) | watch.callbacks)
