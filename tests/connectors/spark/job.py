"""A query that ends when it has read a folder. The test kills it: it holds when a batch is written, if told so.

python -m tests.connectors.spark.job FOLDER [BATCH]
"""

import sys
import time
from pathlib import Path
from typing import Any

from connectors.spark import learn
from tests.connectors.spark.customers import FIELDS, LABEL_FIELDS, TIMED_FIELDS
from tests.helpers import spark as local

folder = Path(sys.argv[1])
held = int(sys.argv[2]) if len(sys.argv) > 2 else None


def write(batch: Any, number: int) -> None:
    batch.write.mode("overwrite").parquet(f"{folder}/out/batch={number}")
    if number == held:
        (folder / "held").touch()
        while True:
            time.sleep(1)


with local.session(folder / "spark") as spark:

    def stream(name: str, fields: str) -> Any:
        return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).json(f"{folder}/{name}")

    file = folder / "processor.yaml"
    if (folder / "labels").exists():
        labels = stream("labels", LABEL_FIELDS)
        rows = learn(stream("in", TIMED_FIELDS), "customer", file, order="n", labels=labels)
    else:
        rows = learn(stream("in", FIELDS), "customer", file, order="id")
    scored = rows.writeStream.foreachBatch(write)
    scored.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()
