"""A command imports what it needs and no more: what is imported decides how long a user waits for an answer."""

import functools
import json
import os
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT

EXAMPLES = ROOT / "deploy" / "examples"

# The packages that take most of the time and the memory. Of SciPy, River itself imports the name.
HEAVY = {
    "confluent_kafka",
    "fsspec",
    "matplotlib",
    "pandas",
    "prometheus_client",
    "river.datasets",
    "river.metrics",
    "river.preprocessing",
    "scipy.linalg",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn",
}
KAFKA = {"connectors.kafka", "connectors.topics", "kafka"}
FRAMEWORKS = {"numpy", "pydantic", "river", "river_margins", "rich", "yaml"}

REPORT = """
import json, sys
try:
    exec(sys.argv.pop(1))
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
COMMAND = "from connectors.cli import main; main()"


@functools.cache
def imported(code, *arguments):
    """Return the modules that a fresh interpreter has imported after this code."""
    line = [sys.executable, "-c", REPORT, code, *map(str, arguments)]
    environment = {**os.environ, "NO_COLOR": "1"}
    shown = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT)
    return frozenset(json.loads(shown.stderr.splitlines()[-1]))


@pytest.mark.parametrize("name", ["phishing.yaml", "files.yaml"])
def test_lint_imports_nothing_heavy(name):
    modules = imported(COMMAND, "lint", EXAMPLES / name)
    assert "river_margins.families.passive_aggressive" in modules  # the learner was built
    assert modules & HEAVY == set()


def test_lint_does_not_import_kafka_python():
    """With another version of the library this fails: `kafka_python/defaults.py` says how to write its file again."""
    assert "kafka" not in imported(COMMAND, "lint", EXAMPLES / "phishing.yaml")


def test_lint_of_a_processor_between_files_imports_nothing_of_kafka():
    modules = imported(COMMAND, "lint", EXAMPLES / "files.yaml")
    assert modules & KAFKA == set()


def test_run_of_a_processor_between_files_imports_nothing_of_kafka(tmp_path, monkeypatch):
    monkeypatch.setenv("FOLDER", str(tmp_path))
    (tmp_path / "events.jsonl").write_text('{"id": "1", "a": 1, "is_phishing": true}\n')
    modules = imported(COMMAND, "run", EXAMPLES / "files.yaml")
    assert (tmp_path / "predictions.jsonl").exists()
    assert modules & KAFKA == set()
    assert modules & (HEAVY - {"prometheus_client"}) == set()


def test_a_step_of_rivers_preprocessing_imports_it(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text((EXAMPLES / "files.yaml").read_text().replace("StandardScaler", "river.preprocessing.MaxAbsScaler"))
    without = "import sys; sys.modules['sklearn'] = None; "  # which it imports, too, and which takes most of the time
    assert "river.preprocessing" in imported(without + COMMAND, "lint", file)


def test_commands_that_measure_nothing_import_no_metrics():
    """Nor the data sets, with which River imports scikit-learn, before it is known that one is asked for."""
    modules = imported("import connectors.tools.produce, connectors.tools.report, connectors.tools.demo.topics")
    assert modules & (HEAVY - {"prometheus_client"}) == set()


@pytest.mark.parametrize("arguments", [["learners"], ["learners", "PAClassifier"]], ids=" ".join)
def test_the_list_of_learners_imports_nothing_heavy(arguments):
    assert imported(COMMAND, *arguments) & (HEAVY | KAFKA) == set()


def test_help_imports_neither_learners_nor_schema():
    modules = imported(COMMAND, "--help")
    assert modules & (HEAVY | KAFKA | FRAMEWORKS - {"rich"}) == set()  # rich draws the help


def test_the_library_imports_nothing_heavy():
    assert (
        imported("import river_margins") & (HEAVY | KAFKA | FRAMEWORKS - {"numpy", "river", "river_margins"}) == set()
    )
    assert imported("import river_margins.snapshot") & (HEAVY | KAFKA | {"pydantic", "rich", "yaml"}) == set()
