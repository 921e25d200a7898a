"""Drift in a processor between files: what it does is what a bare loop with a detector of River does, bit for bit."""

import hashlib
import json
import random

import jsonschema
import pytest
from river import drift
from typer.testing import CliRunner

from connectors.cli.main import app
from connectors.drift.watch import drift_of
from connectors.errors import StateError
from connectors.files import processor as files
from connectors.model.standings import contest_of
from connectors.runtime.health import Health
from connectors.tools import evaluate, explain, schema
from connectors.topics import snapshot_admin
from river_margins import snapshot
from tests.connectors.drift.bare import STEPS, Bare, LateBare, late_events, switching
from tests.connectors.files.test_late_labels import LateFolder
from tests.connectors.files.test_processor import Folder, killed, lines_of

ACTIONS = {"warn": "warn", "reset": "reset", "promote": {"promote": "arow"}}
RECORDS = switching(1500, 600, 1100)


def watched(folder, then, *others, **parameters):
    """Let a processor watch for drift."""
    folder.settings |= {
        "learner": {"name": "pa", "steps": STEPS["pa"]},
        "challengers": {name: STEPS[name] for name in others},
        "drift": {"detector": {"ADWIN": parameters}, "then": ACTIONS[then]},
    }
    folder.settings["output"]["challengers"] = bool(others)
    return folder


def snapshot_of(folder):
    return (folder.path / "snapshots/trial/files/0" / f"{folder.state()['snapshot']}.snapshot").read_bytes()


def found_in(folder):
    """Return the models in the snapshot by name, the name of the champion, and what is told of drift."""
    data = snapshot_of(folder)
    about, parts = snapshot.beside(data)
    contest = contest_of(about)
    champion = contest.champion if contest else "pa"
    models = {name: snapshot.dumps(snapshot.loads(each)) for name, each in ({champion: data} | parts).items()}
    return models, champion, drift_of(about)


@pytest.mark.parametrize(("then", "others"), [("warn", []), ("reset", []), ("reset", ["arow"]), ("promote", ["arow"])])
def test_does_what_a_bare_loop_does(tmp_path, then, others, caplog):
    folder = watched(Folder(tmp_path), then, *others)
    folder.put(lines_of(RECORDS))
    folder.run()
    bare = Bare(drift.ADWIN(), "arow" if then == "promote" else then, others=others)
    assert folder.output() == bare.play(RECORDS)
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion
    assert len(bare.drifts) >= 2 and told.past.drifts == len(bare.drifts)
    places = [int(id[1:]) + 1 for id in bare.drifts]
    said = [message for message in caplog.messages if message.startswith("drift at")]
    assert [message.split(":")[1] for message in said] == [str(place) for place in places]


@pytest.mark.parametrize(("then", "others"), [("reset", []), ("promote", ["arow"])])
def test_killed_at_any_moment_and_started_again(tmp_path, then, others):
    folder = watched(Folder(tmp_path), then, *others)
    folder.put(lines_of(RECORDS))
    killed(folder, 7, 3, 200)
    bare = Bare(drift.ADWIN(), "arow" if then == "promote" else then, others=others)
    assert folder.output() == bare.play(RECORDS)
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion
    assert told.past.drifts == len(bare.drifts) and told.past.last == f"in.jsonl:{int(bare.drifts[-1][1:]) + 1}"


@pytest.mark.parametrize(("then", "others"), [("reset", []), ("reset", ["arow"]), ("promote", ["arow"])])
def test_with_labels_that_come_later(tmp_path, then, others):
    folder = watched(LateFolder(tmp_path), then, *others)
    lines, labels, events = late_events(RECORDS[:1300], random.Random(4))
    folder.put(lines_of(lines))
    folder.put_labels(lines_of(labels))
    if others == ["arow"]:
        folder.run()
    else:
        killed(folder, 6, 5, 200)
    bare = LateBare(drift.ADWIN(), "arow" if then == "promote" else then, others=others)
    outputs, outcomes = bare.play_late(events)
    assert folder.output() == outputs
    assert [{key: value for key, value in each.items() if key != "delay"} for each in folder.outcomes()] == outcomes
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion
    assert told.past.drifts == len(bare.drifts) >= 2


def test_what_a_drift_has_promoted_stays_the_champion_until_the_file_says_another_one(tmp_path, caplog):
    folder = watched(Folder(tmp_path), "promote", "arow")
    bare = Bare(drift.ADWIN(), "arow")
    folder.put(lines_of(RECORDS[:700]))
    folder.run()
    outputs = bare.play(RECORDS[:700])
    assert found_in(folder)[1] == bare.champion == "arow"
    caplog.clear()
    folder.put(lines_of(RECORDS[:800]))  # the file is as it was
    folder.run()
    outputs += bare.play(RECORDS[700:800])
    assert folder.output() == outputs
    assert "`arow` is the champion since the drift at in.jsonl:642, and the file still names `pa`" in caplog.text
    caplog.clear()
    exchanged = {
        "learner": {"name": "arow", "steps": STEPS["arow"]}, "challengers": {"pa": STEPS["pa"]},
        "drift": {"detector": "ADWIN", "then": {"promote": "pa"}},
    }  # fmt: skip
    folder.put(lines_of(RECORDS[:900]))
    folder.run(**exchanged)
    outputs += bare.play(RECORDS[800:900])
    assert folder.output() == outputs
    assert "is the champion since" not in caplog.text
    assert "a drift now leads to `promote: pa`, and no longer to `promote: arow`" in caplog.text
    bare.then = "pa"
    folder.put(lines_of(RECORDS))  # and the next drift promotes the other one
    folder.run(**exchanged)
    outputs += bare.play(RECORDS[900:])
    assert folder.output() == outputs
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion == "pa"
    assert (told.past.drifts, told.past.instead_of) == (2, "arow")


def test_without_promote_the_roles_are_those_of_the_file(tmp_path, caplog):
    folder = watched(Folder(tmp_path), "promote", "arow")
    folder.put(lines_of(RECORDS[:700]))
    folder.run()
    folder.put(lines_of(RECORDS[:750]))
    folder.run(drift={"detector": {"ADWIN": {}}, "then": "warn"})
    bare = Bare(drift.ADWIN(), "arow")
    outputs = bare.play(RECORDS[:700])
    bare.champion, bare.then = "pa", "warn"
    assert folder.output() == outputs + bare.play(RECORDS[700:750])
    assert found_in(folder)[1] == "pa"
    assert "a drift now leads to `warn`, and no longer to `promote: arow`" in caplog.text


def test_another_detector_begins_anew_and_none_watches_no_more(tmp_path, caplog):
    folder = watched(Folder(tmp_path), "reset")
    plain = folder.settings | {"drift": None}
    folder.put(lines_of(RECORDS[:100]))
    folder.run(**plain)
    folder.put(lines_of(RECORDS[:580]))
    folder.run()
    assert "the drift detector ADWIN() is new" in caplog.text
    bare = Bare(drift.ADWIN(), "reset", others=())
    bare.play(RECORDS[:100])
    bare.detector = drift.ADWIN()
    outputs = bare.play(RECORDS[100:580])
    folder.put(lines_of(RECORDS[:1000]))
    folder.run(drift={"detector": {"ADWIN": {"delta": 0.5}}, "then": "reset"})
    assert "the drift detector was ADWIN() and is now ADWIN(delta=0.5), which begins anew" in caplog.text
    bare.detector = drift.ADWIN(delta=0.5)
    outputs += bare.play(RECORDS[580:1000])
    assert folder.output()[100:] == outputs
    assert found_in(folder)[2].past.drifts == len(bare.drifts) > 0
    folder.put(lines_of(RECORDS))
    folder.run(**plain)
    assert "the loss is no longer watched for drift" in caplog.text and "is the champion since" not in caplog.text
    bare.detector = drift.ADWIN(grace_period=10**6)
    assert folder.output()[1000:] == bare.play(RECORDS[1000:])
    assert found_in(folder)[2] is None


@pytest.mark.parametrize(("then", "others"), [("reset", []), ("promote", ["arow"])])
@pytest.mark.parametrize("is_late", [False, True])
def test_evaluate_does_what_the_processor_does(tmp_path, then, others, is_late):
    folder = watched((LateFolder if is_late else Folder)(tmp_path), then, *others)
    if is_late:
        lines, labels, _ = late_events(RECORDS[:1300], random.Random(4))
        folder.put(lines_of(lines))
        folder.put_labels(lines_of(labels))
    else:
        folder.put(lines_of(RECORDS))
    counts, result = folder.run(), evaluate.run(folder.config(), None, ["Accuracy", "LogLoss"])
    models, champion, told = found_in(folder)
    assert snapshot.dumps(result.learner) == models[champion]
    assert result.metrics["Accuracy"].get() == counts.accuracy
    assert result.drifts == told.past.drifts >= 2
    for alone in result.challengers.values():  # is measured as if nothing else were there
        assert alone.drifts is None and snapshot.dumps(alone.learner) == models["arow"]


def test_all_that_looks_at_a_processor_tells_the_promotion(tmp_path):
    folder = watched(Folder(tmp_path), "promote", "arow")
    folder.put(lines_of(RECORDS[:1000]))
    settings = folder.config()
    health = Health(settings)
    files.run(settings, health=health)
    found = {}
    for family in health.metrics.collect():
        for sample in family.samples:
            found[sample.name, sample.labels.get("model")] = sample.value
    assert found["river_margins_drift_total", None] == 1
    assert found["river_margins_champion", "arow"] == 1 and ("river_margins_champion", "pa") not in found
    assert ("river_margins_challenger_examples", "pa") in found
    validator = jsonschema.Draft202012Validator(schema.of_output(settings))
    outputs = folder.output()
    assert all(validator.is_valid(output) for output in outputs) and list(outputs[-1]["challengers"]) == ["pa"]
    jsonschema.validate(json.loads(folder.file().read_bytes()), schema.of_files())
    rows = dict(snapshot_admin.contents(snapshot_of(folder)))
    assert rows["champion"] == "arow" and rows["promoted"] == "arow instead of pa"
    assert rows["drift"] == "ADWIN(), then promote: arow: 1 drift, the last one at in.jsonl:642"
    done = CliRunner().invoke(app, ["compare", str(folder.file())])
    assert done.exit_code == 0 and "since a drift, `arow` is the champion, instead of `pa`" in done.stderr
    assert [line.split("\t")[1] for line in done.stdout.splitlines()[1:]] == ["pa", "pa"]
    pair = contest_of(snapshot.beside(snapshot_of(folder))[0]).standings.life.pair("arow", "pa")
    assert done.stdout.splitlines()[1].split("\t")[3] == f"{pair.loss / pair.judged:.2%}"
    text = " ".join(explain.explain(settings).split())
    assert "ADWIN() watches the loss of the champion" in text and "After a drift `arow` is the champion" in text


def test_a_file_without_drift_has_no_metric_of_it(tmp_path):
    folder = Folder(tmp_path)
    folder.put(lines_of(RECORDS[:50]))
    health = Health(folder.config())
    files.run(folder.config(), health=health)
    assert not any("drift" in family.name for family in health.metrics.collect())
    assert drift_of(snapshot.beside(snapshot_of(folder))[0]) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"detector": "os.system"}, "it names `os.system`, which is none of the detectors ADWIN"),
        ({"state": {}}, "the state of a `ADWIN` is not well formed: it needs `_drift_detected`, `_helper`"),
        ({"past": {"drifts": "many"}}, "its data about drift are not well formed: `past.drifts`: Input should be"),
        ({"parameters": {"delta": "x"}}, "the state of the detector `ADWIN` is not well formed"),
    ],
)
def test_a_snapshot_whose_detector_cannot_be_read(tmp_path, change, said):
    folder = watched(Folder(tmp_path), "reset")
    folder.put(lines_of(RECORDS[:100]))
    folder.run()
    path = folder.path / "snapshots/trial/files/0" / f"{folder.state()['snapshot']}.snapshot"
    about, _ = snapshot.beside(path.read_bytes())
    data = snapshot.dumps(snapshot.load(path), about | {"drift": about["drift"] | change})
    path.write_bytes(data)
    checkpoint = folder.path / "snapshots/trial/files/checkpoint.json"
    checkpoint.write_text(json.dumps(folder.state() | {"sha256": hashlib.sha256(data).hexdigest()}))
    with pytest.raises(StateError) as error:
        folder.run()
    assert said in str(error.value) and "to start over, move" in str(error.value)
    with pytest.raises(StateError) as error:
        snapshot_admin.contents(data)
    assert said in str(error.value)
