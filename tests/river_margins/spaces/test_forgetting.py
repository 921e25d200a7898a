"""Half lives: what is kept lazily is what numpy computes for all features in every round."""

import math
import pickle

import numpy as np
import pytest

import river_margins as rm
from river_margins import snapshot
from tests.helpers.rounds import state

CLASSES = ["k0", "k1", "k2"]
HALF_LIVES = [1, 2.5, 40, 1e6]
half_lives = pytest.mark.parametrize("half_life", HALF_LIVES)
KEPT = {None: 1.0} | {half_life: 2.0 ** (-1.0 / half_life) for half_life in HALF_LIVES}


def rounds(count=400, features=6, labels=2, seed=0):
    """Sparse rows and numbers of labels; half-way, one feature is idle for a long time."""
    draw = np.random.default_rng(seed)
    for number in range(count):
        x = draw.normal(size=features) * (draw.random(features) < 0.5)
        if 50 < number < count - 50:
            x[0] = 0.0
        yield x, int(draw.integers(labels))


def as_dict(x):
    return {f"f{i}": value for i, value in enumerate(x.tolist()) if value}


def weights_of(weights, features):
    return [weights.get(f"f{i}", 0.0) for i in range(features)]


class Written:
    """Σ⁻¹ and the weights of each class, or θ, for all features; every round discounts all of them."""

    def __init__(self, features, blocks, a, half_life, diagonal):
        self.a, self.kept, self.diagonal = a, KEPT[half_life], diagonal
        self.prior = np.ones(blocks)  # what is left of I/a
        self.added = np.zeros((blocks, features, features))
        self.w = np.zeros((blocks, features))

    def covariance(self, block):
        precision = self.prior[block] / self.a * np.eye(self.w.shape[1]) + self.added[block]
        return np.linalg.inv(precision)

    def add(self, block, x, k):
        more = k * np.outer(x, x)
        self.added[block] += np.diag(np.diag(more)) if self.diagonal else more

    def end_round(self, looks_ahead=False):
        self.added *= self.kept
        if looks_ahead:
            self.w *= self.kept
        if not self.diagonal:  # 1/a is restored when a variance could be sqrt(2)·a
            self.prior *= self.kept
            self.prior[self.prior <= 1 / math.sqrt(2)] = 1.0


def chosen(scores, label):
    """The blocks that move, with their coefficients: of two classes the only one."""
    if len(scores) == 1:
        return {0: 1.0 if label else -1.0}
    rival = max((k for k in range(len(scores)) if k != label), key=lambda k: scores[k])
    return {label: 1.0, rival: -1.0}


@half_lives
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("classes", [[False, True], CLASSES], ids=["two", "many"])
def test_arow_is_as_written(classes, covariance, half_life, features=6, a=2.0, r=0.7):
    model = rm.AROWClassifier(r, a=a, covariance=covariance, half_life=half_life, classes=classes, intercept=False)
    book = Written(features, 1 if len(classes) == 2 else 3, a, half_life, covariance == "diagonal")
    for x, label in rounds(labels=len(classes)):
        scores = book.w @ x
        found = model.score_one(as_dict(x))
        assert (list(found.values()) if len(classes) > 2 else [found]) == pytest.approx(scores.tolist(), abs=1e-7)
        terms = chosen(scores, label)
        margin = sum(sign * scores[k] for k, sign in terms.items())
        along = {k: book.covariance(k) @ x for k in terms}
        v = sum(x @ each for each in along.values())
        if margin < 1:
            for block, sign in terms.items():
                book.w[block] += (1 - margin) / (v + r) * sign * along[block]
                # Σ - Σxx'Σ/(v + r), in which v is that of both classes: less than what one class by itself would add.
                left = x @ along[block]
                book.add(block, x, 1 / r if book.diagonal else 1 / (r + v - left))
        book.end_round()
        model.learn_one(as_dict(x), classes[label])


@half_lives
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("classes", [[False, True], CLASSES], ids=["two", "many"])
def test_the_second_order_perceptron_is_as_written(classes, covariance, half_life, features=6, a=0.5):
    """The space keeps θ, the sum of y·x, which is discounted as Σ⁻¹ is; so the weights change in idle rounds, too."""
    model = rm.SecondOrderPerceptron(a=a, covariance=covariance, half_life=half_life, classes=classes, intercept=False)
    book = Written(features, 1 if len(classes) == 2 else 3, 1 / a, half_life, covariance == "diagonal")
    for x, label in rounds(labels=len(classes)):
        scores = []
        for block, theta in enumerate(book.w):
            ahead = np.outer(x, x)
            ahead = np.diag(np.diag(ahead)) if book.diagonal else ahead
            scores.append(theta @ np.linalg.solve(np.linalg.inv(book.covariance(block)) + ahead, x))
        found = model.score_one(as_dict(x))
        assert (list(found.values()) if len(classes) > 2 else [found]) == pytest.approx(scores, abs=1e-7)
        terms = chosen(scores, label)
        if sum(sign * scores[k] for k, sign in terms.items()) <= 1e-9:  # a rounding is a tie
            for block, sign in terms.items():
                book.w[block] += sign * x
                book.add(block, x, 1.0)
        book.end_round(looks_ahead=True)
        model.learn_one(as_dict(x), classes[label])
    for block, theta in enumerate(book.w):
        weights = model.weights if len(classes) == 2 else model.weights[classes[block]]
        assert weights_of(weights, features) == pytest.approx((book.covariance(block) @ theta).tolist(), abs=1e-7)


@pytest.mark.parametrize("half_life", [None, *HALF_LIVES])
@pytest.mark.parametrize("burn_in", [0, 30])
def test_the_mean_is_as_written(burn_in, half_life, features=6):
    model = rm.AveragedPerceptron(burn_in=burn_in, half_life=half_life, intercept=False)
    draw = np.random.default_rng(1)
    w, total, count, weighted = np.zeros(features), np.zeros(features), 0.0, 0
    for x, label in rounds():
        weight = float(draw.choice([0.0, 0.5, 1.0, 2.0]))
        y = 1.0 if label else -1.0
        if y * (w @ x) <= 0:
            w = w + weight * y * x
        model.learn_one(as_dict(x), bool(label), w=weight)
        weighted += weight > 0
        if weight and weighted > burn_in:
            total, count = total * KEPT[half_life] + weight * w, count * KEPT[half_life] + weight
        mean = total / count if count else w
        assert weights_of(model.weights, features) == pytest.approx(mean.tolist(), abs=1e-9)
        assert model.score_one(as_dict(x)) == pytest.approx(x @ mean, abs=1e-9)


def variances_of(model):
    space = model.__getstate__()["space"]
    if model.covariance == "full":
        return np.array(space["variances"]) / np.array(space["decays"])[:, None, None]
    return 1 / (1 / model.a + np.array(space["variances"]) * np.array(space["decays"])[:, None])


def test_variances_grow_back_to_their_start_and_no_further():
    model = rm.AROWClassifier(a=2.0, half_life=10, intercept=False)
    for _ in range(50):
        model.learn_one({"a": 1.0}, True)
        model.learn_one({"a": 1.0}, False)
    assert variances_of(model)[0, 0] < 0.3
    for number in range(1, 2000):
        model.learn_one({"b": 0.0}, True)
        if number == 10:
            small = 1 / variances_of(model)[0, 0] - 0.5
    assert variances_of(model)[0, 0] == pytest.approx(2.0, rel=1e-12)
    again = rm.AROWClassifier(a=2.0, half_life=10, intercept=False)
    for _ in range(50):
        again.learn_one({"a": 1.0}, True)
        again.learn_one({"a": 1.0}, False)
    assert 1 / variances_of(again)[0, 0] - 0.5 == pytest.approx(2 * small)


@pytest.mark.parametrize("kind", [rm.AROWClassifier, rm.SecondOrderPerceptron, rm.NAROWClassifier, rm.NHERDClassifier])
@pytest.mark.parametrize("half_life", [1, 30])
def test_a_matrix_stays_bounded_where_features_depend_on_each_other(kind, half_life):
    """Two features are equal and one is idle: nothing is learned along two directions, for hundreds of half lives."""
    model, draw = kind(covariance="full", half_life=half_life, intercept=False), np.random.default_rng(0)
    model.learn_one({"idle": 1.0}, True)
    for _ in range(300 * half_life):
        x = draw.normal(size=3).tolist()
        model.learn_one({"a": x[0], "same": x[0], "b": x[1], "c": x[2]}, bool(x[0] + x[1] + 0.5 * draw.normal() > 0))
    (matrix,) = variances_of(model)
    assert (matrix == matrix.T).all()
    values = np.linalg.eigvalsh(matrix)
    assert values[0] >= -1e-12 and values[-1] <= math.sqrt(2) * (1 + 1e-9)
    assert values[-1] >= 0.99  # where nothing is learned, the variance is that of the start
    hits = sum(
        model.predict_one({"a": x[0], "same": x[0], "b": x[1], "c": x[2]}) == (x[0] + x[1] > 0)
        for x in draw.normal(size=(200, 3)).tolist()
    )
    assert hits > (120 if half_life == 1 else 160)


MAKERS = {
    "AROW": rm.AROWClassifier,
    "AROW regression": rm.AROWRegressor,
    "NAROW": rm.NAROWClassifier,
    "NHERD": rm.NHERDClassifier,
    "CW": rm.CWClassifier,
    "SCW": rm.SCWClassifier,
    "IELLIP": rm.IELLIPClassifier,
    "second-order perceptron": rm.SecondOrderPerceptron,
    "averaged perceptron": rm.AveragedPerceptron,
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_half_life_is_checked(name):
    for wrong in (0, 0.5, -3, math.nan, math.inf, "1000"):
        with pytest.raises(
            ValueError, match=f"`half_life` must be a finite number of at least 1 or None, not {wrong!r}"
        ):
            MAKERS[name](half_life=wrong)
    assert MAKERS[name](half_life=7).clone().half_life == 7
    assert MAKERS[name]().half_life is None


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_round_without_weight_forgets_nothing(covariance):
    model = rm.NHERDClassifier(covariance=covariance, half_life=2, intercept=False)
    for x, label in rounds(20):
        model.learn_one(as_dict(x), bool(label))
    before = model.__getstate__()["space"]
    model.learn_one({"f0": 1.0}, False, w=0.0)
    assert pickle.dumps(before) == pickle.dumps(model.__getstate__()["space"])


@pytest.mark.parametrize("name", MAKERS)
def test_forged_states_are_refused(name):
    model = MAKERS[name](half_life=5)
    for x, label in rounds(20):
        model.learn_one(as_dict(x), float(label) if "regression" in name else bool(label))
    twin = snapshot.loads(snapshot.dumps(model))
    assert state(twin) == state(model)
    forged = (
        {"scale_behind": [0.0, 2.0, math.nan]}
        if name.startswith("averaged")
        else {
            "decays": [[0.0], [2.0], [math.nan], []],
            "starts": [[0.0], [2.0], [math.nan], []],
        }
    )
    for part, values in forged.items():
        for value in values:
            whole = model.__getstate__()
            whole["space"] = whole["space"] | {part: value}
            with pytest.raises(ValueError, match=r"decay|variance|scale"):
                MAKERS[name](half_life=5).__setstate__(whole)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_after_many_half_lives_only_the_last_examples_count(covariance):
    """2^-1200 is not a number any more, so what is kept must have been folded by then."""
    old, young = (
        rm.SecondOrderPerceptron(covariance=covariance, half_life=1, every_label=True, intercept=False)
        for _ in range(2)
    )
    given = [(as_dict(x), label == 1) for x, label in rounds(1300)]
    for x, y in given:
        old.learn_one(x, y)
    for x, y in given[-100:]:
        young.learn_one(x, y)
    assert all(0.0 < decay <= 1.0 for decay in old.__getstate__()["space"]["decays"])
    for x, _ in given[:50]:
        assert old.score_one(x) == pytest.approx(young.score_one(x), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", [rm.AROWClassifier, rm.SecondOrderPerceptron, rm.NAROWClassifier, rm.NHERDClassifier])
@pytest.mark.parametrize("size", [1e8, 1e10, 1e20])
def test_a_matrix_stays_bounded_where_features_are_large(kind, size):
    """Rounding leaves nothing of their variances, but more than nothing of the covariances."""
    model, draw = kind(covariance="full", half_life=20), np.random.default_rng(1)
    for _ in range(1000):
        a, b, c = draw.normal(size=3).tolist()
        x = {"a": size * a, "b": size * b, "c": c}
        model.learn_one({name: x[name] for name in x if draw.random() < 0.7}, bool(draw.random() < 0.5))
    assert np.abs(variances_of(model)).max() <= math.sqrt(2) * (1 + 1e-9)
    assert snapshot.dumps(snapshot.loads(snapshot.dumps(model))) == snapshot.dumps(model)


@half_lives
@pytest.mark.parametrize("classes", [[False, True], CLASSES], ids=["two", "many"])
def test_wrong_labels_take_no_variance_of_cw_below_its_least(classes, half_life, a=2.0, least=2.0 / 1024):
    """Each label is the one that is predicted last, so that each round shrinks what it can."""
    model = rm.CWClassifier(a=a, half_life=half_life, classes=classes, intercept=False)
    for x, _ in rounds():
        scores = model.score_one(as_dict(x))
        model.learn_one(as_dict(x), min(scores, key=scores.get) if len(classes) > 2 else scores < 0)
        kept = model.__getstate__()["space"]
        found = [a / (1 + a * decay * sums) for decay, sums in zip(kept["decays"], kept["variances"], strict=True)]
        assert np.min(found, initial=a) >= least * (1 - 1e-9)
    assert np.min(found) < 2 * least or half_life < 40


@half_lives
def test_a_wrong_label_takes_no_variance_of_cw_along_the_example_below_its_least(half_life, a=2.0):
    model = rm.CWClassifier(covariance="full", a=a, half_life=half_life, classes=[False, True], intercept=False)

    def along(x):
        kept = model.__getstate__()["space"]
        if not kept["features"]:
            return a * (x @ x)
        values = np.array([as_dict(x).get(feature, 0.0) for feature in kept["features"]])
        return values @ kept["variances"][0] @ values / kept["decays"][0]

    least = 1.0
    for x, _ in rounds():
        before = along(x)
        model.learn_one(as_dict(x), model.score_one(as_dict(x)) < 0)
        assert along(x) >= min(before, a / 1024 * (x @ x)) * (1 - 1e-6)
        least = min(least, along(x) / (x @ x)) if x.any() else least
    assert least < a / 1000 or half_life < 40


@pytest.mark.parametrize(
    "model",
    [rm.SCWClassifier(mode=2, a=2.0, half_life=100), rm.CWClassifier(form="variance", a=2.0, half_life=100)],
    ids=["SCW-II", "variance form"],
)
def test_confident_learners_follow_right_labels_after_wrong_ones(model, a=2.0):
    """In the wrong ones the margins become large, and with them the shrinks."""
    draw, right = np.random.default_rng(0), 0
    for number in range(6000):
        x = dict(enumerate((1000.0 * draw.normal(size=4)).tolist()))
        y = x[0] + x[1] > 0
        right += number >= 5000 and model.predict_one(x) == y
        model.learn_one(x, y if number >= 2000 or draw.random() > 0.3 else not y)
        kept = model.__getstate__()["space"]
        found = a / (1 + a * kept["decays"][0] * kept["variances"][0])
        assert found.min(initial=a) >= a / 1024 * (1 - 1e-9)
    assert right > 950


@pytest.mark.parametrize(
    ("model", "follows"),
    [(rm.SCWClassifier(half_life=500), False), (rm.SCWClassifier(C=1.0, mode=2, half_life=1500), True)],
)
def test_after_labels_that_are_turned_round_scw_follows_as_advised(model, follows):
    """Each prediction is wrong then, and shrinks the variances, although C limits the steps of SCW-I."""
    draw, right = np.random.default_rng(0), 0
    for number in range(26_000):
        x = dict(enumerate(draw.normal(size=5).tolist()))
        y = (x[0] + x[1] > 0) == (number < 20_000)
        right += number >= 25_000 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert (right > 900) == follows, right
