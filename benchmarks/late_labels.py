"""What labels cost that come later: memory, CPU time of a record, and of the parts of a checkpoint.

`python benchmarks/late_labels.py` prints a table, for a million records of 500 bytes that wait. No Kafka takes part:
the route of records is compared with the same route where the label stands in the record.
"""

import gc
import json
import pathlib
import random
import time
from typing import Any

import numpy as np

import river_margins as rm
from connectors.labels import state
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.waiting import Position, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from river_margins import snapshot

WAITING, SIZE, RATE = 1_000_000, 500, 20_000
EXAMPLES = 60_000
FOREVER = 10**12


def memory() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


def record(number: int) -> Record:
    found = Record(f"in-0-{number}", None, b'{"id":"payment-%08d","x":%0*d}' % (number, SIZE - 29, number))
    found.prediction, found.score = True, number * 0.37
    return found


def fill() -> tuple[WaitingRecords, np.ndarray, dict[str, float]]:
    """Let a million records wait; then settle half a million of them, in any order, while as many come."""
    waiting, random_state = WaitingRecords(FOREVER, WAITING), random.Random(0)
    waiting.gone.most = 0  # the ids that are remembered are measured apart
    order = np.arange(WAITING)
    before = memory()
    for number in range(WAITING):
        waiting.add(f"payment-{number:08d}", number, record(number))
    found = {"memory: bytes beside a record": (memory() - before) / WAITING - SIZE}
    for number in range(WAITING, WAITING * 3 // 2):
        place = random_state.randrange(WAITING)
        waiting.settle(f"payment-{order[place]:08d}")
        waiting.add(f"payment-{number:08d}", number, record(number))
        order[place] = number
    found["memory: the same after as many came and went"] = (memory() - before) / WAITING - SIZE
    return waiting, order, found


def timed(call: Any) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def checkpoint(waiting: WaitingRecords) -> dict[str, float]:
    """Measure the parts of a checkpoint once a second, and a start."""
    start = waiting.position._replace(records=waiting.records.next_sequence - RATE)
    of_segment, _ = timed(lambda: state.write_segment(waiting, start))
    of_manifest, manifest = timed(lambda: state.write_manifest(waiting))
    _, whole = timed(lambda: state.write_segment(waiting, Position()))
    of_start, _ = timed(lambda: state.read(manifest, [whole], FOREVER, WAITING))
    return {
        f"checkpoint: ms for a segment of {RATE}": 1000 * of_segment,
        "checkpoint: ms for the manifest": 1000 * of_manifest,
        "checkpoint: bytes of the manifest": len(manifest),
        "start: s to read all that waits": of_start,
    }


def route(is_late: bool) -> float:
    """Return the microseconds of a record of 28 features, whose label is in it or comes 20,000 records later."""
    random_state = random.Random(0)
    rows = [{f"f{j:02d}": round(random_state.gauss(0, 1), 6) for j in range(28)} for _ in range(2000)]
    fields = [{"id": f"payment-{n:08d}", **rows[n % 2000]} for n in range(EXAMPLES)]
    answers = [{"label": row["f01"] > 0} for row in fields]
    values = [
        json.dumps(row if is_late else row | answer).encode() for row, answer in zip(fields, answers, strict=True)
    ]
    labels = [json.dumps({"id": row["id"]} | answer).encode() for row, answer in zip(fields, answers, strict=True)]
    decode = Decoder("id", "label", None, is_joined=is_late).decode
    model = PartitionModel(rm.StandardScaler() | rm.PAClassifier(C=0.01), "", 0, snapshot.loads, decode, True)
    late = LateLearning(model, WaitingRecords(FOREVER, WAITING), LabelDecoder("id", "label"), ("in-0-", "labels-0-"))
    counts = Counts()

    def run() -> None:
        for number in range(EXAMPLES + RATE):
            if number < EXAMPLES:
                taken = Record(f"in-0-{number}", None, values[number])
                if is_late:
                    late.take_record(taken, number, number, counts)
                else:
                    process_record(model, taken, counts)
            if is_late and number >= RATE:
                value = labels[number - RATE]
                late.take_label(Record(f"labels-0-{number}", None, value), number, number, counts)

    seconds, _ = timed(run)
    assert counts.learned == EXAMPLES
    return seconds / EXAMPLES * 1e6


def main() -> None:
    gc.freeze()
    gc.set_threshold(50_000)
    waiting, _, found = fill()  # first: memory that others have freed would be used again
    found |= checkpoint(waiting)
    del waiting
    found["route: µs of a record with its label in it"] = min(route(False) for _ in range(3))
    found["route: µs of a record whose label comes later"] = min(route(True) for _ in range(3))
    for name, value in found.items():
        print(f"{name:50} {value:12,.1f}")


if __name__ == "__main__":
    main()
