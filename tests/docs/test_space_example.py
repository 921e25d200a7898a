"""The example of a space in docs/adding-a-learner.md, built as a user builds it, learns what NumPy computes."""

import copy
import importlib.util
import inspect
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.paths import ROOT

NAMES = "abcd"
SLOW, RATE = ("b", "d"), 0.1
RATES = np.array([1.0, RATE, 1.0, RATE])


@pytest.fixture(scope="module")
def rated_linear(tmp_path_factory):
    folder = tmp_path_factory.mktemp("space")
    shutil.copy(ROOT / "docs" / "examples" / "rated_linear.pyx", folder)
    built = subprocess.run(
        [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "rated_linear.pyx"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CFLAGS": "-O0 -g0"},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (library,) = folder.glob("rated_linear.*.*")
    spec = importlib.util.spec_from_file_location("rated_linear", library)
    module = importlib.util.module_from_spec(spec)
    sys.modules["rated_linear"] = module  # where pickle looks
    spec.loader.exec_module(module)
    yield module
    del sys.modules["rated_linear"]


@pytest.fixture
def space(rated_linear):
    return rated_linear.RatedLinear(SLOW, RATE)


@pytest.fixture
def rounds():
    generator = np.random.default_rng(1)
    return [(x, "pqr"[int(np.argmax(x[:3]))]) for x in generator.normal(size=(300, 4))]


def record(x):
    return dict(zip(NAMES, x.tolist(), strict=True))


def vectors(model):
    return np.array([[model.weights[label][name] for name in NAMES] for label in "pqr"])


def test_two_classes(space, rounds):
    """PA-I along Rx: tau = min(C, loss / x'Rx)."""
    model, w, C = rm.MarginClassifier(rm.PA1(C=0.5), space, classes=[False, True], intercept=False), np.zeros(4), 0.5
    for x, label in rounds:
        y = 1 if label == "p" else -1
        assert model.score_one(record(x)) == pytest.approx(w @ x, abs=1e-12)
        w += min(C, max(0.0, 1 - y * (w @ x)) / (x @ (RATES * x))) * y * RATES * x
        model.learn_one(record(x), label == "p")
    assert [model.weights[name] for name in NAMES] == pytest.approx(w, abs=1e-12)


def test_many_classes(space, rounds):
    model, w, C = (
        rm.MarginClassifier(rm.PA1(C=0.5), space, classes=["p", "q", "r"], intercept=False),
        np.zeros((3, 4)),
        0.5,
    )
    for x, label in rounds:
        scores, true = w @ x, "pqr".index(label)
        rival = max((k for k in range(3) if k != true), key=lambda k: scores[k])
        assert model.score_one(record(x)) == pytest.approx(dict(zip("pqr", scores, strict=True)), abs=1e-12)
        tau = min(C, max(0.0, 1 - scores[true] + scores[rival]) / (2 * x @ (RATES * x)))
        w[true] += tau * RATES * x
        w[rival] -= tau * RATES * x
        model.learn_one(record(x), label)
    assert vectors(model) == pytest.approx(w, abs=1e-12)


@pytest.mark.parametrize("rule", [rm.PegasosRule(0.1), rm.ROMMARule(), rm.GradientDescent(radius=0.5)], ids=repr)
def test_scale_and_radius(space, rounds, rule):
    """With v = R^(-1/2)·w and z = R^(1/2)·x, the space is the linear one."""
    model = rm.MarginClassifier(rule, space, classes=["p", "q", "r"], intercept=False)
    linear = rm.MarginClassifier(rule, classes=["p", "q", "r"], intercept=False)
    for x, label in rounds:
        model.learn_one(record(x), label)
        linear.learn_one(record(np.sqrt(RATES) * x), label)
    assert model.n_updates == linear.n_updates > 10
    assert vectors(model) == pytest.approx(vectors(linear) * np.sqrt(RATES), abs=1e-9)


def test_an_intercept_is_a_feature_like_the_others(space):
    model = rm.MarginClassifier(rm.PA(), space)
    model.learn_one({"b": 1.0}, True)  # a margin of 0, a gain of 0.1 + 1
    assert dict(model.weights) == pytest.approx({rm.INTERCEPT: 1 / 1.1, "b": RATE / 1.1})


def test_new_features_and_labels_may_come_at_any_time(space):
    model = rm.MarginClassifier(rm.PA(), space, intercept=False)
    model.learn_one({"a": 1.0}, "p")  # there is no other class yet
    model.learn_one({"b": 1.0, "z": 1.0}, "q")  # a margin of 0 against p, a gain of 2·(0.1 + 1)
    tau = 1 / 2.2
    assert dict(model.weights["q"]) == pytest.approx({"b": RATE * tau, "z": tau})
    model.learn_one({"z": 1.0}, "r")  # a margin of -tau against q, a gain of 2
    assert dict(model.weights["r"]) == pytest.approx({"b": 0.0, "z": (1 + tau) / 2})


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on(space, rounds, duplicate):
    model = rm.MarginClassifier(rm.PA1(C=0.5), space, intercept=False)
    for x, label in rounds[:100]:
        model.learn_one(record(x), label)
    twin = duplicate(model)
    for x, label in rounds[100:]:
        model.learn_one(record(x), label)
        twin.learn_one(record(x), label)
    assert (vectors(twin) == vectors(model)).all()


def test_a_rule_that_needs_more_is_refused(space):
    with pytest.raises(ValueError, match="does not suit the space `RatedLinear"):
        rm.MarginClassifier(rm.AROWRule(), space, intercept=False)


def test_an_example_that_overflows_changes_nothing(space):
    model = rm.MarginClassifier(rm.PerceptronRule(), space, classes=[False, True], intercept=False)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(OverflowError):
        model.learn_one({"a": -1e200, "new": 1.0}, True)
    assert dict(model.weights) == {"a": 1.0}


def test_it_shows_its_parameters(rated_linear):
    """As snapshots and files need them."""
    assert str(inspect.signature(rated_linear.RatedLinear)) == "(slow=(), rate=0.1)"


@pytest.mark.parametrize("classes", [None, [False, True]])
def test_two_classes_with_an_intercept(space, rounds, classes):
    model = rm.MarginClassifier(rm.PA1(C=0.5), space, classes=classes, intercept=True)
    assert pickle.loads(pickle.dumps(model)).predict_one({"a": 1.0}) == model.predict_one({"a": 1.0})
    for x, label in rounds:
        model.predict_one(record(x))
        model.learn_one(record(x), label == "p")
    assert model.weights[rm.INTERCEPT] != 0.0


@pytest.mark.parametrize("classes", [None, ["p", "q", "r"]])
def test_many_classes_with_an_intercept(space, rounds, classes):
    model = rm.MarginClassifier(rm.PA1(C=0.5), space, classes=classes, intercept=True)
    for x, label in rounds:
        model.predict_one(record(x))
        model.learn_one(record(x), label)
    assert all(model.weights[label][rm.INTERCEPT] != 0.0 for label in "pqr")


def test_numbers_with_an_intercept(space):
    model = rm.MarginRegressor(rm.PA1(C=0.5), space)
    assert model.predict_one({"a": 1.0}) == 0.0
    assert pickle.loads(pickle.dumps(model)).predict_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 1.0}, 2.0)
    assert model.weights[rm.INTERCEPT] != 0.0


def test_a_score_is_explained(space, rounds):
    """A score of this space is ⟨w, x⟩, so each feature contributes its weight times its value."""
    model = rm.MarginClassifier(rm.PA1(C=0.5), space, classes=["p", "q", "r"], intercept=False)
    mean = rm.Averaged(rm.MarginClassifier(rm.PA1(C=0.5), space, classes=["p", "q", "r"], intercept=False))
    total = np.zeros((3, 4))
    for x, label in rounds:
        model.learn_one(record(x), label)
        mean.learn_one(record(x), label)
        total += vectors(model)
    x = rounds[0][0]
    explained = model.explain_one({**record(x), "new": 1.0})
    for label, w in zip("pqr", vectors(model), strict=True):
        assert explained[label] == pytest.approx({**dict(zip(NAMES, w * x, strict=True)), "new": 0.0}, abs=1e-12)
    values, labels, features = model.weight_matrix()
    assert labels == ["p", "q", "r"]
    scores = model.score_one(record(x))
    assert values @ [record(x)[name] for name in features] == pytest.approx([scores[label] for label in labels])
    assert list(mean.score_one(record(x)).values()) == pytest.approx(total @ x / len(rounds))
