"""Records of customers, each of whom has a learner of its own, and what bare learners say about them."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from connectors import config

NAMES = [f"f{number}" for number in range(5)]
LEARNER: dict[str, Any] = {
    "record": {"id": "id", "label": "y", "features": NAMES},
    "learner": ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}],
}
FIELDS = "id LONG, customer STRING, y BOOLEAN, " + ", ".join(f"{name} DOUBLE" for name in NAMES)
# with labels in a stream of their own
TIMED_FIELDS = "n LONG, id LONG, customer STRING, at LONG, " + ", ".join(f"{name} DOUBLE" for name in NAMES)
LABEL_FIELDS = "n LONG, of STRING, customer STRING, at LONG, y BOOLEAN"


def records(count: int, keys: int = 3, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yields records of customers; one in ten has no label."""
    draw = random.Random(seed)
    for id in range(count):
        x = {name: draw.gauss(0, 1) for name in NAMES}
        label = None if draw.random() < 0.1 else x["f0"] + x["f1"] > draw.gauss(0, 0.3)
        yield {"id": id, "customer": f"c{draw.randrange(keys)}", "y": label, **x}


def write(path: Path, lines: Iterable[Any]) -> None:
    """Writes JSON lines; text is written as it is. The file appears at once, for those who watch its folder."""
    path.parent.mkdir(exist_ok=True)
    partial = path.with_name(f".{path.name}")
    partial.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    partial.rename(path)


def run(frame: Any, folder: Path) -> list[Any]:
    """Takes all there is by now through a query, and returns all rows that it has ever written."""
    writer = frame.writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    return frame.sparkSession.read.parquet(f"{folder}/out").collect()


def twins(file: Path, examples: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Returns outputs by id: those of bare learners, one for each customer, in the order of the records."""
    learners: dict[str, Any] = {}
    outputs = {}
    for example in examples:
        learner = learners.setdefault(example["customer"], config.load_for_spark(file).build_learner())
        x, label = {name: example[name] for name in NAMES}, example["y"]
        output = {"id": example["id"], "prediction": learner.predict_one(x), "score": learner.score_one(x)}
        if output["score"] == {}:  # before the first label
            output["score"] = None if label is None else 0.0
        outputs[example["id"]] = output if label is None else output | {"label": label}
        if label is not None:
            learner.learn_one(x, label)
    return outputs
