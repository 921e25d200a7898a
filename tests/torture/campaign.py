"""The proof of exactly-once, in its long form: `python -m tests.torture.campaign [VARIANT ...] [--seed N]`.

Each variant is a group of three processors on four partitions of a real Apache Kafka, under faults. At the end the
referee compares output and models with the bare learner. Prints a table, and ends with 1 when anything is wrong.
"""

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from connectors.kafka import CLIENTS
from connectors.kafka.local import VERSION, LocalKafka
from connectors.kafka.local.broker import SWEEP
from tests.torture import late_labels, mixing
from tests.torture.faults import SNAPSHOT, Faults
from tests.torture.group import QUICK, STATIC, Event, Feeder, Group, is_broken, plain
from tests.torture.referee import Judgement, judge

PROGRESS = 30.0  # seconds within which each partition must go on after the last fault
# Kafka of variants with one broker. One of 4.3.0 that is killed while it aborts a transaction may never write its end.
# Readers of committed records then wait without end, whatever the processors do.
ALONE = "4.2.0"


@dataclass(frozen=True)
class Variant:
    """So many records, most of them fed within so many seconds, under these faults."""

    seconds: float
    records: int = 20_000
    brokers: int = 1
    crashes: int = 0  # at each step of the commit
    faults: dict[str, int] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)
    guarantee: str = "exactly_once"
    clients: tuple[str, ...] = ("kafka-python",)
    every: str | None = None  # snapshots, apart from checkpoints
    has_instances: bool = False
    wait: str | None = None  # `labels.wait`, with labels that come later
    drift: str = ""  # what a drift leads to, with labels that come later, queries and a challenger
    mixes: bool = False
    are_forked: bool = False

    def events(self, seed: int) -> list[Event]:
        begin = int((time.time() - 3000) * 1000)  # event time ends before the present
        return late_labels.events(self.records, seed, begin) if self.wait else plain(self.records, seed)

    @property
    def sections(self) -> dict[str, Any]:
        if self.mixes:
            return {"mixing": mixing.SECTION}
        return late_labels.with_drift(self.drift) if self.drift else {}

    @property
    def labels(self) -> dict[str, Any] | None:
        return late_labels.SECTION | {"wait": self.wait} if self.wait else None


# A processor that starts while its only broker is down says so and ends; a supervisor starts it again.
EXPECTED = ("exit 3: no broker answered", "exit 7:", "exit 8:")
MIXED = {"kill": 6, "kill at snapshot": 12, "zombie": 8, "broker": 6, "orphan": 6}
MIXED |= {"join": 8, "leave": 8, "rebalance": 4, "grow": 3, "corrupt": 4}
INSTANCES = {"instance kill": 16, "instance restart": 8, "instance zombie": 12, "kill at snapshot": 6, "orphan": 5}
INSTANCES |= {"broker": 5, "join": 4, "leave": 4, "grow": 1, "corrupt": 3}
ALL = {"kill": 10, "kill at snapshot": 16, "zombie": 10, "rebalance": 8, "broker": 5, "orphan": 12}
VARIANTS = {
    "steps": Variant(150, crashes=10),
    "one broker": Variant(150, faults=ALL),
    "three brokers": Variant(150, faults=ALL | {"broker": 10}, brokers=3),
    "default sweep": Variant(150, faults=ALL, settings={SWEEP: 10_000}),
    "at least once": Variant(150, faults=ALL, guarantee="at_least_once"),
    "snapshots apart": Variant(150, faults=ALL, every="2s"),
    "mixed": Variant(400, 40_000, faults=MIXED, brokers=3),
    "instances": Variant(400, 40_000, faults=INSTANCES, brokers=3, has_instances=True),
    "a minute without": Variant(100, records=5_000, faults={"outage": 1, "kill": 2}),
}
VARIANTS |= {f"confluent, {name}": replace(variant, clients=("confluent",)) for name, variant in VARIANTS.items()}
VARIANTS["both clients"] = Variant(150, faults=ALL, clients=CLIENTS)
VARIANTS |= {f"both clients, {name}": replace(VARIANTS[name], clients=CLIENTS) for name in ("mixed", "instances")}
# Records and labels are taken in the order of their times if none comes later than `wait`: while brokers are away, what
# was fed at one moment reaches the topics at several.
for name in ("steps", "one broker", "three brokers", "at least once", "mixed", "instances"):
    for who, clients in (("", CLIENTS[:1]), ("confluent, ", CLIENTS[1:]), ("both clients, ", CLIENTS)):
        VARIANTS[f"{who}labels, {name}"] = replace(VARIANTS[name], clients=clients, wait="30s")
for drift in ("reset", "promote"):
    for name in ("steps", "one broker", "mixed"):
        for who in ("", "confluent, "):
            VARIANTS[f"{who}{drift}, {name}"] = replace(VARIANTS[f"{who}labels, {name}"], drift=drift)
for name in ("steps", "one broker", "three brokers", "snapshots apart"):
    for who, clients in (("", CLIENTS[:1]), ("confluent, ", CLIENTS[1:]), ("both clients, ", CLIENTS)):
        VARIANTS[f"{who}mixing, {name}"] = replace(VARIANTS[name], clients=clients, mixes=True)
SHORT = Variant(
    20,
    records=3_000,
    crashes=1,
    are_forked=True,
    faults={"kill at snapshot": 1, "zombie": 1, "rebalance": 1, "broker": 1, "orphan": 1},
)


@dataclass
class Row:
    """What came of a variant; `wrong` has a sentence for each thing that is not as promised."""

    name: str
    records: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    disordered: int = 0
    diverged: int = 0
    progress: float = 0.0
    returns: list[tuple[float, float, float]] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def strikes(self) -> int:
        return sum(count for kind, count in self.faults.items() if not kind.startswith(SNAPSHOT))

    @property
    def clock(self) -> tuple[str, str]:
        return f"{self.progress:.1f}", f"{self.seconds:.0f}"

    def take(self, judgement: Judgement, guarantee: str, rejects: int | None) -> None:
        verdict = judgement.verdict
        self.records, self.lost, self.doubled = verdict.inputs, verdict.lost, verdict.doubled
        self.disordered, self.diverged = verdict.disordered, verdict.different + len(judgement.models)
        repeats_allowed = guarantee == "at_least_once"
        exact = judgement.exact or (repeats_allowed and not (self.lost or self.diverged or verdict.foreign))
        if not exact:
            self.wrong.append(f"not exact: {judgement.reasons()}")
        if rejects not in (None, verdict.rejects) and not repeats_allowed:
            self.wrong.append(f"{verdict.rejects} rejects instead of {rejects}")


def run(name: str, variant: Variant, seed: int, version: str | None = None) -> Row:
    """Runs a variant; its files are kept, and named in the row, when anything is wrong."""
    row, began = Row(name), time.monotonic()
    version = version or (VERSION if variant.brokers > 1 else ALONE)
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    with (
        LocalKafka(variant.brokers, version, variant.settings) as kafka,
        Group(
            kafka,
            folder,
            variant.guarantee,
            STATIC if variant.has_instances else QUICK,
            variant.clients,
            variant.every,
            variant.has_instances,
            labels=variant.labels,
            sections=variant.sections,
            are_forked=variant.are_forked,
        ) as g,
    ):
        faults = Faults(g, seed)
        try:
            _torment(g, faults, variant, seed, row)
            if variant.labels:
                row.take(late_labels.judge(g.config), variant.guarantee, None)
            else:
                judgement = judge(g.config, mixing.compare) if variant.mixes else judge(g.config)
                row.take(judgement, variant.guarantee, sum(map(is_broken, range(variant.records))))
        except Exception as error:  # the other variants still run
            row.wrong.append(f"stuck: {type(error).__name__}: {error}")
        row.faults, row.endings, row.returns = faults.counts, faults.endings, faults.returns
    row.wrong += [ending for ending in row.endings if not ending.startswith(EXPECTED)]
    row.seconds = time.monotonic() - began
    if row.wrong:
        row.wrong.append(f"files of this run: {folder}")
    else:
        shutil.rmtree(folder)
    return row


def _torment(group: Group, faults: Faults, variant: Variant, seed: int, row: Row) -> None:
    feeder = Feeder(group, variant.events(seed), variant.seconds)
    feeder.start()
    if variant.crashes:
        faults.crash_at_steps(variant.crashes, 120)
    faults.refill()
    group.wait_progress(meanwhile=faults.refill)
    kinds = [kind for kind, times in variant.faults.items() for _ in range(times)]
    random.Random(seed).shuffle(kinds)
    for kind in kinds:
        faults.strike(kind)
    row.progress = group.wait_progress(PROGRESS, faults.refill)
    feeder.finish()
    group.wait_done(120)
    for worker in list(group.workers):
        has_begun = worker.has_begun
        if (code := group.end(worker)) and has_begun:
            faults.endings.append(f"exit {code} at the end: {worker.last_words()}")


def table(rows: list[Row]) -> str:
    titles = ["variant", "records", "faults", "lost", "doubled", "disordered", "diverged", "progress s", "seconds"]
    cells = [
        [row.name, row.records, row.strikes, row.lost, row.doubled, row.disordered, row.diverged, *row.clock]
        for row in rows
    ]
    lines = [titles, *([str(cell) for cell in line] for line in cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    for row in rows:
        text += ["", f"{row.name}: " + ", ".join(f"{kind} {count}" for kind, count in sorted(row.faults.items()))]
        if row.returns:
            clock, cpu, waiting = ([statistics.median(found), max(found)] for found in zip(*row.returns, strict=True))
            text += [
                f"  an instance goes on {clock[0]:.1f} s after kill -9, {clock[1]:.1f} s at most;",
                f"  its successor has then taken {cpu[0]:.1f} s of CPU, {cpu[1]:.1f} s at most,",
                f"  and has begun {waiting[0]:.1f} s before, {waiting[1]:.1f} s at most",
            ]
        text += [f"  ended by itself: {ending}" for ending in row.endings]
        text += [f"  WRONG: {sentence}" for sentence in row.wrong]
    return "\n".join(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="*", help=f"of {', '.join(VARIANTS)}; default: all")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--kafka", help=f"version of Apache Kafka; default: {VERSION}, and {ALONE} for one broker")
    options = parser.parse_args()
    print(f"Apache Kafka {options.kafka or f'{VERSION} and {ALONE}'}, seed {options.seed}", flush=True)
    rows = []
    for name in options.variants or VARIANTS:
        rows.append(run(name, VARIANTS[name], options.seed, options.kafka))
        print(table(rows[-1:]), flush=True)
    print(f"\n{table(rows)}")
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
