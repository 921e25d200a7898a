"""The log-linear model: worked rounds, derivatives, the regret against any fixed weights, and good manners."""

import json
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.paths import ROOT
from tests.helpers.rounds import stream

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/adaptation.json").read_text())}


def near(value):
    return pytest.approx(value, abs=1e-9, rel=1e-9)


@pytest.mark.lecture("log-linear")
def test_the_worked_rounds():
    golden = GOLDEN["loglinear_sgd"]
    model = rm.LogLinearClassifier(intercept=False, **golden["parameters"])
    for number, expected in enumerate(golden["rounds"], 1):
        with case(number):
            x, after = expected["x"], expected["after"]["W"]
            assert model.score_one(x) == near(expected["scores"])
            assert model.predict_proba_one(x) == near(expected["p"])
            assert model.predict_one(x) == expected["predict"]
            model.learn_one(x, expected["y"])
            weights = {(name, label): weight for label, row in after.items() for name, weight in row.items()}
            assert {name: weight for name, weight in model.weights.items() if weight} == near(weights)


def shared(x, label):
    """Joint features of which labels share some."""
    return {name: value * (2 if label == "u" else 1) for name, value in x.items()} | {("only", label): x.get("a", 0.0)}


@pytest.mark.parametrize("phi", [None, shared], ids=["a block for each label", "shared features"])
def test_a_round_is_a_step_along_the_gradient(phi):
    x, h = {"a": 0.7, "b": -1.3}, 1e-6
    model = rm.LogLinearClassifier(0.25, phi=phi, classes=["u", "v", "w"])
    for label in "uvw":
        model.learn_one(x, label)
    (weights,) = model.parameters()
    slopes = np.zeros(weights.shape)
    for place in np.ndindex(*weights.shape):
        value, sides = weights[place], []
        for moved in (value + h, value - h):
            weights[place] = moved
            sides.append(-math.log(model.predict_proba_one(x)["v"]))
        weights[place] = value
        slopes[place] = (sides[0] - sides[1]) / (2 * h)
    before = weights.copy()
    model.learn_one(x, "v", w=0.5)
    assert np.abs(slopes).max() > 0.1
    np.testing.assert_allclose(model.parameters()[0], before - 0.5 * 0.25 * slopes, atol=1e-8)


class Frozen(rm.LogLinearClassifier):
    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, y, 0.0)


class Halved(rm.LogLinearClassifier):
    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, y, 0.5)


class Random(rm.LogLinearClassifier):
    def learn_one(self, x, y, w=1.0):
        super().learn_one(x, "abc"[self.n_seen % 3])


def gaussian(rounds, noise, seed=0):
    draw = np.random.default_rng(seed)
    for row in draw.normal(size=(rounds, 3)):
        label = "abc"[int(np.argmax(row))] if draw.random() > noise else "abc"[draw.integers(3)]
        yield dict(zip("xyz", row.tolist(), strict=True)), label


STREAMS = {
    "the same example": [({"x": 1.0, "y": -0.5, "z": 0.0}, "b")] * 150,
    "no noise": list(gaussian(150, 0.0)),
    "noise": list(gaussian(150, 0.4)),
    "labels against the prediction": None,
}
CLASSES, FEATURES = ["a", "b", "c"], "xyz"


def log_loss(W, x, y):
    """-ln p(y|x) with a row of weights for each class, and its gradient: an independent formula."""
    scores = W @ x
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    return -math.log(shares[y]), np.outer(shares - np.eye(3)[y], x)


def regret_and_bound(model, lr, rounds):
    """The largest excess of the log losses over those of some u beyond its bound, over several u."""
    X, Y, losses, squares = [], [], 0.0, 0.0
    for number in range(150):
        if rounds is None:  # the label that the model thinks least likely
            x = {"x": 1.0, "y": float(number % 2), "z": 0.3}
            shares = model.predict_proba_one(x)
            x, y = x, min(shares, key=shares.get)
        else:
            x, y = rounds[number]
        W = np.array([[model.weights.get((name, label), 0.0) for name in FEATURES] for label in CLASSES])
        X.append([x[name] for name in FEATURES])
        Y.append(CLASSES.index(y))
        loss, gradient = log_loss(W, np.array(X[-1]), Y[-1])
        losses, squares = losses + loss, squares + (gradient**2).sum()
        model.learn_one(x, y)

    def right(u):
        pairs = [log_loss(u.reshape(3, 3), np.array(x), y) for x, y in zip(X, Y, strict=True)]
        slope = sum(gradient for _, gradient in pairs).ravel() + u / lr
        return sum(loss for loss, _ in pairs) + u @ u / (2 * lr), slope

    u = minimize(right, np.zeros(9), jac=True, options={"maxiter": 25}).x  # with the smallest right-hand side
    return max(losses - (right(each)[0] + lr / 2 * squares) for each in (u, 0 * u, u / 2, 2 * u))


@pytest.mark.lecture("log-linear")
@pytest.mark.parametrize("lr", [0.003, 0.3])
@pytest.mark.parametrize("name", STREAMS)
def test_the_regret_is_within_its_bound(name, lr):
    model = rm.LogLinearClassifier(lr, classes=CLASSES, intercept=False)
    assert regret_and_bound(model, lr, STREAMS[name]) <= 1e-9


@pytest.mark.parametrize("kind", [Frozen, Halved, Random])
def test_the_bound_is_broken_by_other_steps(kind):
    model = kind(0.003, classes=CLASSES, intercept=False)
    assert regret_and_bound(model, 0.003, STREAMS["the same example"]) > 1.0


def test_the_decay_and_the_schedule():
    """w' = (1 - r·l2)·w + r·g with r = lr/sqrt(t), for features that are absent, too."""
    model = rm.LogLinearClassifier(0.5, schedule="1/sqrt(t)", l2=0.2, classes=["a", "b"], intercept=False)
    model.learn_one({"x": 1.0}, "a")
    assert model.weights["x", "a"] == near(0.25)
    model.learn_one({"z": 1.0}, "b")
    rate = 0.5 / math.sqrt(2)
    assert model.weights["x", "a"] == near(0.25 * (1 - 0.2 * rate))
    assert model.weights["z", "b"] == near(rate / 2)


def test_it_reranks_with_the_numbers_of_candidates_as_labels():
    draw = np.random.default_rng(0)
    model = rm.LogLinearClassifier(0.3, phi=lambda x, k: x[k], classes=range(4))
    right = []
    for _ in range(200):
        H = draw.normal(size=(4, 3))
        x, y = [dict(zip("abc", row, strict=True)) for row in H.tolist()], int(np.argmax(H @ [1.0, -2.0, 0.5]))
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(right[100:]) > 0.9 and set(model.weights) == {"a", "b", "c"}


def test_the_order_of_features_does_not_matter_to_the_last_bit():
    """Large features make rounding errors grow from round to round."""
    one, other = rm.LogLinearClassifier(), rm.LogLinearClassifier()
    for x, y in stream(rounds=100, labels="abc"):
        x = {name: 100 * value for name, value in x.items()}
        one.learn_one(x, y)
        other.learn_one(dict(reversed(x.items())), y)
        assert one.score_one(x) == other.score_one(x)


def test_a_snapshot_goes_on_bit_for_bit():
    model = rm.LogLinearClassifier(l2=0.01)
    rounds = list(stream(rounds=60, labels="abc"))
    for x, y in rounds[:30]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rounds[30:]:
        model.learn_one(x | {"late": 1.0}, y)
        twin.learn_one(x | {"late": 1.0}, y)
    assert snapshot.dumps(model) == snapshot.dumps(twin)
    with pytest.raises(snapshot.SnapshotError, match="function"):
        snapshot.dumps(rm.LogLinearClassifier(phi=shared))


def test_what_is_refused_changes_nothing():
    model = rm.LogLinearClassifier()
    model.learn_one({"a": 1.0}, True)
    before = pickle.dumps(model)
    for x, y, w, words in (
        ({"new": math.nan}, True, 1.0, "feature 'new' is nan"),
        ({"new": 1.0}, None, 1.0, "label None"),
        ({"new": 1.0}, "text", 1.0, "label 'text'"),
        ({"new": 1.0}, True, -1.0, "`w` must be a finite number of at least 0"),
    ):
        with case(words), pytest.raises(ValueError, match=words):
            model.learn_one(x, y, w=w)
        assert pickle.dumps(model) == before
    with pytest.raises(OverflowError, match="LogLinearClassifier"):
        model.learn_one({"new": 1e300, "a": 1.0}, False, w=1e12)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lr": 0.0}, "`lr` must be a finite number above 0, not 0.0"),
        ({"schedule": "1/t"}, "`schedule` must be 'constant' or '1/sqrt"),
        ({"l2": -1.0}, "`l2`"),
        ({"classes": ["a"]}, "`classes`"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        rm.LogLinearClassifier(**parameters)
    model = rm.LogLinearClassifier()
    model.mutate({"lr": 0.5, "l2": 0.1})
    assert (model.lr, model.l2) == (0.5, 0.1)


def test_joint_features_that_are_no_function_are_refused():
    with pytest.raises(TypeError, match=r"`phi` must be a function phi\(x, k\) .* or None, not 'x'"):
        rm.LogLinearClassifier(phi="x")
