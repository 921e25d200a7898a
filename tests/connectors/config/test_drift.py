"""The section `drift`: what it builds, and every way to get it wrong, with the place of the mistake."""

import pytest

from connectors.drift.detectors import MODULES, RiseDetector
from connectors.drift.watch import Plan
from tests.connectors.config.test_load import load, problems  # noqa: F401

GOOD = """\
name: phishing
kafka: {bootstrap_servers: "localhost:9092"}
input: {topic: events}
record: {id: id, label: y}
output: {topic: predictions}
learner: {name: pa, steps: [StandardScaler, PAClassifier]}
challengers: {arow: [StandardScaler, AROWClassifier], odd: [KernelPerceptron]}
drift:
  detector: ADWIN
  then: {promote: arow}
"""


def test_what_the_file_says(load):  # noqa: F811
    assert load(GOOD).drift_plan == Plan("ADWIN", {}, "promote", "arow")
    plain = GOOD.partition("  then")[0].replace("ADWIN", "{HDDMW: {lambda_val: 0.1}}")
    assert load(plain).drift_plan == Plan("HDDMW", {"lambda_val": 0.1}, "warn")
    assert load(GOOD.replace("{promote: arow}", "reset")).drift_plan == Plan("ADWIN", {}, "reset")
    assert load(GOOD.partition("drift:")[0]).drift_plan is None


@pytest.mark.parametrize("name", MODULES)
def test_all_detectors_can_be_named(load, name):  # noqa: F811
    detector = "{KSWIN: {seed: 1}}" if name == "KSWIN" else name
    assert load(GOOD.replace("ADWIN", detector)).drift_plan.detector == name


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ADWIN", "ADWINN", "9:3: `drift.detector`: there is no drift detector `ADWINN`, did you mean `ADWIN`?"),
        ("ADWIN", "HDDM_A", "9:3: `drift.detector`: there is no drift detector `HDDM_A`, did you mean `HDDMA`?"),
        ("ADWIN", "os.system", "there is no drift detector `os.system`: known are `ADWIN`, `KSWIN`, `PageHinkley`"),
        ("ADWIN", "PAClassifier", "there is no drift detector `PAClassifier`"),
        ("detector: ADWIN", "detector:", "9:12: `drift.detector`: a class name or `Name: {parameter: value}` is n"),
        ("ADWIN", "3", "a step is a class name or `Name: {parameter: value}`, found"),
        ("ADWIN", "{ADWIN: {dleta: 0.1}}", "`ADWIN` has no parameter `dleta`, did you mean `delta`?"),
        ("ADWIN", "{KSWIN: {seed: 1, window_size: 50}}", "`KSWIN` cannot be used: Sample larger than population"),
        ("ADWIN", "{FHDDM: {short_window_size: 200}}", "`FHDDM` cannot be used: "),
        ("ADWIN", '{PageHinkley: {threshold: "50"}}', "`threshold` of `PageHinkley` must be a number"),
        ("ADWIN", '{DDM: {drift_threshold: "3"}}', "`drift_threshold` of `DDM` must be a number"),
        ("ADWIN", "{ADWIN: {delta: small}}", "`delta` of `ADWIN` must be a number"),
        ("ADWIN", "{ADWIN: {delta: .inf}}", "`ADWIN` needs a finite number as `delta`"),
        ("ADWIN", "{ADWIN: {max_buckets: -1}}", "`max_buckets` is -1: it must lie between 1 and 1000"),
        ("ADWIN", "{ADWIN: {max_buckets: 10000000000}}", "`max_buckets` is 10000000000: it must lie between 1"),
        ("ADWIN", "{ADWIN: {clock: 0}}", "`clock` is 0: it must lie between 1"),
        ("ADWIN", "{ADWIN: {delta: 0.0}}", "`delta` is 0.0: it must lie between"),
        ("ADWIN", "{ADWIN: {delta: -1.0}}", "`delta` is -1.0: it must lie between"),
        ("ADWIN", "{DDM: {warm_start: text}}", "`warm_start` of `DDM` must be a number"),
        ("ADWIN", "{FHDDM: {confidence_level: 0}}", "`FHDDM` refuses `confidence_level`"),
        ("ADWIN", "KSWIN", "`KSWIN` draws at random, and each start must draw the same: give it a `seed`"),
        ("{promote: arow}", "retrain", "10:9: `drift.then`: `warn`, `reset` or `{promote: NAME}` is needed, fo"),
        ("{promote: arow}", "{promote: 3}", "10:9: `drift.then`: `warn`, `reset` or `{promote: NAME}` is needed, fo"),
        ("{promote: arow}", "{promote: arrow}",
         "10:9: `drift.then`: `arrow` is none of the `challengers`, did you mean `arow`?"),
        ("{promote: arow}", "{promote: pa}", "10:9: `drift.then`: `pa` is none of the `challengers`"),
        ("  then: {promote: arow}", "  than: warn", "unknown key `drift.than`"),
        ("  detector: ADWIN\n", "", "`detector` is missing in `drift`"),
        ("label: y", "features: [a]", "8:1: `drift`: a loss needs labels, and there are none: name their field as"),
        ("{topic: predictions}\n", "{topic: predictions, explain: 3}\n", None),
    ],
)  # fmt: skip
def test_what_cannot_be(load, problems, old, new, expected):  # noqa: F811
    assert old in GOOD
    text = GOOD.replace(old, new)
    if expected is None:
        load(text)
        return
    assert any(expected in line for line in problems(text)), problems(text)


def test_numbers_are_neither_right_nor_wrong(load, problems):  # noqa: F811
    text = GOOD.replace("PAClassifier", "PARegressor").replace(
        "{arow: [StandardScaler, AROWClassifier], odd: [KernelPerceptron]}", "{arow: [AROWRegressor]}"
    )
    assert load(text).drift_plan.detector == "ADWIN"
    (line,) = problems(text.replace("ADWIN", "DDM"))
    assert "9:3: `drift.detector`: `DDM` watches right or wrong, and `learner` predicts numbers: use one of `A" in line


def test_who_is_promoted_must_explain_its_predictions_too(problems):  # noqa: F811
    text = GOOD.replace("{topic: predictions}", "{topic: predictions, explain: 3}").replace(
        "promote: arow", "promote: odd"
    )
    (line,) = problems(text)
    assert line.startswith(
        "p.yaml:10:9: `drift.then`: `odd` would have to explain its predictions, because of `output."
    )


def test_a_detector_is_tried_once(load, monkeypatch):  # noqa: F811
    found = load(GOOD.replace("ADWIN", "{PageHinkley: {min_instances: 777}}"))
    monkeypatch.setattr(RiseDetector, "update", lambda *_: pytest.fail("tried again"))
    assert found.drift_plan.detector == "PageHinkley"


def test_who_is_promoted_must_learn_what_queries_ask_for(load, problems):  # noqa: F811
    text = GOOD.replace("[KernelPerceptron]", "[{SelectiveSampler: {classifier: PAClassifier}}]").replace(
        "promote: arow", "promote: odd"
    )
    text += "labels: {topic: labels, label: y, within: 1d}\n"
    load(text)
    (line,) = problems(text + "queries: {topic: q, sampler: MarginSampler, at_most: 10 per 100}\n")
    assert "10:9: `drift.then`: `odd` would learn only what its `SelectiveSampler` asks for itself" in line
