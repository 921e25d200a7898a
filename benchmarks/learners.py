"""How fast are the learners, beside River's own, scikit-learn and the floor?

    python benchmarks/learners.py

Every contender runs in every round, in shuffled order, on the same examples. A cell is the median CPU time an example;
in brackets the median of the ratios to the first line, and their quartiles. What is printed is also written to
benchmarks/results/learners.md. The tables of the families that are not everyday learners are in `families.py`.
"""

import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyximport
import river
import sklearn
from river import datasets, evaluate, linear_model, metrics, multiclass, preprocessing
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier

import river_margins as rm
import river_margins.evaluate
from river_margins.families.auto import usual_classifiers

pyximport.install(build_dir=str(Path(__file__).parent / ".build"), language_level=3)

from examples import SIZES, Rows, bare, dense, letters, matrix, one_call, pa, shared, svmlight_file, two_calls  # noqa: E402
from families import tables_of_families  # noqa: E402
from floor import touch_twice  # noqa: E402  (compiled by the line above)
from timing import ROUNDS, Contender, table  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "learners.md"


def reading(rows: Rows) -> None:
    for x, _ in rows:
        touch_twice(x)


def progressive(make: Callable[[], Any], score: Any = evaluate.progressive_val_score) -> Callable[[Rows], None]:
    return lambda rows: score(rows, make(), metrics.Accuracy()) and None


def sgd(**parameters: Any) -> Callable[[Any], None]:
    def run(stream: Any) -> None:
        model = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.1, **parameters)
        model.partial_fit(*stream, classes=[0, 1])

    return run


class PA1InPython(rm.Rule):
    """What a user would write."""

    def step(self, seen: rm.Seen) -> float:
        return min(0.1, seen.loss / seen.gain) if seen.gain > 0 else 0.0


def river_pa() -> Any:
    return linear_model.PAClassifier(C=0.1, mode=1)


def csr(**parameters: Any) -> Callable[[Any], None]:
    return lambda stream: rm.PAClassifier(0.1, classes=[0, 1], **{"intercept": False} | parameters).learn_csr(*stream)


def learn_and_predict_many(make: Callable[[], Any]) -> Callable[[Any], None]:
    def run(stream: Any) -> None:
        (X, y), model = stream, make()
        for start in range(0, len(X), 100):
            part = X[start : start + 100]
            model.learn_many(part, y[start : start + 100])
            model.predict_many(part)

    return run


def from_text(given: Any) -> None:
    X, y = rm.svmlight.read(given[1])
    rm.PAClassifier(0.1, classes=[-1, 1], intercept=False).learn_csr(X, y)


def scaled(scaler: Any, learner: Callable[[], Any], *score: Any) -> Callable[[Rows], None]:
    return progressive(lambda: scaler() | learner(), *score)


def pipeline() -> Any:
    return rm.StandardScaler() | pa()


def rivers_pipeline() -> Any:
    return preprocessing.StandardScaler() | river_pa()


def auto_with_coin_betting() -> Any:
    return rm.AutoClassifier([*usual_classifiers(), rm.CoinBettingClassifier()])


def tables_of_dicts() -> list[str]:
    """Time single examples of two classes."""
    fresh = [(f"{features} features", dense(features, examples, fresh=True)) for features, examples in SIZES]
    return [
        *table(
            "Predict, then learn",
            shared(),
            [
                Contender("River's PAClassifier", two_calls(river_pa)),
                Contender("PAClassifier", two_calls(pa)),
                Contender("PAClassifier, predict_learn_one", one_call(pa)),
                Contender(
                    "PA-I as a rule in Python", two_calls(lambda: rm.MarginClassifier(PA1InPython(), intercept=False))
                ),
                Contender("River's Perceptron", two_calls(linear_model.Perceptron)),
                Contender("Perceptron", two_calls(bare(rm.Perceptron))),
                Contender("reading each key and value twice, nothing else", reading),
            ],
        ),
        *table(
            "The same with keys that are new objects in every example",
            fresh,
            [Contender("River's PAClassifier", two_calls(river_pa)), Contender("PAClassifier", two_calls(pa))],
        ),
        *table(
            "Nothing to tune, predict, then learn",
            shared(SIZES[:3]),
            [
                Contender("River's PAClassifier", two_calls(river_pa)),
                Contender("CoinBettingClassifier", two_calls(bare(rm.CoinBettingClassifier))),
                Contender("AutoClassifier, 16 experts", two_calls(rm.AutoClassifier)),
                Contender("the same with CoinBettingClassifier", two_calls(auto_with_coin_betting)),
            ],
        ),
    ]


def other_tables() -> list[str]:
    """Time many classes and pipelines."""
    phishing = [("Phishing, 9 features", list(datasets.Phishing()))]
    return [
        *table(
            "26 classes",
            [("16 features", letters(26, 16, 2000))],
            [
                Contender(
                    "River's OneVsRestClassifier(PAClassifier)",
                    two_calls(lambda: multiclass.OneVsRestClassifier(river_pa())),
                    share=0.1,
                ),
                Contender("PAClassifier", two_calls(pa)),
                Contender("PAClassifier, predict_learn_one", one_call(pa)),
            ],
        ),
        *table(
            "Scaler and learner under progressive_val_score",
            [*phishing, *shared()],
            [
                Contender("River's scaler and learner", scaled(preprocessing.StandardScaler, river_pa)),
                Contender("River's scaler, our learner", scaled(preprocessing.StandardScaler, pa)),
                Contender("StandardScaler and PAClassifier", scaled(rm.StandardScaler, pa)),
                Contender(
                    "the same in river_margins.evaluate.progressive",
                    scaled(rm.StandardScaler, pa, rm.evaluate.progressive),
                ),
            ],
        ),
        *table(
            "The same pipeline in one call",
            phishing,
            [
                Contender("predict_one and learn_one of River's pipeline", two_calls(rivers_pipeline)),
                Contender("predict_one and learn_one", two_calls(pipeline)),
                Contender("predict_learn_one", one_call(pipeline)),
            ],
        ),
        *table(
            "Progressive validation of StandardScaler and PAClassifier",
            phishing,
            [
                Contender("River's progressive_val_score", progressive(pipeline)),
                Contender("river_margins.evaluate.progressive", progressive(pipeline, rm.evaluate.progressive)),
            ],
        ),
    ]


def tables_of_batches() -> list[str]:
    """Time rows of frames, of sparse matrices and of their text."""
    X, y = matrix(2000, 20, 20)
    frame = pandas.DataFrame(X.toarray(), columns=[f"feature {i}" for i in range(20)])
    return [
        *table(
            "Frames of 100 rows",
            [
                ("20 features, pandas", (frame, pandas.Series(y == 1))),
                ("20 features, polars", (polars.from_pandas(frame), polars.Series(y == 1))),
            ],
            [
                Contender("River's LogisticRegression", learn_and_predict_many(linear_model.LogisticRegression)),
                Contender("PAClassifier", learn_and_predict_many(rm.PAClassifier)),
                Contender(
                    "River's scaler and LogisticRegression",
                    learn_and_predict_many(lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression()),
                ),
                Contender(
                    "StandardScaler and PAClassifier",
                    learn_and_predict_many(lambda: rm.StandardScaler() | rm.PAClassifier()),
                ),
            ],
        ),
        *table(
            "Rows of a sparse matrix",
            [
                ("14 of 123 stored, 30,000 rows", matrix(30_000, 123, 14)),
                ("100 of 100 stored, 20,000 rows", matrix(20_000, 100, 100)),
            ],
            [
                Contender("scikit-learn's SGDClassifier, pa1", sgd()),
                Contender("the same with shuffle=False", sgd(shuffle=False)),
                Contender("PAClassifier.learn_csr", csr()),
                Contender("the same with intercept=True, as scikit-learn's", csr(intercept=True)),
            ],
        ),
        *table(
            "Rows of a svmlight file",
            [("14 of 123 stored, 300,000 rows", svmlight_file(300_000, 123, 14))],
            [
                Contender("scikit-learn's load_svmlight_file", lambda given: load_svmlight_file(given[1])),
                Contender("svmlight.read", lambda given: rm.svmlight.read(given[1])),
                Contender("svmlight.read and PAClassifier.learn_csr", from_text),
            ],
        ),
    ]


def flatness() -> list[str]:
    """Time an example in streams of different lengths."""
    rows = dense(14, 1000)
    lines = ["### The longer the stream", "", "| examples | µs an example, predict_learn_one |", "|---|---|"]
    for examples in (10_000, 100_000, 1_000_000):
        figures = []
        for _ in range(5):
            both = pa().predict_learn_one
            start = time.process_time()
            for _ in range(examples // len(rows)):
                for x, y in rows:
                    both(x, y)
            figures.append((time.process_time() - start) / examples * 1e6)
        lines.append(f"| {examples:,} | {sorted(figures)[2]:.4f} ({min(figures):.4f} to {max(figures):.4f}) |")
    return [*lines, ""]


def kernels() -> list[str]:
    """Time a score by the number of supports."""
    rows = dense(20, 12_000)
    lines = ["### Kernels", "", "| supports of 20 features | µs a score, RBF | linear kernel |", "|---|---|---|"]
    for supports in (10, 100, 1000, 10_000):
        cells = []
        for kernel in (rm.RBF(0.05), rm.LinearKernel()):
            model = rm.MarginClassifier(rm.PerceptronRule(), rm.Kernel(kernel))
            for x, _ in rows[:supports]:
                model.learn_one(x, model.predict_one(x) is False)  # always wrong, so that every example is kept
            assert len(model.supports) == supports
            figures = []
            for _ in range(5):
                start = time.process_time()
                for x, _ in rows[: 200_000 // supports]:
                    model.score_one(x)
                figures.append((time.process_time() - start) / min(len(rows), 200_000 // supports) * 1e6)
            cells.append(f"{sorted(figures)[2]:.3g} ({min(figures):.3g} to {max(figures):.3g})")
        lines.append(f"| {supports:,} | {' | '.join(cells)} |")
    return [*lines, ""]


def memory() -> list[str]:
    """What a process grows by when a model learns so many features whose names are there already."""
    lines = ["### Memory", "", "| features learned | bytes a feature, beside its name |", "|---|---|"]
    for features in (10_000, 100_000, 1_000_000):
        command = [sys.executable, __file__, "grow", str(features)]
        grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines.append(f"| {features:,} | {float(grown):.1f} |")
    return [*lines, ""]


def grow(features: int) -> None:
    """Print by how many bytes a feature this process grows; examples are small, so that none of it is scratch paper."""
    names = [f"feature {i}" for i in range(features)]
    rows = [dict.fromkeys(names[i : i + 10], 1.0) for i in range(0, features, 10)]
    model = pa()
    before = resident()
    for i, x in enumerate(rows):
        model.learn_one(x, i % 2 == 0)
    print((resident() - before) / features)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    report = [
        "# Learners",
        "",
        f"River {river.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}; {ROUNDS} rounds of CPU time. A cell is the median; in brackets the ratio to the first "
        "line of its table, median and quartiles.",
        "",
        *tables_of_dicts(),
        *other_tables(),
        *tables_of_batches(),
        *flatness(),
        *kernels(),
        *tables_of_families(),
        *memory(),
    ]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    grow(int(sys.argv[2])) if sys.argv[1:2] == ["grow"] else main()
