"""What follows a drift, in models that fail half-way and are built again, and under a file that changes."""

import json

from river import base

from connectors import config
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
from connectors.snapshots.models import Builder, find
from river_margins import PARegressor

DECODE = Decoder("id", "y", None).decode
SUDDEN = "PageHinkley", {"threshold": 0.5, "min_instances": 1}


class Memory(base.Classifier):
    """Predicts True always, and remembers what it learned; `a` above a limit fails half-way."""

    def __init__(self, *learned, limit=3):
        self.learned, self.limit = list(learned), limit

    def predict_one(self, x):
        return True

    def score_one(self, x):
        return 1.0

    def learn_one(self, x, y):
        self.learned.append(x["a"])
        if x["a"] > self.limit:
            raise TypeError("half-way")


def take(model, *examples):
    counts = Counts()
    for number, (a, y) in enumerate(examples):
        record = Record(f"s-{number}", None, json.dumps({"id": number, "a": a, "y": y}).encode())
        process_record(model, record, counts)
    return counts


def test_after_a_reset_a_model_is_built_again_from_nothing():
    watch = Watch(Plan(*SUDDEN, "reset"), lambda name: Memory())
    model = PartitionModel(Memory(0.5), "s", 7, lambda name: Memory(0.5), DECODE, watch=watch)
    counts = take(model, (1.0, True), (1.1, True), (1.2, False))
    assert (watch.past.drifts, watch.past.last, model.has_drifted) == (1, "s-2", True)
    assert model.learner.learned == [] and model.examples == 0
    counts += take(model, (2.0, True), (4.0, True), (2.1, True))
    assert model.learner.learned == [2.0, 2.1] and model.examples == 2
    assert (counts.learned, counts.rejected) == (5, 1)
    model.saved_as("t")
    assert not model.has_drifted and watch.committed == 1
    take(model, (4.0, True))
    assert model.learner.learned == [0.5]  # what `t` holds, here


def test_after_a_promotion_each_model_is_built_again_as_itself():
    watch = Watch(Plan(*SUDDEN, "promote", "new"), lambda name: Memory())
    other = PartitionModel(Memory(0.7, limit=5), "s", 3, lambda name: Memory(0.7, limit=5), DECODE)
    model = ContestModel(
        Memory(0.5), "s", 7, lambda name: Memory(0.5), DECODE, None, 0,
        name="old", challengers={"new": other}, standings=Standings(), is_told=True, watch=watch,
    )  # fmt: skip
    take(model, (1.0, True), (1.1, True), (1.2, False))
    assert model.name == "new" and list(model.challengers) == ["old"] and watch.past.instead_of == "old"
    assert (model.examples, model.challengers["old"].examples) == (6, 10)
    counts = take(model, (4.0, True), (6.0, True), (2.0, True))  # the first is too much for `old`, the second for both
    assert model.learner.learned == [0.7, 1.0, 1.1, 1.2, 4.0, 2.0]
    assert model.challengers["old"].learner.learned == [0.5, 1.0, 1.1, 1.2, 2.0]
    assert counts.rejected == 1 and model.standings.refused["old"].labels == 1
    take(model, (1.0, True), (1.0, False))
    assert model.name == "new" and watch.past.drifts == 2  # who is the champion already stays it


def test_numbers_are_watched_by_their_absolute_error():
    watch = Watch(Plan("PageHinkley", {"threshold": 50.0, "min_instances": 1}, "warn"), lambda name: PARegressor())
    model = PartitionModel(PARegressor(C=1e-9), "s", 0, lambda name: PARegressor(C=1e-9), DECODE, watch=watch)
    take(model, *[(1.0, 0.5)] * 9)
    assert watch.past.drifts == 0
    take(model, (1.0, 1000.0))
    assert watch.past.drifts == 1


FILE = """\
name: trial
kafka: {bootstrap_servers: "localhost:1"}
input: {topic: a}
record: {id: id, label: y}
learner: [PAClassifier]
output: {topic: b}
snapshots: {every: 1h}
"""


def test_inputs_that_are_read_again_are_watched_as_they_were(tmp_path):
    """With `snapshots.every`, another detector takes over with the next snapshot only."""
    (tmp_path / "p.yaml").write_text(FILE + "drift: {detector: DDM, then: reset}\n")
    snapshots = {}
    model = Builder(config.load(tmp_path / "p.yaml"), snapshots.__getitem__, DECODE, True).start()
    take(model, (1.0, True), (1.0, True), (1.0, False))
    snapshots["s"] = model.dumps({"record": {"id": "id", "label": "y"}})
    model.saved_as("s")
    state, past = model.watch.value, model.examples
    take(model, (1.0, True))
    assert model.watch.value != state
    model.reload()
    assert model.watch.value == state and model.examples == past
    for section, plan in (("drift: {detector: EDDM}\n", Plan("EDDM", {}, "warn")), ("", None)):
        (tmp_path / "p.yaml").write_text(FILE + section)
        settings = config.load(tmp_path / "p.yaml")
        found = find(settings, snapshots["s"], "it", "start over")
        again = Builder(settings, snapshots.__getitem__, DECODE, True).restore("s", 3, found)
        assert again.watch.value == state and again.is_to_change
        again.prepare_snapshot()
        again.saved_as("t")
        assert (again.watch and again.watch.plan) == plan and not again.is_to_change


def test_drifts_are_counted_on_when_another_detector_takes_over(tmp_path):
    """With `snapshots.every`, the former one watches until the next snapshot, and may see a drift."""
    section = "drift: {detector: {PageHinkley: {threshold: 0.5, min_instances: 1}}, then: reset}\n"
    (tmp_path / "p.yaml").write_text(FILE + section)
    snapshots = {}
    model = Builder(config.load(tmp_path / "p.yaml"), snapshots.__getitem__, DECODE, True).start()
    take(model, (1.0, True))
    snapshots["s"] = model.dumps({})
    (tmp_path / "p.yaml").write_text(FILE + "drift: {detector: EDDM}\n")
    settings = config.load(tmp_path / "p.yaml")
    found = find(settings, snapshots["s"], "it", "start over")
    again = Builder(settings, snapshots.__getitem__, DECODE, True).restore("s", 1, found)
    take(again, (1.0, True), (1.0, True), (1.2, False))
    assert again.has_drifted and again.examples == 0
    again.prepare_snapshot()
    again.saved_as("t")
    assert again.watch.plan.detector == "EDDM" and again.watch.committed == 1


def test_the_detector_goes_on_if_only_what_follows_a_drift_is_another(tmp_path):
    """With `snapshots.every`, one rise of the loss is one drift, also if the file changes with the next snapshot."""
    section = "drift: {detector: {PageHinkley: {threshold: 4.0, min_instances: 5}}, then: %s}\n"
    (tmp_path / "p.yaml").write_text(FILE + section % "warn")
    snapshots = {}
    model = Builder(config.load(tmp_path / "p.yaml"), snapshots.__getitem__, DECODE, True).start()
    take(model, *[(1.0, True)] * 30)
    snapshots["s"] = model.dumps({})
    (tmp_path / "p.yaml").write_text(FILE + section % "reset")
    settings = config.load(tmp_path / "p.yaml")
    found = find(settings, snapshots["s"], "it", "start over")
    again = Builder(settings, snapshots.__getitem__, DECODE, True).restore("s", 30, found)
    rise = [(1.0, number % 2 == 0) for number in range(40)]
    take(again, *rise[:20])
    assert again.watch.past.drifts == 1
    state = again.watch.value["state"]
    again.prepare_snapshot()
    assert (again.watch.plan.then, again.watch.value["state"]) == ("reset", state)
    again.saved_as("t")
    take(again, *rise[20:])
    assert again.watch.past.drifts == 1 and again.examples == 70


def test_a_promotion_that_the_file_has_ended_is_forgotten_when_another_watch_takes_over(tmp_path):
    """The challengers were taken out of the file, and `snapshots.every` written into it."""
    (tmp_path / "p.yaml").write_text(FILE + "drift: {detector: DDM}\n")
    model = Builder(config.load(tmp_path / "p.yaml"), {}.__getitem__, DECODE, True).start()
    take(model, (1.0, True))
    model.watch.past.instead_of = "old"
    snapshots = {"s": model.dumps({})}
    (tmp_path / "p.yaml").write_text(FILE + "drift: {detector: EDDM}\n")
    settings = config.load(tmp_path / "p.yaml")
    found = find(settings, snapshots["s"], "it", "start over")
    again = Builder(settings, snapshots.__getitem__, DECODE, True).restore("s", 1, found)
    again.prepare_snapshot()
    assert again.watch.plan.detector == "EDDM" and again.watch.past.instead_of == ""


def test_what_waited_before_there_was_a_watch_is_not_held_against_a_model_that_begins_anew():
    """The section `drift` is new, and labels of former records come before the next record."""
    decode, waiting = Decoder("id", "y", None, is_joined=True).decode, WaitingRecords(10**6, 100)

    def route(watch):
        model = PartitionModel(Memory(), "s", 0, lambda name: Memory(), decode, watch=watch)
        return LateLearning(model, waiting, LabelDecoder("of", "label"), ("in-0-", "labels-0-"))

    def taken(take, count, fields):
        for number in range(count):
            take(Record(f"s-{number}", None, json.dumps(fields(number)).encode()), number, number, Counts())

    taken(route(None).take_record, 9, lambda number: {"id": number, "a": 1.0})
    watch = Watch(Plan(*SUDDEN, "reset"), lambda name: Memory())
    taken(route(watch).take_label, 9, lambda number: {"of": number, "label": number % 3 < 2})
    assert watch.past.drifts == 1
