"""The route of records and labels: River's own delayed progressive validation is the oracle."""

import itertools
import json
import random

import pytest
from river import datasets, evaluate, metrics, preprocessing

from connectors.labels import late_learning
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.merging import Side, choose
from connectors.labels.waiting import WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder, Record
from river_margins import AROWClassifier, PAClassifier, PARegressor, StandardScaler, snapshot

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
    """Return River's predictions in the order of the labels; the learner and the metric are River's at the end."""
    at, later = iter(moments), iter(delays)
    found = evaluate.iter_progressive_val_score(
        examples, learner, metric, lambda x: next(at), lambda x, y: next(later), step=1, yield_predictions=True
    )
    return [step["Prediction"] for step in found]


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
    metric, twin = metrics.Accuracy(), LEARNERS[name]()
    expected = rivers(examples, twin, metric, moments, delays)
    counts, route = Counts(), make(LEARNERS[name]())
    outcomes, rejects = run(route, records, labels, counts)
    assert rejects == []
    assert [outcome.prediction for outcome in outcomes] == expected
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin)
    assert (counts.judged, counts.right) == (metric.cm.n_samples, metric.cm.total_true_positives)
    assert counts.accuracy == metric.get()
    assert {outcome.id: outcome.delay for outcome in outcomes} == dict(enumerate(delays))


def test_a_number_is_judged_by_its_error():
    counts, route = Counts(), make(PARegressor())
    run(route, [record(0, 0, a=1.0), record(1, 3, a=1.0)], [label(0, 0, 2.0, 2), label(1, 1, 5.0, 4)], counts)
    twin = PARegressor()
    twin.learn_one({"a": 1.0}, 2.0)
    assert counts.error == 2.0 + abs(5.0 - twin.predict_one({"a": 1.0}))
    assert (counts.learned, counts.judged, counts.delays) == (2, 2, {1.0: 2})


def test_an_outcome_says_what_was_predicted_then():
    route = make(PAClassifier())
    outcomes, _ = run(
        route,
        [record(0, 0, a=1.0), record("one", 1, a=-1.0), record(2, 3, a=1.0)],
        [label(0, 0, False, 2), label(1, "one", True, 4), label(2, 2, True, 3)],
    )
    assert [json.loads(outcome.value) for outcome in outcomes] == [
        {"id": 0, "prediction": None, "score": None, "label": False, "delay": 2},
        {"id": "one", "prediction": None, "score": None, "label": True, "delay": 3},  # before the first label
        {"id": 2, "prediction": outcomes[2].prediction, "score": outcomes[2].score, "label": True, "delay": 1},
    ]
    assert [(outcome.record, outcome.message.source) for outcome in outcomes] == [
        ("in-0-0", "labels-0-0"), ("in-0-1", "labels-0-1"), ("in-0-2", "labels-0-2")
    ]  # fmt: skip


def test_labels_that_cannot_be_used_are_rejected_with_their_reason():
    counts, route = Counts(), make(PAClassifier(), within=10)
    broken = Record("labels-0-4", b"k", b"{", None, [("h", b"x")], 1)
    labels = [
        label(0, 0, True, 1), label(1, 0, True, 1), label(2, 1, None, 1), label(3, 1, [True], 1), broken,
        label(5, None, True, 1), label(6, "nobody", False, 2), label(7, "nobody", True, 2), label(8, 2, "spam", 3),
        label(9, 1, True, 30),
    ]  # fmt: skip
    outcomes, rejects = run(route, [record(n, 0, a=1.0) for n in range(3)], labels, counts)
    assert [(reject.source, reject.known.kind) for reject in rejects] == [
        ("labels-0-1", "second_label"), ("labels-0-2", "label"), ("labels-0-3", "label"), ("labels-0-4", "format"),
        ("labels-0-5", "id"), ("labels-0-7", "second_label"), ("labels-0-8", "label"), ("labels-0-6", "unknown_id"),
        ("labels-0-9", "late_label"),
    ]  # fmt: skip
    assert all(reject.reason == str(reject.known) and reject.value for reject in rejects)
    assert rejects[3].headers == [("h", b"x")]
    assert [outcome.id for outcome in outcomes] == [0]
    assert (counts.read, counts.predicted, counts.labels, counts.learned, counts.early, counts.expired) == (
        3,
        3,
        10,
        1,
        1,
        1,
    )
    assert counts.rejected == sum(counts.reasons.values()) == 9
    assert route.model.examples == 1


def test_a_label_in_the_record_is_learned_at_once_and_is_the_first_one():
    route = make(PAClassifier())
    records = [record(0, 1, a=1.0, y=True), record(1, 2, a=1.0, y=False)]
    outcomes, rejects = run(route, records, [label(0, 1, True, 0), label(1, 0, False, 5)])
    assert (route.model.examples, outcomes, len(route.waiting.records)) == (2, [], 0)
    assert [(reject.source, reject.known.kind) for reject in rejects] == [
        ("labels-0-0", "second_label"), ("labels-0-1", "second_label")
    ]  # fmt: skip
    assert json.loads(records[0].output)["label"] is True


@pytest.mark.parametrize("bound", ["within", "pending"])
def test_what_gives_way_is_learned_with_otherwise_before_the_next_record_is_predicted(bound):
    bounds = {"within": {"within": 9}, "pending": {"pending": 1}}[bound]
    counts, route = Counts(), make(PAClassifier(), otherwise=False, **bounds)
    records = [record(0, 0, a=1.0), record(1, 10, a=2.0), record(2, 11, a=1.0)]
    _, rejects = run(route, records, [], counts)
    twin = PAClassifier()
    twin.learn_one({"a": 1.0}, False)
    assert rejects == []
    if bound == "within":
        assert records[1].prediction is twin.predict_one({"a": 2.0}) is False
        assert (counts.expired, counts.displaced, counts.learned, counts.judged) == (1, 0, 1, 0)
    else:
        twin.learn_one({"a": 2.0}, False)
        assert (counts.expired, counts.displaced, counts.learned, counts.judged) == (0, 2, 2, 0)
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin)


def test_a_bad_label_in_the_record_is_not_replaced_by_otherwise():
    for otherwise, learned, kinds in ((False, 1, ["second_label"]), (None, 2, [])):
        labels = [label(0, 1, True, 0), label(1, 0, True, 3)]
        counts, route = Counts(), make(PAClassifier(), within=9, otherwise=otherwise)
        records = [record(0, 1, a=1.0, y=[]), record(1, 2, a=2.0, y=[]), record(2, 20, a=1.0)]
        outcomes, rejects = run(route, records, labels, counts)
        assert [outcome.id for outcome in outcomes] == ([1] if otherwise is False else [1, 0])
        assert (counts.learned, counts.expired, len(route.waiting.records)) == (learned, 0, 1)
        assert [reject.known.kind for reject in rejects] == kinds


def test_a_label_at_the_last_moment_is_in_time():
    route = make(PAClassifier(), within=10)
    outcomes, rejects = run(
        route, [record(0, 0, a=1.0), record(1, 0, a=1.0)], [label(0, 0, True, 10), label(1, 1, True, 11)]
    )
    assert ([outcome.id for outcome in outcomes], [reject.known.kind for reject in rejects]) == ([0], ["late_label"])


def test_records_that_no_label_can_find_are_predicted_and_rejected():
    counts, route = Counts(), make(PAClassifier())
    nameless = Record("in-0-0", b"key", b'{"a": 1}')
    double = record(1, 0, a=2.0)
    run(route, [nameless, record(1, 0, a=1.0), double], [], counts)
    assert [taken.reason for taken in (nameless, double)] == [
        "the record has no `id`, so no label can find it",
        "a record with the id `1` waits for its label already",
    ]
    assert nameless.output and double.output and len(route.waiting.records) == 1
    assert (counts.read, counts.predicted, counts.rejected, counts.reasons["id"]) == (3, 3, 2, 2)


def test_the_key_is_the_id_where_no_field_is():
    route = make(PAClassifier())
    route.model.decode = Decoder(None, None, None, is_joined=True).decode
    route._decode_label = LabelDecoder(None, "label").decode
    taken = Record("in-0-0", "é".encode(), b'{"a": 1}', timestamp=1)
    outcomes, rejects = run(
        route,
        [taken, Record("in-0-1", None, b'{"a": 1}', timestamp=1), Record("in-0-2", b"\xff", b'{"a": 1}', timestamp=1)],
        [Record("labels-0-0", "é".encode(), b'{"label": true}', timestamp=2), label(1, 0, True, 3)],
    )
    assert json.loads(taken.output)["id"] == json.loads(outcomes[0].value)["id"] == "é"
    assert [(reject.source, reject.known.kind) for reject in rejects] == [("labels-0-1", "id")]
    assert len(route.waiting.records) == 0


def test_the_sample_weight_of_the_record_counts_when_its_label_comes():
    route, twin = make(PAClassifier(mode=1, C=0.1)), PAClassifier(mode=1, C=0.1)
    route.model.decode = Decoder("id", "y", None, weight="w", is_joined=True).decode
    records = [record(0, 0, a=1.0, w=0.5), record(1, 0, a=1.0, w="x")]
    _, rejects = run(route, records, [label(0, 0, True, 1), label(1, 1, True, 1)])
    twin.learn_one({"a": 1.0}, True, w=0.5)
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin)
    assert [reject.reason for reject in rejects] == ["record `1`: the weight is text: a number is needed"]


def test_a_step_that_raises_half_way_leaves_the_model_as_it_was():
    """The model is built again from its snapshot; labels that came later are learned again with their records."""
    route, twin = make(preprocessing.StandardScaler() | PAClassifier()), preprocessing.StandardScaler() | PAClassifier()
    records = [record(n, n, a=float(n)) for n in range(5)] + [record(5, 50, a=1.0, b="text")]
    labels = [label(n, n, n % 2 == 0, 10 + n) for n in range(5)] + [label(5, 5, True, 60)]
    _, rejects = run(route, records, labels)
    for n in range(5):
        twin.learn_one({"a": float(n)}, n % 2 == 0)
    assert [(reject.source, reject.reason[:11]) for reject in rejects] == [("labels-0-5", "record `5`:")]
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin)


def test_a_label_whose_id_cannot_be_said_is_rejected():
    """JSON is read up to 1024 levels and written up to 254."""
    route = make(PAClassifier())
    deep = Record("labels-0-0", None, b'{"of": %s, "label": true}' % (b"[" * 300 + b"]" * 300))
    found = route.take_label(deep, 0, 0, Counts())
    assert [reject.reason for reject in found.rejects] == ["`of` cannot be expressed in JSON: Recursion limit reached"]


def test_a_label_that_gives_way_is_told_so():
    route = make(PAClassifier(), within=10, pending=1)
    _, rejects = run(route, [record(0, 50, a=1.0)], [label(0, "x", True, 1), label(1, "y", True, 2)])
    assert "more than `labels.pending` labels wait" in rejects[0].reason and "within" in rejects[1].reason


def test_a_record_that_otherwise_cannot_teach_keeps_its_key():
    route = make(PAClassifier(mode=1, C=0.1), within=10, otherwise=False)
    route.model.decode = Decoder(None, None, None, weight="w", is_joined=True).decode
    route._key_is_id = True
    taken = Record("in-0-0", b"k", b'{"a": 1, "w": "x"}', timestamp=1)
    _, rejects = run(route, [taken, Record("in-0-1", b"l", b'{"a": 1}', timestamp=50)], [])
    assert [(reject.key, reject.known.kind) for reject in rejects] == [(b"k", "weight")]


def test_a_record_is_rejected_once():
    counts, route = Counts(), make(PAClassifier())
    records = [record(0, 0, a=1.0, y=True), record(1, 1, a=1.0, y="spam"), record(1, 2, a=1.0, y="spam")]
    run(route, records, [], counts)
    assert records[1].reason == records[2].reason and counts.rejected == 2 and not counts.reasons["id"]


def test_what_leaves_in_slices_has_the_same_result(monkeypatch):
    monkeypatch.setattr(late_learning, "AT_ONCE", 2)
    found = []
    for is_sliced in (False, True):
        counts, slices = Counts(), 0
        route = make(PAClassifier(), within=9, otherwise=False)
        for n in range(5):
            route.take_record(record(n, a=1.0 + n), n, 0, counts)
        while is_sliced and route.let_some_go(100, counts) is not None:
            slices += 1
        route.take_record(record(5, 100, a=2.0), 5, 100, counts)
        assert slices == (2 if is_sliced else 0)
        found.append((snapshot.dumps(route.model.learner), counts.expired, counts.learned))
    assert found[0] == found[1] and found[0][1] == 5


def test_of_a_slow_learner_few_leave_in_a_slice(monkeypatch):
    """Each look at the clock is 0.2 s after the one before: after three records, the half second is over."""
    clock = itertools.count(0.0, 0.2)
    monkeypatch.setattr(late_learning, "monotonic", lambda: next(clock))
    counts, left = Counts(), []
    route = make(PAClassifier(), within=9, otherwise=False)
    for n in range(7):
        route.take_record(record(n, a=1.0 + n), n, 0, counts)
    while route.let_some_go(100, counts) is not None:
        left.append(counts.learned)
    assert left == [3, 6] and counts.learned == counts.expired == 7
    twin = make(PAClassifier(), within=9, otherwise=False)
    for n in range(7):
        twin.take_record(record(n, a=1.0 + n), n, 0, Counts())
    twin.take_label(label(0, "none", True, 100), 0, 100, Counts())
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin.model.learner)


@pytest.mark.parametrize("otherwise", [None, True])
@pytest.mark.parametrize("asks_first", [True, False], ids=["between topics", "between files"])
def test_with_a_smaller_bound_records_give_way_before_the_next_label_is_taken(otherwise, asks_first):
    counts, route = Counts(), make(PAClassifier(), otherwise=otherwise)
    run(route, [record(number, number, a=1.0) for number in range(3)], [], counts)
    route.waiting.records.most = 1  # as after a restart with another `pending`
    if asks_first:  # as the processor between topics does before each step
        assert route.let_some_go(3, counts) is None
    found = route.take_label(label(0, 0, False, 3), 0, 3, counts)
    assert [reject.known.kind for reject in found.rejects] == ["late_label"]
    assert (found.outcomes, counts.displaced, counts.learned) == ([], 2, 2 if otherwise else 0)
