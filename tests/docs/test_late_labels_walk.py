"""The walk of docs/late-labels.md works word by word, and shows what it leads to; Kafka is one that runs already."""

import json
import os
import re
import shlex
import shutil
import signal
import sys

import pytest

from connectors import config
from connectors.kafka.local import LocalKafka
from tests.docs.test_quick_start import Terminals
from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT
from tests.torture.late_labels import bares, judge

WALK = (ROOT / "docs" / "late-labels.md").read_text().partition("\n## A walkthrough")[2].partition("\n## ")[0]
ON_FILES, ON_KAFKA = re.findall(r"^```sh\n(.*?)^```", WALK, re.DOTALL | re.MULTILINE)
(TABLE,) = re.findall(r"^```text\n(.*?)^```", WALK, re.DOTALL | re.MULTILINE)
(OUTCOME,) = re.findall(r"^```json\n(.*?)^```", WALK, re.DOTALL | re.MULTILINE)


@pytest.fixture
def kafka(request):
    """The topics have fixed names, which no other test takes; in a broker that was given they may be there already."""
    if not os.environ.get("BOOTSTRAP"):
        yield request.getfixturevalue("kafka")
        return
    with LocalKafka() as own:
        yield own


@pytest.fixture
def terminals(tmp_path):
    for name in ("payments.yaml", "payments.py"):
        shutil.copy(ROOT / "deploy" / "examples" / name, tmp_path)
    found = Terminals(tmp_path)
    try:
        yield found
    finally:
        found.close()


def said(terminals, line):
    """What a command prints that ends by itself."""
    process = terminals.start(re.sub("^python ", f"{shlex.quote(sys.executable)} ", line))
    out, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, (terminals.folder / "errors.txt").read_text()[-5000:]
    return out


def test_payments_and_chargebacks(terminals, kafka, tmp_path, monkeypatch):
    make, lint, evaluate = ON_FILES.splitlines()
    said(terminals, make)
    assert said(terminals, lint) == "payments.yaml: ok\n"
    table = said(terminals, evaluate)
    assert all(line in table for line in TABLE.splitlines()), table
    start, create, records, labels, run, *tails = ON_KAFKA.splitlines()
    assert "river-margins kafka " in start and "localhost:9092" in start
    terminals.environment["BOOTSTRAP"] = kafka.bootstrap_servers
    topics = ["payments", "chargebacks", "fraud-predictions", "fraud-rejects", "fraud-outcomes"]
    assert [line.split("`")[1] for line in said(terminals, create).splitlines()] == topics
    assert said(terminals, records) == "3,000 records sent to `payments`\n"
    assert said(terminals, labels) == "278 labels sent to `chargebacks`\n"
    monkeypatch.setenv("BOOTSTRAP", kafka.bootstrap_servers)
    monkeypatch.setenv("SNAPSHOTS", str(tmp_path / "snapshots"))
    file = config.load(tmp_path / "payments.yaml")
    expected = [[each.outputs, each.outcomes, each.rejects] for each in bares(file).values()]
    processor = terminals.start(run)
    shown = []
    for line, found in zip(tails, zip(*expected, strict=True), strict=True):
        reader = terminals.start(line)
        shown.append([json.loads(each) for each in terminals.read(reader, sum(map(len, found)))])
    processor.send_signal(signal.SIGINT)
    assert processor.wait(DEADLINE) == 0
    judgement = judge(file)
    assert judgement.exact, judgement.reasons()
    _, outcomes, rejects = shown
    shown_there = json.loads(OUTCOME)
    (outcome,) = (each for each in outcomes if each["key"] == shown_there["key"])
    assert outcome["value"].pop("score") == pytest.approx(shown_there["value"].pop("score"))
    assert outcome == shown_there
    reasons = " ".join(each["reason"] for each in rejects)
    assert "has its label already" in reasons and "waited longer than `labels.within`" in reasons
