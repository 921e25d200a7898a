import subprocess

import pytest

from tests.helpers.paths import ROOT
from tests.mutation.__main__ import copy_of_the_repository
from tests.mutation.edits import EDITS


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.file}: {edit.fault}")
def test_the_text_to_replace_is_there_once(edit):
    assert (ROOT / edit.file).read_text().count(edit.old) == 1
    assert edit.old != edit.new
    assert all((ROOT / "tests" / tests).exists() for tests in edit.tests)


def test_a_copy_has_all_that_was_compiled(tmp_path, monkeypatch):
    """In a copy without the modules of the processor its tests do not begin, and every fault would count as found."""
    tracked = subprocess.CompletedProcess([], 0, "setup.py\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: tracked)
    folder = copy_of_the_repository(tmp_path)
    for package in ("river_margins", "connectors"):
        compiled = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.so")}
        assert compiled and compiled == {path.relative_to(folder) for path in (folder / package).rglob("*.so")}
