"""Where do the instructions of an example go?

    python benchmarks/instructions.py          (needs valgrind)

Each scenario runs twice under callgrind, once with more rounds than the other; the difference, divided by the examples
between them, is what one example costs in each function, free of start-up. Written to
benchmarks/results/instructions.md.
"""

import collections
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from river import evaluate, metrics

import river_margins as rm

RESULTS = Path(__file__).parent / "results" / "instructions.md"
ROWS, FEW, MANY = 200, 10, 40
SHOWN = 12


def dicts(features: int) -> list[tuple[dict[str, float], bool]]:
    draw = random.Random(features)
    keys = [f"feature {i}" for i in range(features)]
    return [({key: draw.gauss(0, 1) for key in keys}, draw.random() < 0.5) for _ in range(ROWS)]


def one_call(features: int, model: Any = None) -> Callable[[int], None]:
    rows, both = dicts(features), (model or rm.PAClassifier(C=0.1, intercept=False)).predict_learn_one

    def play(rounds: int) -> None:
        for _ in range(rounds):
            for x, y in rows:
                both(x, y)

    return play


def scaled(features: int) -> Callable[[int], None]:
    rows = dicts(features)

    def play(rounds: int) -> None:
        model = rm.StandardScaler() | rm.PAClassifier(C=0.1, intercept=False)
        evaluate.progressive_val_score(rows * rounds, model, metrics.Accuracy())

    return play


def sparse() -> tuple[Any, np.ndarray]:
    """Rows with 14 ones in 123 columns, with labels of a noisy linear separator, enough for the calls not to count."""
    import scipy.sparse  # not above: under callgrind each import takes its time in every run

    draw, rows = np.random.default_rng(0), 20 * ROWS
    places = np.concatenate([np.sort(draw.choice(123, 14, replace=False)) for _ in range(rows)])
    X = scipy.sparse.csr_matrix((np.ones(14 * rows), places, np.arange(rows + 1) * 14), shape=(rows, 123))
    return X, (X @ draw.normal(size=123) + draw.normal(size=rows) > 0).astype(int)


def csr() -> Callable[[int], None]:
    (X, y), model = sparse(), rm.PAClassifier(C=0.1, classes=[0, 1], intercept=False)

    def play(rounds: int) -> None:
        for _ in range(rounds):
            model.learn_csr(X, y)

    return play


def sgd() -> Callable[[int], None]:
    from sklearn.linear_model import SGDClassifier

    X, y = sparse()
    model = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=0.1, shuffle=False)

    def play(rounds: int) -> None:
        for _ in range(rounds):
            model.partial_fit(X, y, classes=[0, 1])

    return play


SCENARIOS: dict[str, tuple[Callable[[], Callable[[int], None]], int]] = {
    "predict_learn_one, 9 features": (lambda: one_call(9), ROWS),
    "predict_learn_one, 100 features": (lambda: one_call(100), ROWS),
    "predict_learn_one of scaler and learner, 9 features": (
        lambda: one_call(9, rm.StandardScaler() | rm.PAClassifier(C=0.1, intercept=False)),
        ROWS,
    ),
    "progressive_val_score of scaler and learner, 9 features": (lambda: scaled(9), ROWS),
    "learn_csr, 14 of 123 stored": (csr, 20 * ROWS),
    "scikit-learn's partial_fit (pa1, shuffle=False), 14 of 123 stored": (sgd, 20 * ROWS),
}


def counted(scenario: str, rounds: int) -> collections.Counter[str]:
    """Instructions by function, its callees not included."""
    steady = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.NamedTemporaryFile() as file:
        options = [
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
            f"--callgrind-out-file={file.name}",
        ]
        command = ["valgrind", *options, sys.executable, __file__, scenario, str(rounds)]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | steady)
        return own_costs(Path(file.name).read_text())


def own_costs(profile: str) -> collections.Counter[str]:
    """A line after `calls=` is the cost of the callee, all others are the function's own."""
    costs: collections.Counter[str] = collections.Counter()
    function, of_callee = "", False
    for line in profile.splitlines():
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            of_callee = True
        elif line[:1].isdigit():
            if not of_callee:
                costs[function] += int(line.split()[1])
            of_callee = False
    return costs


def readable(function: str) -> str:
    """`Linear.score` for the name that Cython gives it in C, where the length of a class's name stands before it."""
    method = re.search(r"river_margins.*?_(\d+)([A-Z].*)", function)
    if not method:
        return function.split("'")[0].split("river_margins_")[-1]
    length, rest = int(method[1]), method[2]
    return f"{rest[:length]}.{rest[length + 1 :].lstrip('0123456789')}"


def report(scenario: str) -> list[str]:
    _, examples = SCENARIOS[scenario]
    few, many = counted(scenario, FEW), counted(scenario, MANY)
    costs: collections.Counter[str] = collections.Counter()
    for function in many:
        costs[readable(function)] += (many[function] - few[function]) / (MANY - FEW) / examples
    costs.pop("blas_thread_server", None)  # waits in a thread of its own
    lines = [f"### {scenario}", "", "| function | instructions an example |", "|---|---|"]
    lines += [f"| `{function}` | {cost:.0f} |" for function, cost in costs.most_common(SHOWN)]
    return [*lines, f"| everything | {sum(costs.values()):.0f} |", ""]


def main() -> None:
    text = ["# Instructions", ""]
    for scenario in track(SCENARIOS, description="callgrind"):
        text += report(scenario)
    RESULTS.write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        SCENARIOS[sys.argv[1]][0]()(int(sys.argv[2]))
    else:
        main()
