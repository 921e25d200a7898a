"""The model of ownership holds in all its states, and each mutation of it is found. Needs spin and a C compiler."""

import re
import shutil
import subprocess

import pytest

from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT

MODEL = ROOT / "tests" / "model" / "two_topics.pml"
SMALL = {"RECORDS": 1, "LABELS": 1}
BOUNDS = {
    "a record and a label": SMALL,
    "two pairs of partitions": {"PAIRS": 2, "RECORDS": 1, "LABELS": 0, "CRASHES": 0},
}
OUTPUTS, RESTORED, LABELS = "before[i].at[n]==visible[n]", "is_stored[slot]", "labels==committed[n].labels_named"
MUTATIONS = {  # and what finds them
    "LABELS_LEFT_OUT": LABELS,
    "CURRENT_GENERATION": OUTPUTS,
    "WITHOUT_MEMBER": OUTPUTS,
    "READS_UNSTABLE": OUTPUTS,
    "SPLIT": OUTPUTS,
    "KEEPS_WHAT_IS_LOST": OUTPUTS,
    "WRITES_LATE": RESTORED,
    "DELETES_EARLY": RESTORED,
}


def explored(folder, bounds, mutation=None):
    """Return what the search through all states says, in the bounds or up to the first error."""
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs `{tool}`: `apt-get install spin gcc`")
    settings = [f"-D{name}={value}" for name, value in bounds.items()] + ([f"-D{mutation}"] if mutation else [])
    for command in (
        ["spin", *settings, "-a", str(MODEL)],
        ["gcc", "-w", "-O0", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=DEADLINE)
    ended = subprocess.run(["./pan", "-m100000"], cwd=folder, capture_output=True, text=True, timeout=DEADLINE)
    assert "max search depth too small" not in ended.stdout and "out of memory" not in ended.stdout, ended.stdout
    return ended.stdout


@pytest.mark.parametrize("bounds", BOUNDS)
def test_it_holds_in_all_states(tmp_path, bounds):
    said = explored(tmp_path, BOUNDS[bounds])
    assert re.search(r"errors: 0$", said, re.MULTILINE), said
    assert int(re.search(r"(\d+) states, stored", said)[1]) > 20_000


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_is_found(tmp_path, mutation):
    said = explored(tmp_path, SMALL, mutation)
    assert re.search(r"errors: 1$", said, re.MULTILINE), said
    assert MUTATIONS[mutation] in re.search(r"assertion violated (.*) \(at depth", said)[1]


def test_each_mutation_of_the_model_is_tried():
    named = set(re.findall(r"^#ifn?def (\w+)$|^#ifn?def (\w+) /\*", MODEL.read_text(), re.MULTILINE))
    bounds = {"PAIRS", "RECORDS", "LABELS", "CRASHES", "REBALANCES", "REPLACEMENTS"}
    assert {one or other for one, other in named} - bounds == set(MUTATIONS)
