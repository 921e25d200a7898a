"""`learner` with a name, and `challengers`: every way to get them wrong, and where the mistake stands."""

import pytest

from connectors.errors import ConfigError
from tests.connectors.config.test_load import load, problems  # noqa: F401
from tests.helpers.paths import ROOT

GOOD = """\
name: phishing
kafka: {bootstrap_servers: "localhost:9092"}
input: {topic: events}
record: {id: id, label: y}
output: {topic: predictions, challengers: true}
learner: {name: pa, steps: [StandardScaler, PAClassifier]}
challengers:
  arow: [StandardScaler, AROWClassifier]
  small: {steps: [PAClassifier: {C: 0.001}]}
"""


def test_all_are_built_by_name(load):  # noqa: F811
    found = load(GOOD)
    assert list(found.build_learners()) == ["pa", "arow", "small"]
    assert found.build_learners()["small"].C == 0.001
    alone = GOOD.partition("challengers:\n")[0].replace(", challengers: true", "").replace("name: pa, ", "")
    assert list(load(alone).build_learners()) == [""]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  arow: ", "  pa: ", "8:3: `challengers.pa`: `pa` is the name of `learner` already, give it another one"),
        ("  small:", "  arow:", "9:3: `arow` appears twice, first in line 8"),
        ("  arow: ", "  a/b: ", "8:3: `challengers`: `a/b` cannot be a name: use 1 to 100 letters"),
        ("{name: pa, steps: [StandardScaler, PAClassifier]}", "[PAClassifier]",
         "6:1: `learner` needs a name beside `challengers`: write `learner: {name: ..., steps: [...]}`"),
        ("AROWClassifier", "AROWClasifier", "8:26: there is no class `AROWClasifier`, did you mean `AROWClassifier`?"),
        ("[StandardScaler, AROWClassifier]", "[]",
         "8:3: `challengers.arow` must be a list of steps, found an empty list"),
        ("[StandardScaler, AROWClassifier]", "AROWClassifier",
         "8:9: `challengers.arow` must be a list of steps, such as `[StandardScaler, PAClassifier]`, found"),
        ("[StandardScaler, AROWClassifier]", "{stesp: [AROWClassifier]}",
         "8:10: unknown key `challengers.arow.stesp`, did you mean `steps`?"),
        ("AROWClassifier", "AROWRegressor", "8:9: `challengers.arow`: it predicts numbers and `learner` predicts"),
        ("{C: 0.001}", "{c: 0.001}", "9:34: `PAClassifier` has no parameter `c`, did you mean `C`?"),
        ("{steps: [PAClassifier: {C: 0.001}]}", "{steps: [PAClassifier], name: x}",
         "9:34: unknown key `challengers.small.name`"),
        ("{steps: [PAClassifier: {C: 0.001}]}", "{start_from: a}", "9:3: `steps` is missing in `challengers.small`"),
        ("{steps: [PAClassifier: {C: 0.001}]}", "{steps: [PAClassifier], start_from: nowhere}",
         "9:46: `challengers.small.start_from`: the snapshot"),
        ("label: y}", "label: y, weight: w}", None),
        ("[StandardScaler, AROWClassifier]", "[Perceptron]", None),
        ("challengers: true}", "challengers: 3}", "5:43: `output.challengers`: `true` or `false` is needed, found the"),
        ("name: phishing\n", "name: phishing\nsnapshots: {every: 1m}\n", "2:20: `snapshots.every`: a challenger that"),
        ("record:", "x: 1\nrecord:", "4:1: unknown key `x`; known are `name`"),
    ],
)  # fmt: skip
def test_what_cannot_be(load, problems, old, new, expected):  # noqa: F811
    assert old in GOOD
    text = GOOD.replace(old, new)
    if expected is None:
        load(text)
        return
    assert any(expected in line for line in problems(text)), problems(text)


def test_weights_are_for_all_models(problems):  # noqa: F811
    text = GOOD.replace("label: y}", "label: y, weight: w}").replace(
        "[StandardScaler, AROWClassifier]", "[ROMMAClassifier]"
    )
    (line,) = problems(text)
    assert line.startswith("p.yaml:8:9: `challengers.arow`: `ROMMAClassifier` ") and "takes no sample weights" in line


def test_all_models_learn_the_label_of_those_that_get_none(problems):  # noqa: F811
    late = "labels: {topic: l, label: z, within: 1h, otherwise: spam}\noutput"
    text = GOOD.replace("output", late).replace("AROWClassifier", "AROWClassifier: {classes: [a, b]}")
    (line,) = problems(text)
    assert line.startswith("p.yaml:9:9: `challengers.arow`: it cannot learn `labels.otherwise`: ")


def test_nothing_is_told_of_nobody(problems):  # noqa: F811
    (line,) = problems(GOOD.partition("challengers:\n")[0])
    assert line.startswith("p.yaml:5:43: `output.challengers`: there are none: add `challengers`")


def test_a_table_has_no_column_for_challengers(problems):  # noqa: F811
    text = GOOD.replace('kafka: {bootstrap_servers: "localhost:9092"}\n', "").replace(
        "{topic: events}", "{file: a.csv}"
    )
    (line,) = problems(text.replace("{topic: predictions", "{file: b.csv"))
    assert "`output.challengers`: `" in line and "has no column for it" in line


def test_a_challenger_that_starts_from_the_input(load, problems):  # noqa: F811
    text = GOOD.replace("{C: 0.001}]}", "{C: 0.001}], start_from: input}")
    assert [each.reads_input for each in load(text).challengers.values()] == [False, True]
    remedy = (
        ": let `river-margins evaluate --save` train it on recorded data, as `learner` of a file of its own, and name "
        "the snapshot that this writes"
    )
    (line,) = problems(text.replace("output", "labels: {topic: l, label: z, within: 1h}\noutput"))
    reason = "`input` cannot be joined again with `labels` that came later"
    assert line == f"p.yaml:10:58: `challengers.small.start_from`: {reason}{remedy}"
    of_files = text.replace('kafka: {bootstrap_servers: "localhost:9092"}\n', "").replace(
        "topic: events", "file: a.jsonl"
    )
    (line,) = problems(of_files.replace("topic: predictions", "file: b.jsonl"))
    reason = "`input` is for topics, a processor of files reads them once"
    assert line == f"p.yaml:8:58: `challengers.small.start_from`: {reason}{remedy}"


def test_a_challenger_that_does_not_start_from_its_snapshot(load, problems, tmp_path):  # noqa: F811
    import river_margins as rm
    from river_margins import snapshot

    model = rm.PAClassifier(C=0.001)
    model.learn_one({"a": 1.0}, True)
    snapshot.save(model, tmp_path / "small")
    text = GOOD.replace("{C: 0.001}]}", "{C: 0.001}], start_from: small}")
    assert snapshot.dumps(load(text).first_learners()["small"]) == snapshot.dumps(model)
    snapshot.save(rm.AROWClassifier(), tmp_path / "small")
    (line,) = problems(text)
    assert "`challengers.small.start_from`: the learner is not the one of the snapshot" in line
    with pytest.raises(ConfigError):
        load(text)


def test_what_evaluate_saves_is_the_learner():
    """A challenger that differs in `C` only would go on from the champion's weights, and nobody could tell."""
    page = (ROOT / "docs" / "challengers.md").read_text()
    assert "evaluate a file in which the challenger is the `learner`" in page
