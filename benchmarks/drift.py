"""Which learners follow a change of concept, and which freeze?

    python benchmarks/drift.py          # writes benchmarks/results/drift.md

A concept is a hyperplane; a tenth of the labels are wrong. Each example is predicted before it is learned, and the
accuracy counts in the last quarter of the stream. A learner with an option to forget is run with it and without, and
once more started afresh at the switch.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import river
from river import drift, linear_model

import river_margins as rm
from river_margins.families.auto import usual_classifiers

RESULTS = Path(__file__).parent / "results" / "drift.md"
ROUNDS, NOISE = 20_000, 0.1
KINDS = ("none", "abrupt", "recurring", "gradual")
WIDTHS = {"dense": (10, 10), "sparse": (1000, 20)}  # so many features, and so many of them in an example
SEEDS = {"dense": 3, "sparse": 8}  # the mean of 3 sparse streams would be uncertain by 0.4 points
HALF_LIVES = (250, 500, 700, 1000, 1500, 1750, 2000, 2500, 3000, 4000, 6000, 8000, 16_000, 32_000)
# How much accuracy forgetting may cost: against the same learner without it if the concept stays, else against the same
# learner started at the last switch.
GOALS = {kind: 0.01 if kind != "none" else 0.005 for kind in KINDS}
TOGETHER = (250, 1000, 4000)  # the half lives of one learner under `AutoClassifier`

Rows = list[tuple[dict[int, float], bool]]
Make = Callable[..., Any]


@dataclass(frozen=True)
class Stream:
    rows: Rows
    switch: int  # the last one: 0 if the concept stays


def turned(kind: str, rounds: int) -> tuple[np.ndarray, int]:
    """Return how far the concept has turned in each round, from 0 to 1, and the round of the last switch."""
    part = np.arange(rounds) / rounds
    if kind == "abrupt":
        return (part >= 0.5).astype(float), rounds // 2
    if kind == "recurring":  # in the second quarter only
        return ((part >= 0.25) & (part < 0.5)).astype(float), rounds // 2
    if kind == "gradual":  # from the first quarter to the third
        return np.clip(2 * part - 0.5, 0.0, 1.0), rounds // 2
    return np.zeros(rounds), 0


def stream(kind: str, width: str, seed: int, rounds: int = ROUNDS) -> Stream:
    """Return examples of a concept that turns by a right angle."""
    draw = np.random.default_rng(seed)
    features, present = WIDTHS[width]
    first, second = draw.normal(size=(2, features))
    share, switch = turned(kind, rounds)
    values, wrong = draw.normal(size=(rounds, present)), draw.random(rounds) < NOISE
    places = np.tile(np.arange(features), (rounds, 1))[:, :present]
    if present < features:
        places = np.array([draw.choice(features, present, replace=False) for _ in range(rounds)])
    angle = share[:, None] * math.pi / 2
    scores = (values * (np.cos(angle) * first[places] + np.sin(angle) * second[places])).sum(axis=1)
    labels = ((scores > 0) != wrong).tolist()
    rows = [
        (dict(zip(row, numbers, strict=True)), label)
        for row, numbers, label in zip(places.tolist(), values.tolist(), labels, strict=True)
    ]
    return Stream(rows, switch)


def hits(model: Any, rows: Rows) -> np.ndarray:
    """Return whether each example was predicted right before it was learned."""
    right = np.empty(len(rows), dtype=bool)
    for number, (x, y) in enumerate(rows):
        right[number] = model.predict_one(x) == y
        model.learn_one(x, y)
    return right


def accuracy(make: Callable[[], Any], given: Stream, *, afresh: bool = False) -> float:
    """Return the accuracy in the last quarter, with a learner started at the beginning or at the switch."""
    rows = given.rows[given.switch :] if afresh else given.rows
    return float(hits(make(), rows)[-(len(given.rows) // 4) :].mean())


def before(make: Callable[[], Any], given: Stream) -> float:
    """Return the accuracy in the quarter before the middle of the stream."""
    half = len(given.rows) // 2
    return float(hits(make(), given.rows[:half])[half // 2 :].mean())


FORGETTING: dict[str, Make] = {
    "AROWClassifier": rm.AROWClassifier,
    "AROWClassifier, full": partial(rm.AROWClassifier, covariance="full"),
    "NAROWClassifier": rm.NAROWClassifier,
    "NHERDClassifier": rm.NHERDClassifier,
    "CWClassifier": rm.CWClassifier,
    "SCWClassifier": rm.SCWClassifier,
    "IELLIPClassifier": rm.IELLIPClassifier,
    "SecondOrderPerceptron": rm.SecondOrderPerceptron,
    "AveragedPerceptron": rm.AveragedPerceptron,
    "AveragedPAClassifier": rm.AveragedPAClassifier,
}


def automatic(*, intercept: bool) -> Any:
    """Return the learner as it is; each of its experts has an intercept."""
    return rm.AutoClassifier()


def automatic_with_coin_betting(*, intercept: bool) -> Any:
    """Return the same with one more expert."""
    return rm.AutoClassifier([*usual_classifiers(), rm.CoinBettingClassifier()])


OTHERS: dict[str, Make] = {
    "AutoClassifier": automatic,
    "AutoClassifier with CoinBettingClassifier": automatic_with_coin_betting,
    "Perceptron": rm.Perceptron,
    "ShiftingPerceptron": rm.ShiftingPerceptron,
    "PNormPerceptron": rm.PNormPerceptron,
    "PocketPerceptron": rm.PocketPerceptron,
    "PAClassifier": partial(rm.PAClassifier, 0.01),
    "MIRAClassifier": partial(rm.MIRAClassifier, 0.01),
    "OGDClassifier": rm.OGDClassifier,
    "PegasosClassifier": rm.PegasosClassifier,
    "ROMMAClassifier": rm.ROMMAClassifier,
    "ALMAClassifier": rm.ALMAClassifier,
    "AdalineClassifier": partial(rm.AdalineClassifier, 0.05),
    "CoinBettingClassifier": rm.CoinBettingClassifier,
    "FTRLProximalClassifier": rm.FTRLProximalClassifier,
    "AdaGradRDAClassifier": rm.AdaGradRDAClassifier,
    "FOBOSClassifier": rm.FOBOSClassifier,
    "BalancedWinnow": rm.BalancedWinnow,
}
BUDGETS: dict[str, Make] = {
    "RandomizedBudgetPerceptron": rm.RandomizedBudgetPerceptron,
    "Forgetron": rm.Forgetron,
    "BOGDClassifier": rm.BOGDClassifier,
    "BPAClassifier": rm.BPAClassifier,
    "FOGDClassifier": rm.FOGDClassifier,
}


def river_learner(*, intercept: bool) -> Any:
    """Return River's learner; its intercept is a part of it, and its features need no scaler here."""
    return linear_model.LogisticRegression()


def restarted(*, intercept: bool) -> Any:
    """Return a learner that River's drift detector replaces by a new one when the errors become more frequent."""
    return drift.DriftRetrainingClassifier(rm.AROWClassifier(intercept=intercept), drift.binary.DDM())


RIVER: dict[str, Make] = {"AROWClassifier, restarted by DDM": restarted, "River's LogisticRegression": river_learner}


class Measured:
    """The mean accuracies of a learner on the streams of one width."""

    def __init__(self, make: Make, streams: dict[str, list[Stream]]) -> None:
        self.make = partial(make, intercept=False)
        self.streams = streams

    def mean(self, kind: str, measure: Callable[..., float] = accuracy, **parameters: Any) -> float:
        make = partial(self.make, **parameters)
        return float(np.mean([measure(make, given) for given in self.streams[kind]]))

    def afresh(self, kind: str) -> float:
        return self.mean(kind, partial(accuracy, afresh=True))

    @cached_property
    def best_half_life(self) -> tuple[int, dict[str, float]]:
        """The half life whose largest loss, in units of its goal, is smallest, and its accuracies."""
        found = {each: {kind: self.mean(kind, half_life=each) for kind in KINDS} for each in HALF_LIVES}
        fresh = {kind: self.afresh(kind) for kind in KINDS}
        lost = {each: max((fresh[kind] - row[kind]) / GOALS[kind] for kind in KINDS) for each, row in found.items()}
        best = min(HALF_LIVES, key=lambda each: lost[each])
        return best, found[best]

    def together(self) -> "Measured":
        """Return the learner under `AutoClassifier`: without forgetting, with each half life, and restarted by DDM."""

        def several() -> Any:
            plain = self.make()
            half_lives = [self.make(half_life=each) for each in TOGETHER]
            return rm.AutoClassifier([plain, *half_lives, drift.DriftRetrainingClassifier(plain, drift.binary.DDM())])

        return Measured(lambda *, intercept: several(), self.streams)


@cache
def streams(width: str) -> dict[str, list[Stream]]:
    """Return the streams of each kind."""
    return {kind: [stream(kind, width, seed) for seed in range(SEEDS[width])] for kind in KINDS}


@cache
def measured_on(width: str, name: str) -> Measured:
    """Return what was measured of a learner; several tables show it."""
    return Measured((FORGETTING | OTHERS | BUDGETS | RIVER)[name], streams(width))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def row_of(name: str, measured: Measured, forgets: bool) -> str:
    """Return a row: for each stream the accuracy without forgetting, with it, and of a learner started afresh."""
    half_life, kept = measured.best_half_life if forgets else ("-", dict.fromkeys(KINDS, math.nan))
    cells = []
    for kind in KINDS:
        cells.append(percent(measured.mean(kind)))
        cells += [percent(kept[kind]) if forgets else "-", percent(measured.afresh(kind))]
    return f"| {name} | {half_life} | {' | '.join(cells)} |"


def table(width: str) -> Iterator[str]:
    features, present = WIDTHS[width]
    yield f"\n## {width}: {present} of {features} features\n"
    yield "| learner | half_life | " + " | ".join(f"{kind}, plain | forgetting | afresh" for kind in KINDS) + " |"
    yield "|---" * (2 + 3 * len(KINDS)) + "|"
    for name in FORGETTING | OTHERS | RIVER:
        if width == "dense" or not name.endswith("full"):  # a matrix over 1,000 features takes hours
            yield row_of(name, measured_on(width, name), name in FORGETTING)


def lost(fresh: dict[str, float], kept: dict[str, float]) -> list[str]:
    """Return what is lost in each stream, in points; in bold where it is more than the goal."""
    points = {kind: fresh[kind] - kept[kind] for kind in KINDS}
    cells = {kind: f"{100 * each:.2f}" for kind, each in points.items()}
    return [f"**{cell}**" if points[kind] > GOALS[kind] else cell for kind, cell in cells.items()]


def goals() -> Iterator[str]:
    """One line for each learner that can forget: what the best half life costs, and what several together cost."""
    yield "\n## What forgetting costs\n"
    yield (
        "Points of accuracy lost, at the best half life and by several learners together: against the same learner "
        f"without forgetting if the concept stays (none; the goal is {percent(GOALS['none'])}), else against the same "
        f"learner started at the last switch (the goal is {percent(GOALS['abrupt'])}). Bold is more than the goal. "
        "Together: `AutoClassifier` with the learner without forgetting, with half_life "
        f"{', '.join(map(str, TOGETHER))}, and restarted by DDM.\n\n"
        "Why one half life cannot do both: it remembers about 1.44·half_life examples. Without a change these are all "
        "the evidence there is for each weight, so the loss falls with half_life, and with rare features it falls "
        "slowly. After a change the old examples count 2^(-rounds/half_life) of what they did, so the loss grows with "
        "half_life. CW without a half life makes every label right, also a wrong one, so that its accuracy is little "
        "above chance here.\n"
    )
    together = " | ".join(f"together, {kind}" for kind in KINDS)
    yield f"| features | learner | half_life | {' | '.join(KINDS)} | {together} |"
    yield "|---" * (3 + 2 * len(KINDS)) + "|"
    for width in WIDTHS:
        for name in FORGETTING:
            if width == "dense" or not name.endswith("full"):
                measured = measured_on(width, name)
                half_life, kept = measured.best_half_life
                several, fresh = measured.together(), {kind: measured.afresh(kind) for kind in KINDS}
                cells = [*lost(fresh, kept), *lost(fresh, {kind: several.mean(kind) for kind in KINDS})]
                yield f"| {width} | {name} | {half_life} | {' | '.join(cells)} |"


def summary() -> Iterator[str]:
    """One line for each learner: the accuracy before an abrupt switch, and in the last quarter after it."""
    yield "\n## One abrupt switch, dense\n"
    yield "| learner | before | after | half_life | after with half_life |"
    yield "|---|---|---|---|---|"
    for name in FORGETTING | OTHERS | BUDGETS:
        measured = measured_on("dense", name)
        half_life, kept = measured.best_half_life if name in FORGETTING else ("-", {"abrupt": math.nan})
        cells = [percent(measured.mean("abrupt", before)), percent(measured.mean("abrupt")), str(half_life)]
        cells.append(percent(kept["abrupt"]) if name in FORGETTING else "-")
        yield f"| {name} | {' | '.join(cells)} |"


def report() -> Iterator[str]:
    yield "# Learners under drift\n"
    yield (
        f"Accuracy in % in the last quarter of {ROUNDS} rounds, "
        f"the mean of {SEEDS['dense']} dense or {SEEDS['sparse']} sparse streams. A tenth of the labels are "
        "wrong, so no learner can exceed 90 %. The concept turns by a right angle: abruptly in the middle; in the "
        "second quarter only (recurring); slowly from the first quarter to the third (gradual); or it stays (none). "
        '"afresh" is the same learner started in the middle. half_life is the best of '
        f"{', '.join(map(str, HALF_LIVES))} for all four streams. Other parameters have their defaults, but C = 0.01 "
        f"in PA and MIRA, and lr = 0.05 in Adaline. DDM is River's drift detector, in `DriftRetrainingClassifier`. No "
        f"intercept, no scaler. River {river.__version__}."
    )
    yield from summary()
    yield from goals()
    for width in WIDTHS:
        yield from table(width)


def main() -> None:
    lines = []
    for line in report():
        print(line, flush=True)
        lines.append(line)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
