"""The mean of the weights is the mean, and its loss is at most the mean of the losses."""

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.rounds import stream
from tests.learners import FORMS

FEATURES = [f"f{i}" for i in range(6)]


def vector(weights, label=None):
    weights = weights if label is None else weights.get(label, {})
    return np.array([weights.get(feature, 0.0) for feature in [*FEATURES, rm.INTERCEPT]])


@pytest.mark.lecture("averaging")
@pytest.mark.parametrize("labels", [(False, True), ("a", "b", "c")])
@pytest.mark.parametrize("make", [rm.PAClassifier, rm.AROWClassifier, rm.ROMMAClassifier, rm.FTRLProximalClassifier])
@pytest.mark.parametrize("burn_in", [0, 10])
def test_the_mean_is_that_of_the_weights_after_each_round(make, labels, burn_in):
    model, twin, seen = rm.Averaged(make(), burn_in=burn_in), make(), []
    blocks = [None] if labels[0] is False else labels
    for x, y in stream(rounds=60, labels=labels):
        model.learn_one(x, y)
        twin.learn_one(x, y)
        seen.append([vector(twin.weights, label) for label in blocks])
        mean = np.mean(seen[burn_in:] or seen[-1:], axis=0)
        found = [vector(model.weights, label) for label in blocks]
        assert found == pytest.approx(mean, rel=1e-9, abs=1e-12)
    x = next(iter(stream(seed=1)))[0]
    scores = mean @ [*(x.get(feature, 0.0) for feature in FEATURES), 1.0]
    if blocks == [None]:
        assert model.score_one(x) == pytest.approx(scores[0])
        assert model.predict_one(x) == (scores[0] >= 0)
    else:
        assert model.score_one(x) == pytest.approx(dict(zip(labels, scores, strict=True)))
        assert model.predict_one(x) == labels[scores.argmax()]


def test_it_is_the_averaged_perceptron():
    """Which keeps its mean in another way, also with sample weights."""
    model, twin = rm.Averaged(rm.Perceptron()), rm.AveragedPerceptron()
    for number, (x, y) in enumerate(stream(rounds=100)):
        model.learn_one(x, y, w=number % 3)
        twin.learn_one(x, y, w=number % 3)
        assert vector(model.weights) == pytest.approx(vector(twin.weights), rel=1e-9, abs=1e-12)


def hinge(weights, X, y):
    return np.maximum(0.0, 1.0 - y * (X @ weights)).mean()


@pytest.mark.lecture("expected-loss")
def test_the_expected_loss_of_the_mean_is_at_most_the_mean_of_the_losses(rounds=200):
    """Jensen on examples that nobody has seen; and online to batch: within the regret bound of the best u."""
    draw = np.random.default_rng(3)
    target = draw.normal(size=4)

    def sample(count):
        X = draw.normal(size=(count, 4))
        return X, np.where(X @ target + draw.normal(size=count) >= 0, 1.0, -1.0)

    test = sample(4000)
    best = min(hinge(scale * target, *test) for scale in (0.3, 0.5, 0.7, 1.0))
    of_means, of_weights = [], []
    for _ in range(6):
        model = rm.Averaged(rm.OGDClassifier(lr=0.2, radius=3.0, intercept=False))
        losses = []
        for row, label in zip(*sample(rounds), strict=True):
            model.learn_one(dict(enumerate(row.tolist())), bool(label > 0))
            losses.append(hinge(np.array([model.learner.weights[i] for i in range(4)]), *test))
        mean = hinge(np.array([model.weights[i] for i in range(4)]), *test)
        assert mean <= np.mean(losses)
        of_means.append(mean)
        of_weights.append(np.mean(losses))
    radius, longest = 3.0, 4.0  # E|x|² = 4
    regret = ((2 * radius) ** 2 / (2 * 0.2) + 0.2 * longest) / np.sqrt(rounds)
    assert np.mean(of_means) <= best + regret
    assert np.mean(of_means) < np.mean(of_weights) - 0.005


def test_the_mean_of_a_regressor_comes_closer_to_least_squares():
    draw = np.random.default_rng(0)
    model = rm.AveragedRegressor(rm.AdalineRegressor(lr=0.2, normalised=False, intercept=False), burn_in=100)
    target = np.array([1.0, -2.0])
    for _ in range(2000):
        x = draw.normal(size=2)
        model.learn_one(dict(enumerate(x.tolist())), float(x @ target + draw.normal()))
    mean, last = (np.array([w[0], w[1]]) - target for w in (model.weights, model.learner.weights))
    assert np.abs(mean).max() < 0.1 < np.abs(last).max()


LINEAR = [form for form in FORMS if form.task in ("binary", "multiclass", "regression")]


def test_learners_whose_score_is_no_product_are_refused():
    refused = set()
    for form in LINEAR:
        kind = rm.AveragedRegressor if form.task == "regression" else rm.Averaged
        try:
            kind(form.make())
        except TypeError as error:
            assert "not a product of weights with features" in str(error)
            refused.add(form.space)
    assert {"kernel", "multiplicative", "votedlinear"} <= refused
    assert "linear" not in refused
    for kind, wrong in ((rm.Averaged, rm.PARegressor()), (rm.AveragedRegressor, rm.PAClassifier()), (rm.Averaged, 1)):
        with pytest.raises(TypeError, match=r"`learner` must be a linear (classifier|regressor) of this library"):
            kind(wrong)


def test_hashed_features_and_what_was_learned_before():
    learner = rm.PAClassifier(max_features=4)
    learner.learn_one({"a": 1.0, "b": 2.0}, True)
    model = rm.Averaged(learner)
    assert model.score_one({"a": 1.0}) == learner.score_one({"a": 1.0}) > 0.0
    model.learn_one({"c": 1.0}, True)
    assert model.score_one({"a": 1.0}) == model.learner.score_one({"a": 1.0})
    assert learner.n_seen == 1
