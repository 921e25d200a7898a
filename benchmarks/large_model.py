"""What checkpoints of a large model cost: `python benchmarks/large_model.py [--features N] [--records N]`.

One partition, a learner that knows a million features from its start, records of 20 of them. The same records go
through processors that differ in nothing but their checkpoints. CPU time is of the whole processor, the first
assignment and the loading of the model taken off.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import river_margins as rm
from connectors.kafka.local import LocalKafka
from river_margins import snapshot

FEATURES = 20
WAYS = {
    "never a checkpoint": {"checkpoint": {"guarantee": "at_least_once", "every": "1h"}},
    "each second, snapshots: {every: 30s}": {"checkpoint": {"every": "1s"}, "snapshots": {"every": "30s"}},
    "each second, a snapshot each time": {"checkpoint": {"every": "1s"}},
}


def examples(count: int, features: int, seed: int):
    numbers = random.Random(seed)
    for _ in range(count):
        names = [f"feature-{numbers.randrange(features)}" for _ in range(FEATURES)]
        yield {name: numbers.random() for name in names}, numbers.random() > 0.5


def large_model(path: Path, features: int) -> None:
    model = rm.PAClassifier(intercept=False)
    for first in range(0, features, 50):
        model.learn_one({f"feature-{n}": 1.0 for n in range(first, first + 50)}, first % 100 == 0)
    snapshot.save(model, path)


def run(kafka: LocalKafka, folder: Path, name: str, changes: dict, records: int) -> tuple[float, float]:
    """Returns seconds and CPU seconds of a processor that reads all records."""
    kafka.create_topics({f"out-{name}": 1})
    settings = {
        "name": name,
        "kafka": {"bootstrap_servers": kafka.bootstrap_servers},
        "input": {"topic": "events"},
        "record": {"label": "y"},
        "learner": [{"PAClassifier": {"C": 0.01}}],
        "start_from": str(folder / "model"),
        "output": {"topic": f"out-{name}"},
    } | changes
    settings["snapshots"] = {"folder": str(folder / name)} | changes.get("snapshots", {})
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(settings))
    output = TopicPartition(f"out-{name}", 0)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "import sys; from connectors import cli; cli.main()"
    process = subprocess.Popen([sys.executable, "-c", code, "run", str(file)], stderr=subprocess.DEVNULL)
    while consumer.end_offsets([output])[output] == 0:
        time.sleep(0.05)
    began = time.monotonic()
    spent = float(sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])))
    while consumer.end_offsets([output])[output] < records:
        time.sleep(0.2)
    seconds = time.monotonic() - began
    process.kill()
    process.wait()
    consumer.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu - spent / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=600_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, LocalKafka() as kafka:
        folder = Path(name)
        large_model(folder / "model", options.features)
        kafka.create_topics({"events": 1})
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, linger_ms=20, batch_size=128 * 1024)
        for x, y in examples(options.records, options.features, 1):
            producer.send("events", orjson.dumps(x | {"y": y}))
        producer.close()
        print(f"{options.records} records of {FEATURES} features, a model of {options.features}", flush=True)
        least = 0.0
        for number, (way, changes) in enumerate(WAYS.items()):
            seconds, cpu = run(kafka, folder, f"way{number}", changes, options.records)
            each = cpu / options.records * 1e6
            least = least or each
            rate = f"{options.records / seconds:8.0f} records/s"
            print(f"{way:40} {each:6.1f} CPU µs a record ({each / least - 1:+.1%}), {rate}", flush=True)


if __name__ == "__main__":
    main()
