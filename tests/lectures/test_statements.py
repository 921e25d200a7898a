"""Statements of the lectures that are about several learners, or about data, and have no other home."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

import river_margins as rm


def unit_rows(rounds, dimension, margin=0.0, seed=0):
    """Examples of length 1 with labels of a hyperplane; none is nearer to it than the margin."""
    random = np.random.default_rng(seed)
    u = random.normal(size=dimension)
    u /= np.linalg.norm(u)
    X = random.normal(size=(20 * rounds, dimension))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[abs(X @ u) >= margin][:rounds]
    assert len(X) == rounds
    return X, X @ u > 0, u


def dicts(X):
    return [dict(enumerate(row.tolist())) for row in X]


class AsPrinted(rm.Rule):
    """The perceptron note's update theta + (h - y)x, with labels of ±1: on a mistake a step of -2 towards y."""

    def step(self, seen):
        return rm.Step(-2.0 if seen.margin <= 0 else 0.0)


@pytest.mark.lecture("perceptron-note-sign")
def test_the_sign_that_the_perceptron_note_prints_leads_away():
    X, y, _ = unit_rows(500, 5, 0.05)
    printed, right = rm.MarginClassifier(AsPrinted(), rm.Linear(), intercept=False), rm.Perceptron(intercept=False)
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        printed.learn_one(x, label)
        right.learn_one(x, label)
    assert right.n_mistakes < 60 and printed.n_mistakes > 400


@pytest.mark.lecture("few-supports")
def test_a_separator_is_a_combination_of_few_examples():
    """At most R²|u|² of them, whatever their number: those that a perceptron erred on, until it errs no more."""
    X, y, u = unit_rows(400, 6, 0.2)
    most = 1 / np.min(np.where(y, 1, -1) * (X @ u)) ** 2
    model, before = rm.KernelPerceptron(rm.LinearKernel(), budget=None), -1
    while model.n_mistakes > before:
        before = model.n_mistakes
        for x, label in zip(dicts(X), y.tolist(), strict=True):
            model.learn_one(x, label)
    assert len(model.supports) <= model.n_updates <= most < 25
    rows = np.array([[x[i] for i in range(6)] for x, _ in model.supports])
    w = np.array([c for _, c in model.supports]) @ rows
    assert all((X @ w > 0) == y)


@pytest.mark.lecture("winnow-negated-attributes")
def test_winnow_learns_negated_attributes_beside_the_plain_ones():
    """ "x0, or not x1", with a feature for each negation, as the lecture advises for targets that are not monotone."""
    random = np.random.default_rng(0)
    rows = random.integers(0, 2, size=(3000, 20))
    plain, flipped = rm.Winnow(10), rm.Winnow(20)
    late = {"plain": 0, "flipped": 0}
    for t, bits in enumerate(rows.tolist()):
        y = bool(bits[0] or not bits[1])
        x = {f"x{i}": 1.0 for i, bit in enumerate(bits) if bit}
        both = x | {f"not x{i}": 1.0 for i, bit in enumerate(bits) if not bit}
        for name, model, given in (("plain", plain, x), ("flipped", flipped, both)):
            late[name] += t >= 1500 and model.predict_one(given) != y
            model.learn_one(given, y)
    assert late["flipped"] == 0 < late["plain"]


@pytest.mark.lecture("largest-feature-one")
def test_examples_whose_largest_feature_is_one_suit_many_features_of_which_few_matter():
    """With p = 2·ln d a p-norm perceptron errs at most (p - 1)·|u|_q²·X_p² times, and X_p <= d^(1/p) = √e for any d."""
    random = np.random.default_rng(0)
    mistakes = {}
    for d in (20, 500):
        X = random.choice([-1.0, 1.0], size=(800, d)) * random.uniform(0.1, 7.0, size=(800, 1))
        X /= abs(X).max(axis=1, keepdims=True)
        y = X[:, :3].sum(axis=1) > 0
        p = 2 * math.log(d)
        models = {"p": rm.PNormPerceptron(p, intercept=False), "2": rm.Perceptron(intercept=False)}
        for x, label in zip(dicts(X), y.tolist(), strict=True):
            for model in models.values():
                model.learn_one(x, label)
        bound = (p - 1) * 3**2 * math.e  # u has three weights of 1, and a margin of at least 1
        assert models["p"].n_mistakes <= bound
        mistakes[d] = {name: model.n_mistakes for name, model in models.items()}
    assert mistakes[500]["p"] < 0.5 * mistakes[500]["2"]


@pytest.mark.lecture("pegasos-svm")
def test_pegasos_comes_within_a_hundredth_of_the_svm():
    X, y, _ = unit_rows(200, 5)
    signs, lam = np.where(y, 1.0, -1.0), 0.05
    signs[::10] *= -1

    def objective(w):
        return lam / 2 * w @ w + np.maximum(0, 1 - signs * (X @ w)).mean()

    svm = LinearSVC(C=1 / (lam * len(X)), loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000)
    best = objective(svm.fit(X, signs).coef_[0])
    model = rm.PegasosClassifier(lam=lam, intercept=False)
    random, rows, labels = np.random.default_rng(1), dicts(X), (signs > 0).tolist()
    for i in itertools.chain.from_iterable(random.permutation(200) for _ in range(100)):
        model.learn_one(rows[i], labels[i])
    w = np.array([model.weights[i] for i in range(5)])
    assert best * (1 - 1e-6) <= objective(w) <= 1.01 * best


@pytest.mark.lecture("ranking")
def test_the_labels_of_an_example_rise_above_the_others():
    """The share of pairs (relevant, not relevant) in the wrong order falls to a third, with a tenth of wrong labels."""
    random = np.random.default_rng(0)
    W = random.normal(size=(6, 8))
    model, lost = rm.PAMultiLabelClassifier(C=0.1), []
    for row in random.normal(size=(3000, 8)):
        true = W @ row > 0
        y = {k: bool(v) for k, v in enumerate(true ^ (random.random(6) < 0.1))}
        x = dict(enumerate(row.tolist()))
        scores = model.score_one(x)
        if scores and len(scores) == 6 and 0 < true.sum() < 6:
            pairs = [(scores[r], scores[s]) for r in range(6) if true[r] for s in range(6) if not true[s]]
            lost.append(np.mean([r <= s for r, s in pairs]))
        model.learn_one(x, y)
    assert np.mean(lost[-500:]) < 0.08 < 0.3 * np.mean(lost[:20])


@pytest.mark.lecture("one-class")
def test_a_centre_that_follows_finds_the_points_that_the_mean_does_not():
    """The points move: their mean distance is that of the whole past, and the learned centre that of today."""
    random = np.random.default_rng(0)
    model = rm.PAOneClass(C=0.1, eps=1.0)
    mean, truth, learned, baseline = np.zeros(4), [], [], []
    for t in range(1, 3001):
        centre = 3 * np.array([math.cos(t / 400), math.sin(t / 400), 0, 0])
        strange = random.random() < 0.05
        row = centre + random.normal(size=4) * 0.5 + (1.5 * random.normal(size=4) if strange else 0.0)
        if t > 500:
            truth.append(strange)
            learned.append(model.score_one(dict(enumerate(row.tolist()))))
            baseline.append(np.linalg.norm(row - mean))
        model.learn_one(dict(enumerate(row.tolist())))
        mean += (row - mean) / t
    assert roc_auc_score(truth, learned) > 0.9 > roc_auc_score(truth, baseline) + 0.15


def tagged(random):
    """A sentence of a small grammar: the tag of "light" is told by the tag before it."""
    words = {"det": ["the", "a"], "adj": ["old", "light"], "noun": ["lamp", "light"], "verb": ["burns", "fades"]}
    tags = ["det", *["adj"] * int(random.integers(0, 2)), "noun", "verb"]
    return [str(random.choice(words[tag])) for tag in tags], tags


@pytest.mark.lecture("structured-pa")
def test_the_tagger_learns_a_language_without_an_error():
    """In which features of a word and of the two words beside it decide; 200 sentences are then tagged right."""
    random = np.random.default_rng(0)

    def features(words):
        around = ["<", *words, ">"]
        return [
            {f"word={w}": 1.0, f"before={around[i]}": 1.0, f"after={around[i + 2]}": 1.0} for i, w in enumerate(words)
        ]

    model = rm.SequenceTagger(mode=0)
    for _ in range(600):
        words, tags = tagged(random)
        model.learn_one(features(words), tags)
    rest = [tagged(random) for _ in range(200)]
    assert [model.predict_one(features(words)) for words, _ in rest] == [tags for _, tags in rest]


@pytest.mark.lecture("alma-slide")
def test_the_alma_of_the_slide_stretches_what_is_shorter_than_one():
    """It always divides by |w'|. Gentile's, which is ours, does so if |w'| > 1: both are equal until it is shorter."""
    X, y, _ = unit_rows(150, 4, 0.15)
    model, w, k, compared = rm.ALMAClassifier(0.5, B=2.0, C=1.0, intercept=False), np.zeros(4), 1, 0
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x.tolist())), label)
        s = 1.0 if label else -1.0
        if s * (w @ x) > (1 - 0.5) * 2.0 / math.sqrt(k):
            continue
        moved = w + s * x / math.sqrt(k)
        w, k = moved / np.linalg.norm(moved), k + 1
        ours = np.array([model.weights[i] for i in range(4)])
        if np.linalg.norm(moved) < 1 - 1e-12:
            assert ours == pytest.approx(moved, abs=1e-12) and ours != pytest.approx(w, abs=1e-12)
            break
        assert ours == pytest.approx(w, abs=1e-12)
        compared += 1
    else:
        pytest.fail("no vector became shorter than 1")
    assert compared >= 5


@pytest.mark.lecture("alma-slide")
def test_the_alma_of_the_slide_reaches_its_margin():
    """Within (|u|/alpha)² updates, as printed, with the threshold (1 - alpha)/(alpha·√k) that the slide leaves open."""
    X, y, u = unit_rows(150, 4, 0.15)
    signs, alpha = np.where(y, 1.0, -1.0), 0.5
    best = 1 / np.linalg.norm(
        LinearSVC(C=1e6, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, signs).coef_
    )
    w, k, settled = np.zeros(4), 1, False
    while not settled:
        settled = True
        for x, s in zip(X, signs, strict=True):
            if s * (w @ x) <= (1 - alpha) / alpha / math.sqrt(k):
                w = w + s * x / math.sqrt(k)
                w, k, settled = w / np.linalg.norm(w), k + 1, False
    assert best >= min(signs * (X @ u)) and min(signs * (X @ w)) >= (1 - alpha) * best
    assert k - 1 <= 1 / (alpha * best) ** 2
