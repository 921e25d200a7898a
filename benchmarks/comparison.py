"""How well do the learners do, each as it comes, on data that River brings along?

    python benchmarks/comparison.py          # the figure, benchmarks/results/comparison.md, and the table of the README
    python benchmarks/comparison.py table    # only the table, made of what the estimators say about themselves

Every classifier of the library is in it, whatever there is: behind the scaler, with an intercept where it has one,
predicting each example before it is learned. Only the first parameter is tried at other values than its default.
"""

import contextlib
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import river
from river import base, datasets
from river.datasets import synth

import river_margins as rm
from connectors.config import catalogue
from river_margins.families.structured import Structured

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
FIGURE = ROOT / "docs" / "figures" / "comparison.svg"
RESULTS = ROOT / "benchmarks" / "results" / "comparison.md"
BEGIN, END = "<!-- learners: made by benchmarks/comparison.py -->", "<!-- end of learners -->"
ROWS = 3000
MULTIPLES = 0.01, 0.1, 1, 10
DOUBLE = math.log(2)  # an error twice that of the best is as light as any
GIVEN = {"seed": 1, "intercept": True}

Stream = list[tuple[dict[Any, float], Any]]


def streams() -> dict[str, Stream]:
    """Data sets of two classes first, then those of many; what is longer is cut."""
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
    """The estimator with its defaults; where it cannot do without a parameter, with the first it is tested with."""
    accepted = inspect.signature(kind).parameters
    given = {name: value for name, value in GIVEN.items() if name in accepted} | more
    try:
        return kind(**given)
    except TypeError:
        return kind(**(next(iter(kind._unit_test_params())) | given))  # type: ignore[attr-defined]


def named() -> list[type]:
    """The classifiers that are complete in themselves."""
    kinds = [entry.kind for entry in catalogue.entries() if issubclass(entry.kind, base.Classifier)]
    required = lambda kind: [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]  # noqa: E731
    return [kind for kind in kinds if not required(kind)]


def settings(kind: type) -> Iterator[Any]:
    """The estimator with its first parameter at several multiples of its default, as far as it takes them."""
    first = next(iter(inspect.signature(kind).parameters.values()))
    for multiple in MULTIPLES if isinstance(first.default, float) else ():
        with contextlib.suppress(ValueError):
            yield made(kind, **{first.name: first.default * multiple})
    if not isinstance(first.default, float):
        yield made(kind)


def error(model: Any, stream: Stream) -> float:
    """The share of wrong predictions, or infinity where the learner does not suit the labels or gives up."""
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
    """Learners from best to worst by their mean place, data sets, and the errors."""
    data, kinds = streams(), named()
    errors = np.array([[min(error(model, s) for model in settings(kind)) for s in data.values()] for kind in kinds])
    ranks = np.array([[(column < value).sum() for value in column] for column in errors.T])
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return [kinds[i].__name__ for i in order], [*data], errors[order]


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
        "-: the learner is for two classes only, or refused a step that would have overflowed.",
        "",
        f"| learner | {' | '.join(columns)} |",
        f"|{'---|' * (len(columns) + 1)}",
    ]
    for name, row in zip(names, errors, strict=True):
        cells = ("-" if math.isinf(value) else f"{100 * value:.1f}" for value in row)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def table() -> str:
    """Return the rows of the README, in the words of the estimators."""
    lines = ["| | for | space | cost of a round | guarantee | advice |", "|---|---|---|---|---|---|"]
    for entry in catalogue.entries():
        cells = (
            f"`{entry.name}`",
            task(entry.kind),
            space(entry.kind),
            entry.round_cost,
            entry.guarantee,
            entry.advice,
        )
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


TASKS: dict[Callable[[Any], bool], str] = {
    lambda model: isinstance(model, base.Transformer): "features",
    lambda model: isinstance(model, base.Regressor): "numbers",
    lambda model: isinstance(model, base.Classifier) and model._multiclass: "classes",
    lambda model: isinstance(model, base.Classifier): "two classes",
    lambda model: isinstance(model, base.MultiLabelClassifier): "sets of labels",
    lambda model: isinstance(model, base.AnomalyDetector): "points",
    lambda model: isinstance(model, Structured): "structures",
}


def task(kind: type) -> str:
    model = made(kind)
    return next((words for suits, words in TASKS.items() if suits(model)), "other")


def space(kind: type) -> str:
    """The space, or of one that its learner keeps to itself the one it is made from."""
    accepted = inspect.signature(kind).parameters
    if "space" in accepted:
        return "any"
    if "covariance" in accepted:
        return "`Diagonal` or `Full`"
    model = made(kind)
    if not hasattr(model, "rule"):
        return "its own"
    if getattr(model, "space", None) is None:
        return "`Linear`"
    return next(f"`{base.__name__}`" for base in type(model.space).__mro__ if base.__name__ in rm.__all__)


def with_table(readme: str) -> str:
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}{END}{after}"


def main(only_table: bool) -> None:
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text()))
    if only_table:
        return
    names, columns, errors = compare()
    with plt.rc_context({"svg.hashsalt": "river_margins", "figure.facecolor": "white"}):
        draw(names, columns, errors, FIGURE)
    RESULTS.write_text(report(names, columns, errors))
    print(RESULTS.read_text())


if __name__ == "__main__":
    main(sys.argv[1:] == ["table"])
