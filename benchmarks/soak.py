"""Does a processor stay as small as it was? An hour of steady load, measured every ten seconds.

    python benchmarks/soak.py [--minutes 60] [--every 1s] [--rate 1000] [--clients kafka-python confluent]
    python benchmarks/soak.py --minutes 10 --every 200ms     # as many checkpoints in less time, on a change
    python benchmarks/soak.py --draw         # the figure and the tables again, from the samples of the last run

Each client has an Apache Kafka and a group of its own, all at the same time. The processor that is measured never
stops. A second one, with an `instance`, is restarted every `CYCLE`, by kill -9 and by SIGTERM in turn; a third one
joins and leaves. Writes the samples to benchmarks/results/soak.csv, the tables to benchmarks/results/soak.md, and
docs/figures/soak.svg; a run of less than an hour prints its tables, and where its samples are. Ends with 1 if
something is not flat (`LIMITS`).
"""

import argparse
import contextlib
import csv
import json
import os
import platform
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import orjson

from connectors.config.value_types import seconds_of
from connectors.kafka.local import LocalKafka

matplotlib.use("Agg")
import matplotlib.pyplot as plt

plt.rcParams["svg.hashsalt"] = "river_margins"  # or the names inside the file would be random

ROOT = Path(__file__).parent.parent
SAMPLES, TABLES = (ROOT / "benchmarks" / "results" / f"soak.{ending}" for ending in ("csv", "md"))
FIGURE = ROOT / "docs" / "figures" / "soak.svg"
CLIENTS = "kafka-python", "confluent"
PARTITIONS, FEATURES = 4, 20
EVERY = 10.0  # seconds between two samples
CYCLE = 300.0  # seconds in which one processor joins and leaves, and another is restarted
JOIN, LEAVE, RESTART = 60.0, 180.0, 240.0  # seconds into each cycle
KEEP, GRACE = 3, 70  # snapshots to keep, and seconds for which a superseded one stays
# The input is deleted when it is long read. The brokers' other settings are those of production, as far as they matter.
SETTINGS: dict[str, str | int | bool] = {
    "log.segment.bytes": 32 * 2**20,
    "log.retention.bytes": 64 * 2**20,
    "log.retention.check.interval.ms": 30_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
}


@dataclass
class Sample:
    """The measured processor at one moment; `cpu` and `records` are totals, `seconds` is since the start."""

    client: str
    seconds: float
    memory: float  # MB
    handles: int
    threads: int
    files: int
    bytes: int
    lag: int
    cpu: float  # seconds
    records: int
    partitions: int


@dataclass(frozen=True)
class Limit:
    """How much a figure may grow in an hour, by the line through the last two thirds of the run."""

    title: str
    growth: float
    is_share: bool  # of its median, or in its own unit
    unit: str = ""


LIMITS = {
    "memory": Limit("memory", 0.02, True, "MB"),
    "handles": Limit("file handles", 1.0, False),
    "threads": Limit("threads", 1.0, False),
    "files": Limit("snapshots in the store", 0.05, True),
    "bytes": Limit("size of the store", 0.05, True, "kB"),
    "lag": Limit("lag", 1000.0, False, "records"),
    "cpu": Limit("CPU", 0.1, True, "µs a record"),
}


class Soaked:
    """One client with its Kafka, its three processors and its feeder."""

    def __init__(self, client: str, rate: float, every: str, folder: Path, kafka: LocalKafka) -> None:
        self.client, self.rate, self.every, self.folder, self.kafka = client, rate, every, folder, kafka
        self.port = free_port()
        self.restarts = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ended = threading.Event()
        self.feeder = threading.Thread(target=self._feed, daemon=True)

    def begin(self) -> None:
        self.kafka.create_topics({"events": PARTITIONS, "predictions": PARTITIONS})
        for name in ("measured", "restarted"):
            self.start(name)
        self.feeder.start()

    def start(self, name: str) -> None:
        file = self.folder / f"{name}.yaml"
        settings: dict[str, Any] = {
            "name": "soak",
            "kafka": {"bootstrap_servers": self.kafka.bootstrap_servers, "client": self.client},
            "input": {"topic": "events"},
            "record": {"id": "id", "label": "label"},
            "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
            "output": {"topic": "predictions"},
            "checkpoint": {"every": self.every},
            "snapshots": {"folder": str(self.folder / "snapshots"), "keep": {"last": KEEP}},
        }
        settings |= {"metrics": {"port": self.port}} if name == "measured" else {}
        settings |= {"instance": "restarted"} if name == "restarted" else {}
        file.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "connectors", "run", str(file)]
        environment = os.environ | {"MALLOC_ARENA_MAX": "2"}  # as in the image and in the unit of systemd
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        process.send_signal(number)
        code = process.wait(timeout=60)
        if code not in (0, -signal.SIGKILL):
            raise RuntimeError(f"`{name}` ended with {code}, see {self.folder / name}.log")

    def join(self) -> None:
        self.start("guest")

    def leave(self) -> None:
        self.end("guest")

    def restart(self) -> None:
        self.end("restarted", signal.SIGKILL if self.restarts % 2 == 0 else signal.SIGTERM)
        self.restarts += 1
        self.start("restarted")

    def check(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"`{name}` ended with {process.returncode}, see {self.folder / name}.log")
        if not self.feeder.is_alive():
            raise RuntimeError("the feeder ended")

    def close(self) -> None:
        self.ended.set()
        if self.feeder.is_alive():
            self.feeder.join()
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _feed(self) -> None:
        """Produce at an even rate. What could not be produced in time is not made up for."""
        from confluent_kafka import Producer

        draw = random.Random(1)
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers, "linger.ms": 20})
        names = [f"feature_{n:02d}" for n in range(FEATURES)]
        n, due = 0, time.monotonic()
        while not self.ended.wait(max(0.0, due - time.monotonic())):
            due = max(due + 0.05, time.monotonic() - 1)
            for _ in range(round(self.rate * 0.05)):
                x = {name: draw.gauss(0, 1) for name in names}
                label = x["feature_00"] + x["feature_01"] + draw.gauss(0, 0.5) > 0
                producer.produce("events", orjson.dumps({"id": f"r{n}", **x, "label": label}), partition=n % PARTITIONS)
                n += 1
            producer.poll(0)
        producer.flush(5)

    def sample(self, seconds: float) -> Sample | None:
        """Return the figures of the measured processor; None until it has partitions."""
        process = Path("/proc", str(self.processes["measured"].pid))
        status = dict(re.findall(r"^(\w+):\s+(\d+)", (process / "status").read_text(), re.MULTILINE))
        spent = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return None
        found = [float(value) for value in re.findall(r"^river_margins_lag_records\{.*\} (\S+)$", text, re.MULTILINE)]
        sizes = sizes_of(self.folder.glob("snapshots/**/*.snapshot"))
        partitions = int(metric(text, "river_margins_assigned_partitions"))
        if not partitions:
            return None
        return Sample(
            client=self.client,
            seconds=round(seconds, 1),
            memory=int(status["VmRSS"]) / 1024,
            handles=len(list((process / "fd").iterdir())),
            threads=int(status["Threads"]),
            files=len(sizes),
            bytes=sum(sizes),
            lag=int(sum(found)),
            cpu=sum(map(int, spent)) / os.sysconf("SC_CLK_TCK"),
            records=int(metric(text, "river_margins_records_total")),
            partitions=partitions,
        )


def metric(text: str, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def sizes_of(paths: Iterable[Path]) -> list[int]:
    sizes = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
            sizes.append(path.stat().st_size)
    return sizes


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# The run


def soak(soaked: Sequence[Soaked], minutes: float, path: Path) -> list[Sample]:
    """Let all run for so long; write the samples as they come, so that a run that is ended early is not lost."""
    for one in soaked:
        one.begin()
    began, samples = time.monotonic(), []
    cycles = int(minutes * 60 / CYCLE)
    acts = (JOIN, Soaked.join), (LEAVE, Soaked.leave), (RESTART, Soaked.restart)
    plan = [(cycle * CYCLE + moment, act) for cycle in range(cycles) for moment, act in acts]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Sample)])
        writer.writeheader()
        while (elapsed := time.monotonic() - began) < minutes * 60:
            while plan and plan[0][0] <= elapsed:
                _, act = plan.pop(0)
                for one in soaked:
                    act(one)
            for one in soaked:
                one.check()
                if sample := one.sample(time.monotonic() - began):
                    samples.append(sample)
                    writer.writerow(asdict(sample))
            file.flush()
            time.sleep(max(0.0, EVERY - (time.monotonic() - began) % EVERY))
    return samples


def read_samples() -> list[Sample]:
    with SAMPLES.open(newline="") as file:
        return [Sample(*(field.type(row[field.name]) for field in fields(Sample))) for row in csv.DictReader(file)]


# What came of it


def series(samples: Sequence[Sample], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return minutes and values of a figure; CPU is µs for each record between two samples."""
    seconds = np.array([sample.seconds for sample in samples])
    values = np.array([getattr(sample, name) for sample in samples], dtype=float)
    if name == "bytes":
        values /= 1000
    if name == "cpu":
        records = np.diff([sample.records for sample in samples])
        values, seconds = np.diff(values)[records > 0] / records[records > 0] * 1e6, seconds[1:][records > 0]
    return seconds / 60, values


def growth(minutes: np.ndarray, values: np.ndarray) -> float:
    """Return how much a figure grows in an hour, by the least-squares line through the last two thirds.

    >>> growth(np.arange(60.0), np.r_[np.zeros(20), np.arange(40.0)])
    60.0
    """
    late = minutes >= minutes[0] + (minutes[-1] - minutes[0]) / 3
    return round(float(np.polyfit(minutes[late], values[late], 1)[0]) * 60, 6)


def report(samples: Sequence[Sample], every: str = "1s") -> tuple[list[str], list[str]]:
    """Return the tables, and a sentence for each figure that is not flat."""
    lines, wrong = ["# An hour of steady load", ""], []
    allowed_files = PARTITIONS * (KEEP + round(GRACE / seconds_of(every)))  # by docs/snapshots.md
    for client in sorted({sample.client for sample in samples}, reverse=True):
        mine = [sample for sample in samples if sample.client == client]
        hours = (mine[-1].seconds - mine[0].seconds) / 3600
        records = mine[-1].records - mine[0].records
        cpu = (mine[-1].cpu - mine[0].cpu) / records * 1e6
        lines += [
            f"{client}: {hours * 60:.0f} minutes, {records:,} records in the measured processor, which had "
            f"{np.mean([sample.partitions for sample in mine]):.1f} of {PARTITIONS} partitions on average, "
            f"{cpu:.1f} µs of CPU a record.",
            "",
            "| | median | least to most | growth in an hour | allowed |",
            "|---|---|---|---|---|",
        ]
        for name, limit in LIMITS.items():
            minutes, values = series(mine, name)
            slope, median = growth(minutes, values), float(np.median(values))
            share = slope / median if limit.is_share and median else slope
            found, allowed = (f"{each:+.1%}" if limit.is_share else f"{each:+.3g}" for each in (share, limit.growth))
            middle, spread = f"{median:.4g} {limit.unit}".strip(), f"{values.min():.4g} to {values.max():.4g}"
            lines.append(f"| {limit.title} | {middle} | {spread} | {found} | {allowed} |")
            if share > limit.growth:
                wrong.append(f"{client}: {limit.title}: {found} in an hour, more than {allowed}")
        most = max(sample.files for sample in mine)
        lines += ["", f"At most {most} snapshots were in the store; docs/snapshots.md allows for {allowed_files}.", ""]
        if most > allowed_files:
            wrong.append(f"{client}: {most} snapshots in the store, more than {allowed_files}")
    lines += [f"Not flat: {sentence}" for sentence in wrong] or ["All are flat."]
    return [*lines, f"Python {platform.python_version()}, {os.cpu_count()} cores with the brokers on them.", ""], wrong


def draw(samples: Sequence[Sample], path: Path) -> None:
    figure, axes = plt.subplots(2, 4, figsize=(11, 4.6), layout="constrained", sharex=True)
    colours = {"kafka-python": "#1f6fb4", "confluent": "#d1590b"}
    for ax, (name, limit) in zip(axes.flat, LIMITS.items(), strict=False):
        for client in dict.fromkeys(sample.client for sample in samples):
            minutes, values = series([sample for sample in samples if sample.client == client], name)
            ax.plot(minutes, values, color=colours[client], label=client, linewidth=1)
        ax.set(title=f"{limit.title}, {limit.unit}" if limit.unit else limit.title, ylim=(0, None))
        ax.margins(x=0)
    for ax in axes[1]:
        ax.set_xlabel("minutes")
    axes[0, 3].set_xlabel("")
    axes[1, 3].axis("off")
    axes[1, 3].legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, loc="center")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", default="1s", help="time between two checkpoints")
    parser.add_argument("--rate", type=float, default=1000, help="records a second for each client")
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=CLIENTS)
    parser.add_argument("--draw", action="store_true", help="run nothing, use the samples of the last run")
    options = parser.parse_args()
    if options.draw:
        samples = read_samples()
    else:
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        print(f"logs: {folder}", flush=True)
        with contextlib.ExitStack() as ending:
            soaked = []
            for client in options.clients:
                kafka = ending.enter_context(LocalKafka(settings=SETTINGS))
                place = folder / client
                place.mkdir()
                soaked.append(Soaked(client, options.rate, options.every, place, kafka))
                ending.callback(soaked[-1].close)
            path = SAMPLES if options.minutes >= 60 else Path(f"{folder}.csv")
            print(f"samples: {path}", flush=True)
            samples = soak(soaked, options.minutes, path)
        shutil.rmtree(folder)
    lines, wrong = report(samples, options.every)
    if options.draw or options.minutes >= 60:
        TABLES.write_text("\n".join(lines))
        draw(samples, FIGURE)
    print("\n".join(lines))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
