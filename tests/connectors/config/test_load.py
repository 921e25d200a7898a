"""The YAML file: every field, every way to get it wrong, and where the mistake stands."""

import pathlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose, preprocessing

import river_margins as rm
from connectors import config
from connectors.config.learner import assemble
from connectors.errors import ConfigError
from river_margins import snapshot
from tests.helpers.paths import ROOT

EXAMPLES = ROOT / "deploy" / "examples"

GOOD = """\
name: phishing
kafka:
  bootstrap_servers: localhost:9092
input: {topic: events}
record: {id: id, label: is_phishing}
learner:
  - StandardScaler
  - PAClassifier: {C: 0.01, mode: 1}
output: {topic: predictions}
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load(text, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        pathlib.Path("p.yaml").write_text(text, encoding="utf-8")
        return config.load("p.yaml")

    return load


@pytest.fixture
def problems(load):
    def problems(text, **environment):
        with pytest.raises(ConfigError) as caught:
            load(text, **environment)
        assert caught.value.exit_code == 2
        return str(caught.value).splitlines()

    return problems


def with_lines(*lines):
    return GOOD + "".join(f"{line}\n" for line in lines)


def test_defaults(load):
    found = load(GOOD)
    assert (found.name, found.instance, found.rejects) == ("phishing", None, None)
    assert (found.kafka.client, found.kafka.common, found.kafka.consumer, found.kafka.producer) == (
        ("kafka-python", {}, {}, {})
    )
    assert (found.input.topic, found.input.start) == ("events", "earliest")
    assert (found.record.id, found.record.label, found.record.features) == ("id", "is_phishing", None)
    assert (found.checkpoint.guarantee, found.checkpoint.every) == ("exactly_once", 1.0)
    assert found.snapshots.folder == str(pathlib.Path.cwd() / "snapshots")


def test_everything_given(load):
    text = """\
name: a.b_c-1
kafka: {bootstrap_servers: "a:1, [::1]:2", client: kafka-python, client_id: me, consumer: {fetch_max_wait_ms: 10},
        producer: {linger_ms: 5}}
instance: worker-1
input: {topic: in, start: latest}
record: {id: key, label: y, features: [a, b]}
learner: [PAClassifier]
output: {topic: out}
rejects: {topic: bad}
checkpoint: {guarantee: at_least_once, every: 250ms}
snapshots: /var/lib/models
"""
    found = load(text)
    assert found.kafka.bootstrap_servers == "a:1, [::1]:2"
    assert found.kafka.common == {"client_id": "me"}
    assert (found.kafka.consumer, found.kafka.producer) == ({"fetch_max_wait_ms": 10}, {"linger_ms": 5})
    assert (found.instance, found.input.start, found.record.features) == ("worker-1", "latest", ["a", "b"])
    assert found.rejects.topic == "bad"
    assert (found.checkpoint.guarantee, found.checkpoint.every) == ("at_least_once", 0.25)
    assert found.snapshots.folder == "/var/lib/models"


def test_a_config_cannot_be_changed(load):
    with pytest.raises(ValueError, match="frozen"):
        load(GOOD).name = "other"


@pytest.mark.parametrize(
    ("text", "seconds"), [("10ms", 0.01), ("500ms", 0.5), ("1s", 1), ("1.5 s", 1.5), ("2m", 120), ("1h", 3600)]
)
def test_durations(load, text, seconds):
    assert load(with_lines("checkpoint: {guarantee: at_least_once, every: " + text + "}")).checkpoint.every == seconds


@pytest.mark.parametrize("text", ["1", "1.5", "s", "-1s", "1 day", "1e3s", "[1s]", "", "9ms", "2h", "0s"])
def test_durations_that_are_none(problems, text):
    (line,) = problems(with_lines("checkpoint:", "  every: " + text))
    assert line.startswith("p.yaml:11:")
    assert "duration" in line or "out of range" in line


def test_the_learner_is_fresh_at_each_call(load):
    found = load(GOOD)
    first, second = found.build_learner(), found.build_learner()
    assert isinstance(first, compose.Pipeline)
    assert list(first.steps) == ["StandardScaler", "PAClassifier"]
    assert first["PAClassifier"].C == 0.01
    first.learn_one({"a": 1.0}, True)
    first.learn_one({"a": 2.0}, False)
    assert first["PAClassifier"].weights and not second["PAClassifier"].weights


def test_one_step_is_no_pipeline(load):
    learner = load(GOOD.replace("  - StandardScaler\n", "")).build_learner()
    assert type(learner).__name__ == "PAClassifier"


def test_parts_are_named_like_steps(load):
    step = "MarginClassifier: {rule: {PA1: {C: 1e-1}}, space: Linear}"
    learner = load(GOOD.replace("PAClassifier: {C: 0.01, mode: 1}", step)).build_learner()
    assert learner["MarginClassifier"].rule.parameters["C"] == 0.1


def test_kernels_and_budgets_are_named_too(load):
    step = "KernelPerceptron: {kernel: {RBF: {gamma: 0.5}}, budget: {RandomRemoval: {size: 20, seed: 3}}}"
    learner = load(GOOD.replace("PAClassifier: {C: 0.01, mode: 1}", step)).build_learner()["KernelPerceptron"]
    assert (learner.kernel, learner.budget) == (rm.RBF(0.5), rm.RandomRemoval(20, seed=3))
    step = "MarginClassifier: {rule: PA, space: {Kernel: {kernel: LinearKernel, budget: OldestRemoval}}}"
    learner = load(GOOD.replace("PAClassifier: {C: 0.01, mode: 1}", step)).build_learner()["MarginClassifier"]
    assert learner.space == rm.Kernel(rm.LinearKernel(), rm.OldestRemoval(100))


def test_all_problems_are_named_at_once_with_their_places(problems):
    text = """\
nme: phishing
kafka:
  client: conflunt
  consumer: {group_id: a, fetch_max_wait_ms: 10}
  producer: 3
input: {topc: events, start: middle}
record:
  features: [a, 3, b]
learner:
  - StandardScalar
  - PAClassifier: {C: 0.01, mod: 1}
output: {topic: "a b"}
rejects: predictions
checkpoint: {guarantee: exactly_onc, every: 1}
snapshots: s3://me:password@bucket/models
instance: 7
"""
    expected = [
        "1:1: `name` is missing",
        "1:1: unknown key `nme`, did you mean `name`?",
        "2:1: `bootstrap_servers` is missing in `kafka`",
        "3:11: `kafka.client` must be `kafka-python` or `confluent`, found the text `conflunt`",
        "4:14: `group_id` is not a setting of librdkafka, did you mean `group.id`?",
        "4:27: `fetch_max_wait_ms` is not a setting of librdkafka",
        "5:13: `kafka.producer` must be a mapping, found the number `3`",
        "6:1: `topic` is missing in `input`",
        "6:9: unknown key `input.topc`, did you mean `topic`?",
        "6:30: `input.start` must be `earliest` or `latest`, found the text `middle`",
        "8:17: `record.features[1]` must be text, found the number `3`, put it in quotes",
        "10:5: there is no class `StandardScalar`, did you mean `StandardScaler`?",
        "11:29: `PAClassifier` has no parameter `mod`, did you mean `mode`?",
        "12:17: `output.topic`: `a b` cannot be a topic",
        "13:10: `rejects` must be a mapping, such as `{topic: ...}`, found the text `predictions`",
        "14:25: `checkpoint.guarantee` must be `exactly_once` or `at_least_once`, found the text `exactly_onc`",
        "14:45: `checkpoint.every`: a duration is a number with a unit",
        "15:1: `snapshots.folder`: a URL must not hold a password: credentials come from the environment",
        "16:11: `instance` must be text, found the number `7`, put it in quotes",
    ]
    found = problems(text)
    assert [line[: len("p.yaml:") + len(start)] for line, start in zip(found, expected, strict=True)] == [
        f"p.yaml:{start}" for start in expected
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- StandardScaler", "- PAClassifier", "7:5: `PAClassifier` predicts, so it must be the last step"),
        ("- PAClassifier: {C: 0.01, mode: 1}", "- river.preprocessing.MaxAbsScaler", "8:5: the last step must be a"),
        (
            "- PAClassifier: {C: 0.01, mode: 1}",
            "- PAOneClass",
            "8:5: the last step must be a classifier or a regressor, `PAOneClass` learns without labels",
        ),
        (
            "- PAClassifier: {C: 0.01, mode: 1}",
            "- PAMultiLabelClassifier",
            "8:5: the last step must be a classifier or a regressor, `PAMultiLabelClassifier` learns sets of labels",
        ),
        ("{C: 0.01, mode: 1}", "{C: -1}", "8:20: `PAClassifier` refuses `C`: "),
        ("{C: 0.01, mode: 1}", "{intercept: no}", "8:20: `intercept` of `PAClassifier` must be `true` or `false`"),
        ("{C: 0.01, mode: 1}", "{exact: 'off'}", "8:20: `exact` of `PAClassifier` must be `true` or `false`"),
        (
            "PAClassifier: {C: 0.01, mode: 1}",
            "MarginClassifier: {rule: PA1, intercept: no}",
            "8:35: `intercept` of `MarginClassifier` must be `true` or `false`, found the text `no`",
        ),
        ("- StandardScaler", "- StandardScaler: {with_std: no}", "7:22: `with_std` of `StandardScaler` must be"),
        ("{C: 0.01, mode: 1}", "{classes: spam}", "8:20: `classes` of `PAClassifier` must be a list of labels"),
        ("{C: 0.01, mode: 1}", "{C: [1]}", "8:20: `PAClassifier` refuses `C`: "),
        ("{C: 0.01, mode: 1}", "3", "8:5: the parameters of `PAClassifier` must be a mapping, found the number `3`"),
        (
            "PAClassifier: {C: 0.01, mode: 1}",
            "Calibrated: PAClassifier",
            "8:5: the parameters of `Calibrated` must be a mapping, found the text `PAClassifier`; its parameters are "
            "classifier, half_life",
        ),
        ("PAClassifier: {C: 0.01, mode: 1}", "3", "8:5: a step is a class name or `Name: {parameter: value}`, found"),
        (
            "PAClassifier: {C: 0.01, mode: 1}",
            "PAClassifier:\n    C: 1",
            "8:5: a step has one name, with its parameters indented below it; found `PAClassifier`, `C`",
        ),
        ("StandardScaler", "MaxAbsScaler", "7:5: there is no class `MaxAbsScaler`, did you mean `river.preprocessing."),
        ("StandardScaler", "river.compose.Pipeline", "7:5: `river.compose.Pipeline` cannot be a step: the list of"),
        ("StandardScaler", "MinMaxScaler", "7:5: `MinMaxScaler` cannot be a step: it makes NaN of a feature"),
        (
            "StandardScaler",
            "river.compose.TransformerUnion: {transformers: [river.preprocessing.MinMaxScaler]}",
            "7:53: `river.preprocessing.MinMaxScaler` cannot be a step: it makes NaN",
        ),
        (
            "StandardScaler",
            "river.linear_model.LogisticRegression",
            "7:5: there is no class `river.linear_model.LogisticRegression` that a file may name: of River, these are",
        ),
        (
            "StandardScaler",
            "river.linear_model.Perceptron",
            "7:5: there is no class `river.linear_model.Perceptron`",
        ),
        ("StandardScaler", "os.system", "7:5: there is no class `os.system`"),
        ("StandardScaler", "PA1", "7:5: `PA1` is not a learner but a part of one: give it"),
        ("StandardScaler", "river.compose.Prefixer", "7:5: `river.compose.Prefixer` needs the parameter `prefix`"),
        (
            "StandardScaler",
            "river.preprocessing.PredClipper",
            "7:5: `river.preprocessing.PredClipper` cannot be a step",
        ),
        ("PAClassifier: {C: 0.01, mode: 1}", "MarginClassifier: {rule: {PA1: {D: 1}}}", "8:37: `PA1` has no parameter"),
        (
            "StandardScaler",
            "OneHotEncoder\n  - StandardScaler",
            "6:1: `learner`: `StandardScaler` after `OneHotEncoder` ma",
        ),
        ("StandardScaler", "river.preprocessing.LDA", "7:5: `river.preprocessing.LDA` cannot be a step, because snap"),
        (
            "StandardScaler",
            "river.feature_extraction.Agg: {on: a, by: b, how: river.stats.Mean}",
            "7:5: `river.feature_extraction.Agg` cannot be a step, because snapshots cannot hold it",
        ),
    ],
)
def test_steps_that_cannot_be(problems, old, new, expected):
    found = problems(GOOD.replace(old, new))
    assert any(line.startswith("p.yaml:" + expected) for line in found), found


def test_a_step_without_snapshot_is_named(problems):
    found = problems(GOOD.replace("StandardScaler", "river.preprocessing.LDA"))
    assert len(found) == 1
    assert "`LDA`" in found[0] or "LDA" in found[0]


@pytest.mark.parametrize("learner", ["[]", "PAClassifier", "{PAClassifier: {}}", "~"])
def test_a_learner_is_a_list_of_steps(problems, learner):
    (line,) = problems(f"{GOOD[: GOOD.index('learner')]}learner: {learner}\noutput: {{topic: out}}\n")
    assert "`learner` must be a list" in line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rejects: {topic: events}", "10:10: `rejects`: `events` is the input topic already"),
        ("rejects: {topic: predictions}", "10:10: `rejects`: `predictions` is the output topic already"),
        ("output: {topic: other}", "10:1: `output` appears twice, first in line 9"),
        ("snapshots: ''", "10:1: `snapshots.folder`: a folder or a URL is needed"),
        ("snapshots: s3://", "10:1: `snapshots.folder`: `s3://` is not a URL"),
        ("snapshots: s3://key:se/cret@a/b", "10:1: `snapshots.folder`: a URL must not hold a password"),
        ("snapshots: sftp://me@corp:secret@a/b", "10:1: `snapshots.folder`: a URL must not hold a password"),
        ("snapshots: memory://models", "10:1: `snapshots.folder`: a store in memory is lost when the process ends"),
        ("snapshots: hdfs://host:8020/a@b", None),
        ("snapshots: sftp://me@host:22/a@b", None),
        ("snapshots: ~nobody-here/a", "10:1: `snapshots.folder`: `~nobody-here/a` begins with the home folder of a"),
        ("metrics: {port: 9464, page: x}", "10:29: `metrics.page`: `true` or `false` is needed, found the text `x`"),
        (
            "metrics: {port: '9464'}",
            "10:17: `metrics.port`: a port is a whole number from 1 to 65535, found the text "
            "`9464`: leave the quotes out",
        ),
        (
            "metrics: {port: 9464, page: 'true'}",
            "10:29: `metrics.page`: `true` or `false` is needed, found the text `true`: l",
        ),
        ("metrics: {port: 9464, host: ' '}", "10:29: `metrics.host`: the address to listen on is empty: write"),
        ("metrics: {port: 9464, host: '::1', page: ~}", None),
        ("snapshots: {folder: a, keep: {last: -1}}", "10:37: `snapshots.keep.last`: a whole number of at least 0"),
        ("snapshots: {folder: a, keep: {weekly: 1}}", "10:31: unknown key `snapshots.keep.weekly`; known are `last`"),
        ("snapshots: 3", "10:12: `snapshots` must be a mapping, such as `{folder: ...}`, found the number `3`"),
        ("instance: a/b", "10:11: `instance`: `a/b` cannot be"),
        ("instance: &x a", None),
        ("instance: !!str 7", "10:11: the tag `tag:yaml.org,2002:str` is not supported, remove it"),
        ("rejects: {!!str topic: a}", "10:11: a key must be a plain word, without a tag, and not a list or a mapping"),
        ("instance: !!python/name:os.system a", "10:11: the tag `tag:yaml.org,2002:python/name:os.system` is not"),
        ("rejects: {topic: ..}", "10:18: `rejects.topic`: `..` cannot be a topic"),
        ("checkpoint:", "10:12: `checkpoint` must be a mapping, such as `{guarantee: ...}`, found nothing"),
        ("checkpoint: {guarantee: true}", "10:25: `checkpoint.guarantee` must be `exactly_once` or"),
        ("what: {}", "10:1: unknown key `what`; known are `name`, `record`,"),
    ],
)
def test_a_line_more(load, problems, line, expected):
    if expected is None:
        load(with_lines(line))
    else:
        (found,) = problems(with_lines(line))
        assert found.startswith("p.yaml:" + expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("record: {id: id, label: is_phishing}", "label: y", "5:1: unknown key `label`; it can be `record.label` or"),
        ("record: {id: id, label: is_phishing}", "features: [a]", "5:1: unknown key `features`; it can be `record.fe"),
        ("output:", "start: latest\noutput:", "9:1: unknown key `start`; it can be `input.start`"),
        ("output:", "guarantee: x\noutput:", "9:1: unknown key `guarantee`; it can be `checkpoint.guarantee`"),
        ("output:", "topic: x\noutput:", "9:1: unknown key `topic`; known are `name`, "),
        ("id: id,", "id: id, labels: y,", "5:18: unknown key `record.labels`, did you mean `label`?"),
    ],
)
def test_a_key_in_a_wrong_place_has_a_right_one(problems, old, new, expected):
    """The section of the most similar name would be a wrong advice."""
    (line,) = problems(GOOD.replace(old, new, 1))
    assert line.startswith("p.yaml:" + expected)


def test_a_challenger_may_have_the_name_of_a_key(problems):
    text = with_lines("challengers: {start_from: {steps: [AROWClassifier], stps: 3}}")
    found = problems(text.replace("learner:", "learner:\n  name: pa\n  steps:"))
    assert found == ["p.yaml:12:53: unknown key `challengers.start_from.stps`, did you mean `steps`?"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("{id: a, label: a}", "5:24: `record.label`: `a` is the id already"),
        ("{id: a, features: [b, a]}", "5:27: `record.features`: `a` is the id, and cannot be a feature"),
        ("{label: a, features: [a]}", "5:30: `record.features`: `a` is the label, and cannot be a feature"),
        ("{label: y, weight: y}", "5:28: `record.weight`: `y` is the label already, the weight must be another field"),
        ("{id: a, label: y, weight: a}", "5:35: `record.weight`: `a` is the id already"),
        ("{label: y, weight: a, features: [a]}", "5:41: `record.features`: `a` is the weight, and cannot be a feature"),
        (
            "{weight: a}",
            "5:18: `record.weight`: a sample weight needs a label to learn: name the field with the label",
        ),
        ("{label: y, weight: a..b}", "5:28: `record.weight`: `a..b` is not a path"),
        ("{features: [a, a]}", "5:20: `record.features`: `a` appears twice"),
        ("{features: [b, {c: a.b}, c]}", "5:20: `record.features`: `c` appears twice"),
        ("{label: a.b, features: [{c: a.b}]}", "5:32: `record.features`: `a.b` is the label, and cannot be a feature"),
        (
            "{label: a.b, features: ['a[\"b\"]']}",
            '5:32: `record.features`: `a["b"]` is the label, and cannot be a feature',
        ),
        ("{id: a.b, label: 'a[\"b\"]'}", '5:26: `record.label`: `a["b"]` is the id already'),
        ("{features: [a..b]}", "5:21: `record.features[0]`: `a..b` is not a path (from character 2 on)"),
        ("{features: [a, {c: '[0]'}]}", "5:24: `record.features[1]`: `[0]` is not a path (from character 1 on)"),
        ("{features: [{a: b, c: d}]}", "5:21: `record.features[0]`: a feature is a path, or one `name: path`; found"),
        ("{features: [{a: 3}]}", "5:21: `record.features[0]`: a feature is a path, or one `name: path`; found"),
        ("{id: a.}", "5:14: `record.id`: `a.` is not a path"),
        ("{nulls: drop}", "5:17: `record.nulls` must be `absent` or `reject`, found the text `drop`"),
        (
            "{features: [a, items[0].price]}",
            "5:29: this is not YAML: while parsing a flow sequence, expected ',' or ']', but got '[' (between "
            'brackets, a path such as `"items[0].price"` needs quotes)',
        ),
        ("{features: []}", "5:20: `record.features` must be a list of at least one field, found an empty list"),
        ("{features: a}", "5:20: `record.features` must be a list, found the text `a`"),
    ],
)
def test_fields_of_a_record_differ(problems, record, expected):
    (found,) = problems(GOOD.replace("{id: id, label: is_phishing}", record))
    assert found.startswith("p.yaml:" + expected)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ("CWClassifier", "`CWClassifier` with the rule `CWRule("),
        (
            "PAClassifier: {mode: 0}",
            "`PAClassifier` with the rule `PA()` takes no sample weights: use a learner that does",
        ),
        ("PARegressor: {mode: 0}", "such as `PARegressor` or `AROWRegressor`"),
        ("Calibrated: {classifier: ROMMAClassifier}", "`ROMMAClassifier` with the rule `ROMMARule("),
        ("SelectiveSampler: {classifier: Forgetron}", "`Forgetron` with the rule `"),
        ("Averaged: {learner: CWClassifier}", "`CWClassifier` with the rule `CWRule("),
        ("OnlineToBatch: {learner: {Conservative: {learner: ROMMAClassifier}}}", "`ROMMAClassifier` with the rule `"),
        ("AutoClassifier: {portfolio: [PAClassifier, IELLIPClassifier]}", "`IELLIPClassifier` with the rule `"),
    ],
)
def test_weights_need_a_learner_that_takes_them(problems, learner, said):
    text = GOOD.replace("label: is_phishing}", "label: y, weight: w}").replace(
        "PAClassifier: {C: 0.01, mode: 1}", learner
    )
    (found,) = problems(text)
    assert found.startswith("p.yaml:5:36: `record.weight`: ") and said in found


@pytest.mark.parametrize(
    "learner",
    [
        "PARegressor", "AROWClassifier", "Calibrated: {classifier: AROWClassifier}", "SCWClassifier: {mode: 2}",
        "Averaged: {learner: AROWClassifier}", "AutoClassifier", "AutoRegressor",
    ],
)  # fmt: skip
def test_weights_of_records(load, learner):
    text = GOOD.replace("label: is_phishing}", "label: y, weight: meta.w}")
    assert load(text.replace("PAClassifier: {C: 0.01, mode: 1}", learner)).record.weight == "meta.w"


def test_labels_as_keys_of_class_weight(load, problems):
    """Without quotes as YAML reads them, in quotes as text."""
    text = GOOD.replace("C: 0.01, mode: 1", "class_weight: {%s: 3.5, other: 1}")
    for key, label in {"true": True, '"true"': "true", "7": 7, "'7'": "7", "spam": "spam"}.items():
        model = load(text % key).build_learner()["PAClassifier"]
        assert model.class_weight == {label: 3.5, "other": 1} and type(next(iter(model.class_weight))) is type(label)
    (found,) = problems(text % "true: 1, true")
    assert "`True` appears twice" in found
    assert (
        "mode"
        not in (load(GOOD.replace("mode: 1", "class_weight: balanced")).build_learner())["PAClassifier"].rule.parameters
    )
    (found,) = problems(GOOD.replace("C: 0.01, mode: 1", "class_weight: {spam: -1}"))
    assert (
        "`PAClassifier` refuses `class_weight`: `class_weight['spam']` must be a finite number above 0, not -1" in found
    )
    (found,) = problems(GOOD.replace("PAClassifier: {C: 0.01, mode: 1}", "CWClassifier: {class_weight: balanced}"))
    assert "`CWClassifier` takes no sample weights, because no cost of a loss limits its steps: leave out" in found


@pytest.mark.parametrize(
    "server", ["localhost", "localhost:", ":9092", "a:1,b", "a:70000", "http//a:x", "http://a:9092", "a:9092 b:9092"]
)
def test_a_broker_has_a_port(problems, server):
    (found,) = problems(GOOD.replace("localhost:9092", f"'{server}'"))
    assert found.startswith("p.yaml:3:22: `kafka.bootstrap_servers`: `")


def test_mistakes_of_yaml_itself(problems):
    assert problems("name: 'x")[0].startswith("p.yaml:1:9: this is not YAML: ")
    assert problems("a: 1\n b: 2")[0].startswith("p.yaml:2:3: this is not YAML: ")
    for text, hint in {
        "a: 1\n\tb: 2": "(indent with spaces, not with tabs)",
        "a: @b": "(text that begins with `@` needs quotes)",
        "a: %b": "(text that begins with `%` needs quotes)",
        "a: *": "(text that begins with `*` needs quotes)",
        "a: b: c": "(text with a colon and a space in it needs quotes; or a line above lacks its colon, or has another "
        "indentation)",
        "a = 1\nb: 2": "a line above lacks its colon, or has another indentation)",
        "a: {b: c": "(a brace or a bracket is not closed, or text with this character in it needs quotes)",
        "a: {b: c?}": "(a brace or a bracket is not closed, or text with this character in it needs quotes)",
        'a: "C:\\data"': "(between double quotes, a backslash begins a character: use single quotes)",
        "a: 1\n---\nb: 2": "(a file is one processor: move what follows `---` to a file of its own)",
    }.items():
        assert problems(text)[0].endswith(hint), problems(text)
    assert problems("a: {b: ${X}}")[0].endswith(
        '(between braces or brackets, `"${NAME}"` needs quotes and is text; a number needs a line of its own)'
    )
    assert problems("a: \x07")[0] == "p.yaml:1:4: the character U+0007 is not allowed in YAML"
    assert problems("[" * 5000)[0].startswith("p.yaml:1:1: this file is nested too deeply")
    assert "found nothing" in problems("")[0]
    assert "found a list" in problems("- a")[0]
    aliased = with_lines("instance: *a").replace("name: ", "name: &a ")
    assert problems(aliased)[0].startswith("p.yaml:10:1: aliases (`*name`) are not")
    aliased = with_lines("*a : b").replace("name: ", "name: &a ")
    assert problems(aliased)[0].startswith("p.yaml:10:") and "aliases (`*name`) are not" in problems(aliased)[0]


@pytest.mark.parametrize(
    ("line", "column", "character"),
    [
        ("rejects: {topic:\u00a0y}", 17, "00A0"),
        ("rejects: {topic: \u00a0y}", 18, "00A0"),
        ("rejects:\n\u00a0 topic: y", 1, "00A0"),
        ("rejects: {topic: y\u200b}", 19, "200B"),
        ("rejects: y\n  b\u00a0c", 4, "00A0"),
        ('rejects: "\u00a0y"', None, ""),
        ("rejects: y  #\u00a0a comment", None, ""),
    ],
)
def test_blanks_that_are_letters_are_told(problems, line, column, character):
    """Text that is copied from a web page has them, and looks right."""
    text = with_lines(line)
    found = [problem for problem in problems(text) if "looks like a space" in problem]
    if column is None:
        assert not found
    else:
        row = text.count("\n", 0, text.index(chr(int(character, 16)))) + 1
        (problem,) = found
        assert f":{row}:{column}: the character U+{character} " in problem


@pytest.mark.parametrize("mark", ["*", "!", "&"])
def test_a_password_without_its_quotes_is_neither_shown_nor_lost(problems, mark):
    text = GOOD.replace("  bootstrap", f"  sasl_plain_password: {mark}S3cret\n  bootstrap")
    (found,) = problems(text)
    assert found.startswith("p.yaml:3:24: ") and found.endswith(f"(text that begins with `{mark}` needs quotes)")
    assert "S3cret" not in found


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"`.*none\.yaml` cannot be read: No such file"):
        config.load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("name: \xe9".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 6\)"):
        config.load(tmp_path / "latin.yaml")


def test_the_environment_fills_values_in(load):
    text = GOOD.replace("name: phishing", "name: ${PREFIX:-x}-${GROUP}")
    text += "checkpoint:\n  guarantee: at_least_once\n  every: ${EVERY:-2s}\n"
    assert load(text, GROUP="a").name == "x-a"
    assert load(text, GROUP="b", PREFIX="").name == "x-b"
    assert load(text, GROUP="b", EVERY="3s").checkpoint.every == 3


def test_an_unquoted_value_is_read_after_it_was_filled_in(load, problems):
    text = GOOD.replace("{C: 0.01, mode: 1}", "\n      C: ${C:-0.25}\n      mode: 1")
    assert load(text).build_learner()["PAClassifier"].C == 0.25
    assert load(text, C="0.5").build_learner()["PAClassifier"].C == 0.5
    assert load(with_lines("instance: ${POD:-}")).instance is None
    assert load(with_lines('instance: "${POD}"'), POD="7").instance == "7"
    (found,) = problems(with_lines("instance: ${POD}"), POD="7")
    assert found.endswith("`instance` must be text, found the number `7`, put it in quotes")


def test_an_unset_variable_is_named_once(problems):
    (found,) = problems(GOOD.replace("name: phishing", "name: ${NO_SUCH_NAME}"))
    assert found.startswith("p.yaml:1:7: the environment variable `NO_SUCH_NAME` is not set")
    (found,) = problems(GOOD.replace("C: 0.01", 'C: "${NO_SUCH_NAME}"'))
    assert found.startswith("p.yaml:8:23: the environment variable `NO_SUCH_NAME` is not set")
    (found,) = problems(GOOD.replace("name: phishing", "name: ${1x}"))
    assert found.startswith("p.yaml:1:7: `${` must go on as")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("snapshots: $MODELS", "10:1: `snapshots.folder`"),
        ("snapshots: {folder: /data/$MODELS/a}", "10:21: `snapshots.folder`"),
        ("snapshots: s3://$MODELS/a", "10:1: `snapshots.folder`"),
        ("start_from: $MODELS/a.snapshot", "10:13: `start_from`"),
    ],
)
def test_a_variable_as_in_a_shell_is_no_folder(problems, line, place):
    """The models would go into a new folder that is called `$MODELS`."""
    (found,) = problems(with_lines(line), MODELS="/models")
    assert found == f"p.yaml:{place}: `$MODELS` is not filled in: write `${{MODELS}}`"


@pytest.mark.parametrize("server", ["$KAFKA", "$KAFKA:9092", "a:9092, $KAFKA:9092"])
def test_a_variable_as_in_a_shell_is_no_broker(problems, server):
    (found,) = problems(GOOD.replace("bootstrap_servers: localhost:9092", f'bootstrap_servers: "{server}"'))
    assert found.endswith(" `kafka.bootstrap_servers`: `$KAFKA` is not filled in: write `${KAFKA}`")


def test_a_dollar_sign_within_a_name_is_one(load):
    assert load(with_lines("snapshots: ./us$/$a-b")).snapshots.folder.endswith("/us$/$a-b")


def test_a_dollar_sign_can_be_written(load):
    text = GOOD.replace("id: id", 'id: "$${id} $ $$"')
    assert load(text).record.id == "${id} $ $$"
    text = GOOD.replace("id: id", 'features: [{"$${a} $": x}]')
    assert load(text).record.features == [{"${a} $": "x"}]


@pytest.mark.parametrize("value", ["${A:-${B}}", "${A:-${B:-c}}", "${A:-{x}}"])
def test_a_default_holds_no_braces(problems, value):
    """It ends with the first `}`, so that the rest would be added to the variable."""
    (found,) = problems(with_lines("instance:", f"  {value}"), A="a", B="b")
    assert found == (
        "p.yaml:11:3: the default of `${A:-...}` cannot hold `{`, nor another variable: write it out, or set `A`"
    )


def test_variables_are_not_filled_in_in_keys(problems):
    (found,) = problems(GOOD.replace("id: id", 'features: [{"${A}": x}]'), A="a")
    assert found == "p.yaml:5:22: `${A}` is a key, and variables are filled in in values only: write the key out"


@pytest.mark.parametrize("null", ["~", "null", ""])
def test_a_secret_may_be_null(load, null):
    registry = f"label: y\n  format: avro\n  registry:\n    url: http://a:1\n    username: u\n    password: {null}"
    assert load(GOOD.replace("{id: id, label: is_phishing}", f"\n  {registry}")).record.registry.password is None
    quoted = registry.replace(f"password: {null}", f"password: '{null}'")
    assert load(GOOD.replace("{id: id, label: is_phishing}", f"\n  {quoted}")).record.registry.password == null


def test_a_class_may_have_the_name_of_a_secret(load):
    step = load(GOOD.replace("C: 0.01, mode: 1", "class_weight: {token: 3, other: 1}")).build_learner()["PAClassifier"]
    assert step.class_weight == {"token": 3, "other": 1}


def test_secrets_are_text_and_never_shown(load, problems):
    text = GOOD.replace(
        "localhost:9092",
        "localhost:9092\n  sasl_mechanism: PLAIN\n  security_protocol: SASL_PLAINTEXT\n  sasl_plain_username: u\n"
        "  sasl_plain_password: ${PASSWORD}\n  consumer: {ssl_password: 0777}",
    )
    found = load(text, PASSWORD="0123456")
    assert found.kafka.common["sasl_plain_password"] == "0123456"
    assert found.kafka.consumer["ssl_password"] == "0777"
    shown = repr(found) + str(found) + repr(found.kafka) + str(found.kafka.common) + repr(found.kafka.consumer)
    shown += repr(found.model_dump()) + repr(found.kafka.model_extra)
    assert "0123456" not in shown and "0777" not in shown and "********" in shown
    broken = problems(text.replace("name:", "nme:").replace("  consumer:", "  sasl_passwrd: tell-tale\n  consumer:"))
    assert not any("0123456" in line or "0777" in line or "tell-tale" in line for line in broken)


def test_settings_of_the_client_are_checked_where_they_stand(problems):
    extra = "group_id: x", "producer: {acks: 1}", "client_idd: y", "transactional_id: z", "linger_ms: 3"
    found = problems(GOOD.replace("localhost:9092", "\n  ".join(("localhost:9092", *extra))))
    starts = [
        "4:3: `group_id` cannot be set: ",
        "5:14: `acks` cannot be set: ",
        "6:3: `client_idd` is not a consumer setting of kafka-python, did you mean `client_id`?",
        "7:3: `transactional_id` cannot be set: ",
        "8:3: `linger_ms` is not a consumer setting of kafka-python: put it under `kafka.producer`",
    ]
    assert [line[: len("p.yaml:") + len(start)] for line, start in zip(found, starts, strict=True)] == [
        f"p.yaml:{start}" for start in starts
    ]


def test_time_outs_that_contradict_each_other_are_found(problems):
    extra = "consumer: {session_timeout_ms: 5000, max_poll_interval_ms: 12000}"
    found = problems(GOOD.replace("localhost:9092", f"localhost:9092\n  {extra}"))
    assert [line.partition(": ")[0] for line in found] == ["p.yaml:4:14", "p.yaml:4:40"]
    assert "`session_timeout_ms` (5000) must be above `transaction_timeout_ms` (10000)" in found[0]


def test_the_example_is_valid(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFIX", "trial-")
    found = config.load(EXAMPLES / "phishing.yaml")
    assert (found.name, found.input.topic, found.output.topic, found.rejects.topic) == (
        ("trial-phishing", "trial-events", "trial-predictions", "trial-rejects")
    )


def test_the_example_with_files_is_valid(monkeypatch, tmp_path):
    monkeypatch.setenv("FOLDER", str(tmp_path))
    found = config.load(EXAMPLES / "files.yaml")
    assert (found.input.file, found.snapshots) == (f"{tmp_path}/events.jsonl", tmp_path / "snapshots")


def test_a_checkpoint_fits_into_a_transaction(load, problems):
    slow = with_lines("checkpoint: {guarantee: exactly_once, every: 10s}")
    (found,) = problems(slow)
    assert found.startswith("p.yaml:10:46: `checkpoint.every` (10s) must be below `transaction_timeout_ms` (10s)")
    assert load(slow.replace("exactly_once", "at_least_once")).checkpoint.every == 10
    wider = "localhost:9092\n  producer: {transaction_timeout_ms: 11000}"
    assert load(slow.replace("localhost:9092", wider)).checkpoint.every == 10


FRAGMENTS = [
    "",
    "1",
    "-1",
    ".nan",
    "true",
    "~",
    "''",
    "[]",
    "{}",
    "[a]",
    "{a: 1}",
    "${NOT_SET}",
    "*a",
    "!!int 3",
    "\t",
    "'",
]
FRAGMENTS += [
    "PA1",
    "{PA1: 3}",
    "Rule",
    "MarginClassifier: {rule: PAClassifier}",
    "river.compose.Pipeline",
    "a: b: c",
    "|",
]


@given(
    edits=st.lists(
        st.tuples(st.integers(0, GOOD.count("\n") - 1), st.integers(0, 40), st.sampled_from(FRAGMENTS)),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=300, deadline=None)
def test_whatever_stands_in_a_file_is_a_config_or_a_list_of_problems(edits, tmp_path_factory):
    lines = GOOD.splitlines()
    for number, column, fragment in edits:
        line = lines[number]
        # in the middle of a line, or instead of what follows the key or the dash
        start = line[: column % (len(line) + 1)] if column < 20 else re.match("[ -]*[a-z_]*:? ?", line)[0]
        lines[number] = start + fragment + (line[len(start) + 1 :] if column < 20 else "")
    file = tmp_path_factory.getbasetemp() / "edited.yaml"
    file.write_text("\n".join(lines))
    try:
        config.load(file).build_learner()
    except ConfigError as error:
        assert all(re.match(rf"{re.escape(str(file))}:\d+:\d+: .", line) for line in str(error).split("\n"))


@pytest.mark.parametrize("name", ["BagOfWords", "TFIDF", "river.feature_extraction.BagOfWords"])
def test_a_step_that_reads_texts_needs_the_field_with_the_text(name):
    assert assemble([name, "PAClassifier"])[1] == [
        ((0,), f"`{name}` reads texts, and a record has fields: name the one with the text, `{name}: {{on: FIELD}}`")
    ]
    union = {"river.compose.TransformerUnion": {"transformers": [{name: {"on": "title"}}, name]}}
    assert [path for path, _ in assemble([union, "PAClassifier"])[1]] == [
        (0, "river.compose.TransformerUnion", "transformers", 1)
    ]


def test_a_list_of_steps_within_a_union_is_a_pipeline():
    """As `(Select("a", "b") | StandardScaler()) + (Select("c") | OneHotEncoder())` is in River."""
    numbers = [{"river.compose.Select": {"keys": ["b", "a"]}}, "river.preprocessing.StandardScaler"]
    texts = [{"river.compose.Select": {"keys": ["c"]}}, "river.preprocessing.OneHotEncoder"]
    union = "river.compose.TransformerUnion"
    learner, problems = assemble([{union: {"transformers": [numbers, texts]}}, "PAClassifier"])
    assert not problems
    both = (compose.Select("a", "b") | preprocessing.StandardScaler()) + (
        compose.Select("c") | preprocessing.OneHotEncoder()
    )
    bare = both | rm.PAClassifier()
    for number, label in enumerate([True, False, True, True]):
        features = {"a": 1.0 * number, "b": 2.0 - number, "c": "xy"[number % 2]}
        learner.learn_one(features, label)
        bare.learn_one(features, label)
    assert learner["PAClassifier"].weights == pytest.approx(bare["PAClassifier"].weights)
    assert snapshot.difference(bare, learner) == []
    for wrong in ["PAClassifier", ["StandardScaler", "PAClassifier"]]:
        ((_, problem),) = assemble([{union: {"transformers": [wrong]}}, "PAClassifier"])[1]
        assert problem == "`PAClassifier` predicts, so it must be the last step of `learner`"


def test_a_step_that_draws_at_random_needs_a_seed():
    assert assemble(["river.preprocessing.FeatureHasher", "PAClassifier"])[1] == [
        (
            (0,),
            "`river.preprocessing.FeatureHasher` draws at random, and each start must draw the same: give it a `seed`",
        )
    ]
    assert assemble([{"river.preprocessing.FeatureHasher": {"seed": 1}}, "PAClassifier"])[1] == []


def test_selected_features_have_the_order_of_the_file():
    learner, problems = assemble([{"river.compose.Select": {"keys": ["c", "a", "b"]}}, "PAClassifier"])
    assert not problems
    assert list(learner["Select"].transform_one({"a": 1.0, "b": 2.0, "c": 3.0})) == ["c", "a", "b"]


FILES = """\
name: trial
input: {file: in.csv.gz}
record: {id: id, label: y}
learner: [PAClassifier]
output: {file: out.jsonl.zst}
rejects: {file: rejects.jsonl}
"""


def test_a_processor_between_files(load):
    found = load(FILES)
    here = pathlib.Path.cwd()
    assert isinstance(found, config.FileConfig)
    assert (found.input.file, found.output.file) == (f"{here}/in.csv.gz", f"{here}/out.jsonl.zst")
    assert (found.checkpoint.guarantee, found.checkpoint.every, found.start_from) == ("exactly_once", 1.0, None)
    from_stdin = FILES.replace("in.csv.gz", "'-'") + "checkpoint: {guarantee: none}\n"
    assert load(from_stdin.replace("out.jsonl.zst", "'-'")).output.file == "-"


def test_a_file_without_its_key(problems):
    """It is a processor between files all the same, and needs no `kafka`."""
    bare = FILES.replace("{file: in.csv.gz}", "in.csv.gz")
    assert problems(bare) == [
        "p.yaml:2:8: `input` must be a mapping, such as `{file: ...}`, found the text `in.csv.gz`"
    ]


def test_a_topic_without_its_key_and_without_kafka(problems):
    """`output.topic` tells that it is none between files."""
    text = "name: n\ninput: events\nrecord: {id: id, label: y}\nlearner: [PAClassifier]\noutput: {topic: out}\n"
    assert problems(text)[:2] == [
        "p.yaml:1:1: `kafka` is missing",
        "p.yaml:2:8: `input` must be a mapping, such as `{topic: ...}`, found the text `events`",
    ]


def test_what_needs_topics_says_so(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(FILES)
    with pytest.raises(ConfigError) as caught:
        config.load_topics(file)
    assert str(caught.value) == f"`{file}` reads a file, and a processor between topics is needed here"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("in.csv.gz", "in.txt", "2:15: `input.file`: `in.txt` does not say what it holds: a name ends with `.jsonl`"),
        (
            "out.jsonl.zst",
            "o.txt",
            "5:16: `output.file`: `o.txt` does not say what it holds: a name ends with `.jsonl` or",
        ),
        ("in.csv.gz", "in.csv.gz, start: latest", "2:26: unknown key `input.start`; known are `file`"),
        (
            "name: trial",
            "name: trial\nsnapshots: {folder: ./snapshots}",
            "2:12: `snapshots`: a path is needed, found a mapping",
        ),
        ("in.csv.gz", "~", "2:15: `input.file`: a path is needed, found nothing"),
        ("out.jsonl.zst", "in.csv.gz", "5:9: `output`: `"),
        ("rejects.jsonl", "./out.jsonl.zst", "6:10: `rejects`: `"),
        ("rejects.jsonl", "r.csv", "6:17: `rejects.file`: `"),
        (
            "name: trial",
            "name: trial\nkafka: {}",
            "2:1: `kafka` is for topics, and this processor reads a file: remove it",
        ),
        ("name: trial", "name: trial\nstart: x", "2:1: unknown key `start`, did you mean `start_from`?"),
        (
            "{file: out.jsonl.zst}",
            "{topic: a}",
            "5:10: what is read from a file cannot go to a topic exactly once: write",
        ),
        (
            "{file: rejects.jsonl}",
            "{topic: a}",
            "6:11: what is read from a file cannot go to a topic exactly once: write",
        ),
        ("in.csv.gz", "'-'", "1:1: `checkpoint`: standard input cannot be read again after a crash, so `exactly_once`"),
        ("out.jsonl.zst", "'-'", "1:1: `checkpoint`: standard output cannot be taken back after a crash, so `exactly_"),
        (
            "name: trial",
            "name: trial\ncheckpoint: {guarantee: none}",
            "2:13: `checkpoint`: `none` is for standard input",
        ),
        ("name: trial", "name: trial\nstart_from: none.snapshot", "2:13: `start_from`: the snapshot `"),
    ],
)
def test_files_that_cannot_be(problems, old, new, expected):
    (line,) = problems(FILES.replace(old, new))
    assert line.startswith("p.yaml:" + expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "in.csv.gz",
            "~nobody-here/in.csv",
            "2:15: `input.file`: `~nobody-here/in.csv` begins with the home folder of",
        ),
        (
            "in.csv.gz",
            "https://me:password@host/in.csv",
            "2:15: `input.file`: a URL cannot be used here: give the path",
        ),
        ("name: trial", "name: trial\nsnapshots: s3://me:password@a/b", "2:12: `snapshots`: a URL cannot be used here"),
        ("name: trial", "name: trial\nstart_from: s3://a/b", "2:13: `start_from`: a URL cannot be used here: give"),
        ("name: trial", "name: http://me:password@host", "1:7: `name`: `http://me:********@host` cannot be a name"),
    ],
)
def test_paths_that_cannot_be(problems, old, new, expected):
    (line,) = problems(FILES.replace(old, new))
    assert line.startswith("p.yaml:" + expected) and "password" not in line


def test_a_misspelled_input_beside_files_is_no_topic(problems):
    found = problems(FILES.replace("{file: in", "{fil: in"))
    assert [problem.partition(": ")[2] for problem in found] == [
        "`file` is missing in `input`",
        "unknown key `input.fil`, did you mean `file`?",
    ]


def test_a_topic_and_a_file_have_no_transaction_in_common(problems):
    found = problems(GOOD.replace("{topic: predictions}", "{file: out.jsonl}") + "rejects: {file: r.jsonl}\n")
    said = "what is read from a topic cannot go to a file exactly once: write"
    assert [line.partition(said)[0] for line in found] == ["p.yaml:9:10: ", "p.yaml:10:11: "]
    assert all(said in line for line in found)


def test_a_snapshot_to_start_from_must_be_of_this_learner(load, problems, tmp_path):
    learner = load(GOOD).build_learner()
    learner.learn_one({"a": 1.0}, True)
    snapshot.save(learner, tmp_path / "trained.snapshot")
    text = with_lines("start_from: trained.snapshot")
    assert (
        snapshot.dumps(load(text).first_learner())
        == snapshot.dumps(learner)
        != snapshot.dumps(load(GOOD).first_learner())
    )
    changed = load(text.replace("C: 0.01", "C: 1")).first_learner()
    assert changed["PAClassifier"].C == 1 and changed["PAClassifier"].weights == learner["PAClassifier"].weights
    (line,) = problems(text.replace("PAClassifier: {C: 0.01, mode: 1}", "AROWClassifier"))
    assert line.startswith("p.yaml:10:13: `start_from`: the learner is not the one of the snapshot `")
    assert "is now `AROWClassifier()`" in line and "take the learner of the snapshot, or leave `start_from` out" in line
    (tmp_path / "trained.snapshot").write_bytes(b"junk")
    (line,) = problems(text)
    assert line.startswith("p.yaml:10:13: `start_from`: `") and "trained.snapshot`: " in line


def test_files_fill_values_in(load, problems, tmp_path):
    (tmp_path / "secret").write_text("pass word\n")
    (tmp_path / "empty").write_text("")
    servers = "  bootstrap_servers: localhost:9092\n"
    more = f"  sasl_plain_password: ${{file:{tmp_path / 'secret'}}}\n  ssl_password: ${{file:{tmp_path / 'empty'}}}\n"
    found = load(GOOD.replace(servers, servers + more))
    assert (found.kafka.common["sasl_plain_password"], found.kafka.common["ssl_password"]) == ("pass word", "")
    (line,) = problems(GOOD.replace(servers, f"{servers}  sasl_plain_password: ${{file:{tmp_path / 'none'}}}\n"))
    assert line.startswith(f"p.yaml:4:24: the file `{tmp_path / 'none'}` cannot be read: No such file")
    (line,) = problems(GOOD.replace(servers, f"{servers}  sasl_plain_password: ${{file:~nobody-here/secret}}\n"))
    assert line.startswith("p.yaml:4:24: the file `~nobody-here/secret` cannot be read: the home folder")
    (tmp_path / "secret").write_bytes(b"\xef\xbb\xbfpass word\r\n")
    assert load(GOOD.replace(servers, servers + more)).kafka.common["sasl_plain_password"] == "pass word"


def test_what_has_no_explanation_is_named(load, problems):
    asked = GOOD.replace("{topic: predictions}", "{topic: predictions, explain: 3}")
    assert load(asked).output.explain == 3
    assert load(GOOD).output.explain == 0
    for learner, words in (
        ("KernelPerceptron", "is not a sum over features: use a learner with plain weights"),
        ("VotedPerceptron", "is not a sum over features"),
        ("AutoClassifier", "is not a sum over features, but what many experts say"),
        ("Calibrated: {classifier: Forgetron}", "is not a sum over features"),
        ("HedgeBackpropClassifier", "cannot be explained: use a learner with plain weights"),
    ):
        found = problems(asked.replace("PAClassifier: {C: 0.01, mode: 1}", learner))
        assert found[0].startswith("p.yaml:9:39: `output.explain`: a score of `") and words in found[0]
    (line,) = problems(FILES.replace("out.jsonl.zst}", "out.csv, explain: 3}"))
    assert line.startswith("p.yaml:5:34: `output.explain`: `") and "no column for it" in line
    (line,) = problems(asked.replace("explain: 3", "explain: -1"))
    assert line.startswith("p.yaml:9:39: `output.explain`: a whole number of at least 0")


def test_what_has_no_probability_is_named(load, problems):
    asked = GOOD.replace("{topic: predictions}", "{topic: predictions, score: probability}")
    assert (load(asked).output.score, load(GOOD).output.score) == ("probability", "learner")
    (line,) = problems(asked.replace("PAClassifier: {C: 0.01, mode: 1}", "PARegressor"))
    assert line.startswith("p.yaml:9:37: `output.score`: `PARegressor` has no probabilities")
    (line,) = problems(asked.replace("score: probability", "score: chance"))
    assert line.startswith("p.yaml:9:37: `output.score` must be `learner` or `probability`, found the text `chance`")


@pytest.mark.parametrize(
    ("step", "key", "said"),
    [
        ({"river.compose.Discard": {"keys": "user_id"}}, "keys", "must be a list of names, found the text `user_id`"),
        ({"river.compose.Select": {"keys": ["a", 7]}}, "keys", "found the number `7` in it, put it in quotes"),
        ({"OneHotEncoder": {"features": [7]}}, "features", "found the number `7` in it, put it in quotes"),
        ({"river.preprocessing.Normalizer": {"order": "2"}}, "order", "must be a number, found the text `2`"),
    ],
)
def test_parameters_that_would_silently_mean_something_else(step, key, said):
    ((path, sentence),) = assemble([step, "PAClassifier"])[1]
    assert path[-1] == key and said in sentence


UNION = "river.compose.TransformerUnion"


def test_equal_words_of_two_fields_can_be_kept_apart():
    def prefixed(name):
        return [{"BagOfWords": {"on": name}}, {"river.compose.Prefixer": {"prefix": f"{name} "}}]

    learner, problems = assemble([{UNION: {"transformers": [prefixed("title"), prefixed("body")]}}, "PAClassifier"])
    assert not problems
    learner = snapshot.loads(snapshot.dumps(learner))
    learner.learn_one({"title": "an invoice", "body": "the invoice is wrong"}, True)
    assert {"title invoice", "body invoice"} <= set(learner["PAClassifier"].weights)


@pytest.mark.parametrize(
    ("part", "place"),
    [([], ()), ([{"BagOfWords": {"on": "a"}}, 3], (1,)), (["Foo"], (0,)), (["OneHotEncoder", "StandardScaler"], ())],
)
def test_a_wrong_step_in_a_part_of_a_union_is_named(part, place):
    ((path, _),) = assemble([{UNION: {"transformers": [part]}}, "PAClassifier"])[1]
    assert path == (0, UNION, "transformers", 0, *place)


def test_a_union_takes_a_list():
    ((_, said),) = assemble([{UNION: {"transformers": {"a": "OneHotEncoder"}}}, "PAClassifier"])[1]
    assert said == "`transformers` must be a list of steps, found a mapping"


@pytest.mark.parametrize("key", ["preprocessor", "tokenizer", "stop_words"])
def test_a_text_is_no_function_and_no_list(key):
    name = "river.feature_extraction.BagOfWords"
    ((path, sentence),) = assemble([{name: {"on": "body", key: "split"}}, "PAClassifier"])[1]
    assert path == (0, name, key) and "found the text `split`" in sentence


STATS = "  - river.preprocessing.StatImputer: {imputers: [[temp, river.stats.Mean], [m.vib, 0]]}\n"


@pytest.mark.parametrize(
    ("record", "imputer", "expected"),
    [
        (
            "{nulls: absent}",
            STATS,
            "5:17: `record.nulls`: `absent` leaves `river.preprocessing.StatImputer` no null to",
        ),
        ("{nulls: reject}", "  - river.preprocessing.PreviousImputer\n", "5:17: `record.nulls`: `reject` leaves"),
        (
            "{features: [{temp: m.temp}, m.vibr]}",
            STATS,
            "6:1: `river.preprocessing.StatImputer`: `m.vib` is none of `record.features`, did you mean `m.vibr`?",
        ),
    ],
)
def test_imputers_get_nulls_of_features_that_there_are(problems, load, record, imputer, expected):
    text = GOOD.replace("learner:\n", "learner:\n" + imputer)
    assert load(text) and load(text.replace("label: is_phishing", "features: [{temp: m.temp}, m.vib]"))
    (found,) = problems(text.replace("{id: id, label: is_phishing}", record))
    assert found.startswith("p.yaml:" + expected)


def test_the_advice_for_a_name_with_brackets_can_be_taken(problems, load):
    text = GOOD.replace("label: is_phishing", "features: [NAME, a]")
    (found,) = problems(text.replace("NAME", '"temp[C]"'))
    advice = found.rpartition("write `")[2].removesuffix("`")
    assert load(text.replace("NAME", advice)).record.features == ['["temp[C]"]', "a"]


def test_a_user_name_of_digits_is_text(load):
    text = GOOD.replace("localhost:9092", "localhost:9092\n  sasl_plain_username: ${NAME_OF_USER}")
    assert load(text, NAME_OF_USER="004711").kafka.common["sasl_plain_username"] == "004711"


def test_a_character_in_two_halves_is_one(load, problems):
    """As `json.dumps` writes it, and YAML 1.2 holds all of JSON."""
    text = GOOD.replace("C: 0.01", r'classes: ["\ud83d\ude00", "b"], class_weight: {"\ud83d\ude00": 2}')
    found = load(text.replace("is_phishing", r'"\ud83d\ude00"'))
    assert found.record.label == "\U0001f600"
    parameters = found.build_learner()["PAClassifier"]
    assert parameters.classes == ["\U0001f600", "b"] and parameters.class_weight == {"\U0001f600": 2}
    (said,) = problems(GOOD.replace("is_phishing", r'"a\ud83d"'))
    assert said.startswith("p.yaml:5:25: one half of a character")


def test_a_character_that_there_is_not(problems):
    for escape in (r"\U00110000", r"\UFFFFFFFF"):
        (said,) = problems(GOOD.replace("is_phishing", f'"{escape}"'))
        assert said == "p.yaml:5:26: there is no character of this number"
