"""Learners with a covariance, computed in another way: as their papers print them, and by what must come out."""

import math
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

import river_margins as rm
from tests.learners import CLASSES

COVARIANCES = ["diagonal", "full"]
LABELS = {"binary": [False, True], "multiclass": CLASSES}
LEARNERS = {
    "AROW": partial(rm.AROWClassifier, intercept=False),
    "NAROW": partial(rm.NAROWClassifier, intercept=False),
    "NHERD": partial(rm.NHERDClassifier, C=1.0, intercept=False),
    "CW": partial(rm.CWClassifier, intercept=False),
    "CW in variances": partial(rm.CWClassifier, form="variance", intercept=False),
    "SCW-I": partial(rm.SCWClassifier, C=1.0, intercept=False),
    "SCW-II": partial(rm.SCWClassifier, C=1.0, mode=2, intercept=False),
    "second-order perceptron": partial(rm.SecondOrderPerceptron, intercept=False),
    "IELLIP": partial(rm.IELLIPClassifier, intercept=False),
}
covariances = pytest.mark.parametrize("covariance", COVARIANCES)


# ------------------------------------------------------------------------------ the formulas as the papers print them


def deviation(m, v, phi):
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    return (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)


def surer(alpha, v, phi):
    """alpha·phi/√u."""
    return alpha * phi / ((-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2)


def soft(m, v, phi):
    n = v + 0.5  # C = 1
    root = math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
    return (-(2 * m * n + phi**2 * m * v) + phi * root) / (2 * (n**2 + n * v * phi**2))


def printed(name, m, v, t):
    """alpha and k of a learner with its defaults."""
    phi = NormalDist().inv_cdf({"SCW-I": 0.75, "SCW-II": 0.9}.get(name, 0.7))
    if name == "AROW":
        return (1 - m) / (v + 1), 1.0 if m < 1 else 0.0
    if name == "NHERD":
        return (1 - m) / (v + 1), 2 + v if m < 1 else 0.0
    if name == "IELLIP":
        c = 0.1 * 0.3 ** (t - 1)
        return ((1 - m) / v, c / v / (1 - c)) if m <= 0 else (0.0, 0.0)
    if name == "CW in variances":
        p = 1 + 2 * phi * m
        alpha = (-p + math.sqrt(p**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        return alpha, 2 * alpha * phi
    if m >= phi * math.sqrt(v):
        return 0.0, 0.0
    alpha = min(1.0, deviation(m, v, phi)) if name == "SCW-I" else (soft if name == "SCW-II" else deviation)(m, v, phi)
    return alpha, surer(alpha, v, phi)


class Printed:
    """Two classes or more, with matrices for all, by the book; a diagonal Σ is one whose inverse grows diagonally."""

    def __init__(self, name, task, covariance, d):
        self.name, self.task, self.diagonal, self.t = name, task, covariance == "diagonal", 0
        blocks = 1 if task == "binary" else len(CLASSES)
        self.w, self.covariance = np.zeros((blocks, d)), np.stack([np.eye(d)] * blocks)

    def grown(self, k, covariance, x):
        """(Σ⁻¹ + k·xx')⁻¹."""
        more = k * np.outer(x, x)
        return np.linalg.inv(np.linalg.inv(covariance) + (np.diag(np.diag(more)) if self.diagonal else more))

    def foreseen(self, v):
        return 1.0 if self.name == "second-order perceptron" else max(0.0, 1 - 1 / v)

    @property
    def natural(self):
        return self.name in ("second-order perceptron", "NAROW")

    def scores(self, x):
        if not self.natural:
            return self.w @ x
        inner = [self.grown(self.foreseen(x @ S @ x), S, x) for S in self.covariance]
        return np.array([theta @ S @ x for theta, S in zip(self.w, inner, strict=True)])

    def learn(self, x, y):
        self.t += 1
        scores, true = self.scores(x), LABELS[self.task].index(y)
        if self.task == "binary":
            terms = {0: 1.0 if true else -1.0}
        else:
            rival = max((k for k in range(len(CLASSES)) if k != true), key=lambda k: scores[k])
            terms = {true: 1.0, rival: -1.0}
        m = sum(sign * scores[k] for k, sign in terms.items())
        v = sum(x @ self.covariance[k] @ x for k in terms)
        if self.natural:
            acts = m <= 0 if self.name == "second-order perceptron" else m < 1
            alpha, k = (1.0, self.foreseen(v)) if acts else (0.0, 0.0)
        else:
            alpha, k = printed(self.name, m, v, self.t)
        if alpha <= 0:
            return
        for block, sign in terms.items():
            S = self.covariance[block]
            self.w[block] += alpha * sign * (x if self.natural else S @ x)
            shared = S - k / (1 + k * v) * np.outer(S @ x, S @ x)
            S = self.grown(k, S, x) if self.diagonal or self.natural else shared
            self.covariance[block] = S / (1 - 0.1 * 0.3 ** (self.t - 1)) if self.name == "IELLIP" else S


@covariances
@pytest.mark.parametrize("task", LABELS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_scores_as_its_paper_prints_it(name, task, covariance):
    draw, d = np.random.default_rng(3), 4
    model, book = LEARNERS[name](covariance=covariance, classes=LABELS[task]), Printed(name, task, covariance, d)
    centres = draw.normal(size=(3, d))
    for _ in range(60):
        true = int(draw.integers(len(LABELS[task])))
        row = np.round(draw.normal(size=d) + centres[true], 3) * (draw.random(d) < 0.8)
        if not row.any():
            continue
        x = {f"f{i}": value for i, value in enumerate(row.tolist()) if value}
        scores = model.score_one(x)
        found = [scores] if task == "binary" else [scores[k] for k in CLASSES]
        assert found == pytest.approx(list(book.scores(row)), rel=1e-7, abs=1e-9)
        model.learn_one(x, LABELS[task][true])
        book.learn(row, LABELS[task][true])
    assert model.n_updates > 5


# ------------------------------------------------------------------------------------------- what must come out


def rows(count, d, seed=0):
    draw = np.random.default_rng(seed)
    X, direction = draw.normal(size=(count, d)), draw.normal(size=d)
    return X, np.where(draw.random(count) < 0.1, -1, 1) * np.where(X @ direction > 0, 1, -1)


def learned(model, X, y):
    """The model after the rows, and what it predicted before each."""
    predictions = [
        model.predict_learn_one(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return model, predictions


def covariance_of(model):
    space = model.__getstate__()["space"]
    return space["units"][0] * space["variances"][0]


def test_full_regression_without_a_tube_is_least_squares():
    X, _ = rows(50, 4)
    y = X @ [1.0, -2.0, 0.5, 3.0] + np.random.default_rng(1).normal(size=50)
    model, _ = learned(rm.AROWRegressor(r=0.5, a=2.0, eps=0.0, covariance="full", intercept=False), X, y)
    best = np.linalg.solve(np.eye(4) / 2.0 + X.T @ X / 0.5, X.T @ y / 0.5)
    assert list(model.weights.values()) == pytest.approx(list(best), rel=1e-9)


def test_a_residual_of_0_counts_in_least_squares():
    model = rm.AROWRegressor(a=1.0, covariance="full", eps=0, intercept=False)
    for label in [0.0] * 10 + [1.0]:
        model.learn_one({"a": 1.0}, label)
    assert model.weights["a"] == pytest.approx(1 / 12)  # Σxy/(1 + Σx²)


def test_without_a_tube_every_variance_is_that_of_all_examples_seen():
    X, _ = rows(30, 4)
    model, _ = learned(rm.AROWRegressor(r=0.5, a=2.0, eps=0.0, intercept=False), X, np.zeros(30))
    assert covariance_of(model) == pytest.approx(1 / (1 / 2.0 + (X**2).sum(axis=0) / 0.5))


@covariances
def test_within_a_tube_nothing_is_learned(covariance):
    model = rm.AROWRegressor(covariance=covariance, eps=0.5, intercept=False)
    for label in (0.0, 0.5, -0.5, 0.25):
        model.learn_one({"a": 1.0}, label)
    assert covariance_of(model).size == 0
    assert not model.weights


@covariances
def test_a_classifier_with_a_margin_of_exactly_1_learns_nothing(covariance):
    model = rm.MarginClassifier(rm.AROWRule(), rm.Full() if covariance == "full" else rm.Diagonal(), intercept=False)
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, True)  # margin 2·0.5
    assert covariance_of(model) == pytest.approx(0.5)


def test_the_weights_of_arow_are_what_its_losses_add_up_to():
    X, y = rows(60, 4)
    model, total, moved = (
        rm.AROWClassifier(r=0.5, covariance="full", classes=[-1, 1], intercept=False),
        np.zeros(4),
        np.eye(4),
    )
    for row, label in zip(X, y.tolist(), strict=True):
        updates = model.n_updates
        model.learn_one(dict(enumerate(row.tolist())), label)
        if model.n_updates > updates:
            total, moved = total + label * row / 0.5, moved + np.outer(row, row) / 0.5
    assert np.linalg.inv(covariance_of(model)) == pytest.approx(moved, rel=1e-9)
    assert moved @ list(model.weights.values()) == pytest.approx(total, rel=1e-9)


def test_after_a_mistake_of_iellip_the_margin_is_1_and_the_variance_is_back():
    X, y = rows(60, 4)
    model, cut = rm.IELLIPClassifier(0.9, c=0.5, covariance="full", classes=[-1, 1], intercept=False), 0
    for row, label in zip(X, y.tolist(), strict=True):
        x = dict(enumerate(row.tolist()))
        before = row @ covariance_of(model) @ row if model.weights else row @ row
        updates = model.n_updates
        model.learn_one(x, label)
        if model.n_updates > updates:
            cut += 1
            assert label * model.score_one(x) == pytest.approx(1.0)
            assert row @ covariance_of(model) @ row == pytest.approx(before)
    assert cut > 5


@covariances
def test_a_step_of_scw_is_at_most_c_times_the_row_in_its_metric(covariance):
    X, y = rows(100, 4)
    model = rm.SCWClassifier(0.05, covariance=covariance, classes=[-1, 1], intercept=False)
    for row, label in zip(X, y.tolist(), strict=True):
        space = model.__getstate__()["space"]
        S = covariance_of(model) if len(space["features"]) else np.eye(4)
        before = np.array(list(model.weights.values()) or [0.0] * 4)
        model.learn_one(dict(enumerate(row.tolist())), label)
        along = (np.diag(S) if covariance == "diagonal" and S.ndim == 1 else S) @ row
        assert (np.abs(np.array(list(model.weights.values())) - before) <= 0.05 * np.abs(along) * (1 + 1e-9)).all()


# A factor that is a power of two changes no digit, so that equal means equal. Rows become longer by the last entry.
SAME = {
    "AROW: r and a": (LEARNERS["AROW"], lambda s: {"r": s, "a": s}, lambda s: 1),
    "NHERD: 1/C and a": (LEARNERS["NHERD"], lambda s: {"C": 1 / s, "a": s}, lambda s: 1),
    "CW: a": (LEARNERS["CW"], lambda s: {"a": s}, lambda s: 1),
    "NAROW: rows and 1/a": (LEARNERS["NAROW"], lambda s: {"a": 1 / s**2}, lambda s: s),
    "second-order perceptron: rows and a": (LEARNERS["second-order perceptron"], lambda s: {"a": s**2}, lambda s: s),
    "IELLIP: a": (LEARNERS["IELLIP"], lambda s: {"a": s}, lambda s: 1),
    "SCW-I: C and rows": (LEARNERS["SCW-I"], lambda s: {"C": 1 / s}, lambda s: s),
}


@covariances
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("what", SAME)
def test_what_only_rescales_the_scores_changes_no_prediction(what, seed, covariance):
    (kind, parameters, longer), (X, y) = SAME[what], rows(80, 4, seed)
    one, said = learned(kind(covariance=covariance), X, y)
    for factor in (0.25, 4.0, 2.0**20):
        other, also = learned(kind(covariance=covariance, **parameters(factor)), X * longer(factor), y)
        assert said == also
        assert (one.n_mistakes, one.n_updates) == (other.n_mistakes, other.n_updates)
    assert 0 < one.n_mistakes <= one.n_updates < 80


@covariances
@pytest.mark.parametrize("seed", range(5))
def test_cw_does_not_care_how_long_a_row_is(seed, covariance):
    X, y = rows(80, 4, seed)
    lengths = 2.0 ** np.random.default_rng(seed).integers(-20, 20, size=(80, 1))
    _, said = learned(rm.CWClassifier(covariance=covariance, intercept=False), X, y)
    _, also = learned(rm.CWClassifier(covariance=covariance, intercept=False), X * lengths, y)
    assert said == also


@pytest.mark.parametrize("name", LEARNERS)
def test_where_features_never_meet_a_matrix_is_its_diagonal(name):
    models = [LEARNERS[name](covariance=covariance) for covariance in COVARIANCES]
    draw = np.random.default_rng(0)
    for _ in range(200):
        x, y = {f"f{draw.integers(5)}": draw.normal()}, bool(draw.random() < 0.5)
        one, other = (model.score_one(x) for model in models)
        assert one == {} or one == pytest.approx(other, rel=1e-6, abs=1e-9)
        for model in models:
            model.learn_one(x, y)


def test_a_step_that_an_inflated_covariance_makes_too_long_is_refused():
    model = rm.IELLIPClassifier(b=0.99, c=0.99, intercept=False)
    for _ in range(3000):  # mistakes each, until the unit of the covariance is beyond 1e69
        model.learn_one({"a": 1.0}, not model.predict_one({"a": 1.0}))
    for exponent in range(100, 150, 2):
        try:
            model.learn_one({"a": 10.0**-exponent}, not model.predict_one({"a": 10.0**-exponent}))
        except OverflowError:
            continue
        assert math.isfinite(model.weights["a"])


def test_with_b_of_0_only_the_first_round_shrinks_the_ellipsoid():
    """c_1 = 0.1 and c_2 = 0: the first mistake shrinks the variance to 0.9, and divides it by 0.9 again."""
    model = rm.IELLIPClassifier(0.0, intercept=False)
    for label in (True, False):  # margins of 0 and -1, so w becomes 1, and 1 - 2
        model.learn_one({"a": 1.0}, label)
    assert model.weights["a"] == pytest.approx(-1.0)


@covariances
@pytest.mark.parametrize("half_life", [None, 100])
def test_a_label_next_to_the_largest_float_is_refused_and_later_ones_are_learned(half_life, covariance):
    model, draw = rm.AROWRegressor(covariance=covariance, half_life=half_life), np.random.default_rng(0)
    with pytest.raises(OverflowError):
        model.learn_one({"a": 1.0, "b": -0.5}, 1.7976931348623157e308)
    assert model.n_seen == 0
    for _ in range(300):
        a, b = draw.normal(size=2).tolist()
        model.learn_one({"a": a, "b": b}, a - b)
    assert model.predict_one({"a": 1.0, "b": -1.0}) == pytest.approx(2.0, abs=0.1)
