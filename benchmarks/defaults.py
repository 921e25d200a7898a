"""What does each learner reach if nothing but its name is given?

    python benchmarks/defaults.py          # writes benchmarks/results/defaults.md

Every classifier and regressor that requires no parameter, and River's logistic and linear regression, behind the scaler
of this library. Each example is predicted before it is learned, as in River's progressive validation.
`tests/river_margins/test_defaults.py` holds the learners to what is measured here.
"""

import inspect
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import river
from river import base, datasets, dummy, linear_model, multiclass, stats
from river.datasets import synth
from sklearn.datasets import load_digits, make_regression

import river_margins as rm
from river_margins.families.auto import usual_classifiers, usual_regressors

RESULTS = Path(__file__).parent / "results" / "defaults.md"
ROWS = 1500
LOGISTIC, LINEAR, MEAN = "River's LogisticRegression", "River's LinearRegression", "the mean so far"

Stream = list[tuple[dict[Any, float], dict[Any, float], Any]]  # an example scaled before and after its own statistics


def classification() -> dict[str, Stream]:
    """Return the data sets for classifiers; all but Bananas can be learned by a hyperplane."""
    digits = load_digits()
    streams: dict[str, Iterable[Any]] = {
        "Phishing": datasets.Phishing(),
        "ImageSegments": datasets.ImageSegments(),
        "digits": zip(named(digits.data), map(str, digits.target), strict=True),
        "10 % flipped": flipped(),
        "Bananas": datasets.Bananas(),
    }
    return {name: scaled(stream) for name, stream in streams.items()}


def regression() -> dict[str, Stream]:
    """Return the data sets for regressors."""
    X, y = make_regression(ROWS, random_state=0)
    streams: dict[str, Iterable[Any]] = {
        "TrumpApproval": datasets.TrumpApproval(),
        "Friedman": synth.Friedman(seed=1),
        "make_regression + 1000": zip(named(X), (y + 1000).tolist(), strict=True),
    }
    return {name: scaled(stream) for name, stream in streams.items()}


def named(X: np.ndarray) -> list[dict[str, float]]:
    names = [f"feature {i}" for i in range(X.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


def flipped() -> list[tuple[dict[str, float], bool]]:
    """Return normal points on both sides of a hyperplane beside the origin; one label in ten is wrong."""
    draw = np.random.default_rng(1)
    X, normal = draw.normal(size=(ROWS, 10)), draw.normal(size=10)
    y = (X @ normal + 1.0 > 0) ^ (draw.random(ROWS) < 0.1)
    return list(zip(named(X), y.tolist(), strict=True))


def scaled(stream: Iterable[tuple[dict[Any, float], Any]]) -> Stream:
    """Scale the examples once for all learners: as a pipeline does to predict, and then to learn."""
    scaler, found = rm.StandardScaler(), []
    for x, y in itertools.islice(stream, ROWS):
        before = scaler.transform_one(x)
        scaler.learn_one(x)
        found.append((before, scaler.transform_one(x), y))
    return found


def accuracy(model: Any, stream: Stream) -> float | None:
    """Return the share of correct predictions in %, or None if the learner takes two classes only."""
    if not (isinstance(stream[0][2], bool) or model._multiclass):
        return None
    correct = 0
    for before, after, y in stream:
        correct += model.predict_one(before) == y
        model.learn_one(after, y)
    return 100 * correct / len(stream)


def mean_error(model: Any, stream: Stream) -> float:
    """Return the mean absolute error."""
    total = 0.0
    for before, after, y in stream:
        total += abs(model.predict_one(before) - y)
        model.learn_one(after, y)
    return total / len(stream)


def logistic(stream: Stream) -> Any:
    """Return River's logistic regression, one for each class if the labels are not bools."""
    model = linear_model.LogisticRegression()
    return model if isinstance(stream[0][2], bool) else multiclass.OneVsRestClassifier(model)


def named_only(kind: type) -> list[type]:
    """Return the public estimators of a kind that need nothing but their name."""
    public = [getattr(rm, name) for name in rm.__all__]
    return [each for each in public if isinstance(each, type) and issubclass(each, kind) and not required(each)]


def required(kind: type) -> list[str]:
    return [p.name for p in inspect.signature(kind).parameters.values() if p.default is p.empty]


def accuracies(data: dict[str, Stream]) -> dict[str, list[float | None]]:
    """Return the accuracies of River's logistic regression and of all classifiers, by name."""
    found: dict[str, list[float | None]] = {LOGISTIC: [accuracy(logistic(s), s) for s in data.values()]}
    for kind in named_only(base.Classifier):
        found[kind.__name__] = [accuracy(kind(), stream) for stream in data.values()]
    return found


def errors(data: dict[str, Stream]) -> dict[str, list[float | None]]:
    """Return the errors of the running mean, River's linear regression, and all regressors, by name."""
    found: dict[str, list[float | None]] = {
        MEAN: [mean_error(dummy.StatisticRegressor(stats.Mean()), stream) for stream in data.values()],
        LINEAR: [mean_error(linear_model.LinearRegression(), stream) for stream in data.values()],
    }
    for kind in named_only(base.Regressor):
        found[kind.__name__] = [mean_error(kind(), stream) for stream in data.values()]
    return found


def automatic_with_coin_betting(data: dict[str, Stream]) -> dict[str, list[float | None]]:
    """Return the accuracies of `AutoClassifier` with one more expert."""

    def model() -> Any:
        return rm.AutoClassifier([*usual_classifiers(), rm.CoinBettingClassifier()])

    return {"AutoClassifier with CoinBettingClassifier": [accuracy(model(), stream) for stream in data.values()]}


def automatic_without_coin_betting(data: dict[str, Stream]) -> dict[str, list[float | None]]:
    """Return the errors of `AutoRegressor` without one of its experts."""

    def model() -> Any:
        return rm.AutoRegressor([each for each in usual_regressors() if not isinstance(each, rm.CoinBettingRegressor)])

    return {"AutoRegressor without CoinBettingRegressor": [mean_error(model(), stream) for stream in data.values()]}


def table(head: str, columns: Iterable[str], rows: dict[str, list[float | None]], digits: int) -> list[str]:
    lines = ["| " + " | ".join([head, *columns]) + " |"]
    lines.append("|---" * lines[0].count(" | ") + "|---|")
    for name, values in rows.items():
        cells = ("-" if value is None else f"{value:.{digits}f}" for value in values)
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return lines


def report() -> str:
    """Return the results as a page."""
    sets, numbers = classification(), regression()
    return "\n".join(
        [
            "# Learners with nothing but their name",
            "",
            f"Behind `StandardScaler`, with all defaults, at most {ROWS} examples, each predicted before it is learned "
            f"(River {river.__version__}).",
            "",
            "Correct predictions in %; -: the learner is for two classes only. No hyperplane separates Bananas.",
            "",
            *table("classifier", sets, accuracies(sets) | automatic_with_coin_betting(sets), 1),
            "",
            "Mean absolute errors.",
            "",
            *table("regressor", numbers, errors(numbers) | automatic_without_coin_betting(numbers), 2),
            "",
        ]
    )


if __name__ == "__main__":
    RESULTS.write_text(report())
    print(RESULTS.read_text())
