"""How the automatic learners compare with each of their experts and with River's linear models, with nothing tuned.

`python benchmarks/automatic.py` prints the tables of `results/automatic.md`. All learn behind one `StandardScaler`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from river import base, datasets, linear_model
from river.datasets import synth
from sklearn.datasets import load_digits, make_regression

import river_margins as rm
from river_margins.families.auto import usual_classifiers, usual_regressors

PROGRESS = Console(stderr=True)
Rows = Iterable[tuple[dict[Any, float], Any]]


def shuffled(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[dict[Any, float], Any]]:
    for i in np.random.default_rng(0).permutation(len(X)):
        yield dict(enumerate(X[i].tolist())), y[i].item()


def hyperplane(rounds: int, turns: int) -> Iterator[tuple[dict[Any, float], bool]]:
    """Ten features, a tenth of the labels flipped, and a hyperplane that turns round so many times."""
    random = np.random.default_rng(0)
    u = random.normal(size=10)
    for t, x in enumerate(random.normal(size=(rounds, 10))):
        sign = (-1) ** (t * (turns + 1) // rounds)
        yield dict(enumerate(x.tolist())), bool((sign * (x @ u) > 0) ^ (random.random() < 0.1))


def numbers(stream: Rows) -> Iterator[tuple[dict[Any, float], Any]]:
    """The features that are numbers."""
    for x, y in stream:
        yield {name: value for name, value in x.items() if isinstance(value, int | float)}, y


CLASSIFICATION: dict[str, Callable[[], Rows]] = {
    "Phishing": datasets.Phishing,
    "ImageSegments": datasets.ImageSegments,
    "Bananas": datasets.Bananas,
    "digits": lambda: shuffled(*load_digits(return_X_y=True)),
    "hyperplane": lambda: hyperplane(10_000, 0),
    "one drift": lambda: hyperplane(10_000, 1),
    "four drifts": lambda: hyperplane(10_000, 4),
}
REGRESSION: dict[str, Callable[[], Rows]] = {
    "TrumpApproval": datasets.TrumpApproval,
    "ChickWeights": lambda: numbers(datasets.ChickWeights()),
    "Friedman": lambda: synth.Friedman(seed=1).take(5000),
    "make_regression + 1000": lambda: shuffled(*make_regression(5000, 10, noise=5.0, bias=1000.0, random_state=0)),
}


def measured(stream: Rows, models: list[base.Base], cost: Callable[[Any, Any], float]) -> tuple[np.ndarray, np.ndarray]:
    """The mean cost of each model, and its median microseconds for an example."""
    scaler, costs, seconds = rm.StandardScaler(), np.zeros(len(models)), []
    for x, y in stream:
        z = scaler.transform_one(x)
        scaler.learn_one(x)
        seconds.append(np.zeros(len(models)))
        for number, model in enumerate(models):
            began = time.perf_counter()
            predicted = model.predict_one(z)  # type: ignore[attr-defined]
            model.learn_one(z, y)  # type: ignore[attr-defined]
            seconds[-1][number] = time.perf_counter() - began
            costs[number] += cost(predicted, y)
    return costs / len(seconds), np.median(seconds, axis=0) * 1e6


def main() -> None:
    print("# Automatic learners\n\nBehind one `StandardScaler`, nothing tuned; median µs to predict and learn.\n")
    print(
        "| accuracy in % | AutoClassifier | best expert | worst expert | CoinBettingClassifier | Auto with it "
        "| River's LogisticRegression | µs | River's µs |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, stream in track(CLASSIFICATION.items(), console=PROGRESS):
        several = name in ("ImageSegments", "digits")
        rivers = linear_model.SoftmaxRegression() if several else linear_model.LogisticRegression()
        bets = rm.CoinBettingClassifier()
        models = [rm.AutoClassifier(), rivers, bets, rm.AutoClassifier([*usual_classifiers(), bets])]
        costs, times = measured(stream(), models + usual_classifiers(), lambda predicted, y: float(predicted == y))
        (auto, river, coins, both), experts = 100 * costs[:4], 100 * costs[4:]
        values = (auto, experts.max(), experts.min(), coins, both, river, times[0], times[1])
        cells = [f"{value:.1f}" for value in values]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\nWith many classes River's is SoftmaxRegression.\n")
    print(
        "| mean absolute error | AutoRegressor | CoinBettingRegressor | Auto without it | River's LinearRegression "
        "| µs | River's µs |\n|---|---|---|---|---|---|---|"
    )
    for name, stream in track(REGRESSION.items(), console=PROGRESS):
        others = [each for each in usual_regressors() if not isinstance(each, rm.CoinBettingRegressor)]
        models = [
            rm.AutoRegressor(),
            rm.CoinBettingRegressor(),
            rm.AutoRegressor(others),
            linear_model.LinearRegression(),
        ]
        costs, times = measured(stream(), models, lambda predicted, y: abs(predicted - y))
        cells = [*(f"{cost:.4g}" for cost in costs), f"{times[0]:.1f}", f"{times[-1]:.1f}"]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
