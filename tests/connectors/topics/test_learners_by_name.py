"""Every learner of the library in a processor, by its name in the YAML file: exactly the bare one, even if stopped."""

import json
import random

import pytest
from river import base
from river.base import tags

import river_margins as rm
from connectors.config import catalogue
from connectors.config.learner import assemble
from connectors.files import processor as files
from river_margins.core.recipe import Recipe
from tests.connectors.files.test_processor import Folder, lines_of
from tests.helpers.streams import Stream, running, twin

ROUNDS = 40
LABELS = {"numbers": [0.5, -2.0, 3.0], "two": [False, True], "three": ["ham", "spam", "eggs"]}


def spelled(part):
    """A parameter as a file says it: rules and spaces are names with parameters of their own."""
    if isinstance(part, base.Base):
        return {type(part).__name__: {name: spelled(value) for name, value in part._get_params().items()}}
    if not isinstance(part, Recipe):
        return part
    return {type(part).__name__: {name: spelled(value) for name, value in part.parameters.items() if value is not None}}


def step(kind):
    """The learner as a step, with the first parameters it is tested with where it cannot do without."""
    if assemble([kind.__name__])[0] is not None:
        return kind.__name__
    return {kind.__name__: {name: spelled(value) for name, value in next(iter(kind._unit_test_params())).items()}}


def labels_of(kind):
    if issubclass(kind, base.Regressor):
        return ["numbers"]
    return ["two", "three"] if assemble([step(kind)])[0]._multiclass else ["two"]


LEARNERS = [entry.kind for entry in catalogue.entries() if issubclass(entry.kind, base.Classifier | base.Regressor)]
CASES = [pytest.param(kind, labels, id=f"{kind.__name__}-{labels}") for kind in LEARNERS for labels in labels_of(kind)]


def records(labels, sign=lambda value: value):
    """Small rows in which features come and go, each fifth without a label."""
    draw = random.Random(labels)
    for number in range(ROUNDS):
        x = {name: sign(draw.gauss(0, 1)) for name in "abcd" if draw.random() < 0.8}
        yield {"id": f"r{number}", **x, "y": None if number % 5 == 4 else draw.choice(LABELS[labels])}


@pytest.mark.parametrize(("kind", "labels"), CASES)
def test_between_files(kind, labels, tmp_path):
    steps, rows = ["StandardScaler", step(kind)], list(records(labels))
    if tags.POSITIVE_INPUT in assemble([step(kind)])[0]._tags:
        steps, rows = [step(kind)], list(records(labels, abs))
    folder = Folder(tmp_path, learner=steps)
    for end in (ROUNDS // 2, ROUNDS):  # the second run goes on from the snapshot of the first
        folder.put(lines_of(rows[:end]))
        assert files.run(folder.config()).rejected == 0
    assert folder.output() == twin(folder.config().build_learner(), rows)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_word_in_the_file_may_choose_another_rule(mode, tmp_path):
    """`exact: true` keeps all wrong classes at their distance at once, which is another learner than with false."""
    rows = list(records("three"))
    said = {}
    for exact in (True, False):
        (tmp_path / str(exact)).mkdir()
        settings = {"C": 0.1, "mode": mode, "exact": exact}
        folder = Folder(tmp_path / str(exact), learner=["StandardScaler", {"PAClassifier": settings}])
        folder.put(lines_of(rows))
        assert files.run(folder.config()).rejected == 0
        said[exact] = folder.output()
        assert said[exact] == twin(rm.StandardScaler() | rm.PAClassifier(**settings), rows)
    assert said[True] != said[False]


@pytest.mark.parametrize("labels", LABELS)
def test_on_kafka(kafka, tmp_path, labels):
    """The same model is written and read, whatever is at both ends: a learner for each kind of label will do."""
    kind = {"numbers": "PARegressor", "two": "FTRLProximalClassifier", "three": "FOBOSClassifier"}[labels]
    stream = Stream(kafka, tmp_path, partitions=1, learner=["StandardScaler", kind])
    rows = list(records(labels))
    found = []
    for begin, end in ((0, ROUNDS // 2), (ROUNDS // 2, ROUNDS)):
        stream.produce(lines_of(rows[begin:end]))
        with running(stream.config()) as process:
            found = [json.loads(message.value) for message in stream.read(stream.output, end)]
            process.end()
    assert found == twin(stream.config().build_learner(), rows)
