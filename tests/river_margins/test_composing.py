"""Inside whatever River wraps around a model: the same predictions as a loop by hand, or better than a baseline."""

import itertools
import random

import pandas as pd
import pytest
from river import (
    anomaly,
    bandit,
    compose,
    datasets,
    drift,
    dummy,
    ensemble,
    evaluate,
    imblearn,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    multioutput,
    optim,
    preprocessing,
    stats,
    utils,
)
from river.datasets import synth

import river_margins as rm


def phishing():
    return datasets.Phishing().take(800)


def segments():
    return datasets.ImageSegments().take(600)


def approval():
    return datasets.TrumpApproval()


def classifier(C=0.05):
    return rm.StandardScaler() | rm.PAClassifier(C)


def regressor():
    return rm.StandardScaler() | rm.PARegressor(1.0, mode=2, intercept=True)


def answers(model, dataset):
    """What the model predicts before it learns each example."""
    predictions = []
    for x, y in dataset:
        predictions.append(model.predict_one(x))
        model.learn_one(x, y)
    return predictions


def score(model, dataset, metric):
    return evaluate.progressive_val_score(dataset, model, metric).get()


# ------------------------------------------------------------------------------------------------- many classes


def test_one_vs_rest_is_one_learner_a_class():
    rows = list(segments())
    by_hand, expected = {}, []
    for x, y in rows:
        # The highest share of probability wins, and the sigmoid ranks as the score does.
        scores = {label: learner.predict_proba_one(x)[True] for label, learner in by_hand.items()}
        expected.append(max(scores, key=scores.get) if scores else None)
        by_hand.setdefault(y, rm.PAClassifier(0.1))
        for label, learner in by_hand.items():
            learner.learn_one(x, y == label)
    assert answers(multiclass.OneVsRestClassifier(rm.PAClassifier(0.1)), rows) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        multiclass.OneVsRestClassifier,
        multiclass.OneVsOneClassifier,
        lambda model: multiclass.OutputCodeClassifier(model, code_size=12, seed=1),
        lambda model: model,
    ],
    ids=["one against the rest", "one against one", "output codes", "bare"],
)
def test_many_classes(wrap):
    model = rm.StandardScaler() | wrap(rm.PAClassifier(0.1))
    assert score(model, segments(), metrics.Accuracy()) > 0.65  # of seven classes


def test_one_vs_rest_takes_frames():
    rows = list(segments())
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([label for _, label in rows])
    one, many = (multiclass.OneVsRestClassifier(rm.PAClassifier(0.1)) for _ in range(2))
    for label in y.unique():  # River's batches know all of their classes from the first row on
        one.classifiers[label] = rm.PAClassifier(0.1)
    for x, label in rows:
        one.learn_one(x, label)
    many.learn_many(X, y)
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x, _ in rows]


# ---------------------------------------------------------------------------------------------------- ensembles


def test_bagging_is_learners_that_see_an_example_a_random_number_of_times():
    rows = list(phishing())
    draw, learners, expected = random.Random(7), [rm.PAClassifier(0.1) for _ in range(3)], []
    for x, y in rows:
        votes = {}
        for learner in learners:
            for label, share in learner.predict_proba_one(x).items():
                votes[label] = votes.get(label, 0.0) + share
        expected.append(max(votes, key=votes.get) if votes else None)
        for learner in learners:
            for _ in range(utils.random.poisson(1, draw)):
                learner.learn_one(x, y)
    assert answers(ensemble.BaggingClassifier(rm.PAClassifier(0.1), n_models=3, seed=7), rows) == expected


@pytest.mark.parametrize(
    "model",
    [
        ensemble.BaggingClassifier(classifier(), n_models=3, seed=1),
        ensemble.ADWINBaggingClassifier(classifier(), n_models=3, seed=1),
        ensemble.LeveragingBaggingClassifier(classifier(), n_models=3, seed=1),
        ensemble.AdaBoostClassifier(classifier(), n_models=3, seed=1),
        ensemble.ADWINBoostingClassifier(classifier(), n_models=3, seed=1),
        ensemble.BOLEClassifier(classifier(), n_models=3, seed=1),
        ensemble.VotingClassifier([classifier(), rm.Perceptron(), linear_model.LogisticRegression()]),
        ensemble.StackingClassifier([classifier(), rm.Perceptron()], meta_classifier=rm.PAClassifier(0.1)),
        ensemble.SRPClassifier(classifier(), n_models=3, seed=1),
        drift.DriftRetrainingClassifier(classifier(), drift_detector=drift.binary.DDM()),
        imblearn.RandomUnderSampler(classifier(), desired_dist={False: 0.5, True: 0.5}, seed=1),
        imblearn.RandomOverSampler(classifier(), desired_dist={False: 0.5, True: 0.5}, seed=1),
        imblearn.RandomSampler(classifier(), desired_dist={False: 0.5, True: 0.5}, sampling_rate=0.8, seed=1),
        imblearn.HardSamplingClassifier(classifier(), p=0.1, size=40, seed=1),
        model_selection.SuccessiveHalvingClassifier(
            [classifier(C) for C in (0.001, 0.01, 0.1, 1.0)], metric=metrics.Accuracy(), budget=600, seed=1
        ),
        rm.StandardScaler() | compose.SelectType(float) | rm.PAClassifier(0.05),
    ],
    ids=lambda model: type(model).__name__,
)
def test_wrapped_classifiers_learn(model):
    baseline = score(dummy.PriorClassifier(), phishing(), metrics.Accuracy())
    assert score(model, phishing(), metrics.Accuracy()) > max(0.75, baseline + 0.15)


@pytest.mark.parametrize(
    "model",
    [
        ensemble.BaggingRegressor(regressor(), n_models=3, seed=1),
        ensemble.EWARegressor([regressor(), regressor()], loss=optim.losses.Squared(), learning_rate=0.005),
        ensemble.SRPRegressor(regressor(), n_models=3, seed=1),
        imblearn.ChebyshevOverSampler(regressor()),
        imblearn.ChebyshevUnderSampler(regressor(), sp=0.5, seed=1),
        imblearn.HardSamplingRegressor(regressor(), p=0.1, size=40, seed=1),
        model_selection.GreedyRegressor([regressor(), dummy.StatisticRegressor(stats.Mean())]),
        model_selection.SuccessiveHalvingRegressor(
            [regressor(), rm.StandardScaler() | rm.PARegressor(0.1)], metric=metrics.MAE(), budget=600, seed=1
        ),
        compose.TargetTransformRegressor(regressor(), func=lambda y: y / 10, inverse_func=lambda y: y * 10),
        preprocessing.TargetStandardScaler(regressor()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_wrapped_regressors_learn(model):
    baseline = score(dummy.StatisticRegressor(stats.Mean()), approval(), metrics.MAE())
    assert score(model, approval(), metrics.MAE()) < 0.8 * baseline


def test_a_drifting_stream_is_relearned():
    rows = list(phishing()) + [(x, not y) for x, y in phishing()] * 2
    wrapped = drift.DriftRetrainingClassifier(rm.PAClassifier(0.001), drift_detector=drift.binary.DDM())
    first = wrapped.model
    assert score(wrapped, rows, metrics.Accuracy()) > score(rm.PAClassifier(0.001), rows, metrics.Accuracy())
    assert wrapped.model is not first


def test_model_selection_finds_the_learner_among_others():
    greedy = model_selection.GreedyRegressor([dummy.StatisticRegressor(stats.Mean()), regressor()], metrics.MAE())
    answers(greedy, approval())
    assert greedy.best_model is greedy.models[1]
    choice = model_selection.BanditClassifier(
        [rm.PAClassifier(0.05), dummy.PriorClassifier()],
        metric=metrics.Accuracy(),
        policy=bandit.EpsilonGreedy(epsilon=0.2, decay=0.001, seed=1),
    )
    answers(choice, phishing())
    assert choice.best_model is choice.models[0]


# ------------------------------------------------------------------------------------------------------ anomaly


def test_predictive_anomaly_detection_watches_our_regressor():
    detector = anomaly.PredictiveAnomalyDetection(regressor(), n_std=3.0, warmup_period=100)
    by_hand, scores = regressor(), []
    errors, variance, expected = stats.Mean(), stats.Var(), []
    for i, (x, y) in enumerate(approval()):
        y = y + 30.0 * (i == 500)  # one poll that is wrong
        scores.append(detector.score_one(x, y))
        detector.learn_one(x, y)
        error = (by_hand.predict_one(x) - y) ** 2
        by_hand.learn_one(x, y)
        threshold = errors.get() + 3.0 * variance.get() ** 0.5
        expected.append(0.0 if i < 100 else 1.0 if error >= threshold else error / threshold)
        if i >= 100:
            errors.update(error)
            variance.update(error)
    assert scores == pytest.approx(expected)
    assert scores[500] == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: anomaly.ThresholdFilter(anomaly.GaussianScorer(window_size=50, grace_period=30), threshold=0.995),
        lambda: anomaly.QuantileFilter(anomaly.GaussianScorer(window_size=50, grace_period=30), q=0.95),
    ],
    ids=["threshold", "quantile"],
)
def test_an_anomaly_filter_keeps_examples_from_the_learner(make):
    model, filter, by_hand = make() | regressor(), make(), regressor()
    kept = 0
    for i, (x, y) in enumerate(approval()):
        y = y + 30.0 * (i % 100 == 99)
        assert model.predict_one(x) == by_hand.predict_one(x)
        model.learn_one(x, y)
        filter.learn_one(x, y)  # before it is asked, in River's pipelines
        if not filter.classify(filter.score_one(x, y)):
            by_hand.learn_one(x, y)
            kept += 1
    assert 0 < kept < approval().n_samples


# ---------------------------------------------------------------------------------------------------- pipelines


def test_a_pipeline_is_its_steps_in_a_row():
    pipeline, scaler, learner = classifier(), rm.StandardScaler(), rm.PAClassifier(0.05)
    for x, y in phishing():
        scaled = scaler.transform_one(x)
        assert pipeline.transform_one(x) == scaled
        assert pipeline.predict_one(x) == learner.predict_one(scaled)
        assert pipeline.predict_proba_one(x) == learner.predict_proba_one(scaled)
        assert pipeline.score_one(x) == learner.score_one(scaled)
        scaler.learn_one(x)
        learner.learn_one(scaler.transform_one(x), y)
        pipeline.learn_one(x, y)
    assert dict(pipeline["PAClassifier"].weights) == dict(learner.weights)


def test_a_sample_weight_goes_down_the_pipeline():
    weighted, twice = classifier(0.05), classifier(0.1)
    for x, y in phishing():
        weighted.learn_one(x, y, w=2.0)
        twice.learn_one(x, y)
    assert dict(weighted["PAClassifier"].weights) == pytest.approx(dict(twice["PAClassifier"].weights))


def test_transformers_may_learn_during_prediction():
    pipeline, scaler, learner = classifier(), rm.StandardScaler(), rm.PAClassifier(0.05)
    with compose.learn_during_predict():
        for x, y in phishing():
            scaler.learn_one(x)
            scaled = scaler.transform_one(x)
            assert pipeline.predict_one(x) == learner.predict_one(scaled)
            learner.learn_one(scaled, y)
            pipeline.learn_one(x, y)


def test_a_union_of_a_function_and_selected_features():
    def products(x):
        return {f"{a}*{b}": x[a] * x[b] for a, b in itertools.combinations(sorted(x), 2)}

    model = (
        (compose.Select("empty_server_form_handler", "popup_window", "https") | rm.StandardScaler())
        + (compose.FuncTransformer(products) | rm.StandardScaler())
    ) | rm.PAClassifier(0.01)
    assert score(model, phishing(), metrics.Accuracy()) > 0.85


def test_batches_go_through_a_pipeline():
    rows = list(approval())
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([target for _, target in rows])
    one, many = regressor(), regressor()
    for start in range(0, 900, 300):
        part, targets = X[start : start + 300], y[start : start + 300]
        for x, _ in rows[start : start + 300]:
            one[0].learn_one(x)
        for x, target in rows[start : start + 300]:
            one[1].learn_one(one[0].transform_one(x), target)
        many.learn_many(part, targets)  # River scales a batch with the moments after all of it
        assert many.predict_many(part).tolist() == [one.predict_one(x) for x, _ in rows[start : start + 300]]


# ------------------------------------------------------------------------------------------------- many outputs


def flares():
    for x, y in datasets.SolarFlare().take(500):
        yield {key: value for key, value in x.items() if isinstance(value, int)}, y


def test_regressor_chains():
    metric = metrics.multioutput.MicroAverage(metrics.MAE())
    model = rm.StandardScaler() | multioutput.RegressorChain(rm.PARegressor(0.01), order=list(next(flares())[1]))
    one_each = rm.StandardScaler() | multioutput.PerOutputRegressor(rm.PARegressor(0.01))
    assert score(model, flares(), metric.clone()) < 0.3
    assert score(one_each, flares(), metric.clone()) < 0.3


@pytest.mark.parametrize(
    "wrap",
    [
        lambda: multioutput.ClassifierChain(rm.PAClassifier(0.1), order=[0, 1]),
        lambda: multioutput.ProbabilisticClassifierChain(rm.PAClassifier(0.1)),
        lambda: multioutput.MonteCarloClassifierChain(rm.PAClassifier(0.1), m=5, seed=1),
        lambda: multioutput.MultiClassEncoder(rm.PAClassifier(0.1)),
        lambda: multioutput.PerOutputClassifier(rm.PAClassifier(0.1)),
    ],
    ids=["chain", "probabilistic", "monte carlo", "encoder", "per output"],
)
def test_several_labels_at_once(wrap):
    model, right, rounds = rm.StandardScaler() | wrap(), 0, 0
    for i, (x, y) in enumerate(phishing()):
        labels = {0: y, 1: not y}
        if i > 100:
            predicted = model.predict_one(x)
            right += predicted == labels
            rounds += 1
        model.learn_one(x, labels)
    assert right / rounds > 0.75


def test_an_encoder_of_label_sets_learns_one_example_first():
    """As docs/coming-from-river.md says."""
    model = multioutput.MultiClassEncoder(rm.PAClassifier(0.1))
    with pytest.raises(KeyError):
        model.predict_one({"a": 1.0})
    model.learn_one({"a": 1.0}, {0: True, 1: False})
    assert model.predict_one({"a": 1.0}) == {0: True, 1: False}


@pytest.mark.parametrize("kind", [rm.PAClassifier, rm.AROWClassifier, rm.AutoClassifier])
def test_an_encoder_turns_labels_round_where_no_set_is_likelier_than_all_others_together(kind):
    """As docs/coming-from-river.md says. The same learner on the sets as texts tells how often it is right itself."""
    encoder, alone, turned, right, alone_right = multioutput.MultiClassEncoder(kind()), kind(), 0, 0, 0
    for i, (x, labels) in enumerate(synth.Logical(seed=42, n_tiles=100)):
        y = {name: bool(value) for name, value in labels.items()}
        if i:
            answer = encoder.predict_one(x)
            right += answer == y
            turned += answer == {name: not value for name, value in y.items()}
            alone_right += alone.predict_one(x) == str(sorted(y.items()))
        encoder.learn_one(x, y)
        alone.learn_one(x, str(sorted(y.items())))
    if kind is rm.AutoClassifier:
        assert right > 0.95 * alone_right > 300
        assert turned < 10
    else:
        assert turned > 200
        assert right < 0.4 * alone_right


class TwoLabels(rm.OGDClassifier):
    """As docs/coming-from-river.md has it."""

    _multiclass = False

    def __init__(self):
        super().__init__(lr=0.01, loss="logistic", schedule="constant")

    def predict_proba_one(self, x):
        chances = super().predict_proba_one(x)
        return {False: chances[False], True: chances[True]}


@pytest.mark.parametrize(
    "wrap",
    [
        multioutput.ClassifierChain,
        multioutput.ProbabilisticClassifierChain,
        lambda model: multioutput.MonteCarloClassifierChain(model, m=10, seed=1),
    ],
    ids=["chain", "probabilistic", "monte carlo"],
)
def test_chains_of_two_labels_are_those_of_rivers_logistic_regression(wrap):
    rows = [(x, {name: y[name] for name in list(y)[:4]}) for x, y in datasets.Yeast().take(200)]
    ours, rivers = (answers(wrap(model), rows) for model in (TwoLabels(), linear_model.LogisticRegression()))
    assert ours == rivers
    assert any(any(labels.values()) for labels in ours)


def test_a_batch_behind_a_scaler_is_not_its_rows_one_by_one():
    """As docs/coming-from-river.md says."""
    rows, one, many = list(phishing()), classifier(), classifier()
    for x, y in rows:
        one.learn_one(x, y)
    many.learn_many(pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows]))
    assert one[0].counts == many[0].counts and dict(one[1].weights) != dict(many[1].weights)
