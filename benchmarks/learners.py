"""How fast are the learners, beside River's own?

    python benchmarks/learners.py

Every contender runs in every round, in shuffled order, on the same examples; the figures are medians of CPU time, and
what counts is their ratio within this run. The table is also written to benchmarks/results/learners.md.
"""

import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import river
from rich.progress import track
from river import datasets, evaluate, linear_model, metrics, preprocessing

import river_margins as rm

ROUNDS = 9
RESULTS = Path(__file__).parent / "results" / "learners.md"

Rows = list[tuple[dict[str, float], bool]]
Contender = tuple[str, Callable[[Rows], None]]


def dense(features: int, examples: int) -> Rows:
    """Examples that share their keys: numbers from a normal distribution, labels of a noisy linear separator."""
    draw = random.Random(features)
    keys = [f"feature {i}" for i in range(features)]
    separator = [draw.gauss(0, 1) for _ in keys]
    rows = []
    for _ in range(examples):
        values = [draw.gauss(0, 1) for _ in keys]
        score = sum(a * b for a, b in zip(separator, values, strict=True)) + draw.gauss(0, 1)
        rows.append((dict(zip(keys, values, strict=True)), score > 0))
    return rows


def predict_then_learn(make: Callable) -> Callable[[Rows], None]:
    def run(rows: Rows) -> None:
        model = make()
        predict, learn = model.predict_one, model.learn_one
        for x, y in rows:
            predict(x)
            learn(x, y)

    return run


def in_one_call(make: Callable) -> Callable[[Rows], None]:
    def run(rows: Rows) -> None:
        both = make().predict_learn_one
        for x, y in rows:
            both(x, y)

    return run


def progressive(make: Callable) -> Callable[[Rows], None]:
    def run(rows: Rows) -> None:
        evaluate.progressive_val_score(rows, make(), metrics.Accuracy())

    return run


def median_times(contenders: list[Contender], rows: Rows, what: str) -> dict[str, float]:
    """Median CPU microseconds an example of each contender."""
    times: dict[str, list[float]] = {name: [] for name, _ in contenders}
    order = list(contenders)
    for _ in track(range(ROUNDS), description=what):
        random.shuffle(order)
        for name, run in order:
            start = time.process_time()
            run(rows)
            times[name].append((time.process_time() - start) / len(rows) * 1e6)
    return {name: statistics.median(figures) for name, figures in times.items()}


def table(title: str, streams: list[tuple[str, Rows]], contenders: list[Contender]) -> list[str]:
    """A Markdown table of times, and ratios to the first contender."""
    columns = [median_times(contenders, rows, f"{title}: {name}") for name, rows in streams]
    lines = [f"### {title}", "", "| µs an example | " + " | ".join(name for name, _ in streams) + " |"]
    lines.append("|---" * (len(streams) + 1) + "|")
    reference = contenders[0][0]
    for name, _ in contenders:
        cells = [
            f"{column[name]:.3g}" + ("" if name == reference else f" ({column[reference] / column[name]:.3g}x)")
            for column in columns
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def main() -> None:
    sizes = [(9, 3000), (14, 2500), (100, 600), (784, 120)]
    shared = [(f"{features} features", dense(features, examples)) for features, examples in sizes]
    report = [
        "# Learners",
        "",
        f"River {river.__version__}, Python {platform.python_version()}, {platform.machine()}; medians of {ROUNDS} "
        "rounds of CPU time, ratios to the first line of each table.",
        "",
    ]
    report += table(
        "Predict, then learn",
        shared,
        [
            ("River's PAClassifier", predict_then_learn(lambda: linear_model.PAClassifier(C=0.1, mode=1))),
            ("PAClassifier", predict_then_learn(lambda: rm.PAClassifier(C=0.1))),
            ("PAClassifier, predict_learn_one", in_one_call(lambda: rm.PAClassifier(C=0.1))),
            ("River's Perceptron", predict_then_learn(linear_model.Perceptron)),
            ("Perceptron", predict_then_learn(rm.Perceptron)),
        ],
    )
    report += table(
        "Scaler and learner under progressive_val_score",
        [("Phishing, 9 features", list(datasets.Phishing())), *shared],
        [
            (
                "River's scaler and learner",
                progressive(lambda: preprocessing.StandardScaler() | linear_model.PAClassifier(C=0.1)),
            ),
            (
                "River's scaler, our learner",
                progressive(lambda: preprocessing.StandardScaler() | rm.PAClassifier(C=0.1)),
            ),
            ("StandardScaler and PAClassifier", progressive(lambda: rm.StandardScaler() | rm.PAClassifier(C=0.1))),
        ],
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    main()
