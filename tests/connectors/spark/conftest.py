import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.spark.customers import LEARNER
from tests.helpers import spark as local

# PySpark says so as long as it was not tried with the newest pandas; nothing here uses its frames.
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/connectors/spark/"):
            item.add_marker(pytest.mark.filterwarnings(PANDAS))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real Spark in the process of the tests."""
    pytest.importorskip("pyspark", reason=local.MISSING)
    with local.session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a learner."""
    path = tmp_path / "processor.yaml"
    path.write_text(json.dumps(LEARNER))
    return path
