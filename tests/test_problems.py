"""Each update solves the problem that defines it, as a generic solver finds it that knows no closed form."""

import numpy as np
import pytest
from scipy.optimize import minimize

import river_margins as rm
from tests.learners import CLASSES, FORMS

ROUNDS, WARM_UP = 30, 6
LABELS = {"binary": [False, True], "multiclass": CLASSES}


def passive_aggressive(penalty):
    """min |w' - w|²/2 + penalty(C, ξ) so that demands·w' >= targets - ξ and ξ >= 0; without a penalty there is no ξ."""

    def solve(w, demands, targets, C):
        def objective(z):
            return ((z[:-1] - w) ** 2).sum() / 2 + (penalty(C, z[-1]) if penalty else 0.0)

        return minimum(objective, w, np.c_[demands, np.full(len(demands), float(penalty is not None))], targets)

    return solve


def shortest(acts):
    """min |w'|² so that demands·w' >= targets and ⟨w, w'⟩ >= |w|², where the margin makes the rule act."""

    def solve(w, demands, targets, C):
        if not acts(demands[0] @ w):
            return w
        rows = np.c_[np.vstack([demands, w]), np.zeros(len(demands) + 1)]
        return minimum(lambda z: (z[:-1] ** 2).sum(), w, rows, np.append(targets, w @ w))

    return solve


PROBLEMS = {
    "PA": passive_aggressive(None),
    "PA-I": passive_aggressive(lambda C, slack: C * slack),
    "PA-II": passive_aggressive(lambda C, slack: C * slack**2),
    "ROMMA": shortest(lambda margin: margin <= 0),
    "aggressive ROMMA": shortest(lambda margin: margin < 1),
}


def minimum(objective, w, rows, targets):
    """The w' of the best z = (w', ξ) with rows·z >= targets and ξ >= 0."""
    met = {"type": "ineq", "fun": lambda z: rows @ z - targets, "jac": lambda z: rows}
    slack = {"type": "ineq", "fun": lambda z: z[-1:]}
    start = np.append(w, 1.0)
    found = minimize(
        objective, start, method="SLSQP", constraints=[met, slack], options={"ftol": 1e-16, "maxiter": 500}
    )
    return found.x[:-1]


def demands_of(task, x, y, w, eps):
    """What a label demands of w': rows and targets with rows·w' >= targets."""
    if task == "binary":
        return np.array([x if y else -x]), np.array([1.0])
    if task == "regression":
        return np.array([x, -x]), np.array([y - eps, -y - eps])
    scores, true = w.reshape(len(CLASSES), -1) @ x, CLASSES.index(y)
    rival = max((k for k in range(len(CLASSES)) if k != true), key=lambda k: scores[k])
    row = np.zeros((len(CLASSES), len(x)))
    row[true], row[rival] = x, -x
    return row.reshape(1, -1), np.array([1.0])


def flat(weights, task, features):
    vectors = [weights.get(label, {}) for label in CLASSES] if task == "multiclass" else [weights]
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
    return before, flat(model.weights, form.task, features), demands_of(form.task, row, y, before, eps), C


@pytest.mark.parametrize("intercept", [False, True], ids=["bare", "intercept"])
@pytest.mark.parametrize("form", [form for form in FORMS if form.learner.problem], ids=str)
def test_an_update_solves_its_problem(form, intercept):
    moved = 0
    for seed in range(ROUNDS):
        before, after, (rows, targets), C = learn_to_the_last_round(form, intercept, seed)
        best = PROBLEMS[form.learner.problem](before, rows, targets, C)
        assert np.linalg.norm(after - best) <= 1e-5 * max(1.0, np.linalg.norm(best))
        moved += (after != before).any()
    assert moved >= ROUNDS / 4
