"""The page of the learners is the one that its generator writes, and has every learner once."""

import inspect
import math
import random
import re
from collections.abc import Iterator
from types import ModuleType

import pytest
from river import datasets, drift, metrics

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


def f1_of_one_in_ten(model):
    draw, found = random.Random(1), metrics.F1()
    model = rm.StandardScaler() | model
    for _ in range(5000):
        y = draw.random() < 0.1
        x = {name: draw.gauss(float(y and name in "abcde"), 1.0) for name in "abcdefghij"}
        found.update(y, model.predict_learn_one(x, y))
    return found.get()


def f1_of_one_combination(model):
    """The rare label is that of one pair of values in nine."""
    draw, found = random.Random(1), metrics.F1()
    model = rm.StandardScaler() | model
    for _ in range(4000):
        x = {name: float(draw.randrange(3)) for name in "abcde"}
        y = x["a"] == x["b"] == 0.0
        found.update(y, model.predict_learn_one(x, y))
    return found.get()


def test_what_is_said_of_a_label_of_ten_percent():
    section = PAGE.read_text().partition("At 10 % most learners")[2].partition("\n\n")[0]
    advice = re.findall(r"`((\w+)\(.+?\))`", section.partition("Write")[2])
    *dense, (nherd, _) = advice
    assert [name for _, name in dense] == ["AdaGradRDAClassifier", "PegasosClassifier", "AdalineClassifier"]
    assert f1_of_one_in_ten(rm.NHERDClassifier()) < 0.5 < f1_of_one_in_ten(eval(f"rm.{nherd}"))
    assert f1_of_one_combination(rm.NHERDClassifier()) < 0.3
    assert f1_of_one_combination(eval(f"rm.{nherd}")) > 0.8
    for call, name in dense:
        with case(call):
            assert f1_of_one_in_ten(eval(f"rm.{call}")) > 0.5
            assert f1_of_one_in_ten(getattr(rm, name)()) < 0.35


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
    items = [item.partition("\n\n")[0] for item in section.split("\n- ")]
    (line,) = [item for item in items if item.endswith("and keep learning.")]
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


def months():
    for x, y in datasets.AirlinePassengers():
        yield {i: math.exp(-((x["month"].month - i) ** 2)) for i in range(1, 13)}, y


def test_a_prediction_behind_a_scaler_has_no_limit():
    """After January and February the feature of March has next to no variance."""
    assert "above 100 million, and no label is above 622" in " ".join(PAGE.read_text().split())
    assert max(y for _, y in months()) == 622
    for kind in (rm.PARegressor, rm.AROWRegressor, rm.OGDRegressor):
        model, predictions = rm.StandardScaler() | kind(), []
        for x, y in months():
            predictions.append(model.predict_one(x))
            model.learn_one(x, y)
        assert abs(predictions[2]) > 1e8, kind
    model, least, largest = rm.StandardScaler() | rm.AutoRegressor(), 0.0, 0.0
    for n, (x, y) in enumerate(months()):
        width = largest - least
        assert least - width <= model.predict_one(x) <= largest + width
        least, largest = min(least, y) if n else y, max(largest, y)
        model.learn_one(x, y)


def late_error_of_numbers(model, huge):
    """The mean error of the last 1000 of 4000 predictions, with a huge 500th label or without."""
    draw, errors = random.Random(1), 0.0
    for t in range(4000):
        x = {name: draw.gauss(0.0, 1.0) for name in "abc"}
        y = 2.0 * x["a"] - x["b"] + 0.2 * draw.gauss(0.0, 1.0)
        errors += abs(model.predict_one(x) - y) if t >= 3000 else 0.0
        model.learn_one(x, 10_000.0 if huge and t == 500 else y)
    return errors / 1000


def test_a_network_remembers_a_huge_label():
    assert "A huge label" in PAGE.read_text().partition("## One huge value")[2].partition("\n## ")[0]
    assert late_error_of_numbers(rm.OnlineMLPRegressor(), False) < 0.5
    assert late_error_of_numbers(rm.OnlineMLPRegressor(), True) > 1.8  # that of the mean
    assert late_error_of_numbers(rm.PARegressor(), True) < 0.5


def errors_after_features_moved(model):
    """The share of errors in the last 1000 of 3000 examples, after 3000 whose features were 30 deviations away."""
    draw, wrong = random.Random(1), 0
    for t in range(6000):
        x = {name: draw.gauss(0.0, 1.0) for name in "abc"}
        y = x["a"] + x["b"] > 0
        if t < 3000:
            x = {name: value + 30.0 for name, value in x.items()}
        wrong += t >= 5000 and model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong / 1000


@pytest.mark.parametrize("make", [rm.PAClassifier, rm.AutoClassifier])
def test_a_scaler_with_a_half_life_follows_features_that_change(make):
    section = PAGE.read_text().partition("## Concepts that change")[2].partition("\n## ")[0]
    assert "StandardScaler(half_life=1000)" in section
    assert errors_after_features_moved(rm.StandardScaler() | make()) > 0.2
    assert errors_after_features_moved(rm.StandardScaler(half_life=100) | make()) < 0.03


def test_what_begins_anew_needs_a_scaler_of_its_own_where_features_change():
    section = PAGE.read_text().partition("## Concepts that change")[2].partition("\n## ")[0]
    assert "a scaler of its own" in section

    def forgetting():
        return rm.AROWClassifier(half_life=1500)

    def restarted(learner):
        return drift.DriftRetrainingClassifier(learner, drift.binary.DDM())

    common = rm.StandardScaler() | rm.AutoClassifier([forgetting(), restarted(rm.AROWClassifier())])
    own = [rm.StandardScaler() | forgetting(), restarted(rm.StandardScaler() | rm.AROWClassifier())]
    assert errors_after_features_moved(rm.StandardScaler() | forgetting()) > 0.05
    assert errors_after_features_moved(common) > 0.05
    assert errors_after_features_moved(rm.AutoClassifier(own)) < 0.03
