"""The experiments of five lectures on online learning: `python benchmarks/lectures.py` prints `results/lectures.md`.

Each experiment is a function of its size, and `tests/lectures/test_experiments.py` checks its claim at a smaller one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import river_margins as rm

Rows = list[tuple[dict[int, float], bool]]
STEADY, MOVING = "one target", "a new target every 600 rounds"
WITHOUT_LIMIT = 10**6
LINEAR = rm.LinearKernel()


def half_space(
    rounds: int,
    *,
    dimension: int = 10,
    every: int | None = None,
    noise: float = 0.0,
    scales: np.ndarray | None = None,
    seed: int = 0,
) -> Rows:
    """Return Gaussian examples labelled by a random hyperplane.

    Parameters
    ----------
    every
        Rounds after which there is a new hyperplane; None for never.
    noise
        Share of the labels that are flipped.
    scales
        Standard deviations of the features; None makes all examples of length 1 instead.
    """
    random = np.random.default_rng(seed)
    rows = []
    for t in range(rounds):
        if t % (every or rounds) == 0:
            u = random.normal(size=dimension) / (1.0 if scales is None else scales)
        x = random.normal(size=dimension)
        x = x / np.linalg.norm(x) if scales is None else x * scales
        rows.append((dict(enumerate(x.tolist())), bool((u @ x > 0) ^ (random.random() < noise))))
    return rows


def error(model: Any, rows: Rows) -> float:
    """Return the share of rounds in which the label was predicted wrong."""
    return sum(model.predict_learn_one(x, y) != y for x, y in rows) / len(rows)


# Budgets (Cesa-Bianchi): how much error a limit on the kept examples costs, also where the target moves.


class SecondOrderBudgetPerceptron:
    """The second-order perceptron of the kept mistakes: A = I + Σ xx' and v = Σ y·x, with at most `budget` of them.

    The lecture shows curves of such a learner without its algorithm; this is our reading. As in the randomised budget
    perceptron, a random example is removed before one too many is added.
    """

    def __init__(self, budget: int, dimension: int = 10, seed: int = 0) -> None:
        self.budget, self.random = budget, np.random.default_rng(seed)
        self.kept: list[tuple[np.ndarray, float]] = []
        self.A, self.v = np.eye(dimension), np.zeros(dimension)

    def predict_learn_one(self, x: dict[int, float], y: bool) -> bool:
        row, sign = np.array([*x.values()]), 1.0 if y else -1.0
        score = float(self.v @ np.linalg.solve(self.A, row))  # x in the matrix too would not change the sign
        if sign * score <= 0:
            if len(self.kept) == self.budget:
                self._add(*self.kept.pop(self.random.integers(self.budget)), times=-1.0)
            self.kept.append((row, sign))
            self._add(row, sign)
        return score >= 0

    def _add(self, row: np.ndarray, sign: float, times: float = 1.0) -> None:
        self.A += times * np.outer(row, row)
        self.v += times * sign * row


BUDGET_LEARNERS: dict[str, Callable[[int], Any]] = {
    "perceptron": lambda budget: rm.RandomizedBudgetPerceptron(LINEAR, budget=budget),
    "second-order perceptron": SecondOrderBudgetPerceptron,
}


def budgets(
    rounds: int, limits: Sequence[int] = (10, 25, 50, 100, 400, WITHOUT_LIMIT), learner: str = "perceptron"
) -> dict[str, dict[int, float]]:
    """Return for both streams the error of one of `BUDGET_LEARNERS` by its limit."""
    streams = {STEADY: half_space(rounds), MOVING: half_space(rounds, every=600)}
    make = BUDGET_LEARNERS[learner]
    return {name: {limit: error(make(limit), rows) for limit in limits} for name, rows in streams.items()}


# Second order where the target moves (Cesa-Bianchi): features of unequal scale, a twentieth of the labels flipped.


def second_order(rounds: int) -> dict[str, dict[str, float]]:
    """Return for both streams the error of first and second order learners."""
    unequal = np.logspace(0, -1, 10)
    learners = {
        "perceptron": rm.Perceptron(intercept=False),
        "second-order perceptron": rm.SecondOrderPerceptron(covariance="full", intercept=False),
        "AROW": rm.AROWClassifier(covariance="full", intercept=False),
        "AROW that forgets": rm.AROWClassifier(covariance="full", half_life=200, intercept=False),
    }
    streams = {
        STEADY: half_space(rounds, noise=0.05, scales=unequal),
        MOVING: half_space(rounds, every=600, noise=0.05, scales=unequal),
    }
    return {
        name: {which: error(learner.clone(), rows) for which, learner in learners.items()}
        for name, rows in streams.items()
    }


# Selective sampling (Cesa-Bianchi): most labels are not needed.


def requests(rounds: int, c: float | None = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return for each round whether the label was requested and the prediction wrong; with None, all are requested."""
    learner = rm.SecondOrderPerceptron(covariance="full", every_label=True, intercept=False)
    model = learner if c is None else rm.SelectiveSampler(learner, c=c)
    asked, wrong = np.ones(rounds, bool), np.ones(rounds, bool)
    for t, (x, y) in enumerate(half_space(rounds, noise=0.05, seed=seed)):
        wrong[t] = model.predict_one(x) != y
        asked[t] = c is None or model.query_one(x)
        if asked[t]:
            model.learn_one(x, y)
    return asked, wrong


def sampling(rounds: int, c: float = 1.0, seed: int = 0) -> dict[str, float]:
    """Return the share of labels requested, also in the last half, and the errors with these and with all labels."""
    asked, wrong = requests(rounds, c, seed)
    return {
        "labels": float(asked.mean()),
        "labels, last half": float(asked[rounds // 2 :].mean()),
        "error": float(wrong.mean()),
        "error with all labels": float(requests(rounds, None, seed)[1].mean()),
    }


# Winnow against the perceptron (Littlestone): five of d attributes matter.


def disjunction(rounds: int, dimension: int, seed: int = 1) -> Iterator[tuple[dict[int, float], bool]]:
    """Yield examples of "one of the first five"; the other features are on in half of the examples."""
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        on = 5 + np.flatnonzero(random.random(dimension - 5) < 0.5)
        y = bool(random.random() < 0.5)
        yield dict.fromkeys([*on.tolist(), int(random.integers(5))] if y else on.tolist(), 1.0), y


def attributes(rounds: int, dimensions: Sequence[int] = (50, 200, 800, 3200)) -> dict[int, dict[str, int]]:
    """Return the mistakes of Winnow and of the perceptron by the number of features."""
    found = {}
    for dimension in dimensions:
        winnow, perceptron = rm.Winnow(dimension / 2), rm.Perceptron()
        for x, y in disjunction(rounds, dimension):
            winnow.learn_one(x, y)
            perceptron.learn_one(x, y)
        found[dimension] = {"Winnow": winnow.n_mistakes, "perceptron": perceptron.n_mistakes}
    return found


# The table of mistake bounds (Cesa-Bianchi): an adversary shows the shallowest mistake of a pool until there is none.


def pool(size: int, dimension: int, norm: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return examples of length 1, of which many are as near to a hyperplane as 1/norm, and their signs."""
    random = np.random.default_rng(seed)
    u = random.normal(size=dimension)
    u /= np.linalg.norm(u)
    beside = random.normal(size=(size, dimension))
    beside -= np.outer(beside @ u, u)
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    margins = np.minimum(np.exp(random.exponential(0.5, size)) / norm, 0.9)
    signs = random.choice([-1.0, 1.0], size)
    return np.outer(signs * margins, u) + np.sqrt(1 - margins**2)[:, None] * beside, signs


def mistakes_on_pool(model: Any, X: np.ndarray, signs: np.ndarray) -> int:
    """Return how many examples the adversary can show on which the model errs."""
    rows, i = [dict(enumerate(row)) for row in X.tolist()], 0
    for shown in range(1, 100_000):
        model.learn_one(rows[i], bool(signs[i] > 0))
        margins = signs * (X @ np.array([model.weights.get(feature, 0.0) for feature in rows[0]]))
        wrong = np.flatnonzero(margins <= 0)
        if not len(wrong):
            return shown
        i = wrong[np.argmax(margins[wrong])]
    raise RuntimeError("the adversary has not come to an end")


def bound_table(dimension: int, norms: Sequence[float], size: int) -> dict[str, dict[float, int]]:
    """Return the mistakes of each learner by the length U of the shortest separator."""
    learners = {
        "perceptron": rm.Perceptron(intercept=False),
        "PA": rm.PAClassifier(mode=0, intercept=False),
        "second-order perceptron": rm.SecondOrderPerceptron(covariance="full", a=0.01, intercept=False),
        "ellipsoid": rm.EllipsoidClassifier(dimension, cut="central", intercept=False),
        "volumetric centre": rm.VolumetricCenterClassifier(intercept=False),
        "centre of gravity": rm.CenterOfGravityClassifier(intercept=False),
    }
    pools = {norm: pool(size, dimension, norm) for norm in norms}
    return {
        name: {norm: mistakes_on_pool(learner.clone(), *shown) for norm, shown in pools.items()}
        for name, learner in learners.items()
    }


def show(console: Console, title: str, rows: dict[str, dict[Any, float]]) -> None:
    """Print a table with a line for each key."""
    shown = Table(box=box.MARKDOWN)
    for column in ["", *next(iter(rows.values()))]:
        shown.add_column("without limit" if column == WITHOUT_LIMIT else str(column))
    for name, values in rows.items():
        shown.add_row(name, *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values.values()))
    console.print(f"## {title}", shown, highlight=False)


def main() -> None:
    console = Console(width=140)
    title = "Mistakes by the length U of the shortest separator, 12 features, a pool of 20,000 (takes a minute)"
    show(console, title, bound_table(12, (10, 30, 100), 20_000))
    found = {f"{which}, {name}": row for which in BUDGET_LEARNERS for name, row in budgets(6000, learner=which).items()}
    show(console, "Budgets: error by the number of kept examples, 6,000 rounds", found)
    show(console, "Second order where the target moves: error, 6,000 rounds", second_order(6000))
    samples = {f"c = {c:g}": sampling(10_000, c) for c in (0.2, 1.0, 5.0)}
    show(console, "Selective sampling: shares of 10,000 rounds", samples)
    mistakes = {f"{dimension} features": row for dimension, row in attributes(8000).items()}
    show(console, "Winnow and perceptron: mistakes by the number of features, 8,000 rounds", mistakes)


if __name__ == "__main__":
    main()
