"""Writes the table of the lectures: `python docs/generators/lectures.py > docs/lectures-table.md`."""

import ast
import pathlib
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).parents[2]
ROWS = pathlib.Path(__file__).with_suffix(".yaml")
HEAD = """# What the lectures name, and the test that shows it

Five lectures on online learning (Cesa-Bianchi; Kakade; a note on the perceptron; the mistake-bound model; a chapter on
neural networks) name {count} learners, bounds and experiments. Each has a test. The tables of the experiments are in
[benchmarks/results/lectures.md](../benchmarks/results/lectures.md).
"""


def rows() -> dict[str, dict[str, Mapping[str, str]]]:
    """Return the rows of each lecture."""
    found: dict[str, dict[str, Mapping[str, str]]] = yaml.safe_load(ROWS.read_text())
    return found


def markers() -> dict[str, list[str]]:
    """Return for each key the tests with the marker `lecture(key)`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test, key in _marked(ast.parse(path.read_text())):
            found[key].append(f"{path.relative_to(ROOT / 'tests')}::{test}")
    return found


def _marked(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in module.body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.lecture":
                yield from ((node.name, ast.literal_eval(key)) for key in decorator.args)


def worked(name: str) -> list[str]:
    """Return the tests of a learner of `tests/learners`: its worked rounds and its bounds."""
    from tests.learners import LEARNERS

    (learner,) = [each for each in LEARNERS if each.name == name]
    places = {"golden/test_golden.py": learner.golden, "bounds/test_bounds.py": learner.bounds}
    return [f"{file}: {', '.join(f'`{name}`' for name in names)}" for file, names in places.items() if names]


def shown_by() -> dict[str, list[str]]:
    """Return for each row its tests. Raise ValueError for a row without one, and for a marker without a row."""
    marked, every = markers(), {key: row for lecture in rows().values() for key, row in lecture.items()}
    if unknown := sorted(marked.keys() - every.keys()):
        raise ValueError(f"tests are marked with {unknown}, which are not rows of {ROWS.name}")
    tests = {
        key: marked.get(key, []) + (worked(row["learner"]) if "learner" in row else []) for key, row in every.items()
    }
    if bare := [key for key, found in tests.items() if not found]:
        raise ValueError(f"these rows of {ROWS.name} have no test: {bare}")
    return tests


def page() -> str:
    """Return the page."""
    tests = shown_by()
    lines = [HEAD.format(count=len(tests))]
    for lecture, found in rows().items():
        lines += [f"## {lecture}\n", "| statement | call | test |", "|---|---|---|"]
        for key, row in found.items():
            cells: list[Any] = [row["says"], f"`{row['call']}`", "<br>".join(tests[key])]
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    print(page(), end="")
