"""The comparison of the learners counts right."""

import math

import numpy as np
import pytest

import river_margins as rm
from tests.helpers.scripts import script


@pytest.fixture(scope="module")
def comparison():
    with script("benchmarks/comparison.py") as module:
        yield module


class TwoClasses(rm.Perceptron):
    _multiclass = False


def test_an_error_by_hand(comparison):
    """Nothing is known, then two ties say True, for the scaler has seen only 1s; then 3 is large, and was False."""
    stream = [({"a": 1.0}, True), ({"a": 1.0}, False), ({"a": 3.0}, False), ({"a": 3.0}, False)]
    assert comparison.error(rm.Perceptron(), stream) == 3 / 4
    assert comparison.error(rm.Perceptron(), [({"a": 1.0}, "x")]) == 1.0  # nothing is known yet
    assert math.isinf(comparison.error(TwoClasses(), [({"a": 1.0}, "x")]))


def test_the_first_parameter_is_tried_where_it_is_accepted(comparison):
    """An alpha is at most 1."""
    assert [model.C for model in comparison.settings(rm.PAClassifier)] == [0.0001, 0.001, 0.01, 0.1]
    assert [model.alpha for model in comparison.settings(rm.ALMAClassifier)] == [
        pytest.approx(0.5 * share) for share in (0.01, 0.1, 1)
    ]
    assert len(list(comparison.settings(rm.ROMMAClassifier))) == 1


def test_every_data_set_has_what_its_place_says(comparison):
    data = comparison.streams()
    assert all(200 < len(stream) <= comparison.ROWS for stream in data.values())
    assert [len({y for _, y in stream}) for stream in data.values()] == [2, 2, 2, 7, 10, 3]


def test_the_figure_comes_out(comparison, tmp_path):
    errors = np.array([[0.1, 0.2], [0.3, math.inf]])
    comparison.draw(["A", "B"], ["x", "y"], errors, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    assert "| B | 30.0 | - |" in comparison.report(["A", "B"], ["x", "y"], errors)
