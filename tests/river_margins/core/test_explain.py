"""Contributions are weights times values, they add up to the score, and what cannot be added up is refused."""

import math
import subprocess
import sys

import numpy as np
import pytest
from river import compose, preprocessing

import river_margins as rm
from tests.helpers.rounds import stream, stream_for, trained
from tests.learners import FORMS

KERNELS = ("kernel", "secondorderkernel", "randomfourier", "votedlinear")


def explains(form):
    return form.task != "one-class" and form.space not in KERNELS


def parts_of(explained, score):
    """The pairs of contributions and score: one, or one for each class."""
    if not isinstance(score, dict):
        return [(explained, score)]
    assert explained.keys() == score.keys()
    return [(explained[label], score[label]) for label in score]


@pytest.mark.parametrize("form", [form for form in FORMS if explains(form)], ids=str)
@pytest.mark.parametrize("parameters", [{}, {"intercept": True}, {"max_features": 4}], ids=["", "intercept", "hashed"])
def test_contributions_add_up_to_the_score(form, parameters):
    model = trained(form.make(**parameters))
    for x, _ in stream_for(model, seed=1, rounds=50):
        x |= {"new": 0.5}
        for explained, score in parts_of(model.explain_one(x), model.score_one(x)):
            assert math.fsum(explained.values()) == pytest.approx(score, rel=1e-9, abs=1e-9)
            assert explained.keys() - {rm.INTERCEPT} == x.keys()
            assert (rm.INTERCEPT in explained) >= ("intercept" in parameters)
            assert [*map(abs, explained.values())] == sorted(map(abs, explained.values()), reverse=True)


@pytest.mark.parametrize("form", [form for form in FORMS if not explains(form)], ids=str)
def test_a_score_that_is_no_sum_is_refused(form):
    model = trained(form.make())
    with pytest.raises(TypeError, match="not a sum over features"):
        model.explain_one({"f0": 1.0, "f1": 2.0})
    assert "not a sum over features" in model.debug_one({"f0": 1.0})


@pytest.mark.parametrize(
    "model",
    [
        rm.PAClassifier(C=0.1, intercept=True),
        rm.AROWClassifier(intercept=True),
        rm.AROWRegressor(intercept=True),
        rm.AveragedPerceptron(intercept=True),
        rm.PNormPerceptron(intercept=True),
        rm.FTRLProximalClassifier(intercept=True, l1=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_contribution_is_the_weight_times_the_value(model):
    trained(model)
    x = {"f0": -2.0, "f3": 0.0, "new": 4.0, "f5": 1.5}
    weights = dict(model.weights)
    expected = {name: value * weights.get(name, 0.0) for name, value in x.items()}
    assert model.explain_one(x) == pytest.approx(expected | {rm.INTERCEPT: weights[rm.INTERCEPT]})


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_score_that_looks_ahead_is_a_sum_too(covariance):
    """With A = I + Σ xx' and v = Σ yx, the score of z is v'(A + zz')⁻¹z = w'z/(1 + z'A⁻¹z), where w is A⁻¹v."""
    model = rm.SecondOrderPerceptron(every_label=True, covariance=covariance, classes=[False, True], intercept=False)
    random, A, v = np.random.default_rng(1), np.eye(4), np.zeros(4)
    for row in random.normal(size=(40, 4)):
        y = bool(row[0] + row[1] > 0)
        inside = A + np.outer(row, row)
        if covariance == "diagonal":
            w = v / np.diag(inside)
        else:
            w = np.linalg.solve(A, v) / (1 + row @ np.linalg.solve(A, row))
        explained = model.explain_one(dict(enumerate(row.tolist())))
        assert [explained[i] for i in range(4)] == pytest.approx((w * row).tolist(), abs=1e-9)
        model.learn_one(dict(enumerate(row.tolist())), y)
        A, v = inside, v + (1 if y else -1) * row


def test_the_threshold_of_winnow_is_the_constant():
    model = rm.Winnow(theta=2.0, intercept=False)
    assert model.explain_one({"a": 1.0, "b": 0.5}) == {rm.INTERCEPT: -2.0, "a": 1.0, "b": 0.5}  # weights start at 1
    assert model.score_one({"a": 1.0, "b": 0.5}) == -0.5


def test_hashed_features_have_their_own_names_and_signs():
    model = trained(rm.PAClassifier(max_features=2, intercept=False))
    x = {"f0": 1.0, "f1": -2.0, "f2": 0.5}
    alone = {name: model.score_one({name: value}) for name, value in x.items()}  # a score is linear
    assert model.explain_one(x) == pytest.approx(alone)


def test_before_the_first_label():
    assert rm.PAClassifier(intercept=True).explain_one({"a": 1.0}) == {}
    assert rm.PAClassifier(intercept=True, classes=[False, True]).explain_one({"a": 1.0}) == {
        "a": 0.0,
        rm.INTERCEPT: 0.0,
    }
    assert rm.PARegressor(intercept=False).explain_one({"a": 1.0}) == {"a": 0.0}
    assert rm.PAClassifier(classes=["a", "b", "c"]).explain_one({}).keys() == set("abc")
    with pytest.raises(ValueError, match="feature 'a'"):
        rm.PAClassifier().explain_one({"a": "text"})


def test_explaining_changes_nothing():
    model = trained(rm.AROWClassifier(intercept=True, max_features=8))
    before = model.__getstate__()
    model.explain_one({"f0": 1.0, "new": 1.0})
    assert repr(model.__getstate__()) == repr(before)


def test_pipelines_and_wrappers_explain():
    model = rm.StandardScaler() | rm.Calibrated(rm.SelectiveSampler(rm.PAClassifier(C=0.1, intercept=True), c=1e9))
    for x, y in stream():
        model.learn_one(x, y)
    x = {"f0": 1.0, "f1": 2.0}
    explained = model.explain_one(x)
    assert math.fsum(explained.values()) == pytest.approx(model.score_one(x))
    scaled = model["StandardScaler"].transform_one(x)
    weights = model["Calibrated"].classifier.learner.weights
    assert explained["f1"] == pytest.approx(scaled["f1"] * weights["f1"])


def test_rivers_debug_one_shows_the_table():
    ours = compose.Pipeline(preprocessing.StandardScaler(), rm.PAClassifier(C=0.1, intercept=True))
    for x, y in stream():
        ours.learn_one(x, y)
    shown = ours.debug_one({"f0": 1.0, "f1": 2.0})
    assert [word in shown for word in ("Name", "Weight", "Contribution", "INTERCEPT", "True: ")] == [True] * 5
    classes = trained(rm.PAClassifier(classes=["a", "b", "c"], intercept=False))
    for x, y in stream(labels=("a", "b", "c")):
        classes.learn_one(x, y)
    x = {"f0": 2.0}
    best = classes.predict_one(x)
    assert classes.debug_one(x, 3).splitlines()[-1].split() == [
        "f0",
        "2.000",
        f"{classes.weights[best]['f0']:.3f}",
        f"{2 * classes.weights[best]['f0']:.3f}",
    ]
    for learner in (rm.KernelPerceptron(), rm.PAOneClass(), rm.PAClassifier()):
        compose.Pipeline(preprocessing.StandardScaler(), learner).debug_one({"f0": 1.0})


SET_MEANWHILE = """
import threading
import river_margins as rm
import river_margins.core.learner as module

def meanwhile(weights):  # begin to set them in another thread; it may have to wait
    thread = threading.Thread(target=setattr, args=(model, "weights", weights))
    thread.start()
    thread.join(0.1)

class Late(str):
    waits = False
    def __hash__(self):
        if Late.waits:
            Late.waits = False
            meanwhile({"a": 1.0})
        return str.__hash__(self)

names = [f"f{i}" for i in range(20_000)]
model = rm.PAClassifier(classes=["a", "b", "c"], intercept=False)
model.weights = {label: dict.fromkeys(names, 0.5) for label in "abc"}
largest_first = module.largest_first
module.largest_first = lambda found: (meanwhile({"a": {"z": 1.0}}), largest_first(found))[1]
explained = model.explain_one(dict.fromkeys(names, 1.0))
print([len(parts) for parts in explained.values()])

module.largest_first = largest_first
model = rm.PAClassifier(intercept=False)
x = {Late("late"): 1.0} | dict.fromkeys(names, 1.0)
model.learn_one(x, True)
Late.waits = True
print(len(model.explain_one(x)), Late.waits)
"""


def test_weights_may_be_set_while_a_score_is_explained():
    done = subprocess.run([sys.executable, "-c", SET_MEANWHILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[20000, 20000, 20000]\n20001 False\n"), done.stderr
