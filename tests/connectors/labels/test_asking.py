"""Which labels are asked for: a plain loop that asks the sampler itself is the oracle."""

import itertools
import json
import logging
import random
from types import SimpleNamespace

import orjson
import pytest
from pydantic import TypeAdapter
from river import datasets

from connectors.labels.asking import Asked, Asking, Budget
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.merging import Side, choose
from connectors.labels.waiting import BadState, WaitingRecords
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.records import Decoder, Record
from river_margins import (
    AutoClassifier,
    Calibrated,
    HedgeBackpropClassifier,
    MarginSampler,
    PAClassifier,
    RandomizedSelectiveSampler,
    SelectiveSampler,
    ShareSampler,
    StandardScaler,
    snapshot,
)
from tests.connectors.labels.test_late_learning import delayed, label, record
from tests.helpers.scripts import script

LEARNERS = {"bare": lambda: PAClassifier(C=0.1), "scaled": lambda: StandardScaler() | PAClassifier(C=0.1)}
SAMPLERS = {
    "threshold": lambda learner: SelectiveSampler(learner, c=0.3),
    "random": lambda learner: RandomizedSelectiveSampler(learner, b=0.3, seed=2),
    "margin": lambda learner: MarginSampler(learner, margin=1.0),
    "share": lambda learner: ShareSampler(learner, share=0.3, seed=2),
}
MOST, OF = 3, 10


def last_of(learner):
    return list(learner.steps.values())[-1] if hasattr(learner, "steps") else learner


def make(learner, sampler, all_wait=True, asked=None, within=10**12):
    saved = snapshot.dumps(learner)
    decode = Decoder("id", "y", None, is_joined=True).decode
    model = PartitionModel(learner, "s", 0, lambda name: snapshot.loads(saved), decode)
    sources, labels = ("in-0-", "labels-0-"), LabelDecoder("of", "label")
    asking = Asking(sampler(last_of(learner)), (MOST, OF), all_wait, asked)
    return LateLearning(model, WaitingRecords(within, 1000), labels, sources, asking=asking)


def in_order(records, labels):
    """Yield records and labels in the order of their times, with their numbers."""
    heads = {Side.RECORDS: iter(enumerate(records)), Side.LABELS: iter(enumerate(labels))}
    there = {side: next(head, None) for side, head in heads.items()}
    while side := choose(*(found and found[1].timestamp for found in there.values())):
        yield side, *there[side]
        there[side] = next(heads[side], None)


def step(route, side, number, taken, counts):
    take = route.take_record if side is Side.RECORDS else route.take_label
    return take(taken, number, taken.timestamp, counts)


def plain(examples, learner, sampler, moments, delays):
    """Yield which examples are asked for, in a loop of its own: all labels come, asked for or not."""
    sampler, granted, offered = sampler(last_of(learner)), [], 0
    vars(sampler)["learner"] = last_of(learner)  # the sampler scores with the learner itself
    due = sorted((moment + delay, 0, n) for n, (moment, delay) in enumerate(zip(moments, delays, strict=True)))
    came = [(moment, 1, n) for n, moment in enumerate(moments)]
    early = set()
    seen = set()
    for _, is_record, n in sorted(due + came, key=lambda found: found[:2]):
        x, y = examples[n]
        if not is_record and n not in seen:
            early.add(n)
        elif not is_record:
            learner.learn_one(x, y)
        else:
            seen.add(n)
            transformed = learner.transform_one(x) if hasattr(learner, "steps") else x
            if n in early:
                learner.learn_one(x, y)
                continue
            offered += 1
            if sampler.query_one(transformed):
                if sum(offered - OF < other for other in granted) < MOST:
                    granted.append(offered)
                    yield n
                else:
                    sampler.withdraw()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_plain_loop_asks_for_the_same_labels(learner, sampler):
    examples = list(itertools.islice(datasets.Phishing(), 500))
    records, labels, moments, delays = delayed(examples, seed=4, is_tied=False)
    labels.sort(key=lambda each: each.timestamp)
    route, counts, found = make(LEARNERS[learner](), SAMPLERS[sampler]), Counts(), []
    for taken in in_order(records, labels):
        found += step(route, *taken, counts).queries
    twin = LEARNERS[learner]()
    asked = list(plain(examples, twin, SAMPLERS[sampler], moments, delays))
    assert [query.record.id for query in found] == asked
    assert snapshot.dumps(route.model.learner) == snapshot.dumps(twin)
    assert (counts.queries, counts.learned) == (len(asked), 500) and counts.queries > 20
    assert counts.withheld or sampler == "threshold"


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("all_wait", [True, False], ids=["all", "asked"])
def test_what_was_written_as_json_goes_on(sampler, all_wait):
    examples = list(itertools.islice(datasets.Phishing(), 400))
    events = list(in_order(*delayed(examples, seed=5, is_tied=True)[:2]))
    route, counts = make(LEARNERS["bare"](), SAMPLERS[sampler], all_wait), Counts()
    for taken in events[:400]:
        step(route, *taken, counts)
    asked = TypeAdapter(Asked).validate_json(orjson.dumps(route.asking.asked, default=tuple))
    twin = make(LEARNERS["bare"](), SAMPLERS[sampler], all_wait, asked)
    for side, _, taken in events[400:]:
        if side is Side.RECORDS:
            assert twin.asking.asked == route.asking.asked
            predicted = Record(taken.source, None, taken.value)
            route.model.decode(predicted)
            route.model.predict(predicted)
            one, other = (each.asking.ask(predicted, route.model, counts) for each in (route, twin))
            assert one == other
    assert twin.asking.asked.records > 250 and twin.asking.asked == route.asking.asked


def test_of_any_ten_records_in_a_row_three_are_asked_for():
    """The window slides: it is not a block of ten, at whose end six in a row could be asked for."""
    budget, granted = Budget(MOST, OF), []
    for number in range(1, 31):
        budget.count_one()
        granted += [number] if budget.grants() else []
    assert granted == [1, 2, 3, 11, 12, 13, 21, 22, 23]
    generator = random.Random(1)
    for share in (0.1, 0.4, 0.9):
        budget, granted = Budget(MOST, OF), []
        for number in range(1, 500):
            budget.count_one()
            if generator.random() < share:
                before = sum(number - OF < other for other in granted)
                assert budget.grants() == (before < MOST)
                granted += [number] if before < MOST else []
            budget = Budget(MOST, OF, budget.count, budget.requests)
        assert all(sum(start <= other < start + OF for other in granted) <= MOST for start in range(1, 500))


def test_a_bound_that_was_changed_holds_from_then_on():
    budget = Budget(5, 10)
    for _ in range(5):
        budget.count_one()
        assert budget.grants()
    budget, granted = Budget(2, 4, budget.count, budget.requests), []
    for _ in range(8):
        budget.count_one()
        granted.append(budget.grants())
    assert granted == [False, False, True, True, False, False, True, True]


def test_what_needs_no_query():
    """A label in the record, one that came before, a record that no label can find, and one that is rejected."""
    route, counts = make(PAClassifier(), lambda learner: ShareSampler(learner, share=1.0, seed=1)), Counts()
    nameless = Record("in-0-4", None, b'{"a": 1}', timestamp=2)
    records = [
        record(0, 1, a=1.0, y=True), record(1, 1, a=1.0), record(2, 1, a=1.0), record(2, 1, a=2.0), nameless,
        Record("in-0-5", None, b"{", timestamp=2), record(6, 2, a="text"), record(7, 3, a=1.0),
    ]  # fmt: skip
    asked = []
    for taken in in_order(records, [label(0, 1, True, 0)]):
        asked += [query.record.id for query in step(route, *taken, counts).queries]
    assert (asked, counts.queries, route.asking.asked.records) == ([2, 7], 2, 2)


def test_a_query_holds_what_one_needs_to_label_it():
    route = make(PAClassifier(), lambda learner: ShareSampler(learner, share=1.0, seed=1))
    value = b'{ "id":"a", "a":1.0, "text":"caf\\u00e9" , "n": 9007199254740993}'
    taken = Record("in-0-0", b"k", value, None, [("h", b"x")], 1)
    route.model.decode = Decoder("id", "y", ["a"], is_joined=True).decode
    (query,) = route.take_record(taken, 0, 1, Counts()).queries
    assert query.value == b'{"id":"a","prediction":null,"score":null,"record":' + value + b"}"
    assert (query.record, query.snapshot) == (taken, "s")
    assert json.loads(query.value)["record"] == json.loads(value)


def test_a_record_that_cannot_be_written_is_not_asked_for():
    """JSON is read up to 1024 levels and written up to 254: some formats give records that no query can hold."""
    sampler, counts = ShareSampler(PAClassifier(), share=1.0), Counts()
    deep = json.loads("[" * 300 + "]" * 300)
    asking = Asking(sampler, (MOST, OF), all_wait=True, fields=lambda value: {"a": deep if value == b"deep" else 1})
    model = SimpleNamespace(learner=PAClassifier(), features_of=lambda record: {"a": 1.0}, snapshot="s")
    asked = []
    for value in (b"deep", b"flat"):
        record = Record("in-0-0", None, value)
        record.id, record.prediction, record.score = value.decode(), True, 0.5
        asked.append(asking.ask(record, model, counts))
    assert asked[0] is None and json.loads(asked[1].value)["record"] == {"a": 1}
    assert (counts.queries, counts.withheld) == (1, 1)


def test_only_records_that_were_asked_for_wait():
    counts, route = Counts(), make(PAClassifier(), SAMPLERS["share"], all_wait=False, within=50)
    records = [record(n, n, a=1.0) for n in range(40)]
    labels = [label(n, n, True, 45) for n in range(40)]
    asked, outcomes, rejects = [], [], []
    for taken in in_order(records, [*labels, label(40, "x", True, 200)]):
        found = step(route, *taken, counts)
        asked += [query.record.id for query in found.queries]
        outcomes += [outcome.id for outcome in found.outcomes]
        rejects += [(reject.source, reject.known.kind) for reject in found.rejects]
    assert outcomes == asked and 4 < len(asked) <= 12
    assert rejects == [(f"labels-0-{n}", "unknown_id") for n in range(40) if n not in asked]
    assert (counts.learned, counts.expired, len(route.waiting.records)) == (len(asked), 0, 0)


def test_another_sampler_begins_anew_and_the_bound_stays(caplog):
    asked = Asked("SelectiveSampler", {"n_rounds": 9, "n_queries": 4, "n_open": 4}, 9, [7, 8, 9])
    with caplog.at_level(logging.WARNING):
        now = Asking(SAMPLERS["margin"](PAClassifier()), (MOST, OF), True, asked).asked
    assert now == Asked("MarginSampler", {"n_rounds": 0, "n_queries": 0, "n_open": 0}, 9, [7, 8, 9])
    assert "the sampler of `queries` was `SelectiveSampler` and is now `MarginSampler`" in caplog.text
    for position in ({}, {"generator": [3, [1, 2], None]}, {"generator": "x"}):
        with pytest.raises(BadState, match="the position of the sampler `ShareSampler` cannot be read"):
            Asking(SAMPLERS["share"](PAClassifier()), (MOST, OF), True, Asked("ShareSampler", position, 1, []))


def test_a_tenth_of_the_labels_is_enough():
    """The lectures' experiment, at a smaller size than in the documentation: no label but those asked for comes."""
    with script("benchmarks/lectures.py"), script("benchmarks/queries.py") as benchmark:
        samplers = benchmark.samplers()
        all_of_them, selective = (samplers[name][0] for name in ("all labels", "`SelectiveSampler`"))
        _, least = benchmark.played(all_of_them, benchmark.NO_BOUND, 3000, 1)
        share, error = benchmark.played(selective, benchmark.NO_BOUND, 3000, 1)
        drawn = ShareSampler(benchmark.learner(), share=share, seed=1)
        _, at_random = benchmark.played(drawn, benchmark.NO_BOUND, 3000, 1)
        bounded, _ = benchmark.played(*samplers["`SelectiveSampler`, `at_most: 50 per 1000`"], 3000, 1)
    assert share < 0.15 and error < least + 0.01 and error < at_random - 0.01 and bounded <= 0.05


@pytest.mark.parametrize(
    "classifier", [AutoClassifier, lambda: Calibrated(PAClassifier()), lambda: PAClassifier(intercept=False)]
)
def test_labels_are_asked_for_while_the_scaler_has_learned_nothing(classifier):
    route, counts = make(StandardScaler() | classifier(), SelectiveSampler, all_wait=False), Counts()
    for n in range(50):
        for _ in route.take_record(record(n, n, a=n % 7 - 3.0, b=n % 5 - 2.0), n, n, counts).queries:
            route.take_label(label(n, n, n % 7 > 2, n), n, n, counts)
    assert counts.learned > 5


def test_features_that_the_learner_only_predicts_are_not_asked_for():
    route, counts = make(HedgeBackpropClassifier(), SelectiveSampler), Counts()
    for number, feature in enumerate((b"null", b'"text"', b"[1]", b"1.5")):
        taken = Record(f"in-0-{number}", None, b'{"id": "r%d", "a": %s}' % (number, feature))
        queries = route.take_record(taken, number, number, counts).queries
        assert taken.output and bool(queries) is (feature == b"1.5")
    assert len(route.waiting.records) == 4
