"""Hedge: worked rounds, the regret bounds against an adversary, experts that learn, copies."""

import copy
import doctest
import json
import math
import pickle
import random

import pytest
from river import base, linear_model

import river_margins as rm
from river_margins import concepts, snapshot
from river_margins.concepts import prefixes
from tests.helpers.cases import case
from tests.helpers.paths import ROOT
from tests.helpers.rounds import state, stream

(GOLDEN,) = (each for each in json.loads((ROOT / "tests/golden/concepts.json").read_text()) if each["id"] == "hedge")


def hedge(count, **parameters):
    return rm.Hedge([rm.Perceptron() for _ in range(count)], **parameters)


@pytest.mark.lecture("best-expert")
def test_every_round_is_as_worked_out():
    model = hedge(3, eta=math.log(2.0))
    for expected in GOLDEN["rounds"]:
        assert model.expert_weights == pytest.approx(expected["p"], abs=1e-9)
        before = model.expected_loss
        model.learn_losses(expected["losses"])
        assert model.expected_loss - before == pytest.approx(expected["expected_loss"], abs=1e-9)
        assert model.expert_weights == pytest.approx(expected["after"]["weights_normalised"], abs=1e-9)


def test_the_rate_of_each_round_is_that_of_the_formula():
    model, totals = hedge(3), [0.0, 0.0, 0.0]
    for t, losses in enumerate(([1, 0, 0.5], [0, 0, 1], [1, 1, 0.25]), 2):
        model.learn_losses(losses)
        totals = [total + loss for total, loss in zip(totals, losses, strict=True)]
        shares = [math.exp(-math.sqrt(8 * math.log(3) / t) * total) for total in totals]
        assert model.expert_weights == pytest.approx([each / sum(shares) for each in shares])


def adversary(model, draw, rounds):
    """Losses against the weights: the heavier experts lose, ties and a fifth of all losses by lot."""
    for _ in range(rounds):
        weights = model.expert_weights
        middle = sorted(weights)[len(weights) // 2]
        model.learn_losses([draw.random() if draw.random() < 0.2 else float(w >= middle) for w in weights])


def one_is_good(model, draw, rounds):
    for _ in range(rounds):
        model.learn_losses([draw.random() ** (9 if i == 0 else 1) for i in range(len(model.losses))])


def bounds(model, N, T):
    best, log = min(model.losses), math.log(N)
    if model.horizon:
        return [best + math.sqrt(T * log / 2)]
    if model.eta is None:
        return [best + 2 * math.sqrt(T * log / 2) + math.sqrt(log / 8)]
    return [best + log / model.eta + model.eta * T / 8, (model.eta * best + log) / (1 - math.exp(-model.eta))]


class Frozen(rm.Hedge):
    """Keeps its first weights."""

    def _follow_losses(self):
        pass


class Halved(rm.Hedge):
    """Takes a hundredth of the rate."""

    def _rate(self):
        return super()._rate() / 100


@pytest.mark.lecture("best-expert")
@pytest.mark.parametrize("losses", [adversary, one_is_good])
def test_the_regret_is_bounded(losses):
    for seed, (N, T) in enumerate([(2, 50), (4, 200), (16, 300), (1, 20)]):
        for parameters in ({}, {"horizon": T}, {"eta": 0.1}, {"eta": 2.0}):
            model = hedge(N, **parameters)
            losses(model, random.Random(seed), T)
            for bound in bounds(model, N, T):
                assert model.expected_loss <= bound * (1 + 1e-9), (N, T, parameters)


@pytest.mark.parametrize("kind", [Frozen, Halved])
def test_a_learner_that_hardly_learns_exceeds_the_bound(kind):
    model = kind([rm.Perceptron() for _ in range(4)])
    one_is_good(model, random.Random(0), 200)
    (bound,) = bounds(model, 4, 200)
    assert model.expected_loss > bound


def test_experts_learn_and_the_best_leads():
    experts = [rm.Perceptron(), rm.PAClassifier(), rm.StandardScaler() | linear_model.LogisticRegression()]
    model, alone = rm.Hedge(experts), [each.clone() for each in experts]
    mistakes, votes = [0] * 3, 0
    for x, _ in stream(rounds=200):
        y = x.get("f0", 0.0) + 0.3 * x.get("f1", 0.0) > 0
        votes += model.predict_one(x) != y
        for i, each in enumerate(alone):
            mistakes[i] += each.predict_one(x) != y
            each.learn_one(x, y)
        model.learn_one(x, y)
    assert model.losses == mistakes
    assert votes <= 2 * model.expected_loss
    assert sorted(model.expert_weights, reverse=True) == [weight for weight, _ in model.experts]
    assert model.losses[model.expert_weights.index(max(model.expert_weights))] == min(mistakes)


class Always(base.Classifier):
    """Predicts one label."""

    def __init__(self, label=True):
        self.label = label

    def predict_one(self, x):
        return self.label

    def learn_one(self, x, y):
        pass


def test_experts_are_drawn_by_their_weights():
    """The share of 1000 draws is within 0.06 of its mean, but for one seed in 1000, by Hoeffding's inequality."""
    model, drawn = rm.Hedge([Always(True), Always(False)], eta=1.0, randomised=True, seed=3), 0
    model.learn_losses([0.0, 1.0])
    for _ in range(1000):
        drawn += model.predict_one({})
        assert model.predict_one({}) == model.clone(include_attributes=True).predict_one({})
        model.learn_losses([0.5, 0.5])
    assert drawn / 1000 == pytest.approx(1 / (1 + math.exp(-1)), abs=0.06)
    assert rm.Hedge([rm.Perceptron()], randomised=True).predict_one({}) is None


@pytest.mark.parametrize("parameters", [{}, {"eta": 0.3}, {"randomised": True}])
def test_a_snapshot_goes_on(parameters):
    model = rm.Hedge([rm.Perceptron(), rm.PAClassifier()], **parameters)
    rounds = list(stream(rounds=100))
    for x, y in rounds[:50]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rounds[50:]:
        assert twin.predict_one(x) == model.predict_one(x)
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert snapshot.dumps(twin) == snapshot.dumps(model)


@pytest.mark.parametrize("kind", [rm.Hedge, rm.AutoClassifier])
def test_copies_of_experts_of_river_go_on(kind):
    model = kind([linear_model.LogisticRegression(), rm.StandardScaler() | rm.PAClassifier()])
    rounds = list(stream(rounds=60))
    for x, y in rounds[:30]:
        model.learn_one(x, y)
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.clone(include_attributes=True)]
    for x, y in rounds[30:]:
        model.learn_one(x, y)
    for twin in twins:
        for x, y in rounds[30:]:
            twin.learn_one(x, y)
        assert [twin.predict_proba_one(x) for x, _ in rounds] == [model.predict_proba_one(x) for x, _ in rounds]
    with pytest.raises(snapshot.SnapshotError, match="LogisticRegression"):
        snapshot.dumps(model)


def test_what_is_refused():
    for parameters, words in (
        ({"eta": 0.0}, "`eta`"),
        ({"horizon": 0}, "`horizon`"),
        ({"seed": -1}, "`seed`"),
        ({"eta": 1.0, "horizon": 9}, "both fix the rate"),
    ):
        with case(words), pytest.raises(ValueError, match=words):
            hedge(2, **parameters)
    model = hedge(2)
    before = state(model)
    for losses, words in (
        ([0.5], "2 losses are needed"),
        ([0, 2.0], r"`losses\[1\]` must be at most 1"),
        ([-1, 0], r"`losses\[0\]`"),
    ):
        with case(losses), pytest.raises(ValueError, match=words):
            model.learn_losses(losses)
    for w, words in ((2.0, "`w` must be at most 1"), (-1.0, "`w` must be")):
        with case(w), pytest.raises(ValueError, match=words):
            model.learn_one({"a": 1.0}, True, w=w)
    assert state(model) == before


def test_a_sample_weight_scales_the_loss():
    model = rm.Hedge([rm.PAClassifier(), rm.PAClassifier(C=1.0)])
    model.learn_one({"a": 1.0}, True, w=0.25)  # the experts predict None
    assert model.losses == [0.25, 0.25]


# ------------------------------------------------------------------------------------------------------ prefixes


@pytest.mark.lecture("no-mistake-bound", "mistake-supremum")
@pytest.mark.parametrize(
    "learner",
    [rm.Perceptron(), rm.PAClassifier(mode=0), rm.AROWClassifier(), rm.AutoClassifier(), linear_model.Perceptron()],
    ids=lambda learner: type(learner).__name__,
)
def test_no_learner_has_a_mistake_bound_on_prefixes(learner):
    learner, rounds, low, high = learner.clone(), 0, 0.0, 1.0
    for x, y in concepts.bisection_adversary(learner):
        assert learner.predict_one(x) is not y
        learner.learn_one(x, y)
        rounds += 1
        low, high = (max(low, x["x"]), high) if y else (low, min(high, x["x"]))
    assert rounds >= 52 and low < high  # the threshold `low` agrees with all labels: True up to it, False beyond


def test_halving_falls_as_often_as_its_class_allows():
    """Prefixes with 64 thresholds: log2 64 = 6 mistakes, then the class is used up."""
    model = rm.HAL([lambda x, j=j: x["x"] <= j / 64 for j in range(64)], strict=True)
    for x, y in concepts.bisection_adversary(model):
        if len(model.alive) == 1:
            break
        model.learn_one(x, y)
    assert model.n_mistakes == 6


def test_examples():
    assert doctest.testmod(prefixes).attempted > 0 == doctest.testmod(prefixes).failed
