"""Drift in a processor between files: what it does is what a bare loop with a detector of River does, bit for bit."""

import json
import subprocess
import sys

import pytest
from river import drift

from connectors.drift.watch import drift_of
from connectors.model.standings import contest_of
from river_margins import snapshot
from tests.connectors.drift.bare import STEPS, Bare, switching
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
