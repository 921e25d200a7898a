import pytest

from tests.helpers.paths import ROOT
from tests.mutation.edits import EDITS


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.file}: {edit.fault}")
def test_the_text_to_replace_is_there_once(edit):
    assert (ROOT / edit.file).read_text().count(edit.old) == 1
    assert edit.old != edit.new
    assert all((ROOT / "tests" / tests).exists() for tests in edit.tests)
