"""A type checker reads the estimators as a user's program uses them: right calls pass, wrong ones are errors.

One small program is written, with a right call for each setting that the estimators are tested with, a wrong call for
each of their parameters, and calls of their methods. mypy must report exactly the lines that are marked as wrong.
"""

import inspect
import os
import re
import subprocess
import sys

import pytest

import river_margins as rm
from river_margins.core.estimator import Estimator
from tests.helpers.paths import ROOT

ESTIMATORS = [
    thing
    for thing in (getattr(rm, name) for name in rm.__all__)
    if isinstance(thing, type) and issubclass(thing, Estimator)
]

# Of other packages only the base classes of the estimators and pipelines are read: that takes half the time.
SETTINGS = """
[mypy]
follow_imports = skip
[mypy-river_margins.*,river,river.base.*,river.anomaly.base,river.compose,river.compose.pipeline]
follow_imports = silent
"""

BEGINNING = """\
from river import base
from river_margins import *
import river_margins as rm

def _pairs(x: dict[str, float], y: str) -> dict[tuple[str, str], float]:
    return {}

nothing = object()
"""

# Mistakes that people make, and what methods take and return.
BY_HAND = """\
rm.PAClassifier(C="much")  # wrong
rm.PAClassifier(mode="1")  # wrong
rm.PAClassifier(mode=3)  # wrong
rm.PAClassifier(0.1, 1)  # wrong
rm.PAClassifier(c=0.1)  # wrong
rm.PAClassifier(0.1, mode=2, classes=["ham", "spam"], max_features=2**18)
rm.AROWClassifier(covariance="ful")  # wrong
rm.OGDClassifier(loss="hing")  # wrong
rm.OGDRegressor(loss="hinge")  # wrong
rm.KernelPAClassifier(rm.RBF(gamma="x"))  # wrong
rm.KernelPAClassifier(rm.RBF(gamma=0.1), budget="oldest")  # wrong
rm.KernelPAClassifier(rm.RBF(gamma=0.1), budget=rm.OldestRemoval(100))
rm.KernelPerceptron(lambda x, z: float(len(x.keys() & z.keys())))
rm.MarginClassifier(rm.Linear())  # wrong
rm.MarginClassifier(rm.PA1, rm.Linear())  # wrong
rm.MarginRegressor(rm.PA1(0.1), rm.Diagonal())
rm.SelectiveSampler(rm.PARegressor())  # wrong
rm.Winnow()  # wrong

model = rm.PAClassifier()
model.learn_one({"a": 1.0}, True)
model.learn_one({"a": 1.0}, True, w=2)
model.learn_one(["a"], True)  # wrong
model.learn_one({"a": 1.0}, True, w="heavy")  # wrong
model.predict_one("a")  # wrong
model.predict_proba_one({"a": 1.0})[True].real
model.predict_proba_one({"a": 1.0}).nothing  # wrong
model.n_mistakes.nothing  # wrong
model.weights.nothing  # wrong
model.C.nothing  # wrong
model.mode = 2
model.mode = "PA"  # wrong
model.clone().learn_on({"a": 1.0}, True)  # wrong
rm.PAMultiLabelClassifier().predict_proba_one({"a": 1.0})["x"][True].real
rm.PAOneClass().learn_one({"a": 1.0})
rm.PAOneClass().learn_one({"a": 1.0}, True)  # wrong
rm.PAOneClass().score_one({"a": 1.0}).nothing  # wrong
rm.PAOneClass().radius.nothing  # wrong
rm.SequenceTagger().learn_one(["a", "dog"], ["article", "noun"])
rm.SequenceTagger().learn_one(1, ["article"])  # wrong
rm.SelectiveSampler(rm.Perceptron()).query_one({"a": 1.0}).real
rm.SelectiveSampler(rm.Perceptron()).query_one(1)  # wrong

pipeline = rm.StandardScaler() | rm.PAClassifier()
pipeline.predict_learn_one({"a": 1.0}, True)
pipeline.predict_one("a")  # wrong
(rm.StandardScaler() | rm.OneHotEncoder() | rm.PAClassifier()).predict_one("a")  # wrong
(rm.StandardScaler() | (rm.OneHotEncoder() | rm.PAClassifier())).predict_one("a")  # wrong
learner: base.Classifier = pipeline
learner = rm.StandardScaler() | rm.AROWClassifier()
rm.Hedge([pipeline, rm.PAClassifier()])
rm.AutoClassifier([pipeline, rm.PAClassifier()])
rm.AutoRegressor([rm.StandardScaler() | rm.PARegressor(), rm.AROWRegressor()])
rm.AutoClassifier([rm.StandardScaler()])  # wrong
"""


def written(value):
    """Return the source of a value; the names of functions and of parts are in the program."""
    if isinstance(value, Estimator):
        return call(type(value), value._get_params())
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return value.__name__ if inspect.isfunction(value) else repr(value)


def call(kind, parameters):
    given = (f"{name}={written(value)}" for name, value in parameters.items())
    return f"rm.{kind.__name__}({', '.join(given)})"


def program():
    lines = [BEGINNING]
    for kind in ESTIMATORS:
        settings = list(kind._unit_test_params())
        lines += [call(kind, parameters) for parameters in settings]
        for name in inspect.signature(kind).parameters:
            lines.append(call(kind, settings[0] | {name: NOTHING}) + "  # wrong")
    return "\n".join(lines) + "\n" + BY_HAND


class Nothing:
    """An object that is not a value of any parameter."""

    def __repr__(self):
        return "nothing"


NOTHING = Nothing()


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The program, and the errors of mypy by line."""
    folder = tmp_path_factory.mktemp("user")
    text = program()
    (folder / "program.py").write_text(text)
    (folder / "mypy.ini").write_text(SETTINGS)
    done = subprocess.run(
        [*[sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py"]],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    errors = {}
    for line in done.stdout.splitlines():
        if found := re.match(r"program\.py:(\d+): error: (.*)", line):
            errors.setdefault(int(found[1]), found[2])
    assert errors, done.stdout + done.stderr
    return text.splitlines(), errors


def test_right_calls_pass(checked):
    lines, errors = checked
    assert {lines[n - 1]: error for n, error in errors.items() if not lines[n - 1].endswith("# wrong")} == {}


def test_wrong_calls_are_errors(checked):
    lines, errors = checked
    wrong = [(n, line) for n, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert len(wrong) > 300
    assert [line for n, line in wrong if n not in errors] == []


def test_every_parameter_and_result_is_annotated():
    for kind in ESTIMATORS:
        for name in dir(kind):
            method = getattr(kind, name)
            ours = inspect.isfunction(method) and method.__module__.startswith("river_margins.families")
            if ours and (name == "__init__" or not name.startswith("_")):
                found = inspect.signature(method)
                bare = [p.name for p in found.parameters.values() if p.annotation is p.empty and p.name != "self"]
                assert not bare, (kind, name, bare)
                assert found.return_annotation is not found.empty, (kind, name)
