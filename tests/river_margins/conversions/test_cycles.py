"""Cycling ends on separable samples, with whole-number coefficients, within the perceptron's bound."""

import numpy as np
import pytest
from river import compose, multiclass, naive_bayes

import river_margins as rm
from river_margins.conversions import (
    batch_adaline,
    batch_perceptron,
    cycle,
    hildreth,
    incremental_kernel_perceptron,
    svm,
)


def separable(seed, count=25, dimension=4, gap=0.3):
    random = np.random.default_rng(seed)
    X, target = random.normal(size=(200, dimension)), random.normal(size=dimension)
    target /= np.linalg.norm(target)
    X = X[np.abs(X @ target) > gap][:count]
    return X, np.sign(X @ target)


def records(X, y):
    return [(dict(enumerate(row)), bool(label > 0)) for row, label in zip(X.tolist(), y, strict=True)]


@pytest.mark.lecture("incremental-perceptron")
@pytest.mark.parametrize("seed", range(8))
def test_a_cycled_perceptron_makes_no_error_and_counts_in_whole_numbers(seed):
    X, y = separable(seed)
    model = rm.Perceptron(lr=0.5, intercept=False)
    epochs, updates, converged = cycle(model, records(X, y))
    assert converged and updates == model.n_updates
    w = np.array([model.weights[i] for i in range(4)])
    assert (y * (X @ w) > 0).all()
    counts = incremental_kernel_perceptron(X @ X.T, y)  # the same examples in the same order: the same mistakes
    assert counts.converged and counts.epochs == epochs - 1 and counts.weights.sum() == updates
    assert (counts.weights == counts.weights.astype(int)).all() and (counts.weights >= 0).all()
    assert 0.5 * (counts.weights * y) @ X == pytest.approx(w, rel=1e-9, abs=1e-12)
    widest = svm(X, y)
    longest = (X**2).sum(axis=1).max()
    assert updates <= longest * widest.weights @ widest.weights * (1 + 1e-6)


def test_cycling_stops_where_nothing_separates():
    data = [({"a": 1.0}, True), ({"a": 1.0}, False)]
    assert cycle(rm.Perceptron(intercept=False), data, max_epochs=7) == (7, 14, False)
    assert not cycle(naive_bayes.GaussianNB(), data, max_epochs=3).converged
    with pytest.raises(ValueError, match="`max_epochs`"):
        cycle(rm.Perceptron(), data, max_epochs=0)


@pytest.mark.parametrize(
    "within",
    [
        lambda learner: learner,
        lambda learner: compose.Select("a", "b") | learner,
        rm.Conservative,
        rm.Averaged,
        lambda learner: rm.MarginSampler(learner, margin=1e9),
    ],
    ids=["bare", "pipeline", "Conservative", "Averaged", "sampler"],
)
def test_labels_with_names_cycle_as_bools_do(within):
    rows = [({"a": 1.0, "b": 1.0}, True), ({"a": 1.0, "b": -1.0}, False), ({"a": 2.0, "b": 1.0}, True)]
    named = [(x, "spam" if y else "ham") for x, y in rows]
    expected = cycle(within(rm.Perceptron(intercept=False)), rows, max_epochs=20)
    assert expected.converged
    assert cycle(within(rm.Perceptron(classes=["ham", "spam"], intercept=False)), named, max_epochs=20) == expected


def test_a_pipeline_without_scores_cycles_by_labels():
    rows = [({"a": 1.0}, "x"), ({"a": -1.0}, "y"), ({"a": 1.5}, "x"), ({"a": -1.5}, "y")]
    assert cycle(compose.Select("a") | naive_bayes.GaussianNB(), rows).converged


def test_every_learner_with_a_bound_ends_without_an_error():
    X, y = separable(3)
    makes = (rm.PAClassifier, rm.ROMMAClassifier, rm.ALMAClassifier, rm.MarginPerceptron, rm.SecondOrderPerceptron)
    for make in makes:
        model = make()
        assert cycle(model, records(X, y)).converged
        assert all(model.predict_one(x) == label for x, label in records(X, y))


# ------------------------------------------------------------------------------------------------- batch forms


@pytest.mark.lecture("batch-perceptron", "batch-margin")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_the_batch_perceptron_ends_with_all_margins(seed, margin):
    X, y = separable(seed, count=12)
    w, epochs, converged = batch_perceptron(X, y, margin=margin, lr=0.3)
    assert converged and (y * (X @ w) > margin).all()
    if not margin:
        u = svm(X, y).weights
        assert epochs <= len(X) ** 2 * (X**2).sum(axis=1).max() * (u @ u)


@pytest.mark.lecture("batch-perceptron")
def test_the_batch_perceptron_by_hand():
    """w = (1, 1) - (-1, 0) in the first pass, with the margins 3 and 2."""
    assert batch_perceptron([[1.0, 1.0], [-1.0, 0.0]], [1, -1])[0].tolist() == [2.0, 1.0]
    assert batch_perceptron([[1.0], [1.0]], [1, -1], max_epochs=5)[1:] == (5, False)
    with pytest.raises(ValueError, match="`y` must have the labels"):
        batch_perceptron([[1.0]], [0])


@pytest.mark.lecture("batch-adaline")
def test_batch_adaline_converges_below_twice_the_inverse_of_the_largest_eigenvalue_and_diverges_above():
    draw = np.random.default_rng(1)
    X, y = draw.normal(size=(30, 4)), draw.normal(size=30)
    largest = np.linalg.eigvalsh(X.T @ X)[-1]
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    for share in (0.5, 1.0, 1.9, None):
        found = batch_adaline(X, y, lr=share and share / largest)
        assert found.converged and found.weights == pytest.approx(best, rel=1e-8)
    with pytest.raises(OverflowError, match="`lr`"):
        batch_adaline(X, y, lr=2.1 / largest, max_epochs=100_000)
    assert not batch_adaline(X, y, lr=2.1 / largest, max_epochs=50).converged


@pytest.mark.lecture("incremental-kernel")
def test_the_kernel_perceptron_separates_what_no_hyperplane_does():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    gram = (1 + X @ X.T) ** 2
    counts = incremental_kernel_perceptron(gram, y)
    assert counts.converged and (y * (gram @ (counts.weights * y)) > 0).all()
    assert not incremental_kernel_perceptron(X @ X.T, y, max_epochs=50).converged


# ----------------------------------------------------------------------------------------- quadratic programmes


@pytest.mark.lecture("hildreth")
@pytest.mark.parametrize("seed", range(5))
def test_hildreth_finds_the_nearest_point(seed):
    """By another solver, which minimises the distance under the constraints."""
    from scipy.optimize import minimize

    draw = np.random.default_rng(seed)
    w, rows = draw.normal(size=4), draw.normal(size=(6, 4))
    targets = rows @ draw.normal(size=4) - draw.random(6)  # some point has all of them
    found = hildreth(w, rows, targets)
    assert found.converged and (rows @ found.point >= targets - 1e-8).all()
    assert found.point == pytest.approx(w + found.multipliers @ rows, abs=1e-9)
    constraint = {"type": "ineq", "fun": lambda v: rows @ v - targets, "jac": lambda v: rows}
    other = minimize(
        lambda v: ((v - w) ** 2).sum() / 2, w, jac=lambda v: v - w, constraints=constraint, options={"ftol": 1e-15}
    )
    assert found.point == pytest.approx(other.x, abs=1e-6)


def test_one_half_space_is_a_step_of_pa():
    model = rm.PAClassifier(mode=0, intercept=False)
    w, x = {"a": 0.5, "b": -1.0}, {"a": 2.0, "b": 1.0}
    model.weights = w
    model.learn_one(x, True)
    assert hildreth([0.5, -1.0], [[2.0, 1.0]], [1.0]).point == pytest.approx([*model.weights.values()])


def test_without_multipliers_the_point_found_is_another():
    """Passes of PA find a point in all half-spaces, and not the nearest one."""
    rows, targets, w = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 3.0]), np.zeros(2)
    for _ in range(50):
        for row, target in zip(rows, targets, strict=True):
            w = w + max(0.0, target - row @ w) / (row @ row) * row
    nearest = hildreth([0.0, 0.0], rows, targets).point
    assert (rows @ w >= targets - 1e-9).all() and np.linalg.norm(w) > np.linalg.norm(nearest) + 0.1


@pytest.mark.lecture("svm-objective")
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_svm_is_scikit_learns(C):
    from sklearn.svm import LinearSVC

    draw = np.random.default_rng(5)
    X = draw.normal(size=(60, 3))
    y = np.where(X[:, 0] + draw.normal(size=60) >= 0, 1.0, -1.0)
    found = svm(X, y, C)
    assert found.primal - found.dual <= 1e-7 * found.primal
    other = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    assert found.weights == pytest.approx(other.coef_[0], abs=1e-4)
    assert (found.multipliers >= 0).all() and (found.multipliers <= C).all()


def test_its_first_pass_is_pa1():
    X, y = separable(1)
    model = rm.PAClassifier(C=0.2, intercept=False)
    for x, label in records(X, y):
        model.learn_one(x, label)
    assert svm(X, y, 0.2, max_sweeps=1).weights == pytest.approx([model.weights[i] for i in range(4)])


@pytest.mark.lecture("svm-objective")
def test_the_widest_margin_by_hand():
    """(2, 0) and (0, 0) moved by the border x = 1 + a constant: w = (1, -1) on (x, 1), of which |w|²/2 = 1."""
    found = svm([[2.0, 1.0], [0.0, 1.0]], [1, -1])
    assert found.weights == pytest.approx([1.0, -1.0], abs=1e-6)
    assert found.primal == pytest.approx(1.0) == found.dual
    assert svm([[1.0], [1.0]], [1, -1], max_sweeps=20).primal == np.inf


def test_a_wrapper_of_river_around_a_learner_with_scores_cycles_by_labels():
    rows = [({"a": 1.0}, "x"), ({"a": -1.0}, "y")]
    assert cycle(multiclass.OneVsRestClassifier(rm.PAClassifier()), rows).converged
    model = rm.Conservative(multiclass.OneVsRestClassifier(rm.PAClassifier()))
    for x, y in rows:
        model.learn_one(x, y)
    assert model.n_seen == 2


def test_svm_refuses_labels_that_are_not_signs():
    with pytest.raises(ValueError, match=r"labels \+1 and -1"):
        svm([[1.0, 0.0], [0.0, 1.0]], [True, False], C=1.0)


@pytest.mark.parametrize("price", [0.0, -0.25, np.nan])
def test_a_price_that_is_none_is_refused(price):
    with pytest.raises(ValueError, match="`C` must be a number above 0 or infinite"):
        svm([[2.0], [-1.0]], [1, -1], C=price)
    with pytest.raises(ValueError, match="`largest` must be a number above 0 or infinite"):
        hildreth([0.0], [[1.0]], [1.0], largest=price)


def test_hildreth_refuses_a_point_of_another_length_than_the_rows():
    with pytest.raises(ValueError, match=r"`w` must be a vector of 2 numbers, .*, not of shape \(1,\)"):
        hildreth([0.0], [[1.0, 2.0]], [1.0])


def test_cycle_refuses_a_regressor():
    with pytest.raises(TypeError, match=r"`learner` must be a classifier, such as Perceptron\(\), not a PARegressor"):
        cycle(rm.PARegressor(), [({"a": 1.0}, 2.0)])
