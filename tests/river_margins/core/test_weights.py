"""Weights that a user sets, and weights as an array."""

import copy
import heapq
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import river_margins as rm
from river_margins import snapshot
from river_margins.core.frames import Numbers
from tests.helpers.rounds import state, stream, stream_for, trained
from tests.learners import CLASSES, forms


def vector(model, x):
    """The values of x in the order of the columns, 1 for the constant feature."""
    return np.array([1.0 if f == rm.INTERCEPT else x.get(f, 0.0) for f in model.weight_matrix().features])


def scores_of(model, x):
    """The scores as a dict by label."""
    score = model.score_one(x)
    return score if isinstance(score, dict) else {None: score}


# --------------------------------------------------------------------------------------------------- as an array


@forms
def test_the_array_times_x_is_the_score_or_refused(form):
    """Whether a score is such a product shows without the array: it must be additive and homogeneous in x."""
    model = trained(form.make())
    rows = [x for x, _ in stream_for(model, seed=1, rounds=20)]
    if not all(is_linear(model, x, z) for x, z in itertools.pairwise(rows)):
        with pytest.raises(TypeError, match=r"is not a product of weights with features|is a distance"):
            model.weight_matrix()
        return
    values, labels, features = model.weight_matrix()
    assert values.dtype == np.float64 and values.shape == (len(labels), len(features))
    for x in rows:
        found = values @ vector(model, x)
        expected = scores_of(model, x)
        assert found == pytest.approx(list(expected.values()), rel=1e-9, abs=1e-9)
        assert list(expected) in (labels, [None])


def is_linear(model, x, z):
    """Whether scores of x and z add up, also if both are ten times as large; without a new feature."""
    both = {f: 10.0 * (x.get(f, 0.0) + z.get(f, 0.0)) for f in x | z}
    one, other, together = (np.array(list(scores_of(model, each).values())) for each in (x, z, both))
    return together == pytest.approx(10.0 * (one + other), rel=1e-6, abs=1e-6)


def test_names_of_rows_and_columns():
    model = rm.PAClassifier(classes=["ham", "spam"], C=1.0)
    model.learn_one({"a": 1.0, "b": -1.0}, "spam")
    values, labels, features = model.weight_matrix()
    assert (labels, features) == (["spam"], [rm.INTERCEPT, "a", "b"])  # one vector, whose score is that of the positive
    assert values.tolist() == [pytest.approx([1 / 3, 1 / 3, -1 / 3])]
    several = rm.Perceptron(intercept=False)
    several.learn_one({"a": 1.0}, "x")
    several.learn_one({"a": 2.0}, "y")
    assert [part if isinstance(part, list) else part.tolist() for part in several.weight_matrix()] == [
        [[-2.0], [2.0]],
        ["x", "y"],
        ["a"],
    ]
    number = rm.PARegressor(intercept=False, mode=0, eps=0.0)
    number.learn_one({"a": 2.0}, 4.0)
    assert (number.weight_matrix().values.tolist(), number.weight_matrix().labels) == ([[2.0]], [None])


def test_before_the_first_label_there_is_no_row():
    values, labels, features = rm.PAClassifier().weight_matrix()
    assert (values.shape, labels, features) == ((0, 1), [], [rm.INTERCEPT])


def test_the_array_is_a_copy():
    model = trained(rm.PAClassifier())
    before = state(model)
    model.weight_matrix().values[:] = 7.0
    model.weight_matrix().features.clear()
    assert state(model) == before


# ------------------------------------------------------------------------------------------------ weights that are set


def test_weights_by_hand():
    model = rm.PAClassifier(C=1.0)
    model.weights = {"age": 0.5, "height": -0.25, rm.INTERCEPT: 1.0}
    assert dict(model.weights) == {rm.INTERCEPT: 1.0, "age": 0.5, "height": -0.25}
    assert model.score_one({"age": 2.0, "height": 4.0, "new": 9.0}) == 1.0
    assert model.predict_one({"height": 8.0}) is False
    model.learn_one({"age": 1.0}, False)  # the margin is -1.5, |x|² = 2: the step is min(1, 2.5/2)
    assert dict(model.weights) == {rm.INTERCEPT: 0.0, "age": -0.5, "height": -0.25}
    assert (model.n_seen, model.n_mistakes, model.n_updates) == (1, 1, 1)


def test_they_replace_all_weights():
    model = trained(rm.PAClassifier())
    seen = model.n_seen
    model.weights = {"f1": 2}
    assert dict(model.weights) == {rm.INTERCEPT: 0.0, "f1": 2.0}
    assert model.n_seen == seen


def test_weights_by_class_name_the_classes():
    model = rm.PAClassifier(intercept=False)
    model.weights = {"x": {"a": 1.0}, "y": {"a": -1.0, "b": 3.0}}
    assert model.score_one({"a": 1.0, "b": 1.0}) == {"x": 1.0, "y": 2.0}
    model.weights = {"z": {"b": 5.0}, "y": {"b": 1.0}}  # x is known, and has no weight
    assert model.score_one({"a": 1.0, "b": 1.0}) == {"x": 0.0, "y": 1.0, "z": 5.0}
    model.learn_one({"b": 1.0}, "w")
    assert list(model.weights) == ["x", "y", "z", "w"]


def test_nothing_is_nothing():
    model = rm.PAClassifier()
    model.weights = rm.PAClassifier().weights
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "spam")
    assert list(model.weights) == ["spam"]
    regressor = trained(rm.PARegressor(intercept=False))
    regressor.weights = {}
    assert dict(regressor.weights) == {} and regressor.predict_one({"f0": 1.0}) == 0.0


@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (rm.PAClassifier, (False, True)),
        (lambda: rm.PAClassifier(mode=0), CLASSES),
        (lambda: rm.PAClassifier(exact=True), CLASSES),
        (rm.Perceptron, (False, True)),
        (lambda: rm.Perceptron(intercept=False), CLASSES),
        (rm.PARegressor, (0.5, -2.0, 3.0)),
        (lambda: rm.PAClassifier(max_features=4), (False, True)),
        (lambda: rm.AdalineRegressor(0.1), (0.5, -2.0, 3.0)),
    ],
)
def test_a_learner_with_the_weights_of_another_goes_on_as_the_other(make, labels):
    """Bit for bit: the steps of these rules depend on nothing but weights."""
    model, other = make(), make()
    for x, y in stream(labels=labels):
        model.learn_one(x, y)
    other.weights = model.weights
    clone, restored = other.clone(include_attributes=True), snapshot.loads(snapshot.dumps(other))
    for x, y in stream(1, labels=labels):
        x = x | {"late": 1.0}
        expected = model.score_one(x), model.predict_one(x)
        assert all((each.score_one(x), each.predict_one(x)) == expected for each in (other, clone, restored))
        for each in (model, other, clone, restored):
            each.learn_one(x, y)
    assert dict(other.weights) == dict(model.weights)
    assert state(clone) == state(restored) == state(other)


def test_the_length_of_the_weights_is_measured():
    """ROMMA scales by |w|²: the next step is that of a model that has learned its way to these weights."""
    model, other = trained(rm.ROMMAClassifier(), 100), rm.ROMMAClassifier()
    other.weights = model.weights
    for each in (model, other):
        trained(each, 100, seed=2)
    assert dict(other.weights) == pytest.approx(dict(model.weights), rel=1e-6)


def test_a_set_of_labels_and_a_centre_have_weights_too():
    topics = rm.PAMultiLabelClassifier(intercept=False)
    topics.weights = {"sport": {"goal": 1.0}, "music": {"song": 1.0}}
    assert topics.predict_one({"goal": 1.0, "song": -1.0}) == {"sport": True, "music": False}
    centre = rm.PAOneClass(eps=1.0)
    centre.weights = {"a": 3.0, "b": 4.0}
    assert centre.score_one({}) == 5.0 and centre.score_one({"a": 3.0, "b": 3.0}) == 1.0


@forms
def test_weights_are_the_state_or_cannot_be_set(form):
    """Where they can, the weights of a trained learner are all that predictions depend on."""
    model, other = trained(form.make()), form.make()
    try:
        other.weights = model.weights
    except TypeError as error:
        assert form.space != "linear"
        assert "restore a snapshot, or set the weights of a learner with plain weights" in str(error)
        assert state(other) == state(form.make())
        return
    assert form.space == "linear"
    for x, _ in stream_for(model, seed=1, rounds=20):
        assert other.score_one(x) == pytest.approx(model.score_one(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("model", "given", "error", "message"),
    [
        (rm.PAClassifier(), [("a", 1.0)], TypeError, "`weights` must be a mapping"),
        (rm.PAClassifier(), {"a": "1"}, ValueError, "the weight of feature 'a' must be a finite number, not '1'"),
        (
            rm.PARegressor(),
            {"a": float("nan")},
            ValueError,
            "feature 'a' must be a finite number, not nan",
        ),
        (rm.PARegressor(), {"a": 1e200}, OverflowError, "`PARegressor`: the squares of these weights are beyond"),
        (rm.PARegressor(), {"x": {"a": 1.0}}, ValueError, "one weight vector: give its weights as {feature: weight}"),
        (rm.PAClassifier(), {"x": {"a": 1.0}, "b": 1.0}, ValueError, "one weight vector: give its weights as"),
        (rm.PAClassifier(classes=CLASSES), {"a": 1.0}, ValueError, "give the weights as {label: {feature: weight}}"),
        (rm.PAClassifier(classes=CLASSES), {"x": {"a": 1.0}, True: {"a": 1.0}}, ValueError, "label True is a bool"),
        (
            rm.PARegressor(intercept=False),
            {rm.INTERCEPT: 1.0},
            ValueError,
            "give it intercept=True",
        ),
        (
            rm.PARegressor(max_features=8),
            {"a": 1.0},
            ValueError,
            "feature 'a' has a weight, but features are hashed",
        ),
        (
            rm.PARegressor(max_features=8),
            {8: 1.0},
            ValueError,
            "feature 8 has a weight, but features are hashed",
        ),
    ],
)
def test_weights_that_cannot_be_are_refused_and_change_nothing(model, given, error, message):
    model = copy.deepcopy(model)
    trained(model, 20)
    before = state(model)
    with pytest.raises(error) as refused:
        model.weights = given
    assert message in str(refused.value)
    assert state(model) == before


def test_pegasos_forgets_weights_that_are_set_before_its_first_step():
    """As docs/coming-from-river.md says."""
    model = rm.PegasosClassifier(intercept=False)
    model.weights = {"links": 0.5}
    model.learn_one({"other": 1.0}, True)
    assert model.weights["links"] == 0.0


READ_MEANWHILE = """
import river_margins as rm
class Late(str):
    def __hash__(self):
        if armed:
            dict(model.weights)  # as another thread might
        return str.__hash__(self)
armed = False
model = rm.PAClassifier()
given = {"a": 1.0, Late("b"): 2.0}
armed = True
model.weights = given
armed = False
print(sorted(model.weights.values()))
"""


def test_weights_may_be_read_while_they_are_set():
    done = subprocess.run([sys.executable, "-c", READ_MEANWHILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0.0, 1.0, 2.0]\n"), done.stderr


def test_one_vector_of_true_is_refused_with_advice():
    with pytest.raises(ValueError, match="one weight vector: give its weights as"):
        rm.PAClassifier().weights = {True: {"a": 1.0}}


READ_RECIPES = """
import river_margins as rm
recipes = [kind() for kind in (rm.Linear, rm.AveragedLinear, rm.PNorm, rm.Diagonal, rm.Full, rm.DualAveraging)]
recipes += [rm.CoinBetting(), rm.Multiplicative(), rm.Kernel(rm.LinearKernel()), rm.AROWClassifier().space]
for space in recipes:
    assert list(space.features) == []
    try:
        space.weight("a", 0)
    except KeyError:
        continue
    raise AssertionError(space)
"""


def test_a_space_that_no_learner_has_opened_has_no_features():
    done = subprocess.run([sys.executable, "-c", READ_RECIPES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_shifting_perceptron_keeps_weights_that_are_set_before_its_first_step():
    model = rm.ShiftingPerceptron(lam=2.0, intercept=False)
    model.weights = {"links": 0.5}
    model.learn_one({"other": 1.0}, False)
    assert model.weights == {"links": 0.5, "other": -1.0}
    model.learn_one({"third": 1.0}, False)
    assert model.weights["links"] == 0.5 / 3  # k/(lam + k)


def test_a_state_stays_in_the_space_that_takes_it():
    model = rm.PAClassifier(intercept=False)
    model.learn_one({"a": 1.0}, True)
    rm.Linear().__setstate__(model.__getstate__()["space"])
    assert list(rm.Linear().features) == []


SET_MEANWHILE = """
import river_margins as rm
class Late:
    waits = True
    def __float__(self):
        if self.waits:
            self.waits = False
            model.weights = {"a": 1.0}  # as another thread might
        return 1.0
model = rm.PAClassifier(intercept=False)
for predict in (model.predict_one, model.score_one, model.predict_score_one):
    model.weights = {f"f{i}": 0.5 for i in range(1000)}
    print(predict({f"f{i}": 1.0 for i in range(999)} | {"late": Late(), "f999": 1.0}))
"""


def test_weights_may_be_set_while_an_example_is_read():
    done = subprocess.run([sys.executable, "-c", SET_MEANWHILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n0.0\n(True, 0.0)\n"), done.stderr


def test_weights_may_be_set_while_a_batch_is_read(monkeypatch):
    model = rm.PAClassifier(intercept=False)
    model.weights = {f"f{i}": 1.0 for i in range(1000)}
    reading = []

    class Late:
        def __hash__(self):
            if reading:
                reading.clear()
                model.weights = {"f0": -1.0}  # as another thread might
            return 1

    def batch(numbers, made=Numbers.batch):
        reading.append(numbers)
        return made(numbers)

    names = pd.Index([*[f"f{i}" for i in range(1000)], Late()], dtype=object)
    monkeypatch.setattr(Numbers, "batch", batch)
    assert model.predict_many(pd.DataFrame(np.ones((2, 1001)), columns=names)).tolist() == [False, False]


@pytest.mark.parametrize("make", [rm.FOGDClassifier, rm.KernelPerceptron, rm.Winnow, rm.CoinBettingClassifier])
def test_weights_are_advised_only_where_there_are_any(make):
    model = make(4.0) if make is rm.Winnow else make()
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(TypeError, match="is not a product of weights with features") as refused:
        model.weight_matrix()
    if "read `weights`" in str(refused.value):
        assert "a" in model.weights
    else:
        with pytest.raises(ValueError, match="no weights by feature"):
            dict(model.weights)


# --------------------------------------------------------------------------------------------------- as a mapping


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda weights: pickle.loads(pickle.dumps(weights)), lambda weights: weights.copy()],
    ids=["copy", "deepcopy", "pickle", "its method"],
)
def test_a_copy_of_the_weights_has_them_and_stays(duplicate):
    model = rm.PAClassifier(mode=0, intercept=False)
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    kept = duplicate(model.weights)
    assert kept == {"a": 0.5, "b": 0.5}  # a step of 1/|x|²
    model.learn_one({"a": 1.0}, False)
    assert kept == {"a": 0.5, "b": 0.5} and model.weights["a"] == -1.0
    classes = rm.PAClassifier(mode=0, intercept=False, classes=["x", "y", "z"])
    classes.learn_one({"a": 1.0}, "y")
    assert copy.deepcopy(classes.weights) == classes.weights and classes.weights["y"]["a"] == 0.5


def test_the_weights_can_be_sorted_with_the_intercept():
    model = rm.PAClassifier(C=1.0)
    model.learn_one({"b": 1.0, ("a", 1): 0.5, "a": -1.0}, True)
    names = [name for name in model.weights if not isinstance(name, tuple)]
    assert sorted(names) == [rm.INTERCEPT, "a", "b"] and sorted(names, reverse=True) == ["b", "a", rm.INTERCEPT]
    sizes = [(abs(model.weights[name]), name) for name in names]
    assert len({size for size, _ in sizes}) == 1  # the constant feature is 1, too: only the names decide
    assert heapq.nlargest(2, sizes) == [(sizes[0][0], "b"), (sizes[0][0], "a")]
    assert max(sizes)[1] == "b" and min(sizes)[1] == rm.INTERCEPT
    column = pd.Series({name: model.weights[name] for name in names}).sort_index()
    assert list(column.index) == [rm.INTERCEPT, "a", "b"]
    assert not rm.INTERCEPT < rm.INTERCEPT and not rm.INTERCEPT > rm.INTERCEPT
