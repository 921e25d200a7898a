"""Creates the topics that a processor's file names: `river-margins topics create`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from connectors.config import Config
from connectors.errors import AccessError, StartError
from connectors.kafka import ClientError, Cluster, NotPermitted, client
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import from_any_client
from connectors.topics.startup import BROKER_WAIT, no_answer, retried

PARTITIONS = 4
MOST_REPLICAS = 3
DAY_MS = 24 * 3600 * 1000
RETENTION_DAYS = {
    "input": 7,
    "labels": 7,
    "output": 7,
    "outcomes": 7,
    "queries": 30,
    "mixing": 0,
    "rejects": 30,
}  # a person looks at queries and rejects, later than a program at the rest; what is published stays


@dataclass(frozen=True)
class Outcome:
    """A topic of the file and whether it was created.

    Attributes
    ----------
    role
        `input`, `output` or `rejects`; `labels`, `outcomes`, `queries` or `mixing`.
    name
        The topic.
    partitions
        How many partitions it has.
    replicas
        How many replicas it was created with; 0 if it existed already.
    wanted
        How many partitions it should have.
    """

    role: str
    name: str
    partitions: int
    replicas: int
    wanted: int

    def __str__(self) -> str:
        count = _counted(self.partitions, "partition")
        if self.replicas:
            days = "compacted" if self.role == "mixing" else f"{RETENTION_DAYS[self.role]} days"
            return f"created `{self.name}` ({self.role}): {count}, {_counted(self.replicas, 'replica')}, {days}"
        note = "" if self.partitions == self.wanted else f", not {self.wanted}; it was left as it is"
        return f"exists  `{self.name}` ({self.role}): {count}{note}"


def create(config: Config, partitions: int | None = None, replication_factor: int | None = None) -> list[Outcome]:
    """Create the topics of a file that do not exist yet. Topics that exist are never changed.

    Parameters
    ----------
    config
        The processor's file.
    partitions
        Partitions of all topics but those of the rejects and of the mixing, which get one. Default: those of the input,
        the labels or the output if one exists, else 4.
    replication_factor
        Replicas of each partition. Default: 3, or the number of brokers if there are fewer.

    Raises
    ------
    StartError
        No broker answers, or the brokers refuse the number of partitions or replicas.
    AccessError
        A permission is missing.
    """
    roles = config.topics
    found = {name: topic.partitions for name, topic in look(config, list(roles.values())).topics.items()}
    existing = {role: found[name] for role, name in roles.items() if name in found}
    known = [existing[role] for role in ("input", "labels", "output") if role in existing]
    asked = partitions or next(iter(known), PARTITIONS)
    # the others follow an input or labels that exist with another number: then a record keeps its partition number
    followed = existing.get("input", existing.get("labels", asked))
    numbers = dict.fromkeys(roles, followed) | {"rejects": 1, "mixing": 1} | existing
    missing = {name: (role, numbers[role]) for role, name in roles.items() if role not in existing}
    replicas = _create(config, missing, replication_factor)
    wanted = partitions or numbers["input"]
    asked_for = dict.fromkeys(roles, wanted) | {role: numbers[role] for role in ("rejects", "mixing")}
    return [
        Outcome(role, name, numbers[role], 0 if role in existing else replicas, asked_for[role])
        for role, name in roles.items()
    ]


def look(config: Config, topics: list[str]) -> Cluster:
    """Return what the brokers tell about topics; StartError or AccessError if they do not answer or refuse."""
    kafka = config.kafka
    try:
        found = client(kafka.client).describe(topics, kafka.consumer_settings, BROKER_WAIT)
    except NotPermitted as error:
        raise AccessError(f"the broker at `{kafka.bootstrap_servers}` refuses: {error}") from error
    except ClientError as error:
        raise StartError(no_answer(kafka, BROKER_WAIT, error)) from error
    return found


def _create(config: Config, topics: dict[str, tuple[str, int]], replication_factor: int | None) -> int:
    """Create topics, given with role and number of partitions; return the number of replicas."""
    if not topics:
        return 0
    settings = from_any_client(config.kafka.consumer_settings, "admin")
    try:
        return retried(lambda: _ask(settings, topics, replication_factor))
    except NotPermitted as error:
        raise AccessError(f"grant `Create` on these topics, or on the cluster, to this user ({error})") from error
    except ClientError as error:
        raise StartError(f"the topics were not created: {error}") from error


def _ask(settings: dict[str, Any], topics: dict[str, tuple[str, int]], replication_factor: int | None) -> int:
    with translated(), KafkaAdminClient(**settings) as admin:
        brokers = len(admin.describe_cluster()["brokers"])
        replicas = replication_factor or min(MOST_REPLICAS, brokers)
        if replicas > brokers:
            raise StartError(
                f"`--replication-factor {replicas}` needs {replicas} brokers, and the cluster has {brokers}"
            )
        wanted = {
            name: {
                "num_partitions": partitions,
                "replication_factor": replicas,
                "configs": dict(_settings(role, replicas)),
            }
            for name, (role, partitions) in topics.items()
        }
        try:
            admin.create_topics(wanted, wait_for_metadata=True)
        except kafka_errors.TopicAlreadyExistsError as error:
            raise StartError(f"another program created a topic at this moment: try again ({error})") from error
        return replicas


def _settings(role: str, replicas: int) -> Iterator[tuple[str, str]]:
    """Yield the settings that must not be left to the defaults of the brokers."""
    if role == "mixing":
        yield "cleanup.policy", "compact"
    else:
        yield "cleanup.policy", "delete"
        yield "retention.ms", str(RETENTION_DAYS[role] * DAY_MS)
    if replicas >= MOST_REPLICAS:
        yield "min.insync.replicas", "2"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
