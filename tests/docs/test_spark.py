"""The page about Spark shows the job that a test runs, and names what `learn` returns."""

import re

import pytest

from connectors import config
from connectors.config import spark_schema
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "spark.md").read_text()
EXAMPLES = ROOT / "deploy" / "examples"


@pytest.mark.parametrize(("language", "name"), [("yaml", "customers.yaml"), ("py", "customers_spark.py")])
def test_the_page_shows_the_files_of_the_example(language, name):
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert block == (EXAMPLES / name).read_text()


def test_the_file_of_the_example_is_valid():
    assert config.load_for_spark(EXAMPLES / "customers.yaml").record.label == "is_fraud"


@pytest.mark.parametrize("names", [spark_schema.IGNORED, spark_schema.REFUSED], ids=["ignored", "refused"])
def test_the_page_says_what_becomes_of_each_section(names):
    rows = [set(re.findall(r"`([\w.]+)`", line.split("|")[1])) for line in PAGE.splitlines() if line.startswith("| `")]
    assert any({*names} <= row for row in rows)
