"""What does the stream processor cost a record, beside a bare passthrough, a loop around River, and quixstreams?

    python benchmarks/processor.py

Every contender reads the same records of 20 features from a local Apache Kafka, once a round, in shuffled order and in
a process of its own; what counts is that process's own CPU time from its first record to its last commit. What is
printed is also written to benchmarks/results/processor.md. The contender `quixstreams` is left out where that package
is not installed.
"""

import contextlib
import functools
import importlib.util
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

RESULTS = Path(__file__).parent / "results" / "processor.md"
RECORDS, FEATURES, PARTITIONS, ROUNDS = 100_000, 20, 4, 3
LEARNER = ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]
OURS = {
    f"{client}, {guarantee}": (client, guarantee)
    for client in ("kafka-python", "confluent")
    for guarantee in ("exactly_once", "at_least_once")
}
BARE = {"kafka-python": "passthrough, kafka-python", "confluent": "passthrough, confluent"}
LOOPS = {client: f"River in a loop, {client}" for client in BARE}
QUIX = "River in quixstreams"
PAIR, BARE_PAIR = "kafka-python, exactly_once, two processes", "passthrough, kafka-python, two processes"
ALONE = {PAIR: "kafka-python, exactly_once", BARE_PAIR: BARE["kafka-python"]}  # what each pair is two of


class Meter:
    """CPU and clock from the last moment before the first record."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.cpu, self.wall = time.process_time(), time.time()

    def end(self, records: int) -> None:
        cpu = (time.process_time() - self.cpu) / records * 1e6
        print(json.dumps({"cpu": cpu, "first": self.wall, "last": time.time()}), flush=True)


def ready() -> None:
    """Says that all is imported, and waits for the word to start."""
    print("ready", flush=True)
    sys.stdin.readline()


# The contenders, each in a process of its own: `name` is the group, `input` and `output` are topics


def ours(client: str, guarantee: str, servers: str, input: str, output: str, count: int) -> None:
    from connectors import config
    from connectors.runtime.health import Health
    from connectors.runtime.stop import Stop
    from connectors.topics import processor

    class Until(Stop):
        """Ends the processor when it has read so many records."""

        @property
        def requested(self) -> bool:  # type: ignore[override]
            work = health.metrics.work
            read = work.counts.read + (work._outbox.pending.read if isinstance(work, processor.Processor) else 0)
            if not read:
                meter.begin()
            return read >= count

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "processor.yaml")
        settings = {
            "name": os.environ["GROUP"],
            "kafka": {"bootstrap_servers": servers, "client": client},
            "input": {"topic": input},
            "record": {"id": "id", "label": "label"},
            "learner": LEARNER,
            "output": {"topic": output},
            "checkpoint": {"guarantee": guarantee},
            "snapshots": os.environ["SNAPSHOTS"],
        }
        file.write_text(json.dumps(settings))
        found = config.load(file)
        ready()
        meter = Meter()
        health = Health(found)
        processor.run(found, Until(), health)
        meter.end(count)


def unchanged(record: dict[str, Any]) -> dict[str, Any]:
    return record


def passthrough_kafka_python(
    servers: str, input: str, output: str, count: int, work: Callable[[dict[str, Any]], Any] = unchanged
) -> None:
    from kafka import KafkaConsumer, KafkaProducer

    from connectors.kafka.kafka_python.settings import CONSUMER, PRODUCER

    ready()
    consumer = KafkaConsumer(
        input, **CONSUMER, bootstrap_servers=servers, group_id=os.environ["GROUP"], auto_offset_reset="earliest",
        enable_auto_commit=False,
    )  # fmt: skip
    producer = KafkaProducer(**PRODUCER, bootstrap_servers=servers, acks="all", enable_idempotence=True)
    meter, done, due = Meter(), 0, 0.0
    while done < count:
        if not done:
            meter.begin()
            due = time.monotonic() + 1
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                value = orjson.dumps(work(orjson.loads(record.value)))
                producer.send(output, value, record.key, partition=record.partition)
            done += len(records)
        if time.monotonic() > due or done >= count:
            producer.flush()
            consumer.commit()
            due = time.monotonic() + 1
    meter.end(count)


def passthrough_confluent(
    servers: str, input: str, output: str, count: int, work: Callable[[dict[str, Any]], Any] = unchanged
) -> None:
    from confluent_kafka import Consumer, Producer

    from connectors.kafka.confluent.settings import CONSUMER, PRODUCER

    ready()
    group = {"group.id": os.environ["GROUP"], "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**CONSUMER, **group, "bootstrap.servers": servers})
    own = {name: value for name, value in PRODUCER.items() if name != "transaction.timeout.ms"}
    producer = Producer({**own, "bootstrap.servers": servers, "acks": "all", "enable.idempotence": True})
    consumer.subscribe([input])
    meter, done, due = Meter(), 0, 0.0
    while done < count:
        if not done:
            meter.begin()
            due = time.monotonic() + 1
        records = consumer.consume(2_000, 0.1)
        for record in records:
            value = orjson.dumps(work(orjson.loads(record.value())))
            while True:
                try:
                    producer.produce(output, value, record.key(), record.partition())
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.poll(0)
        done += len(records)
        if done and (time.monotonic() > due or done >= count):
            producer.flush()
            consumer.commit(asynchronous=False)
            due = time.monotonic() + 1
    meter.end(count)


def river_model() -> Any:
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.PAClassifier(C=0.01, mode=1)


def answer(model: Any, record: dict[str, Any]) -> dict[str, Any]:
    id, label = record.pop("id"), record.pop("label")
    prediction = model.predict_one(record)
    model.learn_one(record, label)
    return {"id": id, "prediction": prediction, "label": label}


def river_loop(passthrough: Callable[..., None], *arguments: Any) -> None:
    """The passthrough with a model in it: client, settings and JSON are those of the processor it is compared with."""
    passthrough(*arguments, work=functools.partial(answer, river_model()))


def quixstreams(servers: str, input: str, output: str, count: int) -> None:
    from quixstreams import Application

    ready()
    model, meter, done = river_model(), Meter(), 0

    def work(record: dict[str, Any]) -> dict[str, Any]:
        nonlocal done
        if not done:
            meter.begin()
        done += 1
        return answer(model, record)

    app = Application(
        broker_address=servers, consumer_group=os.environ["GROUP"], auto_offset_reset="earliest", loglevel=None,
        commit_interval=1.0, auto_create_topics=False,
    )  # fmt: skip
    frame = app.dataframe(app.topic(input, value_deserializer="json"))
    frame.apply(work).to_topic(app.topic(output, value_serializer="json"))
    app.run(count=count)
    meter.end(count)


def contenders() -> dict[str, Callable[..., None]]:
    def of(client: str, guarantee: str) -> Callable[..., None]:
        return lambda *arguments: ours(client, guarantee, *arguments)

    found: dict[str, Callable[..., None]] = {name: of(*what) for name, what in OURS.items()}
    found |= {BARE["kafka-python"]: passthrough_kafka_python, BARE["confluent"]: passthrough_confluent}
    found |= {LOOPS[client]: functools.partial(river_loop, found[BARE[client]]) for client in BARE}
    found |= {PAIR: of("kafka-python", "exactly_once"), BARE_PAIR: passthrough_kafka_python}
    if importlib.util.find_spec("quixstreams"):
        found[QUIX] = quixstreams
    return found


# The rounds


def feed(kafka: Any, topic: str) -> None:
    from kafka import KafkaProducer

    draw = random.Random(1)
    kafka.create_topics({topic: PARTITIONS})
    names = [f"feature_{n:02d}" for n in range(FEATURES)]
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=20, batch_size=128 * 1024)
    for n in range(RECORDS):
        x = {name: draw.gauss(0, 1) for name in names}
        label = x["feature_00"] + x["feature_01"] + draw.gauss(0, 0.5) > 0
        producer.send(topic, orjson.dumps({"id": f"r{n}", **x, "label": label}), b"key", partition=n % PARTITIONS)
    producer.flush()
    producer.close()


def measure(kafka: Any, name: str, topic: str) -> tuple[float, float]:
    """Lets a contender read all records; returns its CPU time and its time by the clock, in µs a record."""
    output = f"out-{uuid.uuid4().hex[:8]}"
    kafka.create_topics({output: PARTITIONS})
    processes = 2 if name in ALONE else 1
    count = RECORDS // processes
    command = [sys.executable, __file__, name, kafka.bootstrap_servers, topic, output, str(count)]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ending:
        environment = os.environ | {"GROUP": f"group-{output}", "SNAPSHOTS": folder}
        children = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
            for _ in range(processes)
        ]
        for child in children:
            ending.callback(child.kill)
            if said(child) != "ready":
                raise RuntimeError(f"`{name}` ended with {child.wait()}")
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        results = [json.loads(said(child)) for child in children]
        for child in children:
            child.communicate()
    seconds = max(result["last"] for result in results) - min(result["first"] for result in results)
    return statistics.mean(result["cpu"] for result in results), seconds / RECORDS * 1e6


def said(child: Any) -> str:
    return str(child.stdout.readline()).strip()


def report(found: dict[str, list[tuple[float, float]]]) -> list[str]:
    """The table: medians, smallest and largest; ratios are those within a round."""
    packages = ["kafka-python", "confluent-kafka", "river", "orjson", *(["quixstreams"] if QUIX in found else [])]
    lines = [
        "# The processor",
        "",
        f"{', '.join(f'{package} {version(package)}' for package in packages)}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores with the broker on them; {RECORDS:,} records of {FEATURES} features, {ROUNDS} rounds. "
        "CPU is that of the contender's own process; medians, in brackets the smallest and the largest.",
        "",
        "| | CPU, µs a record | by the clock, µs a record |",
        "|---|---|---|",
    ]
    for name, figures in found.items():
        lines.append(f"| {name} | {cell([cpu for cpu, _ in figures])} | {cell([wall for _, wall in figures])} |")
    lines += ["", "| CPU of | to | ratio | target |", "|---|---|---|---|"]
    for name, other, target in comparisons(found):
        ratios = [a / b for (a, _), (b, _) in zip(found[name], found[other], strict=True)]
        lines.append(f"| {name} | {other} | {cell(ratios)} | {target} |")
    ours, bare = (
        cell([a / b for (_, a), (_, b) in zip(found[alone], found[pair], strict=True)]) for pair, alone in ALONE.items()
    )
    lines += [
        "",
        f"Two processes on {PARTITIONS} partitions are {ours} times as fast as one by the clock; two bare "
        f"passthroughs, which is what broker and cores leave room for, {bare} times.",
    ]
    if QUIX not in found:
        lines += ["", "quixstreams was not installed."]
    return [*lines, ""]


def comparisons(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    pairs = []
    for name, (client, guarantee) in OURS.items():
        pairs.append((name, BARE[client], "1.35 at most" if client == "kafka-python" else "1.8 at most"))
        for peer in [peer for peer in (LOOPS[client], QUIX) if peer in found]:
            pairs.append((name, peer, "below 1" if client == "kafka-python" else "0.25 at most"))
        if guarantee == "exactly_once":
            pairs.append((name, f"{client}, at_least_once", "1.3 at most"))
    return pairs


def cell(figures: list[float]) -> str:
    return f"{statistics.median(figures):.3g} ({min(figures):.3g} to {max(figures):.3g})"


def main() -> None:
    from rich.progress import track

    from connectors.kafka.local import LocalKafka

    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders()}
    order = [name for _ in range(ROUNDS) for name in random.sample(list(found), len(found))]
    # both of two processes are in the group before it is first shared out
    with LocalKafka(settings={"group.initial.rebalance.delay.ms": 1500}) as kafka:
        feed(kafka, "records")
        for name in track(order, description="processor"):
            found[name].append(measure(kafka, name, "records"))
    text = "\n".join(report(found))
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    if sys.argv[1:]:
        name, servers, input, output, count = sys.argv[1:]
        contenders()[name](servers, input, output, int(count))
    else:
        main()
