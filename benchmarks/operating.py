"""What an operator waits for: the commit of many partitions, and a restart after kill -9.

    python benchmarks/operating.py [--commits 20] [--restarts 10]

"commit" is what the log line of a commit says, with a snapshot of each of 128 partitions: on a folder, and on a store
whose writes take 50 ms longer, as those of an object store do. "restart" is the time from the start of a new process
with the same `instance`, at once after kill -9, to the end of its first commit, with 8 partitions. Both clients, an
Apache Kafka each, 20 features. Writes benchmarks/results/operating.md.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from rich.progress import track

from connectors.kafka.local import LocalKafka

RESULTS = Path(__file__).parent / "results" / "operating.md"
CLIENTS = "kafka-python", "confluent"
MANY, FEW = 128, 8  # partitions for commits, and for restarts
FEATURES, RATE = 20, 2_000
COMMIT = re.compile(r"committed partitions=\S+ .*snapshots=(\d+) seconds=([\d.]+)")
# The same command, in which each write to the folder takes longer.
SLOW_WRITES = """
import time
from connectors.cli import main
from connectors.snapshots.stores import FolderStore

write = FolderStore.write
FolderStore.write = lambda *arguments: (time.sleep(0.05), write(*arguments))[1]
main()
"""


class Fed:
    """A Kafka whose topic of events gets records at an even rate, in all partitions."""

    def __init__(self, kafka: LocalKafka, client: str, partitions: int, folder: Path) -> None:
        self.kafka, self.partitions, self.file = kafka, partitions, folder / "operating.yaml"
        kafka.create_topics({"events": partitions, "predictions": partitions})
        settings: dict[str, Any] = {
            "name": "operating",
            "instance": "one",
            "kafka": {"bootstrap_servers": kafka.bootstrap_servers, "client": client},
            "input": {"topic": "events"},
            "record": {"id": "id", "label": "label"},
            "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
            "output": {"topic": "predictions"},
            "checkpoint": {"every": "1s"},
            "snapshots": {"folder": str(folder / "snapshots"), "keep": {"last": 2}},
        }
        self.file.write_text(json.dumps(settings))
        self._ended = threading.Event()
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._feeder.start()

    def close(self) -> None:
        self._ended.set()
        self._feeder.join()

    def _feed(self) -> None:
        from confluent_kafka import Producer

        draw, n = random.Random(1), 0
        producer: Any = Producer({"bootstrap.servers": self.kafka.bootstrap_servers, "linger.ms": 20})
        while not self._ended.wait(0.05):
            for _ in range(RATE // 20):
                x = {f"feature_{i}": draw.gauss(0, 1) for i in range(FEATURES)}
                value = orjson.dumps({"id": f"r{n}", **x, "label": x["feature_0"] > 0})
                producer.produce("events", value, partition=n % self.partitions)
                n += 1
            producer.poll(0)
        producer.flush(5)

    @contextlib.contextmanager
    def processor(self, *command: str) -> Iterator[Iterator[tuple[int, float]]]:
        """Start a processor, and kill it at the end; yield the snapshots and the seconds of each of its commits."""
        line = [sys.executable, *(command or ("-m", "connectors")), "run", str(self.file)]
        with subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield self._commits(process)
            finally:
                process.kill()

    def _commits(self, process: subprocess.Popen[str]) -> Iterator[tuple[int, float]]:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if found := COMMIT.search(line):
                yield int(found[1]), float(found[2])
        raise RuntimeError(f"the processor ended with {process.wait()}: {''.join(said[-5:])}")


@contextlib.contextmanager
def fed(client: str, partitions: int) -> Iterator[Fed]:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalKafka() as kafka,
        contextlib.closing(Fed(kafka, client, partitions, Path(folder))) as found,
    ):
        yield found


def commits(client: str, number: int, *command: str) -> list[float]:
    """Return the seconds of so many commits that wrote a snapshot of each partition; the first three warm up."""
    with fed(client, MANY) as kafka, kafka.processor(*command) as found:
        whole = (seconds for snapshots, seconds in found if snapshots == MANY)
        return [next(whole) for _ in track(range(number + 3), f"commit, {client}")][3:]


def restarts(client: str, number: int) -> list[float]:
    """Return the seconds from each start after kill -9 to the first commit; the first start has no predecessor."""
    taken = []
    with fed(client, FEW) as kafka:
        for _ in track(range(number + 1), f"restart, {client}"):
            began = time.monotonic()
            with kafka.processor() as found:
                next(found)
                taken.append(time.monotonic() - began)
                for _ in range(2):  # so that it is killed between two commits, with work in its hands
                    next(found)
                time.sleep(random.random())
    return taken[1:]


def row(what: str, client: str, seconds: list[float]) -> str:
    return f"| {what} | {client} | {statistics.median(seconds):.2f} | {max(seconds):.2f} | {len(seconds)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=10)
    options = parser.parse_args()
    lines = [
        "# Commits and restarts",
        "",
        f"Seconds, with {RATE:,} records a second and `checkpoint.every` of 1 s. A restart ends with its first commit. "
        f"Python {platform.python_version()}, {os.cpu_count()} cores with broker and producer on them.",
        "",
        "| what | client | median | longest | times |",
        "|---|---|---|---|---|",
    ]
    for client in CLIENTS:
        lines += [
            row(f"commit of {MANY} partitions, folder", client, commits(client, options.commits)),
            row(
                f"commit of {MANY} partitions, a store with 50 ms a write",
                client,
                commits(client, options.commits, "-c", SLOW_WRITES),
            ),
            row(
                f"restart after kill -9, the same instance, {FEW} partitions",
                client,
                restarts(client, options.restarts),
            ),
        ]
    text = "\n".join([*lines, ""])
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
