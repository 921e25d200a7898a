"""What a processor asks of the cluster before it starts, with kafka-python."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from connectors.kafka import Cluster, NotPermitted, Topic
from connectors.kafka.errors import DESCRIBE, no_topic_id
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.errors import translate, translated
from connectors.kafka.kafka_python.settings import admin_settings
from connectors.kafka.retry import retry


def describe(topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    """Return the id of the cluster and these topics. ClientError when no broker answers within `seconds`."""
    names = list(topics)
    return retry(lambda left: _describe(names, settings, left), seconds)


def _describe(topics: list[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    with opened_admin(settings, seconds) as admin:
        found = {}
        for topic in admin.describe_topics(topics):
            if topic["error_code"] == kafka_errors.TopicAuthorizationFailedError.errno:
                name = topic["name"]
                raise NotPermitted(f"topic `{name}`: TopicAuthorizationFailedError; grant {DESCRIBE}")
            if topic["error_code"] == 0:
                if topic.get("topic_id") is None:
                    raise no_topic_id(topic["name"])
                found[topic["name"]] = Topic(str(topic["topic_id"]), len(topic["partitions"]))
        names = admin.list_topics() if set(topics) - set(found) else found
        return Cluster(admin.describe_cluster()["cluster_id"], found, sorted(names))


def is_compacted(topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
    """Tell whether the broker may remove single records of a topic."""
    return retry(lambda left: _is_compacted(topic, settings, left), seconds)


def _is_compacted(topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
    with opened_admin(settings, seconds) as admin:
        configs = read_configs(admin, ConfigResourceType.TOPIC, topic)
        if "cleanup.policy" not in configs:  # the library passes over the error
            raise NotPermitted(f"topic `{topic}`: its configuration is not shown; grant `DescribeConfigs` on it")
        return "compact" in configs["cleanup.policy"]


def read_configs(admin: KafkaAdminClient, kind: ConfigResourceType, name: str) -> dict[str, str]:
    """Return the configuration of a topic or a broker; empty if the user may not read it."""
    found = admin.describe_configs([ConfigResource(kind, name)], config_filter="all")
    return {key: entry["value"] for key, entry in found[kind.name.lower()][name].items()}


@contextlib.contextmanager
def opened_admin(settings: Mapping[str, Any], seconds: float) -> Iterator[KafkaAdminClient]:
    """Open a client for administration; ClientError, with the reason, when no broker answers within `seconds`."""
    with translated(), internals.connection_failures() as reasons:
        try:
            timeout = {"bootstrap_timeout_ms": max(1, int(seconds * 1000))}
            admin = internals.connected(KafkaAdminClient, **admin_settings(settings) | timeout)
        except kafka_errors.KafkaTimeoutError as error:
            # the last attempt is often cut off by the time-out: a refusal says more
            said = "; ".join([str(error), *(internals.refusals(reasons) or reasons)[-1:]])
            raise translate(kafka_errors.KafkaError(said)) from error
        try:
            yield admin
        except (kafka_errors.KafkaConnectionError, kafka_errors.KafkaTimeoutError) as error:
            found = translate(error)
            raise type(found)(f"{_other_addresses(admin, settings)}{found}") from error
        finally:
            admin.close()


def _other_addresses(admin: KafkaAdminClient, settings: Mapping[str, Any]) -> str:
    """Return the beginning of a text about addresses that brokers have told and the file does not name, if any."""
    given = settings["bootstrap_servers"].replace(" ", "").split(",")
    others = [f"`{address}`" for address in internals.advertised_addresses(admin) if address not in given]
    if not others:
        return ""
    return (
        f"it answers, and sends this client to {', '.join(others)}: if this host cannot reach that, correct "
        "`advertised.listeners` of the brokers; "
    )
