"""The compiled pipeline does what River's does, to the last bit."""

import pickle

import pytest
from river import anomaly, compose, datasets, feature_selection, preprocessing, stats

import river_margins as rm


def learner():
    return rm.PAClassifier(C=0.01)


STEPS = {
    "a scaler": lambda: (rm.StandardScaler(), learner()),
    "two transformers": lambda: (preprocessing.Normalizer(), rm.StandardScaler(), learner()),
    "a union": lambda: (rm.StandardScaler() + preprocessing.Normalizer(), learner()),
    "a supervised transformer": lambda: (feature_selection.SelectKBest(stats.PearsonCorr(), k=4), learner()),
    "a filter": lambda: (
        rm.StandardScaler(),
        anomaly.QuantileFilter(anomaly.HalfSpaceTrees(seed=1), q=0.95),
        learner(),
    ),
    "only a learner": lambda: (learner(),),
}


def play(model, rounds=200):
    said = []
    for x, y in datasets.Phishing().take(rounds):
        said += [model.predict_one(x), model.predict_proba_one(x)]
        model.learn_one(x, y)
    return said


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_it_goes_rivers_way(steps):
    ours, rivers = rm.pipeline.Pipeline(*steps()), compose.Pipeline(*steps())
    assert play(ours) == play(rivers)
    assert pickle.dumps(ours[-1].__getstate__()) == pickle.dumps(rivers[-1].__getstate__())


def test_it_learns_during_prediction_where_river_is_told_to():
    ours, rivers = rm.pipeline.Pipeline(*STEPS["a scaler"]()), compose.Pipeline(*STEPS["a scaler"]())
    with compose.learn_during_predict():
        assert play(ours) == play(rivers)
    assert ours[0].counts == rivers[0].counts


def test_further_arguments_reach_the_learner():
    ours = rm.pipeline.Pipeline(*STEPS["a scaler"]())
    ours.learn_one({"a": 1.0}, True, w=0.0)
    assert ours[-1].n_seen == 1
    assert ours[-1].n_updates == 0


def test_the_scaler_begins_one():
    assert type(rm.StandardScaler() | learner()) is rm.pipeline.Pipeline
    model = rm.StandardScaler() | (preprocessing.MinMaxScaler() | learner())
    assert list(model.steps) == ["StandardScaler", "MinMaxScaler", "PAClassifier"]
    assert type((rm.StandardScaler() | learner()).clone()) is rm.pipeline.Pipeline
