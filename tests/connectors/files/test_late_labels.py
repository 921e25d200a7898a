"""Labels in a file of their own, whose records were predicted before."""

import json
import pathlib
import random

import pytest
from river import metrics

from connectors import config
from connectors.errors import ConfigError, StartError, StateError
from connectors.files import processor as files
from connectors.model.partition_model import PartitionModel
from connectors.runtime.health import Health
from connectors.tools import evaluate, report
from river_margins import snapshot
from tests.connectors.files.test_processor import Folder, killed
from tests.connectors.labels import test_late_learning as route

LABELS = {"id": "of", "label": "label", "time": "at", "within": "1h"}


class LateFolder(Folder):
    """A folder whose processor reads labels from a file of their own, and writes outcomes."""

    def __init__(self, folder, kind="jsonl", **changes):
        labels = changes.pop("labels", {})
        late = {
            "record": {"id": "id", "time": "at", "label": "y"},
            "labels": LABELS | {"file": str(folder / f"labels.{kind}")} | labels,
            "outcomes": {"file": str(folder / "outcomes.jsonl")},
        }
        super().__init__(folder, kind, **late | changes)

    def put_labels(self, lines):
        content = b"".join(line + b"\n" for line in lines)
        path = pathlib.Path(self.settings["labels"]["file"])
        path.write_bytes(content)

    def outcomes(self):
        return [json.loads(line) for line in (self.path / "outcomes.jsonl").read_bytes().splitlines()]


@pytest.fixture
def folder(tmp_path):
    return LateFolder(tmp_path)


def dumped(fields):
    return json.dumps(fields).encode()


def late(examples, seed, is_tied=False):
    """Return the lines of both files, and what River's function needs for the same."""
    records, labels, moments, delays = route.delayed(examples, seed, is_tied)
    lines, labels = ([dumped({**json.loads(r.value), "at": r.timestamp}) for r in side] for side in (records, labels))
    return lines, labels, moments, delays


def test_river_gives_the_same_predictions_and_the_same_model(folder):
    examples = [(x, y) for x, y in route.datasets.Phishing().take(500)]
    lines, labels, moments, delays = late(examples, 5, is_tied=True)
    folder.put(lines)
    folder.put_labels(labels)
    counts = folder.run()
    twin, metric = folder.config().build_learner(), metrics.Accuracy()
    expected = route.rivers(examples, twin, metric, moments, delays)
    assert [outcome["prediction"] for outcome in folder.outcomes()] == expected
    assert counts.accuracy == metric.get()
    assert folder.model() == snapshot.dumps(twin)
    assert (counts.read, counts.labels, counts.learned, counts.rejected) == (500, 500, 500, 0)
    predicted = {output["id"]: (output["prediction"], output["score"]) for output in folder.output()}
    assert {o["id"]: (o["prediction"], o["score"]) for o in folder.outcomes()} == predicted


def hostile(seed, size):
    """Return the lines of both files: early, late, doubled and unknown labels, and bytes that are neither."""
    randoms = random.Random(seed)
    lines, labels, _, _ = late([(x, y) for x, y in route.datasets.Phishing().take(size)], seed)
    for place in range(0, size, 23):
        at = json.loads(labels[place])["at"]
        labels[place] = randoms.choice(
            [
                b"{", b"\xff\xfe", b"3", b"",
                dumped({"of": place, "at": at}), dumped({"of": place, "label": [], "at": at}),
                dumped({"label": True, "at": at}), dumped({"of": f"u{place}", "label": True, "at": at}),
                dumped({"of": place, "label": "spam", "at": at}), dumped({"of": place, "label": True, "at": "never"}),
                labels[place - 1], dumped({"of": place + 300, "label": True, "at": at}),
            ]
        )  # fmt: skip
    for place in range(7, size, 31):
        lines[place] = randoms.choice(
            [b"{", b"\xff", b"[]", b'{"id": 1}', dumped(json.loads(lines[place]) | {"y": True}), lines[place - 1],
             dumped({"id": place, "a": 1}), dumped({"a": 1.0, "at": json.loads(lines[place])["at"]})]
        )  # fmt: skip
    return lines, labels


@pytest.mark.parametrize("bound", [{"within": "1.5s"}, {"pending": 20, "otherwise": False}], ids=["within", "pending"])
def test_killed_at_any_moment_and_started_again(tmp_path, bound):
    found = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        folder = LateFolder(tmp_path / name, labels=bound)
        lines, labels = hostile(3, 1200)
        folder.put(lines)
        folder.put_labels(labels)
        if name == "killed":
            killed(folder, 50, 7)
        else:
            counts = folder.run()
            assert counts.learned > 700 and counts.early and counts.expired + counts.displaced > 20
            reasons = set(counts.reasons)
            assert reasons >= {"format", "id", "label", "second_label", "late_label", "unknown_id", "time"}
        state = folder.state()
        marks = [state[name]["mark"] for name in ("input", "labels", "output", "outcomes", "rejects")]
        found.append((folder.content(), folder.outcomes(), folder.rejects(), folder.model(), marks))
        left = list((folder.path / "snapshots/trial/files/waiting/0").iterdir())
        named = [state["waiting"]["manifest"], *(segment[0] for segment in state["waiting"]["segments"])]
        if name == "undisturbed":
            assert sorted(path.name for path in left) == sorted(f"{each}.snapshot" for each in named)
    assert found[0] == found[1]


def test_evaluate_gives_what_the_processor_and_river_give(folder):
    examples = list(route.datasets.Phishing().take(400))
    lines, labels, moments, delays = late(examples, 11)
    folder.put(lines)
    folder.put_labels(labels)
    counts, result = folder.run(), evaluate.run(folder.config(), None, ["Accuracy", "LogLoss"])
    for name in result.metrics:
        metric, twin = getattr(metrics, name)(), folder.config().build_learner()
        route.rivers(examples, twin, metric, moments, delays)
        assert result.metrics[name].get() == metric.get()
        assert snapshot.dumps(result.learner) == snapshot.dumps(twin) == folder.model()
    assert result.metrics["Accuracy"].get() == counts.accuracy
    assert (result.examples, result.unlabelled, result.rejected) == (400, 0, 0)


def test_evaluate_tells_odd_values_also_with_late_labels(folder):
    folder.put([dumped({"id": n, "at": n, "user": f"u{n}"}) for n in range(200)])
    folder.put_labels([dumped({"of": n, "at": n + 5, "label": ["yes", "Yes"][n % 2]}) for n in range(200)])
    result = evaluate.run(folder.config(learner=["OneHotEncoder", "PAClassifier"]))
    alike, new = result.warnings
    assert alike.endswith("are classes of their own: 'Yes' (100 of 200 examples), 'yes' (100 of 200 examples)")
    assert new.startswith("nearly every text of the feature `user` comes once, such as 'u199'")


def test_evaluate_holds_few_examples_also_if_models_begin_anew(tmp_path, monkeypatch):
    held, saved_as = [], PartitionModel.saved_as

    def noting(model, name):
        held.append(len(getattr(model, "learned", ())))
        saved_as(model, name)

    monkeypatch.setattr(PartitionModel, "saved_as", noting)
    monkeypatch.setattr(evaluate, "REMEMBERED", 100)
    folder = LateFolder(
        tmp_path,
        learner={"name": "first", "steps": ["StandardScaler", "PAClassifier"]},
        challengers={"second": ["StandardScaler", "Perceptron"]},
        drift={"detector": {"PageHinkley": {"threshold": 1.0, "min_instances": 10}}, "then": "reset"},
    )
    lines, labels, *_ = late(list(route.datasets.Phishing()), 11)
    folder.put(lines)
    folder.put_labels(labels)
    result = evaluate.run(folder.config())
    assert result.drifts > 5 and result.examples == 1250
    assert len(held) > 40 and max(held) <= 100


def test_evaluate_of_hostile_files_equals_the_processor(folder):
    folder.settings["labels"] |= {"pending": 20, "otherwise": False}
    lines, labels = hostile(4, 600)
    folder.put(lines)
    folder.put_labels(labels)
    counts, result = folder.run(), evaluate.run(folder.config())
    assert snapshot.dumps(result.learner) == folder.model()
    assert result.metrics["Accuracy"].get() == counts.accuracy
    assert (result.metrics["Accuracy"].cm.n_samples, result.rejected) == (counts.judged, counts.rejected)


def test_evaluate_takes_the_times_of_a_file_of_topics_from_options(folder, tmp_path):
    examples = list(route.datasets.Phishing().take(200))
    lines, labels, moments, delays = late(examples, 2)
    folder.put(lines)
    folder.put_labels(labels)
    path = tmp_path / "topics.yaml"
    topics = {
        "name": "trial", "kafka": {"bootstrap_servers": "localhost:1"}, "input": {"topic": "a"},
        "output": {"topic": "b"}, "record": {"id": "id"}, "learner": folder.settings["learner"],
        "labels": {"topic": "c", "id": "of", "label": "label", "within": "30d"},
    }  # fmt: skip
    path.write_text(json.dumps(topics))
    settings = config.load(path)
    paths = folder.settings["input"]["file"], folder.settings["labels"]["file"]
    result = evaluate.run(settings, paths[0], labels=paths[1], time="at", label_time="at")
    twin = folder.config().build_learner()
    route.rivers(examples, twin, metrics.Accuracy(), moments, delays)
    assert snapshot.dumps(result.learner) == snapshot.dumps(twin)
    for options, said in {
        (): "`record.time` is missing: in files, nothing but a field tells the time of a record: name its field with",
        ("at",): "`labels.time` is missing",
        ("a[", "at"): "`--time`: `a\\[` is not a path",
    }.items():
        with pytest.raises(ConfigError, match=said):
            evaluate.run(settings, paths[0], [], None, paths[1], *options)
    with pytest.raises(ConfigError, match="`--delay` is for labels in the records"):
        evaluate.run(folder.config(), delay=3)
    with pytest.raises(ConfigError, match="name it with `--labels`"):
        evaluate.run(settings, paths[0], time="at")


def test_csv_records_and_labels(tmp_path):
    folder = LateFolder(tmp_path, "csv", record={"id": "id", "time": "at"})
    folder.put(b"id,at,a\n07,2024-05-01T12:00:00Z,1.5\n8,2024-05-01T12:00:01Z,-1.5\n")
    lines = [b"of,label,at", b"8,false,2024-05-01T12:00:02Z", b"07,true,2024-05-01T12:00:01.5Z", b"9,,", b"1"]
    folder.put_labels(lines)
    counts = folder.run()
    assert [(outcome["id"], outcome["label"], outcome["delay"]) for outcome in folder.outcomes()] == [
        ("8", False, 1000), ("07", True, 2000)  # in a file, the order of its lines counts
    ]  # fmt: skip
    assert [reject["reason"] for reject in folder.rejects()] == [
        "the time `at` is missing", "the row has 1 cells, and the header 3"
    ]  # fmt: skip
    assert (counts.learned, counts.labels) == (2, 4)


def test_a_run_without_records_does_not_say_that_none_could_be_processed(folder, caplog):
    """Only labels are new, and one of them is refused."""
    folder.put([dumped({"id": 1, "at": 1000, "a": 1.0})])
    folder.put_labels([])
    folder.run()
    folder.put_labels([dumped({"of": 1, "at": 2000, "label": True}), dumped({"of": 1, "at": 2000, "label": True})])
    counts = folder.run()
    assert (counts.read, counts.learned, counts.rejected) == (0, 1, 1)
    assert "no record could be processed" not in caplog.text


def test_goes_on_when_both_files_have_grown(folder, tmp_path):
    """Records of the first run wait for labels of the second one."""
    lines, labels, _, _ = late(list(route.datasets.Phishing().take(300)), 9)
    (tmp_path / "whole").mkdir()
    whole = LateFolder(tmp_path / "whole")
    half = json.loads(lines[150])["at"]  # all before it, then all: the order is the same
    folder.put([line for line in lines if json.loads(line)["at"] < half])
    folder.put_labels([line for line in labels if json.loads(line)["at"] < half])
    first = folder.run()
    assert first.predicted > first.learned > 0 and folder.state()["waiting"]["segments"]
    for each in (folder, whole):
        each.put(lines)
        each.put_labels(labels)
        each.run()
    assert folder.outcomes() == whole.outcomes() and folder.content() == whole.content()
    assert folder.model() == whole.model()


@pytest.mark.parametrize("spoil", ["cut", "other", "missing", "without labels", "labels changed"])
def test_what_waits_and_is_not_as_it_was_is_refused(folder, spoil):
    lines, labels, _, _ = late(list(route.datasets.Phishing().take(50)), 9)
    folder.settings["record"]["features"] = ["ip_in_url", "popup_window"]  # without the time, with `labels` or not
    folder.put(lines)
    folder.put_labels(labels[:20])
    folder.run()
    waiting = folder.path / "snapshots/trial/files/waiting/0"
    segment = waiting / f"{folder.state()['waiting']['segments'][0][0]}.snapshot"
    changes = {}
    if spoil == "cut":
        segment.write_bytes(segment.read_bytes()[:-9])
    elif spoil == "other":
        segment.write_bytes((waiting / f"{folder.state()['waiting']['manifest']}.snapshot").read_bytes())
    elif spoil == "missing":
        segment.unlink()
    elif spoil == "without labels":
        changes = {"labels": None, "outcomes": None, "record": folder.settings["record"] | {"time": None}}
    else:
        folder.put_labels(labels[1:20])
    said = {
        "missing": "what waits for labels cannot be read", "without labels": "the file has no `labels`: put",
        "labels changed": "the labels .* not fit the checkpoint",
    }  # fmt: skip
    with pytest.raises(StateError, match=said.get(spoil, "is corrupt: its SHA-256 is not the recorded one")):
        folder.run(**changes)


def test_a_column_that_labels_do_not_have(tmp_path):
    folder = LateFolder(tmp_path, "csv", record={"id": "id", "time": "at"})
    folder.put(b"id,at,a\n1,2,3\n")
    folder.put_labels([b"of,labl,at"])
    with pytest.raises(StartError, match="have no column `label`, did you mean `labl`"):
        folder.run()


def test_damaged_labels_are_named(tmp_path):
    folder = LateFolder(tmp_path, "jsonl.gz")
    folder.put([dumped({"id": 1, "at": 1, "a": 1})])
    pathlib.Path(folder.settings["labels"]["file"]).write_bytes(b"no gzip")
    with pytest.raises(StartError, match=r"`.*labels\.jsonl\.gz` after line 0: it is damaged"):
        folder.run()


def test_the_metrics_tell_what_became_of_labels(folder):
    folder.settings["labels"] |= {"within": "20s", "pending": 5}
    seconds = [0, 1, 2, 3, 4, 5, 6, 7, 30, 31]
    folder.put([dumped({"id": n, "at": 1000 * at, "a": 1.0}) for n, at in enumerate(seconds)])
    # one within a second, one within ten, one of a record that was evicted, one early, one too late
    of = [(2, 2.5), (3, 6.5), (0, 6.9), (8, 29), (4, 30.5)]
    folder.put_labels([dumped({"of": n, "label": True, "at": 1000 * at}) for n, at in of])
    settings = folder.config()
    health = Health(settings)
    counts = files.run(settings, health=health)

    def value(name, **labels):
        return health.metrics.registry.get_sample_value(f"river_margins_{name}", labels)

    assert (value("labels_total"), value("early_labels_total")) == (5, 1)
    assert value("label_delay_seconds_bucket", le="1.0") == 2 and value("label_delay_seconds_bucket", le="10.0") == 3
    assert (value("label_delay_seconds_count"), value("label_delay_seconds_sum")) == (3, 4.0)
    assert value("rejects_total", reason="late_label") == 2
    gone = value("expired_records_total", bound="within"), value("expired_records_total", bound="pending")
    waiting = value("waiting_records", topic="in.jsonl", partition="0")
    assert sum(gone) + waiting + counts.learned == len(seconds)
    assert (gone, waiting) == ((5, 1), 1)


def at_times(key, *times):
    """Return a line for each time, with an id of its own."""
    return [dumped({"id": f"{n}", "of": f"{n}", "at": time, "a": n, **key}) for n, time in enumerate(times)]


def test_times_that_go_back_are_told(folder, caplog, capsys):
    folder.settings["record"] = {"id": "id", "time": "at", "features": ["a"]}
    folder.put(at_times({}, 10, 20, 30))
    folder.put_labels(at_times({"label": True}, 40, 25, 35))
    folder.run()
    assert "2 records and labels came after one with a later time" in caplog.text
    report.run(folder.config())
    assert "2 records and labels came after one with a later time" in capsys.readouterr().out
    caplog.clear()
    folder.put(at_times({}, 10, 20, 30, 38, 41))
    folder.run()
    assert "1 records and labels came after one with a later time" in caplog.text, "appended after a label at 40"


def test_another_name_keeps_nothing_that_waits(folder):
    folder.put(at_times({}, 10, 20))
    folder.put_labels(at_times({"label": True}, 15))
    folder.run()
    folder.put(at_times({}, 11))
    with pytest.raises(StateError, match="goes on from that model, but nothing waits for labels any more"):
        folder.run()


def test_evaluate_tells_the_kinds_of_what_it_could_not_process(folder, capsys):
    folder.settings["labels"]["otherwise"] = 0  # the labels are true and false
    folder.settings["record"] = {"id": "id", "time": "at", "features": ["a"]}
    folder.put(at_times({}, 10, 20, 30, 10**9))
    folder.put_labels(at_times({"label": True}, 15) * 2)
    report.run(folder.config())
    out = capsys.readouterr().out
    assert "could not be processed, by kind: 2 `label`, 1 `second_label`" in out
    assert "the first of `label`:" in out and "the first of `second_label`:" in out


@pytest.mark.parametrize(
    ("first", "is_told"),
    [(1_711_839_000, True), (1_711_839_000_000, False), (1_711_839_000_000_000, True), (20240331, True),
     (20240331103000, True), (10, False)],
)  # fmt: skip
def test_evaluate_doubts_times_in_another_unit(folder, capsys, first, is_told):
    folder.settings["record"] = {"id": "id", "time": "at", "features": ["a"]}
    folder.put(at_times({}, first, first + 1))
    folder.put_labels(at_times({"label": True}, first + 2))
    report.run(folder.config())
    assert ("is it in another unit?" in capsys.readouterr().out) == is_told


def test_a_text_that_looks_like_a_number_hides_no_time(tmp_path):
    """A column that a step reads as text is text for the time of its row, too: else the row would come first."""
    learner = [{"BagOfWords": {"on": "body"}}, "PAClassifier"]
    folder = LateFolder(tmp_path, "csv", record={"id": "id", "time": "at"}, learner=learner)
    folder.put(b'id,at,body\n1,10,win now\n2,1000,"1,5"\n')
    folder.put_labels([b"of,label,at", b"1,true,500", b"2,false,1400"])
    folder.run()
    assert [(outcome["id"], outcome["delay"]) for outcome in folder.outcomes()] == [("1", 490), ("2", 400)]
    assert evaluate.run(folder.config()).kinds == {}
    assert folder.outcomes()[1]["prediction"] is True, "predicted after the first label"
