"""ROMMA on streams that no separator exists for, where its weights grow without limit."""

import numpy as np
import pytest
from river import datasets

import river_margins as rm


def test_long_weights_move_in_the_direction_of_the_update():
    """With |w| beyond 1e20, w' is parallel to q·w - f·x but for a part in 1e20."""
    scaler, model = rm.StandardScaler(), rm.ROMMAClassifier(intercept=False)
    compared, longest = 0, 0.0
    for x, y in datasets.Bananas().take(2000):
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        before, updates, row = np.array(list(model.weights.values())), model.n_updates, np.array(list(x.values()))
        model.learn_one(x, y)
        if model.n_updates == updates or np.linalg.norm(before) < 1e20:
            continue
        after = np.array(list(model.weights.values()))
        longest = max(longest, np.linalg.norm(after) * np.linalg.norm(row))
        unit = before / np.linalg.norm(before)
        towards = (row @ row) * unit - (unit @ row) * row
        if np.linalg.norm(towards) > 0.1 * (row @ row):  # else most digits cancel
            assert after / np.linalg.norm(after) == pytest.approx(towards / np.linalg.norm(towards), abs=1e-12)
            compared += 1
    assert compared > 300
    assert longest == pytest.approx(1e75)


def test_short_examples_need_long_weights():
    """The limit is one of scores: weights of 1e90 are exact where examples have lengths of 1e-90."""
    model = rm.ROMMAClassifier(aggressive=True, intercept=False)
    for a, b, sign in [(1e-90, 2e-90, 1), (1e-90, -1e-90, -1), (3e-90, 1e-90, 1)]:
        model.learn_one({"a": a, "b": b}, sign > 0)
        assert sign * model.score_one({"a": a, "b": b}) >= 1 - 1e-9
    assert np.linalg.norm(list(model.weights.values())) > 1e75


@pytest.mark.parametrize("size", [1e-104, 1e-120, 1e-150])
@pytest.mark.parametrize("aggressive", [False, True])
def test_long_examples_are_learned_after_a_very_short_one(aggressive, size):
    """|w| is 1/size at first, and the third power of that is beyond floating point."""
    draw, model, right = np.random.default_rng(0), rm.ROMMAClassifier(aggressive=aggressive, intercept=False), 0
    model.learn_one({"a": size, "b": size}, True)
    for number in range(1000):
        a, b = draw.normal(size=2).tolist()
        right += number >= 500 and model.predict_one({"a": a, "b": b}) == (a > b)
        model.learn_one({"a": a, "b": b}, a > b)
    assert right > 490
