"""Sample weights of rules without C and lr: each learner solves the weighted problem that NumPy solves here."""

import pickle

import numpy as np
import pytest

import river_margins as rm

BY_FORMULA = (
    rm.AROWRule,
    rm.NAROWRule,
    rm.SecondOrderPerceptronRule,
    rm.PegasosRule,
    rm.Subgradient,
    rm.CoinBettingRule,
)
FEATURES = 4


def rows(seed, count=60):
    """Examples as arrays, signs of labels, and sample weights, some of them 0 or 1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, FEATURES))
    signs = np.where(X @ random.normal(size=FEATURES) + random.normal(size=count) > 0, 1.0, -1.0)
    weights = random.choice([0.0, 0.25, 1.0, 2.0, 7.5], size=count)
    return list(zip(X, signs, weights, strict=True))


def learn(model, x, y, w):
    model.learn_one(dict(enumerate(x.tolist())), bool(y > 0), w=w)


def weights_of(model):
    return np.array([model.weights.get(i, 0.0) for i in range(FEATURES)])


def near(expected):
    return pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("r", [0.1, 3.0])
def test_arow_regression_is_weighted_least_squares(r):
    """w minimises |w|²/a + Σ weight·(y - ⟨w, x⟩)²/r."""
    model = rm.AROWRegressor(r, eps=0.0, a=0.5, covariance="full", intercept=False)
    A, b = np.eye(FEATURES) / 0.5, np.zeros(FEATURES)
    for x, y, w in rows(1):
        model.learn_one(dict(enumerate(x.tolist())), y, w=w)
        A, b = A + w * np.outer(x, x) / r, b + w * y * x / r
        assert weights_of(model) == near(np.linalg.solve(A, b))


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_arow_pays_r_by_w_for_the_loss(covariance):
    """With a loss, w' minimises (w' - w)'Σ⁻¹(w' - w) + weight·(1 - y⟨w', x⟩)²/r."""
    model = rm.AROWClassifier(r=0.5, covariance=covariance, classes=[False, True], intercept=False)
    precision, mean = np.eye(FEATURES), np.zeros(FEATURES)
    for x, y, w in rows(2):
        learn(model, x, y, w)
        if y * (mean @ x) < 1:
            grown = precision + w * np.outer(x, x) / 0.5
            mean = np.linalg.solve(grown, precision @ mean + w * y * x / 0.5)
            precision = grown if covariance == "full" else np.diag(np.diag(grown))
        assert weights_of(model) == near(mean)


def test_narow_adds_w_times_its_matrix_and_its_gradient():
    """Orabona & Crammer 2010: r of each example is v/(bv - 1) where bv > 1, and the example does not count else."""
    model, b = rm.NAROWClassifier(b=2.0, covariance="full", classes=[False, True], intercept=False), 2.0
    precision, theta = np.eye(FEATURES), np.zeros(FEATURES)
    for x, y, w in rows(3):
        v = x @ np.linalg.solve(precision, x)
        one_by_r = (b * v - 1) / v if b * v > 1 else 0.0
        learn(model, x, y, w)
        if y * (theta @ np.linalg.solve(precision + one_by_r * np.outer(x, x), x)) < 1:
            precision, theta = precision + w * one_by_r * np.outer(x, x), theta + w * y * x
        assert weights_of(model) == near(np.linalg.solve(precision, theta))


@pytest.mark.parametrize("make", [rm.SecondOrderPerceptron, rm.KernelSecondOrderPerceptron])
def test_the_second_order_perceptron_counts_an_example_w_times(make):
    """With every label it is least squares: w minimises |w|² + Σ weight·(y - ⟨w, x⟩)²."""
    linear = make is rm.SecondOrderPerceptron
    options = {"covariance": "full"} if linear else {"kernel": rm.LinearKernel()}
    model = make(every_label=True, classes=[False, True], intercept=False, **options)
    A, b = np.eye(FEATURES), np.zeros(FEATURES)
    for x, y, w in rows(4):
        ahead = np.linalg.solve(A + np.outer(x, x), b)  # a score has the example once in the matrix
        assert model.score_one(dict(enumerate(x.tolist()))) == pytest.approx(ahead @ x, rel=1e-9, abs=1e-9)
        learn(model, x, y, w)
        A, b = A + w * np.outer(x, x), b + w * y * x
        if linear:
            assert weights_of(model) == near(np.linalg.solve(A, b))


@pytest.mark.parametrize("project", [False, True])
def test_pegasos_takes_w_times_the_gradient_of_its_round(project):
    """The gradient of lam·|w|²/2 + loss at the rate weight/(lam·t), at most 1/lam, where nothing of w is left."""
    lam = 0.1
    model = rm.PegasosClassifier(lam, project=project, classes=[False, True], intercept=False)
    expected = np.zeros(FEATURES)
    for t, (x, y, w) in enumerate(rows(5), 1):
        learn(model, x, y, w)
        gradient = lam * expected - (y * x if y * (expected @ x) < 1 else 0.0)
        expected = expected - min(w / t, 1.0) / lam * gradient
        if project:
            expected = expected * min(1.0, 1 / np.sqrt(lam) / max(np.linalg.norm(expected), 1e-300))
        assert weights_of(model) == near(expected)


def test_pegasos_ends_at_the_weighted_svm():
    """Many passes over a few weighted examples: the objective is near its minimum, found here by subgradients of it."""
    lam, examples = 0.1, [(x, y, w) for x, y, w in rows(6, count=20) if w > 0]

    def objective(u):
        losses = [w * max(0.0, 1 - y * (u @ x)) for x, y, w in examples]
        return lam * (u @ u) / 2 + sum(losses) / sum(w for _, _, w in examples)

    model, best, u = rm.PegasosClassifier(lam, classes=[False, True], intercept=False), np.inf, np.zeros(FEATURES)
    share = sum(w for _, _, w in examples) / len(examples)
    for _ in range(1000):
        for x, y, w in examples:
            learn(model, x, y, w / share)  # a mean weight of 1, as t counts rounds
    for t in range(1, 20_000):
        slopes = sum(w * y * x for x, y, w in examples if y * (u @ x) < 1) / sum(w for _, _, w in examples)
        u = u - (lam * u - slopes) / (lam * t)
        best = min(best, objective(u))
    assert objective(weights_of(model)) == pytest.approx(best, rel=0.01)


def soft(value, threshold):
    return np.sign(value) * np.maximum(np.abs(value) - threshold, 0.0)


def test_ftrl_weighs_the_gradient():
    """McMahan et al. 2013, algorithm 1, with the gradient weight·(-y·x) of a hinge loss."""
    alpha, beta, l1, l2 = 0.2, 1.0, 0.3, 0.1
    model = rm.FTRLProximalClassifier(
        alpha, beta=beta, l1=l1, l2=l2, loss="hinge", classes=[False, True], intercept=False
    )
    z, n = np.zeros(FEATURES), np.zeros(FEATURES)
    for x, y, w in rows(7):
        u = -soft(z, l1) / ((beta + np.sqrt(n)) / alpha + l2)
        assert weights_of(model) == near(u)
        learn(model, x, y, w)
        g = -w * y * x if y * (u @ x) < 1 else np.zeros(FEATURES)
        z, n = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) / alpha * u, n + g * g


def test_dual_averaging_weighs_loss_and_regularisation():
    """Duchi et al. 2011, section 5: w minimises ⟨Σ g, w⟩ + Σ weight·lam·|w|_1 + Σ H·w²/(2·lr)."""
    lr, delta, lam = 0.3, 1.0, 0.02
    model = rm.AdaGradRDAClassifier(lr, delta=delta, lam=lam, classes=[False, True], intercept=False)
    total, squares, threshold = np.zeros(FEATURES), np.zeros(FEATURES), 0.0
    for x, y, w in rows(8):
        u = -soft(total, threshold) * lr / (delta + np.sqrt(squares))
        assert weights_of(model) == near(u)
        learn(model, x, y, w)
        g = -w * y * x if y * (u @ x) < 1 else np.zeros(FEATURES)
        total, squares, threshold = total + g, squares + g * g, threshold + w * lam


def test_fobos_with_rates_weighs_loss_and_regularisation():
    """Duchi et al. 2011, section 5: w' minimises ⟨g, w'⟩ + weight·lam·|w'|_1 + Σ H·(w' - w)²/(2·lr)."""
    lr, delta, lam = 0.3, 1.0, 0.02
    model = rm.FOBOSClassifier(lr, lam=lam, delta=delta, schedule="adagrad", classes=[False, True], intercept=False)
    u, squares = np.zeros(FEATURES), np.zeros(FEATURES)
    for x, y, w in rows(9):
        learn(model, x, y, w)
        g = -w * y * x if y * (u @ x) < 1 else np.zeros(FEATURES)
        squares = squares + g * g
        rate = lr / (delta + np.sqrt(squares))
        u = soft(u - rate * g, rate * w * lam)
        assert weights_of(model) == near(u)


def rare(rounds=6000):
    """Two positive labels in a hundred, whose examples lie apart from the others but among them, too."""
    random = np.random.default_rng(10)
    for y in random.random(rounds) < 0.02:
        yield dict(enumerate((random.normal(size=FEATURES) + (1.2 if y else 0.0)).tolist())), bool(y)


def found_and_wrong(model, weight):
    """How many positive labels are predicted, and how many labels are not, if positive ones have this weight."""
    found = wrong = 0
    for x, y in rare():
        predicted = model.predict_one(x)
        found, wrong = found + (predicted and y), wrong + (predicted != y)
        model.learn_one(x, y, w=weight if y else 1.0)
    return found, wrong


@pytest.mark.parametrize("make", [rm.AROWClassifier, rm.SecondOrderPerceptron, rm.PegasosClassifier, rm.ALMAClassifier])
def test_a_heavy_class_is_found_more_often(make):
    light, heavy = (found_and_wrong(make(classes=[False, True], intercept=True), weight)[0] for weight in (1.0, 20.0))
    assert heavy > light


@pytest.mark.parametrize("make", [rm.AROWClassifier, rm.FTRLProximalClassifier, rm.NHERDClassifier])
def test_the_f1_of_a_rare_class_rises_with_its_weight(make):
    """These rules fit all labels, so without weights they predict the frequent one; the others learn from mistakes."""
    scores = []
    for weight in (1.0, 5.0):
        found, wrong = found_and_wrong(make(classes=[False, True], intercept=True), weight)
        scores.append(2 * found / (2 * found + wrong))  # what is wrong are the false positives and the false negatives
    assert scores[1] > scores[0] + 0.2


@pytest.mark.parametrize(
    "model",
    [
        rm.PAClassifier(mode=0),
        rm.CWClassifier(),
        rm.ROMMAClassifier(),
        rm.IELLIPClassifier(),
        rm.MIRAClassifier(original=True),
        rm.Forgetron(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rules_without_a_price_refuse_weights(model):
    with pytest.raises(
        ValueError, match=r"takes no sample weights, .*: leave out a sample weight of 2.0, or use a learner"
    ):
        model.learn_one({"a": 1.0}, True, w=2.0)


@pytest.mark.parametrize("space", [None, rm.RandomFourier(0.1)], ids=repr)
def test_a_weight_of_0_is_not_a_projection(space):
    model = rm.MarginClassifier(rm.GradientDescent(radius=1.0), space)
    model.learn_one({"a": 1.0}, True)
    model.mutate({"rule": {"radius": 0.1}})
    before = pickle.dumps(model.__getstate__()["space"])
    model.learn_one({"new": 1.0}, True, w=0.0)
    assert pickle.dumps(model.__getstate__()["space"]) == before


def test_a_normalised_step_of_least_mean_squares_ends_at_the_target_with_any_weight():
    """Beyond twice the way, a series of steps diverges."""
    model, x = rm.AdalineRegressor(), {"a": 1.0, "b": -2.0}
    for _ in range(10):
        model.learn_one(x, 3.0, w=100.0)
    assert model.predict_one(x) == pytest.approx(3.0)
    assert rm.LeastMeanSquares(1.5, normalised=True).step(rm.Seen(target=1.0, gain=1.0)).step == pytest.approx(1.5)


@pytest.mark.parametrize("w", [5e-324, 1e-300, 1e-200, 1e-150])
@pytest.mark.parametrize("mode", [1, 2])
def test_scw_takes_weights_next_to_0(mode, w):
    model = rm.SCWClassifier(mode=mode)
    model.learn_one({"a": 1.0}, True, w=w)
    assert model.n_seen == 1 and abs(model.score_one({"a": 1.0})) < 1e-100
    model.learn_one({"a": 1.0}, True)
    assert model.score_one({"a": 1.0}) > 0.1
