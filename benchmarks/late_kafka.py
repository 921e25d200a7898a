"""What do labels cost that come later, through Kafka, while a million records wait?

    python benchmarks/late_kafka.py

Five processes, one after the other, each on a topic with one partition: labels in the records, and labels in a topic of
their own that come a million records later, as fast as they can; both of them at a steady rate; and a restart of that
with late labels, which reads back what waits. What counts is the CPU time of the process itself, and the time of its
commits, while a million records wait. The result is also written to benchmarks/results/late_kafka.md.
"""

import functools
import json
import logging
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

RESULTS = Path(__file__).parent / "results" / "late_kafka.md"
WAITING, MEASURED, AFTER, SIZE = 1_000_000, 200_000, 1_000, 500
RATE, WARM_UP, STEADY = 4_000, 5, 25  # records a second, the first seconds, which do not count, and all seconds
INLINE, LATE, RESTART = "labels in the records", "labels that come later", "restart"


class Commits(logging.Handler):
    """Keeps how long each commit took, and how many records it had, from the lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and str(record.msg).startswith("committed"):
            self.seconds.append(record.args[-1])  # type: ignore[arg-type]


def settings(servers: str, name: str, folder: str) -> dict[str, Any]:
    is_late = name != INLINE
    found: dict[str, Any] = {
        "name": "late" if is_late else "inline",
        "kafka": {"bootstrap_servers": servers, "client": "confluent"},
        "input": {"topic": "records" if is_late else "labelled"},
        "record": {"id": "id"} | ({} if is_late else {"label": "label"}),
        "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
        "output": {"topic": "predictions"},
        "checkpoint": {"every": "1s"},
        "snapshots": folder,
    }
    if is_late:
        within = {"within": "1d", "pending": 2 * WAITING}
        found["labels"] = {"topic": "labels", "id": "id", "label": "label", **within}
    return found


def contender(name: str, servers: str, folder: str, is_steady: bool) -> None:
    from connectors import config
    from connectors.runtime.health import Health
    from connectors.runtime.stop import Stop
    from connectors.topics import processor

    file = Path(folder, f"{name}.yaml")
    file.write_text(json.dumps(settings(servers, name, folder)))
    found = config.load(file)
    health, commits = Health(found), Commits()
    logging.getLogger("connectors.topics.commit").addHandler(commits)
    logging.getLogger("connectors.topics.commit").setLevel(logging.INFO)
    records, labels = {INLINE: (MEASURED, 0), LATE: (WAITING + MEASURED, MEASURED), RESTART: (AFTER, 0)}[name]
    begins, measured = WAITING if name == LATE else 1, MEASURED
    if is_steady:
        records, begins = RATE * STEADY, RATE * WARM_UP
        labels, measured = labels and records, records - begins
    began: tuple[float, int] | None = None
    is_waited_for = is_steady

    class Until(Stop):
        """Ends the processor when it has read so many records and labels; the measurement begins on the way."""

        @property
        def requested(self) -> bool:  # type: ignore[override]
            nonlocal began, is_waited_for
            work = health.metrics.work
            if is_waited_for and work.is_ready:
                is_waited_for = False
                print("ready", flush=True)
            pending = work._outbox.pending if isinstance(work, processor.Processor) else work.counts
            read = work.counts.read + pending.read
            if began is None and read >= begins:
                began = time.process_time(), len(commits.seconds)
            return read >= records and work.counts.labels + pending.labels >= labels

    started = time.monotonic()
    first = Until()
    if name == RESTART:
        began = 0.0, 0
    processor.run(found, first, health)
    assert began is not None
    cpu = (time.process_time() - began[0]) / measured * 1e6
    print(json.dumps({"cpu": cpu, "commits": commits.seconds[began[1] :], "clock": time.monotonic() - started}))


class Feed:
    """Writes the topics; record n of `records` has its label behind the record that comes a million later."""

    def __init__(self, kafka: Any) -> None:
        from confluent_kafka import Producer

        kafka.create_topics(dict.fromkeys(("labelled", "records", "labels", "predictions"), 1))
        # Kafka deletes records with timestamps of long ago.
        self._first = int(time.time() * 1000) - WAITING - 2 * MEASURED
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20})
        draw, names = random.Random(1), [f"feature_{number:02d}" for number in range(14)]
        self._rows = [{name: round(draw.gauss(0, 1), 15) for name in names} for _ in range(5000)]
        print(f"records of {len(orjson.dumps(self._record(0)))} bytes")

    def _record(self, number: int) -> dict[str, Any]:
        return {"id": f"payment-{number:08d}", **self._rows[number % len(self._rows)]}

    def _send(self, topic: str, value: dict[str, Any], moment: int) -> None:
        while True:
            try:
                self._producer.produce(topic, orjson.dumps(value), b"key", 0, timestamp=self._first + moment)
                return
            except BufferError:
                self._producer.poll(0.1)

    def labelled(self, number: int) -> None:
        fields = self._record(number)
        self._send("labelled", fields | {"label": fields["feature_00"] > 0}, number)

    def record(self, number: int) -> None:
        self._send("records", self._record(number), number)

    def label(self, number: int) -> None:
        fields = self._record(number)
        self._send("labels", {"id": fields["id"], "label": fields["feature_00"] > 0}, number + WAITING)

    def late(self, number: int) -> None:
        self.record(WAITING + number)
        self.label(number)

    def at_once(self) -> None:
        for number in range(WAITING + MEASURED):
            self.record(number)
            if number < MEASURED:
                self.labelled(number)
                self.label(number)
        self._producer.flush()

    def steadily(self, send: Any) -> None:
        """Send what follows at the rate, once the process reads: it reads back first what waits."""
        began, sent = time.monotonic(), 0
        while sent < RATE * STEADY:
            while sent < min(RATE * STEADY, (time.monotonic() - began) * RATE):
                send(MEASURED + sent)
                sent += 1
            self._producer.poll(0)
            time.sleep(0.002)
        self._producer.flush()

    def last(self) -> None:
        for number in range(AFTER):
            self.record(WAITING + MEASURED + RATE * STEADY + number)
        self._producer.flush()


def measure(name: str, servers: str, folder: str, send: Any = None) -> dict[str, Any]:
    """Return what a process measured; with `send`, of a steady rate, which begins when the process is ready."""
    command = [sys.executable, __file__, name, servers, folder, *(["steady"] if send else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if send:
            process.stdout.readline()
            send()
        lines = process.stdout.read().splitlines()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def table(found: dict[str, dict[str, Any]]) -> list[str]:
    commits = {name: [1000 * seconds for seconds in each["commits"]] for name, each in found.items()}
    medians = {name: statistics.median(each) for name, each in commits.items()}
    rows = [
        f"| {name} | {found[name]['cpu']:.1f} | {medians[name]:.3g} ({min(each):.3g} to {max(each):.3g}) |"
        for name, each in commits.items()
    ]
    ratio = found[LATE]["cpu"] / found[INLINE]["cpu"], medians[LATE] / medians[INLINE]
    head = ["| | CPU, µs a record | a commit, ms: median (smallest to largest) |", "|---|---|---|"]
    return [*head, *rows, f"| ratio | {ratio[0]:.2f} | {ratio[1]:.2f} |"]


def main() -> None:
    from connectors.kafka.local import LocalKafka

    with LocalKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        servers, feed = kafka.bootstrap_servers, Feed(kafka)
        feed.at_once()
        at_once = {name: measure(name, servers, folder) for name in (INLINE, LATE)}
        sends = {INLINE: feed.labelled, LATE: feed.late}
        steady = {
            name: measure(name, servers, folder, functools.partial(feed.steadily, send)) for name, send in sends.items()
        }
        feed.last()
        restart = measure(RESTART, servers, folder)
    lines = [
        "# Labels that come later, through Kafka",
        "",
        f"confluent-kafka {version('confluent-kafka')}, Python {platform.python_version()}, {os.cpu_count()} cores "
        f"with the broker on them; {MEASURED:,} records of about {SIZE} bytes, `every: 1s`, exactly once, while "
        f"{WAITING:,} records wait. CPU is that of the process; for labels that come later it is that of a record and "
        "a label.",
        "",
        "As fast as it can:",
        "",
        *table(at_once),
        "",
        f"At {RATE:,} records a second, and as many labels, for {STEADY - WARM_UP} s:",
        "",
        *table(steady),
        "",
        f"A restart with {WAITING:,} records that wait took {restart['clock']:.1f} s, from the start of the "
        f"process's work to its end, with {AFTER:,} records read and committed.",
        "",
    ]
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        contender(*sys.argv[1:4], is_steady=len(sys.argv) > 4)
    else:
        main()
