"""The public names of `connectors`: each exists, is documented, and does what the command line does."""

import json
import pathlib
import re
import subprocess
import sys
import threading

import pytest
import river.evaluate
import river.metrics

import connectors
import river_margins as rm
from connectors import config, errors
from connectors.tools.result import Result
from tests.helpers.deadline import DEADLINE
from tests.helpers.paths import ROOT

MODULES = {
    "cli",
    "config",
    "drift",
    "errors",
    "files",
    "formats",
    "kafka",
    "labels",
    "logs",
    "model",
    "runtime",
    "secrets",
    "snapshots",
    "spark",
    "suggest",
}
MODULES |= {"tools", "topics"}


@pytest.mark.parametrize("name", connectors.__all__)
def test_a_public_name_is_there_and_documented(name):
    assert getattr(connectors, name).__doc__
    assert name in dir(connectors)


def test_nothing_public_is_missing():
    assert connectors.__all__ == sorted(connectors.__all__)
    helpers = {"Any", "Sequence", "TYPE_CHECKING", "importlib", "os"}
    public = {name for name in vars(connectors) if not name.startswith("_")} - MODULES - helpers
    assert public <= set(connectors.__all__)
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.ConnectorError):
            assert name in connectors.__all__, name
    assert {"Config", "FileConfig", "load"} <= set(connectors.__all__) & set(config.__all__)


def test_the_rooms_are_the_ones_listed_here():
    found = {path.stem for path in (ROOT / "connectors").iterdir() if re.fullmatch(r"[a-z]+(\.py)?", path.name)}
    assert found == MODULES


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module `connectors` has no attribute `lod`"):
        connectors.lod  # noqa: B018
    with pytest.raises(AttributeError, match=r"module `connectors\.config` has no attribute `FilesConfig`"):
        config.FilesConfig  # noqa: B018


def test_the_import_is_light():
    code = "import json, sys, connectors; print(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    ours = {name for name in json.loads(shown) if name.startswith("connectors.")}
    assert ours == {"connectors.errors"}
    assert not {"numpy", "pydantic", "river", "yaml"} & set(json.loads(shown))


@pytest.fixture
def file(tmp_path):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"a": n, "y": n > 1}) + "\n" for n in range(4)))
    file = tmp_path / "p.yaml"
    file.write_text(
        f"name: trial\ninput: {{file: {tmp_path}/in.jsonl}}\noutput: {{file: {tmp_path}/out.jsonl}}\n"
        f"record: {{label: y}}\nlearner: [Perceptron]\nsnapshots: {tmp_path}/snapshots\n"
    )
    return file


def test_load_and_run_a_processor_between_files(file, tmp_path):
    counts = connectors.run(connectors.load(file))
    assert isinstance(counts, connectors.Counts)
    assert (counts.read, counts.predicted, counts.learned, counts.rejected) == (4, 4, 4, 0)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 4


def test_a_requested_stop_ends_a_run(file):
    stop = connectors.Stop()
    stop.requested = True
    counts: list[connectors.Counts] = []
    thread = threading.Thread(target=lambda: counts.append(connectors.run(connectors.load(file), stop)))
    thread.start()
    thread.join(DEADLINE)
    assert counts[0].read < 4


def test_evaluate_measures_what_the_command_does(file):
    settings = connectors.load(file)
    result = connectors.evaluate(settings, metrics=["Accuracy", "F1"])
    assert isinstance(result, Result)
    assert (result.examples, result.unlabelled, result.rejected) == (4, 0, 0)
    pairs = [({"a": n}, n > 1) for n in range(4)]
    expected = river.evaluate.progressive_val_score(pairs, rm.Perceptron(), river.metrics.Accuracy())
    assert list(result.metrics) == ["Accuracy", "F1"]
    assert result.metrics["Accuracy"].get() == expected.get()


def test_load_says_all_that_is_wrong(tmp_path):
    (tmp_path / "p.yaml").write_text("nme: x\n")
    with pytest.raises(connectors.ConfigError, match="did you mean `name`"):
        connectors.load(tmp_path / "p.yaml")


def test_evaluate_takes_a_path_and_one_metric(file, tmp_path):
    result = connectors.evaluate(connectors.load(file), tmp_path / "in.jsonl", "F1")
    assert list(result.metrics) == ["F1"] and result.examples == 4


@pytest.mark.parametrize("use", [connectors.run, connectors.evaluate])
@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_a_path_in_place_of_a_loaded_file_is_refused(file, use, kind):
    with pytest.raises(TypeError, match=r"is what `connectors.load` returns, and no path: write `load\('.*p.yaml'\)`"):
        use(kind(file))
