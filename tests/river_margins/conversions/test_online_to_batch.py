"""The choice by penalised risk, by hand and on a distribution whose risks are known."""

import math
import random

import numpy as np
import pytest

import river_margins as rm
from river_margins.theory import risk
from tests.helpers.rounds import stream
from tests.river_margins.conversions.cases import CASES, nonzero

WORKED = CASES["online_to_batch"]


@pytest.mark.lecture("penalised-risk")
@pytest.mark.parametrize("penalty", ["hoeffding", "bernstein"])
def test_the_worked_choice(penalty):
    model = rm.OnlineToBatch(rm.Perceptron(intercept=False, classes=[False, True]), penalty=penalty, delta=0.1)
    for x, y in WORKED["stream"]:
        model.learn_one(x, y > 0)
    chosen = WORKED["table"][WORKED[f"chosen_{penalty}"]]
    assert nonzero(model.best_.weights) == nonzero(chosen["hypothesis"])
    assert model.risk_bound_ == 1.0 < chosen[penalty]  # six examples promise nothing
    for row in WORKED["table"]:
        bound = {"hoeffding": risk.hoeffding_risk, "bernstein": risk.bernstein_risk}[penalty]
        found = bound(row["errors"] / row["tested_on"], row["tested_on"], math.log(6 * 7 / 0.1))
        assert found == pytest.approx(row[penalty], rel=1e-12)
    kept = {each.born: (each.errors, nonzero(each.model.weights)) for each in model._hypotheses}
    rows = {row["t"]: (row["errors"], nonzero(row["hypothesis"])) for row in WORKED["table"] if row["t"] != 4}
    assert {born: found for born, found in kept.items() if born < 6} == rows  # 4 is 3, unchanged


def labelled(random, count, dimension=3, noise=0.1):
    """Directions in all directions, labelled by the first coordinate, a tenth of them wrong."""
    X = random.normal(size=(count, dimension))
    y = (X[:, 0] > 0) ^ (random.random(count) < noise)
    return X, y


def risk_of(weights, noise=0.1):
    """Of a direction at an angle to the first axis: angle/π is the share on which the two differ."""
    w = np.array([weights.get(i, 0.0) for i in range(3)])
    apart = math.acos(np.clip(w[0] / np.linalg.norm(w), -1, 1)) / math.pi if w.any() else 0.5
    return noise + (1 - 2 * noise) * apart


@pytest.mark.lecture("penalised-risk")
@pytest.mark.parametrize("penalty", ["hoeffding", "bernstein"])
def test_the_certificate_holds_and_the_choice_is_better_than_the_last(penalty, runs=14, rounds=200, delta=0.1):
    failures, chosen, last = 0, [], []
    for seed in range(runs):
        X, y = labelled(np.random.default_rng(seed), rounds)
        learner = rm.Perceptron(intercept=False, classes=[False, True])
        model = rm.OnlineToBatch(learner, penalty=penalty, delta=delta)
        mistakes = 0
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            x = dict(enumerate(row))
            mistakes += model.learner.predict_one(x) != label
            model.learn_one(x, label)
        found = risk_of(model.best_.weights)
        failures += found > model.risk_bound_
        assert found <= risk.selected_risk(mistakes, rounds, delta)
        assert found + 0.05 < model.risk_bound_ < 1  # it promises something, and no less than is true
        chosen.append(found)
        last.append(risk_of(model.learner.weights))
    assert failures <= runs * delta / 2
    assert np.mean(chosen) < np.mean(last) - 0.04


def test_few_hypotheses_are_kept_and_the_first_is_one():
    model = rm.OnlineToBatch(rm.Perceptron(), max_hypotheses=5)
    for x, y in stream(rounds=200):
        model.learn_one(x, y)
        assert len(model._hypotheses) <= 5
    assert model._hypotheses[0].born == 0


def test_a_learner_that_predicts_with_a_mean_has_a_new_hypothesis_in_each_round():
    model = rm.OnlineToBatch(rm.AveragedPerceptron())
    for x, y in stream(rounds=20):
        model.learn_one(x, y)
    assert [each.born for each in model._hypotheses] == [*range(21)]


def test_before_the_first_example_nothing_is_certified():
    model = rm.OnlineToBatch(rm.Perceptron())
    assert (model.risk_bound_, model.predict_one({"a": 1.0})) == (1.0, None)


def test_the_best_is_a_copy():
    model = rm.OnlineToBatch(rm.Perceptron())
    model.learn_one({"a": 1.0}, True)
    model.best_.learn_one({"a": 1.0}, False)
    assert model.best_.n_seen == 0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"penalty": "azuma"}, "`penalty`"), ({"delta": 1.0}, "`delta`"), ({"max_hypotheses": 1}, "`max_hypotheses`")],
)
def test_parameters_out_of_range_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        rm.OnlineToBatch(rm.Perceptron(), **parameters)


@pytest.mark.parametrize("make", [rm.Perceptron, rm.OnlineMLPClassifier])
def test_a_hypothesis_of_before_the_first_label_adds_no_classes(make):
    model = rm.OnlineToBatch(make())
    for label in ("ham", "spam", "ham"):
        model.learn_one({"a": 1.0}, label)
        found = model.predict_proba_one({"a": 1.0})
        assert found.keys() <= {"ham", "spam"} and sum(found.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("most", [2, 3, 4, 5])
def test_the_newest_hypothesis_is_kept(most):
    model = rm.OnlineToBatch(rm.Perceptron(intercept=False), max_hypotheses=most)
    for _ in range(100):
        for name, label in (("a", True), ("b", True), ("c", False)):
            model.learn_one({name: 1.0}, label)
    assert model.predict_one({"c": 1.0}) is False and model.risk_bound_ < 0.15
    assert len(model._hypotheses) <= most and model._hypotheses[0].born == 0


@pytest.mark.parametrize("make", [rm.Perceptron, rm.AROWClassifier])
@pytest.mark.parametrize("most", [5, 30])
def test_the_kept_hypotheses_are_spread_over_all_rounds(make, most, rounds=1500):
    model, draw = rm.OnlineToBatch(make(), max_hypotheses=most), random.Random(0)
    for _ in range(rounds):
        x = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)}
        model.learn_one(x, (x["a"] > x["b"]) == (draw.random() < 0.9))
    born = [each.born for each in model._hypotheses]
    assert max(np.diff([*born, rounds])) <= 2.5 * rounds / (most - 1)
    assert most == 5 or model.risk_bound_ < 0.22  # a tenth of the labels is wrong


def test_once_a_label_is_known_there_is_a_prediction():
    model = rm.OnlineToBatch(rm.Perceptron())
    for label in ("ham", "spam", "ham"):
        model.learn_one({"a": 1.0}, label)
        assert model.predict_one({"a": 1.0}) in ("ham", "spam") and model.score_one({"a": 1.0})


def test_the_certificate_holds_after_a_scaler_that_has_learned_before(runs=12, rounds=400):
    failures = 0
    for seed in range(runs):
        draw, scaler = np.random.default_rng(seed), rm.StandardScaler()
        model = rm.OnlineToBatch(rm.Perceptron(classes=[False, True]), delta=0.05)
        rows = draw.normal(size=(100 + rounds + 1000, 2)) * np.where(draw.random((1500, 1)) < 0.002, [[1e4, 1.0]], 1.0)
        examples = [(dict(zip("ab", row, strict=True)), row[0] + 0.5 > row[1]) for row in rows.tolist()]
        for x, _ in examples[:100]:
            scaler.learn_one(x)
        for x, y in examples[100 : 100 + rounds]:
            model.learn_one(scaler.transform_one(x), y)
        wrong = [model.best_.predict_one(scaler.transform_one(x)) != y for x, y in examples[100 + rounds :]]
        failures += np.mean(wrong) > model.risk_bound_
    assert failures <= 1


def test_what_predicts_is_explained_from_the_first_label_on():
    model, x = rm.OnlineToBatch(rm.PAClassifier(C=1.0)), {"a": 1.0, "b": 1.0}
    for n in range(6):
        model.learn_one({"a": float(n % 2), "b": 1.0}, "xy"[n % 2])
        parts = {label: sum(each.values()) for label, each in model.explain_one(x).items()}
        assert parts == pytest.approx(model.score_one(x))


def test_a_learner_that_forgets_has_a_new_hypothesis_in_each_round():
    """It predicts with the variances, which grow again without an update."""
    model = rm.OnlineToBatch(rm.SecondOrderPerceptron(half_life=20))
    for x, y in stream(rounds=20):
        model.learn_one(x, y)
    assert [each.born for each in model._hypotheses] == [*range(21)]


@pytest.mark.parametrize(
    "learner", [rm.FOBOSClassifier(lam=0.1), rm.FOBOSClassifier(schedule="adagrad"), rm.AdaGradRDAClassifier(lam=0.1)]
)
def test_a_learner_whose_weights_shrink_has_a_new_hypothesis_in_each_round(learner):
    """Its thresholds move weights without an update."""
    model = rm.OnlineToBatch(learner)
    for _ in range(20):
        model.learn_one({"a": 3.0, "b": 1.0}, False)
    assert [each.born for each in model._hypotheses] == [*range(21)]
