"""What a record costs a processor that is not busy: CPU at a steady rate, for both clients.

    python benchmarks/steady.py [--seconds 15]

Each row is one processor with 20 features, scaled, predicted and learned, exactly once, which reads four partitions.
"at once" has a broker answer each fetch as soon as there is a record, as the libraries do by themselves; "gathered" is
what a processor does. The delay is the time from a record to its committed output. Writes
benchmarks/results/steady.md.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import orjson
from rich.progress import track

from connectors.kafka import client
from connectors.kafka.local import LocalKafka

RESULTS = Path(__file__).parent / "results" / "steady.md"
RATES = 1, 500, 4_000  # records a second
WARM_UP = 5.0  # seconds
PARTITIONS, FEATURES = 4, 20


def write_file(folder: Path, kafka: LocalKafka, client_name: str, at_once: bool) -> Path:
    least, _ = client(client_name).FETCH_KEYS
    settings = {
        "name": "steady",
        "kafka": {
            "bootstrap_servers": kafka.bootstrap_servers,
            "client": client_name,
            "consumer": {least: 1} if at_once else {},
        },
        "input": {"topic": "events"},
        "record": {"id": "id", "label": "label"},
        "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
        "output": {"topic": "predictions"},
        "snapshots": str(folder / "snapshots"),
    }
    file = folder / "steady.yaml"
    file.write_text(json.dumps(settings))
    return file


def cpu(process: subprocess.Popen[bytes]) -> float:
    """Seconds of CPU of all threads, by nanoseconds: a record takes less than the tick of 10 ms of `stat`."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def follow(kafka: LocalKafka, ended: threading.Event, delays: list[float]) -> None:
    """Note for each output how long after its record it could be read, in ms."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader", "fetch.wait.max.ms": 10})
    consumer.subscribe(["predictions"])
    while not ended.is_set():
        for message in consumer.consume(10_000, 0.02):
            if message.error() is None:
                delays.append(1000 * time.time() - message.timestamp()[1])
    consumer.close()


def measure(client_name: str, rate: int, at_once: bool, seconds: float) -> tuple[float, float]:
    """Return the µs of CPU for a record, and the median delay in ms."""
    from confluent_kafka import Producer

    draw = random.Random(1)
    values = []
    for n in range(2_000):
        x = {f"feature_{i}": draw.gauss(0, 1) for i in range(FEATURES)}
        values.append(orjson.dumps({"id": f"r{n}", **x, "label": x["feature_0"] > 0}))
    with contextlib.ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        kafka = ending.enter_context(LocalKafka())
        kafka.create_topics({"events": PARTITIONS, "predictions": PARTITIONS})
        file = write_file(folder, kafka, client_name, at_once)
        command = [sys.executable, "-m", "connectors", "run", str(file)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ending.callback(process.wait)
        ending.callback(process.send_signal, signal.SIGTERM)
        ended, delays = threading.Event(), list[float]()
        reader = threading.Thread(target=follow, args=(kafka, ended, delays))
        reader.start()
        ending.callback(reader.join)
        ending.callback(ended.set)
        producer: Any = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 1})
        marks: list[tuple[int, float]] = []
        began, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < WARM_UP + seconds:
            if not marks and elapsed > WARM_UP:
                marks.append((sent, cpu(process)))
                delays.clear()
            while sent < elapsed * rate:
                producer.produce("events", values[sent % len(values)], partition=sent % PARTITIONS)
                sent += 1
            producer.poll(0)
            time.sleep(0.002)
        marks.append((sent, cpu(process)))
        delay = statistics.median(delays)
        if process.poll() is not None:
            raise RuntimeError(f"the processor ended with {process.returncode}")
    (first, before), (last, after) = marks
    return (after - before) / (last - first) * 1e6, delay


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    rows = [(name, rate) for name in ("kafka-python", "confluent") for rate in RATES]
    lines = [
        "# A steady rate",
        "",
        "CPU of a record in µs, and the median time from a record to its committed output in ms; `checkpoint.every` "
        f"is 1 s. Python {platform.python_version()}, {os.cpu_count()} cores with the broker on them.",
        "",
        "| client | records a second | at once: µs | gathered: µs | at once: ms | gathered: ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, rate in track(rows, description="steady"):
        (once, once_ms), (gathered, ms) = (measure(name, rate, at_once, options.seconds) for at_once in (True, False))
        lines.append(f"| {name} | {rate:,} | {once:,.1f} | {gathered:,.1f} | {once_ms:,.0f} | {ms:,.0f} |")
    text = "\n".join([*lines, ""])
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
