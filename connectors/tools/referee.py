"""The referee: runs the bare learner over the input of a processor, and compares every output with it, bit for bit.

The referee shares no code with the processor but the learner itself, reads the topics with a consumer of its own, and
identifies records by their positions only.
"""

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from river import compose

from connectors.config import Config
from connectors.config.files_schema import FileConfig
from connectors.config.value_types import PROBABILITY
from connectors.errors import ConnectorError
from connectors.kafka.kafka_python.settings import from_any_client
from connectors.model.partition_model import positive_of
from river_margins import INTERCEPT

MOST_EXAMPLES = 5
LONGEST_READ = 120.0  # seconds


@dataclass
class Verdict:
    """The result of a comparison; `exact` if every input has one output, equal to the bare learner's, or one reject.

    An input with a label may have both: it was predicted, and not learned.

    Attributes
    ----------
    inputs, outputs, rejects
        Records in the three topics; only committed outputs and rejects count.
    lost, doubled, foreign
        Inputs without output and reject, with more than one of either, or with both but no label, and outputs that name
        no input.
    disordered, different
        Outputs out of the order of their partition, and outputs that differ from the bare learner's.
    dropped
        Outputs of aborted transactions; no reader of committed records sees them.
    learners
        The bare learner of each partition at the end of the input.
    examples
        The first few differences, as sentences.
    """

    inputs: int = 0
    outputs: int = 0
    rejects: int = 0
    lost: int = 0
    doubled: int = 0
    foreign: int = 0
    disordered: int = 0
    different: int = 0
    dropped: int = 0
    learners: dict[int, Any] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        return not (self.lost or self.doubled or self.foreign or self.disordered or self.different)

    def note(self, sentence: str) -> None:
        """Keep a difference as an example, if there are not enough yet."""
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(sentence)


def compare(config: Config) -> Verdict:
    """Compare the output of a processor that has read its whole input with the bare learner.

    Parameters
    ----------
    config
        The file of the processor. Every record must have an output, except those that were rejected.

    Raises
    ------
    ConnectorError
        A topic cannot be read to its end within two minutes.
    """
    inputs = read_topic(config, config.input.topic)
    outputs = read_topic(config, config.output.topic)
    rejects = read_topic(config, config.rejects.topic) if config.rejects else []
    verdict = Verdict(inputs=len(inputs), outputs=len(outputs), rejects=len(rejects))
    verdict.dropped = len(read_topic(config, config.output.topic, "read_uncommitted")) - len(outputs)
    rejected = {source(record) for record in rejects}
    found = {source(record): record for record in outputs}
    _count(config, verdict, inputs, outputs, rejects)
    for partition in sorted({record.partition for record in inputs}):
        learner = verdict.learners[partition] = config.first_learner()
        for record in inputs:
            name = f"{record.topic}-{record.partition}-{record.offset}"
            if record.partition == partition and (name in found or name not in rejected):
                bare = expected(config, learner, name, record.value, name not in rejected)
                _check(verdict, name, found.get(name), record, bare)
    return verdict


def source(record: Any) -> str:
    """Return the position of the input that the headers of an output or a reject name."""
    return (dict(record.headers).get("source") or b"").decode()


def read_topic(config: Config, topic: str, isolation_level: str = "read_committed") -> list[Any]:
    """Return all records of a topic, ordered by partition and offset; wait for open transactions to end."""
    settings = {
        **from_any_client(config.kafka.consumer_settings),
        "allow_auto_create_topics": False,
        "enable_auto_commit": False,
    }
    with contextlib.closing(KafkaConsumer(**settings)) as plain:
        # For a reader of committed records, the topic would end where the first open transaction begins.
        ends = plain.end_offsets([TopicPartition(topic, number) for number in plain.partitions_for_topic(topic) or ()])
    consumer = KafkaConsumer(**settings, isolation_level=isolation_level)
    try:
        partitions = list(ends)
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        records: dict[TopicPartition, list[Any]] = {partition: [] for partition in partitions}
        deadline = time.monotonic() + LONGEST_READ
        # The position moves past the markers of transactions; the offset of the last record would not reach the end.
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            if time.monotonic() > deadline:
                raise ConnectorError(f"the topic `{topic}` could not be read to its end within {LONGEST_READ:.0f} s")
            for partition, batch in consumer.poll(timeout_ms=200).items():
                records[partition] += [record for record in batch if record.offset < ends[partition]]
        return [record for partition in partitions for record in records[partition]]
    finally:
        consumer.close()


def _count(config: Config, verdict: Verdict, inputs: list[Any], outputs: list[Any], rejects: list[Any]) -> None:
    by_name = {f"{record.topic}-{record.partition}-{record.offset}": record for record in inputs}
    known = set(by_name)
    labelled = {name for name in map(source, rejects) if name in known and _has_label(config, by_name[name].value)}
    predicted, rejected = (Counter(map(source, records)) for records in (outputs, rejects))
    for name in sorted(known - set(predicted) - set(rejected)):
        verdict.lost += 1
        verdict.note(f"{name} has no output")
    for name in sorted({*predicted, *rejected}):
        if name not in known:
            verdict.foreign += 1
            verdict.note(f"an output comes from `{name}`, which is not an input")
        elif max(predicted[name], rejected[name]) > 1:
            verdict.doubled += 1
            verdict.note(f"{name} has {predicted[name]} outputs and {rejected[name]} rejects")
        elif predicted[name] and rejected[name] and name not in labelled:
            verdict.doubled += 1
            verdict.note(f"{name} has an output and a reject, and no label to reject")
    last: dict[tuple[int, str], int] = {}
    for record in outputs:
        if source(record) not in known:  # its name may have any form
            continue
        origin, _, offset = source(record).rpartition("-")
        if int(offset) < last.get((record.partition, origin), -1):
            verdict.disordered += 1
            verdict.note(f"{source(record)} comes after a later one of its partition")
        last[record.partition, origin] = int(offset)


def _has_label(config: Config, value: bytes | None) -> bool:
    try:
        return _find(json.loads(value or b""), config.record.label or "") is not None
    except (ValueError, RecursionError):
        return False


def expected(config: Config | FileConfig, learner: Any, name: str, value: bytes, learns: bool = True) -> dict[str, Any]:
    """Return the output that the bare learner gives for a record, as with River alone, and learn the record.

    A record that is not to be learned has no label in the output.
    """
    record, fields = config.record, json.loads(value)
    label, identity, weight = (text and _find(fields, text) for text in (record.label, record.id, record.weight))
    if not learns:
        label = None
    fields = _features(record, fields)
    transformed = fields
    *transformers, last = _steps(learner)
    for transformer in transformers:
        transformed = transformer.transform_one(transformed)
    output = {
        "id": name if identity is None else identity,
        "prediction": learner.predict_one(fields),
        "score": last.score_one(transformed),
    }
    is_probability = config.output.score == PROBABILITY
    if is_probability and output["score"] != {}:
        found = learner.predict_proba_one(fields)
        output["score"] = found if isinstance(output["score"], dict) else positive_of(found)
    if output["score"] == {} and (label is None or label is True or label is False):
        first_score = 0.5 if is_probability else 0.0
        output["score"] = None if label is None else first_score  # no label is known yet, or the first is true or false
    if config.output.explain:
        output["explanation"] = _explanation(config.output.explain, last.explain_one(transformed), output)
    if label is not None:
        output["label"] = label
        learner.learn_one(fields, label, **({} if weight is None else {"w": weight}))
    return json.loads(json.dumps(output))


def _explanation(count: int, explained: dict[Any, Any], output: dict[str, Any]) -> dict[str, float]:
    if isinstance(output["score"], dict):
        explained = explained.get(output["prediction"], {})
    features = [(str(name), part) for name, part in explained.items() if part and name is not INTERCEPT]
    return dict(features[:count])


def _find(fields: Any, path: str, missing: Any = None) -> Any:
    """Return the field of a name or a path, or `missing`."""
    if not isinstance(fields, dict) or path in fields:
        return fields.get(path) if isinstance(fields, dict) else missing
    for quoted, index, name in re.findall(r'\["([^"]+)"\]|\[([0-9]+)\]|([^.\[\]]+)', path):
        try:
            fields = fields[int(index)] if index else fields[quoted or name]
        except (LookupError, TypeError):
            return missing
    return fields


def _features(record: Any, fields: dict[str, Any]) -> dict[str, Any]:
    if record.features is None:
        taken = {
            text if text in fields else re.findall(r'[^.\[\]"]+', text)[0]
            for text in (record.id, record.label, record.weight)
            if text
        }
        found = {name: value for name, value in fields.items() if name not in taken}
    else:
        missing = object()
        pairs = [next(iter(item.items())) if isinstance(item, dict) else (item, item) for item in record.features]
        every = {re.sub(r'^\["([^"]+)"\]$', r"\1", name): _find(fields, path, missing) for name, path in pairs}
        found = {name: value for name, value in every.items() if value is not missing}
    return {name: value for name, value in found.items() if value is not None or record.nulls != "absent"}


def _steps(learner: Any) -> Iterator[Any]:
    yield from learner.steps.values() if isinstance(learner, compose.Pipeline) else (learner,)


def _check(verdict: Verdict, name: str, output: Any, record: Any, expected: dict[str, Any]) -> None:
    if output is None:
        return
    found = json.loads(output.value)
    found.pop("challengers", None)  # the champion's learner is played here
    # `repr` of a float is exact, and tells 0.0 from -0.0 and 1 from True
    if repr(found) != repr(expected) or output.key != record.key:
        verdict.different += 1
        verdict.note(f"{name}: the output is {found}, the bare learner's {expected}")
