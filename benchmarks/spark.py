"""What learners as keyed state of Spark cost: records a second, and bytes of state a key. Needs the extra `spark`.

python -m benchmarks.spark [KEYS]

Each record has 20 features; the learner is `StandardScaler` and `PAClassifier`. A micro-batch of few keys shows the
cost of a record, and one with a record for each key that of a key. Beside it, the same records go through the same
models in a loop of one Python process, which keeps all models in memory. With KEYS, there is only one micro-batch, with
a record for each of so many keys; its time includes the start of the query, and that of the loop making the models.
"""

import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from connectors.config import load_for_spark
from connectors.model.counts import Counts
from connectors.spark.keyed_model import KeyedModels, Recipe
from connectors.spark.streaming import learn
from tests.helpers import spark as local

FEATURES = 20
FILE = "record: {label: y}\nlearner: [StandardScaler, PAClassifier: {C: 0.01, mode: 1}]\n"
BATCHES = 3  # the first one starts processes and opens the state, and is not counted
CASES = ((3, 20_000), (20_000, 20_000))  # keys, and records of a micro-batch


def write(spark: Any, folder: Path, keys: int, records: int, batches: int) -> None:
    """Write a file for each micro-batch; in each, the keys come in turn."""
    from pyspark.sql import functions as F

    for batch in range(batches):
        frame = spark.range(batch * records, (batch + 1) * records, 1, 1).withColumn("key", F.col("id") % keys)
        for number in range(FEATURES):
            frame = frame.withColumn(f"f{number}", F.randn(seed=batch * FEATURES + number))
        frame = frame.withColumn("y", F.expr("f0 + f1 > f2"))
        fields = F.to_json(F.struct("y", *(f"f{number}" for number in range(FEATURES))))
        frame.select("id", "key", fields.alias("value")).write.mode("append").parquet(f"{folder}/in")


def measure(folder: Path, keys: int, records: int, cores: int, batches: int) -> dict[str, float]:
    """Return records a second of all batches but the first, and the bytes of the state."""
    from pyspark.sql import functions as F

    with local.session(folder, cores, {"spark.driver.memory": "2g"}) as spark:
        if not (folder / "in").exists():
            write(spark, folder, keys, records, batches)
        (folder / "file.yaml").write_text(FILE)
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)
        stream = spark.readStream.schema("id LONG, key LONG, value STRING").option("maxFilesPerTrigger", 1)
        scored = learn(stream.parquet(f"{folder}/in"), "key", folder / "file.yaml", value="value", order="id")
        rejected = F.count(F.col("reject"))
        query = scored.observe("seen", F.count("output").alias("outputs"), rejected.alias("rejects"))
        query = query.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint")
        query = query.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [each for each in query.recentProgress if each["numInputRows"]]
    assert [each["numInputRows"] for each in progress] == [records] * batches
    assert all(each["observedMetrics"]["seen"].asDict() == {"outputs": records, "rejects": 0} for each in progress)
    counted = progress[1:] or progress
    seconds = sum(each["durationMs"]["triggerExecution"] for each in counted) / 1000
    disk = sum(path.stat().st_size for path in (folder / "checkpoint" / "state").rglob("*") if path.is_file())
    state = progress[-1]["stateOperators"][0]
    return {"rate": records * len(counted) / seconds, "rows": state["numRowsTotal"], "disk": disk}


def loop(folder: Path, records: int) -> tuple[float, float]:
    """Return records a second of a loop over the same records, those of the first file only if there is no other.

    Then the bytes of a snapshot.
    """
    import pyarrow.parquet as parquet

    models = KeyedModels(Recipe.of(load_for_spark(folder / "file.yaml")))
    held: dict[int, Any] = {}
    rows = sorted(row for path in (folder / "in").glob("*.parquet") for row in _rows(path, parquet))
    for part in filter(None, (rows[:records], rows[records:])):
        began, counts = time.monotonic(), Counts()
        for id, key, value in part:
            if key not in held:
                held[key] = models.restore(None, key)
            for _ in models.process(held[key], key, [(value, id)], counts):
                pass
        seconds = time.monotonic() - began
    sample = [len(models.save(model).snapshot) for model in itertools.islice(held.values(), 1000)]
    return len(part) / seconds, sum(sample) / len(sample)


def _rows(path: Path, parquet: Any) -> Iterator[tuple[int, int, bytes]]:
    table = parquet.ParquetFile(path).read()
    columns = (table.column(name).to_pylist() for name in ("id", "key", "value"))
    yield from ((id, key, value.encode()) for id, key, value in zip(*columns, strict=True))


def main() -> None:
    cases = [(int(sys.argv[1]), int(sys.argv[1]), 1)] if sys.argv[1:] else [(*case, BATCHES) for case in CASES]
    print("| keys | records a micro-batch | where | records/s | bytes of a snapshot | bytes on disk a key |")
    print("|---|---|---|---|---|---|", flush=True)
    for keys, records, batches in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for cores in (1, 2):
                found = measure(folder, keys, records, cores, batches)
                assert found["rows"] == keys
                per_key = found["disk"] / keys
                where = f"Spark, {cores} core{'s' * (cores > 1)}"
                print(f"| {keys:,} | {records:,} | {where} | {found['rate']:,.0f} | | {per_key:,.0f} |", flush=True)
            rate, size = loop(folder, records)
            print(f"| {keys:,} | {records:,} | a Python loop | {rate:,.0f} | {size:,.0f} | |", flush=True)


if __name__ == "__main__":
    main()
