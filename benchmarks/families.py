"""How fast are the other families, each beside the nearest that River, scikit-learn or Vowpal Wabbit have?

    python benchmarks/families.py     # these tables alone; `benchmarks/learners.py` has them among its own

Vowpal Wabbit is left out where it is not installed (`pip install river-margins[peers]`).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from examples import SIZES, Rows, bare, dense, one_call, pa, shared, two_calls
from river import feature_extraction, linear_model, optim
from sklearn.linear_model import Perceptron, SGDClassifier
from timing import Contender, table

import river_margins as rm

try:
    from vowpalwabbit import Example, Workspace
except ImportError:
    Workspace = None

NARROW = SIZES[:3]


def wabbit(name: str, options: str, share: float = 1.0) -> list[Contender]:
    """Vowpal Wabbit on dicts, in one call for each example: learning predicts first."""

    def run(rows: Rows) -> None:
        workspace = Workspace(f"--quiet {options}")
        for x, y in rows:
            example = Example(workspace, {"x": list(x.items())})
            example.set_label_string("1" if y else "-1")
            workspace.learn(example)
            workspace.finish_example(example)

    return [Contender(f"Vowpal Wabbit {name}", run, share)] if Workspace else []


def scikit(make: Callable[[], Any]) -> Callable[[Rows], None]:
    """scikit-learn one example at a time, on rows that are arrays already."""

    def run(rows: Rows) -> None:
        model, classes = make(), [False, True]
        for x, y in rows:
            row = np.fromiter(x.values(), float, len(x))[None]
            if hasattr(model, "coef_"):
                model.predict(row)
            model.partial_fit(row, [y], classes=classes)

    return run


def unit(rows: Rows) -> Rows:
    """Numbers between 0 and 1, which is what Winnow takes."""
    return [({key: min(1.0, abs(value) / 3) for key, value in x.items()}, y) for x, y in rows]


def sgd(**parameters: Any) -> Callable[[], Any]:
    return lambda: SGDClassifier(shuffle=False, **parameters)


def river_sparse(optimizer: Callable[[], Any], **parameters: Any) -> Callable[[], Any]:
    return lambda: linear_model.LogisticRegression(optimizer(), **parameters)


def second_order() -> list[str]:
    return table(
        "Second order",
        shared(NARROW),
        [
            Contender("River's AdPredictor", two_calls(linear_model.AdPredictor)),
            Contender("PAClassifier", two_calls(pa)),
            Contender("AROWClassifier", two_calls(bare(rm.AROWClassifier))),
            Contender("SCWClassifier", two_calls(bare(rm.SCWClassifier))),
            Contender("NAROWClassifier", two_calls(bare(rm.NAROWClassifier))),
            Contender("SecondOrderPerceptron", two_calls(bare(rm.SecondOrderPerceptron))),
            Contender("AROWClassifier with a matrix", two_calls(bare(rm.AROWClassifier, covariance="full"))),
        ],
    )


def other_libraries() -> list[str]:
    """The one table in which others are given arrays, or make their own examples of the dicts."""
    scale = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 0.1}
    return table(
        "Passive-aggressive and perceptron in other libraries",
        shared(NARROW),
        [
            *wabbit("--sgd --loss_function hinge", "--sgd --loss_function hinge"),
            Contender("scikit-learn's SGDClassifier, pa1", scikit(sgd(**scale)), share=0.1),
            Contender("scikit-learn's Perceptron", scikit(Perceptron), share=0.1),
            Contender("PAClassifier, predict_learn_one", one_call(pa)),
            Contender("PAClassifier", two_calls(pa)),
        ],
    )


def p_norms() -> list[str]:
    return table(
        "p-norms",
        shared(NARROW),
        [
            Contender("River's ALMAClassifier(p=4)", two_calls(lambda: linear_model.ALMAClassifier(p=4))),
            Contender("ALMAClassifier(p=4)", two_calls(bare(rm.ALMAClassifier, alpha=0.9, p=4))),
            Contender("PNormPerceptron(p=4)", two_calls(bare(rm.PNormPerceptron))),
            Contender("ALMAClassifier(p=2)", two_calls(bare(rm.ALMAClassifier, alpha=0.9))),
        ],
    )


def multiplicative() -> list[str]:
    return table(
        "Multiplicative, beside River's nearest",
        [(name, unit(rows)) for name, rows in shared(NARROW)],
        [
            Contender("River's Perceptron", two_calls(linear_model.Perceptron)),
            Contender("Winnow", two_calls(lambda: rm.Winnow(4.0))),
            Contender("BalancedWinnow", two_calls(bare(rm.BalancedWinnow))),
        ],
    )


def sparse() -> list[str]:
    return table(
        "Sparse",
        shared(NARROW),
        [
            Contender(
                "River's LogisticRegression(FTRLProximal)",
                two_calls(river_sparse(lambda: optim.FTRLProximal(l1=0.1))),
            ),
            Contender("FTRLProximalClassifier", two_calls(bare(rm.FTRLProximalClassifier, l1=0.1, loss="hinge"))),
            Contender("AdaGradRDAClassifier", two_calls(bare(rm.AdaGradRDAClassifier, lam=0.01))),
            Contender("FOBOSClassifier", two_calls(bare(rm.FOBOSClassifier, lr=1.0, lam=0.01))),
            Contender("River's LogisticRegression(SGD, l1)", two_calls(river_sparse(lambda: optim.SGD(0.1), l1=0.01))),
            *wabbit("--ftrl", "--ftrl --l1 0.1 --loss_function logistic"),
            Contender(
                "scikit-learn's SGDClassifier, l1",
                scikit(sgd(loss="log_loss", penalty="l1", alpha=0.01)),
                share=0.1,
            ),
        ],
    )


def kernels_on_a_budget() -> list[str]:
    """Kernels with at most 100 supports, or as many random features, beside River's random features."""
    rbf, budget = rm.RBF(0.05), rm.OldestRemoval(100)

    def river_features() -> Any:
        return feature_extraction.RBFSampler(gamma=0.05, n_components=100, seed=1) | linear_model.PAClassifier()

    return table(
        "Kernels on a budget of 100",
        shared([(9, 500), (20, 500)]),
        [
            Contender("River's RBFSampler and PAClassifier", two_calls(river_features), share=0.4),
            Contender("FOGDClassifier", two_calls(lambda: rm.FOGDClassifier(0.05, components=100))),
            Contender("KernelPerceptron", two_calls(lambda: rm.KernelPerceptron(rbf, budget=budget))),
            Contender("KernelPAClassifier", two_calls(lambda: rm.KernelPAClassifier(rbf, C=1.0, budget=budget))),
            Contender("RandomizedBudgetPerceptron", two_calls(lambda: rm.RandomizedBudgetPerceptron(rbf, budget=100))),
            Contender("Forgetron", two_calls(lambda: rm.Forgetron(rbf, budget=100))),
            Contender("BOGDClassifier", two_calls(lambda: rm.BOGDClassifier(rbf, budget=100))),
            Contender("BPAClassifier", two_calls(lambda: rm.BPAClassifier(rbf, C=1.0, budget=100))),
            Contender("Projectron(eta=0.5), no budget", two_calls(lambda: rm.Projectron(rbf, eta=0.5))),
            Contender("KernelSecondOrderPerceptron, no budget", two_calls(lambda: rm.KernelSecondOrderPerceptron(rbf))),
            *wabbit("--ksvm, no budget", "--ksvm --kernel rbf --bandwidth 0.05", share=0.4),
        ],
    )


def some_of(x: dict[str, float], stored: int, number: int) -> dict[str, float]:
    """Return so many features of an example, at equal distances; others for the next number."""
    distance = len(x) // stored
    return dict(list(x.items())[number % distance :: distance][:stored])


def matrix_updates() -> list[str]:
    """Time updates alone of a learner with a matrix over so many features: each example is said to be wrong."""
    lines = [
        "### One update of a full matrix",
        "",
        "| features | µs, all of them stored | 20 of them stored |",
        "|---|---|---|",
    ]
    for features in (50, 100, 200, 400):
        rows, cells = dense(features, 200), []
        for stored in (features, 20):
            model, figures = rm.AROWClassifier(covariance="full", intercept=False), []
            model.learn_one(rows[0][0], True)
            for number, (x, _) in enumerate(rows):
                part = some_of(x, stored, number)
                wrong, updates = not model.predict_one(part), model.n_updates
                start = time.process_time()
                model.learn_one(part, wrong)
                figures.append((time.process_time() - start) * 1e6)
                assert model.n_updates == updates + 1
            low, middle, high = np.percentile(figures, [25, 50, 75])
            cells.append(f"{middle:.3g} ({low:.3g} to {high:.3g})")
        lines.append(f"| {features} | {' | '.join(cells)} |")
    return [*lines, ""]


GROWING: dict[str, Callable[[], Any]] = {
    "PAClassifier": pa,
    "PNormPerceptron(p=4)": bare(rm.PNormPerceptron),
    "ALMAClassifier(p=4)": bare(rm.ALMAClassifier, alpha=0.9, p=4),
    "Winnow": lambda: rm.Winnow(4.0),
    "BalancedWinnow": bare(rm.BalancedWinnow),
    "FTRLProximalClassifier": bare(rm.FTRLProximalClassifier, l1=0.1, loss="hinge"),
    "AdaGradRDAClassifier": bare(rm.AdaGradRDAClassifier, lam=0.01),
    "FOBOSClassifier": bare(rm.FOBOSClassifier, lr=1.0, lam=0.01),
}


def by_features_seen() -> list[str]:
    """Time the same examples of 14 features when the learner has learned ever more others."""
    rows, counts = unit(dense(14, 500)), (1_000, 100_000, 1_000_000)
    heads = " | ".join(f"{count:,}" for count in counts)
    lines = [
        "### The more features were seen",
        "",
        f"| µs an example of 14 features, after | {heads} |",
        "|---" * 4 + "|",
    ]
    for name, make in GROWING.items():
        cells = []
        for count in counts:
            model = make()
            for first in range(0, count, 500):  # both labels, so that each of the examples moves
                x = {f"other {i}": 0.01 for i in range(first, first + 500)}
                model.learn_one(x, model.predict_one(x) is False)
            assert model.n_updates == count // 500
            figures = []
            for _ in range(15):
                start = time.process_time()
                for x, y in rows:
                    model.predict_learn_one(x, y)
                figures.append((time.process_time() - start) / len(rows) * 1e6)
            cells.append(f"{np.median(figures):.3g} ({min(figures):.3g} to {max(figures):.3g})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def tables_of_families() -> list[str]:
    missing = [] if Workspace else ["Vowpal Wabbit is not installed, and so not in the tables below.", ""]
    tables = second_order, other_libraries, p_norms, multiplicative, sparse, kernels_on_a_budget
    return [*missing, *(line for make in tables for line in make()), *matrix_updates(), *by_features_seen()]


if __name__ == "__main__":
    print("\n".join(tables_of_families()))
