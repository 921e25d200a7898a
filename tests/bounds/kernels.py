"""The space of a kernel with coordinates: on finitely many points it is an ordinary one.

With the Gram matrix G = ZZ', the rows of Z are the points there, and Z'c is the w of supports with coefficients c. So a
run of a kernel learner is a run on Z, for which everything holds that the papers prove.
"""

import math

import numpy as np

import river_margins as rm
from river_margins.theory import bounds
from tests.bounds.runs import Run, spoken, worst_label
from tests.learners import CLASSES

KERNELS = {
    "RBF": rm.RBF(0.5),
    "Laplace": rm.Laplace(0.3),
    "polynomial": rm.Polynomial(2, gamma=0.5),
    "linear": rm.LinearKernel(),
    "a user's": lambda x, z: 1.0 / (1.0 + sum((x.get(f, 0.0) - z.get(f, 0.0)) ** 2 for f in x | z)),
}


def records(X):
    return [{f"f{i}": value for i, value in enumerate(row) if value} for row in X.tolist()]


def coordinates(kernel, points):
    """Z with ZZ' = G."""
    gram = np.array([[kernel(x, z) for x in points] for z in points])
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def vector(model, task, points, Z):
    """w in coordinates, all classes in a row."""
    blocks = CLASSES if task == "multiclass" else [None]
    w = np.zeros((len(blocks), Z.shape[1]))
    for x, coefficient in model.supports:
        row = Z[points.index(x)]
        for block, label in enumerate(blocks):
            w[block] += (coefficient if label is None else coefficient[label]) * row
    return w.ravel()


def play(model, task, points, Z, order, labels, parameters):
    """The run of a kernel learner on points in some order; without labels an adversary chooses them."""
    scores, said, mistaken, updated, weights = (
        [],
        [],
        [],
        [],
        [np.zeros(Z.shape[1] * (3 if task == "multiclass" else 1))],
    )
    for number, place in enumerate(order):
        score = model.score_one(points[place])
        scores.append([score[k] for k in CLASSES] if task == "multiclass" else [score])
        label = worst_label(task, scores[-1]) if labels is None else labels[number]
        before = model.n_mistakes, model.n_updates
        model.learn_one(points[place], float(label) if task == "regression" else spoken(task, label))
        mistaken.append(model.n_mistakes > before[0])
        updated.append(model.n_updates > before[1])
        said.append(label)
        weights.append(vector(model, task, points, Z))
    return Run(
        task,
        Z[order],
        np.array(said, dtype=int if task == "multiclass" else float),
        np.array(scores),
        np.array(mistaken),
        np.array(updated),
        np.array(weights),
        parameters,
    )


# -------------------------------------------------------------------------------------------- what is proved


def forgetron(run, u, _):
    """Dekel et al. 2008, for k(x, x) <= 1, B >= 83 and |u| <= sqrt((B + 1)/ln(B + 1))/4: M <= 2U² + 4L."""
    B = run.parameters["budget"]
    longest = math.sqrt((B + 1) / math.log(B + 1)) / 4
    u = u * min(1.0, longest / max(np.linalg.norm(u), 1e-300))
    yield run.mistaken.sum(), bounds.forgetron_mistakes(np.linalg.norm(u), run.losses_of(u).sum(), B)


def projectron(run, u, _):
    """Orabona et al. 2009, for k(x, x) <= 1 and eta·U < 1: sqrt(M) <= (U + sqrt(U² + 4(1 - eta·U)L))/(2(1 - eta·U))."""
    U, eta = np.linalg.norm(u), run.parameters["eta"]
    if eta * U < 1:
        yield run.mistaken.sum(), bounds.projectron_mistakes(U, run.losses_of(u).sum(), eta)


def projectron_plus_plus(run, u, _):
    """The same for Projectron++ with eta·U < 1/2: M <= (U² + 2L)/(1 - 2·eta·U)."""
    U, eta = np.linalg.norm(u), run.parameters["eta"]
    if eta * U < 0.5:
        yield run.mistaken.sum(), bounds.projectron_plus_plus_mistakes(U, run.losses_of(u).sum(), eta)


def budgeted_descent(run, u, model):
    """|w| <= X(1 - (1 - lr·lam)^B)/lam; and the regret of gradient descent, with what the removals cost."""
    lr, lam, B = (run.parameters[name] for name in ("lr", "lam", "budget"))
    X, U = math.sqrt(run.longest), np.linalg.norm(u)
    yield np.sqrt(run.sizes), np.full(run.rounds + 1, X * (1 - (1 - lr * lam) ** B) / lam)
    ours = lam / 2 * run.sizes[:-1] + run.losses
    others = lam / 2 * U**2 + run.losses_of(u)
    slopes = run.moves / lr**2  # of rounds without a removal
    removed = np.cumsum(run.updated) > B
    left = np.zeros(run.rounds)
    for number in np.flatnonzero(removed & run.updated):
        born = np.flatnonzero(run.updated)[np.cumsum(run.updated)[number] - B - 1]
        left[number] = lr * (1 - lr * lam) ** (number - born)
        slopes[number] = (lam * math.sqrt(run.sizes[number]) + X) ** 2  # no gradient is longer
    cost = left.sum() * X * (X / lam + U) / lr
    yield ours.sum() - others.sum(), U**2 / (2 * lr) + lr / 2 * slopes.sum() + cost


BOUNDS = {bound.__name__: bound for bound in (forgetron, projectron, projectron_plus_plus, budgeted_descent)}
