"""Weights are the minimisers that define them, as a solver finds them that knows no closed form, and some exactly 0."""

import itertools
import pickle
import random
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import river_margins as rm
from tests.helpers.rounds import stream
from tests.learners import CLASSES

ROUNDS = 30
LABELS = {"binary": [False, True], "multiclass": CLASSES}


def leader(rounds, alpha, beta, l1, l2):
    """The function of one weight that FTRL-proximal minimises after these rounds (weight before, gradient)."""
    squares, held = 0.0, []
    for before, g in rounds:
        held.append(((np.sqrt(squares + g * g) - np.sqrt(squares)) / alpha, before))
        squares += g * g
    pull = sum(g for _, g in rounds)

    def objective(w):
        near = sum(strength * (w - before) ** 2 / 2 for strength, before in held)
        return pull * w + near + (beta / alpha + l2) * w * w / 2 + l1 * abs(w)

    return objective


def averaging(rounds, lr, delta, lam):
    """That of AdaGrad-RDA: ⟨Σ g, w⟩ + t·lam·|w| + H·w²/(2·lr)."""
    pull, H = sum(g for _, g in rounds), delta + np.sqrt(sum(g * g for _, g in rounds))
    return lambda w: pull * w + len(rounds) * lam * abs(w) + H * w * w / (2 * lr)


def splitting(rounds, lr, lam):
    """That of the last round of FOBOS: the nearest point to where the gradient led, at a price for its size."""
    (before, g), rate = rounds[-1], lr / np.sqrt(len(rounds))
    return lambda w: (w - before + rate * g) ** 2 / 2 + rate * lam * abs(w)


def adaptive_splitting(rounds, lr, delta, lam):
    (before, g), H = rounds[-1], delta + np.sqrt(sum(g * g for _, g in rounds))
    return lambda w: H * (w - before + lr / H * g) ** 2 / (2 * lr) + lam * abs(w)


LEARNERS = {
    "FTRL-proximal": (
        partial(rm.FTRLProximalClassifier, loss="hinge"),
        leader,
        dict(alpha=0.5, beta=0.5, l1=0.8, l2=0.3),
    ),
    "AdaGrad-RDA": (rm.AdaGradRDAClassifier, averaging, dict(lr=0.7, delta=0.5, lam=0.1)),
    "FOBOS": (rm.FOBOSClassifier, splitting, dict(lr=0.7, lam=0.2)),
    "AdaGrad-FOBOS": (
        partial(rm.FOBOSClassifier, schedule="adagrad"),
        adaptive_splitting,
        dict(lr=0.7, delta=0.5, lam=0.2),
    ),
}


def gradients(model, x, y):
    """The gradient of the hinge loss, {(class, feature): value}, from the scores alone."""
    scores = model.score_one(x)
    if not isinstance(scores, dict):
        sign = 1.0 if y else -1.0
        return {(None, f): -sign * value for f, value in x.items()} if sign * scores < 1 else {}
    rival = max((k for k in CLASSES if k != y), key=lambda k: scores[k])
    if scores[y] - scores[rival] >= 1:
        return {}
    return {(k, f): sign * value for k, sign in ((y, -1.0), (rival, 1.0)) for f, value in x.items()}


def weight(model, place):
    label, feature = place
    return (model.weights if label is None else model.weights[label]).get(feature, 0.0)


@pytest.mark.parametrize("task", LABELS)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_weight_is_the_minimiser(name, task):
    make, problem, parameters = LEARNERS[name]
    model = make(**parameters, classes=LABELS[task], intercept=False)
    places = list(itertools.product([None] if task == "binary" else CLASSES, [f"f{i}" for i in range(6)]))
    rounds = {place: [] for place in places}
    zeros = 0
    for number, (x, y) in enumerate(stream(seed=1, rounds=ROUNDS, labels=LABELS[task])):
        if 5 < number < 25:  # the others stay away for long, and owe all the thresholds of that time
            x = {feature: value for feature, value in x.items() if feature < "f4"}
        g = gradients(model, x, y)
        for place in places:
            rounds[place].append((weight(model, place), g.get(place, 0.0)))
        model.learn_one(x, y)
        for place in places:
            found = minimize_scalar(problem(rounds[place], **parameters), bracket=(-1.0, 1.0), tol=1e-12)
            assert weight(model, place) == pytest.approx(found.x, abs=1e-6)
            zeros += weight(model, place) == 0.0
    assert ROUNDS * len(places) / 20 < zeros < ROUNDS * len(places) * 0.9


@pytest.mark.parametrize(
    ("model", "noise"),
    [
        (rm.FTRLProximalClassifier(l1=100.0, intercept=False), 1.0),
        (rm.AdaGradRDAClassifier(lr=1.0, lam=0.1, intercept=False), 1.0),
        (rm.FOBOSClassifier(lam=0.1, intercept=False), 0.09),  # below lam: a larger gradient is paid off only later
        (rm.FOBOSClassifier(lam=0.1, schedule="adagrad", intercept=False), 0.09),
    ],
    ids=repr,
)
def test_noise_is_left_at_exactly_0(model, noise):
    random = np.random.default_rng(0)
    for row in random.uniform(-1, 1, size=(2000, 20)) * np.where(np.arange(20) < 2, 1.0, noise):
        model.learn_one(dict(enumerate(row.tolist())), bool(row[0] + row[1] > 0))
    assert {feature for feature, weight in model.weights.items() if weight != 0.0} == {0, 1}


class Constant(rm.Rule):
    spaces = ("SoftThreshold",)

    def step(self, seen):
        return rm.Step(0.5, scale=1.0 if seen.t < 3 else 0.5)


def test_a_rule_in_python_may_step_and_nothing_else():
    model = rm.MarginClassifier(Constant(), rm.SoftThreshold(), intercept=False)
    for _ in range(2):
        model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="can only take steps"):
        model.learn_one({"a": 1.0}, True)
    assert (model.n_seen, dict(model.weights)) == (2, {"a": 1.0})


def test_delta_without_adagrad_is_refused():
    with pytest.raises(ValueError, match="`delta` belongs to the schedule 'adagrad', not to 'constant'"):
        rm.FOBOSClassifier(schedule="constant", delta=1.0, intercept=False)


def test_a_step_that_would_overflow_a_sum_of_squares_is_refused():
    model = rm.AdaGradRDAClassifier(intercept=False)
    model.learn_one({"a": 1e154}, True)
    before = pickle.dumps(model)
    with pytest.raises(OverflowError, match="`AdaGradRDAClassifier`"):
        model.learn_one({"a": 1e154, "b": 1.0}, False)
    assert pickle.dumps(model) == before


def test_adagrad_takes_sample_weights():
    one, other = (rm.FOBOSClassifier(schedule="adagrad", intercept=False) for _ in range(2))
    one.learn_one({"a": 1.0}, True)
    other.learn_one({"a": 1.0}, True, w=2.0)
    assert other.weights["a"] > one.weights["a"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: rm.FTRLProximalClassifier(0.001, l1=0.5, l2=0.1, loss="hinge", intercept=False),
        lambda: rm.AdaGradRDAClassifier(0.001, lam=0.1, intercept=False),
    ],
)
def test_steps_along_many_features_are_those_along_one(make):
    """Steps of four features at once have the same bits. Rates are so small that each round has the slope 1."""
    rng = random.Random(1)
    rows = [({f"f{i}": rng.gauss(0, 1) for i in range(11)}, rng.random() < 0.7) for _ in range(30)]
    rows[7][0]["f3"] = 0.0
    together = make()
    for x, y in rows:
        together.learn_one(x, y)
    assert any(together.weights.values())
    for name, weight in together.weights.items():
        alone = make()
        for x, y in rows:
            alone.learn_one({name: x[name]}, y)
        assert alone.weights[name] == weight
