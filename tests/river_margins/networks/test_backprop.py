"""Networks: the worked rounds, the derivatives of the loss, labels that no line separates, and good manners."""

import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from river_margins.networks.examples import Rows
from river_margins.networks.layers import FUNCTIONS
from tests.helpers.cases import case
from tests.helpers.hash_seeds import said_by_processes
from tests.helpers.paths import ROOT
from tests.helpers.rounds import state, stream

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/networks.json").read_text())}
NETWORKS = {
    "classifier": lambda: rm.OnlineMLPClassifier((4, 3)),
    "regressor": lambda: rm.OnlineMLPRegressor((4, 3)),
    "hedge": lambda: rm.HedgeBackpropClassifier(layers=2, width=4),
}
networks = pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)


def named(row):
    return dict(zip("ab", row, strict=True))


@pytest.mark.lecture("backpropagation")
def test_the_worked_rounds():
    golden = GOLDEN["online_backprop"]
    model = rm.OnlineMLPRegressor((2,), scale_target=False, **golden["parameters"])
    first, second = (np.array(golden["initial_state"][name]).T for name in ("W1", "W2"))
    model.learn_one(named([0.0, 0.0]), 0.0)
    fresh = model.__getstate__()
    model.__setstate__(fresh | {"rows": fresh["rows"] | {"values": first}, "layers": [second]})
    for number, expected in enumerate(golden["rounds"], 1):
        with case(number):
            assert model.predict_one(named(expected["x"])) == pytest.approx(expected["prediction"], abs=1e-9)
            model.learn_one(named(expected["x"]), expected["y"])
            first, second = model.parameters()
            np.testing.assert_allclose(first.T, expected["after"]["W1"], 1e-9, 1e-9)
            np.testing.assert_allclose(second.T, expected["after"]["W2"], 1e-9, 1e-9)


def derivatives(model, loss, h=1e-6):
    """The central differences of a loss by each weight."""
    found = []
    for array in model.parameters():
        slopes = np.zeros(array.shape)
        for place in np.ndindex(*array.shape):
            value = array[place]
            sides = []
            for moved in (value + h, value - h):
                array[place] = moved
                sides.append(loss())
            array[place] = value
            slopes[place] = (sides[0] - sides[1]) / (2 * h)
        found.append(slopes)
    return found


@pytest.mark.lecture("backpropagation")
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_a_round_is_a_step_along_the_gradient(activation):
    x, lr = {"a": 0.7, "b": -1.3}, 0.1
    classifier = rm.OnlineMLPClassifier((8, 6), lr=lr, activation=activation, classes=["u", "v", "w"])
    regressor = rm.OnlineMLPRegressor((8, 6), lr=lr, activation=activation, scale_target=False)
    losses = {
        classifier: ("v", lambda: -math.log(classifier.predict_proba_one(x)["v"])),
        regressor: (2.0, lambda: (regressor.predict_one(x) - 2.0) ** 2 / 2),
    }
    for model, (label, loss) in losses.items():
        model.learn_one(x, label)  # the features have weights
        gradients = derivatives(model, loss)
        before = [array.copy() for array in model.parameters()]
        model.learn_one(x, label, w=0.5)
        for old, new, gradient in zip(before, model.parameters(), gradients, strict=True):
            assert new == pytest.approx(old - 0.5 * lr * gradient, abs=1e-8)
            assert np.abs(gradient).max() > 1e-3


def quadrants(rounds, seed=0):
    """Points in the plane, not too near the axes, with the label whether both coordinates have the same sign: XOR."""
    for a, b in np.random.default_rng(seed).uniform(-1.0, 1.0, size=(rounds, 2)).tolist():
        yield {"a": a + math.copysign(0.5, a), "b": b + math.copysign(0.5, b)}, a * b > 0


def late_accuracy(model, rounds=800):
    right = []
    for x, y in quadrants(rounds):
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return np.mean(right[-300:])


@pytest.mark.parametrize("make", [rm.OnlineMLPClassifier, rm.HedgeBackpropClassifier])
def test_xor_is_learned_online(make):
    assert late_accuracy(make()) > 0.98


@pytest.mark.parametrize("make", [rm.OnlineMLPClassifier, rm.HedgeBackpropClassifier])
def test_xor_of_features_that_come_late_is_learned(make):
    """With weights of 0 at first, the units would all be the same function of one sum of the features."""
    model = make()
    model.learn_one({"z": 1.0}, True)
    assert late_accuracy(model) > 0.97


def test_xor_is_learned_by_no_line():
    assert late_accuracy(rm.OnlineMLPClassifier(activation="linear")) < 0.7


@networks
def test_a_new_feature_changes_no_prediction(make):
    model = make()
    for x, y in quadrants(20):
        model.learn_one(x, y)
    x = {"a": 0.3, "b": -0.2}
    before = model.score_one(x)
    assert model.score_one(x | {"new": 5.0}) == before
    model.learn_one({"new": 0.0, "newer": 0.0}, True, w=0.0)
    assert model.score_one(x | {"new": 5.0}) == before  # a weight of 0 teaches nothing
    model.learn_one({"new": 1.0}, True)
    assert model.score_one(x | {"new": 5.0}) != before


@networks
def test_the_order_of_features_does_not_matter_to_the_last_bit(make):
    """Large features make rounding errors grow from round to round."""
    one, other = make(), make()
    for x, y in stream(rounds=100):
        x = {name: 100 * value for name, value in x.items()}
        one.learn_one(x, y)
        other.learn_one(dict(reversed(x.items())), y)
        assert one.score_one(x) == other.score_one(x)


DIGEST = """
import hashlib, pickle, sys
import river_margins as rm
models = [rm.OnlineMLPClassifier((4, 3)), rm.OnlineMLPRegressor((4, 3)), rm.HedgeBackpropClassifier(2, 4)]
for model in models:
    model.learn_one({"a": 1.0, 2: -1.0, ("b", None): 0.5}, True)
print(hashlib.sha256(pickle.dumps([model.__getstate__() for model in models])).hexdigest())
"""


def test_the_seed_decides_in_every_process():
    found = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        found.add(subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60).stdout)
    assert len(found) == 1
    for one, other in (0, 0), (0, 1):
        scores = []
        for seed in (one, other):
            model = rm.OnlineMLPClassifier(seed=seed)
            model.learn_one({"a": 1.0}, True)
            scores.append(model.score_one({"a": 1.0}))
        assert (scores[0] == scores[1]) == (one == other)


@networks
def test_a_snapshot_goes_on_bit_for_bit(make):
    model = make()
    rounds = list(stream(rounds=60))
    for x, y in rounds[:30]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rounds[30:]:
        model.learn_one(x | {"late": 1.0}, y)
        twin.learn_one(x | {"late": 1.0}, y)
    assert state(model) == state(twin)


@networks
def test_a_state_that_does_not_fit_is_refused(make):
    model = make()
    for x, y in quadrants(3):
        model.learn_one(x, y)
    good, before = model.__getstate__(), pickle.dumps(model)
    rows = good["rows"]
    for wrong in (
        {"layers": [layer[1:] for layer in good["layers"]]},
        {"layers": [layer * math.nan for layer in good["layers"]]},
        {"layers": good["layers"][:-1]},
        {"rows": rows | {"names": rows["names"][:-1]}},
        {"rows": rows | {"names": [rows["names"][0]] * len(rows["names"])}},
    ):
        with case(wrong), pytest.raises(ValueError):
            model.__setstate__(good | wrong)
        assert pickle.dumps(model) == before


@networks
def test_what_is_refused_changes_nothing(make):
    model = make()
    for x, y in quadrants(3):
        model.learn_one(x, y)
    before = pickle.dumps(model)
    for x, y, w, words in (
        ({"new": math.nan}, True, 1.0, "feature 'new' is nan"),
        ({"new": "much"}, True, 1.0, "OneHotEncoder"),
        ({"new": None}, True, 1.0, "a number is needed"),
        ({"new": 1.0}, None, 1.0, "label None"),
        ({"new": 1.0}, ["list"], 1.0, "label"),
        ({"new": 1.0}, "text", 1.0, "label 'text'"),
        ({"new": 1.0}, True, -1.0, "`w` must be a finite number of at least 0"),
    ):
        with case(words), pytest.raises(ValueError, match=words):
            model.learn_one(x, y, w=w)
        assert pickle.dumps(model) == before
    with pytest.raises(TypeError, match="a dict of features is needed, not a list"):
        model.learn_one([1.0], True)


@pytest.mark.parametrize("labels", [(True, False), ("a", "b")], ids=["bools", "texts"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: rm.OnlineMLPClassifier((4, 3), activation="linear"),
        lambda: rm.OnlineMLPRegressor((4, 3), activation="linear", scale_target=False),
        lambda: rm.HedgeBackpropClassifier(layers=2, width=4, activation="linear"),
    ],
    ids=NETWORKS,
)
def test_a_step_beyond_floating_point_changes_nothing(make, labels):
    model = make()
    first, second = (1.0, 2.0) if isinstance(model, rm.OnlineMLPRegressor) else labels
    model.learn_one({"a": 1.0}, first)
    before, refused = state(model), 0
    for a in (1e308, -1e308):  # one of them is right without a step, unless the label is new
        twin = model.clone(include_attributes=True)
        try:
            twin.learn_one({"a": a, "new": a}, second, w=1e10)
        except OverflowError as error:
            refused += type(model).__name__ in str(error)
            assert state(twin) == before
    assert refused


@pytest.mark.parametrize(
    "make",
    [
        lambda: rm.OnlineMLPRegressor(activation="relu", scale_target=False),
        lambda: rm.OnlineMLPClassifier(activation="relu"),
        lambda: rm.HedgeBackpropClassifier(activation="relu"),
        lambda: rm.LogLinearClassifier(lr=5.0),
    ],
    ids=["regressor", "classifier", "hedge", "log-linear"],
)
def test_a_score_beyond_floating_point_is_refused(make):
    model = make()
    for n in range(30):
        model.learn_one({"a": (-1.0) ** n}, n % 2 == 0)
    before = state(model)
    for ask in (model.predict_one, model.score_one):
        with pytest.raises(OverflowError, match=f"`{type(model).__name__}`: the score of this example"):
            ask({"a": 1.7e308})
    assert state(model) == before


@pytest.mark.parametrize("name", ["classifier", "hedge"])
def test_labels_come_one_by_one(name):
    model = NETWORKS[name]()
    assert model.predict_one({"a": 1.0}) is None and model.score_one({"a": 1.0}) == {}
    assert model.predict_proba_one({"a": 1.0}) == {True: 0.5, False: 0.5}
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    for label in ("y", np.str_("z"), 3):
        model.learn_one({"a": 1.0}, label)
    assert list(model.predict_proba_one({"a": 1.0})) == ["x", "y", "z", 3]
    with pytest.raises(ValueError, match="do not mix"):
        model.learn_one({"a": 1.0}, False)
    two = NETWORKS[name]()
    two.learn_one({"a": 1.0}, np.bool_(False))
    assert list(two.predict_proba_one({"a": 1.0})) == [True, False]
    assert isinstance(two.score_one({"a": 1.0}), float)


@pytest.mark.parametrize("name", ["classifier", "hedge"])
def test_classes_say_the_order(name):
    model = NETWORKS[name]().clone({"classes": ["u", "v"]})
    assert model.predict_one({}) in ("u", "v") and list(model.predict_proba_one({})) == ["u", "v"]
    for classes in (["u"], ["u", "u"], [True, "u"], ["u", None]):
        with pytest.raises(ValueError):
            model.clone({"classes": classes})


def test_a_scaled_target_is_learned_in_its_own_units():
    """y and 1000 + 50·y are the same target, and so are the predictions."""
    small, large = rm.OnlineMLPRegressor(), rm.OnlineMLPRegressor()
    for x, _ in quadrants(200):
        y = math.sin(x["a"]) + x["b"]
        if small.n_seen:
            assert large.predict_one(x) == pytest.approx(1000 + 50 * small.predict_one(x), rel=1e-6)
        small.learn_one(x, y)
        large.learn_one(x, 1000 + 50 * y)


def test_after_equal_labels_the_prediction_is_this_label():
    """One label tells no deviation, so nothing says how much of the output to add: for small labels, it is all."""
    model = rm.OnlineMLPRegressor()
    for _ in range(3):
        model.learn_one({"a": 1.0, "b": -2.0}, 3e-12)
        assert model.predict_one({"a": -1.0, "b": 2.0}) == pytest.approx(3e-12, rel=1e-9)
    model.learn_one({"a": 1.0, "b": -2.0}, 4e-12)
    assert abs(model.predict_one({"a": -1.0, "b": 2.0}) - 3e-12) < 1e-11


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_a_target_that_was_constant_for_long_is_learned_afterwards(activation):
    """The first other label after n equal ones is √n deviations away from their mean."""
    model, errors = rm.OnlineMLPRegressor(activation=activation), []
    for t, values in enumerate(np.random.default_rng(0).normal(size=(2500, 30)).tolist()):
        y = 5.0 + values[0] - 2.0 * values[1] if t >= 1000 else 0.0
        errors.append(abs(model.predict_one(dict(enumerate(values))) - y))
        model.learn_one(dict(enumerate(values)), y)
    assert np.mean(errors[2000:]) < 0.8  # the mean is wrong by 1.8


@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
@pytest.mark.parametrize("w", [30.0, 1e6])
def test_examples_that_weigh_much_are_no_end_of_learning(activation, w):
    model, errors = rm.OnlineMLPRegressor(activation=activation), []
    for t, values in enumerate(np.random.default_rng(0).normal(size=(1500, 5)).tolist()):
        y = 5.0 + values[0] - 2.0 * values[1]
        errors.append(abs(model.predict_one(dict(enumerate(values))) - y))
        model.learn_one(dict(enumerate(values)), y, w=w if 200 <= t < 300 else 1.0)
    assert np.mean(errors[1000:]) < 0.5  # the mean is wrong by 1.8


def test_a_prediction_beyond_floating_point_in_units_of_the_target_is_refused():
    model = rm.OnlineMLPRegressor(activation="linear")
    for y in (1e150, -1e150):
        model.learn_one({"a": 1.0}, y)
    with pytest.raises(OverflowError, match="the score of this example is beyond floating point"):
        model.predict_one({"a": 1e200})


def test_the_mean_and_the_deviation_of_a_target():
    model, labels = rm.OnlineMLPRegressor(), [3.0, -1.0, 7.0, 7.5]
    for y in labels:
        model.learn_one({}, y)
    assert (model._mean, model._unit) == (pytest.approx(np.mean(labels)), pytest.approx(np.std(labels)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rm.OnlineMLPClassifier(()), "`hidden` must be a list or tuple"),
        (lambda: rm.OnlineMLPClassifier(5), "`hidden` must be a list or tuple"),
        (lambda: rm.OnlineMLPRegressor((0,)), r"`hidden\[0\]` must be a whole number of at least 1, not 0"),
        (lambda: rm.OnlineMLPRegressor(lr=0.0), "`lr` must be a finite number above 0, not 0.0"),
        (lambda: rm.OnlineMLPRegressor(activation="sin"), "`activation` must be 'tanh'"),
        (lambda: rm.OnlineMLPRegressor(seed=-1), "`seed` must be a whole number"),
        (lambda: rm.HedgeBackpropClassifier(0), "`layers`"),
        (lambda: rm.HedgeBackpropClassifier(width=0), "`width`"),
        (lambda: rm.HedgeBackpropClassifier(beta=1.0), "`beta`"),
        (lambda: rm.HedgeBackpropClassifier(s=1.5), "`s` must be a number from 0 to 1, not 1.5"),
        (lambda: rm.HedgeBackpropClassifier(activation="sin"), "`activation`"),
    ],
)
def test_parameters_out_of_range_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@networks
def test_the_learning_rate_may_change_in_mid_stream(make):
    model = make()
    model.learn_one({"a": 1.0}, True)
    model.mutate({"lr": 0.5})
    assert model.lr == model.clone().lr == 0.5
    with pytest.raises(ValueError, match="`lr`"):
        model.mutate({"lr": -1.0})


@pytest.mark.parametrize("make", [rm.OnlineMLPRegressor, rm.HedgeBackpropClassifier])
def test_sample_weights_of_numpy_leave_a_snapshot_that_can_be_read(make):
    model, twin = make(), make()
    for n in range(3):
        model.learn_one({"a": float(n)}, n % 2 == 0, w=np.float64(0.5))
        twin.learn_one({"a": float(n)}, n % 2 == 0, w=0.5)
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(model))) == snapshot.dumps(twin)


def test_names_of_numpy_draw_the_weights_of_equal_texts():
    one, other = rm.OnlineMLPClassifier(), rm.OnlineMLPClassifier()
    one.learn_one({"a": 1.0}, True)
    other.learn_one({np.str_("a"): 1.0}, True)
    assert one.score_one({"a": 2.0}) == other.score_one({"a": 2.0})


def test_a_set_as_a_name_draws_the_same_weights_in_every_process():
    code = "from river_margins.networks.examples import normal; print(normal(2, 1, frozenset(['a', 'b', 'c'])))"
    assert len(said_by_processes(code)) == 1


def test_sets_as_names_have_one_order_in_every_process():
    code = """if True:
        import river_margins as rm
        model = rm.OnlineMLPClassifier()
        model.learn_one({frozenset([a, b]): 1.0 for a in "abc" for b in "def"}, True)
        print([sorted(name) for name in list(model._rows.places)[1:]])"""
    assert len(said_by_processes(code)) == 1


def test_a_name_has_its_row_from_the_moment_it_is_known():
    """Another thread may predict."""

    class Watching(dict):
        def __setitem__(self, name, place):
            super().__setitem__(name, place)
            assert len(rows._buffer) > place and (rows._buffer[place] == 1.0).all()

    rows = Rows(2)
    rows.places = Watching()
    for n in range(20):
        rows.add([n], np.ones((1, 2)))


def test_a_feature_without_a_lasting_name_changes_no_mean():
    model = rm.OnlineMLPRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    before = state(model)
    with pytest.raises(TypeError, match="cannot be hashed"):
        model.learn_one({type("Name", (), {})(): 1.0}, 100.0)
    assert state(model) == before


def test_a_network_without_labels_is_adapted_to_an_example():
    """It has no label whose mean could be the prediction: what it adds is all there is."""
    model = rm.OneStepAdaptation(rm.OnlineMLPRegressor())
    first = [model.predict_one({"a": float(n)}) for n in range(3)]
    for _ in range(50):
        for n in range(3):
            model.learn_one({"a": float(n)}, 5.0 * n)
    assert any(abs(model.predict_one({"a": float(n)}) - first[n]) > 1e-6 for n in range(3))
