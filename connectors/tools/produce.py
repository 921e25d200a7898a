"""Sends records of a file or of a River data set to a topic that a processor reads: `river-margins produce`."""

import contextlib
import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from connectors.config import Config
from connectors.config.schema import Record
from connectors.errors import AccessError, ConfigError, StartError
from connectors.formats.codecs import JSON as JSON_FORMAT
from connectors.kafka import ClientError, NotPermitted, TooLarge, client
from connectors.model.field_paths import MISSING, FieldPath
from connectors.model.rejects import Reject
from connectors.tools import evaluate, progress
from connectors.tools.create_topics import look
from connectors.topics.startup import instead_of_missing

SELDOM = 500  # records between two looks at outcomes and at the progress bar
KNOWN = 10_000  # records after which all must be acknowledged, so that an error can say how many are written
# Bytes after which they must be, too: a client gives a record up that has waited for 10 s to be sent, by default, and
# would take more at once than a slow line sends in that time.
KNOWN_BYTES = 2 * 1024 * 1024
LONGEST_FLUSH = 60.0  # seconds
JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Message(NamedTuple):
    """A record to send; `place` names it in an error."""

    place: str
    key: bytes | None
    value: bytes


class Counts:
    """Records that were sent and acknowledged, rows that are not records, and the first of those in words."""

    def __init__(self) -> None:
        self.sent = self.skipped = self.acknowledged = 0
        self.reason = ""

    @property
    def so_far(self) -> str:
        """What an error says of the records before it."""
        open = self.sent - self.acknowledged
        return (
            f"the first {self.acknowledged:,} records are written, some of the next {open:,} may be; if you send "
            f"all again, these are written twice"
        )


def produce(
    config: Config, data: str, rate: float | None = None, limit: int | None = None, *, are_labels: bool = False
) -> Counts:
    """Send records to the input topic, until the brokers have acknowledged all of them; Ctrl-C ends it early.

    Parameters
    ----------
    config
        The processor's file. `record.id` is the field with the key of a record; `record.id` and `record.label` are
        also the fields into which id and label of a River data set go.
    data
        A file of any format that `docs/formats.md` lists, `-` for JSON lines from standard input, or a River data set
        by name. A line of JSON is sent as it is, also a damaged one.
    rate
        Records per second; default: as fast as possible.
    limit
        How many records to send; default: all.
    are_labels
        Send labels of a file to the topic of the labels. `labels.id` is the field with the key of a label.

    Raises
    ------
    ConfigError
        There is no such data set, or the file's name does not say what it holds; or there are no `labels`, or they
        name no field with the id; or there are `labels`, and `record.id` names no field.
    StartError
        The data cannot be read, no broker answers, the topic does not exist, or a record is too large.
    AccessError
        A permission is missing.
    """
    topic, fields = _labels(config) if are_labels else (config.input.topic, config.record)
    if not are_labels and config.labels is not None and fields.id is None:
        raise ConfigError(
            "`record.id` names no field, and the keys of records cannot be read from a file: without a key, no label "
            "finds its record: write one"
        )
    section = (config.labels if are_labels else None) or config.record
    if section.format != JSON_FORMAT:
        raise ConfigError(f"this command sends JSON, and the format of `{topic}` is `{section.format}`")
    # A table may lack the columns of what a record may lack: one without a label is only predicted. Without a time it
    # would be a reject.
    needed = fields if are_labels else fields.model_copy(update={"label": None, "weight": None})
    kafka, source = config.kafka, evaluate.source_of(config.model_copy(update={"record": needed}), data)
    if are_labels and isinstance(source, evaluate.DataSet):
        raise ConfigError(f"`{data}` is a data set of River, which has its labels in its records: send a file")
    if topic not in (found := look(config, [topic])).topics:
        hint = instead_of_missing(topic, config.topics.values(), found.names)
        raise StartError(f"the topic `{topic}` does not exist{hint}")
    counts = Counts()
    with (
        _plainly(topic, counts),
        contextlib.closing(client(kafka.client).Producer(None, kafka.producer_settings)) as producer,
    ):
        records = source.total if isinstance(source, evaluate.DataSet) else None
        total = min(filter(None, (records, limit)), default=None)
        with progress.shown(source.name, total) as update, contextlib.suppress(KeyboardInterrupt):
            began, size = time.monotonic(), 0
            for message in _messages(fields, source, counts):
                if rate is not None:
                    time.sleep(max(0.0, began + counts.sent / rate - time.monotonic()))
                producer.send(topic, None, message.key, message.value, [], message.place)
                counts.sent += 1
                size += len(message.value)
                if counts.sent % KNOWN == 0 or size >= KNOWN_BYTES:
                    producer.flush(LONGEST_FLUSH)
                    producer.check()
                    counts.acknowledged, size = counts.sent, 0
                if rate is not None or counts.sent % SELDOM == 0:
                    update(counts.sent)
                if counts.sent == limit:  # before the next one is taken: a pipe may have none for long
                    break
        producer.flush(LONGEST_FLUSH)
        producer.check()
    return counts


def _labels(config: Config) -> tuple[str, Record]:
    """Return the topic of the labels, and the meaning of their fields: the id is the key."""
    section = config.labels
    if section is None:
        raise ConfigError("the file has no `labels`: its records have their labels in themselves")
    if section.id is None:
        raise ConfigError("`labels.id` names no field, and the keys of labels cannot be read from a file: write one")
    return section.topic, Record(id=section.id, label=section.label, time=section.time)


@contextlib.contextmanager
def _plainly(topic: str, counts: Counts) -> Iterator[None]:
    try:
        yield
    except TooLarge as error:
        which = f" ({error.opaque})" if error.opaque else ""
        raise StartError(
            f"a record{which} is too large for topic `{topic}`: raise `max.message.bytes` of the topic, and the "
            f"largest request in `kafka.producer` ({error}); {counts.so_far}"
        ) from error
    except NotPermitted as error:
        raise AccessError(f"the broker refuses to write to topic `{topic}`: {error}") from error
    except ClientError as error:
        raise StartError(f"the records were not all written to `{topic}`: {error}; {counts.so_far}") from error


def _messages(record: Record, source: evaluate.FileSource | evaluate.DataSet, counts: Counts) -> Iterator[Message]:
    return _of_data_set(record, source) if isinstance(source, evaluate.DataSet) else _of_file(record, source, counts)


def _of_data_set(record: Record, source: evaluate.DataSet) -> Iterator[Message]:
    name = source.name.partition("(")[0].lower()
    for number, (features, label) in enumerate(source.pairs(), 1):
        fields = dict(features)
        if record.id is not None:
            fields = {FieldPath.parse(record.id).name: f"{name}-{number}"} | fields
        if record.label is not None:
            fields[FieldPath.parse(record.label).name] = label
        try:
            value = orjson.dumps(fields, option=JSON)
        except TypeError as error:
            raise StartError(f"River's data set `{source.name}` cannot be written as JSON: {error}") from error
        yield Message(f"{source.name}:{number}", _key(fields, record.id), value)


def _of_file(record: Record, source: evaluate.FileSource, counts: Counts) -> Iterator[Message]:
    parse = source.parser(record.id and FieldPath.parse(record.id).name)
    for line in source.records():
        place, value = line.source, line.value or b""
        try:
            if line.known is not None:  # a row of a table that JSON cannot express
                raise line.known
            if parse is not None:
                fields = parse(value)
                _check_finite(fields)
                yield Message(place, _key(fields, record.id), orjson.dumps(fields))
            else:
                yield Message(place, _key(_fields(value), record.id), value)
        except Reject as reject:
            counts.skipped += 1
            counts.reason = counts.reason or f"{place}: {reject}"


def _check_finite(fields: dict[str, Any]) -> None:
    """Raise Reject for an infinite number, of which JSON would make null."""
    for name, cell in fields.items():
        if isinstance(cell, float) and math.isinf(cell):
            raise Reject(f"`{name}` cannot be expressed in JSON: the number {cell}")


def _fields(line: bytes) -> dict[str, Any]:
    with contextlib.suppress(orjson.JSONDecodeError):
        fields = orjson.loads(line)
        if isinstance(fields, dict):
            return fields
    return {}


def _key(fields: dict[str, Any], id: str | None) -> bytes | None:
    """Return the id of a record as text, its key; None if it has none."""
    found = FieldPath.parse(id).find(fields) if id is not None else None
    if found is None or found is MISSING:
        return None
    return found.encode() if isinstance(found, str) else orjson.dumps(found)
