"""ELIM: worked rounds, the bound and the stream that attains it, features that come late, copies."""

import json
import random

import pytest
from river import multiclass

import river_margins as rm
from tests.helpers.paths import ROOT
from tests.helpers.rounds import assert_a_snapshot_goes_on

(GOLDEN,) = (each for each in json.loads((ROOT / "tests/golden/concepts.json").read_text()) if each["id"] == "elim")


def named(values):
    return {f"z{i}": value for i, value in enumerate(values, 1)}


def written(literals):
    return sorted(name if value else f"not {name}" for name, value in literals)


@pytest.mark.lecture("elim")
def test_every_round_is_as_worked_out():
    model = rm.ELIM()
    for expected in GOLDEN["rounds"]:
        x, mistakes = named(expected["x"]), model.n_mistakes
        assert model.predict_one(x) is expected["predict"]
        model.learn_one(x, expected["y"])
        assert (model.n_mistakes > mistakes) == expected["mistake"]
        assert written(model.literals) == expected["after"]["literals"]


def disjunction(seed, n=7):
    """Rounds labelled by a random disjunction of literals, perhaps an empty one."""
    draw = random.Random(seed)
    literals = {f"z{i}": draw.random() < 0.5 for i in draw.sample(range(1, n + 1), draw.randrange(4))}
    for _ in range(150):
        x = named(draw.random() < 0.5 for _ in range(n))
        yield x, any(x[name] == value for name, value in literals.items())


@pytest.mark.lecture("elim")
def test_the_bound_holds_and_no_true_label_is_missed():
    most = 0
    for seed in range(60):
        model, on_true = rm.ELIM(), 0
        for x, y in disjunction(seed):
            on_true += y and not model.predict_one(x)
            model.learn_one(x, y)
        assert (on_true, model.inconsistent) == (0, False)
        assert model.n_mistakes <= 8
        most = max(most, model.n_mistakes)
    assert most >= 5  # an always-True learner has up to 150: the bound is not met by chance
    assert max(sum(not y for _, y in disjunction(seed)) for seed in range(60)) > 100


def test_the_constant_false_attains_the_bound():
    model, n = rm.ELIM(), 6
    rounds = [named(False for _ in range(n)), *(named(i == j for i in range(n)) for j in range(n))]
    for left, x in zip(range(n, -1, -1), rounds, strict=True):
        model.learn_one(x, False)
        assert len(model.literals) == left  # the first mistake removes n literals, each later one removes one
    assert model.n_mistakes == n + 1


def test_without_negated_literals():
    """Rounds labelled by a monotone disjunction; the one without literals attains n mistakes."""
    assert rm.ELIM(flip=False).predict_one({"z1": False}) is False and rm.ELIM(flip=False).predict_one({"z1": True})
    for seed in range(20):
        draw, model, flipped = random.Random(seed), rm.ELIM(flip=False), rm.ELIM()
        target, mistakes = {f"z{i}" for i in range(1, 6) if draw.random() < 0.4}, {model: 0, flipped: 0}
        for n in range(100):
            x = named(draw.random() < 0.3 for _ in range(5)) if seed else named(i == n % 5 for i in range(5))
            y = bool(seed) and any(x[name] for name in target)
            for each in mistakes:
                mistakes[each] += each.predict_one(x) != y
                each.learn_one(x, y)
        assert not model.inconsistent and all(value for _, value in model.literals)
        assert mistakes[model] <= 5 and (seed or mistakes[model] == 5)
        assert {name for name, _ in model.literals} >= target or not seed
    model = rm.ELIM(flip=False)
    model.learn_one({"z1": False}, True)
    assert model.inconsistent


def test_features_that_come_late_are_as_if_they_had_been_false():
    """The same rounds, with false features left out: all names are known in the end, and so are the literals."""
    for seed in range(20):
        whole, sparse = rm.ELIM(), rm.ELIM()
        for x, y in disjunction(seed):
            left = {name: value for name, value in x.items() if value}
            # Before any False label a literal of an unseen feature is not on the list, but counts.
            assert sparse.predict_one(left) == whole.predict_one(x)
            whole.learn_one(x, y)
            sparse.learn_one(left, y)
        assert set(sparse.literals) == set(whole.literals)


def test_labels_that_are_no_disjunction_are_flagged():
    model = rm.ELIM()
    model.learn_one({"a": 1}, False)
    model.learn_one({"a": 1}, True)
    assert model.inconsistent and model.predict_one({"a": 1}) is False
    model.learn_one({"b": 1}, True)
    assert model.predict_one({"b": 1}) is True


def test_any_two_labels_and_numbers_above_0():
    model = rm.ELIM(["ham", "spam"])
    model.learn_one({"a": -1.5, "b": 0.5}, "ham")
    assert model.literals == [("a", True), ("b", False)]
    assert (model.predict_one({"a": 2}), model.predict_one({"b": 2}), model.predict_one({})) == ("spam", "ham", "spam")
    assert (model.score_one({"b": 2}), list(model.predict_proba_one({"b": 2}))) == (-1.0, ["spam", "ham"])
    with pytest.raises(ValueError, match=r"'eggs'.* is neither 'ham' nor 'spam'"):
        model.learn_one({"a": 1}, "eggs")
    with pytest.raises(ValueError, match="neither False nor True"):
        rm.ELIM().learn_one({"a": 1}, "spam")
    with pytest.raises(ValueError, match="feature 'a' is nan"):
        model.learn_one({"a": float("nan")}, "ham")
    assert model.n_seen == 1
    with pytest.raises(TypeError, match="a score of `ELIM` is not a sum over features"):
        model.explain_one({"a": 1})
    several = multiclass.OneVsRestClassifier(rm.ELIM())
    several.learn_one({"a": 1}, "x")
    several.learn_one({"a": 0}, "y")
    assert several.predict_one({"a": 0}) == "y"


def test_a_snapshot_goes_on():
    assert_a_snapshot_goes_on(rm.ELIM())
    assert_a_snapshot_goes_on(rm.ELIM(flip=False))
