"""The table of what the lectures name has a test for every row, and the pages on the lectures have every erratum."""

import re
from functools import cache

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.scripts import script


@pytest.fixture(scope="module")
def lectures():
    with script("docs/generators/lectures.py") as module:
        module.markers = cache(module.markers)  # which reads all tests
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


ERRATUM = re.compile(r"^> \*\*E(\d+)\.\*\* \S", re.MULTILINE)
RETOLD = [ROOT / "docs/lectures.md", *sorted((ROOT / "docs/lectures").glob("*.md"))]


def test_every_erratum_has_one_place():
    found = [int(number) for page in RETOLD for number in ERRATUM.findall(page.read_text())]
    assert sorted(found) == [*range(1, 56)]


def test_the_index_says_which_errata_a_page_has():
    rows = re.findall(r"^\| \[[^\]]+\]\((lectures/[^)]+)\) \|.*\| ([^|]+) \|$", RETOLD[0].read_text(), re.MULTILINE)
    titles = [(ROOT / "docs" / page).read_text().splitlines()[0] for page, _ in rows]
    assert len(rows) == len(RETOLD) - 1 and all(title.startswith(f"# {i} ") for i, title in enumerate(titles, 1))
    for page, listed in rows:
        spans = [[int(number) for number in span.split(" to ")] for span in listed.split(", ")]
        expected = {number for span in spans for number in range(span[0], span[-1] + 1)}
        assert set(map(int, ERRATUM.findall((ROOT / "docs" / page).read_text()))) == expected
