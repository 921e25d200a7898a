"""A champion with challengers that refuse, fail and say impossible things: nothing of it changes the champion."""

import copy
import json
import math

import pytest
from river import base
from river.compose import Renamer

from connectors.drift.watch import Plan, Watch
from connectors.labels.label_records import LabelDecoder
from connectors.labels.late_learning import LateLearning
from connectors.labels.waiting import WaitingRecords
from connectors.model.contest import ContestModel
from connectors.model.counts import Counts
from connectors.model.partition_model import PartitionModel
from connectors.model.process_record import process_record
from connectors.model.records import Decoder, Record
from connectors.model.standings import Standings
from river_margins import AROWClassifier, PAClassifier, PARegressor, StandardScaler, snapshot
from tests.helpers.streams import phishing, twin


class Failing(base.Classifier):
    """Refuses to predict on `a > 5`, to learn on `a > 3`, half-way; its score is infinite on `a < 0`."""

    def __init__(self):
        self.learned = []

    def predict_one(self, x):
        if x["a"] > 5:
            raise ValueError("too large")
        return True

    def score_one(self, x):
        return -math.inf if x["a"] < 0 else 1.0

    def learn_one(self, x, y):
        self.learned.append(x["a"])
        if x["a"] > 3:
            raise TypeError("half-way")


DECODE = Decoder("id", "y", None).decode


def contest(champion, is_told=False, **challengers):
    def of(learner):
        data = None if isinstance(learner, Failing) else snapshot.dumps(learner)
        load = lambda name: Failing() if data is None else snapshot.loads(data)  # noqa: E731
        return learner, "s", 0, load, DECODE

    others = {name: PartitionModel(*of(learner)) for name, learner in challengers.items()}
    return ContestModel(
        *of(champion), None, 0, name="first", challengers=others, standings=Standings(), is_told=is_told
    )


def run(model, records):
    found, counts = [], Counts()
    for number, fields in enumerate(records):
        record = Record(f"s-{number}", None, json.dumps(fields).encode())
        process_record(model, record, counts)
        found.append(record)
    return found, counts


def test_all_predict_and_learn_as_if_they_were_alone():
    records = phishing(300)
    learners = {"arow": lambda: StandardScaler() | AROWClassifier(), "pa": lambda: PAClassifier(C=0.1)}
    model = contest(StandardScaler() | PAClassifier(), True, **{name: make() for name, make in learners.items()})
    found, counts = run(model, records)
    bare = StandardScaler() | PAClassifier()
    expected = {name: twin(make(), records) for name, make in learners.items()}
    for number, (record, output) in enumerate(zip(found, twin(bare, records), strict=True)):
        said = json.loads(record.output)
        others = {name: outputs[number] for name, outputs in expected.items()}
        assert said.pop("challengers") == {
            name: {key: other[key] for key in ("prediction", "score")} for name, other in others.items()
        }
        assert repr(said) == repr(output)
    assert snapshot.dumps(model.learner) == snapshot.dumps(bare)
    life = model.standings.life
    assert life.models["first"].judged == counts.judged and life.models["first"].loss == counts.judged - counts.right
    for name, outputs in expected.items():
        outcomes = [output["prediction"] == output["label"] for output in outputs if "label" in output]
        assert life.models[name].loss == outcomes[1:].count(False)  # the first prediction is None, and is not judged


def test_what_a_challenger_refuses_changes_nothing_for_the_others():
    values = [1.0, 9.0, -1.0, 4.0, 2.0, 4.0, 9.0, 0.5]
    records = [{"id": n, "a": a, "y": n % 3 == 0} for n, a in enumerate(values)]
    model = contest(PAClassifier(), True, failing=Failing(), pa=PAClassifier())
    found, counts = run(model, records)
    alone = PartitionModel(PAClassifier(), "s", 0, lambda name: PAClassifier(), DECODE)
    expected, counts_alone = run(alone, records)
    for record, bare in zip(found, expected, strict=True):
        said = json.loads(record.output)
        others = said.pop("challengers")
        assert repr(said) == repr(json.loads(bare.output)) and record.reason is None
        assert others["pa"] == {key: said[key] for key in ("prediction", "score")}
        assert (others["failing"] is None) == (record.features["a"] > 5 or record.features["a"] < 0)
    assert counts == counts_alone
    failing = model.challengers["failing"]
    assert failing.learner.learned == [1.0, 2.0, 0.5] and failing.examples == 3
    refused = model.standings.refused["failing"]
    assert (refused.features, refused.labels) == (3, 2)
    assert model.standings.life.models["failing"].judged == 5


@pytest.mark.parametrize("bad", [b"{", b'{"id": 1, "a": "text", "y": true}', b'{"id": 1, "a": 1.0, "y": "spam"}'])
def test_a_record_that_the_champion_refuses_is_not_learned_by_a_challenger(bad):
    model = contest(PAClassifier(), pa=StandardScaler() | PAClassifier())
    run(model, [{"id": 0, "a": 1.0, "y": True}])
    before = snapshot.dumps(model.challengers["pa"].learner)
    record = Record("s-1", None, bad)
    process_record(model, record, Counts())
    assert record.reason is not None
    assert snapshot.dumps(model.challengers["pa"].learner) == before


def test_numbers_are_compared_by_their_absolute_errors():
    model = contest(PARegressor(), big=PARegressor(C=1e-3))
    records = [{"id": n, "a": 1.0, "y": float(n)} for n in range(50)]
    run(model, records)
    losses = {}
    for name, learner in (("first", PARegressor()), ("big", PARegressor(C=1e-3))):
        losses[name] = [abs(output["prediction"] - output["label"]) for output in twin(learner, records)]
    life = model.standings.life
    assert {name: model.loss for name, model in life.models.items()} == pytest.approx(
        {name: sum(found) for name, found in losses.items()}
    )
    pair = life.pair("first", "big")
    assert pair.difference == pytest.approx(sum(losses["first"]) - sum(losses["big"]))


@pytest.mark.parametrize("is_renamed", ["champion", "challenger"])
def test_a_step_that_changes_the_features_of_its_caller_changes_those_of_no_other_model(is_renamed):
    renamed, plain = Renamer({"a": "z"}) | PAClassifier(), StandardScaler() | PAClassifier()
    both = (renamed, plain) if is_renamed == "champion" else (plain, renamed)
    alone = [copy.deepcopy(one) for one in both]
    records = [{"a": n % 7 - 3.0, "b": n % 5 - 2.0, "y": n % 7 > 2} for n in range(60)]
    found, _ = run(contest(both[0], is_told=True, other=both[1]), records)
    for fields, record in zip(records, found, strict=True):
        x = {"a": fields["a"], "b": fields["b"]}
        said = [(model.predict_one(dict(x)), model.score_one(dict(x))) for model in alone]
        if record is not found[0]:  # before the first label
            assert (record.prediction, record.score) == said[0]
            assert tuple(record.challengers["other"].values()) == said[1]
        for model in alone:
            model.learn_one(dict(x), fields["y"])


def test_what_a_challenger_refused_it_does_not_learn_with_otherwise():
    model, counts = contest(PAClassifier(), failing=Failing()), Counts()
    route = LateLearning(model, WaitingRecords(10, 100), LabelDecoder("of", "label"), ("s-", "l-"), False)
    for number, (a, time) in enumerate([(9.0, 0), (1.0, 0), (2.0, 100)]):
        value = json.dumps({"id": number, "a": a}).encode()
        route.take_record(Record(f"s-{number}", None, value), number, time, counts)
    assert counts.expired == counts.learned == 2
    assert model.challengers["failing"].learner.learned == [1.0]
    refused = model.standings.refused["failing"]
    assert (refused.features, refused.labels) == (1, 0) and model.standings.life.records == 0


def test_who_joins_learns_of_the_last_interval_what_the_champion_has_learned():
    model = contest(PAClassifier(classes=["a", "b"]))
    run(model, [{"id": n, "x": 1.0 + n, "y": "abc"[n]} for n in range(3)])
    make = lambda: PartitionModel(PAClassifier(), "s", 0, None, DECODE)  # noqa: E731
    model.awaited = {"new": make}
    model.join("new", snapshot.dumps(PAClassifier()), 0)
    assert model.challengers["new"].examples == 2


def test_a_challenger_that_still_reads_the_input_is_not_promoted():
    model = contest(PAClassifier())
    model.awaited = {"new": None}
    watch = Watch(Plan("ADWIN", {}, "promote", "new"), None)
    assert model._answer_drift(watch).endswith("stays the champion, as `new` still reads the input")


class Losses:
    """Stands for a watch, and keeps what it is told."""

    def __init__(self):
        self.seen = []

    def save(self):
        pass

    def sees_drift(self, loss):
        self.seen.append(loss)
        return False


def test_who_is_alone_again_is_judged_by_what_it_said_as_a_challenger():
    watch = Losses()
    model = PartitionModel(PAClassifier(), "s", 0, lambda name: PAClassifier(), DECODE, watch=watch, said_as="arow")
    record = Record.of_example({"a": 1.0}, True)
    record.prediction, record.answers = False, {"pa": (False, -1.0), "arow": (True, 1.0)}
    model.learn(record, is_late=True)
    record.answers = {"pa": (False, -1.0), "arow": None}  # it refused the features
    model.learn(record, is_late=True)
    record.answers = None
    model.learn(record, is_late=True)
    assert watch.seen == [0.0, 1.0]


def test_what_waited_before_there_were_challengers_is_not_watched():
    model = contest(PAClassifier(), pa=PAClassifier())
    model.watch = Losses()
    record = Record.of_example({"a": 1.0}, True)
    record.prediction = False
    model.learn(record, is_late=True)
    assert model.watch.seen == [] and model.examples == model.challengers["pa"].examples == 1


@pytest.mark.parametrize("otherwise", [None, False])
def test_what_the_champion_refused_as_a_challenger_the_others_learn(otherwise):
    """A drift has promoted it between the record and its label."""
    model, counts = contest(PAClassifier(), failing=Failing()), Counts()
    route = LateLearning(model, WaitingRecords(10, 100), LabelDecoder("of", "label"), ("s-", "l-"), otherwise)
    for number, a in enumerate([9.0, -1.0, 1.0]):
        value = json.dumps({"id": number, "a": a}).encode()
        route.take_record(Record(f"s-{number}", None, value), number, 0, counts)
    model.promote("failing")
    outcomes, rejects = [], []
    for number in range(3):
        time = 0 if otherwise is None else 100
        found = route.take_label(Record("l-0", None, b'{"of": %d, "label": false}' % number), number, time, counts)
        outcomes += found.outcomes
        rejects += [reject.known.kind for reject in found.rejects]
    assert counts.learned == 3
    assert (len(outcomes), rejects) == ((3, []) if otherwise is None else (0, ["late_label"] * 3))
    assert model.name == "failing" and model.learner.learned == [1.0] and model.examples == 1
    assert model.challengers["first"].examples == 3
