"""The perceptrons that predict with other weights than they learn with, beside their definitions, word by word."""

import pytest

import river_margins as rm
from tests.rounds import stream

KINDS = {
    "two classes": {},
    "three classes": {"classes": ["a", "b", "c"]},
    "intercept": {"intercept": True},
    "hashed": {"max_features": 4},
}


def vectors(model):
    """The weights as {(class, feature): weight}."""
    nested = model.weights if isinstance(next(iter(model.weights.values()), None), dict | rm.weights.Weights) else None
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
    options = KINDS[kind]
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
    model, total, w = rm.MarginRegressor(Halving(), rm.AveragedLinear(), eps=0.0), 0.0, 0.0
    for _ in range(2000):
        w = 0.5 * w + 1.0
        total += w
        model.learn_one({"a": 1.0}, 100.0)
    assert model.weights["a"] == pytest.approx(total / 2000, rel=1e-12)


class Halving(rm.Rule):
    def step(self, seen):
        return rm.Step(step=1.0, scale=0.5)
