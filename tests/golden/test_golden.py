"""Worked rounds, computed by hand and in exact fractions: every score, prediction and weight of every round."""

import json
from pathlib import Path

import pytest

import river_margins as rm
from tests.learners import LEARNERS

FILES = sorted(Path(__file__).parent.glob("*.json"))
ROUNDS = {case["id"]: case["rounds"] for file in FILES for case in json.loads(file.read_text()) if "rounds" in case}
PAIRS = [pytest.param(learner, golden, id=f"{learner}-{golden}") for learner in LEARNERS for golden in learner.golden]


def near(value):
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def agree(weights, expected):
    """Whether two weight vectors are equal, what is missing being 0."""
    features = [*weights, *expected]
    return [weights.get(f, 0.0) for f in features] == near([expected.get(f, 0.0) for f in features])


def agree_on_supports(supports, expected):
    """Whether the supports are those expected, in their order, and their coefficients equal."""
    rows = [{feature: value for feature, value in row.items() if value} for row in expected["sv"]]
    return [x for x, _ in supports] == rows and [c for _, c in supports] == near(expected["coef"])


def label_of(model, y):
    return y > 0 if isinstance(model, rm.MarginClassifier) and isinstance(y, int) else y


@pytest.mark.parametrize(("learner", "golden"), PAIRS)
def test_every_round_is_as_worked_out(learner, golden):
    model = learner.make(**learner.golden[golden])
    for number, expected in enumerate(ROUNDS[golden], 1):
        x, y = expected["x"], label_of(model, expected["y"])
        updates, mistakes = model.n_updates, model.n_mistakes
        if number > 1 or "scores" in expected:  # before the first label there is no score yet
            assert model.score_one(x) == near(expected.get("score", expected.get("scores")))
        predicted = model.predict_learn_one(x, y)
        if "predict" in expected and predicted is not None:
            assert predicted == label_of(model, expected["predict"])
        assert model.n_seen == number
        assert (model.n_updates > updates) == expected.get("updated", expected.get("action") != "none")
        if "margin_nonpositive" in expected:
            assert (model.n_mistakes > mistakes) == expected["margin_nonpositive"]
        if "after" in expected:
            assert agree_on_supports(model.supports, expected["after"])
            assert model.__getstate__()["space"].get("damage", 0.0) == near(expected["after"].get("Q", 0.0))
        elif "scores" in expected:
            for label, weights in expected["weights"].items():
                assert agree(model.weights[label], weights)
        else:
            assert agree(model.weights, expected["weights"])
