"""The page of the learners is the one that its generator writes, and has every learner once."""

import inspect
import random
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

import river_margins as rm
from connectors.config import catalogue
from tests.helpers.cases import case
from tests.helpers.paths import ROOT
from tests.helpers.scripts import script

PAGE = ROOT / "docs" / "learners.md"


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    with script("docs/generators/learners.py") as module:
        yield module


def test_the_page_is_up_to_date(generator):
    assert PAGE.read_text() == generator.page(), "write it again: python docs/generators/learners.py > docs/learners.md"


def test_every_learner_has_one_complete_row():
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    tables = [[cell.strip() for cell in row] for row in rows if len(row) == 6]
    assert sorted(row[0].strip("`") for row in tables) == sorted(entry.name for entry in catalogue.entries())
    assert all(all(row) for row in tables)


def test_the_drift_column_has_what_was_measured(generator):
    """Every learner that can forget is measured, and says what forgetting changes."""
    drift = generator.measured_drift()
    for entry in catalogue.entries():
        parameters = inspect.signature(entry.kind).parameters
        if {"half_life", "classes"} <= parameters.keys():  # a classifier, and no wrapper of one
            assert re.fullmatch(r"[\d.]+ → [\d.]+; `half_life=\d+`: [\d.]+", drift[entry.name])
    assert re.fullmatch(r"[\d.]+ → [\d.]+", drift["PAClassifier"])


def test_guarantees_name_the_learner_that_they_are_for():
    assert "`Perceptron`" in rm.RandomizedSelectiveSampler.guarantee
    assert "least squares" in rm.SelectiveSampler.guarantee
    for kind in (rm.AdalineClassifier, rm.AdalineRegressor):
        assert "`normalised=False`" in kind.guarantee and "lr·R² < 1" in kind.guarantee
    for kind in (rm.AROWClassifier, rm.NAROWClassifier, rm.SecondOrderPerceptron):
        assert "two classes" in kind.__doc__.partition("Notes")[2].lower()


def late_errors(model, value, label):
    """Return the share of wrong predictions long after an example with one value as large as this."""
    draw, wrong = random.Random(4), 0
    for t in range(9000):
        x = {name: draw.gauss(0.0, 1.0) for name in "abc"}
        y = x["a"] + x["b"] > 0
        if t == 500 and value is not None:
            x, y = {"a": 0.1, "b": value, "c": 0.1}, label
        wrong += t >= 8000 and model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong / 1000


def test_learners_that_go_on_after_a_huge_value():
    section = PAGE.read_text().partition("## One huge value")[2].partition("\n## ")[0]
    (line,) = [item for item in section.split("\n- ") if item.endswith("and go on.\n")]
    names = re.findall(r"`(\w+)`", line)
    assert "PAClassifier" in names
    for name in names:
        with case(name):
            make = getattr(rm, name)
            expected = late_errors(make(), None, None)
            for label in (False, True):
                assert late_errors(make(), 1000.0, label) < expected + 0.04


def test_a_scaler_remembers_a_huge_value():
    """The page says so, for learners that go on without a scaler."""
    assert late_errors(rm.PAClassifier(), 10_000.0, True) < 0.05
    assert late_errors(rm.StandardScaler() | rm.PAClassifier(), 10_000.0, True) > 0.2
