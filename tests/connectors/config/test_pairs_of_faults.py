"""Each problem of a file is reported beside each other one: two faults in one file, for every pair that fits in one."""

import itertools
import pathlib

import pytest

import river_margins as rm
from connectors import config
from connectors.errors import ConfigError
from river_margins import snapshot

TOPICS = """\
name: trial
kafka:
  bootstrap_servers: localhost:9092
  client: kafka-python
  consumer: {fetch_max_wait_ms: 400}
  producer: {linger_ms: 10}
input:
  topic: events
  start: earliest
record:
  id: id
  label: y
  features: [a, b]
learner:
  - StandardScaler
  - PAClassifier: {C: 1.0, mode: 1}
output:
  topic: predictions
rejects:
  topic: rejects
checkpoint:
  guarantee: exactly_once
  every: 1s
start_from: trained.snapshot
instance: a
"""

# A fault replaces one line of the file. The problem has this place and begins with this sentence.
SINGLE_VALUES = {
    "name": ("name: trial", "name: a/b", "1:7: `name`: `a/b` cannot be a name"),
    "servers": (
        "  bootstrap_servers: localhost:9092",
        "  bootstrap_servers: x",
        "3:22: `kafka.bootstrap_servers`",
    ),
    "client": ("  client: kafka-python", "  client: kafka_pyton", "4:11: `kafka.client` must be"),
    "start": ("  start: earliest", "  start: middle", "9:10: `input.start` must be `earliest` or `latest`"),
    "id": ("  id: id", "  id: 3", "11:7: `record.id` must be text"),
    "unset": ("  id: id", "  id: ${NOT_SET}", "11:7: the environment variable `NOT_SET` is not set"),
    "feature": ("  features: [a, b]", "  features: [a, 3]", "13:17: `record.features[1]` must be text"),
    "step": ("  - StandardScaler", "  - StandardScalar", "15:5: there is no class `StandardScalar`"),
    "parameter": ("  - PAClassifier: {C: 1.0, mode: 1}", "  - PAClassifier: {D: 1}", "16:20: `PAClassifier` has no"),
    "guarantee": ("  guarantee: exactly_once", "  guarantee: perhaps", "22:14: `checkpoint.guarantee` must be"),
    "every": ("  every: 1s", "  every: 1", "23:10: `checkpoint.every`: a duration is a number with a unit"),
    "instance": ("instance: a", "instance: 7", "25:11: `instance` must be text"),
    "key": ("instance: a", "instanze: a", "25:1: unknown key `instanze`, did you mean `instance`?"),
    "tag": ("instance: a", "instance: !!int 3", "25:11: the tag `tag:yaml.org,2002:int` is not supported"),
}
COMPARISONS = {
    "output is input": ("  topic: predictions", "  topic: events", "18:3: `output`: `events` is the input topic"),
    "rejects is input": ("  topic: rejects", "  topic: events", "20:3: `rejects`: `events` is the input topic"),
    "rejects is output": ("  topic: rejects", "  topic: predictions", "20:3: `rejects`: `predictions` is the output"),
    "label is id": ("  label: y", "  label: id", "12:10: `record.label`: `id` is the id already"),
    "feature is label": ("  features: [a, b]", "  features: [a, y]", "13:13: `record.features`: `y` is the label"),
    "feature twice": ("  features: [a, b]", "  features: [a, 3, a]", "13:13: `record.features`: `a` appears twice"),
    "every": ("  every: 1s", "  every: 10s", "23:10: `checkpoint.every` (10s) must be below `transaction_timeout_ms`"),
    "time-outs": (
        "  producer: {linger_ms: 10}",
        "  producer: {linger_ms: 10, transaction_timeout_ms: 20000, delivery_timeout_ms: x}",
        "6:29: `session_timeout_ms` (15000) must be above `transaction_timeout_ms` (20000)",
    ),
    "setting": (
        "  consumer: {fetch_max_wait_ms: 400}",
        "  consumer: {fetch_max_wait: 400}",
        "5:14: `fetch_max_wait` is not a consumer setting of kafka-python",
    ),
    "refused": ("  - PAClassifier: {C: 1.0, mode: 1}", "  - PAClassifier: {C: -1, mod: 1}", "16:20: `PAClassifier` re"),
    "order": (
        "  - StandardScaler",
        "  - Perceptron: {x: 1}",
        "15:5: `Perceptron` predicts, so it must",
    ),
    "snapshot": ("start_from: trained.snapshot", "start_from: none.snapshot", "24:13: `start_from`: the snapshot `"),
    "learner": (
        "start_from: trained.snapshot",
        "start_from: other.snapshot",
        "24:13: `start_from`: the learner is",
    ),
}
FILES = """\
name: trial
input:
  file: in.jsonl
record:
  id: id
learner: [PAClassifier]
output:
  file: out.jsonl
rejects:
  file: rejects.jsonl
checkpoint:
  guarantee: exactly_once
  every: 1s
"""
OF_FILES = {
    "name": ("name: trial", "name: a/b", "1:7: `name`: `a/b` cannot be a name"),
    "id": ("  id: id", "  id: 3", "5:7: `record.id` must be text"),
    "learner": ("learner: [PAClassifier]", "learner: [PAClasifier]", "6:11: there is no class"),
    "every": ("  every: 1s", "  every: 1", "13:10: `checkpoint.every`: a duration"),
    "input": ("  file: in.jsonl", "  file: in.txt", "3:9: `input.file`: `in.txt` does not say"),
    "output is input": ("  file: out.jsonl", "  file: ./in.jsonl", "8:3: `output`: `"),
    "rejects is output": ("  file: rejects.jsonl", "  file: out.jsonl", "10:3: `rejects`: `"),
    "rejects to csv": ("  file: rejects.jsonl", "  file: r.csv", "10:9: `rejects.file`: `"),
    "guarantee": ("  guarantee: exactly_once", "  guarantee: none", "12:3: `checkpoint`: `none` is for"),
    "standard input": ("  file: in.jsonl", "  file: '-'", "12:3: `checkpoint`: standard input cannot"),
    "standard output": ("  file: out.jsonl", "  file: '-'", "12:3: `checkpoint`: standard output cannot"),
}


HIDE_EACH_OTHER = (
    # what is compared is invalid itself, or another value that makes the comparison come out well
    {"0. id", "1. label is id"}, {"0. unset", "1. label is id"}, {"1. label is id", "1. feature is label"},
    {"0. feature", "1. feature twice"}, {"0. guarantee", "1. every"}, {"1. every", "1. time-outs"},
    {"1. output is input", "1. rejects is output"},
    # which snapshot fits is known for a learner that can be built
    *({"1. snapshot", f"{n}. {name}"} for n, name in ((0, "step"), (0, "parameter"), (1, "refused"), (1, "order"))),
    *({"1. learner", f"{n}. {name}"} for n, name in ((0, "step"), (0, "parameter"), (1, "refused"), (1, "order"))),
    # files
    {"0. input", "0. output is input"}, {"0. input", "0. guarantee"}, {"0. output is input", "0. rejects is output"},
    {"0. standard input", "0. output is input"}, {"0. standard input", "0. guarantee"},
    {"0. standard output", "0. rejects is output"}, {"0. standard output", "0. guarantee"},
    {"0. input", "0. standard output"}, {"0. standard input", "0. standard output"},
)  # fmt: skip


def pairs(text, *tables):
    """Return the pairs of faults in different lines. Not pairs: a fault that takes away what another compares."""
    lines = text.splitlines()
    faults = [(f"{number}. {name}", *fault) for number, table in enumerate(tables) for name, fault in table.items()]
    return [
        pytest.param(one[1:], other[1:], id=f"{one[0]} and {other[0]}")
        for one, other in itertools.combinations(faults, 2)
        if lines.index(one[1]) != lines.index(other[1]) and {one[0], other[0]} not in HIDE_EACH_OTHER
    ]


@pytest.fixture
def problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snapshot.save(rm.StandardScaler() | rm.PAClassifier(C=1.0, mode=1), "trained.snapshot")
    snapshot.save(rm.StandardScaler() | rm.Perceptron(), "other.snapshot")

    def problems(text):
        pathlib.Path("p.yaml").write_text(text)
        with pytest.raises(ConfigError) as caught:
            config.load("p.yaml")
        return str(caught.value).splitlines()

    return problems


@pytest.mark.parametrize(("one", "other"), pairs(TOPICS, SINGLE_VALUES, COMPARISONS))
def test_two_faults_with_topics(problems, one, other):
    check_two_faults(problems, TOPICS, one, other)


@pytest.mark.parametrize(("one", "other"), pairs(FILES, OF_FILES))
def test_two_faults_with_files(problems, one, other):
    check_two_faults(problems, FILES, one, other)


def check_two_faults(problems, text, one, other):
    changed = {old: new for old, new, _ in (one, other)}
    found = problems("".join(f"{changed.get(line, line)}\n" for line in text.splitlines()))
    for _, _, expected in (one, other):
        assert any(line.startswith(f"p.yaml:{expected}") for line in found), (expected, found)


def test_the_files_without_faults_are_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snapshot.save(rm.StandardScaler() | rm.PAClassifier(C=1.0, mode=1), "trained.snapshot")
    for text in (TOPICS, FILES):
        pathlib.Path("p.yaml").write_text(text)
        config.load("p.yaml")


def test_a_setting_that_no_client_takes_is_found_without_a_client(problems):
    text = TOPICS.replace("client: kafka-python", "client: other").replace("fetch_max_wait_ms", "fetch_max")
    found = problems(text)
    assert [line.partition(" ")[0] for line in found] == [
        "p.yaml:4:11:",
        "p.yaml:5:14:",
    ]  # `linger_ms` suits one client
