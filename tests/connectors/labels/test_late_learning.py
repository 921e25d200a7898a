"""The route of records and labels: River's own delayed progressive validation is the oracle."""

import itertools
import json
import random

import pytest
from river import compose, datasets, evaluate, metrics, preprocessing

from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.merging import Side, choose
from connectors.labels.waiting import WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder, Record
from river_margins import AROWClassifier, PAClassifier, StandardScaler, snapshot

FOREVER = 10**12


def make(learner, within=FOREVER, pending=1000, otherwise=None):
    saved = snapshot.dumps(learner)
    decode = Decoder("id", "y", None, is_joined=True).decode
    model = PartitionModel(learner, "", 0, lambda name: snapshot.loads(saved), decode)
    return LateLearning(
        model, WaitingRecords(within, pending), LabelDecoder("of", "label"), ("in-0-", "labels-0-"), otherwise
    )


def record(number, time=0, **fields):
    return Record(f"in-0-{number}", None, json.dumps({"id": number, **fields}).encode(), timestamp=time)


def label(number, of, value, time=0):
    return Record(f"labels-0-{number}", None, json.dumps({"of": of, "label": value}).encode(), timestamp=time)


def run(route, records, labels, counts=None):
    """Take both sources in order; return the predicted records, the outcomes and the rejects."""
    counts = Counts() if counts is None else counts
    heads = {Side.RECORDS: 0, Side.LABELS: 0}
    sources = {Side.RECORDS: records, Side.LABELS: labels}
    outcomes, rejects = [], []
    while True:
        times = [sources[side][at].timestamp if at < len(sources[side]) else None for side, at in heads.items()]
        side = choose(*times)
        if side is None:
            return outcomes, rejects
        take = route.take_record if side is Side.RECORDS else route.take_label
        taken = sources[side][heads[side]]
        found = take(taken, heads[side], taken.timestamp, counts)
        outcomes += found.outcomes
        rejects += found.rejects
        heads[side] += 1


def delayed(examples, seed, is_tied):
    """Return records and labels of examples with random delays, as two sources; and what River needs for the same."""
    random_state = random.Random(seed)
    moments, delays, now = [], [], 0
    for _ in examples:
        now += random_state.choice([0, 0, 1]) if is_tied else random_state.randrange(50)
        moments.append(now)
        delays.append(random_state.choice([0, 0, 1, 2, 5, 30]) if is_tied else random_state.randrange(2000))
    records = [record(i, t, **x) for i, (t, (x, _)) in enumerate(zip(moments, examples, strict=True))]
    due = sorted((t + d, i) for i, (t, d) in enumerate(zip(moments, delays, strict=True)))
    labels = [label(n, i, examples[i][1], t) for n, (t, i) in enumerate(due)]
    return records, labels, moments, delays


def rivers(examples, learner, metric, moments, delays):
    """Return River's predictions by the number of the example, and its metric."""
    data = [({**x, "at": t, "later": d}, y) for (x, y), t, d in zip(examples, moments, delays, strict=True)]
    pipeline = compose.Discard("at", "later") | learner
    found = evaluate.iter_progressive_val_score(
        data, pipeline, metric, moment="at", delay="later", step=1, yield_predictions=True
    )
    return [step["Prediction"] for step in found], metric


LEARNERS = {
    "PA": lambda: PAClassifier(),
    "scaled": lambda: StandardScaler() | PAClassifier(C=0.1, mode=1),
    "River": lambda: preprocessing.StandardScaler() | AROWClassifier(),
}


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_river_gives_the_same_predictions_and_the_same_metric(name, is_tied):
    examples = list(itertools.islice(datasets.Phishing(), 400))
    records, labels, moments, delays = delayed(examples, seed=7, is_tied=is_tied)
    expected, metric = rivers(examples, LEARNERS[name](), metrics.Accuracy(), moments, delays)
    counts, route = Counts(), make(LEARNERS[name]())
    outcomes, rejects = run(route, records, labels, counts)
    assert rejects == []
    # River reports a prediction when its label comes
    assert [outcome.prediction for outcome in outcomes] == expected[: len(outcomes)]
    assert (counts.judged, counts.right) == (metric.cm.n_samples, metric.cm.total_true_positives)
    assert counts.accuracy == metric.get()
    assert {outcome.id: outcome.delay for outcome in outcomes} == dict(enumerate(delays))
