"""Hedge backpropagation: the worked rounds, the gradients, the weights of the depths and the regret of the mixture."""

import json
import math

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.cases import case
from tests.helpers.paths import ROOT

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/networks.json").read_text())}


def named(row):
    return dict(zip("ab", row, strict=True))


def near(values):
    return pytest.approx(np.array(values), abs=1e-9, rel=1e-9)


@pytest.mark.lecture("hedge-backpropagation")
def test_the_worked_rounds():
    golden = GOLDEN["hedge_backprop"]
    model = rm.HedgeBackpropClassifier(2, 2, activation="tanh", classes=[0, 1], **golden["parameters"])
    model.learn_one(named([0.0, 0.0]), 0)
    fresh, given = model.__getstate__(), golden["initial_state"]
    (first, *layers), heads = ([np.array(matrix).T for matrix in given[name]] for name in ("W", "Theta"))
    start = {"rows": fresh["rows"] | {"values": first}, "layers": layers, "heads": heads, "alpha": given["alpha"]}
    model.__setstate__(fresh | start)
    for number, expected in enumerate(golden["rounds"], 1):
        with case(number):
            x, after, lost = named(expected["x"]), expected["after"], np.array(model.head_losses)
            assert list(model.predict_proba_one(x).values()) == near(expected["probabilities"])
            assert model.predict_one(x) == expected["predict"]
            model.learn_one(x, expected["y"])
            assert np.array(model.head_losses) - lost == near(expected["head_losses"])
            assert model.depth_weights == near(after["alpha"])
            found = model.__getstate__()
            for matrix, wanted in zip([found["rows"]["values"], *found["layers"]], after["W"], strict=True):
                np.testing.assert_allclose(matrix.T, wanted, 1e-9, 1e-9)
            for matrix, wanted in zip(found["heads"], after["Theta"], strict=True):
                np.testing.assert_allclose(matrix.T, wanted, 1e-9, 1e-9)


def test_a_round_is_a_step_along_the_gradient_of_the_weighted_losses():
    x, label, lr, h = {"a": 0.7, "b": -1.3}, "v", 0.25, 1e-6
    model = rm.HedgeBackpropClassifier(3, 4, lr=lr, classes=["u", "v", "w"], beta=0.5)
    for y in "vuvv":
        model.learn_one(x, y)
    weights = np.array(model.depth_weights)
    assert weights.std() > 0.001

    def loss():
        places, inputs = model._rows.known({(None, "constant"): 1.0, **x})
        return -weights @ np.log(model._shares(model._values(places, inputs))[:, 1])

    def matrices():
        return [model._rows.values, *model._layers, *model._heads]

    slopes = []
    for matrix in matrices():
        slopes.append(np.zeros(matrix.shape))
        for place in np.ndindex(*matrix.shape):
            value, sides = matrix[place], []
            for moved in (value + h, value - h):
                matrix[place] = moved
                sides.append(loss())
            matrix[place] = value
            slopes[-1][place] = (sides[0] - sides[1]) / (2 * h)
    before = [matrix.copy() for matrix in matrices()]
    model.learn_one(x, label)
    for old, new, slope in zip(before, matrices(), slopes, strict=True):
        assert new == pytest.approx(old - lr * slope, abs=1e-8)
        assert np.abs(slope).max() > 1e-3


def noisy(rounds, seed=0):
    draw = np.random.default_rng(seed)
    for row in draw.normal(size=(rounds, 3)).tolist():
        yield dict(zip("abc", row, strict=True)), bool((row[0] * row[1] > 0) ^ (draw.random() < 0.1))


@pytest.mark.parametrize("rescale", [False, True])
def test_without_a_floor_the_weights_follow_from_the_losses(rescale):
    model = rm.HedgeBackpropClassifier(4, 6, beta=0.9, s=0.0, rescale_losses=rescale)
    for number, (x, y) in enumerate(noisy(200)):
        model.learn_one(x, y, w=2.0 if number % 3 else 0.5)
    shares = 0.9 ** (np.array(model.head_losses) - min(model.head_losses))
    assert model.depth_weights == near(shares / shares.sum())


@pytest.mark.parametrize("s", [0.2, 1.0])
def test_the_weights_are_on_the_simplex_and_above_the_floor(s):
    model = rm.HedgeBackpropClassifier(5, 4, beta=0.3, s=s)
    lowest = 1.0
    for x, y in noisy(200):
        model.learn_one(x, y)
        assert sum(model.depth_weights) == pytest.approx(1.0)
        lowest = min(lowest, *model.depth_weights)
    assert lowest >= (s / 5) / (1 + s) - 1e-12
    if s < 1.0:
        assert lowest < 2 * s / 5  # the floor is reached


class Frozen(rm.HedgeBackpropClassifier):
    def _reweigh(self, losses, w):
        alpha = self._alpha
        super()._reweigh(losses, w)
        vars(self)["_alpha"] = alpha


class Halved(rm.HedgeBackpropClassifier):
    """Weights that fall for one half of the depths only."""

    def _reweigh(self, losses, w):
        alpha = self._alpha
        super()._reweigh(losses, w)
        moved = np.where(np.arange(self.layers) % 2, self._alpha, alpha)
        vars(self)["_alpha"] = moved / moved.sum()


class Random(rm.HedgeBackpropClassifier):
    def _reweigh(self, losses, w):
        super()._reweigh(losses, w)
        drawn = np.random.default_rng(int(1e6 * self._losses.sum())).random(self.layers)
        vars(self)["_alpha"] = drawn / drawn.sum()


def against(model, adversary, rounds):
    """The regret of the weights of the depths against the best depth, with losses in [0, 1] that an adversary picks."""
    draw = np.random.default_rng(1)
    for _ in range(rounds):
        losses = ADVERSARIES[adversary](np.array(model.depth_weights), draw)
        model._reweigh(losses, 1.0)
    return model.mixture_loss - min(model.head_losses)


ADVERSARIES = {
    "the heaviest depth loses": lambda weights, draw: (weights == weights.max()).astype(float),
    "one depth is best": lambda weights, draw: np.minimum(draw.random(len(weights)) + 0.5 * (np.arange(4) != 2), 1.0),
    "coins": lambda weights, draw: draw.integers(0, 2, len(weights)).astype(float),
    "two take turns": lambda weights, draw: 1.0 - np.eye(len(weights))[0 if weights[0] < weights[3] else 3],
}


@pytest.mark.lecture("hedge-backpropagation")
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("beta", [0.5, 0.9, 0.99])
def test_the_regret_is_within_the_bound_of_hedge(adversary, beta):
    rounds, eta = 400, -math.log(beta)
    model = rm.HedgeBackpropClassifier(4, 1, beta=beta, s=0.0)
    assert against(model, adversary, rounds) <= math.log(4) / eta + eta * rounds / 8


@pytest.mark.parametrize("kind", [Frozen, Halved, Random])
def test_the_bound_is_broken_by_weights_that_do_not_follow_the_losses(kind):
    rounds, eta = 400, -math.log(0.9)
    model = kind(4, 1, beta=0.9, s=0.0)
    assert against(model, "one depth is best", rounds) > math.log(4) / eta + eta * rounds / 8


def test_losses_beyond_1_may_break_the_bound():
    """As cross-entropies may be. The heaviest of two depths loses 10: 5 and 10 in turn, where the best one loses 5."""
    rounds, eta = 20, -math.log(0.5)
    model = rm.HedgeBackpropClassifier(2, 1, beta=0.5, s=0.0)
    for _ in range(rounds):
        model._reweigh(10.0 * np.eye(2)[int(np.argmax(model.depth_weights))], 1.0)
    assert model.mixture_loss == pytest.approx(150.0, abs=1.0)
    assert model.mixture_loss - min(model.head_losses) > 10 * (math.log(2) / eta + eta * rounds / 8)


@pytest.mark.parametrize("beta", [0.8, 0.97])
def test_the_regret_of_a_network_is_within_the_bound(beta):
    """Losses that are rescaled are in [0, 1]; their bound is that of the depths of this network."""
    model = rm.HedgeBackpropClassifier(4, 6, beta=beta, s=0.0, rescale_losses=True)
    rounds, eta = 300, -math.log(beta)
    for x, y in noisy(rounds):
        model.learn_one(x, y)
    assert model.mixture_loss - min(model.head_losses) <= math.log(4) / eta + eta * rounds / 8


def test_a_depth_that_was_bad_comes_back_without_a_floor():
    model = rm.HedgeBackpropClassifier(2, 1, beta=0.01, s=0.0)
    for _ in range(400):
        model._reweigh(np.array([0.0, 1.0]), 1.0)
    for _ in range(160):
        model._reweigh(np.array([1.0, 0.0]), 1.0)
    assert model.depth_weights[1] > 0.99


def test_a_round_of_weight_0_leaves_the_depths():
    model = rm.HedgeBackpropClassifier(layers=3, width=4, beta=0.9, s=0.2)
    for n in range(50):
        model.learn_one({"a": n % 7 - 3.0}, n % 3 == 0)
    before = model.depth_weights
    model.learn_one({"a": 1.0}, True, w=0.0)
    assert model.depth_weights == before


def test_large_weights_leave_the_best_depth():
    model = rm.HedgeBackpropClassifier(3, 4, lr=1e-12, s=0.0, classes=[False, True])
    model.learn_one({"a": 1.0, "b": -2.0}, True, w=1e6)
    assert model.depth_weights[int(np.argmin(model.head_losses))] == pytest.approx(1.0)
