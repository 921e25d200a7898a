"""Kernels, supports and budgets: the linear learners again, in other spaces."""

import math
import pickle
import random
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import river_margins as rm
from river_margins import snapshot
from tests.bounds.kernels import KERNELS, coordinates, records, vector
from tests.helpers.rounds import stream, trained
from tests.learners import CLASSES

RULES = [
    rm.PA(),
    rm.PA1(0.3),
    rm.PA2(0.3),
    rm.PerceptronRule(),
    rm.PerceptronRule(0.5, tie_update=False),
    rm.ALMARule(),
    rm.GradientDescent(radius=1.0),
    rm.GradientDescent(0.1, loss="logistic", schedule="constant"),
    rm.LeastMeanSquares(0.05),
    rm.PegasosRule(0.1),
    rm.NORMARule(0.5, lam=0.1),
]
LABELS = {"binary": [False, True], "multiclass": CLASSES}
BUDGETS = [rm.OldestRemoval(12), rm.SmallestRemoval(12), rm.RandomRemoval(12), None]


def values(score):
    return list(score.values()) if isinstance(score, dict) else [score]


# ------------------------------------------------------------------------------------------------------------ kernels


def test_kernels_are_those_of_another_library():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(6, 4)) * (draw.random(size=(6, 4)) < 0.7)
    for kernel, theirs in [
        (rm.LinearKernel(), X @ X.T),
        (rm.RBF(0.3), rbf_kernel(X, gamma=0.3)),
        (rm.RBF(0.3, c0=0.5), rbf_kernel(X, gamma=0.3) + 0.5),
        (rm.Laplace(0.3), laplacian_kernel(X, gamma=0.3)),
        (rm.Polynomial(3, gamma=0.5, c0=2.0), polynomial_kernel(X, degree=3, gamma=0.5, coef0=2.0)),
    ]:
        ours = [[kernel(x, z) for x in records(X)] for z in records(X)]
        assert np.allclose(ours, theirs, rtol=1e-12)
        model = rm.MarginClassifier(rm.PerceptronRule(), rm.Kernel(kernel), intercept=False)
        model.learn_one(records(X)[0], True)
        for x, expected in zip(records(X), theirs[0], strict=True):
            assert model.score_one(x | {"unseen": 0.0}) == pytest.approx(expected, rel=1e-12)


def test_the_exponential_is_within_one_unit_in_the_last_place():
    """k(x, {}) = exp(-gamma) where |x|² = 1."""
    draw = np.random.default_rng(0)
    for gamma in [*draw.uniform(0.0, 708.0, 1000), *draw.exponential(1.0, 1000), 1e-300, 1e-17, math.log(2) / 2, 708.0]:
        found, exact = rm.RBF(float(gamma))({"a": 1.0}, {}), (-Decimal(float(gamma))).exp()
        assert abs(Decimal(found) - exact) < Decimal(math.ulp(found)), gamma
    assert [rm.RBF(gamma)({"a": 1.0}, {}) for gamma in (708.1, 709.0, 999.0, 1001.0, 1e300)] == [0.0] * 5
    assert rm.RBF(0.5)({"a": 3.0}, {"a": 3.0}) == rm.Laplace(0.5)({"a": 3.0}, {"a": 3.0}) == 1.0


LOG_2 = [float.fromhex(text) for text in ("0x1.62e42feep-1", "0x1.a39ef35793c76p-33")]
EVEN = ("0x1.1f72fc730fcb1p-29", "0x1.27e4db67b42e0p-22", "0x1.a01a01a6d7808p-16", "0x1.6c16c16c162d6p-10")
ODD = ("0x1.af4ddd849007ep-26", "0x1.71de023756530p-19", "0x1.a01a01abe62ddp-13", "0x1.11111111100dfp-7")
EVEN += ("0x1.5555555555556p-5", "0x1p-1")
ODD += ("0x1.5555555555557p-3",)


def exponential(x):
    """The operations of `exponential` in C, each rounded by itself."""
    k = round(x * float.fromhex("0x1.71547652b82fep+0"))
    r = (x - k * LOG_2[0]) - k * LOG_2[1]
    square = r * r
    even, odd = (float(np.polyval([float.fromhex(text) for text in part], square)) for part in (EVEN, ODD))
    return math.ldexp(1.0 + (r + square * (even + r * odd)), k)


def dot_in_eight_parts(a, b):
    """The sum of products in the order of the library, however many numbers the processor adds at once."""
    parts, whole, rest = [0.0] * 8, len(a) // 8 * 8, 0.0
    for i in range(whole):
        parts[i % 8] += a[i] * b[i]
    left = list(range(whole, len(a)))
    if len(left) >= 4:
        for part in range(4):
            parts[part] += a[left[part]] * b[left[part]]
        left = left[4:]
    if len(left) >= 2:
        for part in range(2):
            parts[4 + part] += a[left[part]] * b[left[part]]
        left = left[2:]
    for i in left:
        rest = a[i] * b[i]
    pair = [(parts[n] + parts[n + 4]) + (parts[n + 2] + parts[n + 6]) for n in range(2)]
    return pair[0] + pair[1] + rest


@pytest.mark.parametrize("shuffled", [False, True], ids=["all features in order", "some features"])
@pytest.mark.parametrize("features", [1, 2, 3, 4, 6, 7, 9, 20])
def test_a_kernel_has_the_same_bits_on_every_processor(features, shuffled):
    """However the processor multiplies and adds, a score is what the operations give one by one."""
    draw, names, gamma = np.random.default_rng(features), [f"f{n}" for n in range(features)], 0.75 / features
    model = rm.MarginClassifier(rm.PerceptronRule(), rm.Kernel(rm.RBF(gamma, c0=0.25)), intercept=False)
    model.learn_one(dict.fromkeys(names, 1.0), False)  # so that the features have their order
    for _ in range(28):
        x = {str(name): draw.normal() for name in (draw.permutation(names) if shuffled else names)}
        model.learn_one(x, model.predict_one(x) is False)  # always wrong
    assert len(model.supports) == 29
    x = {name: draw.normal() for name in names}
    square = dot_in_eight_parts([*x.values()], [*x.values()])
    kernels = []
    for support, _ in model.supports:
        product = dot_in_eight_parts([x[name] for name in support], [*support.values()])
        norm = dot_in_eight_parts([*support.values()], [*support.values()])
        kernels.append(0.25 + exponential(-gamma * max(square + norm - 2.0 * product, 0.0)))
        assert rm.RBF(gamma, c0=0.25)(x, support) == pytest.approx(kernels[-1], rel=1e-12)
    assert model.score_one(x) == dot_in_eight_parts([coefficient for _, coefficient in model.supports], kernels)


LEARNERS_WITHOUT_GAMMA = {
    "kernel perceptron": rm.KernelPerceptron,
    "on a budget": lambda: rm.RandomizedBudgetPerceptron(budget=5),
    "Projectron": rm.Projectron,
    "second order": rm.KernelSecondOrderPerceptron,
    "with a constant feature": lambda: rm.KernelPerceptron(intercept=True),
    "with a constant": lambda: rm.KernelPAClassifier(rm.RBF(c0=0.5)),
    "random features": lambda: rm.FOGDClassifier(components=30),
}


@pytest.mark.parametrize("make", LEARNERS_WITHOUT_GAMMA.values(), ids=LEARNERS_WITHOUT_GAMMA)
def test_the_first_support_decides_gamma_by_the_features_that_it_names(make):
    """Four features, one of them 0, so that gamma is 1/4 from then on."""
    first = {"a": 1.0, "b": -2.0, "c": 0.0, "d": 0.5}
    model, given = make(), make()
    given = given.clone({"gamma": 0.25} if hasattr(given, "gamma") else {"kernel": rm.RBF(0.25, c0=constant_of(given))})
    for rounds, (x, y) in enumerate([(first, False), *stream(rounds=60, features=9)]):
        model.learn_one(x, y)
        given.learn_one(x, y)
        if rounds == 30:
            model = snapshot.loads(snapshot.dumps(model))
        assert model.score_one(x) == given.score_one(x) != 0.0
    assert model.n_updates == given.n_updates > 10


def constant_of(model):
    return 0.0 if model.kernel is None else model.kernel.c0


def test_an_empty_example_decides_no_gamma():
    """f = k({}, x) = exp(-gamma·|x|²), with the gamma of 1/2 that the second example decides."""
    for make in (rm.KernelPerceptron, lambda: rm.FOGDClassifier(lr=1.0, components=4000)):
        model = make()
        model.learn_one({}, True)
        model.learn_one({"a": 1.0, "b": 1.0}, False)
        assert model.score_one({}) == pytest.approx(1 - math.exp(-1.0), abs=0.05)


@pytest.mark.parametrize("make", [rm.KernelPerceptron, rm.Projectron, rm.KernelSecondOrderPerceptron])
def test_an_empty_first_example_leaves_the_kernels_of_all(make):
    """The second example decides a gamma of 1/2, also for its own kernel with the first one."""
    model, given = make(), make(rm.RBF(0.5))
    for x, y in [({}, True), ({"a": 1.0, "b": 1.0}, False), ({"a": 1.0, "b": 0.9}, True), ({"a": -1.0}, False)]:
        model.learn_one(x, y)
        given.learn_one(x, y)
        assert model.score_one(x) == pytest.approx(given.score_one(x))


def test_a_prediction_before_the_first_support_runs_no_code_of_python(monkeypatch):
    model = rm.KernelPARegressor()
    monkeypatch.setattr("river_margins.spaces.kernel_functions.positive", None)
    assert model.predict_one({"a": 1.0}) == 0.0


def test_a_gamma_that_a_snapshot_forged_is_refused():
    for model, name in ((rm.KernelPerceptron(), "gamma"), (rm.FOGDClassifier(), "rate")):
        model.learn_one({"a": 1.0}, True)
        state = model.__getstate__()
        state["space"][name] = -1.0
        with pytest.raises(ValueError, match=name):
            model.clone().__setstate__(state)


def test_a_number_is_the_budget_that_keeps_the_newest():
    model, spelt = rm.KernelPerceptron(budget=3), rm.KernelPerceptron(budget=rm.OldestRemoval(3))
    for x, y in stream(rounds=50):
        model.learn_one(x, y)
        spelt.learn_one(x, y)
    assert model.supports == spelt.supports and len(model.supports) == 3
    with pytest.raises(ValueError, match="must be a whole number of at least 1, not 0"):
        rm.KernelPAClassifier(budget=0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("task", LABELS)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_in_a_kernel_space_is_the_rule_on_its_coordinates(rule, task, kernel):
    draw = np.random.default_rng(3)
    points = records(draw.normal(size=(25, 3)) * (draw.random(size=(25, 3)) < 0.8))
    Z = coordinates(KERNELS[kernel], points)
    learner = rm.MarginClassifier(rule, rm.Kernel(KERNELS[kernel]), intercept=False)
    linear = rm.MarginClassifier(rule, intercept=False)
    for place in draw.integers(25, size=40):
        row, label = dict(enumerate(Z[place].tolist())), LABELS[task][draw.integers(len(LABELS[task]))]
        learner.learn_one(points[place], label)
        linear.learn_one(row, label)
        assert values(learner.score_one(points[place])) == pytest.approx(
            values(linear.score_one(row)), rel=1e-7, abs=1e-7
        )
    assert (learner.n_updates, learner.n_mistakes) == (linear.n_updates, linear.n_mistakes)


@pytest.mark.parametrize("rule", [*RULES, rm.ROMMARule(), rm.ROMMARule(aggressive=True)], ids=repr)
def test_with_the_linear_kernel_it_is_the_linear_learner(rule):
    kernel, linear = (
        rm.MarginClassifier(rule, rm.Kernel(rm.LinearKernel()), intercept=False),
        rm.MarginClassifier(rule, intercept=False),
    )
    for x, y in stream(rounds=60, seed=1, labels=CLASSES):
        kernel.learn_one(x, y)
        linear.learn_one(x, y)
        for label, weights in linear.weights.items():
            ours = [kernel.weights[label].get(feature, 0.0) for feature in weights]
            assert ours == pytest.approx(list(weights.values()), rel=1e-6, abs=1e-8)
    assert (kernel.n_updates, kernel.n_mistakes) == (linear.n_updates, linear.n_mistakes)


def test_other_kernels_have_no_weights_and_linear_learners_no_supports():
    with pytest.raises(
        ValueError, match=r"kernel RBF\(gamma=1.0, c0=0.0\) has no weights by feature: see its `supports`"
    ):
        dict(trained(rm.KernelPerceptron(rm.RBF(1.0))).weights)
    assert not hasattr(rm.PAClassifier(C=1.0, intercept=False), "supports")


# ------------------------------------------------------------------------------------------------- length and budgets


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("task", LABELS)
def test_the_length_is_right_after_every_round(task, kernel, budget):
    draw = np.random.default_rng(1)
    points = records(draw.normal(size=(15, 3)))
    Z = coordinates(KERNELS[kernel], points)
    for rule in (rm.PA1(0.5), rm.PegasosRule(0.1)):
        model = rm.MarginClassifier(rule, rm.Kernel(KERNELS[kernel], budget), classes=LABELS[task], intercept=False)
        for place in draw.integers(15, size=30):
            model.learn_one(points[place], LABELS[task][draw.integers(len(LABELS[task]))])
            w = vector(model, task, points, Z)
            assert model.__getstate__()["space"]["size"] == pytest.approx(w @ w, rel=1e-9, abs=1e-12)
            assert budget is None or len(model.supports) <= 12


@pytest.mark.parametrize("rule", [rm.PA1(0.5), rm.PegasosRule(1e-3), rm.ALMARule()], ids=repr)
def test_the_length_stays_right_over_many_rounds(rule):
    model = rm.MarginClassifier(rule, rm.Kernel(rm.RBF(0.5), rm.RandomRemoval(15)), intercept=False)
    trained(model, rounds=10_000)
    total = sum(coefficient * model.score_one(x) for x, coefficient in model.supports)
    assert model.__getstate__()["space"]["size"] == pytest.approx(total, rel=1e-6)


def test_which_support_goes():
    rounds = [({"a": 1.0}, True, 1.0), ({"b": 1.0}, True, 0.1), ({"c": 1.0}, True, 1.0), ({"d": 1.0}, True, 1.0)]
    kept = {}
    for budget in (rm.OldestRemoval(2), rm.SmallestRemoval(2)):
        model = rm.KernelPerceptron(rm.LinearKernel(), budget=budget)
        for x, y, weight in rounds:
            model.learn_one(x, y, w=weight)
        kept[type(budget)] = ["".join(x) for x, _ in model.supports]
    assert kept == {rm.OldestRemoval: ["c", "d"], rm.SmallestRemoval: ["c", "d"]}
    model = rm.KernelPerceptron(rm.LinearKernel(), budget=rm.SmallestRemoval(2))
    for x, y, weight in rounds[:3]:
        model.learn_one(x, y, w=weight)
    assert ["".join(x) for x, _ in model.supports] == ["a", "c"]


def test_the_places_drawn_at_random_are_evenly_spread():
    counts = dict.fromkeys(range(5), 0)
    model = rm.KernelPerceptron(rm.LinearKernel(), budget=rm.RandomRemoval(5, seed=3))
    for number in range(5005):
        before = [next(iter(x)) for x, _ in model.supports]
        model.learn_one({number: 1.0}, True)
        if len(before) == 5:
            after = [next(iter(x)) for x, _ in model.supports]
            (gone,) = set(before) - set(after)
            counts[before.index(gone)] += 1
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 18.5  # the 0.1 % point of chi² with 4 degrees


@pytest.mark.lecture("memory-lower-bound")
def test_an_adversary_makes_every_learner_with_a_budget_err_in_every_round():
    """There is always an orthonormal example that is not a support; u = -Σ e_j of length sqrt(B + 1) has no loss."""
    for make in (
        rm.RandomizedBudgetPerceptron,
        rm.Forgetron,
        rm.BPAClassifier,
        partial(rm.BOGDClassifier, lam=0.0),
    ):
        model = make(rm.LinearKernel(), budget=7)
        for _ in range(100):
            kept = {name for x, _ in model.supports for name in x}
            model.learn_one({min(set(range(8)) - kept): 1.0}, False)
        assert model.n_mistakes == 100


# ------------------------------------------------------------------------------------------------------- many classes


@pytest.mark.parametrize(
    "make",
    [
        rm.KernelPerceptron,
        rm.KernelPAClassifier,
        partial(rm.RandomizedBudgetPerceptron, budget=10),
        partial(rm.Forgetron, budget=10),
        partial(rm.Projectron, eta=0.4),
        partial(rm.Projectron, eta=0.4, plus_plus=True),
        partial(rm.BOGDClassifier, budget=10),
        partial(rm.BPAClassifier, budget=10),
    ],
    ids=lambda make: str(getattr(make, "keywords", "")),
)
def test_two_of_many_classes_are_one_vector_in_twice_the_kernel(make):
    """The margin f_y - f_s of two opposite vectors is that of one where every inner product counts twice."""

    def twice(x, z):
        return 2.0 * KERNELS["RBF"](x, z)

    one, two = make(twice, classes=[False, True]), make(KERNELS["RBF"])
    two.learn_one({}, "b")  # the first class: there is nothing to learn yet
    for x, y in [({"f0": 0.3}, False), *stream(rounds=120, features=3)]:
        one.learn_one(x, y)
        two.learn_one(x, "b" if y else "a")
        scores = two.score_one(x)
        assert scores["b"] - scores["a"] == pytest.approx(one.score_one(x), abs=1e-9)
    assert one.n_mistakes == two.n_mistakes > 20


# ---------------------------------------------------------------------------------------------------- a user's kernel


@pytest.mark.parametrize("answers", range(9))
def test_a_kernel_of_a_user_that_fails_changes_nothing(answers):
    left = math.inf

    def kernel(x, z):
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("no answer")
        return rm.RBF()(x, z)

    model = rm.KernelPAClassifier(kernel, mode=0, budget=rm.RandomRemoval(3))
    for x, y in stream(rounds=20):
        model.learn_one(x, y)
    before, left = (model.supports, model.n_seen, model.__getstate__()["space"]["generator"]), answers
    try:
        model.learn_one({"a": 1.0}, True)  # 3 supports and itself, and then 3 and itself for the one that goes
    except RuntimeError:
        after = (model.supports, model.n_seen, model.__getstate__()["space"]["generator"])
        assert after == before
    else:
        assert answers == 8 and len(model.supports) == 3 and model.supports != before[0]


class Shared(rm.LinearKernel):
    def __call__(self, x, z):
        return len(x.keys() & z.keys()) / max(len(x.keys() | z.keys()), 1)


class SharedToo(rm.RBF):
    __call__ = Shared.__call__


class Renamed(rm.RBF):
    pass


@pytest.mark.parametrize("kernel", [Shared(), SharedToo()])
def test_a_class_of_a_user_is_the_kernel_that_its_call_says(kernel):
    def as_function(x, z):
        return kernel(x, z)

    models = [rm.KernelPAClassifier(kernel=each, C=0.1) for each in (kernel, as_function)]
    for x, y in stream(rounds=40):
        for model in models:
            model.learn_one(x, y)
    model, plain = models
    assert model.n_updates > 0 and model.score_one(x) == plain.score_one(x)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.score_one(x) == model.score_one(x)
    with pytest.raises(ValueError, match="has no weights by feature"):
        dict(model.weights)


def test_a_class_of_a_user_without_a_call_of_its_own_is_the_kernel_of_the_library():
    for model in (models := [rm.KernelPAClassifier(kernel=kernel) for kernel in (Renamed(), rm.RBF())]):
        for x, y in stream(rounds=20):
            model.learn_one(x, y)
    assert models[0].score_one(x) == models[1].score_one(x)


def test_a_kernel_of_a_user_must_be_finite():
    with pytest.raises(ValueError, match="answers nan: a kernel must be finite"):
        rm.KernelPerceptron(lambda x, z: math.nan).learn_one({"a": 1.0}, True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rm.Kernel("rbf"), "`kernel` must be a kernel, such as RBF"),
        (lambda: rm.Kernel(rm.RBF), "`kernel` must be a kernel"),
        (lambda: rm.Kernel(rm.RBF(), 100), "`budget` must be None or a budget, such as RandomRemoval"),
        (lambda: rm.RBF(0.0), "`gamma` must be a finite number above 0"),
        (lambda: rm.Polynomial(0), "`degree` must be a whole number of at least 1"),
        (lambda: rm.Polynomial(2, c0=-1.0), "`c0` must be a finite number of at least 0"),
        (lambda: rm.RandomRemoval(0), "`size` must be a whole number of at least 1"),
        (lambda: rm.RandomRemoval(5, seed=None), "`seed` must be a whole number"),
        (lambda: rm.Projectron(eta=-0.1), "`eta`"),
        (lambda: rm.FOGDClassifier(components=0), "`components`"),
    ],
)
def test_parameters_out_of_range_are_named(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_labels_that_come_while_a_kernel_of_a_user_is_called_have_scores():
    """The kernel learns here what another thread may learn meanwhile."""
    coming = []

    def kernel(x, z):
        labels, coming[:] = coming[:], []
        for label in labels:
            model.learn_one({"a": 1.0}, label)
        return float(len(x.keys() & z.keys()))

    model = rm.KernelPerceptron(kernel)
    for label in ("one", "two"):
        model.learn_one({"a": 1.0}, label)
    coming[:] = [f"class {i}" for i in range(50)]
    scores = model.score_one({"a": 1.0})
    assert len(scores) == 52 and scores["class 49"] == 1.0
    assert scores == model.score_one({"a": 1.0})


@pytest.mark.parametrize(
    "kind",
    [
        *(rm.KernelPAClassifier, rm.KernelPARegressor, rm.KernelPerceptron, rm.BPAClassifier, rm.BOGDClassifier),
        *(rm.Forgetron, rm.RandomizedBudgetPerceptron),
    ],
)
def test_a_wrong_budget_is_named(kind):
    with pytest.raises(ValueError, match="`budget` must be a whole number of at least 1, not 0"):
        kind(budget=0)


@pytest.mark.parametrize("kind", [rm.KernelPerceptron, rm.KernelPAClassifier, rm.KernelPARegressor])
def test_a_budget_may_be_a_number_of_numpy(kind):
    assert repr(kind(budget=np.int64(5)).space) == repr(kind(budget=5).space)


@pytest.mark.parametrize("outlier", [{"c": 1e6}, {"a": 1e8, "b": 1e8}])
@pytest.mark.parametrize("kernel", [rm.Polynomial(degree=3), rm.LinearKernel()], ids=repr)
@pytest.mark.parametrize(
    "make", [partial(rm.KernelPerceptron, budget=rm.OldestRemoval(50)), partial(rm.BOGDClassifier, budget=50)]
)
def test_one_huge_support_does_not_end_learning(make, kernel, outlier):
    draw, model, mistakes = random.Random(0), make(kernel), 0
    if isinstance(kernel, rm.LinearKernel):
        outlier = {name: 1e8 * value for name, value in outlier.items()}
    model.learn_one(outlier, True)
    for n in range(1500):
        x = {name: draw.uniform(-1, 1) for name in "ab"}
        y = x["a"] * x["b"] < 0 if isinstance(kernel, rm.Polynomial) else x["a"] > x["b"]
        mistakes += n >= 750 and model.predict_one(x) != y
        model.learn_one(x, y)
    assert mistakes < 250
    assert len(model.supports) < 50 or outlier not in [x for x, _ in model.supports]


@pytest.mark.parametrize("n", [2, 4, 6, 10, 22, 24, 30])
def test_the_forgetron_shrinks_by_the_root_of_its_equation(n):
    """Rows of length 1 that share half of their features: the square in the equation is 0, but for rounding."""
    value = 1 / math.sqrt(n)
    model = rm.Forgetron(rm.LinearKernel(), budget=1)
    model.learn_one(dict.fromkeys(range(n), value), True)
    model.learn_one(dict.fromkeys(range(n // 2, n + n // 2), value), False)
    assert [coefficient for _, coefficient in model.supports] == [pytest.approx(-15 / 32, rel=1e-9)]


@pytest.mark.parametrize("gamma", [0.1, 0.3, 1.0])
def test_a_projectron_with_eta_0_is_the_perceptron(gamma):
    draw = random.Random(0)
    model, perceptron = rm.Projectron(rm.RBF(gamma), eta=0.0), rm.KernelPerceptron(rm.RBF(gamma), budget=None)
    for n in range(800):
        x = {name: draw.uniform(-1, 1) for name in "abc"}
        y = (x["a"] * x["b"] > 0) != (draw.random() < 0.1)
        if n:
            assert model.score_one(x) == pytest.approx(perceptron.score_one(x), abs=1e-4)
        for each in (model, perceptron):
            each.learn_one(x, y)


@pytest.mark.parametrize("error", [0.0, 40.0])
def test_a_projectron_reads_a_snapshot_with_the_inverse_itself(error):
    draw, model = random.Random(0), rm.Projectron(rm.RBF(0.3), eta=0.0)
    for _ in range(300):
        x = {name: draw.uniform(-1, 1) for name in "abc"}
        model.learn_one(x, x["a"] * x["b"] > 0)
    state = model.__getstate__()
    factor = state["space"].pop("inverse_factor")
    state["space"]["inverse"] = factor.T @ factor - error * np.eye(len(factor))  # as rounding may have left it
    twin = model.clone()
    twin.__setstate__(state)
    assert twin.__getstate__()["space"]["inverse_factor"] == pytest.approx(
        factor, rel=1e-2, abs=1e-2 * np.abs(factor).max()
    )


@pytest.mark.parametrize(
    ("rule", "learns"),
    [
        (rm.GradientDescent(0.3), False),
        (rm.ALMARule(), False),
        (rm.GradientDescent(0.3, schedule="constant"), True),
        (rm.PA1(0.3), True),
        (rm.PegasosRule(0.01), True),
    ],
    ids=repr,
)
def test_the_smallest_removal_suits_steps_that_do_not_shrink(rule, learns):
    """The budget is full of supports with labels by chance when the labels become right."""
    draw, model, right = random.Random(0), rm.MarginClassifier(rule, rm.Kernel(rm.RBF(), rm.SmallestRemoval(50))), 0
    for n in range(3000):
        x = {name: draw.gauss(0, 1) for name in "abc"}
        y = x["a"] > x["b"] if n >= 1000 else draw.random() < 0.5
        right += n >= 2500 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert (right > 425) == learns, right


@pytest.mark.parametrize(("kind", "stays"), [(rm.BPAClassifier, True), (rm.BOGDClassifier, False)])
def test_the_simple_removal_keeps_supports_with_large_coefficients(kind, stays):
    """The docstring says so: those of examples that were close together."""

    def late_accuracy(model, near):
        draw, right = random.Random(1), 0
        for t in range(near + 3000):
            unit = 0.001 if t < near else 1.0
            a, b = draw.gauss(0.0, unit), draw.gauss(0.0, unit)
            y = (a * b > 0) != (draw.random() < 0.1)
            right += t >= near + 2000 and model.predict_one({"a": a, "b": b}) == y
            model.learn_one({"a": a, "b": b}, y)
        return right / 1000

    assert "hardly follows" in rm.BPAClassifier.__doc__
    expected = late_accuracy(kind(rm.RBF(1.0), budget=30), near=0)
    assert (late_accuracy(kind(rm.RBF(1.0), budget=30), near=3000) < expected - 0.15) is stays


def test_a_kernel_of_a_user_sees_no_zeros():
    """docs/adding-a-learner.md says so. The features are those of a dict, a frame or a scaler."""
    seen = []

    def counted(x, z):
        seen.extend((x, z))
        return 1.0 + sum(value * z.get(name, 0.0) for name, value in x.items())

    model = rm.MarginClassifier(rm.PA1(C=1.0), rm.Kernel(counted))
    model.learn_one({"a": 1.0, "b": 0.0}, True)
    model.learn_many(pd.DataFrame({"a": [0.0, 1.0], "b": [2.0, 0.0]}), [False, True])
    model.predict_one({"a": 0.0, "new": 0.0})
    scaled = rm.StandardScaler() | rm.MarginClassifier(rm.PA1(C=1.0), rm.Kernel(counted))
    scaled.learn_one({"a": 1.0}, True)  # 0 behind the scaler
    assert {} in seen and {"a": 1.0} in seen and {"b": 2.0} in seen
    assert all(value for x in seen for value in x.values())
