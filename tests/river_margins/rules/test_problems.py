"""Each update solves the problem that defines it, as a generic solver finds it that knows no closed form."""

import numpy as np
import pytest
from scipy.optimize import minimize

import river_margins as rm
from tests.bounds.runs import LABELS
from tests.learners import CLASSES, FORMS, SEVERAL

ROUNDS, WARM_UP = 30, 6
PENALTIES = {"PA": None, "PA-I": lambda C, slack: C * slack, "PA-II": lambda C, slack: C * slack**2}


def passive_aggressive(penalty):
    """min |w' - w|²/2 + penalty(C, ξ) so that demands·w' >= targets - ξ and ξ >= 0; without a penalty there is no ξ."""

    def solve(w, demands, targets, C):
        def objective(z):
            return ((z[:-1] - w) ** 2).sum() / 2 + (penalty(C, z[-1]) if penalty else 0.0)

        def slope(z):
            costs = (penalty(C, z[-1] + 1e-6) - penalty(C, z[-1] - 1e-6)) / 2e-6 if penalty else 0.0
            return np.append(z[:-1] - w, costs)

        return minimum(objective, w, np.c_[demands, np.full(len(demands), float(penalty is not None))], targets, slope)

    return solve


def infused(w, demands, targets, C):
    """PA-I with a slack for each demand."""
    count = len(demands)

    def objective(z):
        return ((z[: len(w)] - w) ** 2).sum() / 2 + C * z[len(w) :].sum()

    def slope(z):
        return np.append(z[: len(w)] - w, np.full(count, C))

    return minimum(objective, w, np.c_[demands, np.eye(count)], targets, slope, slacks=count)


def shortest_new(w, demands, targets, C):
    """min |w + Σ tau·d|² so that tau >= 0 and Σ tau <= 1; w' = w where w = 0 would never move."""
    if not w.any():
        return w + demands[0]
    within = {"type": "ineq", "fun": lambda tau: 1.0 - tau.sum()}
    found = minimize(
        lambda tau: ((w + tau @ demands) ** 2).sum(),
        np.full(len(demands), 0.1),
        method="SLSQP",
        bounds=[(0.0, None)] * len(demands),
        constraints=[within],
        options={"ftol": 1e-16, "maxiter": 500},
    )
    return w + found.x @ demands


def within_reach(name, w, point, eps, C):
    """min |w' - w|²/2 + penalty(C, ξ) so that |w' - x| <= eps + ξ and ξ >= 0."""
    penalty = PENALTIES[name]

    def objective(z):
        return ((z[:-1] - w) ** 2).sum() / 2 + (penalty(C, z[-1]) if penalty else 0.0)

    near = {
        "type": "ineq",
        "fun": lambda z: [eps + (z[-1] if penalty else 0.0) - np.linalg.norm(z[:-1] - point)],
    }
    slack = {"type": "ineq", "fun": lambda z: z[-1:]}
    start = np.append(point + 1e-3, np.linalg.norm(point - w))
    options = {"ftol": 1e-16, "maxiter": 500}
    return minimize(objective, start, method="SLSQP", constraints=[near, slack], options=options).x[:-1]


def shortest(acts):
    """min |w'|² so that demands·w' >= targets and ⟨w, w'⟩ >= |w|², where the margin makes the rule act."""

    def solve(w, demands, targets, C):
        if not acts(demands[0] @ w):
            return w
        rows = np.c_[np.vstack([demands, w]), np.zeros(len(demands) + 1)]
        return minimum(
            lambda z: (z[:-1] ** 2).sum(), w, rows, np.append(targets, w @ w), lambda z: 2 * np.append(z[:-1], 0)
        )

    return solve


PROBLEMS = {
    **{name: passive_aggressive(penalty) for name, penalty in PENALTIES.items()},
    "MIRA": infused,
    "original MIRA": shortest_new,
    "ROMMA": shortest(lambda margin: margin <= 0),
    "aggressive ROMMA": shortest(lambda margin: margin < 1),
}


def minimum(objective, w, rows, targets, slope=None, slacks=1):
    """The w' of the best z = (w', ξ) with rows·z >= targets and ξ >= 0."""
    met = {"type": "ineq", "fun": lambda z: rows @ z - targets, "jac": lambda z: rows}
    unit = np.eye(len(w) + slacks)[len(w) :]
    slack = {"type": "ineq", "fun": lambda z: z[len(w) :], "jac": lambda z: unit}
    start, options = np.append(w, np.ones(slacks)), {"ftol": 1e-13, "maxiter": 500}
    found = minimize(objective, start, method="SLSQP", jac=slope, constraints=[met, slack], options=options)
    return found.x[: len(w)]


def demands_of(task, x, y, w, eps, rivals):
    """What a label demands of w': rows and targets with rows·w' >= targets."""
    if task == "binary":
        return np.array([x if y else -x]), np.array([1.0])
    if task == "regression":
        return np.array([x, -x]), np.array([y - eps, -y - eps])
    scores = w.reshape(len(CLASSES), -1) @ x
    holds = [y[k] if task == "multilabel" else k == y for k in CLASSES]
    low = min(np.flatnonzero(holds), key=lambda k: scores[k])
    high = sorted(np.flatnonzero(~np.array(holds)), key=lambda k: -scores[k])[:rivals]
    rows = np.zeros((len(high), len(CLASSES), len(x)))
    for row, rival in zip(rows, high, strict=True):
        row[low], row[rival] = x, -x
    return rows.reshape(len(high), -1), np.ones(len(high))


def flat(weights, task, features):
    vectors = [weights.get(label, {}) for label in CLASSES] if task in SEVERAL else [weights]
    return np.array([vector.get(feature, 0.0) for vector in vectors for feature in features])


def learn_to_the_last_round(form, intercept, seed):
    """A few rounds at random: the weights before and after the last, and what is asked of that one."""
    draw = np.random.default_rng(seed)
    dimension, C, eps = int(draw.integers(1, 7)), 10.0 ** draw.uniform(-2, 1), draw.uniform(0, 1)
    given = {"C": C, "eps": eps}
    model = form.make(intercept=intercept, **{name: given[name] for name in given if name in form.learner.free})
    features = [*range(dimension), *([rm.INTERCEPT] if intercept else [])]
    before = np.zeros(len(features))
    for _ in range(WARM_UP):
        x = draw.normal(size=dimension)
        y = draw.normal() if form.task == "regression" else draw.choice(LABELS[form.task])
        before = flat(model.weights, form.task, features)
        model.learn_one(dict(enumerate(x.tolist())), y)
    row = np.append(x, 1.0) if intercept else x
    demanded = demands_of(form.task, row, y, before, eps, form.learner.rivals)
    return before, flat(model.weights, form.task, features), demanded, C


@pytest.mark.parametrize("intercept", [False, True], ids=["bare", "intercept"])
@pytest.mark.parametrize("form", [form for form in FORMS if form.learner.problem and form.task != "one-class"], ids=str)
def test_an_update_solves_its_problem(form, intercept):
    moved = 0
    for seed in range(ROUNDS):
        before, after, (rows, targets), C = learn_to_the_last_round(form, intercept, seed)
        best = PROBLEMS[form.learner.problem](before, rows, targets, C)
        assert np.linalg.norm(after - best) <= 1e-5 * max(1.0, np.linalg.norm(best))
        moved += (after != before).any()
    assert moved >= ROUNDS / 4


@pytest.mark.parametrize("form", [form for form in FORMS if form.learner.problem and form.task == "one-class"], ids=str)
def test_an_update_for_one_class_solves_its_problem(form):
    moved = 0
    for seed in range(ROUNDS):
        draw = np.random.default_rng(seed)
        dimension, C, eps = int(draw.integers(1, 7)), 10.0 ** draw.uniform(-2, 1), draw.uniform(0.1, 2)
        given = {"C": C, "eps": eps}
        model = form.make(**{name: given[name] for name in form.learner.free})
        for point in draw.normal(size=(WARM_UP, dimension)):
            before = flat(model.weights, form.task, range(dimension))
            model.learn_one(dict(enumerate(point.tolist())))
        after = flat(model.weights, form.task, range(dimension))
        best = within_reach(form.learner.problem, before, point, eps, C)
        assert np.linalg.norm(after - best) <= 1e-5 * max(1.0, np.linalg.norm(best))
        moved += (after != before).any()
    assert moved >= ROUNDS / 4


def test_mira_demands_of_the_best_scoring_wrong_classes_only():
    """Two of the four wrong classes, which change from round to round."""
    classes, features, C, best, random = 5, 3, 0.3, 2, np.random.default_rng(2)
    model, kinds = rm.MIRAClassifier(C=C, best=best, classes=list(range(classes)), intercept=False), set()
    W = np.zeros((classes, features))
    for _ in range(ROUNDS):
        x, y = random.normal(size=features), int(random.integers(classes))
        scores = W @ x
        wrong = sorted((k for k in range(classes) if k != y), key=lambda k: -scores[k])[:best]
        demands = [np.outer(np.eye(classes)[y] - np.eye(classes)[k], x).ravel() for k in wrong]
        expected = infused(W.ravel(), np.array(demands), np.ones(best), C)
        model.learn_one(dict(enumerate(x.tolist())), y)
        W = np.array([[model.weights[k].get(i, 0.0) for i in range(features)] for k in range(classes)])
        assert W.ravel() == pytest.approx(expected[: W.size], abs=1e-6)
        kinds.add(frozenset(wrong))
    assert len(kinds) > 3
