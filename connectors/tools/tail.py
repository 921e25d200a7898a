"""Reads the committed output, outcomes or rejects of a processor: `river-margins tail`."""

import contextlib
import time
from collections.abc import Callable, Collection, Generator
from typing import Any, Literal

import orjson
from kafka import KafkaConsumer, TopicPartition

from connectors.config import Config
from connectors.errors import AccessError, ConfigError, StartError
from connectors.kafka import ClientError, NotPermitted
from connectors.kafka.kafka_python import internals
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import from_any_client
from connectors.model.rejects import Reject
from connectors.tools.create_topics import look
from connectors.topics.formats import Formats
from connectors.topics.startup import instead_of_missing

WAIT_MS = 200
LOOK_EVERY = 30.0  # seconds between two looks for partitions that were added
WITHOUT = {
    "rejects": "the processor logs and counts records it cannot process",
    "outcomes": "the processor counts what it learns from labels that come later, and writes no more",
}
What = Literal["output", "outcomes", "rejects"]
SHOWN_HEADERS = {"output": ("source", "model"), "outcomes": ("source", "label"), "rejects": ("source", "reason")}


def tail(config: Config, what: What = "output", from_beginning: bool = False) -> Generator[bytes, None, None]:
    """Yield committed records as JSON, without end.

    Parameters
    ----------
    config
        The processor's file.
    what
        Which topic to read.
    from_beginning
        Start with the oldest record of each partition; default: with the next one that is written.

    Raises
    ------
    ConfigError
        The file has no such topic.
    StartError
        No broker answers, or the topic does not exist.
    AccessError
        A permission is missing.
    """
    if (topic := config.topics.get(what)) is None:
        raise ConfigError(f"the file has no `{what}`: {WITHOUT[what]}")
    cluster = look(config, [topic])
    found = cluster.topics.get(topic)
    if found is None:
        hint = instead_of_missing(topic, config.topics.values(), cluster.names)
        raise StartError(f"the topic `{topic}` does not exist{hint}")
    decode = Formats(config).decode_output if what == "output" else None
    settings = from_any_client(config.kafka.consumer_settings)
    settings |= {"isolation_level": "read_committed", "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    try:
        with translated(), contextlib.closing(KafkaConsumer(**settings)) as consumer:
            internals.never_create_consumed_topic(consumer)
            places = [TopicPartition(topic, number) for number in range(found.partitions)]
            consumer.assign(places)
            consumer.seek_to_beginning() if from_beginning else consumer.seek_to_end()
            looked = time.monotonic()
            while True:
                if time.monotonic() - looked > LOOK_EVERY:
                    added = [TopicPartition(topic, number) for number in _added(config, topic, len(places))]
                    if added:
                        places += added
                        consumer.assign(places)  # the others stay where they are
                        consumer.seek_to_beginning(*added)
                    looked = time.monotonic()
                for records in consumer.poll(timeout_ms=WAIT_MS).values():
                    yield from (_shown(record, SHOWN_HEADERS[what], decode) for record in records)
    except NotPermitted as error:
        raise AccessError(f"grant `Read` on topic `{topic}` to this user ({error})") from error
    except ClientError as error:
        raise StartError(f"the topic `{topic}` cannot be read: {error}") from error


def _added(config: Config, topic: str, known: int) -> range:
    """Return the numbers of partitions that a topic has beyond the known ones. Raise StartError if it was deleted."""
    try:
        found = look(config, [topic]).topics.get(topic)
    except (StartError, AccessError):  # brokers that are away come back
        return range(0)
    if found is None:
        raise StartError(f"the topic `{topic}` was deleted")
    return range(known, found.partitions)


def _shown(record: Any, names: Collection[str], decode: Callable[[bytes], Any] | None) -> bytes:
    """Return a line of JSON: the key, these headers and the value of a record, as text if that is not JSON."""
    given = record.headers or ()  # None if a name is not UTF-8
    headers = {name: _text(content) for name, content in given if name in names}  # the last is ours
    return orjson.dumps({"key": _text(record.key), **headers, "value": _value(record.value, decode)})


def _value(value: bytes | None, decode: Callable[[bytes], Any] | None) -> Any:
    if value is not None and decode is not None:
        with contextlib.suppress(Reject, TypeError):  # TypeError: a codec of another package gives what JSON lacks
            return orjson.Fragment(orjson.dumps(decode(value)))
    if value is not None:
        with contextlib.suppress(orjson.JSONDecodeError, TypeError):  # TypeError: nested deeper than it can write
            orjson.dumps(orjson.loads(value))
            # As it is: a number beyond 64 bits, which may be why it was rejected, would become another one.
            return orjson.Fragment(value.replace(b"\n", b" ").replace(b"\r", b" "))
    return _text(value)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")
