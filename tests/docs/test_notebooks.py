"""The notebooks are what the pages of the lectures say, and run. The cells run as Python code: no Jupyter is needed."""

import ast
import contextlib
import doctest
import io
import json
import re

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.scripts import script

NAMES = ["mistake-bounds", "neural-networks", "on-line-learning"]


@pytest.fixture(scope="module")
def generator():
    with script("docs/generators/notebooks.py") as module:
        yield module


def code_cells(name):
    cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(code, namespace):
    """What a notebook shows below a cell: what it prints, and the value of an expression at its end."""
    *statements, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], None
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(compile(ast.Module(statements, []), "a cell", "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), "a cell", "eval"), namespace)
        if value is not None:
            print(repr(value))
    return shown.getvalue()


def test_each_notebook_is_there(generator):
    assert sorted(generator.NOTEBOOKS) == NAMES == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    pages = [page for pages in generator.NOTEBOOKS.values() for page in pages]
    assert sorted(pages) == sorted(path.stem for path in (ROOT / "docs/lectures").glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_written_from_its_pages(generator, name):
    command = "python docs/generators/notebooks.py"
    assert (ROOT / f"notebooks/{name}.ipynb").read_text() == generator.text(name), f"write it again: {command}"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_prints_what_its_pages_say(generator, name):
    expected = [cell.prints for cell in generator.cells(name) if cell.prints is not None]
    checker, options, namespace = doctest.OutputChecker(), doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, {}
    for code, prints in zip(code_cells(name), expected, strict=True):
        shown = run(code, namespace)
        assert checker.check_output(prints, shown, options), f"{code}\nprints\n{shown}and not\n{prints}"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_format_4_without_outputs_and_its_links_lead_somewhere(name):
    notebook = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["name"]) == (4, "python3")
    for cell in notebook["cells"]:
        keys = {"cell_type", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            keys |= {"outputs", "execution_count"}
        assert set(cell) == keys
        for link in re.findall(r"\]\(([^)\s#]+)", "".join(cell["source"]) * (cell["cell_type"] == "markdown")):
            assert "://" in link or (ROOT / "notebooks" / link).exists(), link
