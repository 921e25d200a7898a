"""The reference page of the YAML file is the one that its generator writes."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from connectors import config
from connectors.errors import ConfigError
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


@pytest.mark.parametrize("name", ["KernelPAClassifier", "AutoClassifier", "Hedge", "OnlineMLPClassifier"])
def test_learners_that_explain_nothing_are_refused_as_the_page_says(name, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(f"name: p\ninput: {{file: a.jsonl}}\nlearner: [{name}]\noutput: {{file: b.jsonl, explain: 3}}\n")
    with pytest.raises(ConfigError, match=r"`output\.explain`"):
        config.load(file)
