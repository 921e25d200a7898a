"""The benchmark of the families measures what its table says."""

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.scripts import script


@pytest.mark.parametrize("features", [50, 100, 200, 400])
def test_as_many_features_are_stored_as_the_table_says(features, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    x = {f"feature {i}": 1.0 for i in range(features)}
    with script("benchmarks/families.py") as module:
        for stored in (features, 20):
            assert {len(module.some_of(x, stored, number)) for number in range(200)} == {stored}
