"""The sections for labels that come later, and every way to get them wrong."""

import pathlib

import pytest

from connectors import config
from connectors.config.value_types import long_seconds_of
from connectors.errors import ConfigError

TOPICS = """\
name: fraud
kafka: {bootstrap_servers: localhost:1}
input: {topic: payments}
record:
  id: id
learner: [StandardScaler, PAClassifier]
output: {topic: predictions}
labels:
  topic: chargebacks
  id: payment
  label: fraud
  within: 30d
outcomes:
  topic: outcomes
"""
FILES = """\
name: fraud
input: {file: payments.jsonl}
record:
  id: id
  time: at
learner: [StandardScaler, PAClassifier]
output: {file: predictions.jsonl}
labels:
  file: chargebacks.csv
  id: payment
  label: fraud
  time: at
  within: 30d
outcomes:
  file: outcomes.jsonl
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(text):
        pathlib.Path("p.yaml").write_text(text)
        return config.load("p.yaml")

    return load


def test_what_is_not_given_has_a_default(load):
    for text in (TOPICS, FILES):
        labels = load(text).labels
        assert (labels.id, labels.label, labels.within_ms) == ("payment", "fraud", 30 * 86_400_000)
        assert (labels.pending, labels.otherwise) == (1_000_000, None)
    assert load(TOPICS).labels.wait == 1.0
    assert load(TOPICS).labels.topic == "chargebacks" and load(TOPICS).outcomes.topic == "outcomes"


@pytest.mark.parametrize(("text", "label"), [("none", None), ("false", False), ("null", None), ("true", True)])
def test_what_becomes_of_a_record_without_a_label(load, text, label):
    assert load(FILES.replace("within: 30d", f"within: 30d\n  otherwise: {text}")).labels.otherwise is label


@pytest.mark.parametrize(
    ("text", "seconds"), [("10ms", 0.01), ("30m", 1800), ("12h", 43_200), ("30 d", 2_592_000), ("1.5d", 129_600)]
)
def test_a_record_may_wait_for_days(text, seconds):
    assert long_seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("within: 30d", "within: 5000d", "12:11: `labels.within`: `5000d` is out of range: from `10ms` to `3660d`"),
        ("within: 30d", "within: 30", "12:11: `labels.within`: a duration is a number with a unit, such as `30s`"),
        ("within: 30d", "wait: 1d", "12:9: `labels.wait`: a duration is a number with a unit, such as `500ms`"),
        ("  within: 30d\n", "", "8:1: `within` is missing in `labels`"),
        ("  label: fraud\n", "", "8:1: `label` is missing in `labels`"),
        ("within: 30d", "within: 30d\n  pending: 0", "13:12: `labels.pending`: a whole number of at least 1 is needed"),
        ("within: 30d", "within: 30d\n  otherwise: [a]", "13:14: `labels.otherwise`: a label is needed, or `none`"),
        ("  label: fraud", "  label: payment", "11:10: `labels.label`: `payment` is the id already, the label must be"),
        ("  label: fraud", "  label: fraud\n  time: fraud", "12:9: `labels.time`: `fraud` is the label already"),
        ("  topic: chargebacks", "  topic: payments", "9:3: `labels`: `payments` is the input topic already"),
        ("  topic: outcomes", "  topic: chargebacks", "14:3: `outcomes`: `chargebacks` is the labels topic already"),
        ("  topic: outcomes", "  topic: predictions", "14:3: `outcomes`: `predictions` is the output topic already"),
        ("  topic: chargebacks", "  file: a.jsonl", "9:3: what is read from a topic cannot go to a file exactly once"),
        ("  id: id", "  id: id\n  time: id", "6:9: `record.time`: `id` is the id already, the time must be"),
        ("name: fraud", "name: fraud\nsnapshots: {every: 1m}", "2:20: `snapshots.every`: it needs inputs that are"),
        (TOPICS[TOPICS.index("labels") : TOPICS.index("outcomes")], "", "9:3: `outcomes`: there are none without"),
    ],
)  # fmt: skip
def test_topics_that_cannot_be(load, old, new, expected):
    assert old in TOPICS
    with pytest.raises(ConfigError) as caught:
        load(TOPICS.replace(old, new, 1))
    assert any(line.startswith(f"p.yaml:{expected}") for line in str(caught.value).splitlines()), str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  time: at\nlearner", "learner", "7:1: `record.time` is missing: in files, nothing but a"),
        ("  id: id\n", "", "7:1: `record.id` is missing: in files, nothing but a field names a record"),
        ("  id: payment\n", "", "8:1: `labels.id` is missing: in files, nothing but a field names"),
        ("  time: at\n  within", "  within", "8:1: `labels.time` is missing: in files, nothing but a field tells"),
        ("chargebacks.csv", "payments.jsonl", "9:3: `labels`: `"),
        ("chargebacks.csv", "'-'", "9:9: `labels.file`: with `labels` it cannot be standard input"),
        ("payments.jsonl", "'-'", "2:15: `input.file`: with `labels` it cannot be standard input"),
        ("file: outcomes.jsonl", "file: outcomes.csv", "15:9: `outcomes.file`: `"),
        ("file: outcomes.jsonl", "file: predictions.jsonl", "15:3: `outcomes`: `"),
        ("file: outcomes.jsonl", "topic: outcomes", "15:3: what is read from a file cannot go to a topic exactly once"),
        ("within: 30d", "within: 30d\n  wait: 1s", "14:3: unknown key `labels.wait`"),
        ("within: 30d", "within: 30d\n  otherwise: spam", None),
        ("PAClassifier]\n", "{PAClassifier: {classes: [0, 1]}}]\n", None),
    ],
)  # fmt: skip
def test_files_that_cannot_be(load, old, new, expected):
    assert old in FILES
    text = FILES.replace(old, new, 1)
    if expected is None:
        load(text)
        return
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert any(line.startswith(f"p.yaml:{expected}") for line in str(caught.value).splitlines()), str(caught.value)


def test_a_label_that_the_learner_refuses_cannot_stand_for_a_missing_one(load):
    text = FILES.replace("PAClassifier]", "{PAClassifier: {classes: [0, 1]}}]").replace("30d", "30d\n  otherwise: 2")
    with pytest.raises(ConfigError, match=r"p.yaml:14:14: `labels\.otherwise`: "):
        load(text)


def test_a_time_orders_records_among_labels_only(load):
    text = FILES[: FILES.index("labels:")]
    with pytest.raises(ConfigError, match=r"p.yaml:5:9: `record\.time`: records are ordered by it among labels"):
        load(text)


def test_a_weight_may_wait_for_its_label(load):
    load(FILES.replace("  time: at\nlearner", "  time: at\n  weight: w\nlearner"))


def test_a_truth_value_of_yaml_1_1_is_no_label_by_accident(load):
    text = FILES.replace("within: 30d", "within: 30d\n  otherwise: no")
    with pytest.raises(ConfigError, match="`no` is text here, and not a boolean: write `false`"):
        load(text)
    named = '{PAClassifier: {classes: ["no", fraud]}}'
    for learner in (named, f"{{Calibrated: {{classifier: {named}}}}}", "AutoClassifier"):
        load(text.replace("PAClassifier]", f"{learner}]"))
    with pytest.raises(ConfigError, match="write `false`"):
        load(text.replace("PAClassifier]", "{Calibrated: {classifier: PAClassifier}}]"))


@pytest.mark.parametrize(("text", "told"), [("No", "false"), ("OFF", "false"), ("Yes", "true"), ('"false"', "false")])
def test_nor_in_capitals_or_quotes(load, text, told):
    text = FILES.replace("within: 30d", f"within: 30d\n  otherwise: {text}")
    with pytest.raises(ConfigError, match=f"is text here, and not a boolean: write `{told}`, without quotes"):
        load(text)


@pytest.mark.parametrize("truth", ["true", "false"])
def test_a_truth_value_teaches_a_regressor_no_number(load, truth):
    text = FILES.replace("PAClassifier]", "PARegressor]").replace("within: 30d", f"within: 30d\n  otherwise: {truth}")
    with pytest.raises(
        ConfigError, match=f"`labels.otherwise`: `{truth}` would teach the number {int(truth == 'true')}"
    ):
        load(text)
    assert load(text.replace(f"otherwise: {truth}", "otherwise: 0")).labels.otherwise == 0


@pytest.mark.parametrize("text", [".inf", "-.inf", "1e400"])
def test_no_record_is_learned_with_an_infinite_label(load, text):
    text = FILES.replace("within: 30d", f"within: 30d\n  otherwise: {text}")
    with pytest.raises(
        ConfigError, match=r"`labels\.otherwise`: the label is the number -?inf, and no record is learned"
    ):
        load(text)
