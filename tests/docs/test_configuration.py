"""The reference page of the YAML file is the one that its generator writes."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from connectors import config
from tests.helpers.paths import ROOT
from tests.helpers.scripts import script


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    with script("docs/generators/configuration.py") as module:
        yield module


def test_the_reference_page_is_up_to_date(generator):
    command = "python docs/generators/configuration.py > docs/configuration.md"
    assert (ROOT / "docs" / "configuration.md").read_text() == generator.page(), f"write it again: {command}"


def test_every_key_has_a_description(generator):
    for kind in (config.Config, config.FileConfig):
        assert all(meaning for _, _, meaning in generator._rows(kind, ""))
