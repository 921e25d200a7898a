"""What `explain` says is about the file that it was given."""

import json

import pytest

from connectors import cli, config
from connectors.tools.explain import explain

TOPICS = {
    "name": "spam",
    "kafka": {"bootstrap_servers": "broker:9092"},
    "input": {"topic": "mail"},
    "record": {"id": "nr", "label": "is_spam"},
    "learner": ["StandardScaler", {"PAClassifier": {"C": 0.25, "mode": 2}}],
    "output": {"topic": "verdicts"},
}
FILES = {
    "name": "spam",
    "input": {"file": "mail.jsonl"},
    "record": {"label": "is_spam"},
    "learner": ["PARegressor"],
    "output": {"file": "out.csv"},
}


@pytest.fixture
def said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def said(base, **changes):
        (tmp_path / "p.yaml").write_text(json.dumps(base | changes))
        return " ".join(explain(config.load("p.yaml")).split())

    return said


def test_a_processor_between_topics(said, tmp_path):
    text = said(TOPICS, rejects={"topic": "junk"}, checkpoint={"every": "2s"}, metrics={"port": 9464})
    headings = ["Input", "Records", "Learner", "Output", "Rejects", "Checkpoint", "Snapshots", "When it crashes"]
    assert sorted(headings, key=text.index) == headings
    for part in (
        "reads the topic `mail` at `broker:9092` with kafka-python",
        "group `spam`",
        "the oldest record",
        "A partition that the topic gets later begins with a new model, at its first record.",
        "its field `nr`. Features are all fields but those that hold `nr` and `is_spam`.",
        "`is_spam` is the label",
        "PAClassifier(C=0.25, mode=2",
        "Σ l² <= (R² + 1/(2C))·(|u|² + 2C·Σ l(u)²)",  # Crammer et al. 2006, theorem 5: the guarantee of the mode named
        "one message in `verdicts`",
        "goes to `junk` with its bytes",
        "Every 2 s, output, offsets and models move together in one transaction",
        f"`{tmp_path}/snapshots`, written at each checkpoint",
        "the newest 3 of each partition",
        "All hosts of the group need the same folder",
        "has aborted its transaction, which lasts up to 10 s",
        "within 30 s ends the process (exit code 8)",
        "Readers of `verdicts` and `junk` must set `isolation.level=read_committed`",
        "transactional ids that begin with `spam:`",
        "http://127.0.0.1:9464/metrics",
    ):
        assert part in text, part


def test_what_differs_is_said(said):
    text = said(
        TOPICS,
        input={"topic": "mail", "start": "latest", "new_partitions": "refuse"},
        record={"features": ["a", "b"]},
        checkpoint={"guarantee": "at_least_once", "every": "1m"},
        snapshots={"folder": "s3://bucket/models", "keep": {"last": 1, "hourly": 24, "daily": 7}},
        kafka={"bootstrap_servers": "broker:9092", "producer": {"transaction_timeout_ms": 5000}},
    )
    for part in (
        "the first record after its start",
        "If the topic gets more partitions, the processor ends with exit code 4.",
        "Features are `a`, `b`",
        "nothing is ever learned",
        "A rejected record is only logged and counted",
        "Every 60 s, offsets and models move together, after the output (at least once)",
        "so this output is there twice",
        "the newest 1 of each partition, one for each of 24 hours, one for each of 7 days",
        "credentials come from the environment",
        "must drop repeated messages",
    ):
        assert part in text, part
    assert "transaction" not in text and "isolation" not in text and "Prometheus" not in text


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, ["reads `{}/mail.jsonl` to the end", "is in the output or the rejects once", "cuts the output back"]),
        ({"checkpoint": {"guarantee": "at_least_once"}}, ["cuts the output back to the last checkpoint"]),
        (
            {"output": {"file": "-"}, "checkpoint": {"guarantee": "at_least_once"}},
            ["one line of standard output", "which is repeated after a crash", "lines are repeated"],
        ),
        (
            {"input": {"file": "-"}, "checkpoint": {"guarantee": "none"}, "rejects": {"file": "junk.jsonl"}},
            ["reads standard input", "a crash loses the records since then", "goes to `{}/junk.jsonl`"],
        ),
    ],
)
def test_a_processor_between_files(said, tmp_path, changes, parts):
    text = said(FILES, **changes)
    assert "It predicts numbers" in text and "PARegressor(" in text and "eps=0.0" in text
    for part in parts:
        assert part.replace("{}", str(tmp_path)) in text, part


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({}, "SIGTERM commits and leaves the group: then they take over at once."),
        ({"instance": "a"}, "SIGTERM commits and keeps the partitions for the next start of this `instance`"),
    ],
)
def test_what_sigterm_does(said, changes, part):
    assert part in said(TOPICS, **changes)


def test_no_secret_is_told(said):
    kafka = {
        "bootstrap_servers": "broker:9092",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "hunter2",
    }
    assert "hunter2" not in said(TOPICS, kafka=kafka)


def test_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "p.yaml").write_text(json.dumps(TOPICS))
    monkeypatch.setattr("sys.argv", ["river-margins", "explain", str(tmp_path / "p.yaml")])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Input\n  - It reads the topic `mail` at")


def test_weights_are_told(said):
    text = said(TOPICS, record={"label": "y", "weight": "meta.w"})
    assert "The field `meta.w` is how much a loss on the record costs; 1 if it is absent or null." in text
    assert "how much a loss" not in said(TOPICS)


def test_the_fields_that_are_no_features(said):
    record = {"id": "payment.nr", "label": "payment.is_spam", "time": "at"}
    labels = {"topic": "spam_reports", "label": "spam", "within": "2d"}
    assert "Features are all fields but those that hold `payment.nr`, `payment.is_spam` and `at`." in said(
        TOPICS, record=record, labels=labels
    )
    assert "Features are all fields." in said(TOPICS, record={})


def test_labels_that_come_later(said):
    text = said(
        TOPICS | {"record": {}},
        labels={"topic": "verdicts_of_users", "label": "spam", "within": "2d", "pending": 5000, "otherwise": False},
        outcomes={"topic": "became"},
    )
    for part in (
        "A record is identified by its key",
        "every record waits for its label",
        "Labels come later, from the topic `verdicts_of_users`: its key names the record, and its field `spam`",
        "A record waits 2d for its label, and at most 5,000 records wait",
        "One whose label does not come is learned with the label `false`",
        "What became of a record goes to `became`",
    ):
        assert part in text, part
    text = said(
        FILES | {"record": {"id": "nr", "time": "at"}},
        labels={"file": "later.csv", "id": "of", "label": "spam", "time": "at", "within": "1h"},
    )
    assert (
        "from the file `" in text
        and "its field `of` names the record" in text
        and "does not come is not learned" in text
    )


def test_outputs_that_are_repeated_may_differ_with_late_labels(said):
    changes = {"checkpoint": {"guarantee": "at_least_once"}}
    assert "written again, with the same prediction and" in said(TOPICS, **changes)
    text = said(TOPICS, labels={"topic": "of_users", "label": "spam", "within": "2d"}, **changes)
    assert "perhaps with another prediction, and the last one counts" in text and "the same prediction" not in text


def test_labels_that_are_asked_for(said):
    labels = {"topic": "of_users", "label": "spam", "within": "2d"}
    queries = {"topic": "to_label", "sampler": {"ShareSampler": {"share": 0.2, "seed": 1}}, "at_most": "100 per 10000"}
    text = said(TOPICS, labels=labels, queries=queries)
    for part in (
        "ShareSampler(share=0.2, seed=1) decides for which records the label is asked for: Request the label of a",
        "Of 10,000 records in a row, at most 100 go to the topic `to_label`",
        "Records that were not asked for wait, too.",
        "Permissions: Read on `mail` and `of_users` and group",
        "and `to_label`",
    ):
        assert part in text, part
    assert "do not wait" in said(TOPICS, labels=labels, queries=queries | {"waits": "asked"})


def test_mixing(said):
    text = said(TOPICS, mixing={"topic": "shared", "every": "20s"})
    assert "Mixing: every 20 s, within a checkpoint, the model of each partition that has read records becomes" in text
    assert "those that the others have published in `shared`" in text
    assert "The same records in the same order give the same model" not in text


def test_a_learner_around_another_is_written_as_a_call(said):
    around = {"Calibrated": {"classifier": {"PAClassifier": {"C": 0.5}}}}
    assert "Calibrated(classifier=PAClassifier(C=0.5), half_life=1000):" in said(FILES, learner=[around])
    portfolio = {"AutoClassifier": {"portfolio": [{"PAClassifier": {"C": 0.5}}, "AROWClassifier"]}}
    text = said(FILES, learner=[portfolio])
    assert "AutoClassifier(portfolio=[PAClassifier(C=0.5), AROWClassifier()], eta=0.5, share=0.001):" in text


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({}, "the same lines are then written again"),
        ({"input": {"file": "-"}, "checkpoint": {"guarantee": "none"}}, "that are not written again"),
        ({"input": {"file": "-"}, "output": {"file": "-"}, "checkpoint": {"guarantee": "none"}}, None),
    ],
)
def test_lines_of_standard_input_are_not_promised_again(said, changes, again):
    text = said(FILES, **changes)
    assert "written again" not in text if again is None else again in text


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, ""),
        ({"mixing": {"topic": "shared"}}, " with the same mixings"),
        ({"drift": {"detector": "ADWIN"}}, ""),
        ({"drift": {"detector": "ADWIN", "then": "reset"}}, " that changes at the same drifts"),
    ],
)
def test_what_a_prediction_equals(said, changes, what):
    part = f"Each prediction equals that of the bare learner on the same partition{what}, whatever crashed"
    assert part in said(TOPICS, **changes)


def test_every_permission_is_named(said):
    text = said(TOPICS, snapshots={"every": "30s"})
    assert "Permissions: Read on `mail` and group `spam`, DescribeConfigs on `mail`, Write on `verdicts`" in text
    assert "DescribeConfigs" not in said(TOPICS)
