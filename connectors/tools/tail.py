"""Reads the committed output, outcomes or rejects of a processor: `river-margins tail`."""

import contextlib
from collections.abc import Callable, Generator
from typing import Any, Literal

import orjson
from kafka import KafkaConsumer, TopicPartition

from connectors.config import Config
from connectors.errors import AccessError, ConfigError, StartError
from connectors.kafka import ClientError, NotPermitted
from connectors.kafka.kafka_python.errors import translated
from connectors.kafka.kafka_python.settings import from_any_client
from connectors.tools.create_topics import look
from connectors.topics.formats import Formats

WAIT_MS = 200
WITHOUT = {
    "rejects": "the processor logs and counts records it cannot process",
    "outcomes": "the processor counts what it learns from labels that come later, and writes no more",
}
What = Literal["output", "outcomes", "rejects"]
SHOWN_HEADERS = ("source", "reason")


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
    found = look(config, [topic]).topics.get(topic)
    if found is None:
        raise StartError(f"the topic `{topic}` does not exist; `river-margins topics create FILE` creates it")
    places = [TopicPartition(topic, number) for number in range(found.partitions)]
    decode = Formats(config).decode_output if what == "output" else None
    settings = from_any_client(config.kafka.consumer_settings)
    settings |= {"isolation_level": "read_committed", "enable_auto_commit": False, "allow_auto_create_topics": False}
    try:
        with translated(), contextlib.closing(KafkaConsumer(**settings)) as consumer:
            consumer.assign(places)
            consumer.seek_to_beginning() if from_beginning else consumer.seek_to_end()
            while True:
                for records in consumer.poll(timeout_ms=WAIT_MS).values():
                    yield from (_shown(record, decode) for record in records)
    except NotPermitted as error:
        raise AccessError(f"grant `Read` on topic `{topic}` to this user ({error})") from error
    except ClientError as error:
        raise StartError(f"the topic `{topic}` cannot be read: {error}") from error


def _shown(record: Any, decode: Callable[[bytes], Any] | None) -> bytes:
    """Return a line of JSON: key, source and reason of a record, and its value, as text if that is not JSON."""
    given = record.headers or ()  # None if a name is not UTF-8
    headers = {name: _text(content) for name, content in given if name in SHOWN_HEADERS}  # the last is ours
    return orjson.dumps({"key": _text(record.key), **headers, "value": _value(record.value, decode)})


def _value(value: bytes | None, decode: Callable[[bytes], Any] | None) -> Any:
    if value is not None and decode is not None:
        with contextlib.suppress(ValueError):
            return decode(value)
    if value is not None:
        with contextlib.suppress(orjson.JSONDecodeError, TypeError):  # TypeError: nested deeper than it can write
            return orjson.Fragment(orjson.dumps(orjson.loads(value)))
    return _text(value)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")
