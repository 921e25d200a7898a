"""Without Spark's packages, the error says what to install."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from connectors import spark as in_spark
from connectors.errors import StartError
from tests.helpers import spark as local
from tests.helpers.paths import ROOT


@pytest.mark.parametrize("name", in_spark.__all__)
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(StartError, match=r"`pip install 'river-margins\[spark\]'`"):
        getattr(in_spark, name)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match=r"module `connectors\.spark` has no attribute `lern`"):
        in_spark.lern  # noqa: B018


def test_the_extra_asks_for_a_protobuf_that_can_read_the_code_of_pyspark():
    pyspark = pytest.importorskip("pyspark", reason=local.MISSING)
    code = Path(pyspark.__file__).parent / "sql" / "streaming" / "proto" / "StateMessage_pb2.py"
    needed = re.search(r"^# Protobuf Python Version: ([\d.]+)$", code.read_text(), re.MULTILINE)[1].split(".")
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    (asked,) = (each.removeprefix("protobuf>=").split(".") for each in extra if each.startswith("protobuf>="))
    assert [*map(int, asked)] >= [*map(int, needed)]
