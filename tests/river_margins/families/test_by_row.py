"""Frames teach estimators that learn one example at a time as the dicts of their rows do."""

import numpy as np
import pandas as pd
import polars
import pytest

import river_margins as rm

DRAW = np.random.default_rng(3)
X = pd.DataFrame(DRAW.normal(size=(60, 3)), columns=["a", "b", "c"], index=range(100, 160))
WEIGHTS = DRAW.choice([0.25, 0.5, 1.0], size=60)
ROWS = X.to_dict("records")
TRUTH = X["a"] - X["b"] > 0
WORDS = TRUTH.map({True: "yes", False: "no"})
CASES = [
    (rm.AutoClassifier(), TRUTH),
    (rm.AutoClassifier([rm.PAClassifier(), rm.AROWClassifier()]), WORDS),
    (rm.Hedge(), TRUTH),
    (rm.Calibrated(rm.AROWClassifier()), WORDS),
    (rm.AutoRegressor(), X["a"] * 3 + 1),
]
CLASSIFIERS = CASES[:-1]


def named(cases):
    return pytest.mark.parametrize(("model", "y"), cases, ids=[type(model).__name__ for model, _ in cases])


@named(CASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("frame", [pd.DataFrame, polars.from_pandas])
def test_frames_teach_what_dicts_do(model, y, weighted, frame):
    by_dict, by_frame, weights = model.clone(), model.clone(), WEIGHTS if weighted else np.ones(60)
    for x, label, w in zip(ROWS, y, weights, strict=True):
        by_dict.learn_one(x, label, w)
    for begin in range(0, 60, 20):
        rows = slice(begin, begin + 20)
        labels = y[rows] if frame is pd.DataFrame else polars.Series(y[rows].to_numpy())
        by_frame.learn_many(frame(X[rows]), labels, **({"w": weights[rows]} if weighted else {}))
    assert rm.snapshot.dumps(by_frame) == rm.snapshot.dumps(by_dict)
    found = by_frame.predict_many(frame(X))
    assert type(found) is (pd.Series if frame is pd.DataFrame else polars.Series)
    assert found.to_list() == [by_dict.predict_one(x) for x in ROWS]
    if frame is pd.DataFrame:
        assert found.index.equals(X.index)


@named(CLASSIFIERS)
def test_probabilities_have_a_column_for_each_class(model, y):
    model = model.clone()
    model.learn_many(X, y)
    found = model.predict_proba_many(X)
    assert found.to_dict("records") == [{label: 0.0 for label in found} | model.predict_proba_one(x) for x in ROWS]
    assert set(found.columns) == set(y) and found.index.equals(X.index)
    assert list(model.predict_proba_many(X[:0]).columns) == list(model.predict_proba_one({}))


@named(CASES)
def test_a_refused_row_is_named_and_those_before_it_are_learned(model, y):
    labels, expected, model = [*y[:4], None, *y[5:]], model.clone(), model.clone()
    for x, label in zip(ROWS[:4], labels[:4], strict=True):
        expected.learn_one(x, label)
    with pytest.raises(ValueError, match="row 4 of the batch, after 4 that were learned: label None"):
        model.learn_many(X, labels)
    assert rm.snapshot.dumps(model) == rm.snapshot.dumps(expected)


@named(CASES)
@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"X": X.assign(b=[*range(59), np.nan])}, ValueError, "row 159, column 'b' is nan"),
        ({"X": X.assign(b="text")}, ValueError, "column 'b' has the type"),
        ({"X": X.to_numpy()}, TypeError, "a data frame is needed"),
        ({"y": [True]}, ValueError, "60 rows, but 1 labels"),
        ({"w": [1.0, 2.0]}, ValueError, r"60 rows, but sample weights of shape \(2,\)"),
        ({"w": "heavy"}, TypeError, "`w` must be a number, or one for each row"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_before_a_row_is_learned(model, y, changes, error, said):
    model = model.clone()
    before = rm.snapshot.dumps(model)
    with pytest.raises(error, match=said):
        model.learn_many(**{"X": X, "y": y} | changes)
    assert rm.snapshot.dumps(model) == before


def test_a_scaler_hands_its_numbers_on(monkeypatch):
    """As to a learner: no frame is made between the two."""
    pipeline, by_hand, scaler = rm.StandardScaler() | rm.AutoClassifier(), rm.AutoClassifier(), rm.StandardScaler()
    scaler.learn_many(X)
    by_hand.learn_many(scaler.transform_many(X), TRUTH)
    expected = by_hand.predict_many(scaler.transform_many(X))
    monkeypatch.setattr("river_margins.core.frames.Numbers.as_frame", None)
    pipeline.learn_many(X, TRUTH)
    assert pipeline.predict_many(X).equals(expected)
