"""Discriminative ridge: worked rounds, the regression of all rounds at once, and good manners."""

import json
import math
import pickle

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case
from tests.helpers.paths import ROOT

GOLDEN = {each["id"]: each for each in json.loads((ROOT / "tests/golden/adaptation.json").read_text())}


def near(value):
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def named(row, names="abcd"):
    return dict(zip(names, row, strict=False))


@pytest.mark.lecture("ridge")
def test_the_worked_rounds():
    golden = GOLDEN["discriminative_ridge"]
    model = rm.DiscriminativeRidge(**golden["parameters"])
    model.learn_one([named([0.0, 0.0])], [0.0])
    start = model.__getstate__()
    model.__setstate__(start | {"rows": start["rows"] | {"values": np.array([golden["initial_state"]["lam"]]).T}})
    for number, expected in enumerate(golden["rounds"], 1):
        with case(number):
            x, before = [named(row) for row in expected["features"]], np.array(list(model.weights.values()))
            assert model.score_one(x) == near(expected["scores"])
            assert model.predict_one(x) == expected["predict"]
            model.learn_one(x, expected["quality"])
            after = np.array(list(model.weights.values()))
            np.testing.assert_allclose(after, expected["after"]["lam"], 1e-9, 1e-9)
            np.testing.assert_allclose(after - 0.5 * before, 0.5 * np.array(expected["lambda_hat"]), 1e-9, 1e-9)


def lists(rounds, seed=0):
    """n-best lists whose features come and go."""
    draw = np.random.default_rng(seed)
    for number in range(rounds):
        H = draw.normal(size=(draw.integers(1, 6), 2 + min(number // 10, 2)))
        yield H, draw.normal(size=len(H)) + H[:, 0] * 2


@pytest.mark.lecture("ridge")
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_recursive_is_the_ridge_regression_of_all_rounds(forgetting):
    model = rm.DiscriminativeRidge(0.7, recursive=True, forgetting=forgetting)
    rows, targets, weights = [], [], []
    for H, u in lists(40):
        model.learn_one([named(row) for row in H.tolist()], u.tolist())
        best = int(np.argmax(u))
        weights = [weight * forgetting for weight in weights] + [1.0] * len(H)
        rows += [np.pad(H[best] - h, (0, 4 - len(h))) for h in H]
        targets += [u[best] - each for each in u]
    # |√weight·(Rw - d)|² + beta·|w|² as one system of least squares
    scale = np.sqrt(weights)
    system = np.vstack([scale[:, None] * np.array(rows), math.sqrt(0.7) * np.eye(4)])
    expected = np.linalg.lstsq(system, np.concatenate([scale * targets, np.zeros(4)]), rcond=None)[0]
    np.testing.assert_allclose([model.weights[name] for name in "abcd"], expected, 1e-9)


def test_alpha_1_is_the_ridge_regression_of_the_last_round():
    model = rm.DiscriminativeRidge(0.7, alpha=1.0)
    for H, u in lists(33):
        model.learn_one([named(row) for row in H.tolist()], u.tolist())
    assert len(H) > 2
    best = int(np.argmax(u))
    system = np.vstack([H[best] - H, math.sqrt(0.7) * np.eye(H.shape[1])])
    expected = np.linalg.lstsq(system, np.concatenate([u[best] - u, np.zeros(H.shape[1])]), rcond=None)[0]
    np.testing.assert_allclose(list(model.weights.values()), np.pad(expected, (0, 4 - len(expected))), atol=1e-12)


def test_features_that_a_list_does_not_have_move_towards_0():
    model = rm.DiscriminativeRidge(alpha=0.25)
    model.learn_one([{"a": 1.0}, {}], [1.0, 0.0])
    before = model.weights["a"]
    model.learn_one([{"b": 1.0}, {}], [1.0, 0.0])
    assert model.weights == {"a": near(0.75 * before), "b": near(0.25 * 0.5)}


def test_a_list_without_a_choice():
    """It pulls weights towards 0. Of all rounds, one candidate says nothing; equal qualities ask for equal scores."""
    first, one, equal = ([{"a": 1.0}, {"a": 0.0}], [1.0, 0.0]), ([{"a": 1.0}], [1.0]), ([{"a": 1.0}, {}], [0.5, 0.5])
    model, recursive = rm.DiscriminativeRidge(alpha=0.5), rm.DiscriminativeRidge(recursive=True)
    found = []
    for x, y in (first, one, equal):
        model.learn_one(x, y)
        recursive.learn_one(x, y)
        found.append((model.weights["a"], recursive.weights["a"]))
    # 1/(1 + 1), halved; then with a half of it; of all rounds (1·1 + 0·0)/(1 + 1), unchanged, and 1/(1 + 1 + 1)
    assert found == [(near(0.25), near(0.5)), (near(0.125), near(0.5)), (near(0.0625), near(1 / 3))]


@pytest.mark.parametrize("recursive", [False, True])
def test_a_snapshot_goes_on_bit_for_bit(recursive):
    model = rm.DiscriminativeRidge(recursive=recursive)
    rounds = [([named(row) for row in H.tolist()], u.tolist()) for H, u in lists(30)]
    for x, y in rounds[:15]:
        model.learn_one(x, y)
    twins = [snapshot.loads(snapshot.dumps(model)), model.clone(include_attributes=True)]
    for x, y in rounds[15:]:
        for each in (model, *twins):
            each.learn_one(x, y)
    assert {snapshot.dumps(each) for each in twins} == {snapshot.dumps(model)}


@pytest.mark.parametrize("recursive", [False, True])
def test_what_is_refused_changes_nothing(recursive):
    model = rm.DiscriminativeRidge(recursive=recursive)
    model.learn_one([{"a": 1.0}, {"a": 0.0}], [1.0, 0.0])
    before = pickle.dumps(model)
    for x, y, words in (
        ([], [], "a list of one candidate or more is needed"),
        ({"a": 1.0}, [1.0], "a list of one candidate or more is needed"),
        ([{"new": 1.0}], [1.0, 2.0], "1 candidates, but 2 qualities"),
        ([{"new": math.nan}], [1.0], "feature 'new' is nan"),
        ([{"new": 1.0}], [math.inf], "a quality must be a finite number, not inf"),
        ([{"new": 1.0}], ["good"], "a quality must be a finite number, not 'good'"),
    ):
        with case(words), pytest.raises(ValueError, match=words):
            model.learn_one(x, y)
        assert pickle.dumps(model) == before
    too_large = [[{"new": 1e200}, {"new": -1e200}]]
    if recursive:  # 1e20 + beta is 1e20: no inverse
        too_large.append([{"b": 1e10, "c": 1e10}, {}])
    for large in too_large:
        with pytest.raises(OverflowError, match="DiscriminativeRidge"):
            model.learn_one(large, [1.0, 0.0])
        assert pickle.dumps(model) == before


def test_parameters_out_of_range_are_named():
    for parameters in ({"beta": 0.0}, {"alpha": 0.0}, {"alpha": 1.5}, {"forgetting": 0.0}):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"`{name}`"):
            rm.DiscriminativeRidge(**parameters)


def test_a_list_of_one_candidate_only_forgets():
    for forgetting, weight in ((1.0, 0.5), (0.5, 1 / 3)):
        model = rm.DiscriminativeRidge(recursive=True, forgetting=forgetting)
        model.learn_one([{"a": 1.0}, {"a": 0.0}], [1.0, 0.0])
        model.learn_one([{"a": 1.0}], [3.0])
        assert model.weights["a"] == pytest.approx(weight)


def test_sums_beyond_floating_point_change_nothing():
    model, x = rm.DiscriminativeRidge(recursive=True), [{"a": 1.3e154}, {"a": 0.0}]
    model.learn_one(x, [1.0, 0.0])
    before = dict(model.weights)
    with pytest.raises(OverflowError, match="scale the features"):
        model.learn_one(x, [1.0, 0.0])
    assert model.n_seen == 1 and dict(model.clone(include_attributes=True).weights) == before


@pytest.mark.parametrize(("beta", "scale"), [(1.0, 1e6), (1.0, 1e8), (1.0, 1e10), (1e-12, 1.0)])
def test_a_round_is_exact_where_rounding_would_hide_beta(beta, scale):
    """Two candidates have one difference r, and v = r·d/(|r|² + beta)."""
    model, one, other = rm.DiscriminativeRidge(beta, alpha=1.0), np.array([1.1, 0.3, 0.7]), np.array([0.2, 1.3, 0.1])
    model.learn_one([named((scale * one).tolist()), named((scale * other).tolist())], [1.0, 0.0])
    r = scale * one - scale * other
    np.testing.assert_allclose([model.weights[name] for name in "abc"], r / (r @ r + beta), 1e-6)


def test_features_of_unlike_size_are_all_learned():
    """v = d·r/(r² + beta) for a candidate that differs in one feature only."""
    model = rm.DiscriminativeRidge(1.0, alpha=1.0)
    model.learn_one([{}, {"a": -1e16}, {"b": -1.0}], [1.0, 0.0, 0.0])
    np.testing.assert_allclose([model.weights["a"], model.weights["b"]], [1e-16, 0.5])


def test_a_weight_beyond_floating_point_is_refused():
    model = rm.DiscriminativeRidge(1e-10, alpha=1.0)
    with pytest.raises(OverflowError, match="would become infinite: scale the features"):
        model.learn_one([{"a": 1e-3}, {}], [1e308, 0.0])
    assert model.n_seen == 0 and not model.weights
