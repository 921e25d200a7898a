"""What do labels cost that come later, through Kafka, while a million records wait?

    python benchmarks/late_kafka.py

Three processes, one after the other, each on a topic with one partition: labels in the records; labels in a topic of
their own that come a million records later; and a restart of that one, which reads back what waits. What counts is
the CPU time of the process itself, and the time of its commits, while a million records wait. The result is also
written to benchmarks/results/late_kafka.md.
"""

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


def contender(name: str, servers: str, folder: str) -> None:
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
    begins = WAITING if name == LATE else 1
    began: tuple[float, int] | None = None

    class Until(Stop):
        """Ends the processor when it has read so many records and labels; the measurement begins on the way."""

        @property
        def requested(self) -> bool:  # type: ignore[override]
            nonlocal began
            work = health.metrics.work
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
    cpu = (time.process_time() - began[0]) / MEASURED * 1e6
    print(json.dumps({"cpu": cpu, "commits": commits.seconds[began[1] :], "clock": time.monotonic() - started}))


def feed(kafka: Any) -> None:
    from confluent_kafka import Producer

    kafka.create_topics(dict.fromkeys(("labelled", "records", "labels", "predictions"), 1))
    # Kafka deletes records with timestamps of long ago.
    first = int(time.time() * 1000) - WAITING - 2 * MEASURED
    draw, producer = random.Random(1), Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20})

    def send(topic: str, value: dict[str, Any], number: int) -> None:
        while True:
            try:
                producer.produce(topic, orjson.dumps(value), b"key", 0, timestamp=first + number)
                return
            except BufferError:
                producer.poll(0.1)

    names = [f"feature_{number:02d}" for number in range(14)]
    rows = [{name: round(draw.gauss(0, 1), 15) for name in names} for _ in range(5000)]
    print(f"records of {len(orjson.dumps({'id': 'payment-00000000', **rows[0]}))} bytes")
    for number in range(WAITING + MEASURED):
        row = rows[number % len(rows)]
        fields, answer = {"id": f"payment-{number:08d}", **row}, {"label": row["feature_00"] > 0}
        send("records", fields, number)
        if number < MEASURED:
            send("labelled", fields | answer, number)
            send("labels", {"id": fields["id"]} | answer, number + WAITING)
    producer.flush()


def feed_more(kafka: Any) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(AFTER):
        place = WAITING + MEASURED + number
        value = {"id": f"payment-{place:08d}", "feature_00": 1.0}
        producer.produce("records", orjson.dumps(value), b"key", 0)
    producer.flush()


def measure(name: str, servers: str, folder: str) -> dict[str, Any]:
    command = [sys.executable, __file__, name, servers, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def cell(figures: list[float]) -> str:
    return f"{statistics.median(figures):.3g} ({min(figures):.3g} to {max(figures):.3g})"


def main() -> None:
    from connectors.kafka.local import LocalKafka

    with LocalKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        feed(kafka)
        found = {name: measure(name, kafka.bootstrap_servers, folder) for name in (INLINE, LATE)}
        feed_more(kafka)
        found[RESTART] = measure(RESTART, kafka.bootstrap_servers, folder)
    cpu = {name: each["cpu"] for name, each in found.items()}
    commits = {name: [1000 * seconds for seconds in each["commits"]] for name, each in found.items()}
    ratio = statistics.median(commits[LATE]) / statistics.median(commits[INLINE])
    lines = [
        "# Labels that come later, through Kafka",
        "",
        f"confluent-kafka {version('confluent-kafka')}, Python {platform.python_version()}, {os.cpu_count()} cores "
        f"with the broker on them; {MEASURED:,} records of about {SIZE} bytes, `every: 1s`, exactly once, while "
        f"{WAITING:,} records wait. CPU is that of the process; for labels that come later it is that of a record and "
        "a label.",
        "",
        "| | CPU, µs a record | a commit, ms: median (smallest to largest) |",
        "|---|---|---|",
        *(f"| {name} | {cpu[name]:.1f} | {cell(commits[name])} |" for name in (INLINE, LATE)),
        f"| ratio | {cpu[LATE] / cpu[INLINE]:.2f} | {ratio:.2f} |",
        "",
        f"A restart with {WAITING:,} records that wait took {found[RESTART]['clock']:.1f} s, from the start of the "
        f"process's work to its end, with {AFTER:,} records read and committed.",
        "",
    ]
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        contender(*sys.argv[1:])
    else:
        main()
