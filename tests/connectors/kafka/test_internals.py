"""Private names of a client library are used in one file of each client, and nowhere else."""

import ast
import importlib.metadata

import pytest

from connectors.kafka import confluent, kafka_python
from connectors.kafka.confluent import internals as of_confluent
from connectors.kafka.kafka_python import internals as of_kafka_python
from tests.helpers.paths import ROOT

CODES = "KafkaError"  # the codes of librdkafka's own errors begin with an underscore, and are documented


def private_uses(text):
    """Private attributes of anything but `self`, in the form `owner.name`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = ast.unparse(node.value)
            if owner not in ("self", CODES):
                yield f"{owner}.{node.attr}"


@pytest.mark.parametrize("package", [kafka_python, confluent], ids=lambda package: package.__name__)
def test_private_names_are_used_in_one_file(package):
    folder = ROOT / package.__name__.replace(".", "/")
    for path in sorted(folder.glob("*.py")):
        found = list(private_uses(path.read_text()))
        assert path.name == "internals.py" or not found, f"{path.name} uses {found}: move that to internals.py"


def test_private_uses_are_found():
    assert list(private_uses("self._a; self._b._c; x._d(1); KafkaError._E; x.__f__")) == ["self._b._c", "x._d"]


@pytest.mark.parametrize(("library", "module"), [("kafka-python", of_kafka_python), ("confluent-kafka", of_confluent)])
def test_the_installed_version_was_tried(library, module):
    """One that was not is not an error, as the other tests say whether it works: then it belongs into the list."""
    installed = importlib.metadata.version(library)
    if installed not in module.TRIED_VERSIONS:
        pytest.skip(f"{library} {installed} is not among TRIED_VERSIONS of {module.__name__}: add it if all tests pass")
