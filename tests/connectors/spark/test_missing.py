"""Without Spark's packages, the error says what to install."""

import sys

import pytest

from connectors import spark as in_spark
from connectors.errors import StartError


@pytest.mark.parametrize("name", in_spark.__all__)
def test_a_missing_package_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(StartError, match=r"`pip install 'river-margins\[spark\]'`"):
        getattr(in_spark, name)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match=r"module `connectors\.spark` has no attribute `lern`"):
        in_spark.lern  # noqa: B018
