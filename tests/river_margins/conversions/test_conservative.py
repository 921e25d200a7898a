"""A conservative learner is its classifier on the examples of its mistakes."""

import math

import pytest
from river import linear_model, naive_bayes

import river_margins as rm
from river_margins import snapshot
from tests.helpers.rounds import assert_a_snapshot_goes_on, state, stream
from tests.river_margins.conversions.cases import CASES, nonzero


class Tie(rm.Rule):
    """The strict form of the lectures: no step on a margin of exactly 0."""

    _parameter_names = ()

    def step(self, seen):
        return 1.0 if seen.margin < 0.0 else 0.0


WORKED = {
    "conservative_pa_i": (lambda: rm.Conservative(rm.PAClassifier(C=0.25, intercept=False)), 1.0),
    # A score of 0 that predicts the negative class is our convention with both classes exchanged.
    "perceptron_tie_minus": (lambda: rm.Perceptron(tie_update=False, classes=[True, False], intercept=False), -1.0),
    "perceptron_tie_strict": (lambda: rm.MarginClassifier(Tie(), intercept=False), 1.0),
}


@pytest.mark.lecture("conservative", "pa-printed", "ties")
@pytest.mark.parametrize("name", WORKED)
def test_worked_rounds(name):
    make, sign = WORKED[name]
    model = make()
    for expected in CASES[name]["stream"]:
        learner = getattr(model, "learner", model)
        updates = learner.n_updates
        model.learn_one(expected["x"], expected["y"] > 0)
        assert (learner.n_updates > updates) == expected["updated"]
        assert nonzero(learner.weights) == {f: sign * w for f, w in nonzero(expected["weights"]).items()}


@pytest.mark.lecture("conservative")
@pytest.mark.parametrize("labels", [(False, True), ("a", "b", "c")])
@pytest.mark.parametrize("make", [rm.PAClassifier, rm.AROWClassifier, naive_bayes.GaussianNB])
def test_the_mistakes_alone_teach_the_same(make, labels):
    model, errors = rm.Conservative(make()), []
    for x, y in stream(rounds=150, labels=labels):
        before = model.n_mistakes
        model.learn_one(x, y)
        errors += [(x, y)] * (model.n_mistakes - before)
    again = rm.Conservative(make())
    for x, y in errors:
        again.learn_one(x, y)
    assert again.n_mistakes == again.n_seen == len(errors) < model.n_seen == 150
    for x, _ in stream(seed=1, rounds=30):
        assert again.predict_proba_one(x) == model.predict_proba_one(x)


def test_rivers_classifier_learns_wrong_labels_only():
    model, twin = rm.Conservative(linear_model.LogisticRegression()), linear_model.LogisticRegression()
    for x, y in stream(rounds=100):
        if twin.predict_one(x) != y:
            twin.learn_one(x, y)
        model.learn_one(x, y)
        assert model.learner.weights == twin.weights
    copy = model.clone(include_attributes=True)
    copy.learner.learn_one({"f0": 1.0}, True)
    assert copy.learner.weights != model.learner.weights == twin.weights
    with pytest.raises(snapshot.SnapshotError, match="LogisticRegression"):
        snapshot.check(model)


def test_a_tie_with_the_right_label_is_a_mistake_of_a_learner_with_scores():
    model = rm.Conservative(rm.PAClassifier(intercept=False))
    for number, (feature, label) in enumerate([("a", True), ("b", True), ("c", False)], 1):
        model.learn_one({feature: 1.0}, label)
        assert (model.n_mistakes, model.learner.n_updates) == (number, number)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rm.Conservative(rm.PAClassifier()),
        lambda: rm.OnlineToBatch(rm.Perceptron(), max_hypotheses=4),
        lambda: rm.OnlineToPAC(rm.Perceptron(), epsilon=0.3, delta=0.5),
        lambda: rm.Averaged(rm.AROWClassifier(), burn_in=3),
        lambda: rm.MarginPerceptron(),
    ],
)
def test_a_snapshot_goes_on(make):
    make = make()
    vars(make).setdefault("classes", None)
    assert_a_snapshot_goes_on(make)
    assert state(make.clone(include_attributes=True)) == state(make)


@pytest.mark.parametrize("kind", [rm.Conservative, rm.OnlineToBatch, rm.OnlineToPAC, rm.Averaged, rm.Watched])
def test_the_contributions_of_features_sum_to_the_score(kind):
    model = kind(rm.PAClassifier(C=0.1))
    for x, y in stream(rounds=20):
        model.learn_one(x, y)
    assert math.fsum(model.explain_one(x).values()) == pytest.approx(model.score_one(x), abs=1e-12)
    assert "f0" in (rm.StandardScaler() | model).debug_one({"f0": 1.0})
    assert model.n_updates == model.learner.n_updates > 0


@pytest.mark.parametrize("kind", [rm.Conservative, rm.OnlineToBatch, rm.OnlineToPAC, rm.Calibrated, rm.MarginSampler])
def test_what_has_no_explanation_says_so(kind):
    model = kind(rm.LogLinearClassifier())
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(TypeError, match="a score of `LogLinearClassifier` cannot be explained"):
        model.explain_one({"a": 1.0})
    assert "cannot be explained" in (rm.FeatureHasher(8) | model).debug_one({"a": 1.0})
    model = kind(rm.EllipsoidClassifier())  # explains, and has no table of its own
    model.learn_one({"a": 1.0}, False)
    assert model.debug_one({"a": 1.0}).splitlines()[0].split() == ["Name", "Value", "Weight", "Contribution"]
    assert "what many experts say" in rm.Conservative(rm.AutoClassifier()).debug_one({"a": 1.0})


@pytest.mark.parametrize("kind", [rm.Conservative, rm.OnlineToBatch, rm.OnlineToPAC, rm.Averaged])
def test_a_sample_weight_goes_to_the_learner(kind):
    model, twin = kind(rm.PAClassifier(C=0.1)), rm.PAClassifier(C=0.1)
    model.learn_one({"a": 1.0}, True, w=3.0)
    twin.learn_one({"a": 1.0}, True, w=3.0)
    assert dict(model.learner.weights) == dict(twin.weights)
    before = state(model)
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="`w` must be"):
            model.learn_one({"a": 1.0}, True, w=wrong)
    with pytest.raises(ValueError, match="label"):
        model.learn_one({"a": 1.0}, "spam")
    assert state(model) == before
    model = kind(rm.ROMMAClassifier())
    with pytest.raises(ValueError, match="takes no sample weights"):
        model.learn_one({"a": 1.0}, True, w=3.0)


@pytest.mark.parametrize("kind", [rm.Conservative, rm.OnlineToBatch, rm.OnlineToPAC])
def test_what_is_no_classifier_is_refused(kind):
    with pytest.raises(TypeError, match=rf"wrap|convert its last step.*{kind.__name__}\(PAClassifier\(\)\)"):
        kind(rm.StandardScaler() | rm.PAClassifier())
    for wrong in (rm.PARegressor(), rm.StandardScaler(), "PA", rm.PAClassifier):
        with pytest.raises(TypeError, match="`learner` must be a classifier"):
            kind(wrong)


@pytest.mark.parametrize("classes", [None, [False, True], [True, False]])
def test_the_score_of_a_log_linear_model_is_that_of_true(classes):
    model = rm.Conservative(rm.LogLinearClassifier(1.0, classes=classes))
    for _ in range(5):
        model.learn_one({"a": 1.0}, True)
    assert model.n_mistakes == 1
