"""`river-margins learners` says of each step what its docstring says, and every step says it."""

import subprocess
import sys

import pytest
from river import base

import river_margins as rm
from connectors.config import catalogue
from connectors.errors import ConfigError

ENTRIES = catalogue.entries()


def test_every_exported_estimator_is_in_it():
    exported = {name for name in rm.__all__ if isinstance(getattr(rm, name), type)}
    assert {entry.name for entry in ENTRIES} == {
        name for name in exported if issubclass(getattr(rm, name), base.Estimator)
    }


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_docstring_says_cost_guarantee_and_when_to_take_it(entry):
    """Its `Notes` begin with: Cost: ... . Guarantee: ... . Take it ... ."""
    for sentence in (entry.summary, entry.cost, entry.guarantee, entry.advice):
        assert 5 < len(sentence) < 150, sentence
    assert entry.summary.endswith(".")


def test_the_command_lists_one_line_each():
    command = [sys.executable, "-m", "connectors.cli", "learners"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("PAClassifier "))
    for part in (
        "Passive-aggressive classification: reach margin 1 on each example, and move as little as possible.",
        "C=1.0, mode=1, exact=False, classes=None, intercept=False, max_features=None",
        "the features of x, times the classes",
        "mistakes (mode 1) or squared losses (0 and 2) bounded by the losses of any u",
    ):
        assert part in line
    for entry in catalogue.steps():
        assert f"\n{entry.name} " in shown
    assert "PAOneClass" not in shown  # a file cannot feed it


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Perceptron", ["Perceptron(lr=1.0, *, tie_update=True,", "Novikoff"]),
        ("PA1", ["PA1(C)", "Parameters"]),
        ("river.preprocessing.MinMaxScaler", ["MinMaxScaler()", "Scales"]),
    ],
)
def test_all_about_one(capsys, name, words):
    catalogue.show(name)
    shown = capsys.readouterr().out
    assert all(word in shown for word in words)


def test_a_name_that_is_none():
    with pytest.raises(ConfigError, match="there is no class `Perceptrn`, did you mean `Perceptron`"):
        catalogue.show("Perceptrn")
