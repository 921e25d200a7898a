"""The JSON Schemas: every YAML file of the repository is valid, and so is every output; what is wrong is not."""

import json

import jsonschema
import pytest
import yaml

from connectors import config
from connectors.files import processor as files
from connectors.model.records import Record
from connectors.tools import schema
from connectors.tools.explain import explain
from connectors.topics.messages import shortened
from tests.docs.test_docs import blocks
from tests.helpers.paths import ROOT

LABELS = {
    "bool": [True, False, True],
    "text": ["red", "green", "blue"],
    "number": [1, 2, 3],
    "real": [1.5, -2, 0.25],
}


def validator(found):
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.fixture(scope="module")
def of_files():
    return validator(schema.of_files())


EXAMPLES = [*(ROOT / "deploy" / "examples").glob("*.yaml"), *(ROOT / "connectors" / "tools" / "demo").glob("*.yaml")]
# The file of a Spark query has no source and no sink.
EXAMPLES = [path for path in EXAMPLES if not path.with_name(f"{path.stem}_spark.py").exists()]


@pytest.mark.parametrize("text", [pytest.param(path.read_text(), id=path.name) for path in EXAMPLES])
def test_every_example_is_valid(of_files, text):
    of_files.validate(yaml.safe_load(text))


@pytest.mark.parametrize(("page", "line", "text"), blocks("yaml"))
def test_every_processor_of_the_documentation_is_valid(of_files, page, line, text):
    data = yaml.safe_load(text)
    if isinstance(data, dict) and {"name", "learner", "output"} <= data.keys():
        of_files.validate(data)


GOOD = {
    "name": "a",
    "kafka": {"bootstrap_servers": "a:1", "security_protocol": "SSL", "producer": {"linger_ms": 3}},
    "input": {"topic": "a"},
    "learner": ["StandardScaler", {"PAClassifier": {"C": 1}}],
    "output": {"topic": "b"},
}
FILES = {"name": "a", "input": {"file": "a.jsonl"}, "learner": ["PAClassifier"], "output": {"file": "b.csv"}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"snapshots": "./folder"},
        {"snapshots": {"folder": "s3://a/b", "every": "30s", "keep": {"last": 1}}},
        {"checkpoint": {"every": "1.5 s"}},
        {"checkpoint": {"every": "${EVERY}", "guarantee": "${GUARANTEE:-exactly_once}"}},
        {"metrics": {"port": 9464}},
        {"metrics": {"port": "${PORT}"}},
        {"record": {"id": "a", "features": ["b", {"c": "d.e"}], "nulls": "absent", "label": "y", "weight": "w"}},
        {"learner": ["river.preprocessing.MaxAbsScaler", "${LEARNER}"]},
        {"output": {"topic": "b", "timestamp": "now"}},
    ],
)
def test_what_is_valid(of_files, changes):
    of_files.validate(GOOD | changes)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (GOOD, {"nmae": "a"}),
        (GOOD, {"checkpoint": {"every": 3}}),
        (GOOD, {"checkpoint": {"every": "3 days"}}),
        (GOOD, {"checkpoint": {"guarantee": "twice"}}),
        (GOOD, {"metrics": {"port": "many"}}),
        (GOOD, {"record": {"features": [3]}}),
        (GOOD, {"record": {"features": [{"a": "b", "c": "d"}]}}),
        (GOOD, {"learner": ["PAClasifier"]}),
        (GOOD, {"learner": [{"PAClassifier": 3}]}),
        (GOOD, {"learner": []}),
        (GOOD, {"input": {"file": "a.jsonl"}}),
        (FILES, {"kafka": {"bootstrap_servers": "a:1"}}),
        (FILES, {"output": {"topic": "b"}}),
        (FILES, {"snapshots": {"folder": "a"}}),
    ],
)
def test_what_is_not_valid(of_files, base, changes):
    assert of_files.is_valid(base) and not of_files.is_valid(base | changes)


@pytest.fixture
def processor(tmp_path):
    def processor(learner, labels=(), unlabelled=0, **changes):
        records = [{"id": f"r{n}", "a": n % 3 - 1.0, "b": n % 5} for n in range(unlabelled)]
        records += [{"id": f"r{n}", "a": n % 3 - 1.0, "b": n % 5, "y": label} for n, label in enumerate(labels)]
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        settings = {
            "name": "trial",
            "input": {"file": str(tmp_path / "in.jsonl")},
            "record": {"id": "id", "label": "y"},
            "learner": learner,
            "output": {"file": str(tmp_path / "out.jsonl")},
            "snapshots": str(tmp_path / "snapshots"),
        } | changes
        (tmp_path / "p.yaml").write_text(json.dumps(settings))
        return config.load(tmp_path / "p.yaml")

    return processor


THREE = ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("learner", "labels", "unlabelled", "kind"),
    [
        ("PAClassifier", "bool", 0, "labels"),
        ("PAClassifier", "bool", 3, "labels"),
        ("PAClassifier", "text", 0, "labels"),
        ("PAClassifier", "text", 3, "labels"),
        ("PAClassifier", "number", 0, "labels"),
        ({"PAClassifier": {"classes": THREE}}, "text", 3, "classes"),
        ({"AROWClassifier": {"classes": [1, 2, 3]}}, "number", 3, "classes"),
        ({"PAClassifier": {"classes": [False, True]}}, "bool", 3, "number"),
        ({"PAClassifier": {"classes": ["red", "green"]}}, "text", 3, "number"),
        ("BalancedWinnow", "bool", 3, "number"),
        ("KernelPerceptron", "bool", 3, "labels"),
        ({"SelectiveSampler": {"classifier": "PAClassifier"}}, "bool", 3, "labels"),
        ({"Calibrated": {"classifier": "PAClassifier"}}, "bool", 3, "labels"),
        ({"Calibrated": {"classifier": "AROWClassifier"}}, "text", 0, "labels"),
        ("PARegressor", "real", 3, "number"),
        ("AROWRegressor", "bool", 3, "number"),
    ],
)
def test_outputs_are_what_the_schema_says_with_one_type_of_score(
    processor, tmp_path, learner, labels, unlabelled, kind
):
    parameters = {"KernelPerceptron": {"kernel": {"RBF": {"gamma": 1.0}}}}
    step = {learner: parameters[learner]} if learner in list(parameters) else learner
    found = processor(["StandardScaler", step], LABELS[labels] * 5, unlabelled)
    files.run(found)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    outputs = [json.loads(line) for line in lines]
    assert len(outputs) == 15 + unlabelled
    of_output = validator(schema.of_output(found))
    for output in outputs:
        of_output.validate(output)
    score = schema.score_of(found)
    by_class = kind == "classes" or (kind == "labels" and labels != "bool")
    unknown = unlabelled if kind == "labels" else 0
    assert score.kind == kind and [output["score"] for output in outputs[:unknown]] == [None] * unknown
    assert {type(output["score"]) for output in outputs[unknown:]} == {dict if by_class else float}
    assert " ".join(explain(found).split()).count(score.sentence) == 1
    if kind != "labels":
        assert not of_output.is_valid(outputs[0] | {"score": 0.0 if by_class else {}})


def test_what_no_output_is(processor):
    of_output = validator(schema.of_output(processor([{"PAClassifier": {"classes": THREE}}])))
    good = {"id": "a", "prediction": "red", "score": {"red": 1.0}, "label": "blue"}
    of_output.validate(good)
    for change in ({"prediction": "pink"}, {"label": None}, {"label": 3}, {"score": {"red": "1"}}, {"more": 1}):
        assert not of_output.is_valid(good | change), change
    assert not of_output.is_valid({"id": "a", "prediction": None})


def test_a_short_output_is_valid_in_a_topic_only(tmp_path, processor):
    record = Record("events-0-7", b"k", None)
    record.id = "a"
    short = json.loads(shortened(record, (b"k", b"x" * 9, []))[1])
    (tmp_path / "t.yaml").write_text(json.dumps(GOOD))
    of_output = validator(schema.of_output(config.load(tmp_path / "t.yaml")))
    of_output.validate(short)
    of_output.validate({"id": "events-0-7", "prediction": True, "score": 0.5})
    assert not validator(schema.of_output(processor(["PAClassifier"]))).is_valid(short)


def test_registered_classes_are_steps(monkeypatch):
    monkeypatch.setattr(schema.registered, "names", lambda: ["my_package.Scaler"])
    validator = jsonschema.Draft202012Validator(schema.of_files())
    assert validator.is_valid(GOOD | {"learner": ["my_package.Scaler", "PAClassifier"]})
    assert not validator.is_valid(GOOD | {"learner": ["my_package.Other", "PAClassifier"]})


def test_a_challenger_that_reads_the_input_is_in_no_output_before_it_takes_part(tmp_path):
    arow = {"steps": ["AROWClassifier"], "start_from": "input"}
    changes = {
        "learner": {"name": "pa", "steps": ["PAClassifier"]}, "challengers": {"arow": arow},
        "output": {"topic": "b", "challengers": True},
    }  # fmt: skip
    (tmp_path / "t.yaml").write_text(json.dumps(GOOD | changes))
    of_output = validator(schema.of_output(config.load(tmp_path / "t.yaml")))
    output = {"id": "a", "prediction": True, "score": 0.5}
    of_output.validate(output | {"challengers": {}})
    of_output.validate(output | {"challengers": {"arow": {"prediction": True, "score": 0.5}}})


def test_a_description_is_of_whole_sentences(processor):
    description = schema.score_of(processor(["PAClassifier"], [True])).schema["description"]
    assert description.startswith("A number if") and "else. As long as no label" in description
