"""`river-margins learners` shows what each step says about itself, and every step says it."""

import inspect
import subprocess
import sys

import pytest
from river import base

import river_margins as rm
from connectors.config import catalogue
from connectors.errors import ConfigError
from tests.helpers.deadline import DEADLINE

ENTRIES = catalogue.entries()


def test_every_exported_estimator_is_in_it():
    exported = {name for name in rm.__all__ if isinstance(getattr(rm, name), type)}
    assert {entry.name for entry in ENTRIES} == {
        name for name in exported if issubclass(getattr(rm, name), base.Estimator)
    }


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_estimator_says_its_cost_guarantee_and_advice_in_one_sentence_each(entry):
    for sentence in (entry.summary, entry.round_cost, entry.guarantee, entry.advice):
        assert 5 < len(sentence) < 150, sentence
        assert sentence.endswith(".") and ". " not in sentence, sentence
    for name in ("round_cost", "guarantee", "advice"):
        assert name in vars(entry.kind), f"{entry.name} inherits its `{name}`"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_help_shows_cost_guarantee_and_advice(entry):
    text = inspect.getdoc(entry.kind)
    assert text.count(f"Cost of a round: {entry.round_cost}") == 1
    assert text.count(f"Guarantee: {entry.guarantee}") == 1
    assert text.count(f"Advice: {entry.advice}") == 1


def test_an_estimator_of_a_user_may_say_nothing():
    class Mine(rm.PAClassifier):
        """Mine."""

    assert (Mine.__doc__, Mine.advice) == ("Mine.", rm.PAClassifier.advice)


@pytest.mark.parametrize("name", ["PAClassifier", "StandardScaler"])
def test_without_docstrings_the_command_still_says_them(name):
    command = [sys.executable, "-OO", "-m", "connectors", "learners", name]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
    kind = getattr(rm, name)
    for sentence in (kind.round_cost, kind.guarantee, kind.advice):
        assert sentence in shown


def test_the_command_lists_one_line_each():
    command = [sys.executable, "-m", "connectors", "learners"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("PAClassifier "))
    for part in (
        "Passive-aggressive classification: reach margin 1 on each example, and move as little as possible.",
        "C=0.01, mode=1, exact=False, classes=None, class_weight=None, intercept=True, max_features=None",
        "The number of features in x times the number of classes.",
        "A bound on mistakes (mode 1) or squared losses (modes 0 and 2) in terms of the losses of any fixed weights u.",
    ):
        assert part in line
    for entry in catalogue.steps():
        assert f"\n{entry.name} " in shown
    assert "PAOneClass" not in shown  # a file cannot feed it


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Perceptron", ["Perceptron(lr=1.0, *, tie_update=True,", "Novikoff"]),
        ("PA1", ["PA1(C=1.0)", "Parameters"]),
        ("river.preprocessing.MaxAbsScaler", ["MaxAbsScaler()", "Scales"]),
    ],
)
def test_all_about_one(capsys, name, words):
    catalogue.show(name)
    shown = capsys.readouterr().out
    assert all(word in shown for word in words)


def test_a_name_that_is_none():
    with pytest.raises(ConfigError, match="there is no class `Perceptrn`, did you mean `Perceptron`"):
        catalogue.show("Perceptrn")


def test_another_algorithm_is_no_misspelling():
    with pytest.raises(ConfigError, match=r"no class `LogisticRegression`; `river-margins learners` lists them"):
        catalogue.show("LogisticRegression")


def test_a_narrow_terminal_cuts_no_parameter(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    catalogue.show_all()
    assert "…" not in capsys.readouterr().out


def test_a_forced_colour_keeps_one_line_each_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    catalogue.show_all()
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "NHERDClassifier" in line)
    assert "max_features=None" in line


def test_a_full_name_of_ours_leads_to_the_short_one():
    with pytest.raises(ConfigError, match=r"did you mean `PAClassifier`\? `river-margins learners` lists all"):
        catalogue.show("river_margins.PAClassifier")


def test_parameters_are_whole():
    (entry,) = (each for each in catalogue.entries() if each.name == "TFIDF")
    assert entry.parameters.endswith("ngram_range=(1, 1)")
