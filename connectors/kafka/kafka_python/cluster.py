"""A look at the cluster with kafka-python."""

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from connectors.kafka import ClientError, Cluster, NotAccepted, NotPermitted, Topic
from connectors.kafka.kafka_python.errors import translate, translated
from connectors.kafka.kafka_python.settings import COMMON


def describe(topics: Iterable[str], settings: Mapping[str, Any], seconds: float) -> Cluster:
    """Looks at the cluster: its id and these topics. ClientError when no broker answers within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _describe(topics, settings, deadline)
        except (NotPermitted, NotAccepted):
            raise
        except ClientError:
            # one broker of several may be down: the library does not ask another one by itself
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def _reasons() -> Iterator[list[str]]:
    """Collects why connections failed, which the library only logs."""
    reasons: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: "connection" in record.getMessage().lower())
    handler.emit = lambda record: reasons.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("kafka.net.manager")
    logger.addHandler(handler)
    try:
        yield reasons
    finally:
        logger.removeHandler(handler)


def is_compacted(topic: str, settings: Mapping[str, Any], seconds: float) -> bool:
    """Tells whether the broker may remove single records of a topic."""
    with _admin(settings, seconds) as admin:
        asked = ConfigResource(ConfigResourceType.TOPIC, topic)
        found = admin.describe_configs([asked], config_filter="all")["topic"][topic]
        if "cleanup.policy" not in found:  # the library passes over the error
            raise NotPermitted(f"topic `{topic}`: its configuration is not shown; grant `DescribeConfigs` on it")
        return "compact" in found["cleanup.policy"]["value"]


@contextlib.contextmanager
def _admin(settings: Mapping[str, Any], seconds: float) -> Iterator[KafkaAdminClient]:
    known = {key: value for key, value in (COMMON | dict(settings)).items() if key in KafkaAdminClient.DEFAULT_CONFIG}
    with translated(), _reasons() as reasons:
        try:
            admin = KafkaAdminClient(**known | {"bootstrap_timeout_ms": max(1, int(seconds * 1000))})
        except kafka_errors.KafkaTimeoutError as error:
            # the last attempt is often cut off by the time-out: that a broker refuses who we are says more
            refusals = [reason for reason in reasons if "AuthenticationFailed" in reason]
            said = "; ".join([str(error), *(refusals or reasons)[-1:]])
            raise translate(kafka_errors.KafkaError(said)) from error
        try:
            yield admin
        finally:
            admin.close()


def _describe(topics: Iterable[str], settings: Mapping[str, Any], deadline: float) -> Cluster:
    with _admin(settings, deadline - time.monotonic()) as admin:
        found = {}
        for topic in admin.describe_topics(list(topics)):
            if topic["error_code"] == kafka_errors.TopicAuthorizationFailedError.errno:
                name = topic["name"]
                raise NotPermitted(f"topic `{name}`: TopicAuthorizationFailedError; grant `Describe` on it")
            if topic["error_code"] == 0:
                found[topic["name"]] = Topic(str(topic["topic_id"]), len(topic["partitions"]))
        names = admin.list_topics() if set(topics) - set(found) else found
        return Cluster(admin.describe_cluster()["cluster_id"], found, sorted(names))
