"""Calibrated probabilities hold, on streams with wrong labels and drift too, and the wrapper is a good estimator."""

import copy
import math
import pickle
import random
from functools import cache

import numpy as np
import pytest
from river import evaluate, linear_model, metrics, multiclass, preprocessing
from river.datasets import ImageSegments, Phishing
from sklearn import datasets as sklearn_datasets

import river_margins as rm
from river_margins import snapshot
from tests.helpers.cases import case

CLASSIFIERS = {
    "AROW": lambda: rm.AROWClassifier(intercept=True),
    "AROW with a matrix": lambda: rm.AROWClassifier(covariance="full", intercept=True),
    "PA": lambda: rm.PAClassifier(C=0.01, intercept=True),
    "averaged perceptron": lambda: rm.AveragedPerceptron(intercept=True),
}
classifiers = pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)


def digits():
    found = sklearn_datasets.load_digits()
    return [(dict(enumerate(row.tolist())), f"digit {y}") for row, y in zip(found.data, found.target, strict=True)]


@cache
def with_wrong_labels(rounds=10_000, features=10, seed=0, labels=(False, True)):
    """Gaussian rows with the label of a random plane, or the best of several: a tenth of the labels is wrong."""
    random = np.random.default_rng(seed)
    U, rows = random.normal(size=(len(labels), features)), random.normal(size=(rounds, features))
    right = np.argmax(rows @ U.T, axis=1)
    wrong = (right + 1 + random.integers(len(labels) - 1, size=rounds)) % len(labels)
    told = np.where(random.random(rounds) < 0.1, wrong, right).tolist()
    return [(dict(enumerate(row)), labels[number]) for row, number in zip(rows.tolist(), told, strict=True)]


def progressive(model, rows):
    """The probabilities of each round before its label is learned, with the label."""
    found = []
    for x, y in rows:
        found.append((model.predict_proba_one(x), y))
        model.learn_one(x, y)
    return found


def log_loss(found):
    """In nats a round; an unknown label has a probability of 1e-15, as in River's metric."""
    return float(np.mean([-math.log(max(chances.get(y, 0.0), 1e-15)) for chances, y in found if chances]))


def calibration_error(found):
    """Guo et al. 2017, equation 3, with ten bins: the mean distance of confidence and accuracy."""
    confidence = np.array([max(chances.values()) for chances, _ in found])
    right = np.array([max(chances, key=chances.get) == y for chances, y in found], dtype=float)
    bins = np.minimum((confidence * 10).astype(int), 9)
    parts = [abs((right - confidence)[bins == number].sum()) for number in range(10)]
    return sum(parts) / len(found)


def logistic_regression(several):
    one = linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | (multiclass.OneVsRestClassifier(one) if several else one)


STREAMS = {
    "phishing": lambda: list(Phishing()),
    "image segments": lambda: list(ImageSegments()),
    "wrong labels": with_wrong_labels,
    "wrong labels of four": lambda: with_wrong_labels(labels="abcd"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_log_loss_is_below_that_of_rivers_logistic_regression(name):
    rows = STREAMS[name]()
    theirs = log_loss(progressive(logistic_regression(several=isinstance(rows[0][1], str)), rows))
    for which, make in CLASSIFIERS.items():
        with case(which):
            assert log_loss(progressive(rm.StandardScaler() | rm.Calibrated(make()), rows)) < theirs


def test_the_log_loss_on_digits_is_below_that_of_rivers_logistic_regression():
    rows = digits()
    ours = log_loss(progressive(rm.StandardScaler() | rm.Calibrated(rm.AROWClassifier(intercept=True)), rows))
    assert ours < log_loss(progressive(logistic_regression(several=True), rows)) / 2


@pytest.mark.parametrize("labels", [(False, True), tuple("abcd")], ids=["two", "four"])
@classifiers
def test_after_5000_rounds_confidence_is_accuracy(make, labels):
    found = progressive(rm.StandardScaler() | rm.Calibrated(make()), with_wrong_labels(labels=labels))
    assert calibration_error(found[5000:]) < 0.03


def test_the_calibration_is_that_of_the_best_slopes_on_scores_that_do_not_change():
    """Scores of a classifier that learns nothing, and labels drawn from a model of the same form: Newton's optimum."""
    random, a, c, b = np.random.default_rng(2), 0.4, 0.7, -0.3
    classifier = rm.PAClassifier(C=0.1, intercept=False, classes=[False, True])
    classifier.learn_one({"a": 1.0}, True)  # from now on the score is a tenth of the value
    model = rm.Calibrated(classifier, half_life=1e9)
    scores = random.normal(size=20_000) * 2
    unit = math.sqrt(np.mean(scores**2))
    for score in scores:
        chance = 1 / (1 + math.exp(-(a * score + 2 * c * math.tanh(6 * score / unit) + b)))
        model._calibration.learn({True: score / 2, False: -score / 2}, bool(random.random() < chance), 1.0, 1.0)
    for score in (-4.0, -1.0, -0.1, 0.0, 0.1, 1.0, 4.0):
        chance = 1 / (1 + math.exp(-(a * score + 2 * c * math.tanh(6 * score / unit) + b)))
        assert model.predict_proba_one({"a": 10 * score})[True] == pytest.approx(chance, abs=0.03)


def test_the_probabilities_follow_a_drift():
    """The share of wrong labels grows from nothing to three tenths in mid-stream."""
    random = np.random.default_rng(3)
    model = rm.Calibrated(rm.AROWClassifier(intercept=True), half_life=300)
    rows = [(dict(enumerate(row)), bool(row[0] > 0)) for row in random.normal(size=(8000, 3)).tolist()]
    rows[4000:] = [(x, y != (random.random() < 0.3)) for x, y in rows[4000:]]
    found = progressive(model, rows)
    confidence = [np.mean([max(chances.values()) for chances, _ in part]) for part in (found[3000:4000], found[6000:])]
    assert confidence[0] > 0.95 and 0.6 < confidence[1] < 0.75
    assert calibration_error(found[6000:]) < 0.05


@pytest.mark.parametrize("half_life", [300, 1000])
@pytest.mark.parametrize("slope", [4.0, 8.0])
def test_probabilities_turn_round_with_the_labels(slope, half_life):
    """The classifier freezes. The first slope falls to 0 and stays there, so the second one must turn round."""
    draw, calibration, losses = random.Random(1), rm.Calibrated(rm.PAClassifier())._calibration, []
    for t in range(4000):
        score = draw.gauss(0.0, 1.0)
        y = (draw.random() < 1 / (1 + math.exp(-slope * score))) != (t >= 3000)
        scores = {True: score / 2, False: -score / 2}
        losses.append(-math.log(max(calibration.probabilities(scores)[y], 1e-15)))
        calibration.learn(scores, y, 1.0, 0.5 ** (1 / half_life))
    assert np.mean(losses[3250:]) < 0.65  # a coin has 0.69


def test_the_unit_of_the_scores_does_not_matter():
    rows = with_wrong_labels(rounds=500)
    one, thousand = (rm.Calibrated(rm.Perceptron(lr, intercept=True)) for lr in (1.0, 1024.0))
    for (chances, _), (others, _) in zip(progressive(one, rows), progressive(thousand, rows), strict=True):
        assert chances == pytest.approx(others, abs=1e-9)


def test_it_calibrates_on_the_score_before_learning():
    """PA without a limit is right about every label right after it has learned it, and no better than chance before."""
    random = np.random.default_rng(4)
    rows = [(dict(enumerate(row)), bool(random.random() < 0.5)) for row in random.normal(size=(3000, 5)).tolist()]
    found = progressive(rm.Calibrated(rm.PAClassifier(mode=0, intercept=True)), rows)
    assert np.mean([max(chances.values()) for chances, _ in found[1000:]]) < 0.55


@pytest.mark.parametrize("classes", [[False, True], ["ham", "spam"], ["a", "b", "c"]])
def test_known_classes_are_equally_probable_before_the_first_label(classes):
    model = rm.Calibrated(rm.PAClassifier(classes=classes, intercept=True))
    for x in ({}, {"a": 1.0}):
        assert model.predict_proba_one(x) == dict.fromkeys(classes, pytest.approx(1 / len(classes)))
        assert rm.PAClassifier(classes=classes, intercept=True).predict_proba_one(x) == model.predict_proba_one(x)


def test_scores_beyond_floating_point_leave_the_probabilities_finite():
    model = rm.Calibrated(rm.Perceptron(intercept=False))
    for value in (1e-200, 1e-160, 1.0, 1e100, 1e150, 1e-200, 1.0):
        for y in (True, False, True):
            model.learn_one({"a": value}, y)
            for chances in (model.predict_proba_one({"a": each}) for each in (0.0, value, -value)):
                assert sum(chances.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("labels", [(False, True), tuple("abcd")], ids=["two", "four"])
def test_a_weight_of_0_learns_nothing_and_a_refused_round_neither(labels):
    model = rm.Calibrated(rm.PAClassifier(C=0.1, intercept=True))
    rows = with_wrong_labels(rounds=100, labels=labels)
    progressive(model, rows)

    def learned():
        return pickle.dumps((model.__getstate__()["calibration"], model.classifier.__getstate__()["space"]))

    before = learned()
    model.learn_one({0: 3.0}, labels[0], w=0.0)
    for x, y, w in (({0: 3.0}, None, 1.0), ({0: math.nan}, labels[0], 1.0), ({0: 3.0}, labels[0], -1.0)):
        with pytest.raises(ValueError):
            model.learn_one(x, y, w=w)
    assert learned() == before


@pytest.mark.parametrize("labels", [(False, True), tuple("abcd")], ids=["two", "four"])
@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.clone(include_attributes=True),
        lambda model: snapshot.loads(snapshot.dumps(model)),
    ],
    ids=["deepcopy", "pickle", "clone", "snapshot"],
)
def test_a_copy_goes_on_bit_for_bit(duplicate, labels):
    model, rows = rm.Calibrated(rm.AROWClassifier(intercept=True)), with_wrong_labels(rounds=300, labels=labels)
    progressive(model, rows[:200])
    twin = duplicate(model)
    assert progressive(twin, rows[200:]) == progressive(model, rows[200:])
    assert pickle.dumps(twin) == pickle.dumps(model)


def test_what_is_given_is_a_recipe():
    learner = rm.PAClassifier(C=1.0, intercept=False)
    learner.learn_one({"a": 1.0}, True)
    model = rm.Calibrated(learner)
    assert model.score_one({"a": 1.0}) == 1.0  # what it has learned is there
    model.learn_one({"a": 1.0}, False)
    assert (learner.n_seen, model.classifier.n_seen, model.clone().classifier.n_seen) == (1, 2, 0)
    for wrong in (rm.PARegressor(), linear_model.LogisticRegression(), rm.StandardScaler() | learner):
        with pytest.raises(TypeError, match="`classifier` must be a classifier of this library"):
            rm.Calibrated(wrong)


def test_what_says_how_to_learn_may_be_mutated_in_mid_stream():
    model = rm.StandardScaler() | rm.Calibrated(rm.PAClassifier(C=0.1, intercept=True))
    progressive(model, with_wrong_labels(rounds=50))
    model.mutate({"Calibrated": {"classifier": {"C": 0.5}, "half_life": 10}})
    calibrated = model["Calibrated"]
    assert (calibrated.classifier.C, calibrated.classifier.rule, calibrated.half_life) == (0.5, rm.PA1(0.5), 10)
    assert (calibrated.classifier.n_seen, calibrated.clone().classifier.C) == (50, 0.5)
    calibrated.mutate({"classifier": rm.PAClassifier(C=0.25, intercept=True)})
    assert (calibrated.classifier.C, calibrated.classifier.n_seen) == (0.25, 50)
    with pytest.raises(ValueError, match="not a mutable attribute"):
        calibrated.mutate({"classifier": rm.PAClassifier(C=0.25, intercept=False)})
    with pytest.raises(ValueError, match="use clone for another one"):
        calibrated.mutate({"classifier": rm.Perceptron(intercept=True)})
    with pytest.raises(ValueError, match="`half_life` must be a finite number above 0, not 0"):
        calibrated.mutate({"half_life": 0})
    changes = snapshot.changes(
        snapshot.dumps(rm.Calibrated(rm.PAClassifier(C=1.0))), rm.Calibrated(rm.PAClassifier(C=2.0))
    )
    assert changes.refused == []


def test_rivers_evaluation_gives_the_log_loss_of_the_rounds():
    rows = list(Phishing())
    model = rm.StandardScaler() | rm.Calibrated(rm.PAClassifier(C=0.01, intercept=True))
    metric = evaluate.progressive_val_score(rows, model.clone(), metrics.LogLoss())
    assert metric.get() == pytest.approx(
        log_loss([({True: 0.5, False: 0.5}, rows[0][1]), *progressive(model, rows)[1:]]), rel=1e-2
    )


def test_it_takes_samplers_and_is_taken_by_them():
    inside = rm.Calibrated(rm.SelectiveSampler(rm.PAClassifier(C=0.1, intercept=True), c=1e9))
    outside = rm.SelectiveSampler(rm.Calibrated(rm.PAClassifier(C=0.1, intercept=True)), c=1e9)
    for x, y in with_wrong_labels(rounds=100):
        assert inside.predict_proba_one(x) == outside.predict_proba_one(x)
        inside.learn_one(x, y)
        outside.learn_one(x, y)
    assert snapshot.loads(snapshot.dumps(outside)).predict_proba_one({0: 1.0}) == inside.predict_proba_one({0: 1.0})


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("within", [lambda votes: votes, rm.SelectiveSampler], ids=["bare", "in a sampler"])
def test_votes_are_calibrated_whichever_label_comes_first(within, first):
    rows = with_wrong_labels(rounds=2000)
    start = next(place for place, (_, y) in enumerate(rows) if y is first)
    model = rm.Calibrated(within(rm.AutoClassifier()))
    found = progressive(model, rows[start:])
    assert set(found[1][0]) == {True, False}
    right = sum(chances[y] > 0.5 for chances, y in found[500:])
    assert right / len(found[500:]) > 0.8  # a tenth of the labels is wrong
    assert model._calibration.slopes[0] > 0.0  # more votes for a label make it more probable
    assert log_loss(found[500:]) < log_loss(progressive(rm.AutoClassifier(), rows[start:])[500:])


@pytest.mark.parametrize(
    "make", [lambda: rm.Watched(rm.Perceptron()), rm.CenterOfGravityClassifier], ids=["Watched", "version space"]
)
def test_a_classifier_without_sample_weights(make):
    model = rm.Calibrated(make())
    model.learn_one({"a": 1.0}, True)
    assert set(model.predict_proba_one({"a": 1.0})) == {True, False}
    with pytest.raises(TypeError, match="'w'"):
        model.learn_one({"a": 1.0}, True, w=2.0)


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (rm.PARegressor(), "not a PARegressor"),
        (linear_model.LogisticRegression(), "not a LogisticRegression"),
        (
            rm.StandardScaler() | rm.PAClassifier(),
            r"a Pipeline\. Wrap the last step of a pipeline: `StandardScaler\(\) \|",
        ),
    ],
    ids=["regressor", "River's", "pipeline"],
)
def test_what_cannot_be_calibrated_is_refused_with_advice(classifier, words):
    with pytest.raises(TypeError, match=words):
        rm.Calibrated(classifier)


@pytest.mark.parametrize("w", [0.5, 1.0, 4.0])
def test_the_first_step_of_a_constant_by_hand(w):
    """Before the first label each class has one half: w/2 over the curvature w/2, plus a prior of 0.3."""
    model = rm.Calibrated(rm.PAClassifier(classes=[False, True]))
    model.learn_one({"a": 1.0}, True, w=w)
    state = model.__getstate__()["calibration"]
    constants = dict(zip(state["labels"], state["constants"], strict=True))
    step = w / 2 / (w / 2 + 0.3)
    assert constants == {True: pytest.approx(step), False: pytest.approx(-step)}


def test_a_label_that_the_sampler_did_not_ask_for_calibrates_nothing():
    model = rm.Calibrated(rm.MarginSampler(rm.PAClassifier(C=1.0, intercept=False), margin=0.1))
    model.learn_one({"a": 1.0}, True)
    before = model._calibration.state()
    model.learn_one({"a": 5.0}, False)
    assert (model.classifier.n_queries, model._calibration.state()) == (1, before)


def test_joint_features_see_no_example_but_those_given():
    model = rm.Calibrated(rm.LogLinearClassifier(phi=lambda x, label: {("a", label): x["a"]}))
    for y in (True, False):
        model.learn_one({"a": 1.0 if y else -1.0}, y)
    assert set(model.predict_proba_one({"a": 1.0})) == {True, False}


def test_one_heavy_label_does_not_make_its_class_certain():
    """Fifty times False, then True with the weight 100: two thirds by the weights, and soon below one half again."""
    model = rm.Calibrated(rm.PAClassifier(intercept=False))
    for _ in range(50):
        model.learn_one({}, False)
    model.learn_one({}, True, w=100.0)
    assert 0.5 < model.predict_proba_one({})[True] < 0.9
    for _ in range(100):
        model.learn_one({}, False)
    assert model.predict_one({}) is False


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_probabilities_follow_when_features_that_stood_still_move(share):
    """While all leads are alike, only the difference of slopes and constants shows: both must stay small."""
    model, draw, losses = rm.Calibrated(rm.PAClassifier(), half_life=100), random.Random(1), []
    for t in range(5000):
        x = {name: draw.gauss(0.0, 1.0) if t >= 3000 else 0.0 for name in "abc"}
        y = (x["a"] + x["b"] > 0) != (draw.random() < 0.05) if t >= 3000 else draw.random() < share
        losses.append(-math.log(max(model.predict_proba_one(x).get(y, 0.0), 1e-15)))
        model.learn_one(x, y)
    assert np.mean(losses[4000:]) < 0.4


HOSTILE = {
    "far apart": [
        ({"f0": -1e130, "f1": 1.0}, False),
        ({"f0": 1.0, "f1": 1.0}, True),
        ({"f0": 1e130, "f1": 1e130}, False),
    ],
    "near 0": [({"f1": 1.0, "f2": 1e-100}, True), ({"f1": -1.0, "f2": 1.0}, False), ({"f1": -1e154}, False)],
    "a lead whose square is 0": [({"f1": 1.0}, True), ({"f1": 2.5e-162}, True), ({"b": 1.0}, False)],
}


@pytest.mark.parametrize("stream", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("intercept", [False, True])
def test_probabilities_stay_finite(stream, intercept):
    model = rm.Calibrated(rm.PAClassifier(C=1.0, intercept=intercept))
    for x, y in stream + 300 * [({"f1": 1.0}, True), ({"f1": -1.0}, False)]:
        model.learn_one(x, y)
    again = snapshot.loads(snapshot.dumps(model))
    for x in ({"f1": 1.0}, {"f1": -1.0}):
        assert all(map(math.isfinite, model.predict_proba_one(x).values()))
        assert again.predict_proba_one(x) == model.predict_proba_one(x)


def test_small_scores_at_first_do_not_make_large_ones_certain():
    """A soft threshold lets through next to nothing at first: a slope that suits them is too steep later."""
    stream = list(ImageSegments())
    losses = [
        log_loss(progressive(rm.StandardScaler() | model, stream))
        for model in (rm.FTRLProximalClassifier(l1=0.5), rm.Calibrated(rm.FTRLProximalClassifier(l1=0.5)))
    ]
    assert losses[1] < losses[0]


def test_before_its_first_label_it_predicts_as_a_trained_classifier_does():
    """All probabilities are equal then, and the better score decides."""
    for labels in ((False, True), ("a", "b", "c")):
        rows, classifier = with_wrong_labels(300, labels=labels), rm.AROWClassifier()
        for x, y in rows:
            classifier.learn_one(x, y)
        wrapped = rm.Calibrated(classifier)
        assert len(set(wrapped.predict_proba_one(rows[0][0]).values())) == 1
        assert [wrapped.predict_one(x) for x, _ in rows] == [classifier.predict_one(x) for x, _ in rows]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "make",
    [
        lambda: rm.Averaged(rm.PAClassifier()),
        lambda: rm.Calibrated(rm.PAClassifier()),
        rm.LogLinearClassifier,
        rm.OnlineMLPClassifier,
    ],
)
def test_a_short_number_of_numpy_is_a_weight_as_any_other(make):
    short, plain = make(), make()
    for n in range(20):
        short.learn_one({"a": n / 7}, n % 3 == 0, w=np.float32(0.5))
        plain.learn_one({"a": n / 7}, n % 3 == 0, w=0.5)
    assert snapshot.dumps(short) == snapshot.dumps(plain)


@pytest.mark.parametrize(("C", "c"), [(0.1, 0.3), (1.0, 0.05), (1.0, 0.1)])
def test_labels_of_small_scores_do_not_turn_large_ones_around(C, c):
    """A sampler asks where the classifier is about as often wrong as right."""
    bare = rm.StandardScaler() | rm.SelectiveSampler(rm.PAClassifier(C), c=c)
    calibrated = rm.StandardScaler() | rm.Calibrated(rm.SelectiveSampler(rm.PAClassifier(C), c=c))
    expected, found = (
        evaluate.progressive_val_score(Phishing(), model, metrics.Accuracy()).get() for model in (bare, calibrated)
    )
    assert found > expected - 0.03


@pytest.mark.parametrize("outlier", [1e4, 1e8, 1e40])
def test_one_huge_score_does_not_hide_all_others(outlier):
    draw, model = random.Random(1), rm.Calibrated(rm.PAClassifier(C=0.1))
    right = own = loss = 0.0
    for n in range(4000):
        x = {name: draw.gauss(0, 1) for name in "ab"}
        y = x["a"] + x["b"] + 0.5 * draw.gauss(0, 1) > 1
        if n == 1000:
            x, y = {"a": outlier, "b": -1.3 * outlier}, True
        if n >= 2000:
            loss -= math.log(model.predict_proba_one(x)[y]) / 2000
            right += model.predict_one(x) == y
            own += model.classifier.predict_one(x) == y
        model.learn_one(x, y)
    assert loss < 0.28 and right > own - 20


@pytest.mark.parametrize("outlier", [1e6, 1e20])
def test_a_huge_score_that_comes_first_does_not_hide_all_others(outlier):
    draw, model = random.Random(1), rm.Calibrated(rm.PAClassifier(C=0.1))
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": outlier}, True)
    right = own = 0
    for n in range(4000):
        x = {name: draw.gauss(0, 1) for name in "ab"}
        y = x["a"] + x["b"] > 0.7
        if n >= 3000:
            right += model.predict_one(x) == y
            own += model.classifier.predict_one(x) == y
        model.learn_one(x, y)
    assert right > own - 20


@pytest.mark.parametrize("w", [1.0, 1e22])
def test_a_huge_weight_fades(w):
    """Beside it, rounding can leave no step for the slopes: what it has added must be forgotten all the same."""
    model, draw, losses = rm.Calibrated(rm.PAClassifier(C=0.1), half_life=20), random.Random(1), []
    for t in range(3000):
        x = {name: draw.gauss(0.0, 1.0) for name in "ab"}
        y = (x["a"] + x["b"] > 0) != (draw.random() < 0.1)
        losses.append(-math.log(max(model.predict_proba_one(x).get(y, 0.0), 1e-15)))
        model.learn_one(x, y, w=w if t == 200 else 1.0)
    assert np.mean(losses[2000:]) < 0.6


def test_a_state_of_an_earlier_version_is_read():
    model = rm.Calibrated(rm.PAClassifier())
    for n in range(20):
        model.learn_one({"a": float(n % 3)}, n % 3 > 0)
    calibration, read = model._calibration, type(model._calibration)()
    state = calibration.state()
    del state["top"], state["crossed"]
    read.restore(state)
    assert read.probabilities({True: 1.0, False: -1.0}) == calibration.probabilities({True: 1.0, False: -1.0})
    read.learn({True: 1.0, False: -1.0}, True, 1.0, 0.999)
    assert read.squares > 0.999 * calibration.squares
