"""Certificates of running learners, against the best fixed weights that other code finds."""

import decimal
import math

import numpy as np
import pytest
from river import evaluate, metrics

import river_margins as rm
from river_margins import snapshot
from river_margins.conversions import cycle, svm
from river_margins.theory import DualProgress, MistakeBound, bounds, margin_reached
from tests.helpers.rounds import state


def sample(seed, count=60, noise=0.2, gap=0.0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(count, 3)) * draw.uniform(0.3, 2.0, size=(count, 1))
    target = np.array([1.0, -1.0, 0.5])
    if gap:
        X = X[np.abs(X @ target) > gap]
    y = np.sign(X @ target) * np.where(draw.random(len(X)) < noise, -1.0, 1.0)
    return X, y


def records(X, y):
    return [(dict(enumerate(row)), bool(label > 0)) for row, label in zip(X.tolist(), y, strict=True)]


def objective(u, X, y, C):
    return u @ u / 2 + C * np.maximum(0.0, 1.0 - y * (X @ u)).sum()


@pytest.mark.lecture("dual-progress")
@pytest.mark.parametrize("C", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("noise", [0.0, 0.2, None])
@pytest.mark.parametrize("intercept", [False, True])
def test_dual_progress_is_below_the_objective_of_every_u_after_every_round(C, noise, intercept):
    """Noisy labels, and (None) those of an adversary, who always says what the learner does not expect."""
    X, y = sample(0, noise=noise or 0.0)
    watched = rm.Watched(rm.PAClassifier(C=C, intercept=intercept))
    metric, last, share = DualProgress(watched), 0.0, []
    for number, (x, label) in enumerate(records(X, y)):
        if noise is None:
            y[number], label = (-1.0, False) if watched._score(x) >= 0 else (1.0, True)
        watched.learn_one(x, label)
        assert metric.get() >= last - 1e-12
        last = metric.get()
        if number % 30 == 29:
            rows = np.c_[X, np.ones(len(X))][: number + 1] if intercept else X[: number + 1]
            best = svm(rows, y[: number + 1], C, tolerance=1e-6).weights
            least = objective(best, rows, y[: number + 1], C)
            assert last <= least * (1 + 1e-9)
            share.append(last / least)
    assert max(share) > (0.5 if C < 1.0 else 0.05)  # a large C needs many passes
    # The dual of what a pass of coordinate ascent has, which the solver computes in another way.
    assert last == pytest.approx(svm(rows, y, C, max_sweeps=1).dual, rel=1e-9)


class Overdone(rm.Rule):
    """PA-I with steps three times as long."""

    _parameter_names = ()

    def step(self, seen):
        return 3 * min(0.3, max(0.0, 1.0 - seen.margin) / seen.gain)


def test_the_sum_of_other_steps_is_no_bound_and_refused():
    X, y = sample(0)
    watched = rm.Watched(rm.MarginClassifier(Overdone(), intercept=False))
    for x, label in records(X, y):
        watched.learn_one(x, label)
    assert watched.dual > 1.1 * svm(X, y, 0.3, tolerance=1e-6).primal
    with pytest.raises(TypeError, match="`DualProgress` knows learners with the rules PA1, PA, ROMMARule, ALMARule"):
        DualProgress(watched)


@pytest.mark.lecture("online-approximation")
@pytest.mark.parametrize(
    ("learner", "share"),
    [
        (rm.PAClassifier(mode=0, intercept=False), 0.2),
        (rm.ROMMAClassifier(intercept=False), 0.95),
        (rm.ALMAClassifier(alpha=0.5, intercept=False), 0.4),
    ],
    ids=["PA", "ROMMA", "ALMA"],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_how_far_the_margin_is_from_the_widest(learner, share, seed):
    """Round by round, no margin is promised that is below the widest one; after cycling, ROMMA is near it."""
    X, y = sample(seed, noise=0.0, gap=0.4)
    directions = isinstance(learner, rm.ALMAClassifier)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if directions else X
    widest = 1 / np.linalg.norm(svm(rows, y).weights)
    watched, data = rm.Watched(learner), records(X, y)
    metric = DualProgress(watched)
    for _ in range(30):
        for x, label in data:
            watched.learn_one(x, label)
        assert metric.largest_margin >= widest * (1 - 1e-6)
    reached = margin_reached(watched.learner.weights, data, directions=directions)
    assert reached <= widest * (1 + 1e-6)
    assert reached >= share * widest
    assert reached / metric.largest_margin <= 1


BOUNDED = {
    "perceptron": rm.Perceptron,
    "perceptron with another step": lambda **more: rm.Perceptron(0.25, **more),
    "shifting": rm.ShiftingPerceptron,
    "PA": lambda **more: rm.PAClassifier(mode=0, **more),
    "PA-I": lambda **more: rm.PAClassifier(C=0.3, **more),
    "PA-II": lambda **more: rm.PAClassifier(C=0.3, mode=2, **more),
    "ROMMA": rm.ROMMAClassifier,
}


@pytest.mark.lecture("hinge-bound")
@pytest.mark.parametrize("make", BOUNDED.values(), ids=BOUNDED)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_mistakes_never_exceed_the_bound(make, noise):
    X, y = sample(4, noise=noise, gap=0.4)
    u = svm(X, y, np.inf if noise == 0.0 else 1.0, max_sweeps=500).weights
    u = u / min(1.0, (y * (X @ u)).min()) if noise == 0.0 else u  # no loss, to the last bit
    for comparator in (u * (1 + 1e-12), 2 * u, 0 * u):
        watched = rm.Watched(make(intercept=False), comparator=dict(enumerate(comparator.tolist())))
        metric = MistakeBound(watched)
        for x, label in records(X, y) * 2:
            watched.learn_one(x, label)
            assert 0 <= metric.get() <= 1
        assert (noise == 0.0 and comparator.any()) <= (metric.bound < math.inf)
    lost = np.maximum(0.0, 1.0 - y * (X @ (2 * u))).sum() * 2
    watched = rm.Watched(rm.PAClassifier(C=0.3, intercept=False), comparator=dict(enumerate((2 * u).tolist())))
    for x, label in records(X, y) * 2:
        watched.learn_one(x, label)
    longest = np.linalg.norm(X, axis=1).max()
    expected = bounds.pa1_mistakes(longest, 2 * np.linalg.norm(u), lost, 0.3)
    assert MistakeBound(watched).bound == pytest.approx(expected, rel=1e-9)


class Frozen(rm.PerceptronRule):
    """A perceptron that never moves."""

    def step(self, seen):
        return 0.0


def test_it_finds_a_learner_that_does_not_learn():
    """On an example that comes again and again, which u separates with margin 1: R²|u|² is 1."""
    models = [rm.MarginClassifier(rule, intercept=False) for rule in (Frozen(), rm.PerceptronRule())]
    watched = [rm.Watched(model, {"a": 1.0}) for model in models]
    for _ in range(3):
        for each in watched:
            each.learn_one({"a": 1.0}, True)
    assert [MistakeBound(each).get() for each in watched] == [3.0, 1.0]


def test_in_rivers_evaluation_beside_another_metric():
    X, y = sample(5)
    watched = rm.Watched(rm.PAClassifier(C=0.1), comparator={0: 1.0, 1: -1.0, rm.INTERCEPT: 0.1})
    both = metrics.Accuracy() + DualProgress(watched) + MistakeBound(watched)
    rows = records(X, y)
    evaluate.progressive_val_score(rows, rm.StandardScaler() | watched, both)
    assert "DualProgress: " in repr(both) and "mistakes of at most" in repr(both)
    assert watched.n_seen == len(rows)
    with pytest.raises(ValueError, match="not compatible"):
        evaluate.progressive_val_score(rows, rm.PAClassifier(), DualProgress(watched))


def test_the_intercept_counts():
    watched = rm.Watched(rm.Perceptron(), comparator={"a": 3.0, rm.INTERCEPT: -4.0})
    watched.learn_one({"a": 2.0}, False)
    assert (watched.longest, watched.size) == (math.sqrt(5), 5.0)
    assert watched.loss == watched.loss_of_mistakes == 1.0 - -(3.0 * 2.0 - 4.0) * 1.0  # y⟨u, x⟩ is -2


def test_the_losses_by_hand():
    """A tie is a mistake; then the margin is 1, and u = 1/4 has the loss 3/4 in both rounds."""
    watched = rm.Watched(rm.Perceptron(intercept=False), comparator={"a": 0.25})
    for _ in range(2):
        watched.learn_one({"a": 1.0}, True)
    assert (watched.n_mistakes, watched.loss, watched.loss_of_mistakes, watched.squares) == (1, 1.5, 0.75, 1.125)


def test_the_margin_that_alma_demands_by_hand():
    """sqrt(8)/(alpha·√k), with k = 4 after three updates."""
    watched = rm.Watched(rm.ALMAClassifier(alpha=0.5, intercept=False))
    for feature in "abc":
        watched.learn_one({feature: 2.0}, True)
    assert DualProgress(watched).largest_margin == pytest.approx(math.sqrt(8) / (0.5 * 2))


def test_a_copy_and_a_snapshot_have_the_numbers():
    X, y = sample(6)
    watched = rm.Watched(rm.PAClassifier(C=0.1), comparator={0: 1.0, rm.INTERCEPT: 2.0}, constant=1.0)
    assert (watched.comparator, watched.constant) == ({0: 1.0}, 3.0)
    cycle(watched, records(X, y), max_epochs=1)
    for twin in (watched.clone(include_attributes=True), snapshot.loads(snapshot.dumps(watched))):
        assert state(twin) == state(watched)
        assert DualProgress(twin).get() == DualProgress(watched).get() > 0
    assert watched.clone().longest == 0.0


def test_the_numbers_by_name():
    """What a processor shows."""
    watched = rm.Watched(rm.PAClassifier(C=0.25, intercept=False), comparator={"a": 1.0})
    for x, y in [({"a": 2.0}, True), ({"a": -1.0}, False)]:
        watched.learn_one(x, y)
    # tau is 1/4 and then, with a margin of 1/2, again 1/4: 1/4 - 1/8 + 1/8 - 1/32. R is 2, no loss, max(R², 1/C) is 4.
    assert watched.certificates == {"mistakes": 1, "dual_progress": 0.21875, "mistake_bound": 4.0}
    assert rm.Watched(rm.ALMAClassifier(B=2.0)).certificates == {"mistakes": 0}


def test_values_of_any_number_type_count():
    watched, twin = (rm.Watched(rm.PAClassifier(C=0.25), comparator={"a": 1.0}) for _ in range(2))
    watched.learn_one({"a": decimal.Decimal("1.5")}, True)
    twin.learn_one({"a": 1.5}, True)
    assert watched.__getstate__() | {"learner": None} == twin.__getstate__() | {"learner": None}


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: rm.Watched(rm.AROWClassifier()), TypeError, "plain weights"),
        (lambda: rm.Watched(rm.StandardScaler() | rm.Perceptron()), TypeError, "plain weights.*not a Pipeline"),
        (lambda: MistakeBound(rm.StandardScaler() | rm.Watched(rm.Perceptron())), TypeError, "not a Pipeline"),
        (lambda: rm.Watched(rm.PAClassifier(max_features=8)), ValueError, "`max_features` = 8: leave it out"),
        (lambda: rm.Watched(rm.PAClassifier(class_weight="balanced")), ValueError, "`class_weight`"),
        (lambda: rm.Watched(rm.Perceptron(), 1.0), TypeError, "`comparator` must be a mapping"),
        (lambda: rm.Watched(rm.Perceptron()).learn_one({}, "spam"), ValueError, "for two classes"),
        (lambda: MistakeBound(rm.Watched(rm.Perceptron())), ValueError, "weights to compare with"),
        (lambda: MistakeBound(rm.Watched(rm.ShiftingPerceptron(0.5), {})), ValueError, "`lam` must be at least 1"),
        (lambda: MistakeBound(rm.Perceptron()), TypeError, "`watched` must be"),
        (lambda: DualProgress(rm.Watched(rm.ALMAClassifier(B=1.0))), TypeError, "default `B` and `C`"),
    ],
)
def test_what_has_no_certificate_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    "learner",
    [
        rm.Perceptron(tie_update=False),
        rm.ShiftingPerceptron(tie_update=False),
        rm.ROMMAClassifier(aggressive=False, tie_update=False),
    ],
    ids=repr,
)
def test_a_learner_that_leaves_ties_has_no_bound(learner):
    watched = rm.Watched(learner, {"a": 1.0})
    with pytest.raises(ValueError, match="learns nothing from a tie"):
        MistakeBound(watched)
    assert "mistake_bound" not in watched.certificates


def test_an_intercept_of_0_is_none():
    watched = rm.Watched(rm.PAClassifier(C=1.0, intercept=0))
    watched.learn_one({"a": 1.0}, True)
    assert (watched.longest, watched.dual) == (1.0, 0.5)


def test_a_comparator_has_finite_weights_of_features_that_the_learner_has():
    for options in ({"constant": 1.0}, {"comparator": {rm.INTERCEPT: 1.0}}):
        with pytest.raises(ValueError, match="no constant feature"):
            rm.Watched(rm.Perceptron(intercept=False), **options)
    for options in ({"comparator": {"a": "1"}}, {"comparator": {"a": math.nan}}, {"constant": math.inf}):
        with pytest.raises(ValueError, match="must be a finite number"):
            rm.Watched(rm.Perceptron(), **options)


def test_margins_are_those_of_true_and_false():
    assert margin_reached({"a": 1.0}, [({"a": 2.0}, np.True_)]) == 2.0
    for label in (-1, 1, "no"):
        with pytest.raises(ValueError, match="True or False"):
            margin_reached({"a": 1.0}, [({"a": 2.0}, label)])


def test_its_weights_are_those_of_the_learner():
    watched, bare = rm.Watched(rm.PAClassifier()), rm.PAClassifier()
    for model in (watched, bare):
        model.learn_one({"a": 1.0, "b": 2.0}, True)
    assert dict(watched.weights) == dict(bare.weights)
