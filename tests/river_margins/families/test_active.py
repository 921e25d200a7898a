"""Samplers ask for the labels their rules say, and for no others; asking is the only thing that counts or draws."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from river import active, checks, evaluate, metrics
from river.datasets import Phishing

import river_margins as rm
from river_margins import snapshot
from river_margins.theory import bounds

SAMPLERS = {
    "threshold": lambda learner, **more: rm.SelectiveSampler(learner, **more),
    "random": lambda learner, **more: rm.RandomizedSelectiveSampler(learner, seed=3, **more),
    "margin": lambda learner, **more: rm.MarginSampler(learner, **more),
    "share": lambda learner, **more: rm.ShareSampler(learner, share=0.7, seed=3, **more),
}
samplers = pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)


def stream(seed, rounds=400, features=8, flipped=0.05, labels=(False, True)):
    """Gaussian rows, labelled by a random vector (or the best of several), some wrongly."""
    random = np.random.default_rng(seed)
    U = random.normal(size=(1 if len(labels) == 2 else len(labels), features))
    for row in random.normal(size=(rounds, features)):
        right = int(row @ U[0] > 0) if len(labels) == 2 else int(np.argmax(U @ row))
        chosen = random.integers(len(labels)) if random.random() < 2 * flipped else right
        yield dict(enumerate(row.tolist())), labels[chosen]


def played(model, rows):
    """Whether it asked, round by round; what it asks for, it learns."""
    asked = []
    for x, y in rows:
        asked.append(model.query_one(x))
        if asked[-1]:
            model.learn_one(x, y)
    return asked


@pytest.mark.lecture("selective-rule")
@pytest.mark.parametrize("labels", [(False, True), ("a", "b", "c")], ids=["two", "three"])
@pytest.mark.parametrize("c", [0.05, 0.5, 1e9])
def test_it_asks_where_the_score_is_below_the_threshold(c, labels):
    """A sampler written once more, around a learner of its own."""
    model, learner, n, asked = (
        rm.SelectiveSampler(rm.PAClassifier(C=1.0, intercept=False), c=c),
        rm.PAClassifier(C=1.0, intercept=False),
        0,
        0,
    )
    for t, (x, y) in enumerate([({}, labels[0]), *stream(1, labels=labels)], 1):
        scores = learner.score_one(x)
        if isinstance(scores, dict):
            *_, second, first = (0.0, 0.0, *sorted(scores.values())) if len(scores) < 2 else sorted(scores.values())
            scores = first - second
        length = math.sqrt(sum(value * value for value in x.values()))
        asks = bool(x) and (n == 0 or abs(scores) <= length * math.sqrt(c * math.log(t) / n))
        assert model.query_one(x) == asks
        if asks:
            n += 1
            learner.learn_one(x, y)
            model.learn_one(x, y)
        assert (model.n_rounds, model.n_queries) == (t, n)
        asked += asks
    assert asked == 400 if c == 1e9 else 2 < asked < 400


def test_the_round_that_is_asked_about_counts():
    """Score and length are equal, and one label is known: it asks where 1.2·ln(t) >= 1, which is 0.83 for 2, not 3."""
    model = rm.SelectiveSampler(rm.Perceptron(intercept=False), c=1.2)
    assert model.query_one({"a": 1.0})
    model.learn_one({"a": 1.0}, True)
    assert model.score_one({"a": 1.0}) == 1.0
    assert [model.query_one({"a": 1.0}) for t in (2, 3)] == [False, True]


def test_asking_for_everything_is_the_bare_learner():
    rows = list(stream(2))
    model, learner = rm.SelectiveSampler(rm.PAClassifier(), c=1e9), rm.PAClassifier()
    for x, y in rows:
        assert model.predict_one(x) == learner.predict_one(x)
        learner.learn_one(x, y)
        assert model.query_one(x)
        model.learn_one(x, y)
    assert pickle.dumps(model.learner.__getstate__()) == pickle.dumps(learner.__getstate__())


def test_it_asks_less_and_less():
    asked = played(rm.SelectiveSampler(rm.PAClassifier(C=0.1), c=0.5), stream(3, rounds=2000))
    first, *_, last = (sum(part) for part in np.array_split(asked, 4))
    assert last < first / 2


def test_the_share_of_questions_is_b_of_b_and_the_score():
    learner = rm.PAClassifier(classes=[False, True], mode=0, intercept=False)
    learner.learn_one({"a": 1.0}, True)  # from now on the score of a is its value
    for value, b in ((0.0, 1.0), (1.0, 1.0), (-3.0, 1.0), (0.5, 0.1)):
        model = rm.RandomizedSelectiveSampler(learner, b=b, seed=0)
        asked = sum(model.query_one({"a": value}) for _ in range(4000))
        assert asked / 4000 == pytest.approx(b / (b + abs(value)), abs=4 * math.sqrt(0.25 / 4000))  # four deviations


@pytest.mark.lecture("randomised-sampling")
@pytest.mark.parametrize("share", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("margin", [0.05, 0.3])
def test_mistakes_stay_within_the_bound_on_average(share, margin):
    """Cesa-Bianchi, Gentile & Zaniboni 2006: E[M] <= U²(2b + R²)²/(8b), unasked rounds included; b is a share of R²."""
    random = np.random.default_rng(0)
    u = random.normal(size=5)
    u /= np.linalg.norm(u)
    X = random.normal(size=(60, 5))
    X += (margin - np.abs(X @ u))[:, None] * np.sign(X @ u)[:, None] * u  # all on the border
    X = np.tile(X, (4, 1))
    longest = (X**2).sum(axis=1).max()
    b, mistakes = share * longest, []
    for seed in range(60):
        model = rm.RandomizedSelectiveSampler(rm.Perceptron(classes=[False, True]), b=b, seed=seed)
        mistakes.append(0)
        for row in X:
            x, y = dict(enumerate(row.tolist())), bool(row @ u > 0)
            mistakes[-1] += (1 if y else -1) * model.score_one(x) <= 0
            if model.query_one(x):
                model.learn_one(x, y)
    assert np.mean(mistakes) <= bounds.randomized_sampler_mistakes(math.sqrt(longest), 1 / margin, b)
    assert 0 < model.n_queries < len(X)


def test_the_bound_is_nearly_reached_where_every_example_is_new():
    """Each of d orthonormal examples is a mistake when it is first asked for: b = R²/2 allows d on average."""
    d, mistakes = 20, []
    for seed in range(60):
        model = rm.RandomizedSelectiveSampler(rm.Perceptron(classes=[False, True], intercept=False), b=0.5, seed=seed)
        mistakes.append(0)
        for i in list(range(d)) * 3:
            mistakes[-1] += model.score_one({i: 1.0}) <= 0
            if model.query_one({i: 1.0}):
                model.learn_one({i: 1.0}, True)
    assert d / 2 < np.mean(mistakes) <= d


# x, label, score before, whether it is asked for, and v, the sum of y·x over the labels asked for; c = 1/4.
WORKED = [
    ({"a": 1, "b": 1}, 1, 0.0, True, {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}),
    ({"a": 1, "c": 1}, -1, 0.12500000000000003, True, {"a": 0.0, "b": 1.0, "c": -1.0, "d": 0.0}),
    ({}, 1, 0.0, False, {"a": 0.0, "b": 1.0, "c": -1.0, "d": 0.0}),
    ({"b": 1, "c": 2}, 1, -0.10810810810810809, True, {"a": 0.0, "b": 2.0, "c": 1.0, "d": 0.0}),
    ({"a": 2, "b": 1}, 1, 0.11702127659574474, True, {"a": 2.0, "b": 3.0, "c": 1.0, "d": 0.0}),
    ({"a": 1, "c": 1}, -1, -0.11678832116788314, True, {"a": 1.0, "b": 3.0, "c": 0.0, "d": 0.0}),
    ({"b": -1, "d": 1}, -1, -0.4263803680981596, True, {"a": 1.0, "b": 4.0, "c": 0.0, "d": -1.0}),
]


@pytest.mark.lecture("selective-rule")
def test_the_worked_rounds():
    """Regularised least squares, from two implementations in exact fractions and in numpy."""
    learner = rm.SecondOrderPerceptron(every_label=True, covariance="full", classes=[-1, 1], intercept=False)
    model, A, seen = rm.SelectiveSampler(learner, c=0.25), np.eye(4), 0
    for x, y, score, asked, v in WORKED:
        assert model.score_one(x) == pytest.approx(score, rel=1e-9, abs=1e-9)
        assert model.query_one(x) == asked
        if asked:
            seen += 1
            row = np.array([x.get(feature, 0.0) for feature in v])
            A += np.outer(row, row)
            model.learn_one(x, y)
        weights = [model.learner.weights.get(feature, 0.0) for feature in v]
        assert weights == pytest.approx(np.linalg.solve(A, [*v.values()]), rel=1e-9, abs=1e-9)
        assert (model.n_queries, model.learner.n_updates) == (seen, seen)


def test_every_label_makes_least_squares_of_the_second_order_perceptron():
    random = np.random.default_rng(7)
    A, v = 0.5 * np.eye(4), np.zeros(4)
    model = rm.SecondOrderPerceptron(every_label=True, covariance="full", a=0.5, classes=[False, True], intercept=False)
    for row in random.normal(size=(60, 4)):
        x, y = dict(enumerate(row.tolist())), bool(random.random() < 0.5)
        assert model.score_one(x) == pytest.approx(v @ np.linalg.solve(A + np.outer(row, row), row), abs=1e-9)
        model.learn_one(x, y)
        A, v = A + np.outer(row, row), v + (1 if y else -1) * row


def test_least_squares_asks_for_few_labels_and_is_as_right():
    """10,000 rounds with 5 % noise: a fraction of the labels, and hardly a mistake more than with all of them."""
    rows = list(stream(0, rounds=10_000, features=10, flipped=0.05))
    learner = rm.SecondOrderPerceptron(every_label=True, covariance="full", classes=[False, True])
    model, errors, all_errors = rm.SelectiveSampler(learner, c=1.0), 0, 0
    for x, y in rows:
        errors += model.predict_one(x) != y
        all_errors += learner.predict_one(x) != y
        learner.learn_one(x, y)
        if model.query_one(x):
            model.learn_one(x, y)
    assert model.n_queries < 0.2 * len(rows)
    assert errors < all_errors + 0.005 * len(rows)


@samplers
def test_predicting_counts_nothing_and_draws_nothing(make):
    model, twin = make(rm.PAClassifier()), make(rm.PAClassifier())
    rows = list(stream(4))
    for x, y in rows:
        before = pickle.dumps(model)
        model.predict_one(x), model.score_one(x), model.predict_proba_one(x)
        assert pickle.dumps(model) == before
        assert model.query_one(x) == twin.query_one(x)
        model.learn_one(x, y)
        twin.learn_one(x, y)
    with pytest.raises(ValueError, match="feature 0 is nan"):
        model.query_one({0: math.nan})
    assert pickle.dumps(model) == pickle.dumps(twin)


@samplers
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
def test_a_copy_goes_on_with_the_same_questions(make, duplicate):
    model, rows = make(rm.PAClassifier(intercept=True)), list(stream(5))
    played(model, rows[:200])
    twin = duplicate(model)
    assert played(twin, rows[200:]) == played(model, rows[200:])
    assert pickle.dumps(twin.__getstate__()) == pickle.dumps(model.__getstate__())
    assert (model.n_rounds, twin.n_queries) == (400, model.n_queries)


@samplers
@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda model: model.clone(),
        lambda model: model.clone(include_attributes=True),
        lambda model: snapshot.loads(snapshot.dumps(model)),
    ],
    ids=["deepcopy", "fresh clone", "clone", "snapshot"],
)
def test_a_copy_has_the_parameters_that_the_learner_has_now(make, duplicate):
    model = make(rm.PAClassifier(C=0.1))
    played(model, stream(11, rounds=20))
    model.learner.mutate({"C": 0.5})
    assert duplicate(model).learner.C == 0.5


@samplers
def test_what_is_given_is_a_recipe(make):
    learner = rm.PAClassifier(C=1.0, intercept=False)
    learner.learn_one({"a": 1.0}, True)
    model = make(learner)
    assert model.score_one({"a": 1.0}) == 1.0  # what it has learned is there
    while not model.query_one({"a": 1.0}):
        pass
    model.learn_one({"a": 1.0}, False)
    assert (learner.n_seen, model.learner.n_seen) == (1, 2)
    with pytest.raises(TypeError, match="`classifier` must be a margin classifier"):
        make(rm.PARegressor(intercept=False))
    with pytest.raises(TypeError, match=r"not a pipeline: wrap its last step, as in `StandardScaler\(\) \|"):
        make(rm.StandardScaler() | rm.Perceptron())


@samplers
@pytest.mark.parametrize("classifier", [rm.EllipsoidClassifier, rm.ELIM])
def test_a_classifier_that_takes_no_sample_weight_learns(make, classifier):
    model = make(classifier())
    for x, y in stream(2, rounds=10):
        model.learn_one(x, y)
    assert model.n_queries > 0 == model.n_open


def test_a_space_decides_whether_an_intercept_counts_in_the_length():
    """c·ln(2)/1 = 1 in the second round: |f| = 2 is within |(1, 1, 1, 1)| with the constant, and beyond |(1, 1, 1)|."""
    for space, asked in ((rm.Linear(), True), (rm.Kernel(rm.LinearKernel()), False)):
        model = rm.SelectiveSampler(rm.MarginClassifier(rm.PA1(), space), c=1.0 / math.log(2.0))
        assert model.query_scored({0: 1.0}, 0.0)
        assert model.query_scored({0: 1.0, 1: 1.0, 2: 1.0}, 2.0 - 1e-12) is asked


@samplers
def test_rivers_evaluation_reports_the_samples_used(make):
    model, twin = make(rm.PAClassifier(C=0.1, intercept=True)), make(rm.PAClassifier(C=0.1, intercept=True))
    steps = evaluate.iter_progressive_val_score(Phishing(), model.as_river(), metrics.Accuracy(), step=1250)
    (used,) = (step["Samples used"] for step in steps)
    assert used == model.n_queries == sum(played(twin, Phishing()))
    assert 0 < used < 1250
    assert pickle.dumps(twin.__getstate__()) == pickle.dumps(model.__getstate__())


@samplers
def test_rivers_evaluation_without_as_river_learns_what_is_requested(make):
    """A loop that hands over every label is the loop of `played`: the sampler decides for itself."""
    model, twin = make(rm.PAClassifier(C=0.1, intercept=True)), make(rm.PAClassifier(C=0.1, intercept=True))
    evaluate.progressive_val_score(Phishing(), model, metrics.Accuracy())
    asked = sum(played(twin, Phishing()))
    assert 0 < model.learner.n_seen == model.n_queries == asked < 1250
    assert pickle.dumps(twin.__getstate__()) == pickle.dumps(model.__getstate__())


@samplers
def test_a_new_class_is_learned_and_counts_as_requested(make):
    model = make(rm.PAClassifier(classes=["a", "b", "e"], mode=0, intercept=False))
    for _ in range(30):
        model.learn_one({"x": 1.0}, "a")
        model.learn_one({"x": -1.0}, "b")
    before, rounds = model.n_queries, model.n_rounds
    for label in ("c", "c", "d"):
        model.learn_one({"x": 100.0}, label)
    assert list(model.score_one({})) == ["a", "b", "e", "c", "d"]
    assert model.n_queries == model.learner.n_seen >= before + 2 and model.n_rounds == rounds + 3


@samplers
def test_labels_that_come_later_are_learned_if_they_were_requested(make):
    model, rows = make(rm.PAClassifier(C=0.1, intercept=True)), list(stream(6))
    requested = [(x, y) for x, y in rows if model.query_one(x)]
    assert (model.n_open, model.n_queries) == (len(requested), len(requested))
    for x, y in requested:
        model.learn_one(x, y)
    assert (model.n_open, model.learner.n_seen, model.n_rounds) == (0, len(requested), len(rows))


@samplers
def test_a_round_that_is_refused_leaves_the_sampler_unchanged(make):
    model = make(rm.PAClassifier(mode=0, intercept=True))
    played(model, stream(7))
    before = pickle.dumps(model.__getstate__())
    for x, y, w in (({0: 1.0}, None, 1.0), ({0: math.nan}, True, 1.0), ({0: 1e-200}, True, -1.0)):
        with pytest.raises(ValueError):
            model.learn_one(x, y, w=w)
        assert pickle.dumps(model.__getstate__()) == before


@pytest.mark.parametrize("classes", [None, [False, True]])
def test_rivers_entropy_sampler_asks(classes):
    model = active.EntropySampler(rm.PAClassifier(C=0.1, classes=classes, intercept=True), discount_factor=1, seed=1)
    steps = evaluate.iter_progressive_val_score(Phishing(), model, metrics.Accuracy(), step=1250)
    ((accuracy, used),) = [(step["Accuracy"].get(), step["Samples used"]) for step in steps]
    assert 100 < used < 1250 and accuracy > 0.8


KINDS = [rm.SelectiveSampler, rm.RandomizedSelectiveSampler, rm.MarginSampler, rm.ShareSampler]
CHECKS = [
    pytest.param(kind(rm.PAClassifier()).as_river(), check, id=f"{kind.__name__}-{check.__name__}")
    for kind in KINDS
    for check in checks.yield_checks(kind(rm.PAClassifier()).as_river())
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_river_check_of_its_kind(model, check):
    check(model.clone())


def test_the_margin_and_the_share_decide():
    learner = rm.PAClassifier(classes=[False, True], mode=0, intercept=False)
    learner.learn_one({"a": 1.0}, True)  # from now on the score of a is its value
    model = rm.MarginSampler(learner, margin=0.5)
    assert [model.query_one({"a": value}) for value in (0.5, -0.5, math.nextafter(0.5, 1.0), -3.0, 0.0)] == [
        True, True, False, False, True
    ]  # fmt: skip
    model = rm.ShareSampler(learner, share=0.2, seed=0)
    asked = sum(model.query_one({"a": float(n)}) for n in range(4000))
    assert asked / 4000 == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / 4000))  # four deviations
    assert all(rm.ShareSampler(learner, share=1.0, seed=0).query_one({}) for _ in range(10))
    with pytest.raises(ValueError, match=r"`share` must be in \(0, 1\], not 2.0"):
        rm.ShareSampler(learner, share=2.0)


@samplers
def test_a_request_that_is_withdrawn_was_none(make):
    """What is refused counts as a round and not as a label; with the score known, the decision is the same."""
    model, twin, asked = make(rm.PAClassifier(C=0.1)), make(rm.PAClassifier(C=0.1)), 0
    with pytest.raises(ValueError, match="there is no request to withdraw"):
        model.withdraw()
    for n, (x, y) in enumerate(stream(8)):
        assert model.query_scored(x, model.score_one(x)) == twin.query_one(x)
        if twin.n_open:
            for each in (model, twin):
                each.learn_one(x, y) if n % 3 else each.withdraw()
            asked += n % 3 > 0
        assert model.n_queries == model.learner.n_seen == asked and model.n_rounds == n + 1
    assert model.position == twin.position


@samplers
def test_a_position_written_as_json_goes_on(make):
    model, rows = make(rm.PAClassifier()), list(stream(9))
    played(model, rows[:200])
    twin = make(model.learner)
    twin.go_to(json.loads(json.dumps(model.position)))
    assert played(twin, rows[200:]) == played(model, rows[200:])
    assert twin.position == model.position


@pytest.mark.parametrize(
    "make",
    [
        lambda learner: rm.MarginSampler(learner, margin=np.float64(1.0)),
        lambda learner: rm.RandomizedSelectiveSampler(learner, b=np.float64(1.0), seed=1),
        lambda learner: rm.ShareSampler(learner, share=np.float64(1.0), seed=1),
    ],
)
def test_a_parameter_of_numpy_makes_no_counts_of_numpy(make):
    model = make(rm.PAClassifier())
    assert model.query_one({"a": 1.0}) is True
    assert json.loads(json.dumps(model.position)) == model.position


def test_rivers_entropy_sampler_asks_for_calibrated_votes():
    model = active.EntropySampler(rm.Calibrated(rm.AutoClassifier()), discount_factor=1, seed=1)
    (step,) = evaluate.iter_progressive_val_score(Phishing(), model, metrics.Accuracy(), step=1250)
    assert step["Samples used"] > 1


def test_samplers_ask_for_texts():
    rows = [(x, "spam" if y else "ham") for x, y in Phishing().take(400)]
    model = active.EntropySampler(rm.StandardScaler() | rm.PAClassifier(classes=["ham", "spam"]), seed=1)
    (step,) = evaluate.iter_progressive_val_score(rows, model, metrics.Accuracy(), step=400)
    assert step["Samples used"] > 100
    sampler = rm.SelectiveSampler(rm.AutoClassifier())
    evaluate.progressive_val_score(rows, rm.StandardScaler() | sampler, metrics.Accuracy())
    assert sampler.n_queries > 50


@pytest.mark.parametrize("kind", [rm.RandomizedSelectiveSampler, rm.ShareSampler])
def test_a_seed_is_a_whole_number_also_of_numpy(kind):
    assert type(snapshot.loads(snapshot.dumps(kind(rm.Perceptron(), seed=np.int64(3)))).seed) is int
    for wrong in (-1, 1.5, "3"):
        with pytest.raises(ValueError, match="`seed`"):
            kind(rm.Perceptron(), seed=wrong)


@pytest.mark.parametrize("intercept", [False, True])
def test_an_example_without_features_has_the_length_of_the_constant(intercept):
    assert rm.SelectiveSampler(rm.PAClassifier(intercept=intercept)).query_one({}) is intercept


@pytest.mark.parametrize("wrap", [rm.Calibrated, rm.Averaged, rm.Conservative, rm.OnlineToBatch])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_constant_of_a_classifier_in_a_wrapper_counts(wrap, intercept):
    assert rm.SelectiveSampler(wrap(rm.PAClassifier(intercept=intercept))).query_one({}) is intercept


def test_a_calibrated_classifier_is_asked_about_like_the_bare_one():
    bare, wrapped = (
        rm.SelectiveSampler(each, c=0.3) for each in (rm.PAClassifier(0.1), rm.Calibrated(rm.PAClassifier(0.1)))
    )
    for x, y in Phishing().take(300):
        bare.learn_one(x, y)
        wrapped.learn_one(x, y)
        assert bare.n_queries == wrapped.n_queries


@pytest.mark.parametrize("kind", [rm.RandomizedSelectiveSampler, rm.ShareSampler])
@pytest.mark.parametrize("wrap", [rm.Calibrated, rm.Conservative, rm.OnlineToBatch, lambda model: model])
def test_a_snapshot_of_a_sampler_without_a_seed_goes_on(kind, wrap):
    model = wrap(kind(rm.PAClassifier()))
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(model))) == snapshot.dumps(model)
    rows = list(stream(10, rounds=60))
    for x, y in rows[:30]:
        model.learn_one(x, y)
    twin = snapshot.loads(snapshot.dumps(model))
    for x, y in rows[30:]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert snapshot.dumps(twin) == snapshot.dumps(model)
