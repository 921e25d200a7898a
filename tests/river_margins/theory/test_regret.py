"""The best weights in hindsight, against searches, and the regret of learners against them."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

import river_margins as rm
from river_margins.theory import bounds, regret

LOSSES = ["hinge", "logistic", "squared", "absolute"]


def stream(seed, rounds=40, features=3, task="classes"):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(rounds, features))
    y = X @ draw.normal(size=features) + draw.normal(size=rounds)
    return X, np.sign(y) if task == "classes" else y


def by_hand(w, X, y, loss):
    f = X @ w
    return {
        "hinge": np.clip(1 - y * f, 0, None),
        "logistic": np.log(1 + np.exp(-y * f)),
        "squared": 0.5 * (f - y) ** 2,
        "absolute": np.abs(f - y),
    }[loss]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_no_other_weights_lose_less(loss, strength):
    for seed in range(2):
        X, y = stream(seed, task="classes" if loss in ("hinge", "logistic") else "numbers")
        found = regret.best_fixed(X, y, loss, strength=strength)

        def objective(w, X=X, y=y):
            return by_hand(w, X, y, loss).sum() + strength * (w @ w) / 2

        assert regret.losses_of(found, X, y, loss) == pytest.approx(by_hand(found, X, y, loss))
        other = minimize(objective, found + 0.1, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-10})
        assert objective(found) <= other.fun + 1e-6
        assert objective(np.zeros(3)) > objective(found)


def test_the_best_sequence_is_that_of_all_ways_to_shift():
    X, y = stream(1, rounds=12, features=1, task="numbers")
    y[5:] -= 3 * X[5:, 0]
    for shifts in range(4):
        found = regret.best_sequence(X, y, shifts, blocks=12)
        costs = []
        for places in itertools.combinations_with_replacement(range(13), shifts):
            parts = itertools.pairwise([0, *places, 12])
            slices = [(X[a:b, 0], y[a:b]) for a, b in parts if a < b]
            costs.append(sum(((t - (x @ t) / (x @ x) * x) ** 2).sum() / 2 for x, t in slices))
        assert found.loss == pytest.approx(min(costs), abs=1e-12)
        assert len(found.starts) <= shifts + 1 and found.starts[0] == 0


def test_a_shift_is_found_where_it_is():
    X, y = stream(2, rounds=120)
    y[60:] *= -1
    found = regret.best_sequence(X, y, 1, "hinge", blocks=6)
    assert found.starts == [0, 60]
    assert found.loss < regret.losses_of(regret.best_fixed(X, y), X, y).sum() * 0.8
    assert regret.best_sequence(X, y, 0, "hinge", blocks=6).starts == [0]


def recorded(model, X, y):
    """The weights that a learner has before each round."""
    weights = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        weights.append([model.weights.get(i, 0.0) for i in range(X.shape[1])])
        model.learn_one(dict(enumerate(row)), label > 0)
    return np.array(weights)


class Halved(rm.Rule):
    """Gradient descent on the hinge loss that forgets half of its weights in each round."""

    _parameter_names = ()

    def step(self, seen):
        return rm.Step(step=float(seen.margin < 1) / seen.t**0.5, scale=0.5)


@pytest.mark.lecture("regret")
def test_the_regret_of_gradient_descent_falls_with_the_root_of_the_rounds():
    X, y = stream(3, rounds=800)
    radius, means = 4.0, []
    model = rm.OGDClassifier(lr=1.0, radius=radius, intercept=False)
    losses = regret.losses_of(recorded(model, X, y), X, y)
    longest = np.linalg.norm(X, axis=1).max()
    for rounds in (50, 200, 800):
        u = regret.best_fixed(X[:rounds], y[:rounds])
        assert np.linalg.norm(u) <= radius
        mean = regret.regret(losses[:rounds], regret.losses_of(u, X[:rounds], y[:rounds]).sum())
        assert mean <= bounds.projected_gradient_regret(longest, radius, 1.0, rounds) / rounds
        means.append(mean)
    assert means[1] < 0.75 * means[0] and means[2] < 0.75 * means[1]
    forgetful = rm.MarginClassifier(Halved(), intercept=False)
    halved = regret.losses_of(recorded(forgetful, X, y), X, y)
    assert regret.regret(halved, regret.losses_of(u, X, y).sum()) > 5 * means[2]


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="`loss` must be 'hinge'"):
        regret.best_fixed([[1.0]], [1.0], "log")


def test_labels_other_than_signs_are_refused():
    for call in (lambda y: regret.best_fixed([[1.0], [2.0]], y), lambda y: regret.losses_of([1.0], [[1.0], [2.0]], y)):
        with pytest.raises(ValueError, match=r"labels \+1 and -1"):
            call([True, False])


@pytest.mark.parametrize("loss", ["hinge", "absolute", "logistic"])
@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0])
def test_features_of_unequal_scale_do_not_hide_the_best_weights(loss, strength):
    draw = np.random.default_rng(0)
    X, u = draw.normal(size=(60, 4)) * [1e-2, 1.0, 1e2, 1e3], np.array([30.0, 1.0, -0.01, 1e-3])
    y = np.sign(X @ u + draw.normal(size=60))

    def objective(w):
        margins = y * (X @ w)
        losses = np.logaddexp(0.0, -margins) if loss == "logistic" else by_hand(w, X, y, loss)
        return losses.sum() + strength * (w @ w) / 2

    found = regret.best_fixed(X, y, loss, strength=strength)
    for other in (np.zeros(4), u, *(found * (1 + 1e-3 * draw.normal(size=(50, 4))))):
        assert objective(found) <= objective(other) * (1 + 1e-9)


def test_a_stream_that_is_separable_in_unequal_units_has_nearly_no_logistic_loss():
    cells = load_breast_cancer()
    X, y = np.column_stack([cells.data, np.ones(len(cells.data))]), 2.0 * cells.target - 1
    assert regret.losses_of(regret.best_fixed(X, y, "logistic"), X, y, "logistic").sum() < 1e-6


def test_targets_of_0_have_weights_of_0():
    assert regret.best_fixed(np.ones((3, 1)), np.zeros(3), "absolute", strength=1.0) == pytest.approx([0.0])


def test_shapes_that_do_not_fit_are_refused():
    X, y = np.ones((3, 1)), np.array([1.0, -1.0, 1.0])
    for call in (
        lambda: regret.losses_of([1.0], X, y[:, None]),
        lambda: regret.losses_of([1.0], X, y[:1]),
        lambda: regret.best_fixed(X, y[:, None], "squared"),
        lambda: regret.best_sequence(X, y[:, None], 1),
    ):
        with pytest.raises(ValueError, match="a row and a number for each example"):
            call()
    with pytest.raises(ValueError, match="`w` must have 1 weights"):
        regret.losses_of([1.0, 2.0], X, y)
