"""The table of what the lectures name: every row has a test, and the page is what the markers say."""

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.scripts import script


@pytest.fixture(scope="module")
def lectures():
    with script("docs/generators/lectures.py") as module:
        yield module


def test_the_page_is_written_from_the_markers(lectures):
    command = "python docs/generators/lectures.py > docs/lectures-table.md"
    assert (ROOT / "docs/lectures-table.md").read_text() == lectures.page(), f"write it again: {command}"


def test_a_row_without_a_test_and_a_marker_without_a_row_are_errors(lectures, monkeypatch):
    found = lectures.markers()
    monkeypatch.setattr(lectures, "markers", lambda: found | {"no such row": ["a test"]})
    with pytest.raises(ValueError, match="'no such row'"):
        lectures.shown_by()
    monkeypatch.setattr(lectures, "markers", lambda: {key: tests for key, tests in found.items() if key != "con"})
    with pytest.raises(ValueError, match=r"have no test: \['con'"):
        lectures.shown_by()
