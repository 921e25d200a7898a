"""How often are the classifiers wrong on data sets that come with River?

    python benchmarks/comparison.py          # writes the figure and benchmarks/results/comparison.md

Compares every classifier of the library, and three of River, behind the scaler and with an intercept where it has one.
Each example is predicted before it is learned. The first parameter is tried at several values; the others keep their
defaults. So do River's trees.
"""

import contextlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import river
from rich.progress import track
from river import base, datasets, forest, linear_model, optim, tree
from river.datasets import synth

import river_margins as rm
from connectors.config import catalogue

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
FIGURE = ROOT / "docs" / "figures" / "comparison.svg"
RESULTS = ROOT / "benchmarks" / "results" / "comparison.md"
ROWS = 3000
MULTIPLES = 0.01, 0.1, 1, 10
DOUBLE = math.log(2)  # an error twice that of the best is as light as any
GIVEN = {"seed": 1, "intercept": True}

Stream = list[tuple[dict[Any, float], Any]]


def streams() -> dict[str, Stream]:
    """Return the data sets, those of two classes first, cut to ROWS examples."""
    found: dict[str, Any] = {
        "Phishing": datasets.Phishing(),
        "Bananas": datasets.Bananas(),
        "Hyperplane": ((x, bool(y)) for x, y in synth.Hyperplane(seed=1, n_drift_features=2, mag_change=0.001)),
        "ImageSegments": datasets.ImageSegments(),
        "LED": ((x, str(y)) for x, y in synth.LED(seed=1, noise_percentage=0.1)),
        "Waveform": ((x, str(y)) for x, y in synth.Waveform(seed=1)),
    }
    return {name: list(itertools.islice(stream, ROWS)) for name, stream in found.items()}


def made(kind: type, **more: Any) -> Any:
    """Return the estimator with its defaults, or with the first parameters it is tested with if it requires some."""
    accepted = inspect.signature(kind).parameters
    given = {name: value for name, value in GIVEN.items() if name in accepted} | more
    try:
        return kind(**given)
    except TypeError:
        return kind(**(next(iter(kind._unit_test_params())) | given))  # type: ignore[attr-defined]


def named() -> list[type]:
    """Return the classifiers that require no parameter."""
    kinds = [entry.kind for entry in catalogue.entries() if issubclass(entry.kind, base.Classifier)]
    required = lambda kind: [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]  # noqa: E731
    return [kind for kind in kinds if not required(kind)]


def settings(kind: type) -> Iterator[Any]:
    """Yield the estimator with its first parameter at several multiples of the default, as far as they are valid."""
    first = next(iter(inspect.signature(kind).parameters.values()))
    for multiple in MULTIPLES if isinstance(first.default, float) else ():
        with contextlib.suppress(ValueError):
            yield made(kind, **{first.name: first.default * multiple})
    if not isinstance(first.default, float):
        yield made(kind)


def of_river() -> dict[str, Callable[[bool], Iterable[base.Classifier]]]:
    """Return classifiers of River by name, each as a function that says whether there are more than two classes."""

    def linear(many: bool) -> Iterator[base.Classifier]:
        kind = linear_model.SoftmaxRegression if many else linear_model.LogisticRegression
        for multiple in MULTIPLES:
            yield kind(optim.SGD(0.01 * multiple))  # 0.01 is River's default

    return {
        "River: LogisticRegression": linear,
        "River: HoeffdingTreeClassifier": lambda many: [tree.HoeffdingTreeClassifier()],
        "River: ARFClassifier": lambda many: [forest.ARFClassifier(seed=1)],
    }


def error(model: Any, stream: Stream) -> float:
    """Return the share of wrong predictions, or infinity if the learner refuses the labels or a step overflows."""
    if not (model._multiclass or isinstance(stream[0][1], bool)):
        return math.inf
    pipeline, wrong = rm.StandardScaler() | model, 0
    try:
        for x, y in stream:
            wrong += pipeline.predict_one(x) != y
            pipeline.learn_one(x, y)
    except OverflowError:
        return math.inf
    return wrong / len(stream)


def compare() -> tuple[list[str], list[str], np.ndarray]:
    """Return the learners from best to worst by mean rank, the data sets, and the errors."""
    data = streams()
    candidates: dict[str, Callable[[bool], Iterable[Any]]] = {
        kind.__name__: lambda many, kind=kind: settings(kind) for kind in named()
    }
    candidates |= of_river()
    errors = np.array(
        [
            [min(error(model, s) for model in make(not isinstance(s[0][1], bool))) for s in data.values()]
            for make in track(candidates.values(), "learners")
        ]
    )
    ranks = np.array([[(column < value).sum() for value in column] for column in errors.T])
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return [list(candidates)[i] for i in order], [*data], errors[order]


def draw(names: list[str], columns: list[str], errors: np.ndarray, path: Path) -> None:
    behind = np.log(errors / errors.min(axis=0))  # 0 for the best of a column
    figure, ax = plt.subplots(figsize=(8, 0.6 + 0.22 * len(names)), layout="constrained")
    ax.imshow(behind, cmap="Blues_r", aspect="auto", vmin=-0.3, vmax=DOUBLE)
    for (row, column), value in np.ndenumerate(errors):
        text = "-" if math.isinf(value) else f"{100 * value:.1f}"
        weight = "bold" if behind[row, column] == 0 else "normal"
        colour = "white" if behind[row, column] < DOUBLE / 3 else "black"
        ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour, weight=weight)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, labelsize=8, labeltop=True, labelbottom=False)
    ax.set_frame_on(False)
    figure.savefig(path, metadata={"Date": None}, dpi=200)
    plt.close(figure)


def report(names: list[str], columns: list[str], errors: np.ndarray) -> str:
    lines = [
        "# Learners compared",
        "",
        f"Share of wrong predictions in %, at most {ROWS} examples each, with the best of {len(MULTIPLES)} values of "
        f"the first parameter: its default times {', '.join(map(str, MULTIPLES))}. River {river.__version__}.",
        "",
        "-: the learner is for two classes only, or refused a step that would have overflowed. With more than two "
        "classes, River's LogisticRegression is its SoftmaxRegression. River's trees have their defaults.",
        "",
        f"| learner | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
    ]
    for name, row in zip(names, errors, strict=True):
        cells = ("-" if math.isinf(value) else f"{100 * value:.1f}" for value in row)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    names, columns, errors = compare()
    with plt.rc_context({"svg.hashsalt": "river_margins", "figure.facecolor": "white"}):
        draw(names, columns, errors, FIGURE)
    RESULTS.write_text(report(names, columns, errors))
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
