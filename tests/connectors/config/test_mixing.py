"""The section `mixing`: what it says, and every file that cannot have it."""

import pytest

from tests.connectors.config.test_load import load, problems  # noqa: F401

GOOD = """\
name: phishing
kafka: {bootstrap_servers: "localhost:9092"}
input: {topic: events}
record: {id: id, label: y}
output: {topic: predictions}
learner: [StandardScaler, AROWClassifier]
mixing: {topic: shared, every: 10s}
"""


def test_what_the_file_says(load):  # noqa: F811
    found = load(GOOD)
    assert (found.mixing.topic, found.mixing.every, found.topics["mixing"]) == ("shared", 10.0, "shared")
    assert load(GOOD.replace(", every: 10s", "")).mixing.every == 30.0
    assert load(GOOD.partition("mixing")[0]).mixing is None


@pytest.mark.parametrize(
    "step", ["PAClassifier", "PARegressor", "Perceptron", "SCWClassifier: {classes: [a, b, c]}", "NHERDClassifier"]
)
def test_learners_that_mix(load, step):  # noqa: F811
    assert load(GOOD.replace("AROWClassifier", step)).mixing is not None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("AROWClassifier", "FOGDClassifier: {gamma: 0.1}", "`mixing`: `FOGDClassifier` has no mean"),
        ("AROWClassifier", "KernelPerceptron", "7:9: `mixing`: `KernelPerceptron` has no mean: mix learners with"),
        ("AROWClassifier", "AROWClassifier: {covariance: full}", "`mixing`: `AROWClassifier` has no mean"),
        ("AROWClassifier", "AveragedPerceptron", "`mixing`: `AveragedPerceptron` has no mean"),
        ("StandardScaler", "OneHotEncoder", "`mixing`: `OneHotEncoder` has no mean: use `StandardScaler`"),
        ("StandardScaler", "river.preprocessing.StandardScaler", "`river.preprocessing.StandardScaler` has no mean"),
        ("mixing", "checkpoint: {guarantee: at_least_once}\nmixing", "that was never committed: take `exactly_once`"),
        ("mixing", "drift: {detector: ADWIN}\nmixing", "would get back what it forgot: leave out `drift`"),
        ("mixing", "labels: {topic: l, label: y, within: 1h}\nmixing", "it is not built for labels that come later"),
        ("topic: shared", "topic: events", "`events` is the input topic already"),
        ("10s", "2h", "`mixing.every`"),
    ],
)
def test_mistakes_in_the_section(problems, old, new, expected):  # noqa: F811
    assert expected in "\n".join(problems(GOOD.replace(old, new)))


def test_no_mixing_with_challengers(problems):  # noqa: F811
    text = GOOD.replace("[StandardScaler, AROWClassifier]", "{name: a, steps: [AROWClassifier]}")
    found = problems(text + "challengers: {b: [PAClassifier]}\n")
    assert "`mixing`: it is not built for several models of a partition" in "\n".join(found)
