"""Drift in a processor between files: what it does is what a bare loop with a detector of River does, bit for bit."""

import json
import random
import subprocess
import sys

import pytest
from river import drift

from connectors.drift.watch import drift_of
from connectors.model.standings import contest_of
from river_margins import snapshot
from tests.connectors.drift.bare import STEPS, Bare, LateBare, switching
from tests.connectors.files.test_late_labels import LateFolder
from tests.connectors.files.test_processor import KILLS, Folder, lines_of
from tests.helpers.paths import ROOT
from tests.helpers.streams import DEADLINE

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


def killed(folder, kills, seed):
    line = [sys.executable, "-m", KILLS, str(folder.file()), str(kills), str(seed), "200"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0 and done.stdout.startswith(f"killed {kills} times"), done.stdout + done.stderr


@pytest.mark.parametrize(("then", "others"), [("reset", []), ("promote", ["arow"])])
def test_killed_at_any_moment_and_started_again(tmp_path, then, others):
    folder = watched(Folder(tmp_path), then, *others)
    folder.put(lines_of(RECORDS))
    killed(folder, 7, 3)
    bare = Bare(drift.ADWIN(), "arow" if then == "promote" else then, others=others)
    assert folder.output() == bare.play(RECORDS)
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion
    assert told.past.drifts == len(bare.drifts) and told.past.last == f"in.jsonl:{int(bare.drifts[-1][1:]) + 1}"


def late_events(count, delays):
    """Return the lines of both files, and records and labels in the order in which they are taken."""
    records, labels = [], []
    for number, record in enumerate(RECORDS[:count]):
        at, label = 10 * number, record.get("y")
        features = {name: value for name, value in record.items() if name not in ("id", "y")}
        records.append((at, {"id": number, **features, "at": at}, (number, features, None)))
        if label is not None:
            due = at + 5 + 10 * delays.randrange(60)
            labels.append((due, number, {"of": number, "label": label, "at": due}, (number, None, label)))
    labels.sort(key=lambda each: each[:2])
    order = sorted([(at, 0, event) for at, _, event in records] + [(due, n, event) for due, n, _, event in labels],
                   key=lambda each: each[:2])
    return [line for _, line, _ in records], [line for _, _, line, _ in labels], [event for *_, event in order]


@pytest.mark.parametrize(("then", "others"), [("reset", []), ("reset", ["arow"]), ("promote", ["arow"])])
def test_with_labels_that_come_later(tmp_path, then, others):
    folder = watched(LateFolder(tmp_path), then, *others)
    lines, labels, events = late_events(1300, random.Random(4))
    folder.put(lines_of(lines))
    folder.put_labels(lines_of(labels))
    if others == ["arow"]:
        folder.run()
    else:
        killed(folder, 6, 5)
    bare = LateBare(drift.ADWIN(), "arow" if then == "promote" else then, others=others)
    outputs, outcomes = bare.play_late(events)
    assert folder.output() == outputs
    assert [{key: value for key, value in each.items() if key != "delay"} for each in folder.outcomes()] == outcomes
    models, champion, told = found_in(folder)
    assert models == bare.data and champion == bare.champion
    assert told.past.drifts == len(bare.drifts) >= 2
