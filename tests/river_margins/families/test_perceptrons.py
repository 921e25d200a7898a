"""The perceptrons that predict with other weights than they learn with, beside their definitions, word by word."""

import math
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from river import datasets

import river_margins as rm
from river_margins.core.weights import Weights
from tests.helpers.rounds import stream

KINDS = {
    "two classes": {},
    "three classes": {"classes": ["a", "b", "c"]},
    "intercept": {"intercept": True},
    "hashed": {"max_features": 4},
}


def vectors(model):
    """The weights as {(class, feature): weight}."""
    nested = model.weights if isinstance(next(iter(model.weights.values()), None), dict | Weights) else None
    if nested is None:
        return {(None, feature): weight for feature, weight in model.weights.items()}
    return {(label, feature): weight for label, vector in nested.items() for feature, weight in vector.items()}


RULES = {
    "perceptron": rm.PerceptronRule(0.5),
    "PA": rm.PA(),
    "Pegasos, which shrinks w in every round": rm.PegasosRule(0.05),
    "Pegasos, which shrinks w to almost nothing": rm.PegasosRule(1e-8),
    "aggressive ROMMA, which drops w now and then": rm.ROMMARule(aggressive=True),
}


@pytest.mark.parametrize("burn_in", [0, 30])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_the_mean_weights_are_the_mean_of_the_weights(rule, kind, burn_in):
    options = {"intercept": False} | KINDS[kind]
    plain = rm.MarginClassifier(RULES[rule], **options)
    averaged = rm.MarginClassifier(RULES[rule], rm.AveragedLinear(burn_in), **options)
    labels = options.get("classes", (False, True))
    sums, rounds, largest = {}, 0, 0.0
    for number, (x, y) in enumerate(stream(rounds=150, labels=labels), 1):
        plain.learn_one(x, y)
        averaged.learn_one(x, y)
        if number > burn_in:
            rounds += 1
            for place, weight in vectors(plain).items():
                sums[place] = sums.get(place, 0.0) + weight
                largest = max(largest, abs(weight))
        means = {place: total / rounds for place, total in sums.items()} if rounds else vectors(plain)
        assert vectors(averaged) == pytest.approx(means, rel=1e-9, abs=1e-12 * largest)
    assert averaged.n_mistakes == plain.n_mistakes
    assert averaged.n_updates == plain.n_updates > 20


def test_a_mean_follows_a_scale_that_is_folded():
    """Halved in each of 2000 rounds, the shared scale is folded six times."""
    model, total, w = rm.MarginRegressor(Halving(), rm.AveragedLinear(), eps=0.0, intercept=False), 0.0, 0.0
    for _ in range(2000):
        w = 0.5 * w + 1.0
        total += w
        model.learn_one({"a": 1.0}, 100.0)
    assert model.weights["a"] == pytest.approx(total / 2000, rel=1e-12)


class Halving(rm.Rule):
    def step(self, seen):
        return rm.Step(step=1.0, scale=0.5)


# ------------------------------------------------------------------------------------------------------- the vote


def winners(scores):
    """The class that a vector votes for, or None if the best score is shared; ±1 or 0 where there is one score."""
    if not isinstance(scores, dict):
        return float(np.sign(scores))
    best = [label for label, score in scores.items() if score == max(scores.values())]
    return best[0] if len(best) == 1 else None


@pytest.mark.parametrize("kind", KINDS)
def test_the_vote_is_that_of_all_weights_there_have_been(kind):
    options = {"intercept": False} | KINDS[kind]
    plain, voted = rm.Perceptron(**options), rm.VotedPerceptron(**options)
    labels, past = options.get("classes", (False, True)), []
    asked = [x for x, _ in stream(seed=9, rounds=20)]
    for x, y in stream(rounds=80, labels=labels):
        plain.learn_one(x, y)
        voted.learn_one(x, y)
        past.append(plain.clone(include_attributes=True))
    for x in [*asked, {}]:
        votes = [winners(model.score_one(x)) for model in past]
        expected = {label: votes.count(label) / len(past) for label in labels}
        if "classes" not in options:
            expected = sum(votes) / len(past)
        assert voted.score_one(x) == pytest.approx(expected, abs=1e-12)
    assert (voted.n_mistakes, voted.n_updates) == (plain.n_mistakes, plain.n_updates)
    assert dict(vectors(voted)) == vectors(plain)
    assert voted.n_updates > 20


# ----------------------------------------------------------------------------------------------------- the pocket


def naive_pocket(rounds, labels, ratchet, window):
    """Gallant's algorithm word by word, with vectors {(class, feature): weight}; the weights in the pocket."""

    def margin(w, x, y):
        scores = {label: sum(w.get((label, f), 0.0) * v for f, v in x.items()) for label in labels}
        return scores[y] - max(score for label, score in scores.items() if label != y), scores

    def right(w, examples):
        return sum(margin(w, x, y)[0] > 0 for x, y in examples)

    w, pocket, run, record = {}, {}, 0, 0
    for number, (x, y) in enumerate(rounds, 1):
        lead, scores = margin(w, x, y)
        latest = rounds[max(0, number - window) : number]
        if lead <= 0:
            rival = max((label for label in labels if label != y), key=scores.get)
            for f, v in x.items():
                w[y, f] = w.get((y, f), 0.0) + v
                w[rival, f] = w.get((rival, f), 0.0) - v
            run = 0
        else:
            run += 1
            if run > record and (not ratchet or right(w, latest) > right(pocket, latest)):
                pocket, record = dict(w), run
        yield pocket


@pytest.mark.parametrize("ratchet", [False, True], ids=["", "ratchet"])
@pytest.mark.parametrize("window", [5, 40])
def test_the_pocket_is_gallants(ratchet, window):
    labels = ["a", "b", "c"]
    target = np.random.default_rng(3).normal(size=(3, 6))
    rounds = []
    for x, noise in stream(rounds=300, labels=[*labels, None, None, None]):
        scores = target @ [x.get(f"f{i}", 0.0) for i in range(6)]
        rounds.append((x, noise or labels[int(scores.argmax())]))
    model, changes, before = rm.PocketPerceptron(ratchet, window=window, classes=labels, intercept=False), 0, {}
    for (x, y), pocket in zip(rounds, naive_pocket(rounds, labels, ratchet, window), strict=True):
        model.learn_one(x, y)
        found = {place: weight for place, weight in vectors(model).items() if weight}
        assert found == pytest.approx({place: weight for place, weight in pocket.items() if weight})
        changes += found != before
        before = found
    assert changes >= 3


@pytest.mark.parametrize(("window", "expected"), [(2, {"a": 1.0, "b": 0.0}), (3, {"a": 1.0, "b": -1.0})])
def test_a_ratchet_asks_for_more_right_answers_and_not_for_as_many(window, expected):
    """The record of 1 is beaten when the last two examples are a, which both vectors know, and the third last is b."""
    model = rm.PocketPerceptron(ratchet=True, window=window, intercept=False)
    for feature in "aabaa":
        model.learn_one({feature: 1.0}, feature == "a")
    assert dict(model.weights) == expected


def test_with_a_ratchet_and_a_fixed_set_the_pocket_is_never_worse():
    """Any order, so long as the window holds the whole set once it has been seen."""
    draw = np.random.default_rng(0)
    X, target = draw.normal(size=(40, 3)), draw.normal(size=3)
    labels = (X @ target > 0) ^ (draw.random(40) < 0.15)
    rows = [(dict(enumerate(x.tolist())), bool(y)) for x, y in zip(X, labels, strict=True)]
    model, best, rises = rm.PocketPerceptron(ratchet=True, window=40, intercept=False), 0, 0
    for _ in range(30):
        for x, y in rows:
            model.learn_one(x, y)
            right = sum((model.score_one(x) > 0) if y else (model.score_one(x) < 0) for x, y in rows)
            if model.n_seen >= 40:
                assert right >= best
                rises += right > best
                best = right
    assert rises >= 3
    assert best >= 30


@pytest.mark.parametrize("ratchet", [False, True])
def test_on_separable_data_the_pocket_ends_without_errors(ratchet):
    draw = np.random.default_rng(0)
    X, target = draw.normal(size=(60, 4)), draw.normal(size=4)
    X = X[np.abs(X @ target) > 0.3]
    rows = [(dict(enumerate(x.tolist())), bool(x @ target > 0)) for x in X]
    model = rm.PocketPerceptron(ratchet, window=len(rows), intercept=False)
    for _ in range(60):
        for x, y in rows:
            model.learn_one(x, y)
    assert all(model.predict_one(x) is y for x, y in rows)


def test_the_pocket_is_steadier_than_the_last_weights():
    right = dict.fromkeys((rm.Perceptron, rm.AveragedPerceptron, rm.VotedPerceptron, rm.PocketPerceptron), 0)
    for kind in right:
        model = kind()
        for x, y in datasets.Phishing():
            right[kind] += model.predict_one(x) == y
            model.learn_one(x, y)
    plain = right.pop(rm.Perceptron)
    assert all(count > plain for count in right.values()), right


@pytest.mark.parametrize("make", [rm.VotedPerceptron, partial(rm.PocketPerceptron, True)], ids=["voted", "pocket"])
def test_a_state_that_does_not_fit_together_is_refused(make):
    model = make()
    for x, y in stream(rounds=50):
        model.learn_one(x, y)
    part = "examples" if make is rm.VotedPerceptron else "recent"
    for name, spoil in (
        ("indices", lambda a: a + 1000),
        ("indices", lambda a: a - 1000),
        ("values", lambda a: a * math.nan),
        ("ends", lambda a: a[::-1]),
        ("ends", lambda a: a + 1),
        ("marks", lambda a: a[1:]),
    ):
        state = model.__getstate__()
        state["space"][part][name] = spoil(state["space"][part][name])
        with pytest.raises(ValueError, match="do not fit together"):
            make().__setstate__(state)


def test_a_rule_that_shrinks_weights_cannot_be_voted_on():
    class Shrinks(Halving):
        spaces = ("VotedLinear",)

    model = rm.MarginClassifier(Shrinks(), rm.VotedLinear(), intercept=False)
    with pytest.raises(ValueError, match="can add to weights, but not shrink them"):
        model.learn_one({"a": 1.0}, True)


def predictions_with(lr, stream):
    model = rm.Perceptron(lr, classes=[False, True], intercept=False)
    return [model.predict_learn_one(x, y) for x, y in stream]


def exact_scores(stream):
    """The scores of a perceptron in fractions; a score of 0 predicts True and is a mistake."""
    weights, scores = {}, []
    for x, y in stream:
        scores.append(sum(Fraction(value) * weights.get(key, 0) for key, value in x.items()))
        if (scores[-1] if y else -scores[-1]) <= 0:
            weights |= {key: weights.get(key, 0) + (value if y else -value) for key, value in x.items()}
    return scores


def test_lr_changes_predictions_at_ties_only():
    draw = random.Random(0)
    stream = [({key: draw.randint(-9, 9) for key in "abc"}, draw.random() < 0.5) for _ in range(500)]
    scores = exact_scores(stream)
    exact = [score >= 0 for score in scores]
    for power in (-3, 0, 5):  # multiplying by a power of 2 rounds nothing
        assert predictions_with(2.0**power, stream) == exact
    rounded = predictions_with(0.1, stream)
    first = next(number for number, (one, other) in enumerate(zip(exact, rounded, strict=True)) if one != other)
    assert scores[first] == 0


@pytest.mark.parametrize("window", [2**62, 2**63 - 1])
def test_a_window_may_be_as_large_as_an_int(window):
    """Twice this is no int of a processor."""
    models = [rm.PocketPerceptron(window=window), rm.PocketPerceptron(window=1000)]
    for x, y in datasets.Phishing().take(300):
        for model in models:
            model.learn_one(x, y)
    assert dict(models[0].weights) == dict(models[1].weights)
