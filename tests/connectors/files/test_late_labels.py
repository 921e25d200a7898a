"""Labels in a file of their own, whose records were predicted before."""

import json
import pathlib
import random
import subprocess
import sys

import pytest
from river import metrics

from connectors.errors import ConfigError, StartError, StateError
from connectors.labels.merging import NO_TIME
from connectors.tools import evaluate
from river_margins import snapshot
from tests.connectors.files.test_processor import KILLS, UNPACK, Folder
from tests.connectors.labels import test_late_learning as route
from tests.helpers.paths import ROOT
from tests.helpers.streams import DEADLINE, phishing

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
    lines = [dumped({**json.loads(r.value), "at": r.timestamp}) for r in records]
    return lines, [dumped({**json.loads(l.value), "at": l.timestamp}) for l in labels], moments, delays


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
                b"{", b"\xff\xfe", b"3", b"", dumped({"of": place, "at": at}), dumped({"of": place, "label": [], "at": at}),
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
        lines, labels = hostile(3, 1500)
        folder.put(lines)
        folder.put_labels(labels)
        if name == "killed":
            line = [sys.executable, "-m", KILLS, str(folder.file()), "50", "7"]
            done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)
            assert done.returncode == 0 and done.stdout.startswith("killed 50 times"), done.stdout + done.stderr
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
