"""Progressive validation: River's own numbers, what is counted beside them, and what it leaves."""

import itertools
import json
import os
import pathlib
import pty
import random
import re
import shlex
import subprocess
import sys

import pytest
from river import datasets, evaluate, metrics

import connectors
from connectors import config
from connectors.errors import ConfigError, StartError
from connectors.files import processor as files
from connectors.tools import evaluate as ours
from connectors.tools import report
from river_margins import snapshot
from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT
from tests.helpers.streams import phishing, twin

CLASSIFIER = ["StandardScaler", {"PAClassifier": {"C": 0.01, "mode": 1}}]
CLASSIFIER_OF_NUMBERS = [{"river.compose.Discard": {"keys": ["t"]}}, *CLASSIFIER]
REGRESSOR = ["StandardScaler", {"PARegressor": {"C": 0.01, "mode": 1}}]
NAMES = {"Phishing": "Accuracy LogLoss ROCAUC F1 ConfusionMatrix", "ImageSegments": "MacroF1 CrossEntropy",
         "TrumpApproval": "MAE RMSE R2"}  # fmt: skip


@pytest.fixture
def settings(tmp_path):
    def settings(learner=CLASSIFIER, **changes):
        path = tmp_path / "processor.yaml"
        content = {
            "name": "trial",
            "input": {"file": str(tmp_path / "in.jsonl")},
            "record": {"id": "id", "label": "y"},
            "learner": learner,
            "output": {"file": str(tmp_path / "out.jsonl")},
            "snapshots": str(tmp_path / "snapshots"),
        }
        path.write_text(json.dumps({**content, **changes}))
        return config.load(path)

    return settings


@pytest.mark.parametrize("delay", [None, 0, 50, 5000])
@pytest.mark.parametrize("data", NAMES)
def test_equals_rivers_progressive_validation_to_the_last_digit(settings, data, delay):
    found = report.run(
        settings(REGRESSOR if data == "TrumpApproval" else CLASSIFIER), data.lower(), NAMES[data].split(), delay
    )
    for name in NAMES[data].split():
        learner = settings(REGRESSOR if data == "TrumpApproval" else CLASSIFIER).build_learner()
        expected = getattr(metrics, name)()
        # MacroF1 adds up in the order of a set, which changes when it is asked: so both are asked at the same moments
        asked = ours.Result({name: expected}, learner)
        for _ in evaluate.iter_progressive_val_score(getattr(datasets, data)(), learner, expected, delay=delay):
            asked.note_one()
        assert repr(found.metrics[name]) == repr(expected), name
        if name in found.drawable:
            assert found.metrics[name].get() == expected.get(), name
        assert snapshot.dumps(found.learner) == snapshot.dumps(learner)
    assert found.examples == getattr(datasets, data)().n_samples and found.rejected == found.unlabelled == 0


def test_metrics_with_parameters(settings):
    found = report.run(settings(), "phishing", ["fbeta(beta=2)", "FBeta(beta=0.5)"])
    for beta in (2, 0.5):
        expected = evaluate.progressive_val_score(
            datasets.Phishing(), settings().build_learner(), metrics.FBeta(beta=beta)
        )
        assert found.metrics[f"FBeta(beta={beta})"].get() == expected.get()


@pytest.fixture
def answers(tmp_path):
    """A file of records whose labels are texts, and what it holds."""
    path = tmp_path / "answers.jsonl"
    examples = list(datasets.Phishing().take(300))
    path.write_text("".join(json.dumps({**x, "label": "yes" if y else "no"}) + "\n" for x, y in examples))
    return path, examples


def test_metrics_of_a_label_that_is_not_true(settings, answers, capsys):
    path, examples = answers
    names = ["F1(pos_val='yes')", "ROCAUC(pos_val='yes')", "logloss(pos_val='yes')", "Recall(pos_val='no')"]
    found = report.run(settings(record={"label": "label"}), str(path), names)
    said = capsys.readouterr().out
    assert "is about the label" not in said and "F1: " not in said
    learner = settings().build_learner()
    f1, area, loss, recall = metrics.F1(), metrics.ROCAUC(), metrics.LogLoss(), metrics.Recall()
    for x, y in examples:
        said, chances = learner.predict_one(x), learner.predict_proba_one(x)
        if said is not None:
            f1.update(y, said == "yes")
            recall.update(not y, said == "no")
            for metric in (area, loss):
                metric.update(y, {True: chances.get("yes", 0.0), False: 1.0 - chances.get("yes", 0.0)})
        learner.learn_one(x, "yes" if y else "no")
    assert f1.get() > 0.5 and area.get() > 0.5
    expected = [metric.get() for metric in (f1, area, loss, recall)]
    assert [metric.get() for metric in found.metrics.values()] == expected


def test_a_positive_label_that_never_comes_is_told(settings, answers, capsys):
    report.run(settings(record={"label": "label"}), str(answers[0]), ["Accuracy", "F1", "Recall(pos_val='ja')"])
    said = capsys.readouterr().out
    for name, positive in (("F1", "True"), ("Recall(pos_val='ja')", "'ja'")):
        assert f"`{name}` is about the label {positive}, and there is none; the labels are 'no', 'yes'. Name" in said
    assert "`--metric \"F1(pos_val='yes')\"`" in said and "`Accuracy`" not in said
    with pytest.raises(ConfigError, match=r"`Accuracy\(pos_val='yes'\)` is refused: .* has no positive label"):
        report.run(settings(), str(answers[0]), ["Accuracy(pos_val='yes')"])


def test_a_delay_beyond_the_data_is_told(settings, answers, capsys):
    report.run(settings(record={"label": "label"}), str(answers[0]), ["Accuracy"], delay=10**6)
    assert "no prediction was measured: all" in capsys.readouterr().out
    report.run(settings(record={"label": "label"}), str(answers[0]), ["Accuracy"], delay=2)
    assert "no prediction" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "around", [lambda classifier: classifier, lambda classifier: {"Calibrated": {"classifier": classifier}}]
)
def test_a_weight_for_a_label_that_never_comes_is_told(settings, answers, capsys, around):
    for weights, missing in (
        ({"yes": 20, "maybe": 2}, "'maybe'"),
        ({"yes": 20, "Yes": 2}, "'Yes'"),
        ({"yes": 20}, None),
    ):
        learner = ["StandardScaler", around({"PAClassifier": {"class_weight": weights}})]
        report.run(settings(record={"label": "label"}, learner=learner), str(answers[0]))
        said = capsys.readouterr().out
        if missing is None:
            assert "class_weight" not in said
        else:
            expected = f"`class_weight` names the label {missing}, and there is none; the labels are 'no', 'yes'"
            assert expected in " ".join(said.split())
            assert said.count("and there is none") == 1


def test_a_data_set_that_cannot_be_downloaded(settings, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: (_ for _ in ()).throw(OSError("no network")))
    monkeypatch.setenv("RIVER_DATA", "/nonexistent")
    monkeypatch.setattr(datasets.base, "get_data_home", lambda *_: pathlib.Path("/nonexistent"), raising=False)
    if datasets.Elec2().is_downloaded:
        pytest.skip("it was downloaded before")
    with pytest.raises(StartError, match="River's data set `Elec2` cannot be read"):
        report.run(settings(), "elec2")


BAD = [b"not json", b'{"a": "text", "y": true}', b'{"https": 1e308, "y": true}', b'{"a": 1, "y": "spam"}']


def write(path, records, bad=()):
    lines = [json.dumps(record).encode() for record in records]
    for n, line in enumerate(bad):
        lines.insert(20 + 7 * n, line)
    path.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize("delay", [None, 3])
def test_bad_records_and_records_without_label_leave_no_trace(settings, tmp_path, monkeypatch, delay):
    """The learner is built again from time to time; a record that was refused is not measured."""
    monkeypatch.setattr(ours, "REMEMBERED", 100)
    records = phishing(600)
    write(tmp_path / "in.jsonl", records, BAD)
    # A refused record takes a place in the delay, so that some labels are known a round earlier than without it. The
    # predictions of this learner do not depend on that.
    learner = ["StandardScaler", {"PAClassifier": {"C": 0.01, "intercept": False}}]
    found = report.run(settings(learner), delay=delay)
    pairs = [
        ({k: v for k, v in record.items() if k not in ("id", "y")}, record["y"])
        for record in records
        if record.get("y") is not None
    ]
    learner = settings(learner).build_learner()
    expected = evaluate.progressive_val_score(pairs, learner, metrics.Accuracy(), delay=delay)
    assert (found.examples, found.unlabelled, found.rejected) == (480, 120, len(BAD))
    assert next(iter(found.reasons.values())).startswith("in.jsonl:21: not JSON")
    assert found.metrics["Accuracy"].get() == expected.get()
    assert snapshot.dumps(found.learner) == snapshot.dumps(learner)


def test_the_saved_learner_is_what_a_processor_starts_from(settings, tmp_path):
    records = phishing(500)
    write(tmp_path / "day1.jsonl", records[:300])
    write(tmp_path / "in.jsonl", records[300:])
    saved = tmp_path / "trained.snapshot"
    report.run(settings(), str(tmp_path / "day1.jsonl"), save=saved)
    files.run(settings(start_from=str(saved)))
    bare = settings().build_learner()
    twin(bare, records[:300])
    expected = twin(bare, records[300:])
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()] == expected
    with pytest.raises(ConfigError, match="take the learner of the snapshot"):
        settings(REGRESSOR, start_from=str(saved))


@pytest.mark.parametrize("is_input", [True, False])
def test_a_learner_that_knows_the_input_is_told(settings, tmp_path, capsys, is_input):
    """Started from it, a processor would predict what it has learned, and look far better than it is."""
    lines = "".join(f"{json.dumps({'id': n, 'a': n, 'y': n % 2 == 0})}\n" for n in range(20))
    for name in ("in.jsonl", "other.jsonl"):
        (tmp_path / name).write_text(lines)
    data = None if is_input else str(tmp_path / "other.jsonl")
    report.run(settings(), data, save=tmp_path / "a.snapshot")
    assert ("give a processor that starts from it another input" in capsys.readouterr().out) == is_input
    report.run(settings(), data)
    assert "another input" not in capsys.readouterr().out


def test_the_table_and_the_plot(settings, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("connectors.tools.result.MOST_POINTS", 50)
    plot = tmp_path / "plot.png"
    found = report.run(settings(), "phishing", ["accuracy", "F1"], plot=plot)
    shown = capsys.readouterr().out
    rows = {
        cells[1].strip(): cells[2].strip()
        for cells in (line.split("│") for line in shown.splitlines())
        if len(cells) == 4
    }
    assert (
        rows["Accuracy"] == "89.67%" and rows["examples"] == "1,250" and "progressive validation on Phishing" in shown
    )
    assert plot.read_bytes().startswith(b"\x89PNG")
    numbers = [number for number, _ in found.curve]
    assert 50 <= len(numbers) < 100 and len({b - a for a, b in itertools.pairwise(numbers)}) == 1
    partial = evaluate.progressive_val_score(
        list(datasets.Phishing())[: numbers[-1]], settings().build_learner(), metrics.Accuracy()
    )
    assert found.curve[-1][1][0] == partial.get()


@pytest.mark.parametrize(("label", "is_there"), [("y", False), ("why", True)])
def test_a_wrong_field_as_the_label(settings, tmp_path, capsys, label, is_there):
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(record) + "\n" for record in phishing(10)))
    report.run(settings(record={"id": "id", "label": label}), str(data), ["accuracy"])
    assert ("none of 10 records has a label" in capsys.readouterr().out) == is_there


def test_labels_that_come_later_and_are_not_named_are_told(settings, tmp_path, capsys):
    write(tmp_path / "in.jsonl", [{"id": n, "at": n, "x": n} for n in range(10)], [])
    (tmp_path / "late.jsonl").write_text('{"of": 1, "at": 2, "is": true}\n')
    labels = {"file": str(tmp_path / "late.jsonl"), "id": "of", "label": "is", "time": "at", "within": "1d"}
    file = settings(record={"id": "id", "time": "at"}, labels=labels)
    said = "10 records without a label were left out: name the file with `labels` by `--labels`"
    for arguments, is_there in (([str(tmp_path / "in.jsonl")], True), ([], False)):
        report.run(file, *arguments)
        assert (said in capsys.readouterr().out) == is_there


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"names": ["acuracy"]}, "River has no metric `acuracy`, did you mean `Accuracy`"),
        ({"names": ["FBeta"]}, "`FBeta` is refused: .*beta.*; parameters are given as in `FBeta.beta=2.`"),
        ({"names": ["FBeta(2)"]}, "a parameter needs its name"),
        ({"names": ["FBeta(beta=open('x'))"]}, "is refused: "),
        ({"names": ["F1("]}, "is refused: "),
        ({"names": ["__class__"]}, "River has no metric"),
        ({"names": ["MAE"]}, "the metric `MAE` cannot measure a classifier"),
        ({"data": "phish"}, "River has no data set `phish`, did you mean `Phishing`"),
        ({"data": __file__}, "does not say what it holds"),
        ({"data": "missing.txt"}, "there is no file `missing.txt`, and no data set of this name"),
        ({"data": "phishing", "plot": pathlib.Path("a.txt")}, "`a.txt` is not the name of a plot"),
        ({"names": ["ConfusionMatrix"], "plot": pathlib.Path("a.png")}, "no single number to draw"),
        ({"data": "phishing", "plot": pathlib.Path("a.png"), "save": pathlib.Path("a.png")}, "name the same file"),
    ],
)
def test_what_cannot_be_evaluated(settings, arguments, said):
    with pytest.raises(ConfigError, match=said):
        report.run(settings(), **arguments)


def test_data_that_cannot_be_read_and_files_that_cannot_be_written(settings, tmp_path):
    with pytest.raises(StartError, match="it does not exist"):
        report.run(settings())
    with pytest.raises(StartError, match="cannot be written: No such file"):
        report.run(settings(), "phishing", save=tmp_path / "none" / "a.snapshot")
    with pytest.raises(StartError, match="cannot be written: No such file"):
        report.run(settings(), "phishing", plot=tmp_path / "none" / "a.png")


def test_a_plot_needs_a_package(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    with pytest.raises(ConfigError, match=r"pip install 'river-margins\[plot\]'"):
        report.run(settings(), "phishing", plot=pathlib.Path("a.png"))


def test_a_processor_of_topics_needs_data(tmp_path):
    example = ROOT / "deploy" / "examples" / "phishing.yaml"
    with pytest.raises(ConfigError, match="name what to evaluate on with `--data`"):
        report.run(config.load(example))
    assert report.run(config.load(example), "phishing").examples == 1250


def test_a_bar_on_a_terminal_and_nowhere_else(settings, tmp_path, capfd):
    data = tmp_path / "in[eu].jsonl"  # which is no style
    write(data, phishing(3000))
    report.run(settings(input={"file": str(data)}))
    assert capfd.readouterr().err == ""
    line = [sys.executable, "-m", "connectors", "evaluate", str(tmp_path / "processor.yaml")]
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            line, stdout=subprocess.PIPE, stderr=theirs, timeout=DEADLINE, env=os.environ | {"TERM": "xterm"}
        )
        shown = os.read(ours, 1 << 20).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0 and "━" in shown and "in[eu].jsonl" in shown


@pytest.mark.parametrize("delay", [None, 20])
def test_weights_are_learned_and_bad_ones_counted(settings, tmp_path, delay):
    """As River's progressive validation, which hands `w` to the pipeline."""
    records = [record | {"w": n % 4 * 0.5} for n, record in enumerate(phishing(200)) if record.get("y") is not None]
    lines = [json.dumps(record) for record in records]
    bad = json.dumps(records[0] | {"w": "2"})
    (tmp_path / "in.jsonl").write_text("\n".join([*lines[:50], bad, *lines[50:]]) + "\n")
    config = settings(record={"id": "id", "label": "y", "weight": "w"})
    found = ours.run(config, names=["Accuracy"], delay=delay)
    examples = [
        ({k: v for k, v in record.items() if k not in ("id", "y", "w")}, record["y"], {"w": record["w"]})
        for record in records
    ]
    learner = config.build_learner()
    expected = evaluate.progressive_val_score(examples, learner, metrics.Accuracy(), delay=delay)
    assert repr(found.metrics["Accuracy"]) == repr(expected)
    assert snapshot.dumps(found.learner) == snapshot.dumps(learner)
    assert (found.examples, found.rejected) == (len(records), 1)
    (reason,) = found.reasons.values()
    assert reason.endswith("the weight is text: a number is needed")


@pytest.mark.parametrize("delay", [None, 3])
def test_a_record_that_the_learner_refuses_is_named_by_its_line(settings, tmp_path, delay):
    lines = ['{"x": 1}', '{"x": 1, "y": true}', '{"x": "text", "y": true}', *['{"x": 2, "y": false}'] * 5]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    found = ours.run(settings(["PAClassifier"]), delay=delay)
    (reason,) = found.reasons.values()
    assert reason.startswith("in.jsonl:3: feature 'x' is the text 'text'")


def test_a_feature_of_a_data_set_may_be_the_weight(settings):
    config = settings(record={"label": "y", "weight": "empty_server_form_handler"})
    found, learner = ours.run(config, "Phishing", ["Accuracy"]), config.build_learner()
    for x, y in datasets.Phishing():
        weight = x.pop("empty_server_form_handler")
        learner.learn_one(x, y, w=weight)
    assert snapshot.dumps(found.learner) == snapshot.dumps(learner)


def test_the_id_of_a_data_set_is_no_feature(settings):
    """As in a processor to whose input `produce` sends the data set."""
    config = settings(REGRESSOR, record={"id": "chick", "label": "weight"})
    found, learner = ours.run(config, "ChickWeights"), config.build_learner()
    for x, y in datasets.ChickWeights():
        del x["chick"]
        learner.learn_one(x, y)
    assert snapshot.dumps(found.learner) == snapshot.dumps(learner)


def test_brackets_in_a_reason_are_text(settings, tmp_path, capsys):
    (tmp_path / "in.csv").write_text("rate [/min],speed [km/h],y\n2,3,true\nn/a,1,true\n4,x,true\n")
    report.run(settings(record={"label": "y"}), str(tmp_path / "in.csv"), save=tmp_path / "m.snapshot")
    assert "feature 'rate [/min]' is the text 'n/a'" in capsys.readouterr().out
    assert (tmp_path / "m.snapshot").exists()


def test_a_reason_does_not_command_the_terminal(settings, tmp_path, capsys):
    (tmp_path / "in.svm").write_bytes(b"\x1b[2J 1:2\n1 1:2\n")
    report.run(settings(["PAClassifier"], record={"label": "label"}), str(tmp_path / "in.svm"))
    assert r"the label is `\x1b[2J`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "advised"),
    [
        ("FBeta(beta=2)", "FBeta(beta=2, pos_val='yes')"),
        ("FBeta(pos_val='ja', beta=2)", "FBeta(pos_val='yes', beta=2)"),
        ("RollingROCAUC(window_size=50)", "RollingROCAUC(window_size=50, pos_val='yes')"),
    ],
)
def test_a_metric_keeps_its_other_parameters_in_the_advice(given, advised, settings, answers, capsys):
    yaml = settings(record={"label": "label"})
    try:
        report.run(yaml, str(answers[0]), [given])
        said = capsys.readouterr().out
    except ConfigError as error:
        said = str(error)
    assert f'`--metric "{advised}"`' in said
    report.run(yaml, str(answers[0]), [advised])
    assert "you mean" not in capsys.readouterr().out


def test_a_metric_that_fails_is_named(settings, answers, tmp_path):
    with pytest.raises(ConfigError, match=r"`RollingROCAUC` cannot measure .*RollingROCAUC\(pos_val="):
        report.run(settings(record={"label": "label"}), str(answers[0]), ["RollingROCAUC"])
    path = tmp_path / "numbers.jsonl"
    path.write_text('{"a": 1, "y": -0.5}\n' + '{"a": 9, "y": -0.5}\n' * 50)
    learner = [{"PARegressor": {"eps": 0.0}}]  # after the first example it predicts less than -1 for a = 9
    with pytest.raises(ConfigError, match="`RMSLE` cannot measure"):
        report.run(settings(learner, record={"label": "y"}), str(path), ["RMSLE"])
    with pytest.raises(ConfigError, match="is refused"):
        report.run(settings(), str(answers[0]), ["ROCAUC(n_thresholds=1)"])


@pytest.mark.parametrize("delay", [None, 5])
def test_a_metric_of_probabilities_changes_no_features(settings, tmp_path, delay):
    records = [{"a": n % 7 - 3.0, "b": n % 5 - 2.0, "y": n % 7 > 2} for n in range(100)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    learner = [{"river.compose.Renamer": {"mapping": {"a": "t", "b": "a", "t": "b"}}}, "PAClassifier"]
    config, data = settings(learner, record={"label": "y"}), str(tmp_path / "in.jsonl")
    one, other = (ours.run(config, data, names=names, delay=delay) for names in (["Accuracy"], ["Accuracy", "LogLoss"]))
    assert snapshot.dumps(one.learner) == snapshot.dumps(other.learner)
    assert one.metrics["Accuracy"].get() == other.metrics["Accuracy"].get()


def test_a_label_is_known_right_before_the_example_that_many_later(settings):
    found = [ours.run(settings(), "phishing", delay=delay) for delay in (None, 1, 2)]
    learners = [snapshot.dumps(each.learner) for each in found]
    accuracies = [each.metrics["Accuracy"].get() for each in found]
    assert learners[0] == learners[1] and accuracies[0] == accuracies[1] != accuracies[2]


def test_a_plot_that_cannot_be_written_does_not_lose_the_learner(settings, tmp_path):
    with pytest.raises(StartError, match="cannot be written"):
        report.run(settings(), "phishing", plot=tmp_path / "none" / "a.png", save=tmp_path / "a.snapshot")
    assert (tmp_path / "a.snapshot").exists()


def test_in_a_pipe_the_results_of_many_models_are_whole(settings, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"passive_aggressive_{n}" for n in range(6)]
    learner = {"name": "champion_of_today", "steps": CLASSIFIER}
    challengers = {name: ["PAClassifier"] for name in names}
    report.run(settings(learner, challengers=challengers), "phishing", ["Accuracy", "ROCAUC"])
    shown = capsys.readouterr().out
    assert "…" not in shown and all(name in shown for name in names)


def test_where_the_learner_goes_is_tried_before_the_evaluation(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(ours, "measure", None)  # it must not come to that
    for path, said in ((tmp_path / "none" / "a.snapshot", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(StartError, match=f"cannot be written: {said}"):
            report.run(settings(), "phishing", save=path)


def test_a_forced_colour_shows_no_bar_in_a_file(settings, tmp_path):
    write(tmp_path / "in.jsonl", phishing(3000))
    settings()
    line = [sys.executable, "-m", "connectors", "evaluate", str(tmp_path / "processor.yaml")]
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm"}
    assert subprocess.run(line, check=True, capture_output=True, timeout=DEADLINE, env=environment).stderr == b""


def test_the_learner_is_saved_though_nobody_reads_the_table(settings, tmp_path):
    write(tmp_path / "in.jsonl", phishing(100))
    settings()
    saved = tmp_path / "a.snapshot"
    line = [sys.executable, "-m", "connectors", "evaluate", str(tmp_path / "processor.yaml"), "--save", str(saved)]
    with open("/dev/full", "w") as full:
        subprocess.run(line, stdout=full, stderr=subprocess.DEVNULL, timeout=DEADLINE, check=False)
    assert saved.exists()


def test_the_result_at_a_prompt_is_short(settings):
    shown = repr(connectors.evaluate(settings(), "phishing"))
    assert "Accuracy" in shown and "curve" not in shown


SMALL = "name: x\ninput: {file: in.jsonl}\nrecord: {label: y}\nlearner: [PAClassifier]\noutput: {file: out.jsonl}\n"


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(SMALL)
    (tmp_path / "in.jsonl").write_text('{"a": 1, "y": true}\n' * 3)
    return config.load("p.yaml")


@pytest.mark.parametrize("name", ["p.yaml", "in.jsonl"])
def test_a_snapshot_replaces_nothing_but_a_snapshot(small, name):
    before = pathlib.Path(name).read_bytes()
    with pytest.raises(StartError, match="exists already, and is no snapshot"):
        report.run(small, save=pathlib.Path(name))
    assert pathlib.Path(name).read_bytes() == before
    for _ in range(2):
        report.run(small, save=pathlib.Path("a.snapshot"))


def test_a_full_disk_under_a_plot_is_named(small, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "draw", full)
    for save in (None, pathlib.Path("a.snapshot")):
        with pytest.raises(StartError, match=r"`a\.png` cannot be written: No space left"):
            report.run(small, plot=pathlib.Path("a.png"), save=save)


def test_without_standard_output_the_learner_is_saved(small):
    command = f"exec {shlex.quote(sys.executable)} -m connectors evaluate p.yaml --save a.snapshot >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and pathlib.Path("a.snapshot").exists()


@pytest.mark.parametrize("given", ["F1(pos_val=yes)", "FBeta(beta=x)"])
def test_a_text_without_quotes(small, given):
    with pytest.raises(ConfigError, match="is a text and needs quotes"):
        report.run(small, names=[given])


@pytest.mark.parametrize("classes", [[0, 1], [False, True]])
def test_probabilities_of_a_named_label_that_equals_true_or_false(settings, tmp_path, classes):
    """A set of the labels 1 and 0 equals that of True and False, which stand for no label before the first one."""
    rows = [{**x, "y": classes[y]} for x, y in datasets.Phishing().take(300)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    learner = ["StandardScaler", {"PAClassifier": {"classes": classes}}]
    names = [
        "ROCAUC",
        "LogLoss",
        *(f"{metric}(pos_val={label})" for metric in ("ROCAUC", "LogLoss") for label in (0, 1, False, True)),
    ]
    found = report.run(settings(learner), str(tmp_path / "in.jsonl"), names).metrics
    area, loss, *named = (found[name].get() for name in names)
    assert named == pytest.approx([area] * 4 + [loss] * 4) and area > 0.5


def test_the_error_of_small_numbers_is_told(settings, tmp_path, capsys):
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps({"a": t % 5, "y": (t % 5 + 1) * 1e-9}) + "\n" for t in range(50)))
    found = report.run(settings(learner=["PARegressor"]), str(path), ["MAE"])
    assert f"{found.metrics['MAE'].get():.6g}" in capsys.readouterr().out


def test_rivers_own_positive_label_measures_nothing():
    """As `docs/evaluating.md` says; if this fails, the page can do without the sentence."""
    f1 = metrics.F1(pos_val="yes")
    f1.update("yes", "yes")
    assert f1.get() == 0


def test_tells_which_listed_features_no_record_has(settings, tmp_path, capsys):
    """What a path does not find is absent, so a mistyped one would go unnoticed."""
    lines = [{"id": n, "y": n % 2 == 0, "card": {"amount": n}} for n in range(20)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    report.run(settings(record={"label": "y", "features": ["card.amount", "card.amuont"]}))
    assert "`record.features`: no record has a value at `card.amuont`\n" in capsys.readouterr().out
    report.run(settings(record={"label": "y", "features": ["card.amount"]}))
    assert "no record has" not in capsys.readouterr().out
    report.run(settings(record={"label": "y", "features": ["card.amuont"]}))
    assert "no features: the record has none of `record.features`" in capsys.readouterr().out


def test_a_classifier_of_numbers_with_decimals_is_told(settings, tmp_path, capsys):
    """Each of them is a class, with weights and a score of its own."""
    lines = [{"id": n, "y": n / 4, "a": n} for n in range(40)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    said = "many labels are numbers with decimals, and each number is a class here: use a regressor\n"
    for learner, is_told in ((CLASSIFIER, True), (REGRESSOR, False)):
        report.run(settings(learner))
        assert (said in capsys.readouterr().out) == is_told
    (tmp_path / "in.jsonl").write_text(
        "".join(f"{json.dumps(line | {'y': 1.1 + n % 2})}\n" for n, line in enumerate(lines))
    )
    report.run(settings(CLASSIFIER))
    assert said not in capsys.readouterr().out


ENCODED = ["StandardScaler", "OneHotEncoder", *CLASSIFIER[-1:]]
NUMBERS, DATES = (
    "many values of the feature `a` are numbers written as text",
    "many values of the feature `a` are dates",
)
MIXED, NEW = "the feature `a` is text in some records, such as 'x', and a", "nearly every text of the feature `a` comes"


def said_of(settings, tmp_path, capsys, values, learner=ENCODED, **options):
    """What an evaluation says of a feature and of labels beside the table, in lines."""
    records = [{"id": n, "b": n, "y": n % 2 == 0, "t": "blue sky"} | value for n, value in enumerate(values)]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    report.run(settings(learner), **options)
    _, end, below = capsys.readouterr().out.rpartition("┘")  # of the table, whose title may take several lines
    assert end
    return [line for line in below.splitlines() if line[:1].isalpha()]


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("{}.50", 40, NUMBERS), ("{}", 40, None), ("{}.50", 19, None), ("-{},5", 40, NUMBERS), ("{}.1°C", 40, NUMBERS),
        ("${},345", 40, NUMBERS), ("${}", 40, NUMBERS), ("{}%", 40, NUMBERS), ("{} 234,50", 40, NUMBERS),
        ("({}.20)", 40, NUMBERS), ("{}.5 kg", 40, NUMBERS), ("10.0.0.{}", 40, None), ("1.2.{}", 40, None),
        ("{}a", 40, None), ("x{}.5", 40, None), ("192.168.100.1{:02}", 40, None), ("12:{}", 40, None),
        ("2024-01-{:02}", 40, DATES), ("2024-01-01T10:{:02}:00Z", 40, DATES), ("05.01.20{:02} 10:00", 40, DATES),
        ("{}/1/2024", 40, DATES), ("01/05/{:02}", 40, DATES), ("2024-01-{:02}", 19, None),
        ("user{}", 100, NEW), ("user{}", 99, None), ("{} comes late", 3000, NEW),
    ],
)  # fmt: skip
def test_texts_that_are_no_categories_are_told(settings, tmp_path, capsys, text, number, said):
    """An encoder makes a category of each of them, and nothing fails."""
    found = said_of(settings, tmp_path, capsys, [{"a": text.format(n)} for n in range(number)])
    assert [line.startswith(said or "") for line in found] == [True] * (said is not None)


@pytest.mark.parametrize("categories", [1, 50, 900, 5000])
def test_texts_that_come_again_are_categories(settings, tmp_path, capsys, categories):
    """Also if there are so many that only a sample of them is remembered."""
    found = said_of(settings, tmp_path, capsys, [{"a": f"shop {n % categories}"} for n in range(2 * categories + 200)])
    assert found == []


def test_a_feature_of_numbers_and_texts_is_told(settings, tmp_path, capsys):
    values = [{"a": "x" if n % 30 == 3 else n} for n in range(60)]
    (found,) = said_of(settings, tmp_path, capsys, values)
    assert found.startswith(MIXED)
    (found,) = said_of(settings, tmp_path, capsys, values, CLASSIFIER_OF_NUMBERS)  # these texts are no categories
    assert found.startswith("the first one that could not be processed: in.jsonl:4: feature 'a' is the text 'x'")


SCALED = ["StandardScaler", *CLASSIFIER[-1:]]


@pytest.mark.parametrize(
    ("tags", "steps", "said"),
    [
        ([{"a": 1}, {}], SCALED, "the feature `a` is 1 wherever it occurs: the scaler makes 0 of it"),
        ([{"a": True}, {}], SCALED, "the feature `a` is True wherever it occurs: the scaler makes 0 of it"),
        (
            [{"a": 1}, {"c": 2.5}, {"d": 7}],
            SCALED,
            "the feature `a` is 1 wherever it occurs, and 2 more never vary, either: the scaler makes 0 of them",
        ),
        ([{"a": 1}, {"a": 0}], SCALED, None),
        ([{"a": 0}, {}], SCALED, None),  # without a scaler it is 0, too
        ([{"a": 1}], SCALED, None),  # it tells nothing anyway
        ([{"a": 1}, {}], ["river.preprocessing.MaxAbsScaler", *CLASSIFIER[-1:]], None),
        ([{"a": 1}, {}], CLASSIFIER[-1:], None),
        ([{"a": 1}, {}], [{"river.preprocessing.Binarizer": {"threshold": 2}}, *CLASSIFIER[-1:]], None),  # no scaler
        ([{"a": 1}, {}], [{"river.compose.Discard": {"keys": ["a"]}}, *SCALED], None),
    ],
)
def test_a_number_of_which_a_scaler_makes_0_is_told(settings, tmp_path, capsys, tags, steps, said):
    """As with words and tags that are 1, and absent elsewhere: nothing fails, and nothing is learned of them."""
    records = [{"y": n % 3 == 0, **tags[n % len(tags)]} for n in range(20 * len(tags))]
    steps = [{"river.compose.Discard": {"keys": ["t"]}}, *steps]
    found = [line for line in said_of(settings, tmp_path, capsys, records, steps) if "always answering" not in line]
    assert [line.startswith(said or "") for line in found] == [True] * (said is not None), found


def test_the_first_reject_of_each_kind_is_told(settings, tmp_path, capsys):
    values = [{"a": 1}, {"a": "x"}, {"a": 2}, {"a": None}, {"a": 3}, {"a": 4, "y": [1]}, {"a": "z"}, {"a": 5}]
    kinds, features, label = said_of(settings, tmp_path, capsys, values, CLASSIFIER_OF_NUMBERS)
    assert kinds == "could not be processed, by kind: 3 `features`, 1 `label`"
    assert features.startswith("the first of `features`: in.jsonl:2: feature 'a' is the text 'x'")
    assert label == "the first of `label`: in.jsonl:6: the label is a list"


@pytest.mark.parametrize(
    "steps",
    [
        [{"river.compose.Discard": {"keys": ["a"]}}, *ENCODED],
        [{"river.compose.Select": {"keys": ["b", "t"]}}, *ENCODED],
        [{"TFIDF": {"on": "a"}}, ENCODED[-1]],
        [{"BagOfWords": {"on": "t"}}, ENCODED[-1]],  # of the other features nothing is left
    ],
)
def test_texts_that_no_encoder_gets_are_no_categories(settings, tmp_path, capsys, steps):
    found = said_of(settings, tmp_path, capsys, [{"a": f"user{n}"} for n in range(200)], steps)
    assert found == []


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["+", "-"], []),
        ([2**53, 2**53 + 1], []),
        (["yes", "no", "NA"], ["the label 'NA' is a class of its own (2 of 6 examples): if it means that there is no"]),
        (["yes", "no", ""], ["the label '' is a class of its own (2 of 6 examples): if it means that there is no"]),
        (["Yes", "no", "yes "], ["alike are classes of their own: 'Yes' (2 of 6 examples), 'yes ' (2 of 6 examples)"]),
        (["0", "1", 0.5], []),
        (["1.0", "x", 1], ["alike are classes of their own: '1.0' (2 of 6 examples), 1 (2 of 6 examples)"]),
        (["none", "mild", "severe"], []),
        ([True, False], []),
        ([1, 2, 1.0, 3.0], []),
        (
            range(100),
            ["there are 100 different labels and more, with fewer than 20 examples each on average"],
        ),
        ([f"order {n}" for n in range(100)], ["there are 100 different labels and more"]),
        (range(99), []),
        ([n % 100 for n in range(1000)], []),
    ],
)
def test_labels_that_look_like_none_or_like_another_are_told(settings, tmp_path, capsys, labels, said):
    found = said_of(settings, tmp_path, capsys, [{"y": label} for label in [*labels, *labels]], CLASSIFIER_OF_NUMBERS)
    assert len(found) == len(said) and all(text in line for text, line in zip(said, found, strict=True))


def test_predictions_before_the_first_label_do_not_count_as_wrong(settings, tmp_path, capsys):
    """With a delay, most predictions are None: the others are right, so no other answer is better than the learner."""
    rows = [{"a": n % 4, "b": 0, "t": 0, "y": n % 4 > 0} for n in range(1200)]
    assert said_of(settings, tmp_path, capsys, rows, ["StandardScaler", "PAClassifier"], delay=1000) == []


def test_the_label_that_suffices_is_that_of_the_predictions_that_were_measured(settings, tmp_path, capsys):
    """True is most frequent, but not among the last 200: three of five of them are False."""
    rows = [{"a": 0, "b": 0, "t": 0, "y": n < 1000 or n % 5 > 2} for n in range(1200)]
    (said,) = said_of(settings, tmp_path, capsys, rows, ["StandardScaler", "PAClassifier"], delay=1000)
    assert re.match(r"the learner was right on \d+ of 200 examples, and always answering False is right on 120:", said)


@pytest.mark.parametrize(("factor", "is_told"), [(1.0, False), (10_000.0, True)])
def test_a_learner_that_one_label_would_replace_is_told(settings, tmp_path, capsys, factor, is_told):
    """An RBF kernel is 0 between any two of the large numbers: then the learner answers the same to all of them."""
    draw = random.Random(1)
    rows = [{"a": draw.gauss(0.0, 1.0) * factor} for _ in range(600)]
    records = [row | {"b": 0, "t": 0, "y": row["a"] > factor} for row in rows]  # one in six
    found = said_of(settings, tmp_path, capsys, records, ["KernelPAClassifier"])
    told = [line for line in found if "always answering False" in line]
    assert bool(told) == is_told and len(found) == len(told)
