"""What is mixing worth when each partition sees a part of the world only?

    python benchmarks/mixing.py          # writes benchmarks/results/mixing.md
    python benchmarks/mixing.py --cost   # what one mixing takes; writes benchmarks/results/mixing_cost.md

Eight learners take the records of eight partitions in turn, each record predicted before it is learned. They are left
alone, or all become their mean after every so many records of each, by `river_margins.conversions.mix`. One learner
that sees all records in the same order is what they are compared with.

`own records` is the accuracy on the records of the own partition, which is what a processor would answer. `any record`
is that of each model at the end on 1,000 records drawn from all partitions: it counts when a key moves to another
partition, or a partition meets what it has not seen.
"""

import argparse
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import river_margins as rm
from river_margins import snapshot
from river_margins.conversions import mix

RESULTS = Path(__file__).parent / "results" / "mixing.md"
COST = RESULTS.with_name("mixing_cost.md")
PARTITIONS, ROUNDS, FEATURES, TEST, SEEDS = 8, 800, 40, 1000, 3
EVERY = (800, 200, 50, 10)  # records of each partition between two mixings
LEARNERS = {
    "Perceptron": lambda: rm.Perceptron(),
    "PAClassifier(C=0.1)": lambda: rm.PAClassifier(C=0.1),
    "AROWClassifier": lambda: rm.AROWClassifier(),
    "StandardScaler, AROWClassifier": lambda: rm.StandardScaler() | rm.AROWClassifier(),
}
STREAMS = {
    "alike": "every partition sees the same distribution",
    "region": "partition p sees points near its own centre",
    "features": "partition p sees three features of its own and two that all have",
    "class": "one of eight classes is nine tenths of each partition",
}
Example = tuple[dict[str, float], Any]


class World:
    """Records of eight partitions; a tenth of the labels are wrong."""

    def __init__(self, kind: str, seed: int) -> None:
        self._kind, self._draw = kind, np.random.default_rng(seed)
        self._concept = self._draw.normal(size=FEATURES)
        self._centres = 1.5 * self._draw.normal(size=(PARTITIONS, FEATURES))

    def example(self, partition: int) -> Example:
        draw, x = self._draw, self._draw.normal(size=FEATURES)
        label: Any
        if self._kind == "class":
            label = partition if draw.random() < 0.9 else int(draw.integers(PARTITIONS))
            x = 0.5 * self._centres[label] + 1.5 * x
            named = range(FEATURES)
            label = label if draw.random() < 0.9 else int(draw.integers(PARTITIONS))
            return {f"f{j}": float(x[j]) for j in named}, f"c{label}"
        named = range(FEATURES)
        if self._kind == "region":
            x = x + self._centres[partition]
        elif self._kind == "features":
            own = [2 + 3 * partition + j for j in range(3)]
            named = [0, 1, *own]  # type: ignore[assignment]
        label = sum(x[j] * self._concept[j] for j in named) > 0
        return {f"f{j}": float(x[j]) for j in named}, bool(label) != bool(draw.random() < 0.1)

    def rounds(self) -> Iterator[list[Example]]:
        for _ in range(ROUNDS):
            yield [self.example(number) for number in range(PARTITIONS)]


def accuracy(model: Any, examples: list[Example]) -> float:
    return float(np.mean([model.predict_one(x) == y for x, y in examples]))


def run(make: Any, rounds: list[list[Example]], test: list[Example], every: int | None) -> tuple[float, float]:
    """Return both accuracies of models that mix after so many rounds; None: never."""
    models, right = [make() for _ in range(PARTITIONS)], 0
    for number, round_ in enumerate(rounds, 1):
        for model, (x, y) in zip(models, round_, strict=True):
            right += model.predict_one(x) == y
            model.learn_one(x, y)
        if every is not None and number % every == 0:
            mixed = [mix([model, *(other for other in models if other is not model)]) for model in models]
            models = mixed
    return right / (ROUNDS * PARTITIONS), float(np.mean([accuracy(model, test) for model in models]))


def run_one(make: Any, rounds: list[list[Example]], test: list[Example]) -> tuple[float, float]:
    model, right = make(), 0
    for round_ in rounds:
        for x, y in round_:
            right += model.predict_one(x) == y
            model.learn_one(x, y)
    return right / (ROUNDS * PARTITIONS), accuracy(model, test)


def table(kind: str) -> Iterator[str]:
    worlds = [World(kind, seed) for seed in range(SEEDS)]
    drawn = [(list(world.rounds()), [world.example(number % PARTITIONS) for number in range(TEST)]) for world in worlds]
    yield "| learner | one model | never | " + " | ".join(f"every {each}" for each in EVERY) + " |"
    yield "|---" * (3 + len(EVERY)) + "|"
    for name, make in LEARNERS.items():
        cells = [np.mean([run_one(make, *each) for each in drawn], axis=0)]
        cells += [np.mean([run(make, *each, every) for each in drawn], axis=0) for every in (None, *EVERY)]
        shown = " | ".join(f"{100 * own:.1f}, {100 * others:.1f}" for own, others in cells)
        yield f"| {name} | {shown} |"


def large(make: Any, features: int, seed: int) -> Any:
    """Return a model that has learned so many features, in an order of its own."""
    names = np.random.default_rng(seed).permutation(features)
    model = make()
    for some in np.array_split(names, features // 50):
        model.learn_one({f"feature-{n}": 1.0 + n / features for n in some}, bool(some[0] % 2))
    return model


def cost(make: Any, features: int) -> tuple[float, float, float]:
    """Return MB of a snapshot, and the CPU time in seconds to load one and to find the mean of all partitions."""
    files = [snapshot.dumps(large(make, features, number)) for number in range(PARTITIONS)]
    began = time.process_time()
    models = [snapshot.loads(data) for data in files]
    loaded = time.process_time()
    mix(models)
    return len(files[0]) / 1e6, (loaded - began) / PARTITIONS, time.process_time() - loaded


def changed() -> tuple[int, int, int]:
    """Return how many features a model has, has learned since its last mixing, and has otherwise than it published.

    Records have about ten of 20,000 features, some of them often and most rarely, as words do.
    """
    draw, models, published = np.random.default_rng(1), [rm.AROWClassifier() for _ in range(PARTITIONS)], []
    concept, learned = draw.normal(size=20_001), set[str]()
    for _ in range(12):
        before, learned = published or models, set()
        for number, model in enumerate(models):
            for _ in range(500):
                words = np.unique(np.minimum(draw.zipf(1.3, 20), 20_000))
                model.learn_one({f"w{n}": 1.0 for n in words}, bool(concept[words].sum() > 0))
                if number == 0:
                    learned.update(f"w{n}" for n in words)
        mixed = [mix([model, *before[:n], *before[n + 1 :]]) for n, model in enumerate(models)]
        models, published = [copy.deepcopy(model) for model in mixed], mixed
    last, now = dict(before[0].weights), dict(mixed[0].weights)
    return len(now), len(learned), sum(last.get(name) != weight for name, weight in now.items())


def write_costs() -> None:
    lines = [
        "# What a mixing takes",
        "",
        f"`python benchmarks/mixing.py --cost`: {PARTITIONS} partitions with the same features in different orders. "
        "CPU time in seconds.",
        "",
        "| learner | features | a snapshot, MB | to load one | a mean |",
        "|---|---|---|---|---|",
    ]
    for name in ("AROWClassifier", "StandardScaler, AROWClassifier"):
        for features in (10_000, 100_000, 1_000_000):
            size, load, mean = cost(LEARNERS[name], features)
            lines.append(f"| {name} | {features:,} | {size:.2g} | {load:.2g} | {mean:.2g} |")
            print(lines[-1], flush=True)
    features, learned, otherwise = changed()
    lines += [
        "",
        f"Of {features:,} features of an `AROWClassifier`, on records of some words of a vocabulary, a partition had "
        f"learned {learned:,} between two mixings, and {otherwise:,} had other weights than published before.",
    ]
    COST.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost", action="store_true", help="only what one mixing takes")
    if parser.parse_args().cost:
        write_costs()
        return
    lines = [
        "# Mixing",
        "",
        f"`python benchmarks/mixing.py`: {PARTITIONS} partitions with {ROUNDS:,} records each, the mean of {SEEDS} "
        "seeds. Each cell has the accuracy in % on the own records while they are learned, and at the end on any "
        "record.",
    ]
    for kind, meaning in STREAMS.items():
        lines += ["", f"## {kind}: {meaning}", "", *table(kind)]
        print("\n".join(lines[-2 - len(LEARNERS) :]), flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
