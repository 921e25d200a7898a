"""How few labels are enough, through the route of a processor: `python benchmarks/queries.py` prints a table.

The stream is that of the lectures' experiment: unit vectors with a twentieth of the labels wrong. A label that was
asked for comes some records later, and only those labels come.
"""

import json
from typing import Any

from lectures import half_space

import river_margins as rm
from connectors.labels.asking import Asking
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.waiting import WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder, Record
from river_margins import snapshot

FOREVER, NO_BOUND = 10**12, (1, 1)


def learner() -> Any:
    return rm.SecondOrderPerceptron(covariance="full", every_label=True, classes=[False, True], intercept=False)


def played(sampler: Any, at_most: tuple[int, int], rounds: int, delay: int) -> tuple[float, float]:
    """Return the share of labels that were asked for and of wrong predictions, of all records.

    Parameters
    ----------
    sampler
        The sampler.
    at_most
        The bound of `queries.at_most`.
    rounds
        The number of records.
    delay
        The records after which a label comes; 1: before the next record.
    """
    model = PartitionModel(learner(), "", 0, snapshot.loads, Decoder("id", None, None, is_joined=True).decode, True)
    sources, asking = ("in-0-", "labels-0-"), Asking(sampler, at_most, all_wait=False)
    decoder, waiting = LabelDecoder("id", "label"), WaitingRecords(FOREVER, FOREVER)
    route, counts = LateLearning(model, waiting, decoder, sources, asking=asking), Counts()
    rows, asked, wrong = half_space(rounds, noise=0.05), [], 0
    for number, (x, y) in enumerate(rows):
        while asked and asked[0] <= number - delay:
            value = json.dumps({"id": asked[0], "label": rows[asked.pop(0)][1]}).encode()
            route.take_label(Record("labels-0-0", None, value), number, number, counts)
        record = Record(f"in-0-{number}", None, json.dumps({"id": number, **x}).encode())
        asked += [query.record.id for query in route.take_record(record, number, number, counts).queries]
        wrong += record.prediction != y
    return counts.queries / rounds, wrong / rounds


def samplers() -> dict[str, tuple[Any, tuple[int, int]]]:
    """Return samplers with their bounds, by how a file says them."""
    return {
        "all labels": (rm.ShareSampler(learner(), share=1.0, seed=1), NO_BOUND),
        "`SelectiveSampler`": (rm.SelectiveSampler(learner()), NO_BOUND),
        "`SelectiveSampler`, `at_most: 50 per 1000`": (rm.SelectiveSampler(learner()), (50, 1000)),
        "`RandomizedSelectiveSampler: {b: 0.02}`": (rm.RandomizedSelectiveSampler(learner(), b=0.02, seed=1), NO_BOUND),
        "`MarginSampler: {margin: 0.05}`": (rm.MarginSampler(learner(), margin=0.05), NO_BOUND),
        "`ShareSampler: {share: 0.08}`": (rm.ShareSampler(learner(), share=0.08, seed=1), NO_BOUND),
    }


if __name__ == "__main__":
    print("| asked for | labels | error, labels at once | labels | error, labels 500 records later |")
    print("|---|---|---|---|---|")
    for name in samplers():
        found = [number for delay in (1, 500) for number in played(*samplers()[name], 10_000, delay)]
        print(f"| {name} | {found[0]:.1%} | {found[1]:.3f} | {found[2]:.1%} | {found[3]:.3f} |", flush=True)
