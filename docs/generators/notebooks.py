"""Writes the notebooks of the lectures from their pages: `python docs/generators/notebooks.py`."""

import doctest
import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = {
    "mistake-bounds": ("perceptron-note", "online-algorithms", "margins"),
    "on-line-learning": ("on-line-learning",),
    "neural-networks": ("neural-networks",),
}
HEAD = """Written by `docs/generators/notebooks.py` from {pages}. The pages also show what each cell prints. It needs
`river_margins` ([how to install it](../README.md#install)); run the cells in order."""
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s#]+)")


class Cell(NamedTuple):
    """A cell: its text and, if it is code, what the page says that it prints."""

    source: str
    prints: str | None = None


def cells(name: str) -> Iterator[Cell]:
    """Yield the cells of a notebook: texts, and the examples up to each one with an output."""
    pages = [ROOT / "docs/lectures" / f"{page}.md" for page in NOTEBOOKS[name]]
    yield Cell(HEAD.format(pages=", ".join(f"[{page.stem}](../docs/lectures/{page.name})" for page in pages)))
    imported: set[str] = set()
    for page in pages:
        for i, part in enumerate(BLOCK.split(page.read_text())):
            if i % 2:
                yield from _code(part, imported)
            elif part.strip():
                yield Cell(LINK.sub(lambda link: link[1] + _from_notebooks(link[2]), part.strip()))


def _from_notebooks(link: str) -> str:
    return link if "://" in link else os.path.relpath(ROOT / "docs/lectures" / link, FOLDER)


def _code(block: str, imported: set[str]) -> Iterator[Cell]:
    lines: list[str] = []
    for example in doctest.DocTestParser().get_examples(block):
        line = example.source.rstrip("\n")
        if line not in imported:
            lines.append(line)
        if line.startswith(("import ", "from ")):
            imported.add(line)
        if example.want:
            yield Cell("\n".join(lines), example.want)
            lines = []
    if lines:
        yield Cell("\n".join(lines), "")


def notebook(name: str) -> dict[str, Any]:
    """Return a notebook without outputs, in the format 4."""
    return {
        "cells": [_as_json(cell) for cell in cells(name)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def _as_json(cell: Cell) -> dict[str, Any]:
    source = cell.source.splitlines(keepends=True)
    if cell.prints is None:
        return {"cell_type": "markdown", "metadata": {}, "source": source}
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def text(name: str) -> str:
    """Return the text of the file of a notebook."""
    return json.dumps(notebook(name), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NOTEBOOKS:
        (FOLDER / f"{name}.ipynb").write_text(text(name))
