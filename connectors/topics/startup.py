"""Checks before the group is joined: a problem that a person must repair ends the processor at once."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from connectors.config import Config
from connectors.config.topics_schema import FILE_SETTINGS, Kafka
from connectors.errors import AccessError, StartError
from connectors.formats.registry import RegistryUnavailable
from connectors.kafka import ClientError, Cluster, Committed, Consumer, NotPermitted, client, security
from connectors.kafka.errors import TopicWithoutId
from connectors.kafka.retry import PAUSE, retry
from connectors.snapshots.stores import Store, StoreError, open_store
from connectors.suggest import did_you_mean
from connectors.topics.bad_partitions import PartitionStateError
from connectors.topics.formats import registry_of
from connectors.topics.restore import Restorer

BROKER_WAIT = 15.0  # seconds for a broker to answer
TOPIC_MISSING_TIMEOUT = 3.0  # seconds: a broker that was silent knows of no topic for a moment
Answer = TypeVar("Answer")


def retried(ask: Callable[[], Answer]) -> Answer:
    """Return an answer of the brokers. Ask again on failure: one of them may be away, or still be starting."""
    return retry(lambda _: ask(), BROKER_WAIT)


def no_answer(kafka: Kafka, seconds: float, error: ClientError) -> str:
    """Return the sentence for brokers that did not answer within some seconds, or that were not even asked."""
    sides = kafka.consumer_settings, kafka.producer_settings
    for side in sides:
        for key in sorted(FILE_SETTINGS & side.keys()):
            path = side[key]
            if isinstance(path, str) and path != "probe":  # librdkafka looks for authorities
                if not os.path.exists(path):
                    return f"`kafka`: the file `{path}` of `{key}` does not exist ({error})"
                if not os.access(path, os.R_OK):
                    return f"`kafka`: this user may not read the file `{path}` of `{key}` ({error})"
    for side in sides:
        if wrong := security.what_is_wrong(kafka.client, side):
            return f"`kafka`: {wrong} ({error})"
    if security.is_refusal(str(error)):
        places = dict.fromkeys(security.place_of_certificate(kafka.client, side) for side in sides)
        if None not in places:
            named = " or ".join(map(str, places))
            why = f"refuses the certificate {named}: is it of an authority that the brokers trust?"
        else:
            why = "wants a certificate of its clients, and `kafka` names none"
            why += " for the consumer or for the producer" if len(places) > 1 else ""
        return f"the broker at `{kafka.bootstrap_servers}` {why} ({error})"
    if security.is_distrust(str(error)):
        return (
            f"the certificate of the broker at `{kafka.bootstrap_servers}` cannot be trusted: has it expired, is its "
            f"authority that of `kafka`, and does it name this address? ({error})"
        )
    return (
        f"no broker answered at `{kafka.bootstrap_servers}` within {seconds:g} s; is it running, and are "
        f"`bootstrap_servers` and the security settings right? ({error})"
    )


def instead_of_missing(topic: str, used: Iterable[str], known: Iterable[str], all_missing: str = "it") -> str:
    """Return the end of a sentence about a missing topic. A topic that the file uses otherwise is not what was meant.

    >>> instead_of_missing("predictions", ["predictions", "predictions-rejects"], ["predictions-rejects"])
    '; `river-margins topics create FILE` creates it'
    >>> instead_of_missing("evnts", ["evnts", "rejects"], ["events", "rejects"])
    ', did you mean `events`? If not, `river-margins topics create FILE` creates it'
    """
    create = f"`river-margins topics create FILE` creates {all_missing}"
    close = did_you_mean(topic, set(known) - set(used))
    return f"{close} If not, {create}" if close else f"; {create}"


def check(config: Config, consumer: Consumer, restorer: Restorer, seconds: float) -> None:
    """Check that the processor can take over partitions of the input; which ones, the group decides later.

    The metadata of all committed offsets are checked, and one snapshot, to see whether its learner is the one of the
    file. A process reads the others when it takes their partitions over: so it starts at once in a group of any size.

    Parameters
    ----------
    config
        The processor's file.
    consumer
        A consumer of the group that has not joined.
    restorer
        The restorer for the input topic.
    seconds
        How long to wait for offsets that are pending in the transaction of a dead process.

    Raises
    ------
    StateError
        Committed offset, snapshot and learner do not fit together: for all partitions, or, with `on_bad_state: stop`,
        for one.
    StartError
        The store of the snapshots cannot be read.
    """
    try:
        problems = _Check(consumer, restorer, seconds).problems()
    except StoreError as error:
        raise StartError(f"the snapshots of group `{config.name}`: {error}") from error
    if problems and (config.on_bad_state == "stop" or len(problems) == restorer.topic.partitions):
        raise next(iter(problems.values()))


class _Check:
    """The check of all partitions. What is missing is believed only after the committed offset was read again.

    Other processes of the group go on meanwhile, and delete the snapshots that they supersede.
    """

    def __init__(self, consumer: Consumer, restorer: Restorer, seconds: float) -> None:
        self._consumer, self._restorer, self._seconds = consumer, restorer, seconds

    def problems(self) -> dict[int, PartitionStateError]:
        """Return what is wrong with single partitions. Raise StateError for what is wrong with all."""
        numbers = range(self._restorer.topic.partitions)
        committed = self._committed(numbers)
        before = self._restorer.partitions_before(committed.values())
        if None in committed.values():  # else all have begun, and some process has not told it yet
            self._restorer.check_growth(before)
        problems = dict[int, PartitionStateError]()
        for number in numbers:
            try:
                self._check_without_snapshot(number, committed[number], before)
            except PartitionStateError as error:
                problems[number] = error
        for number, found in committed.items():
            if found is None or number in problems:
                continue
            try:
                self._check_snapshot(number, found)
                break
            except PartitionStateError as error:
                problems[number] = error
        return problems

    def _committed(self, numbers: Iterable[int]) -> dict[int, Committed | None]:
        return self._consumer.committed(numbers, self._seconds)

    def _check_without_snapshot(self, number: int, committed: Committed | None, before: int) -> None:
        if committed is not None:
            metadata = self._restorer.check_metadata(number, committed)
            try:
                self._restorer.check_offset(number, metadata, self._consumer.offset_range)
            except PartitionStateError:  # perhaps of records that were read meanwhile
                now = self._committed([number])[number]
                if now == committed:
                    raise
                self._check_without_snapshot(number, now, before)
            return
        try:
            self._restorer.check_start(number)
        except PartitionStateError:
            if self._committed([number])[number] is None:
                raise
        self._restorer.check_former(number, before)

    def _check_snapshot(self, number: int, committed: Committed) -> None:
        while True:
            try:
                self._restorer.check(number, committed)
                return
            except PartitionStateError:
                now = self._committed([number])[number]
                if now is None or now == committed:
                    raise
                committed = now


def check_store(config: Config) -> None:
    """Raise StartError if snapshots cannot be written."""
    try:
        _store(config).check()
    except StoreError as error:
        raise StartError(f"the folder of the snapshots {error}") from error


def check_registry(config: Config) -> str | None:
    """Return that the schema registry of the file is away, as it may come back; raise AccessError or StartError."""
    registry = registry_of(config)
    if registry is not None:
        try:
            registry.check()
        except RegistryUnavailable as error:
            return f"{error}; is `record.registry.url` right? It is asked again when a schema is needed"
    return None


def _store(config: Config, *below: str) -> Store:
    """Open the store. Its writes time out early enough for the open transaction to be committed."""
    transaction = config.kafka.timeouts[0]
    seconds = max(transaction - config.checkpoint.every, transaction / 2)
    return open_store(config.snapshots.folder, *below, seconds=seconds)


def check_input(config: Config, settings: dict[str, Any]) -> None:
    """Raise StartError if inputs must be replayed, but the topic is compacted."""
    topic = config.input.topic
    if config.snapshots.every is not None and client(config.kafka.client).is_compacted(topic, settings, BROKER_WAIT):
        raise StartError(
            f"`{topic}` is compacted: with `snapshots.every`, inputs since the last snapshot are read again, and some "
            f"may be gone; leave `snapshots.every` out, or set `cleanup.policy=delete` for the topic"
        )


def make_first_restorer(config: Config, settings: dict[str, Any]) -> Restorer:
    """Do as `make_restorer`, but raise StartError or AccessError if no broker answers or it refuses.

    Raise StartError also if input and labels have unlike numbers of partitions.
    """
    servers = config.kafka.bootstrap_servers
    try:
        restorer = make_restorer(config, settings)
        if unlike := restorer.unlike_partitions():
            raise StartError(unlike)
        return restorer
    except NotPermitted as error:
        raise AccessError(f"the broker at `{servers}` refuses to describe the topics: {error}") from error
    except TopicWithoutId as error:
        raise StartError(f"the broker at `{servers}`: {error}") from error
    except StoreError as error:
        raise StartError(f"the snapshots of group `{config.name}`: {error}") from error
    except ClientError as error:
        raise StartError(no_answer(config.kafka, BROKER_WAIT, error)) from error


def make_restorer(config: Config, settings: dict[str, Any], before: Restorer | None = None) -> Restorer:
    """Look up the topics of the file, and return the restorer of its input, which follows the one `before`.

    Raise StartError if a topic is missing; one that was there `before` only after a few seconds.
    """
    topics = list(config.topics.values())
    end = time.monotonic() + (TOPIC_MISSING_TIMEOUT if before else 0.0)
    while True:
        cluster = client(config.kafka.client).describe(topics, settings, BROKER_WAIT)
        missing = [topic for topic in topics if topic not in cluster.topics]
        if not missing or time.monotonic() >= end:
            break
        time.sleep(PAUSE)
    if missing:
        names = ", ".join(f"`{topic}`" for topic in missing)
        said = f"topic {names} does" if len(missing) == 1 else f"topics {names} do"
        hint = instead_of_missing(missing[0], topics, cluster.names, "it" if len(missing) == 1 else "them")
        raise StartError(f"{said} not exist at `{config.kafka.bootstrap_servers}`{hint}")
    return restorer_of(config, cluster, before)


def restorer_of(config: Config, cluster: Cluster, before: Restorer | None = None) -> Restorer:
    """Return the restorer for the input topic of a cluster."""
    found = cluster.topics[config.input.topic]
    store = _store(config, config.name, cluster.id, f"{config.input.topic}-{found.id}")
    aligned = frozenset(name for name, topic in cluster.topics.items() if topic.partitions == found.partitions)
    labels = cluster.topics[config.labels.topic] if config.labels else None
    return Restorer(config, store, found, aligned, before.said if before else set(), labels, before)
