"""The page about Spark shows the job that a test runs, and names what `learn` returns."""

import re

import pytest

from connectors import config
from connectors.config import spark_schema
from connectors.errors import ConfigError
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "spark.md").read_text()
EXAMPLES = ROOT / "deploy" / "examples"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("language", "name"), [("yaml", "customers.yaml"), ("py", "customers_spark.py")])
def test_the_page_shows_the_files_of_the_example(language, name):
    assert blocks(language)[0] == (EXAMPLES / name).read_text()


def test_the_file_of_the_example_is_valid():
    assert config.load_for_spark(EXAMPLES / "customers.yaml").record.label == "is_fraud"


def test_the_file_with_labels_is_valid(tmp_path):
    (tmp_path / "p.yaml").write_text(blocks("yaml")[1])
    found = config.load_for_spark(tmp_path / "p.yaml").labels
    assert found is not None and (found.id, found.label, found.within) == ("payment", "is_fraud", 30 * 86400)


@pytest.mark.parametrize(("section", "text"), [("record", "id: id, "), ("labels", "id: payment, ")])
def test_labels_need_both_ids_as_the_page_says(section, text, tmp_path):
    (tmp_path / "p.yaml").write_text(blocks("yaml")[1].replace(text, ""))
    with pytest.raises(ConfigError, match=f"`{section}.id` is missing"):
        config.load_for_spark(tmp_path / "p.yaml")
    assert "`record.id` and `labels.id`" in PAGE


@pytest.mark.parametrize(
    "names", [{".".join(path) for path in spark_schema.IGNORED}, spark_schema.REFUSED], ids=["ignored", "refused"]
)
def test_the_page_says_what_becomes_of_each_section(names):
    rows = [set(re.findall(r"`([\w.]+)`", line.split("|")[1])) for line in PAGE.splitlines() if line.startswith("| `")]
    assert any({*names} <= row for row in rows)
