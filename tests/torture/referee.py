"""Judges a run: the bare learner, run over each partition, must give the same output in order, and the same model."""

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kafka import KafkaConsumer, TopicPartition
from river import compose

from connectors.config import Config
from connectors.tools import referee
from river_margins import snapshot


@dataclass
class Judgement:
    """`verdict` is about the output; `models` has a sentence for each partition whose committed model is not exact."""

    verdict: referee.Verdict
    models: list[str]

    @property
    def exact(self) -> bool:
        return self.verdict.exact and not self.models

    def reasons(self) -> str:
        return "; ".join([*self.verdict.examples, *self.models])


def judge(config: Config, compare: Callable[[Config], referee.Verdict] = referee.compare) -> Judgement:
    """Compares the output, and the models that the committed offsets stand for, with the bare learner."""
    verdict = compare(config)
    inputs = referee.read_topic(config, config.input.topic)
    rejected = {referee.source(record) for record in referee.read_topic(config, config.rejects.topic)}
    models = []
    for partition, end, committed, pointer in committed_models(config, config.input.topic):
        if committed != end:
            models.append(f"partition {partition}: committed is {committed}, the end is {end}")
            continue
        since = [
            (f"{record.topic}-{partition}-{record.offset}", record.value)
            for record in inputs
            if record.partition == partition and _offset(pointer) <= record.offset < end
        ]
        if len(since) != pointer.get("inputs", 0):
            models.append(f"partition {partition}: {len(since)} inputs since the snapshot, but {pointer}")
        learned = [(name, value) for name, value in since if name not in rejected]
        if found := difference(config, partition, pointer, learned, verdict.learners[partition]):
            models.append(f"partition {partition}: {found}")
    return Judgement(verdict, models)


def committed_models(config: Config, topic: str) -> list[tuple[int, int, int | None, dict[str, Any]]]:
    """Each partition of a topic: its number, its end, the committed offset, and the metadata of that."""
    consumer = KafkaConsumer(
        bootstrap_servers=config.kafka.bootstrap_servers, group_id=config.name, isolation_level="read_committed"
    )
    try:
        places = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
        ends = consumer.end_offsets(places)
        found = []
        for place in places:
            committed = consumer.committed(place, metadata=True)
            offset, pointer = (
                (committed.offset, json.loads(committed.metadata.rstrip("\0"))) if committed else (None, {})
            )
            found.append((place.partition, ends[place], offset, pointer))
        return found
    finally:
        consumer.close()


def store_folder(config: Config, partition: int) -> Path:
    """The folder of the snapshots of a partition."""
    (folder,) = Path(config.snapshots.folder).glob(f"**/{partition}")
    return folder


def _offset(pointer: dict[str, Any]) -> int:
    return int(pointer["snapshot"].partition("-")[0])


def difference(
    config: Config, partition: int, pointer: dict[str, Any], since: list[tuple[str, bytes]], bare: Any
) -> str:
    """What tells the model of a pointer, which is its snapshot and the inputs since, from the bare learner."""
    name = pointer["snapshot"]
    data = (store_folder(config, partition) / f"{name}.snapshot").read_bytes()
    if hashlib.sha256(data).hexdigest() != pointer["sha256"]:
        return f"snapshot `{name}` has not the committed SHA-256"
    model = snapshot.loads(data)
    for input_name, value in since:
        referee.expected(config, model, input_name, value)
    if _last(model).n_seen != _last(bare).n_seen:
        return f"the model of snapshot `{name}` has seen {_last(model).n_seen} examples, not {_last(bare).n_seen}"
    if pointer["examples"] != _last(bare).n_seen:
        return f"the metadata speaks of {pointer['examples']} examples, not {_last(bare).n_seen}"
    if not same(dict(_last(model).weights), dict(_last(bare).weights)):
        return f"the weights of snapshot `{name}` are not the bare learner's"
    if not same([step.__getstate__() for step in _steps(model)], [step.__getstate__() for step in _steps(bare)]):
        return f"the state of snapshot `{name}` is not the bare learner's"
    return ""


def _steps(model: Any) -> list[Any]:
    return list(model.steps.values()) if isinstance(model, compose.Pipeline) else [model]


def _last(model: Any) -> Any:
    return _steps(model)[-1]


def same(a: Any, b: Any) -> bool:
    """Whether two states are the same to the last bit.

    >>> same({"w": [0.5]}, {"w": [0.5]}), same(0.0, -0.0), same(1, True), same(np.zeros(2), np.zeros(3))
    (True, False, False, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)
