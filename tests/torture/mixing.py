"""The judge of mixing: each output is that of bare learners which mix when the topic's committed history says so."""

import json
from collections import Counter
from typing import Any

from connectors.config import Config
from connectors.tools import referee
from tests.helpers.mixing import follow

SECTION = {"every": "300ms"}
LEAST = 20  # mixings with others, or the run has shown nothing


def compare(config: Config) -> referee.Verdict:
    """Compare as `referee.compare` does."""
    assert config.mixing is not None and config.rejects is not None
    inputs = referee.read_topic(config, config.input.topic)
    outputs = referee.read_topic(config, config.output.topic)
    rejects = referee.read_topic(config, config.rejects.topic)
    verdict = referee.Verdict(inputs=len(inputs), outputs=len(outputs), rejects=len(rejects))
    referee._count(config, verdict, inputs, outputs, rejects)
    found = {referee.source(record): record for record in outputs}
    rejected = {referee.source(record) for record in rejects}
    left: dict[int, list[Any]] = {}
    for record in inputs:
        left.setdefault(record.partition, []).append(record)
    learners = verdict.learners = {number: config.first_learner() for number in sorted(left)}
    learned: Counter[int] = Counter()

    def play(number: int, before: float) -> int:
        while left[number] and left[number][0].offset < before:
            record = left[number].pop(0)
            name = f"{record.topic}-{number}-{record.offset}"
            if name in found or name not in rejected:
                bare = referee.expected(config, learners[number], name, record.value, name not in rejected)
                referee._check(verdict, name, found.get(name), record, bare)
                learned[number] += "label" in bare
        return learned[number]

    said = referee.read_topic(config, config.mixing.topic)
    history = [(int(record.key.rpartition(b":")[2]), json.loads(record.value)) for record in said]
    mixings = sum(bool(value["mixed"]) for _, value in follow(history, learners, play))
    for number in left:
        play(number, float("inf"))
    if mixings < LEAST:
        verdict.different += 1
        verdict.note(f"only {mixings} mixings with others, so little was tried")
    return verdict
