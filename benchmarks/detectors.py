"""What follows a drift, through the route of a processor: `python benchmarks/detectors.py` prints a table.

Unit vectors with a twentieth of the labels wrong. From the middle on, another half-space gives the labels. The learner
is regularised least squares, which learns best before the switch and forgets nothing after it.
"""

import json
import pathlib
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from connectors import config
from connectors.drift.detectors import MODULES, RiseDetector
from connectors.model.counts import Counts
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.snapshots.models import Builder

RECORDS, SWITCH, FEATURES, NOISE = 20_000, 10_000, 10, 0.05
FILE = """
name: detectors
input: {file: in.jsonl}
record: {id: id, label: y}
learner: {name: steady, steps: [SecondOrderPerceptron: {covariance: full, every_label: true}]}
challengers: {quick: [PAClassifier: {C: 0.1}]}
output: {file: out.jsonl}
"""
WITH = {
    "no `drift`": "",
    "`ADWIN`, `then: {promote: quick}`": "drift: {detector: ADWIN, then: {promote: quick}}",
    **{
        f"`{name}`, `then: reset`": f"drift: {{detector: {name}, then: reset}}"
        for name in ("ADWIN", "PageHinkley", "KSWIN: {seed: 1}", "DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW")
    },
}


def stream(records: int, switch: int) -> Iterator[dict[str, Any]]:
    """Yield records whose labels another half-space gives from `switch` on."""
    random = np.random.default_rng(1)
    first, second = (vector / np.linalg.norm(vector) for vector in random.normal(size=(2, FEATURES)))
    for number in range(records):
        x = random.normal(size=FEATURES)
        x /= np.linalg.norm(x)
        label = bool((first if number < switch else second) @ x > 0) != bool(random.random() < NOISE)
        yield {"id": number, **{f"x{n}": float(value) for n, value in enumerate(x)}, "y": label}


def played(section: str, records: int = RECORDS, switch: int = SWITCH) -> tuple[list[bool], list[str]]:
    """Return which predictions were wrong, and the sources of the drifts."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "p.yaml")
        path.write_text(FILE + section.replace("KSWIN: {seed: 1}", "{KSWIN: {seed: 1}}"))
        settings = config.load(path)
    model = Builder(settings, {}.__getitem__, Decoder("id", "y", None).decode).start()
    lines, wrong, drifts, counts = [json.dumps(each).encode() for each in stream(records, switch)], [], [], Counts()
    for number, line in enumerate(lines):
        record = Record(str(number), None, line)
        process_record(model, record, counts)
        wrong.append(record.prediction != record.label)
        if model.watch is not None and model.watch.past.last not in ("", *drifts[-1:]):
            drifts.append(model.watch.past.last)
    return wrong, drifts


def cost(name: str, losses: int = 3000) -> float:
    """Return the microseconds that a detector takes for a loss, a tenth of which are 1."""
    detector = RiseDetector(name, {"seed": 1} if name == "KSWIN" else {})
    began = time.perf_counter()
    for number in range(losses):
        detector.update(float(number % 10 == 0))
    return (time.perf_counter() - began) / losses * 1e6


if __name__ == "__main__":
    parts = [(SWITCH // 2, SWITCH), (SWITCH, SWITCH + 1000), (SWITCH + 1000, RECORDS)]
    print("| file | seen after | error before | next 1,000 | then | all |")
    print("|---|---|---|---|---|---|")
    for name, section in WITH.items():
        wrong, drifts = played(section)
        errors = [sum(wrong[start:end]) / (end - start) for start, end in [*parts, (0, RECORDS)]]
        seen = ", ".join(str(int(place) - SWITCH) for place in drifts)
        cells = " | ".join(f"{error:.3f}" for error in errors)
        print(f"| {name} | {seen} | {cells} |", flush=True)
    print(", ".join(f"{name} {cost(name):.1f} µs" for name in MODULES))
